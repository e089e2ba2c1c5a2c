"""Demonstrations of few-shot judges: which are drawn, and that they are kept."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import start
from harness.errors import PromptError, TaskError
from harness.extras.probe.perturbations import perturbed_task, read_perturbations
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import look_up
from harness.judging.prompts.demonstrations import FILE, answers_of, draw_demonstrations
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions
from harness.revalidation.causes import setup_of
from harness.runs.run_folder import RunFolder
from harness.tasks import Item, load_task
from harness.tasks.item import Rating

URL = "http://127.0.0.1:1/v1"
KINDS = ("forced_choice", "response_set")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(str(make_task_folder(tmp_path_factory.mktemp("tasks") / "small", n=12)))


def make_item(i, text, group=None, criterion=None):
    return Item(f"i{i}", {"text": text}, group, criterion)


@st.composite
def rated_items(draw):
    """Items with few groups, texts and criteria, so that they share them; votes of three raters."""
    n = draw(st.integers(2, 14))
    some = st.sampled_from
    items = [
        make_item(
            i, draw(some("abcdefgh")), draw(some([None, "g", "h", "k"])), draw(some([None, "c"]))
        )
        for i in range(n)
    ]
    ratings = [
        Rating(f"i{i}", f"r{j}", "forced_choice", draw(some(["A", "B", "CANNOT_ASSESS"])))
        for i in range(n)
        for j in range(3)
    ]
    ratings += [
        Rating(f"i{i}", f"r{j}", "response_set", draw(some([("A",), ("B",), ("A", "B")])))
        for i in range(n)
        for j in range(2)
    ]
    return items, ratings


@settings(max_examples=30, deadline=None)
@given(
    rated=rated_items(), n=st.integers(1, 3), n_judged=st.integers(1, 14), seed=st.integers(0, 9)
)
def test_no_demonstration_is_the_item_nor_of_its_group_nor_of_its_text(
    task, rated, n, n_judged, seed
):
    """Nor of another criterion; it has the majority's answer, and they are distinct."""
    items, ratings = rated
    whole = task.model_copy(update={"items": tuple(items), "ratings": tuple(ratings)})
    judged = items[:n_judged]
    try:
        drawn = draw_demonstrations(whole, dict.fromkeys(KINDS, judged), n, seed=seed)
    except TaskError:
        return
    for kind in KINDS:
        answers = answers_of(whole, kind)
        for judged_item in judged:
            shown = drawn.shown_with(judged_item, judged_item.fields["text"], kind, n)
            assert len({d.item for d in shown}) == n
            for demonstration in shown:
                other = whole.by_id[demonstration.item]
                assert other.id != judged_item.id
                assert other.group is None or other.group != judged_item.group
                assert other.fields["text"] != judged_item.fields["text"]
                assert other.criterion == judged_item.criterion
                assert demonstration.answer == answers[other.id]


def test_items_that_are_not_judged_come_first_and_all_are_shown_the_same(task):
    """Few are judged: one draw serves all. All are judged: each is shown others."""
    judged = task.items[:4]
    drawn = draw_demonstrations(task, {"forced_choice": judged}, 3, seed=0)
    shown = {drawn.shown_with(i, task.text_of(i), "forced_choice", 3) for i in judged}
    assert len(shown) == 1
    assert {d.item for d in shown.pop()}.isdisjoint(i.id for i in judged)
    drawn = draw_demonstrations(task, {"forced_choice": task.items}, 3, seed=0)
    assert all(
        i.id not in {d.item for d in drawn.shown_with(i, task.text_of(i), "forced_choice", 3)}
        for i in task.items
    )


def test_the_seed_decides_the_draw(task):
    """The same seed draws the same; of ten seeds, most draw differently."""
    draws = [
        draw_demonstrations(task, {"forced_choice": task.items[:2]}, 2, seed=seed).drawn
        for seed in (*range(10), 0)
    ]
    assert draws[0] == draws[-1]
    assert len({str(drawn) for drawn in draws}) > 5


def test_the_answer_is_that_of_the_majority(task):
    """Items whose raters are tied have none; response sets are counted as sets."""
    answers = answers_of(task, "forced_choice")
    assert (answers["i0"], answers["i1"], answers["i2"], answers["i3"]) == ("B", "B", "A", "A")
    tied = [Rating("i0", f"r{j}", "response_set", sets) for j, sets in enumerate([("A",), ("B",)])]
    assert answers_of(task.model_copy(update={"ratings": tuple(tied)}), "response_set") == {}


def test_judges_that_give_reasons_are_shown_those_of_the_task(tmp_path):
    """Items that have none are no demonstrations, and no judge is shown the reasons otherwise."""
    folder = make_task_folder(tmp_path / "small", n=6, response_sets=False)
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    for row in rows[:4]:
        row["why"] = f"Because of {row['id']}."
    write_jsonl(folder / "items.jsonl", rows)
    task_file = folder / "task.yaml"
    task_file.write_text(task_file.read_text() + "reasons: why\n")
    asked = {"elicitations": ("forced_choice",)}
    plan = plan_run(str(folder), ["gpt@few-shot:2", "gpt@few-shot:2@cot"], RunOptions(**asked))
    plain, reasoned = (job.judge.request(Unit("i0", "forced_choice")).messages for job in plan.jobs)
    assert "Because" not in "".join(message.content for message in plain)
    replies = [message.content for message in reasoned if message.role == "assistant"]
    for reply, shown in zip(replies, reasoned[1::2], strict=False):
        reason, verdict = reply.splitlines()
        number = re.search(r"comment number (\d)", shown.content)[1]
        assert (reason, verdict) == (f"Because of i{number}.", {"1": "B"}.get(number, "A"))
    with pytest.raises(TaskError, match=r"3 of the 4 demonstrations .* with the field 'why'"):
        plan_run(str(folder), ["gpt@few-shot:4"], RunOptions(**asked))
    shown = task_file.read_text()
    task_file.write_text(shown + "text: [text, why]\n")
    with pytest.raises(TaskError, match="reasons: judges would see the field 'why'"):
        load_task(folder)
    task_file.write_text(shown.replace("reasons: why", "reasons: because"))
    with pytest.raises(TaskError, match="reasons: no item has a field 'because'"):
        load_task(folder)


def test_too_few_are_an_error_before_anything_is_asked(tmp_path):
    """The message says how many there are, and for which elicitation."""
    small = make_task_folder(tmp_path / "small", n=4, response_sets=False)
    with pytest.raises(
        TaskError, match=r"'i0' has only 3 of the 4 demonstrations needed for forced_choice"
    ):
        plan_run(str(small), ["gpt@few-shot:4"], RunOptions(elicitations=("forced_choice",)))
    with pytest.raises(
        TaskError, match=r"'i0' has only 0 of the 2 demonstrations needed for response_set"
    ):
        plan_run(str(small), ["gpt@few-shot:2"])


def messages_of(plan, item_id, elicitation="forced_choice"):
    return plan.jobs[0].judge.request(Unit(item_id, elicitation)).messages


def test_demonstrations_are_turns_before_the_item_and_part_of_the_key(task):
    """The question stands once, in the first turn; a pair's first turn is that of the set."""
    plans = [plan_run(task, [f"gpt{suffix}"]) for suffix in ("", "@few-shot:2", "@few-shot:3")]
    zero, two, three = (messages_of(plan, "i5") for plan in plans)
    roles = ["system", "user", "assistant", "user", "assistant", "user"]
    assert [message.role for message in two] == roles
    assert [message.content for message in two].count(zero[0].content) == 1
    assert sum("Options:" in message.content for message in two) == 1
    assert zero[-1].content.endswith(two[-1].content)
    assert {two[2].content, two[4].content} <= {"A", "B"}
    assert three[:5] == two[:5]
    keys = {plan.jobs[0].judge.request(Unit("i5", "forced_choice")).cache_key for plan in plans}
    assert len(keys) == 3
    paired = plan_run(task, ["gpt@few-shot:2"], RunOptions(elicitations=("response_set", "paired")))
    assert messages_of(paired, "i5", "paired") == messages_of(paired, "i5", "response_set")


@pytest.mark.parametrize("item_text", [True, False])
def test_a_run_keeps_its_demonstrations(task, tmp_path, item_text):
    """A resumed run sends the same; without item texts, none stands in the run folder.

    So does one over a part of the items only, as in an exported baseline.
    """
    plan = plan_run(
        str(task.folder), ["gpt@few-shot:2"], RunOptions(limit=3, seed=5, item_text=item_text)
    )
    folder = start(plan, tmp_path)
    stored = (folder.prompts / FILE).read_text()
    assert ("comment number" in stored) is item_text
    resumed = plan_resumed_run(folder)
    for name in ("i0", "i1", "i2"):
        for kind in KINDS:
            assert messages_of(resumed, name, kind) == messages_of(plan, name, kind)
    if item_text:
        part = task.model_copy(update={"items": task.items[:1], "ratings": ()})
        prompts = Prompts.load(part, folder.prompts, strategies=[named("few-shot:2")])
        assert prompts.hash == plan.prompts.hash
        sent = prompts.messages(part.items[0], "forced_choice", named("few-shot:2"))
        assert sent == messages_of(plan, "i0")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_text('{"forced_choice": 1}'), "contain a run's demonstrations"),
        (
            lambda path: path.write_text(path.read_text().replace('"answer":"', '"answer":"Q')),
            "an answer is not an option",
        ),
        (
            lambda path: path.write_text(path.read_text().replace("comment", "COMMENT")),
            "the prompts have changed",
        ),
    ],
)
def test_demonstrations_that_were_changed_are_refused(task, tmp_path, change, match):
    """One line names the file, and nothing is asked."""
    folder = start(plan_run(str(task.folder), ["gpt@few-shot:2"], RunOptions(limit=3)), tmp_path)
    change(folder.prompts / FILE)
    with pytest.raises((PromptError, Exception), match=match):
        plan_resumed_run(folder)


def test_a_probe_demonstrates_with_texts_that_it_did_not_change(task):
    """All variants of an item are shown the same, none of which is that item."""
    probed = perturbed_task(task, task.items[:3], read_perturbations("injection"), "injection")
    options = RunOptions(elicitations=("forced_choice",))
    plan = plan_run(probed, ["gpt@few-shot:2"], options, pool=task)
    texts = {task.text_of(i) for i in task.items}
    for original in task.items[:3]:
        variants = [i.id for i in probed.items if i.group == original.id]
        shown = {messages_of(plan, name)[1:5] for name in variants}
        assert len(shown) == 1
        lines = "\n".join(message.content for message in shown.pop()).split("\n")
        demonstrated = texts & set(lines)
        assert len(demonstrated) == 2
        assert task.text_of(original) not in demonstrated


def test_few_shot_is_a_strategy_of_aliases_and_judges_yaml(tmp_path):
    """With a number from 1 to 99."""
    path = tmp_path / "judges.yaml"
    judge = {"base_url": URL, "model": "m", "strategy": "few-shot:8"}
    path.write_text(json.dumps({"judges": {"m": judge}}))
    registry = load_judges(path)
    assert look_up("m", registry).strategy == "few-shot:8"
    assert look_up("gpt@few-shot:4", registry).strategy == "few-shot:4"
    for name in ("gpt@few-shot", "gpt@few-shot:0", "gpt@few-shot:100"):
        with pytest.raises(Exception, match="unknown judge"):
            look_up(name, registry)


@pytest.mark.slow
def test_a_look_at_an_exported_baseline_sends_the_same_demonstrations(task, tmp_path):
    """The export holds fewer items than the demonstrations are drawn from, and their texts."""
    judges = {"judges": {"s": {"kind": "scripted", "samples": 2, "replies": {"*": ["A", "B"]}}}}
    file = tmp_path / "judges.yaml"
    file.write_text(json.dumps(judges))
    fields = ("--judges", "s@few-shot:2", "--judges-file", file, "--out", tmp_path / "runs")
    result = invoke("run", "--task", task.folder, *fields, "--quiet")
    assert result.exit_code == 0, result.output
    [run] = (tmp_path / "runs").iterdir()
    target = tmp_path / "baseline"
    result = invoke("revalidate", "export", run, target, "--anchor", 4, "--item-text")
    assert result.exit_code == 0, result.output
    before, after = (setup_of(RunFolder.open(folder), None) for folder in (run, target))
    assert len(after.task.items) == 4
    for item in after.task.items:
        messages = before.prompts.messages(item, "response_set", named("few-shot:2"))
        assert len(messages) == 6
        assert after.prompts.messages(item, "response_set", named("few-shot:2")) == messages
    result = invoke("revalidate", target, "--quiet")
    assert result.exit_code == 0, result.output

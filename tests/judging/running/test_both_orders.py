"""Pairwise items asked in both orders of their answers: what is sent, and how it is read back."""

from __future__ import annotations

import json
from collections import Counter
from math import log

import pytest
from support.judge_runs import RecordingObserver, run_judge
from support.processes import invoke
from support.task_folders import make_pairwise_folder, make_task_folder

from harness.analysis.ratings import judge_table
from harness.app.plan import estimate_costs, plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import ask_open_units, start
from harness.errors import TaskError
from harness.files.checksummed_log import encode
from harness.judging.judges.config import new_judge
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import PairValue, Reply, decode, with_swapped_answers
from harness.judging.prompts.presentation_orders import is_swapped
from harness.judging.prompts.question import Unit
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.strategies.endorsement import endorsed
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions, Server
from harness.runs.sources import source_of
from harness.tasks import load_task

FORCED = {"elicitations": ("forced_choice",)}


@pytest.fixture
def task(tmp_path):
    return load_task(make_pairwise_folder(tmp_path / "pairs"))


@pytest.fixture
def judges_file(tmp_path):
    """Judges that answer A whatever they are shown: zero-shot, and one that has one order only."""
    judges = {
        "first": {"kind": "scripted", "replies": {"*": "A"}},
        "given": {"kind": "scripted", "replies": {"*": "A"}, "both_orders": False},
    }
    path = tmp_path / "judges.yaml"
    path.write_text(json.dumps({"judges": judges}))
    return path


def ask(plan, folder, store=None):
    ask_open_units(plan, folder, store or NoStore(), observer=RecordingObserver())
    return source_of(folder)


def reply(text, **fields):
    return Reply(request="0" * 64, text=text, **fields)


def shown_first(messages):
    """Return the answer that a prompt shows first."""
    lines = messages[-1].content.splitlines()
    return min((line for line in lines if line.startswith(("long", "short"))), key=lines.index)


def test_successive_samples_show_the_answers_in_either_order(task, judges_file):
    """Half of the items begin with the other order; question and options stay in place."""
    plan = plan_run(task, ["first"], RunOptions(samples=4), server=Server(judges_file=judges_file))
    judge = plan.jobs[0].judge
    for item in task.items:
        prompts = [judge.request(Unit(item.id, "forced_choice", s)).messages for s in range(4)]
        starts = [shown_first(messages).split()[0] for messages in prompts]
        assert starts in (["long", "short"] * 2, ["short", "long"] * 2)
        assert prompts[0] == prompts[2]
        assert len({messages[0] for messages in prompts}) == 1
    begins = Counter(is_swapped(f"i{i}", 0) for i in range(2000))
    assert abs(begins[True] - 1000) < 4 * 500**0.5


@pytest.mark.parametrize(("elicitation", "text"), [("forced_choice", "A"), ("response_set", "A")])
def test_verdicts_name_the_answers_of_the_item(task, elicitation, text):
    """Where the answers are swapped, A is the item's B; the log keeps which order it was."""
    reader = ReplyReader(task, both_orders=True)
    for sample in (0, 1):
        verdict = reader.verdict(reply(text), Unit("i0", elicitation, sample), "m")
        own = "B" if is_swapped("i0", sample) else "A"
        assert verdict.value == (own if elicitation == "forced_choice" else (own,))
        assert verdict.swapped == is_swapped("i0", sample)
        assert decode(encode(verdict)) == verdict
        tie = reader.verdict(reply("tie"), Unit("i0", "forced_choice", sample), "m")
        assert tie.value == "tie"


def test_pairs_probabilities_and_orders_of_options_are_turned_back(task):
    """Twice turned back is the verdict itself."""
    tokens = [{"token": token, "logprob": log(p)} for token, p in (("A", 0.75), ("B", 0.25))]
    sent = {"content": [tokens[0] | {"top_logprobs": tokens}]}
    reader = ReplyReader(task, named("logprob"), both_orders=True)
    by_order = {
        verdict.swapped: verdict.probabilities
        for sample in (0, 1)
        for verdict in [
            reader.verdict(reply("A", logprobs=sent), Unit("i0", "forced_choice", sample), "m")
        ]
    }
    assert by_order[False] == pytest.approx({"A": 0.75, "B": 0.25})
    assert by_order[True] == pytest.approx({"B": 0.75, "A": 0.25})
    pair = ReplyReader(task).verdict(reply("A"), Unit("i0", "paired"), "m", first=reply("A, tie"))
    turned = with_swapped_answers(pair, task)
    assert turned.value == PairValue(set=("B", "tie"), choice="B")
    assert with_swapped_answers(turned, task) == pair


def test_a_judge_is_asked_in_both_orders_by_default(task, judges_file, tmp_path):
    """An even number of samples, which the plan prices; `both_orders: false` is asked one."""
    plan = plan_run(
        task,
        ["first", "given", "random"],
        RunOptions(**FORCED),
        server=Server(judges_file=judges_file),
    )
    assert plan.n_planned == {"first": 16, "given": 8, "random": 80}
    assert [quote.calls for quote in estimate_costs(plan)] == [16, 8, 80]
    raised = plan_run(
        task,
        ["first", "given"],
        RunOptions(samples=3, **FORCED),
        server=Server(judges_file=judges_file),
    )
    assert [job.samples for job in raised.jobs] == [4, 3]
    source = ask(plan, start(plan, tmp_path / "runs"))
    assert Counter(v.value for v in source.verdicts["first"]) == {"A": 8, "B": 8}
    assert Counter(v.value for v in source.verdicts["given"]) == {"A": 8}
    assert not any(v.swapped for v in source.verdicts["random"])
    other = load_task(make_task_folder(task.folder.parent / "small", 4))
    assert (
        plan_run(other, ["first"], server=Server(judges_file=judges_file)).specs[0].both_orders
        is False
    )


def test_a_soft_judge_is_asked_once_in_each_order(task):
    """Its distribution on an item is the mean of the two; calibration corrects in one order."""
    judges = ["gpt@logprob", "gpt@logprob-calibrated", "gpt@endorse"]
    plan = plan_run(task, judges, RunOptions(elicitations=("forced_choice", "response_set")))
    assert [job.samples for job in plan.jobs] == [2, 1, 30]
    tokens = [{"token": token, "logprob": log(p)} for token, p in (("A", 0.7), ("B", 0.2))]
    sent = {"content": [tokens[0] | {"top_logprobs": tokens}]}
    reader = ReplyReader(task, named("logprob"), both_orders=True)
    verdicts = [
        reader.verdict(reply("A", logprobs=sent), Unit("i0", "forced_choice", sample), "m")
        for sample in (0, 1)
    ]
    table = judge_table(task, task.items[:1], "m", verdicts)
    assert table.forced_choice[0] == pytest.approx([0.5, 0.5, 0.0])


def test_endorsements_of_an_order_are_turned_back_together(task):
    """A judge that endorses what stands first endorses A in an order and B in the other."""
    reader = ReplyReader(task, named("endorse"), both_orders=True)
    replies = [
        reader.verdict(reply("yes" if s % 3 == 0 else "no"), Unit("i0", "response_set", s), "m")
        for s in range(6)
    ]
    sets = {verdict.swapped: verdict.value for verdict in endorsed(replies, task.space)}
    assert sets == {False: ("A",), True: ("B",)}


def test_a_resumed_run_asks_and_reads_the_same(task, judges_file, tmp_path):
    """Each order has its own cache key, and a second run is answered from the cache."""
    plan = plan_run(
        str(task.folder),
        ["first"],
        RunOptions(samples=3, **FORCED),
        server=Server(judges_file=judges_file),
    )
    folder = start(plan, tmp_path / "runs")
    store = ResponseCache(tmp_path / "cache", print)
    before = list(ask(plan, folder, store).verdicts["first"])
    assert len({(v.item, v.reply.cache_key) for v in before}) == 16
    lines = folder.verdicts.read_bytes().splitlines(keepends=True)
    folder.verdicts.write_bytes(b"".join(lines[:10]))
    resumed = ask(plan_resumed_run(folder), folder, ResponseCache(tmp_path / "cache", print))
    after = list(resumed.verdicts["first"])
    rows = [
        {(v.item, v.sample, v.value, v.swapped, v.request) for v in verdicts}
        for verdicts in (before, after)
    ]
    assert rows[0] == rows[1]
    assert sum(v.from_store for v in after) == 4 * 8 - 9


def test_samples_in_the_same_order_share_a_request(task, tmp_path, stub):
    """Ten samples of an item are two requests of five, and the quote says so."""
    stub.reset()
    spec = new_judge(
        name="far", model="stub", base_url=stub.url(say="A"), n_per_request=10, both_orders=True
    )
    log_reading, end, session = run_judge(spec, task, tmp_path / "log", samples=10, **FORCED)
    assert end == ""
    asked = [json.loads(seen["body"]) for seen in stub.requests()]
    assert [body["n"] for body in asked] == [5] * 16
    assert Counter(v.value for v in log_reading.final.values()) == {"A": 40, "B": 40}
    [judge_run] = session.state.judges
    assert judge_run.job.samples_alike == (5, 5)


def test_listed_sets_that_swapping_would_break_are_refused(tmp_path):
    """A set with the first answer needs that with the second."""
    folder = make_pairwise_folder(tmp_path / "sets", response_sets=[["A"], ["B"], ["A", "tie"]])
    with pytest.raises(TaskError, match=r"B, tie is missing\. A, tie becomes"):
        load_task(folder)


@pytest.mark.slow
def test_a_judge_that_favours_a_place_does_not_drift(task, judges_file, tmp_path):
    """Looks ask both orders as often as the run: no alarm in four looks, though half disagree."""
    words = ("--judges-file", judges_file, "--out", tmp_path / "runs", "--cache", tmp_path / "c")
    done = invoke("run", "--task", task.folder, "--judges", "first", *words, "--quiet")
    assert done.exit_code == 0, done.output
    [folder] = (tmp_path / "runs").iterdir()
    for _ in range(4):
        look = invoke("revalidate", folder, "--fail-on", "changed", "--quiet")
        assert look.exit_code == 0, look.output
        assert "first: changed" not in look.output

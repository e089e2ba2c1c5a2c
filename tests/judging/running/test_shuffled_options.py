"""Options in another order for each sample: what is sent, how it is read, and the order bias."""

from __future__ import annotations

import json
from collections import Counter
from math import log

import pytest
from support.judge_runs import RecordingObserver
from support.task_folders import make_task_folder

from harness.analysis import validate
from harness.analysis.order_bias import order_bias, order_notes
from harness.app.plan import estimate_costs, plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import ask_open_units, start
from harness.errors import PromptError
from harness.files.checksummed_log import encode
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import PairValue, Reply, Verdict, decode
from harness.judging.prompts.presentation_orders import OptionOrders
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.storage.reply_store import NoStore
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import RunOptions, Server
from harness.revalidation.causes import setup_of
from harness.runs.sources import source_of
from harness.tasks import Item, Option, load_task

THREE = tuple(Option(key=key, label=f"label {key}") for key in "ABC")


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "small", 6)))


def reply(text, **fields):
    return Reply(request="0" * 64, text=text, **fields)


def test_every_option_stands_at_every_place_once_in_k_samples():
    """Whatever the item; the first place is drawn evenly over items, and the seed matters."""
    orders = OptionOrders(THREE, seed=3)
    for item in ("i1", "i2"):
        for block in (0, 3):
            shown = [orders.order_for(item, sample) for sample in range(block, block + 3)]
            assert all(set(place) == set("ABC") for place in zip(*shown, strict=True))
    first = Counter(orders.order_for(f"i{i}", 0)[0] for i in range(3000))
    assert all(abs(n - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for n in first.values())
    other = OptionOrders(THREE, seed=4)
    assert any(orders.order_for(f"i{i}", 0) != other.order_for(f"i{i}", 0) for i in range(20))


def test_letters_stay_in_place_and_other_keys_move_with_their_labels():
    """Grades and words mean something; a letter that moved would still stand for its option."""
    order = ("C", "A", "B")
    letters = OptionOrders(THREE, 0).shown(order)
    assert [(o.key, o.label) for o in letters] == [
        ("A", "label C"),
        ("B", "label A"),
        ("C", "label B"),
    ]
    words = tuple(Option(key=key, label="x") for key in ("1", "2", "3"))
    moved = OptionOrders(words, 0).shown(("3", "1", "2"))
    assert [o.key for o in moved] == ["3", "1", "2"]
    bare = tuple(Option(key=key, label=key) for key in "ABC")
    assert [o.key for o in OptionOrders(bare, 0).shown(order)] == list(order)


def verdict_in(task, orders, text, elicitation="forced_choice", sample=0, **fields):
    unit = Unit("i0", elicitation, sample)
    return ReplyReader(task, named("zero-shot"), orders).verdict(reply(text), unit, "m", **fields)


def test_replies_are_read_as_the_options_that_the_letters_stood_for(task):
    """A verdict holds the options' own keys, and the order; a label means itself."""
    orders = OptionOrders(tuple(task.options), 0)
    by_order = {orders.order_for("i0", sample): sample for sample in (0, 1)}
    for order, sample in by_order.items():
        assert verdict_in(task, orders, "A", sample=sample).value == order[0]
        assert verdict_in(task, orders, "A", sample=sample).shown == order
        assert verdict_in(task, orders, "B", "response_set", sample).value == (order[1],)
        assert verdict_in(task, orders, "A, B", "response_set", sample).value == ("A", "B")
        assert verdict_in(task, orders, "Toxic", sample=sample).value == "A"
        pair = verdict_in(task, orders, "A", "paired", sample, first=reply("A, B"))
        assert pair.value == PairValue(set=("A", "B"), choice=order[0])
        assert verdict_in(task, orders, "CANNOT_ASSESS", sample=sample).outcome == "abstained"
        logged = encode(verdict_in(task, orders, "A", sample=sample))
        assert decode(logged).shown == order


def test_probabilities_are_those_of_the_options(task):
    """Not of the letters that stood for them."""
    orders = OptionOrders(tuple(task.options), 0)
    tokens = [{"token": token, "logprob": log(p)} for token, p in (("A", 0.75), ("B", 0.25))]
    sent = {"content": [tokens[0] | {"top_logprobs": tokens}]}
    for sample in (0, 1):
        order = orders.order_for("i0", sample)
        unit = Unit("i0", "forced_choice", sample)
        verdict = ReplyReader(task, named("logprob"), orders).verdict(
            reply("A", logprobs=sent), unit, "m"
        )
        assert verdict.probabilities == pytest.approx({order[0]: 0.75, order[1]: 0.25})
        assert verdict.value == order[0]


def options_shown(task, orders, sample, elicitation="forced_choice", strategy="zero-shot"):
    prompts = Prompts.load(task, strategies=[named(strategy)], orders=orders)
    messages = prompts.messages(task.items[0], elicitation, named(strategy), sample)
    lines = messages[1].content.splitlines()
    return [line for line in lines if line.startswith(("A: ", "B: "))]


def test_the_prompt_shows_the_labels_at_other_letters(task):
    """The letters stand in their order in every sample, and the labels take turns."""
    orders = OptionOrders(tuple(task.options), 0)
    shown = {tuple(options_shown(task, orders, sample)) for sample in range(4)}
    assert shown == {("A: Toxic", "B: Not toxic"), ("A: Not toxic", "B: Toxic")}
    assert options_shown(task, None, 1) == ["A: Toxic", "B: Not toxic"]


def ask(plan, folder):
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    return source_of(folder)


@pytest.fixture
def judges_file(tmp_path):
    """A judge that always gives the first letter, and the options' own names otherwise."""
    judges = {
        "letter": {"kind": "scripted", "replies": {"*": ["A"] * 6}},
        "reader": {"kind": "scripted", "replies": {"*": ["Toxic"] * 6}},
    }
    path = tmp_path / "judges.yaml"
    path.write_text(json.dumps({"judges": judges}))
    return path


FIELDS = {"elicitations": ("forced_choice",), "samples": 6, "shuffle_options": True}


def test_letter_bias_shows_in_the_shuffle(task, judges_file, tmp_path):
    """A judge that answers A whatever it says has the greatest bias; one that reads has none."""
    plan = plan_run(
        str(task.folder),
        ["letter", "reader"],
        RunOptions(**FIELDS),
        server=Server(judges_file=judges_file),
    )
    source = ask(plan, start(plan, tmp_path / "runs"))
    letter, reader = (
        order_bias(source.verdicts[name], source.items, 0.95) for name in ("letter", "reader")
    )
    assert [b.excess for b in letter] == [0.5, -0.5]
    assert letter[0].low > 0 > letter[1].high  # six items that agree are enough to say so
    assert [b.excess for b in reader] == [0.0, 0.0]
    assert (letter[0].n_replies, letter[0].n_items) == (36, 6)
    values = Counter(v.value for v in source.verdicts["letter"])
    assert values == {"A": 18, "B": 18}
    [note] = order_notes({"letter": letter})
    assert note.startswith("letter chose the option shown first 50.0 [8.6, 50.0] points more often")


@pytest.mark.slow
def test_the_interval_covers_no_bias_as_often_as_it_says():
    """Of 400 judges that read options alone, about 95% of the intervals hold 0."""
    orders = OptionOrders(THREE, 0)
    items = [Item(f"i{i}", {}) for i in range(30)]
    covered = 0
    for judge in range(400):
        verdicts = [
            Verdict(
                item=f"i{i}",
                judge="m",
                elicitation="forced_choice",
                outcome="answered",
                value="ABC"[(i * 7 + judge) % 3],
                shown=orders.order_for(f"{judge} i{i}", 0),
            )
            for i in range(30)
        ]
        first = order_bias(verdicts, items, 0.95)[0]
        covered += first.low <= 0.0 <= first.high
    assert 0.92 * 400 <= covered <= 0.98 * 400


def rows_of(source, judge):
    return {(v.item, v.sample, v.value, v.shown) for v in source.verdicts[judge]}


def test_a_run_keeps_its_orders(task, judges_file, tmp_path):
    """A resumed run and a look send the same, and read it alike; orders are part of the keys."""
    judges = ["letter@few-shot:1"]
    plan = plan_run(
        str(task.folder), judges, RunOptions(**FIELDS), server=Server(judges_file=judges_file)
    )
    folder = start(plan, tmp_path / "runs")
    before = ask(plan, folder)
    keys = {verdict.request for verdict in before.verdicts[judges[0]]}
    assert len(keys) == 36
    rows = rows_of(before, judges[0])
    log_lines = folder.verdicts.read_bytes().splitlines(keepends=True)
    folder.verdicts.write_bytes(b"".join(log_lines[:10]))
    resumed = plan_resumed_run(folder)
    after = ask(resumed, folder)
    assert rows_of(after, judges[0]) == rows
    setup = setup_of(folder, None)
    for sample in (0, 1):
        unit = Unit("i3", "forced_choice", sample)
        item = task.by_id["i3"]
        sent = setup.prompts.messages(item, "forced_choice", named("few-shot:1"), sample)
        assert sent == plan.jobs[0].judge.request(unit).messages


def test_demonstrations_are_answered_in_the_letters_of_the_sample(task):
    """The same answer is A in one sample and B in the other."""
    plan = plan_run(task, ["gpt@few-shot:1"], RunOptions(samples=2, shuffle_options=True))
    judge = plan.jobs[0].judge
    shown = [judge.request(Unit("i1", "forced_choice", sample)).messages for sample in (0, 1)]
    texts = {messages[1].content.split("Answer:")[0].splitlines()[-2] for messages in shown}
    assert len(texts) == 1
    assert {messages[2].content for messages in shown} == {"A", "B"}


def test_samples_of_one_request_are_priced_one_by_one(task):
    """Each has its own prompt."""
    calls = [
        estimate_costs(plan_run(task, ["gpt"], RunOptions(samples=10, shuffle_options=shuffled)))[
            0
        ].calls
        for shuffled in (False, True)
    ]
    assert calls[1] == 10 * calls[0]


def test_judges_that_read_no_prompt_are_not_shuffled(task, tmp_path):
    """Their replies are in the options' own keys."""
    plan = plan_run(str(task.folder), ["random"], RunOptions(**FIELDS))
    source = ask(plan, start(plan, tmp_path / "runs"))
    assert plan.jobs[0].orders is None
    assert {verdict.shown for verdict in source.verdicts["random"]} == {()}


def test_a_second_turn_that_shows_the_options_is_refused(task, tmp_path):
    """It would not know the order of the first."""
    bundled = Prompts.load(task)
    bundled.save(tmp_path / "own")
    path = tmp_path / "own" / "paired.txt"
    path.write_text(path.read_text() + "\n{{options}}\n")
    Prompts.load(task, tmp_path / "own")
    with pytest.raises(PromptError, match=r"part \[follow_up\] shows"):
        Prompts.load(task, tmp_path / "own", orders=OptionOrders(tuple(task.options), 0))


def test_listed_sets_are_shown_and_read_in_the_letters_of_the_sample(tmp_path):
    """A set that is not listed is not admissible, whatever its letters."""
    folder = make_task_folder(tmp_path / "listed", 3, response_sets=False)
    text = (folder / "task.yaml").read_text()
    text = text.replace("scale: binary", "scale: nominal")
    text = text.replace("label: Not toxic}", "label: Not toxic}\n  - {key: C, label: Unclear}")
    (folder / "task.yaml").write_text(text + "response_sets: [[A], [B], [C], [A, C]]\n")
    task = load_task(str(folder))
    orders = OptionOrders(tuple(task.options), 0)
    for sample in range(3):
        shown = orders.keys_shown(orders.order_for("i0", sample))
        admissible = f"{shown['A']}, {shown['C']}"
        assert verdict_in(task, orders, admissible, "response_set", sample).value == ("A", "C")
        other = f"{shown['A']}, {shown['B']}"
        assert verdict_in(task, orders, other, "response_set", sample).outcome == "invalid"


@pytest.mark.slow
def test_order_bias_is_part_of_a_validation(task, judges_file, tmp_path):
    """It stands with the judge and in a note."""
    plan = plan_run(
        str(task.folder), ["letter"], RunOptions(**FIELDS), server=Server(judges_file=judges_file)
    )
    result = validate(ask(plan, start(plan, tmp_path / "runs")))
    assert result.judges[0].order_bias[0].excess == 0.5
    assert any(note.startswith("letter chose the option shown first") for note in result.notes)
    assert type(result).from_json(result.to_json()).judges[0].order_bias

"""Ways of asking around another: orders, descriptions and biases."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.task_folders import make_task_folder

from harness.errors import TaskError
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.judge_registry import build, reader_of, resolve
from harness.judging.parsing.verdict import Reply, Verdict
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.strategies.answer_bias import half_of
from harness.judging.strategies.strategy import Combining
from harness.judging.strategies.strategy_registry import named
from harness.options.concerns import NO_SERVER
from harness.tasks import load_task


@pytest.fixture
def task(tmp_path):
    folder = Path(make_task_folder(tmp_path / "small", 40))
    file = folder / "task.yaml"
    text = file.read_text("utf-8").replace("label: Toxic", "label: Toxic, description: rude")
    file.write_text(text, encoding="utf-8")
    return load_task(str(folder))


def spec_under(name):
    return new_judge(name="m", model="m", base_url="http://127.0.0.1:1/v1", strategy=name)


def shown(task, name, sample=0):
    judge = build(spec_under(name), task, Prompts.load(task, strategies=[named(name)]))
    return judge.request(Unit("i0", "forced_choice", sample)).messages[-1].content


def test_each_option_stands_at_each_place_once(task):
    """Replies are read under the keys that were shown, which stay in place."""
    texts = [shown(task, "option-orders:2", sample) for sample in range(2)]
    firsts = {line for text in texts for line in text.split("\n") if line.startswith("A: ")}
    assert firsts == {"A: Toxic - rude", "A: Not toxic"}
    reader = reader_of(spec_under("option-orders:2"), task, None)
    read = [
        reader.verdict(Reply(request="0" * 64, text="A"), Unit("i0", "forced_choice", s), "m").value
        for s in range(2)
    ]
    assert sorted(read) == ["A", "B"]


def test_the_mean_probability_of_the_orders_decides(task):
    """A judge that favours the first place says what it says on average."""
    rows = ({"A": 0.6, "B": 0.4}, {"A": 0.1, "B": 0.9})
    votes = [verdict("i0", max(row, key=row.get), row, s) for s, row in enumerate(rows)]
    [joint] = named("logprob@option-orders:2").combine(votes, Combining("m", task))
    assert joint.value == "B"
    assert joint.probabilities == pytest.approx({"A": 0.35, "B": 0.65})


def verdict(item, value, probabilities, sample=0):
    return Verdict(
        judge="m",
        item=item,
        elicitation="forced_choice",
        sample=sample,
        outcome="answered",
        value=value,
        probabilities=probabilities,
    )


def test_descriptions_are_left_out(task):
    """Alone and with reasons, in the question and in the one that asks again."""
    assert "rude" in shown(task, "zero-shot")
    for name in ("no-descriptions", "cot@no-descriptions", "no-descriptions@option-orders:2"):
        text = shown(task, name)
        assert "rude" not in text
        assert "Toxic" in text


def test_a_bias_needs_no_rating(task):
    """Verdicts are the same on items that nobody rated; each half of the items has its own."""
    asking = named("logprob@bias:50505090")
    masses = {"A": 0.7, "B": 0.2, "CANNOT_ASSESS": 0.1}
    verdicts = [verdict(item.id, "A", masses) for item in task.items]
    unrated = task.model_copy(update={"ratings": ()})
    biased = asking.combine(verdicts, Combining("m", unrated))
    assert biased == asking.combine(verdicts, Combining("m", task))
    by_half = {half_of(task.by_id[v.item], v.item): v.value for v in biased}
    assert by_half == {0: "A", 1: "B"}
    assert sum(biased[0].probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "name", ["bias:50505050", "logprob@bias:5050505050", "logprob@bias:50505001"]
)
def test_biases_that_do_not_fit_are_refused(task, name):
    """Without probabilities, of other options, or out of range."""
    with pytest.raises(TaskError, match="bias"):
        resolve([f"smollm2@{name}"], task, load_judges(), NO_SERVER)

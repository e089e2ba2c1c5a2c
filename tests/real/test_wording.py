"""The wording of the toxicity task is what its README.md says of comments that no ranking uses."""

from __future__ import annotations

import asyncio
import csv

import numpy as np
import pytest

from harness.errors import JudgeUnavailable
from harness.judging.judges.config import new_judge, with_strategy
from harness.judging.judges.judge_registry import build
from harness.judging.judges.smollm2 import weights
from harness.judging.parsing.option_probabilities import word_probabilities
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.tasks import Item, bundled, load_task


def available():
    try:
        weights()
    except JudgeUnavailable:
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.real,
    pytest.mark.skipif(not available(), reason="xllamacpp or the weights are not installed"),
]


async def odds(task):
    """Log-odds of the first word against the second, per item."""
    spec = with_strategy(new_judge(name="smollm2", kind="smollm2"), "verbalised")
    judge = build(spec, task, Prompts.load(task))
    logs = []
    for item in task.items:
        reply = await judge.ask(judge.request(Unit(item.id, "forced_choice")))
        probabilities = word_probabilities(reply.logprobs, reply.text, task.verbalised.words)
        logs.append(np.log(probabilities["A"] / probabilities["B"]))
    await judge.aclose()
    return np.array(logs)


def test_weights_and_order_are_those_of_the_further_comments():
    """The area under the curve is 0.79, and the weighted mean is the expected share of choices."""
    path = bundled("datasets") / "toxicity" / "wording.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    task = load_task("toxicity")
    assert not {row["text"] for row in rows} & {task.text_of(item) for item in task.items}
    items = tuple(Item(f"w{i}", {"text": row["text"]}) for i, row in enumerate(rows))
    x = asyncio.run(odds(task.model_copy(update={"items": items, "ratings": ()})))
    grade = np.array([float(row["grade"]) for row in rows])
    both = 0.50 * np.exp(-(((grade - 0.50) / 0.30) ** 2))
    expected = (1 - both) / (1 + np.exp(-(grade - 0.50) / 0.12)) + 0.30 * both
    toxic = grade >= 0.57
    area = np.mean(x[toxic][:, None] > x[~toxic])
    assert area == pytest.approx(0.79, abs=0.01)
    weight = task.verbalised.weights["A"] / task.verbalised.weights["B"]
    assert np.mean(1 / (1 + np.exp(-x) / weight)) == pytest.approx(expected.mean(), abs=0.01)

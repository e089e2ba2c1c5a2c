"""The fast simulation of decisions is the program's, and published figures are within bounds."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pytest

from benchmarks.copies import PAGE, is_copy
from benchmarks.decision import verdict
from benchmarks.power import (
    COIN,
    END,
    PLANS,
    START,
    Design,
    accuracy_at_margin,
    designs,
    outcome_of,
)

N = 1000  # data sets of a published row


def published():
    """Return the rows of both tables: names, and the shares in percent."""
    section = PAGE.read_text("utf-8").split(START)[1].split(END)[0]
    rows = [row.split("|")[1:-1] for row in section.splitlines() if row.startswith("| ")]
    return [
        (row[0].strip(), [float(cell) for cell in re.findall(r"([0-9.]+) % \(", "|".join(row))])
        for row in rows
        if "(" in row[-1]
    ]


def test_no_design_recommends_a_judge_at_the_margin_too_often():
    rows = [shares for _, shares in published() if len(shares) == 4]
    assert len(rows) == len(designs())
    assert max(wrong for _, wrong, _, _ in rows) <= 100 * (0.05 + 2 * sqrt(0.05 * 0.95 / N))


def test_planned_items_recommend_in_four_of_five_studies():
    rows = [shares for _, shares in published() if len(shares) == 2]
    assert len(rows) == len(PLANS)
    assert min(use for _, use in rows) >= 100 * (0.8 - 2 * sqrt(0.8 * 0.2 / N))


@pytest.mark.parametrize("hard", [0.0, 1 / 3])
def test_judge_at_the_margin_loses_by_it(hard):
    design = Design("at the margin", (accuracy_at_margin(5, hard),), hard, n=400_000)
    labels = design.draw(np.random.default_rng(0))
    others, own, judge = labels[:, 1:5], labels[:, 0], labels[:, 5]
    agreed = [(others == answers[:, None]).sum(axis=1) for answers in (own, judge)]
    assert np.sign(agreed[0] - agreed[1]).mean() == pytest.approx(0.1, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("judges", [(0.85,), (0.85, COIN, COIN)], ids=["alone", "beside coins"])
def test_fast_decisions_are_those_of_the_program(judges):
    """Ten data sets, of which some judges are recommended and some aren't."""
    design, decided = Design("like the raters", judges), []
    for seed in range(10):
        labels = design.draw(np.random.default_rng(seed))
        rng = np.random.default_rng([seed, 1])
        _, passes, kept = outcome_of(labels, design.m, rng)
        fast = passes and not is_copy(kept[None])[0]
        answers = [labels[:, [design.m + j]] for j in range(len(judges))]
        program = verdict(labels[:, : design.m], answers, rng)["verdict is use"]
        decided.append((bool(fast), program))
    assert {fast for fast, _ in decided} == {True, False}
    assert [pair for pair in decided if pair[0] != pair[1]] == []

"""Contenders divide a validation's part of alpha, and its error stays within alpha."""

from __future__ import annotations

import pytest

from benchmarks.contenders import ALPHA, FIRST, JUDGES, PAGE, START, Pool, largest
from harness.stats.inference.alpha_spending import SCREENING

PART = ALPHA * FIRST


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_hopeless_judge_takes_no_share_of_alpha(correlation):
    assert Pool(1, 1, 8.0, correlation).size(0.005) == pytest.approx(PART, abs=2e-4)


def test_equal_judges_that_are_never_screened_divide_alpha():
    """Independent tests at a half each: 1 - (1 - a/2)^2."""
    exact = 1.0 - (1.0 - PART / 2) ** 2
    assert Pool(2, 0, 0.0, 0.0).size(1e-9) == pytest.approx(exact, abs=1e-4)


@pytest.mark.slow
def test_screen_costs_less_than_its_share():
    worst, _ = largest(2, SCREENING * ALPHA)
    assert PART < worst <= PART * 1.02
    assert worst <= PART + SCREENING * ALPHA


def test_published_errors_are_within_alpha():
    rows = PAGE.read_text("utf-8").split(START)[1].splitlines()[3 : 3 + len(JUDGES)]
    assert [int(row.split("|")[1]) for row in rows] == [*JUDGES]
    assert max(float(row.split("|")[2]) for row in rows) <= PART + SCREENING * ALPHA

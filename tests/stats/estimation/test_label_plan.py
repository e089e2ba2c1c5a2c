"""How many labels an interval of a wanted width takes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.estimation_claims import Planned, kept
from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.label_plan import WANTED_CHANCE, plan_labels
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum, ShareSums


def widths(data_sets):
    return ShareSums.of(data_sets).reported(0.95, 1)[0].width


def stratum(n, share, n_judged, groups=None):
    labels = (np.arange(n) < share * n).astype(float)
    verdicts = np.where(np.arange(n) % 10 == 0, 1.0 - labels, labels)
    judged = (np.arange(n_judged) < share * n_judged).astype(float)
    return PopulationStratum(Labelled(labels, verdicts, groups), JudgedMean.of(judged))


def plan(strata, width, seed=0):
    rng = np.random.default_rng(seed)
    return plan_labels(strata, width, widths, bounds=(0.0, 1.0), rng=rng)


@pytest.mark.slow
def test_plan_names_the_chance_of_the_width():
    """It is at least 80 %, and fewer labels than there are is no plan."""
    label_plan = plan([stratum(60, 0.3, 3000)], 0.12)
    assert label_plan.chance >= WANTED_CHANCE
    assert 60 < label_plan.n < 400
    assert label_plan == plan([stratum(60, 0.3, 3000)], 0.12)
    assert plan([stratum(60, 0.3, 3000)], 0.5).n == 60


@pytest.mark.slow
def test_narrower_interval_takes_more_labels():
    """As the square of the width, about."""
    wide, narrow = (plan([stratum(60, 0.3, 20_000)], width).n for width in (0.16, 0.08))
    assert 2.5 * wide < narrow < 8.0 * wide


def test_width_beyond_all_items_has_no_plan():
    """The chance with all items, and the width that has 80 %."""
    label_plan = plan([stratum(60, 0.3, 100)], 0.02)
    assert (label_plan.n, label_plan.n_items) == (None, 160)
    assert label_plan.chance < WANTED_CHANCE
    assert 0.02 < label_plan.least_width < 0.25


@pytest.mark.slow
def test_groups_that_are_alike_take_more_labels():
    """New labels come in such groups, too."""
    apart = plan([stratum(60, 0.3, 3000)], 0.16)
    alike = plan([stratum(60, 0.3, 3000, groups=np.arange(60) // 5)], 0.16)
    assert alike.n is None or alike.n > 1.5 * apart.n


@pytest.mark.slow
def test_strata_keep_their_shares_while_they_are_labelled():
    """A small stratum of which all items get labels counts as before."""
    strata = [stratum(30, 0.1, 1940), stratum(30, 0.5, 40)]
    label_plan = plan(strata, 0.1)
    assert label_plan.n is not None
    assert 60 <= label_plan.n <= label_plan.n_items == 2040


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "planned", [Planned("good", 100, 0.3, 0.12), Planned("weak", 60, 0.1, 0.1)], ids=repr
)
def test_plans_reach_the_width_as_often_as_they_say(planned):
    """In 5 of 32 designs the width was reached with the planned number."""
    label_plan = kept(planned, 60)
    assert label_plan.share >= WANTED_CHANCE - 3.0 * np.sqrt(0.8 * 0.2 / 60)

"""How many labels give differences between systems of a wanted width."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.difference_labels import Answers, Comparisons, Row, passes, simulate
from benchmarks.estimate_differences import Compared, Design
from harness.stats.estimation.difference_plan import PromptedStratum, _with
from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.label_plan import WANTED_CHANCE
from harness.stats.estimation.mean_differences import JudgedPrompts
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum

PAIRED, APART = Design(2, 50, 0.4, 0.1, True), Design(2, 50, 0.4, 0.1, False)


@pytest.mark.slow
@pytest.mark.parametrize("design", [PAIRED, APART])
def test_the_width_now_is_the_one_that_is_reported(design):
    """As planning and reporting count prompts and correlation alike."""
    rng = np.random.default_rng(1)
    data = Answers.draw(design, rng)
    reported = data.width(100)
    assert data.plan(50, reported + 1e-9, rng).n == 100
    narrower = data.plan(50, reported - 0.005, rng)
    assert narrower.n is None or narrower.n > 100


@pytest.mark.slow
def test_shared_prompts_take_fewer_labels():
    """As what is hard for one system is hard for the other; the chance is 80 % or more."""
    rng = np.random.default_rng(3)
    data = Answers.draw(Design(2, 100, 0.4, 0.1, True), rng)
    paired, apart = (
        replace(data, paired=is_paired).plan(100, 0.13, rng) for is_paired in (True, False)
    )
    assert 200 < paired.n < apart.n
    assert min(paired.chance, apart.chance) >= WANTED_CHANCE
    assert paired.n_items == 2 * 800


@pytest.mark.slow
def test_a_width_beyond_all_items_has_no_plan():
    rng = np.random.default_rng(3)
    found = Answers.draw(APART, rng).plan(50, 0.02, rng)
    assert (found.n, found.n_now) == (None, 100)
    assert found.chance < WANTED_CHANCE
    assert found.least_width > 0.02


@pytest.mark.parametrize("groups", [None, np.array([4, 4, 7])])
def test_more_labels_keep_groups_and_mean_weight(groups):
    """As many fewer items stay unlabelled; labels of one system have a group if they had one."""
    three = np.array([0.0, 1.0, 1.0])
    labelled = Labelled(three, three, groups=groups, weights=np.array([1.0, 2.0, 3.0]))
    stratum = PopulationStratum(labelled, JudgedMean(n=10, total=4.0, deviations=2.4))
    own = PromptedStratum(stratum, ("a", "a", "b"), JudgedPrompts(10, 0.4, 0.24, {}))
    five, units = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 2, 2])
    grown = _with(own, five, five, units).stratum
    assert (grown.labelled.groups is None) == (groups is None)
    assert groups is None or grown.labelled.groups.tolist() == units.tolist()
    assert grown.labelled.weights.tolist() == [1.0, 2.0, 3.0, 2.0, 2.0]
    assert (grown.judged.n, grown.size) == (8, stratum.n_items)


def test_comparisons_are_planned_by_pair():
    """The difference of a pair is from -1 to 1, so its interval is wider."""
    rng = np.random.default_rng(2)
    data = Comparisons.draw(Compared(2, 60, 0.4, 0.0), rng)
    found = data.plan(60, 0.3, rng)
    assert 60 < found.n < 300
    assert found.chance >= WANTED_CHANCE


@pytest.mark.slow
def test_planned_labels_reach_the_width_as_often_as_they_say():
    assert passes(simulate(Row(APART, 0.2), 8))

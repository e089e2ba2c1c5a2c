"""Pairs of raters who agree with each other more than either does with anybody else."""

from __future__ import annotations

import numpy as np
import pytest
from support.each_case import fast_first

from harness.stats.raters.excess_agreement import excess_agreement
from harness.stats.raters.rater_deviation import RaterChoices

LEVEL = 0.05
N_SETS = 200


def choices_of(matrix, unit=None) -> RaterChoices:
    """Return the choices of a (m, n) matrix of options, -1 where not rated."""
    rater, item = np.nonzero(matrix >= 0)
    unit = np.arange(matrix.shape[1]) if unit is None else unit
    return RaterChoices(item, rater, matrix[rater, item], unit, len(matrix), 2)


def panel(rng, accuracies, n):
    """Return what raters choose who err independently, and the truth."""
    truth = rng.integers(2, size=n)
    return np.array([np.where(rng.random(n) < p, truth, 1 - truth) for p in accuracies]), truth


def significant(pairs):
    return [(pair.first, pair.second) for pair in pairs if pair.p_adjusted <= LEVEL]


def share_of_sets(find) -> float:
    """Return the share of simulated data sets in which a pair is significant."""
    return np.mean([bool(significant(find(np.random.default_rng(i)))) for i in range(N_SETS)])


@pytest.mark.parametrize(
    ("accuracies", "n"),
    fast_first(
        2,
        [
            *(((0.85,) * 3, 60), ((0.9, 0.9, 0.9, 0.6), 600)),
            *(((0.85,) * 3, 600), ((0.85,) * 5, 60), ((0.85,) * 5, 600)),
            ((0.9, 0.9, 0.9, 0.6), 60),
        ],
    ),
)
def test_independent_raters_are_seldom_a_pair(accuracies, n):
    """Nor is anybody where one is careless, whom the others agree with less."""
    rate = share_of_sets(lambda rng: excess_agreement(choices_of(panel(rng, accuracies, n)[0])))
    assert rate <= LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / N_SETS)


@pytest.mark.parametrize("accuracy", fast_first(1, [0.85, 0.7, 0.95]))
def test_judges_of_any_quality_are_not_paired_with_a_rater(accuracy):
    """It agrees with each rater about as often."""

    def pairs(rng):
        matrix, truth = panel(rng, (0.85,) * 4, 300)
        judge = np.where(rng.random(300) < accuracy, truth, 1 - truth)
        return excess_agreement(choices_of(matrix), judge)

    assert share_of_sets(pairs) <= LEVEL


@pytest.mark.parametrize("n_raters", [3, 5])
def test_a_copied_rater_is_found_with_who_copied(n_raters):
    """The honest others are in no pair."""
    rng = np.random.default_rng(0)
    matrix, _ = panel(rng, (0.85,) * n_raters, 150)
    matrix[2] = np.where(rng.random(150) < 0.03, 1 - matrix[0], matrix[0])
    pairs = excess_agreement(choices_of(matrix))
    assert significant(pairs) == [(0, 2)]
    [pair] = [pair for pair in pairs if pair.p_adjusted <= LEVEL]
    assert pair.n_items == 150
    assert pair.agreement == np.mean(matrix[0] == matrix[2])
    others = [np.mean(matrix[j] == matrix[k]) for j in (0, 2) for k in range(n_raters) if k % 2]
    assert pair.next_highest >= max(others)


def test_a_rater_who_pasted_a_judge_s_answers_is_found_with_it():
    """With the judge alone: no pair of raters is one."""
    rng = np.random.default_rng(1)
    matrix, truth = panel(rng, (0.85,) * 4, 150)
    judge = np.where(rng.random(150) < 0.85, truth, 1 - truth)
    matrix[1] = np.where(rng.random(150) < 0.03, 1 - judge, judge)
    assert significant(excess_agreement(choices_of(matrix), judge)) == [(1, 4)]
    assert significant(excess_agreement(choices_of(matrix))) == []


def test_items_of_one_group_count_once():
    """Fifty copies of three items are three observations."""
    matrix = np.repeat(np.array([[0, 1, 1], [0, 1, 1], [1, 0, 0]]), 50, axis=1)
    assert significant(excess_agreement(choices_of(matrix))) == [(0, 1)]
    assert significant(excess_agreement(choices_of(matrix, np.repeat(np.arange(3), 50)))) == []


def test_raters_of_few_common_items_are_not_tested():
    """Neither two raters, nor a third with fewer than 30 items."""
    rng = np.random.default_rng(2)
    matrix, _ = panel(rng, (0.85,) * 3, 60)
    matrix[1] = matrix[0]
    assert significant(excess_agreement(choices_of(matrix))) == [(0, 1)]
    assert excess_agreement(choices_of(matrix[:2])) == []
    matrix[2, 29:] = -1
    assert excess_agreement(choices_of(matrix)) == []

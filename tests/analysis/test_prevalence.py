"""Prevalence of the raters by choices, by sets, and as one beta for all items implies it."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import seeded

from harness.stats import Estimate, Interval, OptionSpace, RatingTable
from harness.stats.indeterminacy.sensitivity import prevalences

BINARY = OptionSpace.powerset(("toxic", "fine"))
ADDS = {"fine": ("toxic",)}


def raters(n, m, beta_of_item, rng):
    """Raters who choose toxic with .2, and whose choice of fine hides it with a beta per item."""
    chosen = rng.multinomial(m, np.tile((0.2, 0.8), (n, 1)))
    hidden = rng.binomial(chosen[:, 1], beta_of_item)
    sets = np.zeros((n, len(BINARY.sets)), int)
    sets[:, BINARY.set_index(("toxic",))] = chosen[:, 0]
    sets[:, BINARY.set_index(("fine",))] = chosen[:, 1] - hidden
    sets[:, BINARY.set_index(("toxic", "fine"))] = hidden
    outcomes = np.zeros((n, 3, 5), int)
    return RatingTable(
        space=BINARY, name="raters", items=tuple(map(str, range(n))), forced_choice=chosen,
        response_set=sets, joint=None, outcomes=outcomes,
    )  # fmt: skip


def estimated(table, beta):
    """At a cut-off of one half."""
    if beta is not None:
        interval = Interval(beta - 0.03, beta + 0.03, 0.95, "score", "item")
        beta = Estimate(value=beta, interval=interval, n_used=200)
    return prevalences(
        table,
        tau=0.5,
        positive=("toxic",),
        resampling=seeded(n_resamples=500),
        beta=beta,
        adds=ADDS,
    )


def test_sweep_that_misses_the_measured_sets_says_nothing():
    """Half of the items hide the option always, half never: one beta of .5 is not these."""
    rng = np.random.default_rng(0)
    table = raters(200, 9, np.repeat([0.0, 1.0], 100), rng)
    result = estimated(table, 0.5)
    share = (table.response_set @ BINARY.meets(("toxic",)) / 9 >= 0.5).mean()
    assert result.response_set.value == pytest.approx(share)
    assert result.forced_choice.value < 0.1
    assert result.reconstructed.value > 0.7
    assert result.difference.value < -0.1
    assert result.is_missed


def test_one_beta_for_all_items_is_not_called_missed():
    """Few raters make measured shares vary about the cut-off; that is not a beta that varies.

    At most 1 of 20 data sets, as the difference is tested at both ends of beta's interval.
    """
    n_missed = sum(
        estimated(raters(200, 9, beta, np.random.default_rng(seed)), beta).is_missed
        for seed in range(5)
        for beta in (0.05, 0.2, 0.4, 0.6)
    )
    assert n_missed <= 1


def test_prevalence_without_sets_is_na_by_sets():
    """With its reason; nothing is reconstructed without a beta."""
    table = raters(20, 9, 0.5, np.random.default_rng(0))
    no_sets = RatingTable(
        space=BINARY, name="raters", items=table.items, forced_choice=table.forced_choice,
        response_set=np.zeros_like(table.response_set), joint=None, outcomes=table.outcomes,
    )  # fmt: skip
    result = estimated(no_sets, None)
    assert result.response_set.value is None
    assert (result.reconstructed, result.difference, result.is_missed) == (None, None, False)

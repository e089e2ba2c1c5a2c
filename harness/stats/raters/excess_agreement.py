"""Pairs of raters who agree with each other more than with anyone else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom

from harness.stats.data.arrays import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.raters.rater_deviation import RaterChoices

MIN_FOR_EXCESS_AGREEMENT = 3
MIN_ITEMS = 30  # items that both raters of a pair rated, and that a third rated as well


@dataclass(frozen=True, slots=True)
class ExcessAgreement:
    """A pair of raters who agree with each other more than with anyone else.

    Attributes
    ----------
    first, second : int
        Indices of the raters, the lower one first.
    n_items : int
        Number of items that both rated.
    agreement : float
        Share of these on which they chose the same option.
    next_highest : float
        The highest such share between one of them and a third rater of at least 30 of these items.
    p_adjusted : float
        Largest p-value of the sign tests against each third rater, times the number of pairs.
    """

    first: int
    second: int
    n_items: int
    agreement: float
    next_highest: float
    p_adjusted: float


def excess_agreement(choices: RaterChoices, judge: IntArray | None = None) -> list[ExcessAgreement]:
    """Find raters who agree with each other more than with anyone else.

    Parameters
    ----------
    choices : RaterChoices
        Choices of identified raters.
    judge : (n,) int array, optional
        The option that a judge chose for each item, -1 for none. If passed, only pairs of the
        judge, whose index is ``choices.n_raters``, and a rater are tested, against the other
        raters.

    Returns
    -------
    list of ExcessAgreement
        Pairs who are each other's closest by share of agreement, because no other pair can be
        significant. Pairs need a third rater of at least 30 of their items.

    Notes
    -----
    For a pair (a, b) and a third rater c, the items on which a agrees with exactly one of b and c
    are counted, over units: if c were as close to a as b is, both outcomes would be equally likely
    (sign test). The pair is rejected only if the test rejects against every third rater and from
    both of its sides. This is an intersection-union test, so its largest p-value has level alpha
    (Berger 1982). Bonferroni's factor is the number of pairs with 30 items in common.
    """
    n_raters = choices.n_raters
    if judge is not None:
        choices = _with_judge(choices, judge)
    raters = np.flatnonzero(np.bincount(choices.rater) >= MIN_ITEMS)
    if len(raters) < MIN_FOR_EXCESS_AGREEMENT:
        return []
    choices = _of_raters(choices, raters)
    chosen = _options_of(choices)
    n_common, n_agreed = _agreements(choices)
    enough = (n_common >= MIN_ITEMS) & ~np.eye(len(chosen), dtype=np.bool_)
    rate = np.where(enough, ratio(n_agreed, n_common), -1.0)
    tested = np.triu(enough)
    if judge is not None:
        tested[:, raters < n_raters] = False
    closest = tested & (rate == rate.max(axis=1)[:, None]) & (rate == rate.max(axis=0)[None])
    pairs = []
    for a, b in np.argwhere(closest).tolist():
        rated = (chosen[a] >= 0) & (chosen[b] >= 0) & (chosen >= 0)
        thirds = np.flatnonzero(rated.sum(axis=1) >= MIN_ITEMS)
        thirds = thirds[(thirds != a) & (thirds != b)]
        p_values = [
            _sign_test(chosen[[x, y, c]][:, rated[c]], choices.unit[rated[c]])
            for c in thirds.tolist()
            for x, y in ((a, b), (b, a))
        ]
        if p_values:
            pairs.append(
                ExcessAgreement(
                    first=int(raters[a]),
                    second=int(raters[b]),
                    n_items=int(n_common[a, b]),
                    agreement=float(rate[a, b]),
                    next_highest=float(rate[[a, b]][:, thirds].max()),
                    p_adjusted=min(1.0, max(p_values) * int(tested.sum())),
                )
            )
    return pairs


def _with_judge(choices: RaterChoices, judge: IntArray) -> RaterChoices:
    """Add a judge's choices as an additional rater."""
    items = np.flatnonzero(judge >= 0)
    return replace(
        choices,
        item=np.append(choices.item, items),
        rater=np.append(choices.rater, np.full(len(items), choices.n_raters)),
        option=np.append(choices.option, judge[items]),
        n_raters=choices.n_raters + 1,
    )


def _of_raters(choices: RaterChoices, raters: IntArray) -> RaterChoices:
    """Keep only the choices of the given raters, and renumber these raters in order."""
    choices = choices.subset(np.flatnonzero(np.isin(choices.rater, raters)))
    numbers = np.searchsorted(raters, choices.rater)
    return replace(choices, rater=numbers, n_raters=len(raters))


def _options_of(choices: RaterChoices) -> NDArray[np.int16]:
    """Return the option each rater chose for each item as an (m, n) array, with -1 for none."""
    chosen = np.full((choices.n_raters, len(choices.unit)), -1, dtype=np.int16)
    chosen[choices.rater, choices.item] = choices.option
    return chosen


def _agreements(choices: RaterChoices) -> tuple[FloatArray, FloatArray]:
    """Count items that two raters both rated, and items on which they agree, as (m, m) each."""
    m, n, K = choices.n_raters, len(choices.unit), choices.n_options
    ones = np.ones(len(choices.item))
    rated = csr_array((ones, (choices.rater, choices.item)), shape=(m, n))
    place = choices.item * K + choices.option
    chose = csr_array((ones, (choices.rater, place)), shape=(m, n * K))
    return (rated @ rated.T).toarray(), (chose @ chose.T).toarray()


def _sign_test(chosen: NDArray[np.int16], unit: IntArray) -> float:
    """Test whether the first rater agrees more often with the second than with the third.

    Return the one-sided p-value. A unit's items count once, for whoever has more of them.
    """
    first, second, third = chosen
    signs = (first == second).astype(np.int64) - (first == third)
    by_unit = np.bincount(unit, weights=signs)
    n_for, n_against = int((by_unit > 0).sum()), int((by_unit < 0).sum())
    return float(binom.sf(n_for - 1, n_for + n_against, 0.5))

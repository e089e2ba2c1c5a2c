"""Reconstruction of response-set distributions from forced choices and paired ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.data.rating_table import Distributions
from harness.stats.indeterminacy.translation import F_hat, pairs_by_item

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import BoolArray
    from harness.stats.data.rating_table import RatingTable

MIN_PAIRED_ITEMS = 30  # below, intervals covered as little as 88 % in simulations
MIN_ITEMS_OF_OPTION = 5


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Reconstruction:
    """Theta and omega of every item with forced choices, implied by one F' of a paired subset.

    Attributes
    ----------
    distributions : Distributions
        O as counted; theta and omega as implied, nan where ``reasons`` has one.
    F_reverse : (V, K) array
        P(set v is endorsed, given option k is chosen), pooled over the pairs.
    reasons : n strings
        "" or why an item is not reconstructed: "no_forced_choices", or "option_without_pairs" where
        it was given an option that nobody chose in a pair.
    n_pairs, n_paired_items : int
        What F' rests on.
    """

    distributions: Distributions
    F_reverse: FloatArray
    reasons: tuple[str, ...]
    n_pairs: int
    n_paired_items: int

    def __repr__(self) -> str:
        n = sum(not reason for reason in self.reasons)
        return f"Reconstruction({n} of {len(self.reasons)} items, {self.n_pairs} pairs)"


def reconstruct(table: RatingTable) -> Reconstruction:
    """Return what raters would have endorsed given their choices, from a paired subset of items.

    Parameters
    ----------
    table : RatingTable
        Forced choices of all items, and ``joint`` of some, about 100 of them.

    Returns
    -------
    Reconstruction
        NA item by item.

    Notes
    -----
    theta_i = F' O_i (Guerdan et al. 2025, theorem 3.3) with one F' for all items: that is right on
    average over items like the paired ones, and for an item as far as P(set | choice) does not
    depend on the item. Pairs whose choice is outside their set are left out.
    """
    dist, translation = Distributions.of(table), F_hat(table)
    without_pairs = _without_pairs(dist, translation.F_reverse)
    reasons = np.where(without_pairs, "option_without_pairs", "")
    reasons = np.where(dist.n_forced == 0, "no_forced_choices", reasons)
    return Reconstruction(
        distributions=implied_by(dist, translation.F_reverse),
        F_reverse=translation.F_reverse,
        reasons=tuple(reasons.tolist()),
        n_pairs=translation.n_pairs,
        n_paired_items=int(pairs_by_item(table).any(axis=(1, 2)).sum()),
    )


def missing_pairs(table: RatingTable) -> str:
    """Return which pairs are missing for an F' to stand for the choices without a set.

    Parameters
    ----------
    table : RatingTable
        Forced choices of all items, and ``joint`` of some.

    Returns
    -------
    str
        "" where 30 items or more have pairs, and each option that was chosen on any item is chosen
        in the pairs of 5 items or more; else what there is and what is needed.
    """
    paired = np.asarray(pairs_by_item(table).sum(axis=2) > 0)  # (n, K)
    n_items = int(paired.any(axis=1).sum())
    if n_items < MIN_PAIRED_ITEMS:
        return f"pairs on {n_items} items, {MIN_PAIRED_ITEMS} are needed"
    n_of_option = paired.sum(axis=0)
    rare = (n_of_option < MIN_ITEMS_OF_OPTION) & (table.forced_choice.sum(axis=0) > 0)
    return "; ".join(
        f"option {option} is chosen in pairs on {n} items, {MIN_ITEMS_OF_OPTION} are needed"
        for option, n, is_rare in zip(table.space.options, n_of_option, rare, strict=True)
        if is_rare
    )


def implied_in_resamples(table: RatingTable) -> Callable[[FloatArray], Distributions]:
    """Return what is implied where items are drawn (n,) times, with F' of the drawn pairs alone."""
    dist, pairs = Distributions.of(table), pairs_by_item(table).astype(np.float64)

    def implied(times: FloatArray) -> Distributions:
        inside = np.einsum("n,nkv->kv", times, pairs)
        return implied_by(dist, ratio(inside.T, inside.sum(axis=1)[None, :]))

    return implied


def implied_by(dist: Distributions, F_reverse: FloatArray) -> Distributions:
    """Return O as it is, with theta and omega as F' implies them.

    Parameters
    ----------
    dist : Distributions
        Of n items.
    F_reverse : (V, K) array
        P(set v is endorsed, given option k is chosen); nan columns for options without pairs.

    Returns
    -------
    Distributions
        nan where nobody chose, or an option without pairs was chosen.
    """
    missing = (dist.n_forced == 0) | _without_pairs(dist, F_reverse)
    theta = np.where(missing[:, None], np.nan, dist.O @ np.nan_to_num(F_reverse).T)
    return replace(
        dist,
        theta=theta,
        omega=np.minimum(theta @ dist.space.membership.T.astype(np.float64), 1.0),
        n_sets=np.where(missing, 0.0, dist.n_forced),
    )


def _without_pairs(dist: Distributions, F_reverse: FloatArray) -> BoolArray:
    unpaired = np.isnan(F_reverse).any(axis=0)
    return np.asarray(((dist.O > TOLERANCE) & unpaired).any(axis=1), dtype=np.bool_)

"""Agreement of held-out raters, and of a judge in their place, by stratum.

If the ratings that define a stratum are also compared with the judge, their agreement is subject to
selection. Here an item's remaining raters define its stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import in_blocks, ratio, reduced, row_shares
from harness.stats.data.kinds import Kinds
from harness.stats.inference.estimate import (
    EMPTY,
    Estimate,
    ItemSums,
    exclusions,
)
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.metric import SHARE, Metric, always
from harness.stats.metrics.chance import MIN_FOR_AGREEMENT
from harness.stats.subsets.strata import members_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import Counts, FloatArray, IntArray
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.reasons import NAReason
    from harness.stats.subsets.strata import Stratum

MIN_RATINGS = MIN_FOR_AGREEMENT + 1  # the held-out rating, and those that define a stratum


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class HeldOutStratum:
    """Agreement with the remaining raters in one stratum, averaged over held-out ratings.

    Attributes
    ----------
    stratum : str
        Name of the stratum.
    n_items, n_ratings : int
        Number of items with held-out ratings that the judge answered, and of these ratings. An item
        is in several strata if its remaining raters differ in certainty between held-out ratings.
    hh : Estimate
        Share of the remaining ratings that equal the held-out one.
    hm : Estimate
        Expected share of the same ratings that equal a reply of the judge.
    difference : Estimate
        ``hh`` minus ``hm``; its expectation is 0 for a judge that answers like a random rater.
    """

    stratum: str
    n_items: int
    n_ratings: int
    hh: Estimate
    hm: Estimate
    difference: Estimate

    def __repr__(self) -> str:
        return f"HeldOutStratum({self.stratum!r}, {self.n_ratings} ratings)"


def held_out_strata(
    human: Counts,
    judges: Mapping[str, Counts],
    *,
    strata: Sequence[Stratum],
    resampling: Resampling,
    scale: ArrayLike | None = None,
) -> dict[str, tuple[HeldOutStratum, ...]]:
    """Compare a held-out rater with the judge, in strata defined by the remaining raters.

    Parameters
    ----------
    human : (n, K) array
        Number of times each option was chosen. Items with fewer than three ratings do not enter.
    judges : mapping of judge to (n, K) array
        The same counts for each judge.
    strata : sequence of Stratum
        Strata, which may overlap.
    resampling : Resampling
        Settings for intervals.
    scale : (K,) numbers, optional
        Increasing numbers for the options; by default 1 to K.

    Returns
    -------
    dict of judge to tuple of HeldOutStratum
        One result per stratum. NA with reason ``too_few_raters`` if no item has three ratings,
        ``no_overlap`` if the judge answered no item of the stratum, else ``empty_stratum``.
    """
    h = np.asarray(human, dtype=np.float64)
    results = {}
    for name, counts in judges.items():
        judge = np.asarray(counts, dtype=np.float64)
        kinds = Kinds.of(h, judge)
        sides = h[kinds.first], judge[kinds.first]
        left_out = _left_out(sides[0], strata, scale)
        sums = {
            stratum.name: _sums(*sides, ratings, kinds.of_item)
            for stratum, ratings in zip(strata, left_out, strict=True)
        }
        results[name] = tuple(
            HeldOutStratum(
                stratum=stratum,
                n_items=int(sums[stratum].entered.sum()),
                n_ratings=int(np.asarray(sums[stratum].contributions)[:, 2].sum()),
                **parts,
            )
            for stratum, parts in estimate_sums(sums, resampling=resampling).items()
        )
    return results


def _left_out(
    h: FloatArray, strata: Sequence[Stratum], scale: ArrayLike | None
) -> list[FloatArray]:
    """Count the (n, K) ratings whose item is in each stratum according to its other ratings."""
    by_option = [members_of(strata, _without(h, k), scale) for k in range(h.shape[1])]
    return [np.where(np.stack(inside, axis=1), h, 0.0) for inside in zip(*by_option, strict=True)]


def _without(h: FloatArray, k: int) -> FloatArray:
    """Remove a rating of option k from each item. Items without one lose all ratings."""
    remaining = h.copy()
    remaining[:, k] -= 1.0
    return np.where(h[:, [k]] > 0, remaining, 0.0)


def _sums(h: FloatArray, judge: FloatArray, left_out: FloatArray, of_item: IntArray) -> ItemSums:
    """Return the contributions of n items, given each item's (n,) kind."""
    answered = reduced(np.add, judge) > 0
    inside = reduced(np.logical_or, left_out)
    n_unanswered = int((inside & ~answered)[of_item].sum())
    contributions = _contributions(h, judge, np.where(answered[:, None], left_out, 0.0))
    return ItemSums(
        contributions=in_blocks(contributions.__getitem__, of_item),
        metrics=_METRICS,
        used=(inside & answered)[of_item],
        inside=inside[of_item],
        excluded=exclusions([("no_overlap", n_unanswered)]),
        nothing=_nothing(h, left_out),
    )


def _contributions(h: FloatArray, judge: FloatArray, left_out: FloatArray) -> FloatArray:
    """Return (n, 3) columns: agreement of held-out ratings, of the judge, number of ratings."""
    shares = np.nan_to_num(row_shares(judge))
    remaining = reduced(np.add, h)[:, None] - 1.0
    hh = left_out * (h - 1.0)
    hm = left_out * (reduced(np.add, shares * h)[:, None] - shares)
    agreeing = np.stack([reduced(np.add, hh), reduced(np.add, hm)], axis=1)
    n_ratings = reduced(np.add, left_out)
    return np.column_stack([np.nan_to_num(ratio(agreeing, remaining)), n_ratings])


def _nothing(h: FloatArray, left_out: FloatArray) -> NAReason:
    if reduced(np.add, h).max(initial=0.0) < MIN_RATINGS:
        return "too_few_raters"
    return "no_overlap" if left_out.any() else EMPTY


def _metric(name: str, weights: tuple[float, float], bounds: tuple[float, float]) -> Metric:
    return Metric(
        name=name,
        value=lambda totals: ratio(totals[..., :2] @ np.array(weights), totals[..., 2]),
        reason=always(EMPTY),
        bounds=bounds,
    )


_METRICS = (
    _metric("hh", (1.0, 0.0), SHARE),
    _metric("hm", (0.0, 1.0), SHARE),
    _metric("difference", (1.0, -1.0), (-1.0, 1.0)),
)

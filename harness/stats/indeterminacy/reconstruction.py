"""Response sets of raters who only chose, by way of those of them who did both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, frozen, ratio
from harness.stats.data.rating_table import Distributions
from harness.stats.inference.bootstrap import Resamples, Units

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.resampling import Resampling


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
    omega_low, omega_high : (n, K) arrays
        Percentile interval of omega for the draw of paired items; that of the item's own raters is
        not in it. nan without resampling.
    level : float
        Of the intervals.
    undefined_share : float or None
        Share of the resamples in which some chosen option had no pair.
    """

    distributions: Distributions
    F_reverse: FloatArray
    reasons: tuple[str, ...]
    n_pairs: int
    n_paired_items: int
    omega_low: FloatArray
    omega_high: FloatArray
    level: float
    undefined_share: float | None

    def __repr__(self) -> str:
        n = sum(not reason for reason in self.reasons)
        return f"Reconstruction({n} of {len(self.reasons)} items, {self.n_pairs} pairs)"


def reconstruct(
    table: RatingTable,
    *,
    resampling: Resampling,
) -> Reconstruction:
    """Say what raters who chose one option would have endorsed, from a paired subset of items.

    Parameters
    ----------
    table : RatingTable
        Forced choices of all items, and ``joint`` of some, about 100 of them.
    resampling : Resampling
        How intervals are made: of the paired items, and percentiles whatever its method.

    Returns
    -------
    Reconstruction
        NA item by item.

    Raises
    ------
    ValueError
        If the level is no probability or there is not one group per item.

    Notes
    -----
    theta_i = F' O_i (Guerdan et al. 2025, theorem 3.3) with one F' for all items: that is right on
    average over items like the paired ones, and for an item as far as P(set | choice) does not
    depend on the item. Pairs whose choice is outside their set are left out.
    """
    space, dist = table.space, Distributions.of(table)
    K, V = space.membership.shape
    inside: IntArray = np.zeros((len(table.items), K, V), dtype=np.int64)
    if table.joint is not None:
        inside = np.where(space.membership, table.joint, 0)
    F_reverse = _reverse(inside.sum(axis=0).astype(np.float64))
    chosen = dist.O > TOLERANCE
    unpaired = np.isnan(F_reverse).any(axis=0)
    reasons = np.where((chosen & unpaired).any(axis=1), "option_without_pairs", "")
    reasons = np.where(dist.n_forced == 0, "no_forced_choices", reasons)
    theta = np.where((reasons == "")[:, None], dist.O @ np.nan_to_num(F_reverse).T, np.nan)
    implied = replace(
        dist,
        theta=theta,
        omega=np.minimum(theta @ space.membership.T.astype(np.float64), 1.0),
        n_sets=np.where(reasons == "", dist.n_forced, 0.0),
    )
    paired = np.asarray(inside.any(axis=(1, 2)), dtype=np.bool_)
    units = resampling.units(len(table.items))
    resamples = Resamples.draw(units.n_units, resampling.n_resamples, resampling.rng)
    implications = _implications(inside, space.membership, units, resamples)
    kept = ~np.isnan(implications[:, :, ~unpaired]).any(axis=(1, 2))
    low, high = _interval(
        np.nan_to_num(implications[kept]), dist.O, reasons == "", resampling.level
    )
    return Reconstruction(
        distributions=implied,
        F_reverse=frozen(F_reverse),
        reasons=tuple(reasons.tolist()),
        n_pairs=int(inside.sum()),
        n_paired_items=int(paired.sum()),
        omega_low=frozen(low),
        omega_high=frozen(high),
        level=resampling.level,
        undefined_share=float(1.0 - kept.mean()) if kept.size else None,
    )


def _reverse(joint: FloatArray) -> FloatArray:
    """Turn (..., K, V) counts into F' (..., V, K)."""
    return np.swapaxes(ratio(joint, joint.sum(axis=-1, keepdims=True)), -1, -2)


def _implications(
    inside: IntArray, membership: BoolArray, units: Units, resamples: Resamples
) -> FloatArray:
    """Return (B, K, K): in each resample, P(option k endorsed, given option j is chosen)."""
    n, K, V = inside.shape
    by_unit = units.sums(inside.reshape(n, K * V).astype(np.float64))
    joint = resamples.totals([by_unit]).reshape(-1, K, V)
    return np.asarray(membership.astype(np.float64) @ _reverse(joint), dtype=np.float64)


def _interval(
    implications: FloatArray, O: FloatArray, known: BoolArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the (n, K) ends of the percentile intervals of omega, one option at a time."""
    ends = np.full((2, *O.shape), np.nan)
    if len(implications):
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        step = max(1, (1 << 22) // len(implications))  # 32 MiB at once
        rows = np.flatnonzero(known)
        for k in range(O.shape[1]):
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                ends[:, some, k] = np.quantile(implications[:, k] @ O[some].T, tails, axis=0)
    return ends[0], ends[1]

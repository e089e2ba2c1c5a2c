"""Response sets reconstructed from forced choices and pairs, and metrics based on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.data.forms import Cut
from harness.stats.data.rating_table import Distributions, omega_of
from harness.stats.indeterminacy.translation import F_hat, pairs_by_item
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Estimate, make_interval, share_undefined
from harness.stats.inference.interval_methods import Sampled
from harness.stats.metrics.registry import metrics_named
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it
from harness.stats.selection.evaluate import evaluate
from harness.stats.selection.judge_sums import ComparedSide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.metric import Metric


MIN_PAIRED_ITEMS = 30  # with fewer, intervals covered as little as 88 % in simulations
MIN_ITEMS_OF_OPTION = 5


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Reconstruction:
    """Theta and omega for items with forced choices, reconstructed with one F' from pairs.

    Attributes
    ----------
    distributions : Distributions
        O as counted; theta and omega as implied, nan if there is a reason in ``reasons``.
    F_reverse : (V, K) array
        P(set v is accepted, given option k is chosen), pooled over the pairs.
    reasons : n strings
        "" or why an item is not reconstructed: "no_forced_choices", or "option_without_pairs" if it
        has a choice of an option that nobody chose in a pair.
    n_pairs, n_paired_items : int
        Number of pairs, and of items with pairs, that F' is estimated from.
    """

    distributions: Distributions
    F_reverse: FloatArray
    reasons: tuple[Reason, ...]
    n_pairs: int
    n_paired_items: int

    def __repr__(self) -> str:
        n = sum(not reason for reason in self.reasons)
        return f"Reconstruction({n} of {len(self.reasons)} items, {self.n_pairs} pairs)"


def reconstruct(table: RatingTable) -> Reconstruction:
    """Reconstruct raters' response sets from their choices and from pairs on some items.

    Parameters
    ----------
    table : RatingTable
        Forced choices for all items, and ``joint`` for about 100 of them.

    Returns
    -------
    Reconstruction
        The reconstruction, with NA decided per item.

    Notes
    -----
    theta_i = F' O_i (Guerdan et al. 2025, theorem 3.3) with one F' for all items. This is correct
    on average over items like the paired ones, and for a single item if P(set | choice) does not
    depend on the item. Pairs whose choice is outside their set are left out.
    """
    dist, translation = Distributions.of(table), F_hat(table)
    without_pairs = _without_pairs(dist, translation.F_reverse)
    reasons: list[Reason] = [
        "" if n and not lacks_pairs else "option_without_pairs" if n else "no_forced_choices"
        for n, lacks_pairs in zip(dist.n_forced, without_pairs, strict=True)
    ]
    return Reconstruction(
        distributions=implied_by(dist, translation.F_reverse),
        F_reverse=translation.F_reverse,
        reasons=tuple(reasons),
        n_pairs=translation.n_pairs,
        n_paired_items=int(pairs_by_item(table).any(axis=(1, 2)).sum()),
    )


def missing_pairs(table: RatingTable) -> str:
    """Describe which pairs are still missing to estimate an F' that fits all choices.

    Parameters
    ----------
    table : RatingTable
        Forced choices for all items, and ``joint`` for some.

    Returns
    -------
    str
        "" if 30 items or more have pairs and each chosen option is chosen in the pairs of 5 items
        or more; otherwise the existing and the needed pairs.
    """
    paired = np.asarray(pairs_by_item(table).sum(axis=2) > 0)  # (n, K)
    n_items = int(paired.any(axis=1).sum())
    if n_items < MIN_PAIRED_ITEMS:
        return f"there are pairs on {n_items} items, but {MIN_PAIRED_ITEMS} are needed"
    n_of_option = paired.sum(axis=0)
    rare = (n_of_option < MIN_ITEMS_OF_OPTION) & (table.forced_choice.sum(axis=0) > 0)
    return "; ".join(
        f"option {option} is chosen in pairs on {n} items, but {MIN_ITEMS_OF_OPTION} are needed"
        for option, n, is_rare in zip(table.space.options, n_of_option, rare, strict=True)
        if is_rare
    )


def implied_in_resamples(table: RatingTable) -> Callable[[FloatArray], Distributions]:
    """Return a function that reconstructs response sets in a resample, with F' from its pairs."""
    dist, pairs = Distributions.of(table), pairs_by_item(table).astype(np.float64)

    def implied(times: FloatArray) -> Distributions:
        inside = np.einsum("n,nkv->kv", times, pairs)
        return implied_by(dist, ratio(inside.T, inside.sum(axis=1)[None, :]))

    return implied


def implied_by(dist: Distributions, F_reverse: FloatArray) -> Distributions:
    """Reconstruct theta and omega with the (V, K) F'. O is unchanged.

    They are nan if nobody chose, or if a chosen option has no pairs (a nan column of F').
    """
    missing = (dist.n_forced == 0) | _without_pairs(dist, F_reverse)
    theta = np.where(missing[:, None], np.nan, dist.O @ np.nan_to_num(F_reverse).T)
    return replace(
        dist,
        theta=theta,
        omega=omega_of(theta, dist.space),
        n_sets=np.where(missing, 0.0, dist.n_forced),
    )


def _without_pairs(dist: Distributions, F_reverse: FloatArray) -> BoolArray:
    unpaired = np.isnan(F_reverse).any(axis=0)
    return np.asarray(((dist.O > TOLERANCE) & unpaired).any(axis=1), dtype=np.bool_)


def reconstructed_metrics(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    metrics: Sequence[str | Metric],
    weights: FloatArray | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Compare judges with response sets that are reconstructed from raters' choices.

    Parameters
    ----------
    human : RatingTable
        Forced choices for all items, and ``joint`` for some; see `reconstruct`.
    judges, tau, positive
        As in `evaluate`.
    resampling : Resampling
        Settings for intervals. F' is estimated again from the pairs in each resample, so that
        intervals account for the limited number of pairs. They are always score intervals.
    metrics : sequence of str or Metric
        Names of `METRICS`, or other metrics.
    weights : (n,) array, optional
        Number of times each item counts; F' ignores it. Default: once.

    Returns
    -------
    dict of str to dict of str to Estimate
        Estimates by judge, then by metric.
    """
    rows = metrics_named(metrics)
    cut, implied = Cut(tau, tuple(positive)), reconstruct(human).distributions
    evaluation = evaluate(
        human,
        judges,
        tau=tau,
        positive=positive,
        resampling=replace(resampling, n_resamples=0),
        metrics=rows,
        implied=implied,
        weights=weights,
        beside=(),
    )
    sides = [ComparedSide.of(table, cut, rows) for table in judges]
    counted = np.ones(len(human.items)) if weights is None else weights
    drawn = _replicates(human, sides, cut, rows, resampling=resampling, counted=counted)
    n_units = resampling.units(len(human.items)).n_units

    def estimate(j: int, m: int) -> Estimate:
        point, replicates = evaluation.estimates[judges[j].name][rows[m].name], drawn[j, m]
        if point.value is None:
            return point
        sampled = Sampled(
            value=point.value,
            replicates=replicates,
            n_units=min(point.n_used, n_units),
            n_items=point.n_used,
            bounds=rows[m].bounds,
            is_share=rows[m].is_share,
        )
        interval, why_none = make_interval(
            sampled, level=resampling.level, unit=evaluation.units.kind
        )
        return replace(
            point,
            interval=interval,
            interval_reason=why_none,
            n_resamples=len(replicates),
            undefined_share=share_undefined(replicates),
        )

    return {
        table.name: {row.name: estimate(j, m) for m, row in enumerate(rows)}
        for j, table in enumerate(judges)
    }


def _replicates(
    human: RatingTable,
    sides: Sequence[ComparedSide],
    cut: Cut,
    rows: Sequence[Metric],
    *,
    resampling: Resampling,
    counted: FloatArray,
) -> FloatArray:
    """Return (J, M, B) values in the resamples, each with F' from the resample's pairs."""
    engine = Engine.draw(resampling.units(len(human.items)), resampling)
    implied = implied_in_resamples(human)
    J, M = len(sides), len(rows)
    of_judges = [np.concatenate([side.forms[row.judge_form] for side in sides]) for row in rows]

    def fitted(times: FloatArray) -> FloatArray:
        values = np.empty((J, M))
        raters = ComparedSide.of(human, cut, rows, implied(times))
        for m, row in enumerate(rows):
            vectors = np.tile(raters.forms[row.human_form], (J, 1))
            added = row.contributions(vectors, of_judges[m]).reshape(J, len(times), -1)
            values[:, m] = row.value((times * counted) @ added)
        return values.ravel()

    drawn = engine.refitted(fitted, J * M)
    return drawn.reshape(J, M, drawn.shape[1])

"""Decisions at a cut-off under a model of the raters' response sets, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.forms import Cut, check_tau
from harness.stats.indeterminacy.pair_bounds import Settled  # noqa: TC001 -- type of a field
from harness.stats.indeterminacy.set_model import (
    LEAST_DOUBLE,
    N_OF_DIRICHLET,
    N_OF_TILT,
    ClassCounts,
    ItemKinds,
    SetModel,
    fit,
)
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import (
    Estimate,
    ItemSums,
    exclusions,
)
from harness.stats.inference.estimate_sums import estimate_all
from harness.stats.inference.metric import POPULATION_VALUE, Metric, mean, no_items
from harness.stats.selection.replies import decisions_at_replies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling

PriorBasis: TypeAlias = Literal["dirichlet", "second_pairs"]
START_OF_JUDGE = (-1.0, 2.0, 2.0)  # intercept of the logit, and its slopes in the two shares
LEAST_ITEMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledDifference:
    """Difference between two judges in the share of decisions that match the raters'.

    Attributes
    ----------
    first, second : str
        The judges.
    difference : Estimate
        Share of the first judge minus share of the second.
    settled : {"first", "second", "not_identified"}
        The better judge, if the interval has one sign.
    """

    first: str
    second: str
    difference: Estimate
    settled: Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledDecisions:
    """Decisions at a cut-off under a model of the response sets.

    Attributes
    ----------
    basis : {"dirichlet", "second_pairs"}
        Assumed variation of the shares of response sets between items: a Dirichlet distribution, or
        one with all second moments that two pairs on the same items determine.
    n_double : int
        Number of items with two pairs or more.
    estimates : dict of str to dict of str to Estimate
        Estimates of "decision_consistency" and "prevalence_bias" by judge, for infinitely many
        raters.
    differences : tuple of ModelledDifference
        Differences in decision consistency between every two judges, with simultaneous intervals.
    """

    basis: PriorBasis
    n_double: int
    estimates: dict[str, dict[str, Estimate]]
    differences: tuple[ModelledDifference, ...]


def modelled_decisions(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    n_replies: float | None = None,
    weights: FloatArray | None = None,
) -> ModelledDecisions:
    """Estimate decision consistency and prevalence bias from a model of the response sets.

    Parameters
    ----------
    human : RatingTable
        Choices for all items, and ``joint`` for some.
    judges, tau, positive, n_replies, weights
        As in `pair_bounds`.
    resampling : Resampling
        Settings for intervals. Items are resampled with their pairs, and with their first-order
        contributions to the estimates of the model's parameters.

    Notes
    -----
    Choices and one pair per item do not determine how sets vary between items, so the estimate is
    only as good as the model. `pair_bounds` needs no model.
    """
    check_tau(tau)
    counts = ClassCounts.of(human, positive)
    rated = np.asarray(human.forced_choice.any(axis=1))
    tilted = counts.n_double >= LEAST_DOUBLE
    start = _human_alone(counts, rated, tau, tilted=tilted)
    cut = Cut(tau, tuple(positive))
    fits = {
        table.name: _JudgeFit.of(
            counts, decisions_at_replies(table, cut, n_replies)[:, 0], rated, tau, start
        )
        for table in judges
    }
    n_times = np.ones(len(rated)) if weights is None else weights
    engine = Engine.draw(resampling.units(len(rated)), resampling)
    jobs = [
        [fitted.sums(name, n_times) for name in ("decision_consistency", "prevalence_bias")]
        for fitted in fits.values()
    ]
    estimates = {
        name: {
            metric: _within(result.estimate, 0.0 if metric == "decision_consistency" else -1.0)
            for metric, result in by_metric.items()
        }
        for name, by_metric in zip(fits, estimate_all(jobs, engine), strict=True)
    }
    return ModelledDecisions(
        basis="second_pairs" if tilted else "dirichlet",
        n_double=counts.n_double,
        estimates=estimates,
        differences=_differences(fits, n_times, engine),
    )


def _human_alone(counts: ClassCounts, rated: BoolArray, tau: float, *, tilted: bool) -> FloatArray:
    """Fit the raters' parameters, which serve as starting values for fits with a judge."""
    cells = ItemKinds.of(counts, np.zeros(len(rated)), rated)
    start, _, _ = fit(SetModel(cells, tau, tilted=False, judged=False), np.zeros(N_OF_DIRICHLET))
    if not tilted:
        return start
    wider = np.concatenate([start, np.zeros(N_OF_TILT)])
    return fit(SetModel(cells, tau, tilted=True, judged=False), wider)[0]


@dataclass(frozen=True, slots=True, repr=False)
class _JudgeFit:
    """Each item's contributions to a judge's estimates, as (n,) arrays."""

    decision: FloatArray
    positive: FloatArray
    of_consistency: FloatArray
    of_prevalence: FloatArray
    used: BoolArray

    @classmethod
    def of(
        cls,
        counts: ClassCounts,
        decision: FloatArray,
        rated: BoolArray,
        tau: float,
        start: FloatArray,
    ) -> _JudgeFit:
        """Fit the model with a judge, and add each item's effect on the parameters."""
        used = np.asarray(rated & ~np.isnan(decision), dtype=np.bool_)
        nothing = np.zeros(len(used))
        if used.sum() < LEAST_ITEMS:
            return cls(decision, nothing, nothing, nothing, np.zeros_like(used))
        cells = ItemKinds.of(counts, np.nan_to_num(decision), used)
        model = SetModel(cells, tau, tilted=len(start) > N_OF_DIRICHLET, judged=True)
        at, scores, information = fit(model, np.concatenate([start, START_OF_JUDGE]))
        chances, slopes = model.positive_slopes(at)
        n, sign = float(cells.n.sum()), 2.0 * cells.decision - 1.0
        moved = scores @ np.linalg.inv(information / n)  # (C, P): of parameters, per item
        moved = moved - cells.n @ moved / n
        of_consistency = moved @ (cells.n * sign @ slopes / n)
        of_prevalence = moved @ (cells.n @ slopes / n)
        chance, consistency, prevalence = (
            np.where(used, part[cells.of_item], 0.0)
            for part in (chances, of_consistency, of_prevalence)
        )
        return cls(np.where(used, decision, 0.0), chance, consistency, prevalence, used)

    def consistency(self) -> FloatArray:
        """Return (n,) probabilities that judge and raters make the same decision."""
        alike = self.positive * self.decision + (1.0 - self.positive) * (1.0 - self.decision)
        return alike + self.of_consistency

    def sums(self, name: str, n_times: FloatArray) -> ItemSums:
        """Return the item sums from which a metric is computed."""
        values = self.consistency()
        if name == "prevalence_bias":
            values = self.decision - self.positive - self.of_prevalence
        return _mean_of(name, values, self.used, n_times)


def _mean_of(name: str, values: FloatArray, used: BoolArray, n_times: FloatArray) -> ItemSums:
    metric = Metric(
        name=name,
        value=mean,
        reason=no_items,
        bounds=(-inf, inf),
        estimand=POPULATION_VALUE,
    )
    weight = used * n_times
    return ItemSums(
        contributions=np.stack([values * weight, weight], axis=1),
        metrics=(metric,),
        used=used,
        nothing="too_few_items",
        excluded=exclusions([("too_few_items", int((~used).sum()))]),
    )


def _differences(
    fits: Mapping[str, _JudgeFit], n_times: FloatArray, engine: Engine
) -> tuple[ModelledDifference, ...]:
    couples = list(combinations(fits, 2))
    level = 1.0 - (1.0 - engine.level) / max(len(couples), 1)
    jobs = [
        [
            _mean_of(
                "difference",
                fits[first].consistency() - fits[second].consistency(),
                fits[first].used & fits[second].used,
                n_times,
            )
        ]
        for first, second in couples
    ]
    results = estimate_all(jobs, replace(engine, level=level))
    return tuple(
        ModelledDifference(
            first=first,
            second=second,
            difference=_within(result["difference"].estimate),
            settled=_settled(result["difference"].estimate),
        )
        for (first, second), result in zip(couples, results, strict=True)
    )


def _settled(difference: Estimate) -> Settled:
    if difference.interval is None:
        return "not_identified"
    if difference.interval.low > 0.0:
        return "first"
    return "second" if difference.interval.high < 0.0 else "not_identified"


def _within(estimate: Estimate, least: float = -1.0) -> Estimate:
    """Limit an estimate's interval to possible shares or differences."""
    if estimate.interval is None:
        return estimate
    ends = np.clip([estimate.interval.low, estimate.interval.high], least, 1.0)
    interval = replace(estimate.interval, low=float(ends[0]), high=float(ends[1]))
    return replace(estimate, interval=interval)

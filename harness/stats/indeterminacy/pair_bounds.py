"""Bounds on decisions at a cut-off, from choices on all items and pairs on some items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.data.forms import Cut, check_tau
from harness.stats.indeterminacy.bounds import Bound
from harness.stats.indeterminacy.dual_bounds import (
    Majorant,
    PolynomialMeans,
    least_majorant,
    no_majorant,
)
from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import ItemSums, exclusions
from harness.stats.inference.estimate_sums import estimate_all
from harness.stats.inference.metric import POPULATION_VALUE, Metric, no_items
from harness.stats.selection.replies import decisions_at_replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling, Units
    from harness.stats.inference.estimate import Estimate

Settled: TypeAlias = Literal["first", "second", "not_identified"]
MOST_CHOICES = 10  # more add little, and polynomials of higher degree are hard to distinguish
COVERED = 0.9  # share of items that must have this many choices
N_FOLDS = 5
CAUTION = 0.5  # standard errors by which a moment may be wrong
FITTED = 2_000  # weight of the fitted moments, in items
LEVELS = 4  # levels to which judges' decision probabilities are rounded, outwards


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedDifference:
    """Difference between two judges in the share of decisions that match the raters'.

    Attributes
    ----------
    first, second : str
        The judges.
    bound : Bound
        Bound on the share of the first judge minus the share of the second.
    settled : {"first", "second", "not_identified"}
        The judge with decisions closer to the raters', if all values within the intervals of both
        ends agree.
    """

    first: str
    second: str
    bound: Bound
    settled: Settled


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PairMoments:
    """Unbiased moments of each item, from its choices and its pairs.

    Attributes
    ----------
    choices : (n, m + 1) array
        Probability that k of m of its choices are positive; zeros with fewer than m choices.
    pairs : (n, m) array
        Share of its pairs that hide a positive option, by the number of positive ones among m - 1
        other choices.
    has_choices, has_pairs : (n,) bool arrays
        Whether an item has m choices, and whether it also has a pair.
    """

    choices: FloatArray
    pairs: FloatArray
    has_choices: BoolArray
    has_pairs: BoolArray

    def __repr__(self) -> str:
        return f"PairMoments({self.has_choices.sum()} items, {self.has_pairs.sum()} with pairs)"

    @classmethod
    def of(cls, human: RatingTable, positive: Sequence[str]) -> Self:
        """Compute the moments.

        ``m`` is the number of choices that 90 % of rated items have, up to 10.
        """
        space = human.space
        is_positive, meets = space.option_mask(positive), space.meets(positive)
        counts, joint = human.choice_counts, pairs_by_item(human)
        n_choices, n_positive = counts.sum(axis=1), counts[:, is_positive].sum(axis=1)
        n_pairs = joint.sum(axis=(1, 2))
        hidden = joint[:, ~is_positive][:, :, meets].sum(axis=(1, 2))
        m = degree(n_choices)
        enough = n_choices >= m
        paired = enough & (n_pairs > 0)
        drawn = _drawn(n_positive, n_choices, m) * enough[:, None]
        others = _drawn(n_positive, n_choices - 1, m - 1) * paired[:, None]
        share = ratio(hidden, n_pairs)[:, None]
        return cls(
            choices=drawn,
            pairs=np.where(paired[:, None], share * others, 0.0),
            has_choices=np.asarray(enough, dtype=np.bool_),
            has_pairs=np.asarray(paired, dtype=np.bool_),
        )

    def fitted(self, inside: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean moments of the selected items, shrunk to a model with a single beta."""
        from scipy.stats import betabinom  # noqa: PLC0415 -- takes a while to load

        m = self.pairs.shape[1]
        k = np.arange(m + 1)
        n, n_paired = (int((inside & has).sum()) for has in (self.has_choices, self.has_pairs))
        seen = self.choices[inside & self.has_choices].sum(axis=0)
        hidden = self.pairs[inside & self.has_pairs].sum(axis=0)
        smooth = (seen + 1.0 / (m + 1)) / (n + 1.0)
        mean = float(smooth @ k) / m
        spread = float(smooth @ (k - m * mean) ** 2) / (m * mean * (1.0 - mean))
        alike = float(np.clip((spread - 1.0) / max(m - 1, 1), 0.02, 0.95))  # intraclass correlation
        total = 1.0 / alike - 1.0
        of_beta = betabinom.pmf(k, m, mean * total, (1.0 - mean) * total)
        beta = min(float(hidden.sum() + 0.5) / (n_paired * (1.0 - mean) + 1.0), 1.0)
        hides = beta * (m - k[:-1]) / m * of_beta[:-1]
        return (
            (FITTED * of_beta + seen) / (FITTED + n),
            (FITTED * hides + hidden) / (FITTED + n_paired),
        )


def degree(n_choices: IntArray) -> int:
    """Return m, the largest number of choices, up to 10, that 90 % of the rated items have."""
    rated = np.sort(n_choices[n_choices > 0])
    if not len(rated):
        return 1
    return int(np.clip(rated[int((1.0 - COVERED) * len(rated))], 1, MOST_CHOICES))


def _drawn(n_positive: IntArray, n_choices: IntArray, m: int) -> FloatArray:
    """Return (n, m + 1) probabilities that k of m choices drawn from an item are positive."""
    from scipy.stats import hypergeom  # noqa: PLC0415 -- takes a while to load

    n = np.maximum(n_choices, m)[:, None]
    good = np.minimum(n_positive[:, None], n)
    return np.asarray(hypergeom.pmf(np.arange(m + 1), n, good, m))


def pair_bounds(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    n_replies: float | None = None,
    weights: FloatArray | None = None,
) -> tuple[dict[str, dict[str, Bound]], tuple[BoundedDifference, ...]]:
    """Bound decision consistency and prevalence bias by all values that fit choices and pairs.

    Parameters
    ----------
    human : RatingTable
        Choices for all items, and ``joint`` for a random part of them.
    judges, tau, positive, n_replies
        As in `free_bounds`.
    resampling : Resampling
        Settings for intervals; items are resampled with their pairs.
    weights : (n,) array, optional
        Number of times each item counts. Default: once.

    Returns
    -------
    bounds, differences
        Bounds on "decision_consistency" and "prevalence_bias" by judge, and the differences in
        consistency between every two judges, on the items of both, with simultaneous intervals.

    Notes
    -----
    Values refer to infinitely many raters. The polynomials of `least_majorant` are selected on four
    fifths of the items, and their mean is computed on the remaining fifth. So the interval of an
    outer end covers the sharp bound, and all values within it, whichever polynomials were selected.
    """
    check_tau(tau)
    cut = Cut(tau, tuple(positive))
    moments = PairMoments.of(human, positive)
    units = resampling.units(len(human.items))
    bounded = _Bounded(moments, _folds(units), tau)
    decided = [decisions_at_replies(table, cut, n_replies)[:, 0] for table in judges]
    rated = np.asarray(human.forced_choice.any(axis=1))
    wanted = [
        _Wanted(f"{table.name}\n{name}", weight, constant, rated & ~np.isnan(chances), low)
        for table, chances in zip(judges, decided, strict=True)
        for name, weight, constant, low in (
            ("decision_consistency", 2.0 * chances - 1.0, 1.0 - chances, 0.0),
            ("prevalence_bias", np.full_like(chances, -1.0), chances, -1.0),
        )
    ]
    couples = list(combinations(range(len(judges)), 2))
    apart = [
        _Wanted(
            f"{i}\n{j}",
            2.0 * (decided[i] - decided[j]),
            decided[j] - decided[i],
            rated & ~np.isnan(decided[i] + decided[j]),
            -1.0,
        )
        for i, j in couples
    ]
    engine = Engine.draw(units, resampling)
    level = 1.0 - (1.0 - resampling.level) / max(len(couples), 1)
    by_name = bounded.bounds(wanted, engine, weights)
    by_name |= bounded.bounds(apart, replace(engine, level=level), weights)
    by_judge = {
        table.name: {
            name: by_name[f"{table.name}\n{name}"]
            for name in ("decision_consistency", "prevalence_bias")
        }
        for table in judges
    }
    differences = tuple(
        BoundedDifference(
            first=judges[i].name,
            second=judges[j].name,
            bound=by_name[f"{i}\n{j}"],
            settled=_settled(by_name[f"{i}\n{j}"]),
        )
        for i, j in couples
    )
    return by_judge, differences


def _folds(units: Units) -> IntArray:
    """Assign each item to a fold. Items in the same unit are in the same fold."""
    order = np.random.default_rng(0).permutation(units.n_units)  # the same for every seed of a run
    return np.asarray((order % N_FOLDS)[units.of_item], dtype=np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class _Wanted:
    """A quantity to bound: the mean of a constant plus a weight for each positive item."""

    name: str
    weight: FloatArray
    constant: FloatArray
    used: BoolArray
    least: float

    @property
    def trivial(self) -> tuple[float, float]:
        """Return the smallest and largest value that any decisions of the raters could produce."""
        weight, constant = self.weight[self.used], self.constant[self.used]
        if not len(weight):
            return self.least, 1.0
        ends = (np.minimum(weight, 0.0), np.maximum(weight, 0.0))
        low, high = (float(np.mean(constant + end)) for end in ends)
        return low, high


@dataclass(frozen=True, slots=True, repr=False)
class _Bounded:
    """Inputs from which the bounds are computed."""

    moments: PairMoments
    folds: IntArray
    tau: float

    def bounds(
        self, wanted: Sequence[_Wanted], engine: Engine, weights: FloatArray | None
    ) -> dict[str, Bound]:
        """Compute the bounds on each quantity, by name."""
        jobs = [
            [self.sums(wanted_value, sign, weights)] for wanted_value in wanted for sign in (-1, 1)
        ]
        ends = [next(iter(result.values())).estimate for result in estimate_all(jobs, engine)]
        return {
            wanted_value.name: Bound(
                _clipped(low, wanted_value), _clipped(high, wanted_value), "pairs"
            )
            for wanted_value, low, high in zip(wanted, ends[::2], ends[1::2], strict=True)
        }

    def sums(self, wanted: _Wanted, sign: int, weights: FloatArray | None) -> ItemSums:
        """Return the item sums for an upper bound, or for a lower bound if the sign is -1."""
        levels = np.ceil(sign * wanted.weight * LEVELS - 1e-9) / LEVELS
        levels[~wanted.used] = 0.0
        of_choices, of_pairs = self._evaluated(levels, wanted.used)
        entering = np.asarray(wanted.used, dtype=np.float64)
        constant = np.where(wanted.used, np.nan_to_num(wanted.constant), 0.0)
        eligible = entering * self.moments.has_choices
        contributions = np.stack(
            [
                constant + sign * of_choices,
                entering,
                sign * of_pairs,
                eligible * self.moments.has_pairs,
                eligible,
            ],
            axis=1,
        )
        metric = Metric(
            name=wanted.name,
            value=_both_means,
            reason=no_items,
            bounds=(-inf, inf),
            estimand=POPULATION_VALUE,
        )
        sums = ItemSums(
            contributions=contributions,
            metrics=(metric,),
            used=wanted.used,
            nothing="no_overlap",
            excluded=exclusions([("no_overlap", int((~wanted.used).sum()))]),
        )
        return sums if weights is None else sums.weighted(weights)

    def _evaluated(self, levels: FloatArray, used: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) contributions of choices and of pairs to phi, fitted on the other folds."""
        n = len(levels)
        of_choices, of_pairs = np.zeros(n), np.zeros(n)
        for level in np.unique(levels[levels != 0.0]):
            group = used & (levels == level)
            of_choices[group & ~self.moments.has_choices] = max(float(level), 0.0)
            for fold in range(N_FOLDS):
                held = group & (self.folds == fold) & self.moments.has_choices
                if not held.any():
                    continue
                majorant = self._majorant(group, fold, float(level))
                of_choices[held] = self.moments.choices[held] @ majorant.of_choices
                of_pairs[held] = self.moments.pairs[held] @ majorant.of_pairs
        return of_choices, of_pairs

    def _majorant(self, group: BoolArray, fold: int, level: float) -> Majorant:
        others = group & (self.folds != fold) & self.moments.has_choices
        m = self.moments.pairs.shape[1]
        if not (others & self.moments.has_pairs).any():
            return no_majorant(m, level)
        choices, pairs = self.moments.fitted(others)
        paired_share = self.moments.has_pairs.sum() / self.moments.has_choices.sum()
        n = max(int((group & self.moments.has_choices).sum()), 1)
        moments = PolynomialMeans(
            choices,
            pairs,
            np.sqrt(choices * (1.0 - choices) / n),
            np.sqrt(pairs / (n * paired_share)),
        )
        return least_majorant(moments, weight=level, tau=self.tau, caution=CAUTION)


def _both_means(totals: FloatArray) -> FloatArray:
    """Return the mean over items, plus that over items with pairs times the share with choices."""
    of_items = ratio(totals[..., 0], totals[..., 1])
    return of_items + ratio(totals[..., 2], totals[..., 3]) * ratio(totals[..., 4], totals[..., 1])


def _clipped(end: Estimate, wanted: _Wanted) -> Estimate:
    """Limit an end of the bounds, and its interval, to values that decisions can attain."""
    low, high = wanted.trivial
    if end.value is None:
        return end
    interval = end.interval
    if interval is not None:
        ends = np.clip([interval.low, interval.high], low, high)
        interval = replace(interval, low=float(ends[0]), high=float(ends[1]))
    return replace(end, value=float(np.clip(end.value, low, high)), interval=interval)


def _settled(bound: Bound) -> Settled:
    """Return which judge is better at every value within the intervals of both ends."""
    low, high = outer_end(bound.low, -1), outer_end(bound.high, 1)
    if low is not None and low > 0.0:
        return "first"
    return "second" if high is not None and high < 0.0 else "not_identified"


def outer_end(end: Estimate, sign: int) -> float | None:
    """Return the outer limit of the interval for one end of the bounds, or None if it is NA.

    An end that is the same in all resamples has no interval, because it is the limit for any
    decisions.
    """
    if end.interval is None:
        return end.value if end.interval_reason == "constant" else None
    return end.interval.low if sign < 0 else end.interval.high

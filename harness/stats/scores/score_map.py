"""Monotone maps from a judge's scores to raters' choices, fitted out of fold.

Scores have no unit in common with ratings. A monotone (isotonic) regression of the raters' answers
on them creates one. If it were fitted on the items it is evaluated on, it would favour the judge,
so each item uses the map fitted on the folds without it.

References
----------
R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk, Statistical Inference under Order
Restrictions, Wiley 1972.
B. Zadrozny, C. Elkan, Transforming classifier scores into accurate multiclass probability
estimates, KDD 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

ScoreDirection: TypeAlias = Literal[
    "higher", "lower", "found"
]  # "found": estimated on different items than it's used on
N_FOLDS = 5
MIN_FITTED = 10  # units with ratings; with fewer, no map is fitted


@dataclass(frozen=True, slots=True, repr=False)
class ScoreMap:
    """A monotone map from a score to one or more expected values.

    Attributes
    ----------
    scores : (M,) array
        Distinct scores in ascending order. The map is flat below the first and above the last, and
        linear between two.
    values : (M, T) array
        The values at these scores. All columns ascend, or all descend.
    """

    scores: FloatArray
    values: FloatArray

    def __repr__(self) -> str:
        return f"ScoreMap({len(self.scores)} scores, {self.values.shape[1]} values)"

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Map (n,) scores to (n, T) values."""
        columns = [np.interp(scores, self.scores, column) for column in self.values.T]
        return np.stack(columns, axis=-1)

    @property
    def ascends(self) -> bool:
        """Return whether values ascend with the score. A constant map counts as ascending."""
        return not (self.values[-1] < self.values[0]).any()

    @classmethod
    def fit(
        cls, scores: FloatArray, values: FloatArray, weights: FloatArray, better: ScoreDirection
    ) -> Self:
        """Fit the map with the smallest weighted squared error.

        Parameters
        ----------
        scores : (n,) array
            One score per item.
        values : (n, T) array
            Values to predict.
        weights : (n,) array
            Positive weights, such as numbers of ratings.
        better : {"higher", "lower", "found"}
            Whether values ascend or descend with scores, or whichever fits better.
        """
        knots, place = np.unique(scores, return_inverse=True)
        mass = np.bincount(place, weights=weights).astype(np.float64)
        sums = [np.bincount(place, weights=weights * column) for column in values.T]
        means = np.stack(sums, axis=1) / mass[:, None]
        fits = [
            cls(frozen(knots), frozen(_isotonic(means, mass, ascends=ascends)))
            for ascends in (True, False)
            if better in ("found", "higher" if ascends else "lower")
        ]
        return min(fits, key=lambda fit: float((mass @ (fit.values - means) ** 2).sum()))


def _isotonic(means: FloatArray, mass: FloatArray, *, ascends: bool) -> FloatArray:
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 -- 0.1 s, only needed for scores

    columns = [isotonic_regression(y, weights=mass, increasing=ascends).x for y in means.T]
    return np.stack(columns, axis=1)


def ratings_ascend(scores: FloatArray, ratings: FloatArray) -> bool:
    """Return whether ratings ascend with (n,) scores, or True without items.

    ``ratings`` (n, K) are the numbers of raters who chose each option, the worst option first.
    """
    if not len(scores):
        return True
    counts = ratings.sum(axis=1)
    mean = ratings @ np.arange(ratings.shape[1]) / counts
    return ScoreMap.fit(scores, mean[:, None], counts, "found").ascends


def mean_map(maps: Sequence[ScoreMap]) -> ScoreMap:
    """Return the exact mean of maps, each of which is linear between consecutive scores."""
    knots = np.unique(np.concatenate([each.scores for each in maps]))
    return ScoreMap(frozen(knots), frozen(np.mean([each(knots) for each in maps], axis=0)))


@dataclass(frozen=True, slots=True)
class CrossFit:
    """Out-of-fold values for scores.

    Attributes
    ----------
    values : (n, T) array
        For an item with ratings, the value from the map fitted without its fold. For other items,
        the value from the mean of the maps.
    mean : ScoreMap
        The mean of the maps, for items that were not fitted on.
    n_higher : int
        Number of folds whose map ascends.
    n_folds : int
        Number of folds.
    """

    values: FloatArray
    mean: ScoreMap
    n_higher: int
    n_folds: int


def cross_fit(
    scores: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    units: IntArray,
    *,
    better: ScoreDirection = "found",
) -> CrossFit:
    """Fit one map per fold on the items outside it, and apply it to the fold's items.

    Parameters
    ----------
    scores : (n,) array
        Finite scores, one per reply.
    values : (n, T) array
        The raters' answers, such as the share above each cut. Rows without weight are not used.
    weights : (n,) array
        Numbers of ratings; 0 for an item without any.
    units : (n,) int array
        Numbered items or groups, each of which stays in one fold.
    better : {"higher", "lower", "found"}, optional
        See `ScoreMap.fit`. With ``found``, the direction is determined for each fold without its
        items.

    Raises
    ------
    ValueError
        If fewer than ten units have ratings.
    """
    fold = folds_of(units, weights > 0)
    n_folds = int(fold.max(initial=-1)) + 1
    if not n_folds:
        raise ValueError(f"fewer than {MIN_FITTED} rated items or groups have a score")
    maps = []
    for k in range(n_folds):
        used = (fold != k) & (weights > 0)
        maps.append(ScoreMap.fit(scores[used], values[used], weights[used], better))
    mean = mean_map(maps)
    mapped = mean(scores)
    for k, each in enumerate(maps):
        mapped[fold == k] = each(scores[fold == k])
    n_higher = sum(each.ascends for each in maps)
    return CrossFit(frozen(mapped), mean, n_higher, n_folds)


def folds_of(units: IntArray, rated: BoolArray, n: int = N_FOLDS) -> IntArray:
    """Return each item's fold. It is -1 for items without ratings, or with too few units.

    Units are shuffled by a fixed seed, so the same data have the same folds.
    """
    fold = np.full(len(units), -1, dtype=np.int64)
    names, place = np.unique(units[rated], return_inverse=True)
    if len(names) >= MIN_FITTED:
        order = np.random.default_rng(0).permutation(len(names))
        fold[rated] = (order % n)[place]
    return fold


def shares_of(cumulative: FloatArray) -> FloatArray:
    """Convert (n, K - 1) shares above each cut to (n, K) shares of the ordered options."""
    edges = np.ones((len(cumulative), 1)), np.zeros((len(cumulative), 1))
    shares = -np.diff(np.hstack([edges[0], cumulative, edges[1]]), axis=1)
    return np.asarray(np.clip(shares, 0.0, 1.0), dtype=np.float64)


def above_cuts(shares: FloatArray) -> FloatArray:
    """Convert (n, K) shares of ordered options to (n, K - 1) shares above each cut."""
    return np.asarray(shares[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:], dtype=np.float64)

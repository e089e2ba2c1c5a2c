"""Variance of metrics if items and raters are crossed, so that the same raters rated all items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray

MIN_CROSSED_RATERS = 5  # with fewer, an interval applies only to these raters
MIN_FREEDOM = 2.0  # Student's t has infinite variance here; with 4, coverage is too low
MIN_FILLED = 0.8  # raters count as crossed with items from this share of rated cells on


@dataclass(frozen=True, slots=True, repr=False)
class CrossedRatings:
    """Ratings of n items by m raters who each rated several items.

    Attributes
    ----------
    item, rater, option : (N,) int arrays
        Index of the item, rater and option of each rating.
    shape : (n, m, K)
        Number of items, raters and options.
    group : (n,) int array
        Cluster of each item; independent items are separate clusters.
    """

    item: IntArray
    rater: IntArray
    option: IntArray
    shape: tuple[int, int, int]
    group: IntArray

    def __repr__(self) -> str:
        n, m, _ = self.shape
        return f"CrossedRatings({len(self.item)} ratings of {n} items by {m} raters)"

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.item)

    @property
    def is_crossed(self) -> bool:
        """Return whether at least five raters gave most of the possible ratings."""
        n, m, _ = self.shape
        if m < MIN_CROSSED_RATERS:
            return False
        n_rated = np.count_nonzero(np.bincount(self.item, minlength=n))
        return bool(self.n_ratings >= MIN_FILLED * m * n_rated)

    def counts(self) -> IntArray:
        """Count ratings per item and option, as an (n, K) array."""
        n, _, K = self.shape
        return np.bincount(self.item * K + self.option, minlength=n * K).reshape(n, K)

    def by_option(self, rows: slice) -> Iterator[FloatArray]:
        """Yield an (m, n') 0/1 matrix per option of which raters chose it for a range of items."""
        _, m, K = self.shape
        among = np.flatnonzero((self.item >= rows.start) & (self.item < rows.stop))
        for k in range(K):
            chosen = among[self.option[among] == k]
            ones = np.zeros((m, rows.stop - rows.start))
            ones[self.rater[chosen], self.item[chosen] - rows.start] = 1.0
            yield ones


@dataclass(frozen=True, slots=True, repr=False)
class WithoutEach:
    """Statistics of the same sums without each rater, and without each rating.

    Attributes
    ----------
    raters : tuple of (m,) arrays
        Each statistic without each rater.
    cells : tuple of (C,) arrays
        Each statistic without one rating.
    times : (C,) array
        Number of ratings that each value of ``cells`` represents.
    """

    raters: tuple[FloatArray, ...]
    cells: tuple[FloatArray, ...]
    times: FloatArray

    def __repr__(self) -> str:
        return f"WithoutEach({len(self.raters)} statistics, {self.times.sum():g} ratings)"


def leave_out(
    ratings: CrossedRatings,
    sides: Sequence[Callable[[IntArray, IntArray], FloatArray]],
    *values: Callable[[FloatArray], FloatArray],
) -> list[WithoutEach]:
    """Evaluate statistics while leaving out each rater, and then each rating, in turn.

    Parameters
    ----------
    ratings : CrossedRatings
        Ratings by at least two raters.
    sides : sequence of callables
        For each side that is compared with the raters, a function ``(counts, rows) -> (n', d)``:
        the contributions of the items at ``rows``, (n',), if they had these (n', K) counts of
        ratings. Called with a block of items at a time.
    *values : callable
        ``totals (..., d) -> (...)``: the statistics.

    Returns
    -------
    list of WithoutEach
        One result per side.
    """
    n, m, _ = ratings.shape
    runs, all_counts = list(blocks(n)), ratings.counts()
    counts, items = [all_counts[run] for run in runs], [np.arange(n)[run] for run in runs]
    first = [side(counts[0], items[0]) for side in sides]
    totals = [sums.sum(axis=0) for sums in first]
    for run_counts, run_items in zip(counts[1:], items[1:], strict=True):
        totals = [
            t + side(run_counts, run_items).sum(axis=0)
            for t, side in zip(totals, sides, strict=True)
        ]
    without = [np.tile(total, (m, 1)) for total in totals]
    cells: list[list[list[FloatArray]]] = [[] for _ in sides]
    times = []
    for r, run in enumerate(runs):
        sums = first if r == 0 else [side(counts[r], items[r]) for side in sides]
        options, rated = np.nonzero(counts[r].T)  # sorted by option, then by item
        fewer, rows = counts[r][rated], items[r][rated]
        times.append(fewer[np.arange(len(rated)), options].astype(np.float64))
        fewer[np.arange(len(rated)), options] -= 1
        parts = [(fewer[at], rows[at]) for at in blocks(max(len(rated), 1))]
        changes = [
            np.concatenate([side(*part) for part in parts]) - of_side[rated]
            for side, of_side in zip(sides, sums, strict=True)
        ]
        for s, of_side in enumerate(changes):
            cells[s].append([value(totals[s] + of_side) for value in values])
        for k, chose in enumerate(ratings.by_option(run)):
            of_option = options == k
            chose_rated = chose[:, rated[of_option]]
            for s, of_side in enumerate(changes):
                without[s] += chose_rated @ of_side[of_option]
    return [
        WithoutEach(
            raters=tuple(value(of_side) for value in values),
            cells=tuple(np.concatenate(of_value) for of_value in zip(*of_cells, strict=True)),
            times=np.concatenate(times),
        )
        for of_side, of_cells in zip(without, cells, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class RaterVariance:
    """Variance in a statistic that comes from the sample of raters.

    Attributes
    ----------
    raters, cells : float
        Jackknife variances over raters and over single ratings.
    n_raters, n_ratings : int
        Number of raters and of ratings.
    """

    raters: float
    cells: float
    n_raters: int
    n_ratings: int

    def with_items(self, items: float, freedom: float) -> tuple[float, float]:
        """Add the variance over items and its degrees of freedom, using `satterthwaite`."""
        return satterthwaite(
            (items, freedom),
            (self.raters, self.n_raters - 1.0),
            (self.cells, self.n_ratings - 1.0),
        )


@dataclass(frozen=True, slots=True, repr=False)
class RaterCovariance:
    """Covariances of J statistics that come from sharing the same raters.

    Attributes
    ----------
    raters, cells : (J, J) arrays
        Jackknife covariances over raters and over single ratings; nan if undefined.
    n_raters, n_ratings : int
        Number of raters and of ratings.

    Notes
    -----
    Two-way clustering: the variance over items plus the variance over raters, minus the variance
    over single ratings, which both include (Cameron, Gelbach and Miller 2011, equation 2.11; Owen
    2007 for the bootstrap of crossed factors). Each component is a delete-one jackknife.
    """

    raters: FloatArray
    cells: FloatArray
    n_raters: int
    n_ratings: int

    def __repr__(self) -> str:
        return f"RaterCovariance({len(self.raters)} statistics, {self.n_raters} raters)"

    @classmethod
    def of(
        cls,
        left_out: Sequence[WithoutEach],
        ratings: CrossedRatings,
        statistic: int = 0,
    ) -> Self:
        """Compute the covariances of one statistic between judges with the same ratings."""
        m = ratings.shape[1]
        raters = np.array([judge.raters[statistic] for judge in left_out])
        cells = np.array([judge.cells[statistic] for judge in left_out])
        of_cells = jackknife_covariance(cells, left_out[0].times)
        return cls(jackknife_covariance(raters, np.ones(m)), of_cells, m, ratings.n_ratings)

    def variance(self, contrast: FloatArray) -> RaterVariance | None:
        """Return the variance of the sum of the statistics, weighted by a (J,) contrast.

        The result is None if a statistic is undefined without some rating.
        """
        used = np.flatnonzero(contrast)
        signs, part = contrast[used], np.ix_(used, used)
        raters, cells = (
            float(signs @ covariance[part] @ signs) for covariance in (self.raters, self.cells)
        )
        if not np.isfinite(raters + cells):
            return None
        return RaterVariance(raters, cells, self.n_raters, self.n_ratings)

    def noise(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw (J, n) normal deviations with the raters' covariance minus that of single ratings.

        Directions with a negative variance have no deviations.
        """
        variances, directions = np.linalg.eigh(self.raters - self.cells)
        scale = np.sqrt(np.maximum(variances, 0.0))
        return np.asarray((directions * scale) @ rng.standard_normal((len(scale), n)))


def satterthwaite(
    items: tuple[float, float], raters: tuple[float, float], cells: tuple[float, float]
) -> tuple[float, float]:
    """Combine variance components, each with its degrees of freedom.

    Parameters
    ----------
    items, raters, cells : (variance, degrees_of_freedom)
        Components over items, over raters, and over single ratings, which both others include.

    Returns
    -------
    variance, degrees_of_freedom : float
        V_items + V_raters - V_cells, but at least V_items. The degrees of freedom are at least 2,
        because large components with a small difference would leave less than one. nan if all
        components are 0.
    """
    variance = max(items[0] + raters[0] - cells[0], items[0])
    components = (items, raters, cells)
    spread = sum(component**2 / freedom for component, freedom in components if freedom > 0)
    return variance, max(variance**2 / spread, MIN_FREEDOM) if spread > 0 else float("nan")


def jackknife_covariance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the (J, J) jackknife covariance of (J, N) delete-one values."""
    n = weights.sum()
    off = values - (values @ weights)[:, None] / n
    return np.asarray((n - 1.0) / n * ((off * weights) @ off.T))

"""Coefficients that are read off the same sums of items, and their estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.bootstrap import Statistic
from harness.stats.inference.estimate import Estimate, Exclusion, Job, estimate_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.inference.metric import Better
    from harness.stats.inference.resampling import Resampling


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Measure:
    """One coefficient of some sums.

    Attributes
    ----------
    name : str
        As it is printed.
    value : callable
        ``totals -> values``: sums of shape (..., d) to values of shape (...); nan where undefined.
    why : callable
        ``totals -> reason``: for one (d,) row of sums whose value is nan, the reason.
    paper : str
        Where the definition stands.
    better : {"higher", "lower", "zero"}
        Which direction is better.
    bounds : (low, high)
        Least and greatest possible value.
    also : tuple of str
        Other coefficients that are this same number on such data; it is printed once.
    """

    name: str
    value: Callable[[FloatArray], FloatArray]
    why: Callable[[FloatArray], str]
    paper: str
    better: Better = "higher"
    bounds: tuple[float, float] = (-1.0, 1.0)
    also: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Measure({self.name!r}, better {self.better})"


def read(
    totals: FloatArray,
    measures: Iterable[Measure],
    *,
    n_used: int | None = None,
    counts: Mapping[str, float] | None = None,
) -> dict[str, Estimate]:
    """Evaluate measures of (d,) sums, without intervals.

    Parameters
    ----------
    totals : (d,) array
        The sums that the measures read.
    measures : iterable of Measure
        What to evaluate.
    n_used : int, optional
        Items behind the sums; by default the sum of the totals, as fits the cells of a table.
    counts : mapping, optional
        Shown beside every value.
    """
    sums = np.asarray(totals, dtype=np.float64)
    n = round(float(sums.sum())) if n_used is None else n_used
    found = {}
    for measure in measures:
        value = float(measure.value(sums))
        undefined = bool(np.isnan(value))
        found[measure.name] = Estimate(
            value=None if undefined else value,
            reason=measure.why(sums) if undefined else "",
            n_used=n,
            counts=dict(counts or {}),
        )
    return found


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Batch:
    """Measures of the same contributions.

    Attributes
    ----------
    contributions : (n, d) array
        What each item adds; zeros where it does not enter.
    measures : tuple of Measure
        What to evaluate.
    used : (n,) bool array or None
        Which items enter; None for those that add anything.
    excluded : tuple of Exclusion
        Why the others do not.
    nothing : str
        The reason when no item enters.
    """

    contributions: FloatArray
    measures: tuple[Measure, ...]
    used: BoolArray | None = None
    excluded: tuple[Exclusion, ...] = ()
    nothing: str = "no_items"

    def __post_init__(self) -> None:
        sums = np.asarray(self.contributions, dtype=np.float64)
        if sums.ndim != 2 or not np.isfinite(sums).all():  # noqa: PLR2004 -- a matrix has two axes
            raise ValueError(f"contributions has shape {sums.shape}; wanted finite numbers, (n, d)")
        object.__setattr__(self, "contributions", sums)

    def __repr__(self) -> str:
        return f"Batch({len(self.contributions)} items, {len(self.measures)} measures)"

    def jobs(self) -> dict[str, Job]:
        """Make one job per measure."""
        entered = self.contributions.any(axis=1) if self.used is None else self.used
        return {
            measure.name: Job(
                statistic=Statistic(self.contributions, measure.value),
                used=np.asarray(entered, dtype=np.bool_),
                why=measure.why,
                nothing=self.nothing,
                excluded=self.excluded,
            )
            for measure in self.measures
        }


def estimate_batches(
    batches: Mapping[str, Batch],
    *,
    resampling: Resampling,
) -> dict[str, dict[str, Estimate]]:
    """Evaluate batches of the same items on one bootstrap, so that they can be compared.

    Parameters
    ----------
    batches : mapping of str to Batch
        All over the same n items.
    resampling : Resampling
        How intervals are made.

    Returns
    -------
    dict of str to dict of str to Estimate
        By name of the batch, then of the measure.

    Raises
    ------
    ValueError
        If batches have different numbers of items, or another argument is out of range.
    """
    lengths = {len(batch.contributions) for batch in batches.values()}
    if len(lengths) != 1:
        raise ValueError(f"batches have {sorted(lengths)} items; wanted one number of items")
    units = resampling.units(lengths.pop())
    jobs = [batch.jobs() for batch in batches.values()]
    found = estimate_all(jobs, units, resampling)
    return {
        name: {measure: one.estimate for measure, one in each.items()}
        for name, each in zip(batches, found, strict=True)
    }


def estimate(
    contributions: FloatArray,
    measures: Iterable[Measure],
    *,
    resampling: Resampling,
) -> dict[str, Estimate]:
    """Evaluate measures of the same contributions on one bootstrap.

    Parameters
    ----------
    contributions : (n, d) array
        What each item adds; zeros where it does not enter.
    measures : iterable of Measure
        What to evaluate.
    resampling : Resampling
        How intervals are made.

    Returns
    -------
    dict of str to Estimate
        By name of the measure.

    Raises
    ------
    ValueError
        If contributions are no finite (n, d) array, or another argument is out of range.
    """
    batch = Batch(contributions=contributions, measures=tuple(measures))
    return estimate_batches(
        {"": batch},
        resampling=resampling,
    )[""]

"""What a row of the metric table holds: two pure functions and what is known about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.arrays import FloatArray, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.distributions import Form
    from harness.stats.response_sets import OptionSpace

Better: TypeAlias = Literal["higher", "lower", "zero"]


def no_counts(totals: FloatArray, space: OptionSpace) -> dict[str, float]:  # noqa: ARG001 -- the shape of MetricRow.counts
    """Report no counts beside the value."""
    return {}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MetricRow:
    """One metric: what each item adds, what the sums are worth, and how to read the result.

    Attributes
    ----------
    name : str
        As the papers print it, with the forms judge/human: ``coverage(h/hrs)`` is a hard judge
        against human response sets.
    contributions : callable
        ``(human, judge) -> (n, d)``: rating vectors, each (n, K) or (n, 1), to what each item adds.
        A row with a nan on either side adds zeros, the weight included.
    value : callable
        ``totals -> values``: sums of shape (..., d) to values of shape (...); nan where undefined.
    why : callable
        ``totals -> reason``: for one (d,) row of sums whose value is nan, the reason.
    counts : callable
        ``(totals, space) -> {name: count}``: counts worth showing beside the value.
    human_form, judge_form : str
        Which aggregation makes the rating vectors; see `aggregate`.
    better : {"higher", "lower", "zero"}
        Which direction is better. "zero" ranks by absolute value and keeps the sign.
    symmetric : bool
        Whether swapping human and judge vectors changes nothing.
    bounds : (low, high)
        Least and greatest possible value.
    unit : str
        "bits", "nats", or "" for a pure number.
    paper : str
        Where the definition stands.
    """

    name: str
    contributions: Callable[[FloatArray, FloatArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]
    why: Callable[[FloatArray], str]
    human_form: Form
    judge_form: Form
    better: Better
    symmetric: bool
    bounds: tuple[float, float]
    paper: str
    counts: Callable[[FloatArray, OptionSpace], dict[str, float]] = no_counts
    unit: str = ""

    def __repr__(self) -> str:
        return f"MetricRow({self.name!r}, better {self.better})"


def both_rated(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 1): 1.0 where neither rating vector has a nan, else 0.0: the item's weight."""
    if human.shape != judge.shape:
        raise ValueError(f"human has shape {human.shape} but judge {judge.shape}; wanted the same")
    missing = np.isnan(human) | np.isnan(judge)
    return np.asarray(~missing.any(axis=1, keepdims=True), dtype=np.float64)


def weighted(per_item: FloatArray, weight: FloatArray) -> FloatArray:
    """Return (n, 2): what each item adds to the numerator, and its weight (n, 1)."""
    rated = weight > 0
    return np.hstack([np.where(rated, per_item[:, None], 0.0), weight])


def mean(totals: FloatArray) -> FloatArray:
    """Divide the first sum by the second, a weight."""
    return ratio(totals[..., 0], totals[..., 1])


def why_no_mean(totals: FloatArray) -> str:  # noqa: ARG001 -- the shape of MetricRow.why
    """Name the one reason for which a mean is undefined."""
    return "no_items"


def find_metric(name: str, rows: Sequence[MetricRow]) -> MetricRow:
    """Return the row of that name.

    Raises
    ------
    ValueError
        If there is none; the message lists the names.
    """
    for row in rows:
        if row.name == name:
            return row
    raise ValueError(f"no metric is named {name!r}; there are {', '.join(r.name for r in rows)}")

"""The metric type, parts that metrics share, and lookup by name."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite, isinf
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, row_sums
from harness.stats.data.forms import FORMS
from harness.stats.inference.interval_methods import FurtherItem
from harness.stats.modes import Estimand  # noqa: TC001 -- readers of a field's type need it
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.rating_table import Form

Better: TypeAlias = Literal["higher", "lower", "zero"]
Family: TypeAlias = Literal[
    "categorical",
    "binary",
    "ordinal",
    "distributional",
    "categorical multi-label",
    "continuous multi-label",
    "downstream",
    "agreement among raters",
    "association",
    "distributions by bin",
    "other",
]
MetricUnit: TypeAlias = Literal[
    "bits", "nats", "square root of nats", "options", ""
]  # "" for a pure number
Perfect: TypeAlias = Literal["bound", "best", "other"]
SHARE = (0.0, 1.0)  # bounds of a share
DESIGN_VALUE: Estimand = "design value"
POPULATION_VALUE: Estimand = "population value"


def no_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    """Return an empty dict for metrics that report no counts with their value."""
    return {}


def no_contributions(*vectors: FloatArray) -> FloatArray:
    """Raise an error, because the metric uses sums that its caller computes."""
    raise ValueError(f"no contributions are defined for these {len(vectors)} arrays")


@dataclass(frozen=True, slots=True)
class SquaredDistance:
    """Form of a metric whose expectation over replies has a closed form.

    The metric of an item is the sum, or the mean, of squared differences between a linear function
    of the raters' and of the judge's rating vector.

    Attributes
    ----------
    linear : callable
        ``(n, D) rating vectors -> (n, D')``.
    averaged : bool
        Whether it is the mean over the D' entries, not their sum.
    """

    linear: Callable[[FloatArray], FloatArray]
    averaged: bool = False

    def per_entry(self, n_entries: int) -> float:
        """Return the factor by which each squared difference is multiplied."""
        return 1.0 / n_entries if self.averaged else 1.0


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Metric:
    """A coefficient: items' contributions, the value of their sums, and its interpretation.

    Attributes
    ----------
    name : str
        Name in the papers, with the forms judge/human if rating vectors are compared.
        ``coverage(h/hrs)`` compares a hard judge with human response sets; see `name_of`.
    kind : str
        The name without forms, by default the name.
    value : callable
        ``totals -> values``: sums of shape (..., d) to values of shape (...); nan if undefined.
    reason : callable
        ``totals -> reason``: the reason that the value is nan, for one (d,) row of sums.
    contributions : callable
        Contribution of each item, (n, d). If the metric compares a judge with humans, it is
        ``(human, judge) -> (n, d)`` from rating vectors, each (n, K) or (n, 1). A row with a nan on
        either side contributes zeros, also to the weight. For agreement among raters, it is
        ``counts -> (n, d)`` from the number of choices of each option, (n, K). A metric without
        this function uses sums that its caller computes.
    display_name : str
        Name for readers without knowledge of statistics; by default the name with spaces.
    paper : str
        Source of the definition.
    better : {"higher", "lower", "zero"}
        The better direction. "zero" ranks by absolute value and keeps the sign.
    symmetric : bool
        Whether swapping human and judge vectors changes nothing.
    bounds : (low, high)
        Smallest and largest possible value.
    most_per_option : float
        For a sum over options, the largest contribution of one option. Infinite for other metrics.
    human_form, judge_form : str
        Aggregation that computes the rating vectors; see `aggregate`.
    family : str
        Group that it is shown in, as in table 1 of Guerdan et al. 2025.
    perfect : {"bound", "best", "other"}
        Value for a judge that answers exactly as the humans did. "bound" is the best bound. "best"
        is a value that depends on the ratings and that no judge can improve on. "other" is a value
        that a different judge can improve on.
    also : tuple of str
        Other coefficients that equal this one on such data. The number is printed once.
    estimand : {"design value", "population value"}
        Quantity that the value estimates: the expectation with this many raters and samples, or the
        value with infinitely many of both.
    counts : callable
        ``(totals, options) -> {name: count}``: counts to show next to the value.
    unit : str
        "bits", "nats", "square root of nats", "options", or "" for a pure number.
    min_ratings, max_ratings : float
        Items with fewer or more human ratings are excluded.
    squared : SquaredDistance or None
        Closed form of a mean squared distance, which gives its value at any number of replies.
    beyond_chance : bool
        Whether it uses the cells of two labels and depends on rare options, like agreement beyond
        chance. Its interval then allows for options that few items have.
    interval_from : int
        Minimum number of units for an interval, if that is more than the usual five.
    """

    name: str
    value: Callable[[FloatArray], FloatArray]
    reason: Callable[[FloatArray], Reason]
    contributions: Callable[..., FloatArray] = no_contributions
    display_name: str = ""
    paper: str = ""
    better: Better = "higher"
    symmetric: bool = False
    bounds: tuple[float, float] = (-1.0, 1.0)
    most_per_option: float = np.inf
    human_form: Form = "h"
    judge_form: Form = "h"
    family: Family = "other"
    perfect: Perfect = "bound"
    also: tuple[str, ...] = ()
    estimand: Estimand = DESIGN_VALUE
    counts: Callable[[FloatArray, Sequence[str]], dict[str, float]] = no_counts
    kind: str = ""
    unit: MetricUnit = ""
    min_ratings: int = 0
    max_ratings: float = np.inf
    squared: SquaredDistance | None = None
    beyond_chance: bool = False
    interval_from: int = 0

    def __post_init__(self) -> None:
        if not self.display_name:
            object.__setattr__(self, "display_name", self.name.replace("_", " "))
        if not self.kind:
            object.__setattr__(self, "kind", self.name)

    @property
    def is_share(self) -> bool:
        """Return whether the metric is a share of counted items or ratings, and not an error."""
        return self.bounds == SHARE and not self.is_error

    @property
    def is_error(self) -> bool:
        """Return whether lower values are better."""
        return self.better == "lower"

    @property
    def zero_is_best(self) -> bool:
        """Return whether 0 is the best value, so that values on either side are worse."""
        return self.better == "zero"

    def losses(self, values: ArrayLike) -> FloatArray:
        """Convert values to losses. Lower losses are better."""
        return losses_of(values, self.better)

    def of_losses(self, losses: FloatArray) -> FloatArray:
        """Convert losses back to values. If 0 is best, the values have no sign."""
        return losses if self.is_error or self.zero_is_best else -losses

    def unsigned(self, values: ArrayLike) -> FloatArray:
        """Remove the signs of values if 0 is best. Otherwise return them unchanged."""
        return self.of_losses(self.losses(values))

    def loss_signs(self, values: FloatArray | float) -> FloatArray:
        """Return 1 if the loss rises with the value, -1 if it falls, and 0 at the best value."""
        if self.zero_is_best:
            return np.sign(np.asarray(values, dtype=np.float64))
        return np.full(np.shape(values), 1.0 if self.is_error else -1.0)

    def further_item(
        self, n_options: int, *, n_replies: float, n_raters: float, n_items: int, n_units: int
    ) -> FurtherItem | None:
        """Return the maximum that one rating of one more item could add.

        An item has ``n_replies`` from the judge and ratings from ``n_raters``. The one rating
        counts like a reply or, if there are fewer raters than replies, like the mean of a reply and
        a rater's rating. If only replies counted, the interval for a judge with ten replies would
        miss rare disagreements among three raters.

        Returns None if the metric is not a mean over items, if it is a share (whose interval is
        Wilson's), or if there is no reply noise.
        """
        if not self.is_item_mean or self.is_share or not n_items or isinf(n_replies):
            return None
        low, high = self.bounds
        if isinf(high):
            high = low + self.loss_range(n_options)
        if not isfinite(high - low):
            return None
        weight = max(1.0 / n_replies, (1.0 / n_replies + 1.0 / n_raters) / 2.0)
        return FurtherItem(low, high, weight * n_units / n_items)

    @property
    def loss_bounds(self) -> tuple[float, float]:
        """Smallest and largest possible loss."""
        low, high = self.bounds
        if self.zero_is_best:
            return 0.0, max(abs(low), abs(high))
        return (low, high) if self.is_error else (-high, -low)

    def loss_range(self, n_options: int | None = None) -> float:
        """Return the largest possible difference between two losses, or infinity without bounds.

        A sum over options is bounded by ``n_options``, if known.
        """
        low, high = self.loss_bounds
        if isfinite(high - low) or n_options is None:
            return high - low
        return n_options * self.most_per_option

    @property
    def is_item_mean(self) -> bool:
        """Return whether the metric is a mean over items in which 0 is not the best value."""
        return self.value is mean and not self.zero_is_best

    def __repr__(self) -> str:
        return f"Metric({self.name!r}, better {self.better})"


class MetricFields(TypedDict, total=False):
    """Optional fields of `Metric`."""

    display_name: str
    symmetric: bool
    most_per_option: float
    perfect: Perfect
    also: tuple[str, ...]
    estimand: Estimand
    squared: SquaredDistance | None


class AverageFields(MetricFields, total=False):
    """Optional fields of a `Metric` that is a mean over items."""

    unit: MetricUnit


def losses_of(values: ArrayLike, better: Better) -> FloatArray:
    """Convert values of a metric with direction ``better`` to losses. See `Metric.losses`."""
    numbers = np.asarray(values, dtype=np.float64)
    if better == "zero":
        return np.abs(numbers)
    return numbers if better == "lower" else -numbers


def both_rated(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 1) weights: 0.0 for items with a nan in either rating vector, else 1.0."""
    if human.shape != judge.shape:
        raise ValueError(
            f"human has shape {human.shape} but judge {judge.shape}; they must be equal"
        )
    either = row_sums(human) + row_sums(judge)  # nan if any entry is
    return np.asarray(~np.isnan(either), dtype=np.float64)[:, None]


def weighted(per_item: FloatArray, weight: FloatArray) -> FloatArray:
    """Return (n, 2) columns: each item's contribution to the numerator, and its weight."""
    sums = np.empty((len(weight), 2))
    sums[:, 0] = np.where(weight[:, 0] > 0, per_item, 0.0)
    sums[:, 1] = weight[:, 0]
    return sums


def mean(totals: FloatArray) -> FloatArray:
    """Divide the first sum by the second, which is the total weight."""
    return ratio(totals[..., 0], totals[..., 1])


def always(reason: Reason) -> Callable[[FloatArray], Reason]:
    """Return a `Metric.reason` that always returns the same reason."""
    return lambda _: reason


def unless_empty(reason: Reason) -> Callable[[FloatArray], Reason]:
    """Return a `Metric.reason` that returns this reason, or "no_items" if all sums are 0."""
    return lambda totals: reason if totals.sum() > 0 else "no_items"


no_items = always("no_items")
constant_labels = unless_empty("constant_labels")


def name_of(kind: str, judge_form: Form, human_form: Form, direction: str = "") -> str:
    """Return the name of a metric that compares rating vectors in two forms.

    Examples
    --------
    >>> name_of("coverage", "h", "hrs"), name_of("kl", "s", "s", "human->judge")
    ('coverage(h/hrs)', 'kl(s/s, human->judge)')
    """
    symbols = [FORMS[form].symbol for form in (judge_form, human_form)]
    if not all(symbols):
        return kind
    return f"{kind}({', '.join(filter(None, ('/'.join(symbols), direction)))})"


def average_metric(
    kind: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    forms: tuple[Form, Form],
    *,
    family: Family,
    paper: str,
    better: Better = "lower",
    bounds: tuple[float, float] = (0.0, np.inf),
    **about: Unpack[AverageFields],
) -> Metric:
    """Return a metric that is a mean over items.

    Parameters
    ----------
    kind : str
        The metric's name without its forms.
    contributions : callable
        ``(human, judge) -> (n, 2)``: value and weight of each item.
    forms : (judge_form, human_form)
        Aggregations that compute the rating vectors.
    family, paper, better, bounds, **about
        Fields of `Metric`.
    """
    return Metric(
        name=name_of(kind, *forms),
        kind=kind,
        contributions=contributions,
        value=mean,
        reason=no_items,
        human_form=forms[1],
        judge_form=forms[0],
        better=better,
        bounds=bounds,
        paper=paper,
        family=family,
        **about,
    )


def infinite_metric(
    kind: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    forms: tuple[Form, Form],
    *,
    family: Family,
    paper: str,
    direction: str = "",
    **about: Unpack[MetricFields],
) -> Metric:
    """Return a metric that is a mean in nats, and infinite after one impossible answer.

    Parameters
    ----------
    contributions : callable
        ``(human, judge) -> (n, 3)``: nats, weight, and the number of infinite cells.
    kind, forms, family, paper, **about
        As in `average_metric`.
    direction : str
        "human->judge" or "judge->human", if the metric has a direction, which is then part of its
        name.
    """
    return Metric(
        name=name_of(kind, *forms, direction),
        kind=kind,
        contributions=contributions,
        value=_finite_mean,
        reason=_reason_not_finite,
        counts=_empty_cells,
        human_form=forms[1],
        judge_form=forms[0],
        better="lower",
        bounds=(0.0, np.inf),
        unit="nats",
        paper=paper,
        family=family,
        **about,
    )


def finite_part(cost: ArrayLike, weight: FloatArray) -> FloatArray:
    """Return (n, 3) columns: sums of finite nats, weights, and numbers of infinite entries."""
    nats = np.asarray(cost, dtype=np.float64)
    infinite = np.isposinf(nats)
    n_infinite = weight[:, 0] * row_sums(infinite.astype(np.float64))
    finite = weighted(row_sums(np.where(infinite, 0.0, nats)), weight)
    return np.column_stack([finite, n_infinite])


def _finite_mean(totals: FloatArray) -> FloatArray:
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _reason_not_finite(totals: FloatArray) -> Reason:
    return "infinite" if totals[2] > 0 else "no_items"


def _empty_cells(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"empty_cells": float(totals[2])}


def by_contributions(metrics: Iterable[Metric]) -> list[tuple[Metric, ...]]:
    """Group metrics that use the same sums: the same contributions in the same forms."""
    groups: dict[tuple[object, Form, Form], tuple[Metric, ...]] = {}
    for metric in metrics:
        key = (metric.contributions, metric.human_form, metric.judge_form)
        groups[key] = (*groups.get(key, ()), metric)
    return list(groups.values())


def find_metric(name: str, metrics: Sequence[Metric]) -> Metric:
    """Return the metric with this name.

    Raises
    ------
    ValueError
        If there is no such metric. The message lists similar names, or all.
    """
    for metric in metrics:
        if metric.name == name:
            return metric
    names = [metric.name for metric in metrics]
    similar = [n for n in names if n.startswith(name)] or get_close_matches(name, names)
    hint = f"Did you mean {' or '.join(similar)}?" if similar else f"There are {', '.join(names)}"
    raise ValueError(f"no metric is named {name!r}. {hint}")

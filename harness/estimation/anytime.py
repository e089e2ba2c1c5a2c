"""Confidence sequences: simultaneous intervals for every number of ratings so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.errors import OptionError, TaskError
from harness.stats.estimation.labelling import confidence_sequence
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from harness.analysis import Source
    from harness.estimation.quantity import Quantity
    from harness.stats.estimation.effective_counts import Labelled
    from harness.stats.estimation.prediction_powered import JudgedMean


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeLook:
    """Interval after the ratings so far, from a confidence sequence.

    Attributes
    ----------
    low, high : float
        Ends of the interval.
    level : float
        Probability that all intervals of the sequence contain the mean.
    n_labelled : int
        Number of labelled items that the interval uses.
    wanted_width : float
        Interval width at which you can stop rating.
    """

    low: Annotated[float, MadeBy("betting")]
    high: Annotated[float, MadeBy("betting")]
    level: float
    n_labelled: int
    wanted_width: float

    @property
    def is_narrow_enough(self) -> bool:
        """Whether the interval is narrow enough to stop rating."""
        return self.high - self.low <= self.wanted_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Rule for when to stop rating.

    Attributes
    ----------
    width : float
        Width of an interval that is narrow enough.
    ratings_per_item : int
        Number of ratings that an item needs to count. Later ratings are left out.
    level : float
        Probability that the intervals of all looks contain the mean.
    """

    width: float
    ratings_per_item: int
    level: float


def check_order(labelled: Labelled, *, grouped: bool) -> None:
    """Reject items that weren't drawn one by one at random.

    Parameters
    ----------
    labelled : Labelled
        The rated items.
    grouped : bool
        Whether the unlabelled items come in groups.

    Raises
    ------
    OptionError
        If items come in groups, or the rated ones were drawn with known probabilities.
    """
    if labelled.independent and not grouped:
        return
    which = "unlabelled" if labelled.independent else "rated"
    is_drawn = which == "rated" and labelled.weights is not None
    how = "were drawn with unequal probabilities" if is_drawn else "come in groups"
    raise OptionError(
        "until_width",
        f"the {which} items {how}, which this interval doesn't support",
        "Leave out {until_width}",
    )


def look_at(
    source: Source,
    judge: str,
    quantity: Quantity,
    judged: JudgedMean,
    stopping: Stopping,
) -> AnytimeLook:
    """Compute the interval after the ratings so far.

    Parameters
    ----------
    source : Source
        Items, ratings in the order of their creation, and verdicts.
    judge : str
        Name of the judge.
    quantity : Quantity
        The quantity to average.
    judged : JudgedMean
        The judge's values for the unlabelled items; items without one get the mean value, or 0.
    stopping : Stopping
        Number of ratings per item, confidence level and wanted width.

    Raises
    ------
    TaskError
        If no item has enough ratings.
    """
    verdicts = source.verdicts[judge]
    labels = quantity.labels_in_order(source.task, stopping.ratings_per_item)
    asked = {verdict.item for verdict in verdicts}
    by_id = {item.id: item for item in source.items if item.id in asked}
    items = [by_id[name] for name in labels if name in by_id]
    if not items:
        raise TaskError(
            f"task {source.task.name}: no item has {stopping.ratings_per_item} ratings "
            f"({quantity.answers}) and verdicts from {judge}"
        )
    values = quantity.first_verdicts(items, verdicts)
    values = np.where(np.isnan(values), 0.0 if quantity.kind == "share" else judged.mean, values)
    least, width = quantity.bounds[0], quantity.bounds[1] - quantity.bounds[0]
    sequence = confidence_sequence(
        (np.array([labels[item.id] for item in items]) - least) / width,
        (values - least) / width,
        (judged.mean - least) / width,
        judged.n,
        level=stopping.level,
    )
    return AnytimeLook(
        low=least + width * float(sequence.low[-1]),
        high=least + width * float(sequence.high[-1]),
        level=stopping.level,
        n_labelled=len(items),
        wanted_width=stopping.width,
    )

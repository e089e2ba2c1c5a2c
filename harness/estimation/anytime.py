"""Looks at an estimate while items are being rated, each with an interval that holds at all."""

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
    """The interval after the ratings so far, of a sequence that holds at every number of them.

    Attributes
    ----------
    low, high : float
        Its ends.
    level : float
        Chance that all intervals of the sequence hold the mean.
    n_labelled : int
        Items behind it, in the order in which they were rated.
    wanted_width : float
        At which rating can end.
    """

    low: Annotated[float, MadeBy("betting")]
    high: Annotated[float, MadeBy("betting")]
    level: float
    n_labelled: int
    wanted_width: float

    @property
    def is_narrow_enough(self) -> bool:
        """Whether rating can end."""
        return self.high - self.low <= self.wanted_width


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """When rating ends.

    Attributes
    ----------
    width : float
        Of an interval that is narrow enough.
    ratings_per_item : int
        An item counts once it has so many ratings; later ones are left out.
    level : float
        Chance that the intervals of all looks hold the mean.
    """

    width: float
    ratings_per_item: int
    level: float


def check_order(labelled: Labelled, *, grouped: bool) -> None:
    """Refuse items that are no random draws, one after the other.

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
    how = "were drawn with probabilities" if is_drawn else "come in groups"
    raise OptionError(
        "until_width", f"the {which} items {how}, and no sequence is known to hold for them",
        "Leave {until_width} out",
    )  # fmt: skip


def look_at(
    source: Source,
    judge: str,
    quantity: Quantity,
    judged: JudgedMean,
    stopping: Stopping,
) -> AnytimeLook:
    """Return the interval after the ratings so far.

    Parameters
    ----------
    source : Source
        Items, ratings in the order in which they were made, and verdicts.
    judge : str
        The judge.
    quantity : Quantity
        What the mean is of.
    judged : JudgedMean
        The judge's values of the unlabelled items; items without one have the mean value, or 0.
    stopping : Stopping
        Which ratings count, the level and the wanted width.

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
            f"({quantity.answers}) and verdicts of {judge}"
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

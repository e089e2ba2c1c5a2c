"""Post-stratification: rated items weighted by a field's distribution in the unlabelled items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import OptionError, TaskError
from harness.estimation.unlabelled import read_parts
from harness.tasks.model import INCLUSION_PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.estimation.unlabelled import ItemTables
    from harness.stats.data.arrays import BoolArray
    from harness.stats.estimation.effective_counts import Labelled
    from harness.tasks import Item, Task

MIN_RATED = 2  # items of a stratum, needed to estimate its spread


@dataclass(frozen=True, slots=True)
class Rated:
    """Rated items on which the judge was run.

    Attributes
    ----------
    items : tuple of Item
        The items.
    labelled : Labelled
        Labels and verdicts for these items. A verdict without a usable answer is nan.
    """

    items: tuple[Item, ...]
    labelled: Labelled

    @property
    def is_drawn(self) -> bool:
        """Whether the items were drawn with known probabilities."""
        return any(INCLUSION_PROBABILITY in item.field_names for item in self.items)

    def rows(self, which: BoolArray) -> Rated:
        """Return the items and labels that a mask selects."""
        items = tuple(item for item, keep in zip(self.items, which, strict=True) if keep)
        return Rated(items, self.labelled.rows(which))


@dataclass(frozen=True, slots=True)
class Strata:
    """Counts of items by a field's value.

    Attributes
    ----------
    field : str
        Field of the items.
    n_unlabelled, n_labelled : dict of str to int
        Counts of unlabelled and rated items by value.
    """

    field: str
    n_unlabelled: dict[str, int]
    n_labelled: dict[str, int]

    @classmethod
    def read(cls, path: ItemTables, task: Task, field: str, limit: int | None = None) -> Strata:
        """Count the unlabelled items of each stratum. See `read_parts`.

        Raises
        ------
        TaskError
            If an item can't be used or lacks the field.
        """
        counts: Counter[str] = Counter()
        for part in read_parts(path, task, limit):
            counts.update(strata_of(part, field, str(path)))
        return cls(field, dict(sorted(counts.items())), {})

    def split(self, rated: Rated, task: Task) -> tuple[Strata, dict[str, Rated]]:
        """Split rated items by stratum. Strata without unlabelled items are left out.

        Returns
        -------
        strata, rated
            Strata with counts of rated items added, and the rated items in each stratum.

        Raises
        ------
        TaskError
            If a rated item lacks the field.
        OptionError
            If a stratum with unlabelled items has fewer than two rated items.
        """
        names = np.array(strata_of(rated.items, self.field, f"task {task.name}"))
        for name, n in self.n_unlabelled.items():
            if (n_rated := int((names == name).sum())) < MIN_RATED:
                raise OptionError(
                    "strata",
                    f"{n:,} unlabelled items have {self.field} {name!r}, but only {n_rated} rated",
                    f"Rate at least {MIN_RATED} of these items, or remove them from the file",
                )
        by_name = {name: rated.rows(names == name) for name in self.n_unlabelled}
        counted = {name: len(own.items) for name, own in by_name.items()}
        return replace(self, n_labelled=counted), by_name


def strata_of(items: Sequence[Item], field: str, where: str) -> list[str]:
    """Return each item's stratum.

    Raises
    ------
    TaskError
        If an item lacks the field. ``where`` is its location for the message.
    """
    names = []
    for item in items:
        own = {"group": item.group, "criterion": item.criterion}
        value = item.fields.get(field, own.get(field))
        if value is None or value == "":
            raise TaskError(
                f"{where}: item {item.id!r} has no {field!r}",
                "Use --strata with a field that all items have",
            )
        names.append(str(value))
    return names

"""Strata: rated items count as often as the unlabelled ones have their value of a field."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import OptionError, TaskError
from harness.estimation.unlabelled import read_parts
from harness.stats.estimation.population import Labelled, stratum_weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.tasks import Item, Task

MIN_RATED = 2  # items of a stratum, below which nothing is known of its spread


@dataclass(frozen=True, slots=True)
class Strata:
    """How many unlabelled items have which value of a field.

    Attributes
    ----------
    field : str
        Of the items.
    n_unlabelled, n_labelled : dict of str to int
        Items by value: those without ratings, and the rated ones that stand for them.
    """

    field: str
    n_unlabelled: dict[str, int]
    n_labelled: dict[str, int]

    @classmethod
    def read(cls, path: Path, task: Task, field: str, limit: int | None = None) -> Strata:
        """Count the unlabelled items of each stratum; see `read_parts`.

        Raises
        ------
        TaskError
            If an item cannot be used, or does not have the field.
        """
        counts: Counter[str] = Counter()
        for part in read_parts(path, task, limit):
            counts.update(strata_of(part, field, str(path)))
        return cls(field, dict(sorted(counts.items())), {})

    def weighted(
        self, labelled: Labelled, items: Sequence[Item], task: Task
    ) -> tuple[Strata, Labelled, tuple[Item, ...]]:
        """Weight labels so that each stratum has its share of the unlabelled items.

        Labels of strata without unlabelled items are left out. Weights that labels have, keep their
        proportions within a stratum.

        Parameters
        ----------
        labelled : Labelled
            Labels and verdicts of
        items : sequence of Item
            these items of
        task : Task
            this task.

        Returns
        -------
        strata, labelled, items
            With the counts of rated items; the labels and items that are left.

        Raises
        ------
        TaskError
            If a rated item does not have the field.
        OptionError
            If a stratum of the unlabelled items has fewer than two rated ones.
        """
        names = np.array(strata_of(items, self.field, f"task {task.name}"))
        for name, n in self.n_unlabelled.items():
            if (n_rated := int((names == name).sum())) < MIN_RATED:
                raise OptionError(
                    "strata",
                    f"{n:,} unlabelled items have {self.field} {name!r}, and {n_rated} rated ones",
                    f"Rate at least {MIN_RATED} of them, or leave them out of the items",
                )
        kept = np.isin(names, list(self.n_unlabelled))
        names = names[kept]
        places = np.searchsorted(list(self.n_unlabelled), names)
        counted = replace(
            self, n_labelled={name: int((names == name).sum()) for name in self.n_unlabelled}
        )
        left = tuple(item for item, keep in zip(items, kept, strict=True) if keep)
        of_strata = Labelled(
            labelled.labels[kept],
            labelled.verdicts[kept],
            groups=None if labelled.groups is None else labelled.groups[kept],
            weights=stratum_weights(
                places,
                np.array(list(self.n_unlabelled.values()), dtype=float),
                None if labelled.weights is None else labelled.weights[kept],
            ),
        )
        return counted, of_strata, left


def strata_of(items: Sequence[Item], field: str, where: str) -> list[str]:
    """Return the stratum of each item.

    Raises
    ------
    TaskError
        If one does not have the field; ``where`` says where it stands.
    """
    names = []
    for item in items:
        own = {"group": item.group, "criterion": item.criterion}
        value = item.fields.get(field, own.get(field))
        if value is None or value == "":
            raise TaskError(
                f"{where}: item {item.id!r} has no {field!r}",
                "Name a field that all items have: --strata FIELD",
            )
        names.append(str(value))
    return names

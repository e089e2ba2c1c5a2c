"""Win rates of systems in a pairwise task, from a judge's verdicts corrected with ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.model_families import of_same_family
from harness.errors import TaskError
from harness.estimation.by_slice import EstimateBySlice, SliceEstimate
from harness.estimation.judged_items import JudgedItems
from harness.estimation.value_differences import ValueDifference, level_of_each
from harness.stats.estimation.population import population_score
from harness.stats.estimation.stratified import PopulationStratum

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.estimation.item_strata import Rated
    from harness.stats.data.arrays import FloatArray
    from harness.stats.estimation.population import PopulationMean
    from harness.tasks import Item, Task

WIN_RATE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)  # bounds of the differences
MIN_RATED = 10  # comparisons needed for an estimate
SystemPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SystemFields:
    """Names of the item fields with the system that gave the first and the second answer."""

    first: str
    second: str

    @classmethod
    def of(cls, task: Task, by: str | None) -> SystemFields | None:
        """Return the task's system fields if ``by`` is one of them, else None."""
        systems = task.pairwise.systems if task.pairwise else None
        return cls(*systems) if systems and by in systems else None

    @property
    def name(self) -> str:
        """Names of both fields, as text."""
        return f"{self.first} and {self.second}"

    def pairs_of(self, items: Iterable[Item], where: str) -> list[SystemPair]:
        """Return the two systems that gave each item's first and second answer.

        Raises
        ------
        TaskError
            If an item doesn't name two systems. ``where`` is its location for the message.
        """
        pairs = []
        for item in items:
            one, other = (item.fields.get(name, "").strip() for name in (self.first, self.second))
            if not one or not other or one == other:
                raise TaskError(
                    f"{where}: item {item.id!r} doesn't name two systems in {self.name}", "Add them"
                )
            pairs.append((one, other))
        return pairs


class SystemVerdicts:
    """Sums of a judge's verdicts on unlabelled comparisons, by pair of systems and by system."""

    def __init__(self, fields: SystemFields) -> None:
        self.fields = fields
        self.by_pair: dict[SystemPair, JudgedItems] = {}
        self.by_system: dict[str, JudgedItems] = {}

    def add(self, items: Sequence[Item], values: FloatArray, asked: Iterable[int]) -> None:
        """Add items with the judge's preference for the first answer.

        Parameters
        ----------
        items : (n,) sequence of Item
            Items of one part.
        values : (n,) array in [0, 1]
            Preferences; nan if not usable.
        asked : iterable of int
            Positions of the items on which the judge was run.
        """
        pairs = self.fields.pairs_of(items, "items")
        for place in asked:
            item, value = items[place], float(values[place])
            pair = _sorted(pairs[place])
            for system in pair:
                preference = value if pairs[place][0] == system else 1.0 - value
                self.by_system.setdefault(system, JudgedItems()).add([(item, preference)])
            self.by_pair.setdefault(pair, JudgedItems()).add([(item, 2.0 * preference - 1.0)])

    def comparisons(self, rated: Rated, task: Task) -> Comparisons:
        """Combine these verdicts with the rated comparisons."""
        pairs = self.fields.pairs_of(rated.items, f"task {task.name}")
        names = sorted({name for pair in pairs for name in pair} | self.by_system.keys())
        both = sorted(set(map(_sorted, pairs)) | self.by_pair.keys())
        return Comparisons(
            field=self.fields.name,
            systems={
                name: _Both(
                    _oriented(rated, pairs, name, {name}),
                    self.by_system.get(name, JudgedItems()),
                    WIN_RATE,
                )
                for name in names
            },
            pairs={
                pair: _Both(
                    _oriented(rated, pairs, pair[1], set(pair), scale=2.0),
                    self.by_pair.get(pair, JudgedItems()),
                    DIFFERENCE,
                )
                for pair in both
            },
        )


@dataclass(frozen=True, slots=True)
class _Both:
    """Rated and unlabelled comparisons, and the bounds of their values."""

    rated: Rated
    judged: JudgedItems
    bounds: tuple[float, float]

    @property
    def stratum(self) -> PopulationStratum | None:
        """Data for the estimate, or None with fewer than ten rated or no unlabelled comparisons."""
        if len(self.rated.items) < MIN_RATED or not self.judged.n:
            return None
        verdicts = self.rated.labelled.verdicts
        answered = verdicts[~np.isnan(verdicts)]
        number = float(answered.mean()) if answered.size else sum(self.bounds) / 2.0
        filled = replace(
            self.rated.labelled, verdicts=np.where(np.isnan(verdicts), number, verdicts)
        )
        return PopulationStratum(filled, self.judged.filled(number, self.bounds))

    def mean(self, level: float, n_judges: int) -> PopulationMean | None:
        """Return the mean with its interval."""
        stratum = self.stratum
        if stratum is None:
            return None
        return population_score([stratum], bounds=self.bounds, level=level, n_judges=n_judges)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Rated and unlabelled comparisons, by system and by pair of systems.

    Attributes
    ----------
    field : str
        Names of the fields with the systems.
    systems : dict of str to _Both
        Preferences for the system over the other one, with a tie as half.
    pairs : dict of (str, str) to _Both
        Preference for the second system minus the preference for the first.
    """

    field: str
    systems: Mapping[str, _Both]
    pairs: Mapping[SystemPair, _Both]

    def strata(self) -> dict[SystemPair, PopulationStratum]:
        """Return the data for each pair of systems that has enough comparisons for an interval."""
        strata = {pair: both.stratum for pair, both in self.pairs.items()}
        return {pair: stratum for pair, stratum in strata.items() if stratum is not None}

    def estimates(self, level: float, n_judges: int, model: str) -> EstimateBySlice:
        """Estimate win rates and differences with simultaneous intervals.

        Parameters
        ----------
        level : float
            Level for all win rates together, and for all differences together.
        n_judges : int
            Number of judges from which this one was selected.
        model : str
            The judge's model.
        """
        each = level_of_each(level, len(self.systems))
        of_pair = level_of_each(level, len(self.strata()))
        differences = []
        for pair, both in self.pairs.items():
            mean, n = both.mean(of_pair, n_judges), len(both.rated.items)
            if mean is not None and mean.estimate is not None:
                differences.append(
                    ValueDifference(
                        first=pair[0],
                        second=pair[1],
                        estimate=mean.estimate,
                        n_rated=n,
                        n_shared=n,
                    )
                )
        return EstimateBySlice(
            field=self.field,
            level=level,
            slices=tuple(
                SliceEstimate(
                    value=name,
                    n_rated=len(both.rated.items),
                    n_unlabelled=both.judged.n,
                    mean=both.mean(each, n_judges),
                )
                for name, both in self.systems.items()
            ),
            differences=tuple(differences),
            n_too_few=len(self.pairs) - len(differences),
            compares=True,
            same_family=of_same_family(model, self.systems),
        )


def _sorted(pair: SystemPair) -> SystemPair:
    return min(pair), max(pair)


def _oriented(
    rated: Rated, pairs: Sequence[SystemPair], system: str, members: set[str], *, scale: float = 1.0
) -> Rated:
    """Select the comparisons that involve all ``members``, oriented towards ``system``.

    With a scale of 2, the value is the preference for ``system`` minus the preference for the other
    system.
    """
    own = rated.rows(np.array([members <= set(pair) for pair in pairs], dtype=np.bool_))
    is_first = np.array([pair[0] == system for pair in pairs if members <= set(pair)], np.bool_)

    def turned(values: FloatArray) -> FloatArray:
        preferences = np.where(is_first, values, 1.0 - values)
        return np.asarray(scale * preferences - (scale - 1.0))

    labelled = own.labelled
    return replace(
        own,
        labelled=replace(
            labelled, labels=turned(labelled.labels), verdicts=turned(labelled.verdicts)
        ),
    )

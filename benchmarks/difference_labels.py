"""Whether the labels that `estimate --by --n-labels` plans give differences of the wanted width.

    python benchmarks/difference_labels.py [--quick] [--write]

Two systems as in estimate_differences.py. Labels are planned from the first ones, and then rated:
*reached* counts data sets in which the interval of the difference, from the planned number of
labels, is no wider than wanted. A plan has a chance of 80 % or more. *Planned* counts data sets
with such a plan: in others the labels are enough already, or those of all items wouldn't be.
``--write`` puts the rows into difference_labels.csv. Exits with 1 if a row reaches less than 80 %
by two standard errors.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import print_rows
    from benchmarks.estimate_differences import DIFFERENCE, LEVEL, Compared, Design, stratum_of
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import print_rows
    from estimate_differences import DIFFERENCE, LEVEL, Compared, Design, stratum_of

from harness.estimation.planned_labels import labels_for_pairs, limits
from harness.stats.estimation.difference_plan import PromptedStratum, plan_difference_labels
from harness.stats.estimation.label_plan import WANTED_CHANCE
from harness.stats.estimation.mean_differences import JudgedPrompts, PromptSums, mean_difference
from harness.stats.estimation.population import Bounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.estimation.label_plan import LabelPlan
    from harness.stats.estimation.stratified import PopulationLimits

N_SETS, N_PROMPTS, GAP, BIAS = 40, 800, 0.4, 0.1
MEANS = partial(limits, bounds=(0.0, 1.0), level=LEVEL, n_judges=1, is_share=True)


@dataclass(frozen=True)
class Answers:
    """Labels and verdicts of two systems, all of which could be rated.

    Attributes
    ----------
    labels, verdicts : (2, n) arrays
        By system.
    paired : bool
        Whether systems answered the same prompts.
    """

    labels: np.ndarray
    verdicts: np.ndarray
    paired: bool

    @classmethod
    def draw(cls, design: Design, rng: np.random.Generator) -> Answers:
        """Draw two systems."""
        prompts = rng.normal(size=(2, N_PROMPTS))
        drawn = [design.system(rng, prompts[k * (not design.paired)], k) for k in (0, 1)]
        labels, verdicts = (np.array(parts) for parts in zip(*drawn, strict=True))
        return cls(labels, verdicts, design.paired)

    def first(self, n: int) -> list[PromptedStratum]:
        """Return both systems with labels of their first n answers."""
        return [self._system(place, n) for place in (0, 1)]

    def _system(self, place: int, n: int) -> PromptedStratum:
        names = [f"{i}" if self.paired else f"{place}-{i}" for i in range(N_PROMPTS)]
        others = self.verdicts[place, n:]
        totals = {name: (1, own) for name, own in zip(names[n:], others.tolist(), strict=True)}
        judged = JudgedPrompts(len(others), float(others.mean()), float(others.var()), totals)
        stratum = stratum_of(self.labels[place], self.verdicts[place], n)
        return PromptedStratum(stratum, tuple(names[:n]), judged)

    def plan(self, n: int, width: float, rng: np.random.Generator) -> LabelPlan:
        """Plan labels from the first n of each system."""
        return plan_difference_labels(self.first(n), width, MEANS, bounds=(0.0, 1.0), rng=rng)

    def width(self, n: int) -> float:
        """Return the width that is reported with n labels in all."""
        systems = self.first(n // 2)
        reported = [MEANS([[own.stratum]]) for own in systems]
        sums = [
            PromptSums.of(own.stratum.labelled, own.prompts, own.judged, uses_judge=bool(uses[0]))
            for own, (_, uses) in zip(systems, reported, strict=True)
        ]
        means = [_bounded(found) for found, _ in reported]
        return mean_difference(*means, (0.0, 1.0), sums[0].correlation(sums[1])).width


@dataclass(frozen=True)
class Comparisons:
    """Labels and verdicts of comparisons of two systems, all of which could be rated."""

    labels: np.ndarray
    verdicts: np.ndarray

    @classmethod
    def draw(cls, design: Compared, rng: np.random.Generator) -> Comparisons:
        """Draw comparisons."""
        return cls(*design.comparisons(rng, N_PROMPTS, (0, 1)))

    def plan(self, n: int, width: float, rng: np.random.Generator) -> LabelPlan:
        """Plan labels from the first n."""
        del rng
        plan = labels_for_pairs([stratum_of(self.labels, self.verdicts, n)], width, LEVEL, 1)
        assert plan is not None, "there is a pair"
        return plan

    def width(self, n: int) -> float:
        """Return the width that is reported with n labels."""
        data_set = [stratum_of(self.labels, self.verdicts, n)]
        return _bounded(limits([data_set], DIFFERENCE, LEVEL, 1, is_share=False)[0]).width


def _bounded(found: PopulationLimits) -> Bounded:
    return Bounded(*(float(end[0]) for end in (found.value, found.low, found.high)))


@dataclass(frozen=True)
class Row:
    """Systems, labels of each so far, and the wanted width."""

    design: Design
    width: float


def simulate(row: Row, n_sets: int) -> dict[str, object]:
    """Return how often planned labels give the wanted width."""
    rng, design = np.random.default_rng(crc32(repr(row).encode())), row.design
    reached, planned = [], []
    for _ in range(n_sets):
        drawn = Comparisons if isinstance(design, Compared) else Answers
        data = drawn.draw(design, rng)  # type: ignore[arg-type]  # the class that goes with it
        plan = data.plan(design.n, row.width, rng)
        if plan.n is not None and plan.n > plan.n_now:
            planned.append(plan.n)
            reached.append(data.width(plan.n) <= row.width)
    return {
        "prompts": design.prompts,
        "labels": design.n,
        "width": row.width,
        "planned": len(planned),
        "labels_planned": f"{np.mean(planned):.0f}" if planned else "",
        "reached": f"{np.mean(reached):.3f}" if reached else "",
        "data_sets": n_sets,
    }


def designs() -> list[Row]:
    """Return all rows."""
    widths = ((Design, True, 0.16), (Design, False, 0.2), (Compared, False, 0.25))
    return [Row(kind(2, 50, GAP, BIAS, paired), width) for kind, paired, width in widths]


def passes(row: Mapping[str, object]) -> bool:
    """Return whether a row keeps its chance."""
    n = int(str(row["planned"]))
    spread = sqrt(WANTED_CHANCE * (1.0 - WANTED_CHANCE) / max(n, 1))
    return not n or float(str(row["reached"])) >= WANTED_CHANCE - 2.0 * spread


if __name__ == "__main__":
    sys.exit(print_rows(__file__, designs(), simulate, passes, N_SETS))

"""How often the intervals of differences between systems contain all true differences.

    python benchmarks/estimate_differences.py [--quick] [--write]

Two or three systems answered prompts, the same or others. Three raters a label say whether an
answer is good, and a judge that is right in 85 % prefers the last system: it calls so many more of
its bad answers good. Or raters and judge compare the answers of two systems to each prompt, and the
judge prefers those of the last system in so many more. The target is the difference of the shares
that infinitely many raters and prompts would show. *Found* counts data sets in which a difference
is significant; it is an error where systems are equal. ``--write`` puts the rows into
estimate_differences.csv. Exits with 1 if a row contains less than 93 %, or finds a difference
between equal systems in more than 5 %, both by two standard errors.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations, product
from math import sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import print_rows
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import print_rows

from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.mean_differences import JudgedPrompts, PromptSums, mean_difference
from harness.stats.estimation.population import Bounded
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.score_sums import ScoreSums
from harness.stats.estimation.stratified import PopulationStratum, ShareSums
from harness.stats.inference.special_functions import ndtr

if TYPE_CHECKING:
    from collections.abc import Mapping

DIFFERENCE = (-1.0, 1.0)  # bounds
LEVEL, LEAST, ALPHA, N_SETS, N_UNLABELLED, M = 0.95, 0.93, 0.05, 1000, 1000, 3
RATERS, JUDGE = 0.9, 0.85  # chance to be right
RATED = (50, 100, 300)  # labels a system
BIAS = (0.0, 0.1, 0.2)  # of bad answers of the last system, that the judge calls good besides
TIE, SEEN = 0.3, 0.7  # quality within which raters tie, and standard deviation of what they see
Pairs = list[tuple[int, int]]
SHARED = sqrt(0.6)  # of an answer's quality, the correlation with that of others to its prompt


@dataclass(frozen=True)
class Design:
    """Systems and how they are rated.

    Attributes
    ----------
    n_systems, n : int
        Systems, and labels of each.
    gap : float
        Quality by which a system is better than the one before, in standard deviations.
    bias : float
        See `BIAS`.
    paired : bool
        Whether systems answered the same prompts.
    """

    n_systems: int
    n: int
    gap: float
    bias: float
    paired: bool = False

    @property
    def prompts(self) -> str:
        """What systems answered."""
        return "same" if self.paired else "others"

    def difference(self, first: int, second: int) -> float:
        """Return the true difference between two systems."""
        return float(self.targets[second] - self.targets[first])

    def limits(
        self, n_sets: int, pairs: Pairs, level: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Return (n_sets, pairs, 2) limits of differences."""
        return _answered(self, n_sets, pairs, level, rng)

    @property
    def targets(self) -> np.ndarray:
        """(S,) shares of raters who say good."""
        good = ndtr(self.gap * np.arange(self.n_systems))
        return np.asarray(good * RATERS + (1.0 - good) * (1.0 - RATERS))

    def system(
        self, rng: np.random.Generator, prompts: np.ndarray, place: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return labels, and verdicts, of a system's answers to prompts of these difficulties."""
        quality = SHARED * prompts + sqrt(1.0 - SHARED**2) * rng.normal(size=len(prompts))
        good = quality + self.gap * place > 0.0
        said = rng.random((len(good), M)) < np.where(good, RATERS, 1.0 - RATERS)[:, None]
        verdict = np.where(rng.random(len(good)) < JUDGE, good, ~good)
        if place == self.n_systems - 1:
            verdict |= ~good & (rng.random(len(good)) < self.bias)
        return said.mean(axis=1), verdict.astype(float)


@dataclass(frozen=True)
class Compared(Design):
    """Systems whose answers to each prompt are compared; ``n`` labels a pair."""

    @property
    def prompts(self) -> str:
        """What systems answered."""
        return "compared"

    def difference(self, first: int, second: int) -> float:
        """Return how much more often raters prefer the second system than the first."""
        gap, spread = self.gap * (second - first), sqrt(1.0 + SEEN**2)
        return float(ndtr((gap - TIE) / spread) - ndtr((-gap - TIE) / spread))

    def comparisons(
        self, rng: np.random.Generator, n: int, pair: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return labels, and verdicts, of n comparisons: 1 for the second system, -1, or 0."""
        better = self.gap * (pair[1] - pair[0]) + rng.normal(size=n)

        def seen(sd: float, times: int) -> np.ndarray:
            gaps = better[:, None] + sd * rng.normal(size=(n, times))
            return np.where(np.abs(gaps) <= TIE, 0.0, np.sign(gaps))

        verdicts = seen(1.0, 1)[:, 0]
        if pair[1] == self.n_systems - 1:
            verdicts[rng.random(n) < self.bias] = 1.0
        return seen(SEEN, M).mean(axis=1), verdicts

    def limits(
        self, n_sets: int, pairs: Pairs, level: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Return (n_sets, pairs, 2) limits of differences."""
        found = []
        for pair in pairs:
            data_sets = [
                [stratum_of(*self.comparisons(rng, self.n + N_UNLABELLED, pair), self.n)]
                for _ in range(n_sets)
            ]
            limits = ScoreSums.of(data_sets, DIFFERENCE).reported(level, 1)[0]
            found.append(np.stack([limits.low, limits.high], axis=1))
        return np.stack(found, axis=1)


def data_set(
    design: Design, rng: np.random.Generator
) -> tuple[list[PopulationStratum], list[tuple[list[str], JudgedPrompts]]]:
    """Return the strata of the systems, and their prompts."""
    n_all = design.n + N_UNLABELLED
    prompts = rng.normal(size=n_all)
    strata, by_prompt = [], []
    for place in range(design.n_systems):
        own = prompts if design.paired else rng.normal(size=n_all)
        names = [f"{i}" if design.paired else f"{place}-{i}" for i in range(n_all)]
        labels, verdicts = design.system(rng, own, place)
        rated, others = slice(None, design.n), verdicts[design.n :]
        strata.append(
            PopulationStratum(Labelled(labels[rated], verdicts[rated]), JudgedMean.of(others))
        )
        totals = {
            name: (1, verdict)
            for name, verdict in zip(names[design.n :], others.tolist(), strict=True)
        }
        judged = JudgedPrompts(len(others), float(others.mean()), float(others.var()), totals)
        by_prompt.append((names[rated], judged))
    return strata, by_prompt


def stratum_of(labels: np.ndarray, verdicts: np.ndarray, n: int) -> PopulationStratum:
    """Return comparisons of which the first n have labels."""
    judged = JudgedMean.of(verdicts[n:])
    return PopulationStratum(Labelled(labels[:n], verdicts[:n]), judged)


def simulate(design: Design, n_sets: int) -> dict[str, object]:
    """Return a row: how often all differences are contained, and any is found."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    pairs = list(combinations(range(design.n_systems), 2))
    level = 1.0 - (1.0 - LEVEL) / len(pairs)
    limits = design.limits(n_sets, pairs, level, rng)
    targets = np.array([design.difference(*pair) for pair in pairs])
    low, high = limits[..., 0], limits[..., 1]
    contained = ((low <= targets) & (targets <= high)).all(axis=1)
    found = ((low > 0.0) | (high < 0.0)).any(axis=1)
    return {
        "systems": design.n_systems,
        "labels": design.n,
        "gap": f"{targets[0]:.3f}",
        "bias": design.bias,
        "prompts": design.prompts,
        "contained": f"{contained.mean():.4f}",
        "found": f"{found.mean():.4f}",
        "width": f"{(high - low).mean():.3f}",
        "data_sets": n_sets,
    }


def _answered(
    design: Design, n_sets: int, pairs: Pairs, level: float, rng: np.random.Generator
) -> np.ndarray:
    """Return (n_sets, pairs, 2) limits of the differences between systems that answered prompts."""
    data_sets = [data_set(design, rng) for _ in range(n_sets)]
    of_systems = []
    for place in range(design.n_systems):
        sums = ShareSums.of([[strata[place]] for strata, _ in data_sets])
        of_systems.append(sums.reported(level, 1))
    found = []
    for i, (strata, by_prompt) in enumerate(data_sets):
        means = [
            Bounded(float(s.value[i]), float(s.low[i]), float(s.high[i])) for s, _ in of_systems
        ]
        sums_of = [
            PromptSums.of(stratum.labelled, names, judged, uses_judge=bool(by_judge[i]))
            for stratum, (names, judged), (_, by_judge) in zip(
                strata, by_prompt, of_systems, strict=True
            )
        ]
        limits = [
            mean_difference(means[a], means[b], (0.0, 1.0), sums_of[a].correlation(sums_of[b]))
            for a, b in pairs
        ]
        found.append([(own.low, own.high) for own in limits])
    return np.array(found)


def designs() -> list[Design]:
    """Return all rows."""
    cells = list(product((2, 3), RATED, (0.0, 0.4), BIAS, (True, False)))
    answered = [Design(*own) for own in cells]
    return answered + [Compared(*own) for own in cells if not own[-1]]


def passes(row: Mapping[str, object]) -> bool:
    """Return whether a row keeps its bars."""
    n = int(str(row["data_sets"]))
    least = LEAST - 2 * sqrt(LEAST * (1 - LEAST) / n)
    most = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / n)
    equal = float(str(row["gap"])) == 0.0
    return float(str(row["contained"])) >= least and (not equal or float(str(row["found"])) <= most)


if __name__ == "__main__":
    sys.exit(print_rows(__file__, designs(), simulate, passes, N_SETS))

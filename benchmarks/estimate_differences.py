"""How often the intervals of differences between systems contain all true differences.

    python benchmarks/estimate_differences.py [--quick] [--write]

Two or three systems answered prompts, the same or others. Three raters a label say whether an
answer is good, and a judge that is right in 85 % prefers the last system: it calls so many more of
its bad answers good. The target is the difference of the shares that infinitely many raters and
prompts would show. *Found* counts data sets in which a difference is significant; it's an error
where systems are equal. ``--write`` puts the rows into estimate_differences.csv. Exits with 1 if a
row contains less than 93 %, or finds a difference between equal systems in more than 5 %, both by
two standard errors.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations, product
from math import sqrt
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside

from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.mean_differences import JudgedPrompts, PromptSums, mean_difference
from harness.stats.estimation.population import Bounded
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum, ShareSums
from harness.stats.inference.special_functions import ndtr

LEVEL, LEAST, ALPHA, N_SETS, N_UNLABELLED, M = 0.95, 0.93, 0.05, 1000, 1000, 3
RATERS, JUDGE = 0.9, 0.85  # chance to be right
RATED = (50, 100, 300)  # labels a system
BIAS = (0.0, 0.1, 0.2)  # of bad answers of the last system, that the judge calls good besides
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
    paired: bool

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


def simulate(design: Design, n_sets: int) -> dict[str, object]:
    """Return a row: how often all differences are contained, and any is found."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    data_sets = [data_set(design, rng) for _ in range(n_sets)]
    pairs = list(combinations(range(design.n_systems), 2))
    level = 1.0 - (1.0 - LEVEL) / len(pairs)
    of_systems = []
    for place in range(design.n_systems):
        sums = ShareSums.of([[strata[place]] for strata, _ in data_sets])
        limits, by_judge = sums.reported(level, 1)
        of_systems.append((limits, by_judge))
    contained, found, widths = [], [], []
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
        all_contained, any_found = True, False
        for a, b in pairs:
            between = sums_of[a].correlation(sums_of[b])
            limits = mean_difference(means[a], means[b], (0.0, 1.0), between)
            target = design.targets[b] - design.targets[a]
            all_contained &= limits.low <= target <= limits.high
            any_found |= not limits.low <= 0.0 <= limits.high
            widths.append(limits.width)
        contained.append(all_contained)
        found.append(any_found)
    return {
        "systems": design.n_systems,
        "labels": design.n,
        "gap": f"{design.targets[1] - design.targets[0]:.3f}",
        "bias": design.bias,
        "prompts": "same" if design.paired else "others",
        "contained": f"{np.mean(contained):.4f}",
        "found": f"{np.mean(found):.4f}",
        "width": f"{np.mean(widths):.3f}",
        "data_sets": n_sets,
    }


def designs() -> list[Design]:
    """Return all rows."""
    return [Design(*cells) for cells in product((2, 3), RATED, (0.0, 0.4), BIAS, (True, False))]


def passes(row: dict[str, object]) -> bool:
    """Return whether a row keeps its bars."""
    n = int(str(row["data_sets"]))
    least = LEAST - 2 * sqrt(LEAST * (1 - LEAST) / n)
    most = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / n)
    equal = float(str(row["gap"])) == 0.0
    return float(str(row["contained"])) >= least and (not equal or float(str(row["found"])) <= most)


def main() -> int:
    """Print all rows; return 1 if one fails."""
    n_sets, rows = 200 if "--quick" in sys.argv else N_SETS, []
    for design in designs():
        rows.append(simulate(design, n_sets))
        print(*rows[-1].values(), "" if passes(rows[-1]) else "FAILS", sep=",", flush=True)
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    return int(not all(map(passes, rows)))


if __name__ == "__main__":
    sys.exit(main())

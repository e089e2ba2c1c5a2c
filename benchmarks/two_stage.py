"""Coverage and width of intervals of pooled decisions, where items carry several criteria.

    python benchmarks/two_stage.py [--quick] [--write]

An interval resamples items with all of their criteria, or items and then criteria within each. An
item's raters and judge share a difficulty, so that its decisions are alike. The value that an
interval should contain is that of 20,000 items with criteria of their own. Prints a row per design,
metric and number of stages, and exits with 1 if one covers less than 93 % by two standard errors.
With ``--write``, ``two_stage.csv`` gets the rows.
"""

from __future__ import annotations

import sys
from math import sqrt
from typing import NamedTuple

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
    from benchmarks.decision import choice_table
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside
    from decision import choice_table

from harness import stats
from harness.stats.metrics.registry import METRICS

LEAST = 0.93
N_TRUTH = 20_000
N_RATERS = 3
NAMES = ("hit_rate(h/h)", "cohen_kappa(h/h)")
HEADS = ("items", "criteria", "spread", "metric", "stages", "value", "coverage", "se", "width", "n")


class Design(NamedTuple):
    """Items, criteria of each, and the standard deviation of difficulties (in logits)."""

    n_items: int
    n_criteria: int
    spread: float

    def draw(self, n_items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return how many raters, and whether the judge, chose each option: (n, 2) each."""
        n = n_items * self.n_criteria
        ease = np.repeat(1.5 + self.spread * rng.normal(size=n_items), self.n_criteria)
        right = 1.0 / (1.0 + np.exp(-ease))
        is_met = rng.random(n) < 0.6
        met = np.where(is_met, right, 1.0 - right)
        raters = rng.binomial(N_RATERS, met)
        judge = rng.binomial(1, met)
        return np.stack([raters, N_RATERS - raters], axis=1), np.stack([judge, 1 - judge], axis=1)


DESIGNS = [
    Design(30, 2, 0.0),
    Design(30, 2, 1.5),
    Design(30, 5, 1.5),
    Design(100, 2, 1.5),
    Design(100, 5, 0.0),
]


def evaluated(
    design: Design, n_items: int, rng: np.random.Generator, *, n_resamples: int, stages: int
) -> dict[str, stats.Estimate]:
    """Draw a data set and estimate both metrics."""
    human, judge = design.draw(n_items, rng)
    groups = np.repeat(np.arange(n_items), design.n_criteria).astype(str).tolist()
    evaluation = stats.evaluate(
        choice_table("humans", human),
        [choice_table("judge", judge)],
        tau=0.5,
        positive=("yes",),
        metrics=[stats.find_metric(name, METRICS) for name in NAMES],
        resampling=stats.Resampling(
            rng=rng, groups=groups, n_resamples=n_resamples, second_stage=stages > 1
        ),
    )
    return evaluation.estimates["judge"]


def rows_of(design: Design, n_sets: int) -> list[dict[str, object]]:
    """Return a row per metric and number of stages."""
    truth = evaluated(design, N_TRUTH, np.random.default_rng(1), n_resamples=0, stages=1)
    rows = []
    for stages in (1, 2):
        made: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
        for i in range(n_sets):
            rng = np.random.default_rng([48, i])
            estimates = evaluated(design, design.n_items, rng, n_resamples=400, stages=stages)
            for name in NAMES:
                if (interval := estimates[name].interval) is not None:
                    made[name].append((interval.low, interval.high))
        for name in NAMES:
            low, high = np.array(made[name]).T
            value = truth[name].value
            assert value is not None
            covered = float(((low <= value) & (value <= high)).mean())
            error = sqrt(covered * (1.0 - covered) / len(low))
            cells = (value, covered, error, float((high - low).mean()))
            shown = (*(f"{cell:.3f}" for cell in cells), len(low))
            rows.append(dict(zip(HEADS, (*design, name, stages, *shown), strict=True)))
    return rows


def main() -> int:
    """Print all rows; return 1 if one covers too little."""
    n_sets = 100 if "--quick" in sys.argv else 1000
    rows = []
    for design in DESIGNS:
        made = rows_of(design, n_sets)
        rows += made
        print(*(",".join(map(str, row.values())) for row in made), sep="\n", flush=True)
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    allowed = LEAST - 2.0 * sqrt(LEAST * (1.0 - LEAST) / n_sets)
    return int(any(float(str(row["coverage"])) < allowed for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""Coverage of the intervals of measures that need no threshold: AUC, correlations, pairs.

    python benchmarks/score_coverage.py [--quick] [--write]

Raters see a quality with noise, and a score follows it. The value that an interval should contain
is the mean over all data sets of a design. Where the direction of the score is *found*, half of the
items show it, the interval is that of the other half, and the value is that of the score in the
direction that was found. Intervals that the product doesn't print aren't counted. Prints a row per
design and measure, and exits with 1 if one covers less than 93 % by two standard errors. With
``--write``, ``score_coverage.csv`` gets the rows.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside

from harness.stats.scores.concordance import (
    MEASURES,
    Scored,
    jackknife_interval,
    least_units,
    pairwise_accuracy,
)
from harness.stats.scores.score_map import folds_of, ratings_ascend

LEAST = 0.93
WIDTH_OF_TIES = 0.3
DESIGNS = [  # options, items, raters, noise of the score, whether its direction is found
    (2, 12, 3, 0.7, False),
    (2, 20, 3, 0.7, False),
    (5, 20, 3, 0.3, False),
    (2, 30, 3, 0.7, False),
    (5, 30, 3, 0.3, False),
    (2, 60, 3, 0.7, False),
    (2, 300, 3, 0.7, False),
    (2, 120, 3, 3.0, False),
    (5, 60, 3, 0.7, False),
    (5, 300, 3, 0.7, False),
    (5, 120, 5, 0.3, False),
    (2, 60, 3, 0.7, True),
    (2, 300, 3, 3.0, True),
    (2, 120, 3, 30.0, True),
    (5, 120, 3, 3.0, True),
    (5, 300, 3, 0.7, True),
]
BOUNDS = {"auc": (0.0, 1.0), "pairwise_accuracy": (0.0, 1.0)}
ALL = MEASURES | {"pairwise_accuracy": partial(pairwise_accuracy, width=WIDTH_OF_TIES)}
OPPOSITE = {"auc": lambda value: 1.0 - value}  # of a score with its sign changed
HEADS = (
    "options",
    "items",
    "raters",
    "noise",
    "direction",
    "measure",
    "value",
    "coverage",
    "width",
    "without",
)


def data_set(
    n_options: int, n: int, n_raters: int, noise: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores, and how many raters chose each option."""
    quality = rng.normal(size=n)
    cuts = np.linspace(-1.2, 1.2, n_options + 1)[1:-1]
    seen = np.searchsorted(cuts, quality[:, None] + 0.7 * rng.normal(size=(n, n_raters)))
    ratings = (seen[:, :, None] == np.arange(n_options)).sum(axis=1).astype(float)
    return quality + noise * rng.normal(size=n), ratings


def measured(score: np.ndarray, ratings: np.ndarray, *, found: bool) -> tuple[Scored, bool]:
    """Return the items that are measured, and whether higher scores are better on the others."""
    numbers = np.arange(1.0, ratings.shape[1] + 1)
    if not found:
        return Scored.of(score, ratings, numbers), True
    half = folds_of(np.arange(len(score)), np.ones(len(score), dtype=bool), 2)
    ascends = ratings_ascend(score[half == 0], ratings[half == 0])
    items = Scored.of(score if ascends else -score, ratings, numbers)
    return items.only(half == 1), ascends


def rows_of(design: tuple[int, int, int, float, bool], n_sets: int) -> list[dict[str, object]]:
    """Return a row per measure."""
    *shape, found = design
    rng = np.random.default_rng(48)
    names = [name for name in ALL if not (found and name == "pairwise_accuracy")]
    values: dict[str, list[float]] = {name: [] for name in names}
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    ascending = []
    for _ in range(n_sets):
        items, ascends = measured(*data_set(*shape, rng), found=found)
        ascending.append(ascends)
        for name in names:
            measure = ALL[name]
            if len(items.score) < least_units(name):
                continue
            interval = jackknife_interval(
                measure,
                items,
                np.arange(len(items.score)),
                level=0.95,
                bounds=BOUNDS.get(name, (-1.0, 1.0)),
            )
            values[name].append(measure(items))
            ends[name].append((np.nan, np.nan) if interval is None else interval)
    return [
        row_of(design, name, np.array(values[name]), np.array(ends[name]), np.array(ascending))
        for name in names
        if values[name]
    ]


def row_of(
    design: tuple[int, int, int, float, bool],
    name: str,
    values: np.ndarray,
    ends: np.ndarray,
    ascends: np.ndarray,
) -> dict[str, object]:
    """Return how many of the intervals, (n, 2), contain the value in their direction."""
    opposite = OPPOSITE.get(name, np.negative)
    higher = float(np.nanmean(np.where(ascends, values, opposite(values))))
    truth = np.where(ascends, higher, opposite(higher))
    low, high = ends.T
    made = ~np.isnan(low)
    covered = (low[made] <= truth[made]) & (truth[made] <= high[made])
    cells = (higher, covered.mean(), (high - low)[made].mean(), (~made).mean())
    *shape, found = design
    facts = (*shape, "found" if found else "declared", name, *(f"{cell:.3f}" for cell in cells))
    return dict(zip(HEADS, facts, strict=True))


def main() -> int:
    """Print all rows; return 1 if one covers too little."""
    n_sets = 40 if "--quick" in sys.argv else 500
    rows = []
    for design in DESIGNS:
        made = rows_of(design, n_sets)
        rows += made
        print(*(",".join(map(str, row.values())) for row in made), sep="\n", flush=True)
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    allowed = LEAST - 2.0 * (LEAST * (1.0 - LEAST) / n_sets) ** 0.5
    return int(any(float(str(row["coverage"])) < allowed for row in rows))


if __name__ == "__main__":
    sys.exit(main())

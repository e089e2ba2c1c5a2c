"""Coverage of the intervals of measures that need no threshold: AUC, correlations, pairs.

    python benchmarks/score_coverage.py [--quick] [--write]

Raters see a quality with noise, a score follows it through a curve. The value that an interval
should contain is the mean over all data sets of a design. Prints a row per design and measure, and
exits with 1 if one covers less than 93 %. With ``--write``, ``score_coverage.csv`` gets the rows.
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
    pairwise_accuracy,
)

LEAST = 0.93
WIDTH_OF_TIES = 0.3
DESIGNS = [  # options, items, raters, noise of the score
    (2, 60, 3, 0.7),
    (2, 300, 3, 0.7),
    (2, 120, 3, 3.0),
    (5, 60, 3, 0.7),
    (5, 300, 3, 0.7),
    (5, 120, 5, 0.3),
]
BOUNDS = {"auc": (0.0, 1.0), "pairwise_accuracy": (0.0, 1.0)}
ALL = MEASURES | {"pairwise_accuracy": partial(pairwise_accuracy, width=WIDTH_OF_TIES)}
HEADS = ("options", "items", "raters", "noise", "measure", "value", "coverage", "width", "without")


def data_set(
    n_options: int, n: int, n_raters: int, noise: float, rng: np.random.Generator
) -> Scored:
    """Draw items with ratings and scores."""
    quality = rng.normal(size=n)
    cuts = np.linspace(-1.2, 1.2, n_options + 1)[1:-1]
    seen = np.searchsorted(cuts, quality[:, None] + 0.7 * rng.normal(size=(n, n_raters)))
    ratings = (seen[:, :, None] == np.arange(n_options)).sum(axis=1).astype(float)
    score = quality + noise * rng.normal(size=n)
    return Scored.of(score, ratings, np.arange(1.0, n_options + 1))


def rows_of(design: tuple[int, int, int, float], n_sets: int) -> list[dict[str, object]]:
    """Return a row per measure."""
    rng = np.random.default_rng(48)
    values: dict[str, list[float]] = {name: [] for name in ALL}
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in ALL}
    for _ in range(n_sets):
        items = data_set(*design, rng)
        for name, measure in ALL.items():
            found = jackknife_interval(
                measure,
                items,
                np.arange(len(items.score)),
                level=0.95,
                bounds=BOUNDS.get(name, (-1.0, 1.0)),
            )
            values[name].append(measure(items))
            ends[name].append((np.nan, np.nan) if found is None else found)
    rows = []
    for name in ALL:
        truth = float(np.mean(values[name]))
        low, high = np.array(ends[name]).T
        made = ~np.isnan(low)
        covered = (low[made] <= truth) & (truth <= high[made])
        cells = (truth, float(covered.mean()), float((high - low)[made].mean()))
        shares = (*(f"{cell:.3f}" for cell in cells), f"{float((~made).mean()):.3f}")
        rows.append(dict(zip(HEADS, (*design, name, *shares), strict=True)))
    return rows


def main() -> int:
    """Print all rows; return 1 if one covers too little."""
    n_sets = 40 if "--quick" in sys.argv else 500
    rows = []
    for design in DESIGNS:
        rows += rows_of(design, n_sets)
        print(
            *(",".join(map(str, row.values())) for row in rows[-len(ALL) :]), sep="\n", flush=True
        )
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    return int(any(float(str(row["coverage"])) < LEAST for row in rows))


if __name__ == "__main__":
    sys.exit(main())

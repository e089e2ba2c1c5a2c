"""How often the intervals of `harness estimate --by FIELD` contain the shares of all slices.

    python benchmarks/estimate_slices.py [--quick] [--write]

Raters and a judge answer yes or no; a field has two or four values, in which answers differ. The
target of a slice is the share that infinitely many raters and items would show. ``--write`` puts
the rows into estimate_slices.csv. Exits with 1 if a row is below 93 % less two standard errors.
"""

from __future__ import annotations

import sys
from itertools import product
from math import sqrt

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside

from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.population import population_share
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum

LEVEL, LEAST, N_UNLABELLED, M = 0.95, 0.93, 500, 3
SHARES = {2: (0.2, 0.5), 4: (0.05, 0.2, 0.4, 0.7)}  # of items that are positive, by slice
RATED = (20, 60)  # items a slice
RIGHT = ((0.9, 0.9), (0.9, 0.6), (0.98, 0.95))  # raters, judge
HEADS = ("slices", "rated", "raters", "judge", "together", "width", "na", "data_sets")


def draw(
    rng: np.random.Generator, n: int, share: float, raters: float, judge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) shares of raters who say yes, and the judge's answers."""
    truth = rng.random(n) < share
    said = np.where(rng.random((n, M)) < raters, truth[:, None], ~truth[:, None]).mean(axis=1)
    return said, np.where(rng.random(n) < judge, truth, ~truth).astype(float)


def row_of(n_slices: int, n: int, raters: float, judge: float, n_sets: int) -> dict[str, object]:
    """Simulate a design."""
    rng = np.random.default_rng([n_slices, n, int(100 * raters), int(100 * judge)])
    level = 1.0 - (1.0 - LEVEL) / n_slices
    together, widths, n_na = [], [], 0
    for _ in range(n_sets):
        contained = []
        for share in SHARES[n_slices]:
            labels, verdicts = draw(rng, n, share, raters, judge)
            _, others = draw(rng, N_UNLABELLED, share, raters, judge)
            stratum = PopulationStratum(Labelled(labels, verdicts), JudgedMean.of(others))
            interval = population_share([stratum], level=level).estimate
            if interval is None:
                n_na += 1
                continue
            target = share * raters + (1 - share) * (1 - raters)
            contained.append(interval.low <= target <= interval.high)
            widths.append(interval.high - interval.low)
        together.append(all(contained))
    cells = (np.mean(together), np.mean(widths), n_na / (n_sets * n_slices))
    shown = (f"{cell:.3f}" for cell in cells)
    return dict(zip(HEADS, (n_slices, n, raters, judge, *shown, n_sets), strict=True))


def main() -> int:
    """Print all rows; return 1 if one is too low."""
    n_sets, rows = 50 if "--quick" in sys.argv else 250, []
    for n_slices, n, (raters, judge) in product(SHARES, RATED, RIGHT):
        rows.append(row_of(n_slices, n, raters, judge, n_sets))
        print(*rows[-1].values(), sep=",", flush=True)
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    least = LEAST - 2 * sqrt(LEAST * (1 - LEAST) / n_sets)
    return int(any(float(str(row["together"])) < least for row in rows))


if __name__ == "__main__":
    sys.exit(main())

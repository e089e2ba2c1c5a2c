"""How often the intervals of each measure of a slice contain all their means, or differences.

    python benchmarks/slice_measures.py [--quick] [--write]

300 items, three raters, one judge, two options, 30 % of items positive. Every data set has slices
of 25 items, 12 slices, 80 slices, or 12 slices of items in groups of five. ``--write`` puts the
rows into slice_measures.csv. Exits with 1 if a row is below 93 % less two standard errors.
"""

from __future__ import annotations

import sys
from itertools import product
from math import comb, sqrt

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside

from harness.stats.subsets.slices import slice_means

N, M, LEVEL, LEAST = 300, 3, 0.95, 0.93
SHAPES = {  # values of each field, and items in a group
    "25 items a slice": ((12,), 1),
    "12 slices": ((5, 5, 2), 1),
    "80 slices": ((5,) * 16, 1),
    "12 slices, groups of 5": ((5, 5, 2), 5),
}
ANSWERS = {  # chance that judge and raters are right, and that the judge answers: outside, inside
    "alike everywhere": ((0.85, 0.9, 0.95), (0.85, 0.9, 0.95)),
    "the first slice differs": ((0.95, 0.95, 0.98), (0.7, 0.8, 0.85)),
}
BOUNDS = {
    "disagreement": (0.0, 2.0),
    "consistency": (0.0, 1.0),
    "answered_fraction": (0.0, 1.0),
    "signed_error": (-1.0, 1.0),
}
HEADS = ("slices", "answers", "measure", "means", "differences", "width", "data_sets")
CELLS = list(product((0, 1), (0, 1), range(M + 1), (0, 1)))  # truth, judge right, raters, answered


def chances(judge: float, rater: float, answered: float) -> np.ndarray:
    """Return the probability of each cell."""

    def of(truth: int, right: int, k: int, got: int) -> float:
        return (
            (0.3 if truth else 0.7)
            * (judge if right else 1 - judge)
            * comb(M, k)
            * rater**k
            * (1 - rater) ** (M - k)
            * (answered if got else 1 - answered)
        )

    return np.array([of(*cell) for cell in CELLS])


def value(measure: str, truth: int, right: int, k: int, got: int) -> float:
    """Return the measure of an item, nan if it doesn't enter."""
    if measure == "answered_fraction":
        return float(got)
    if not got:
        return np.nan
    positive = truth if right else 1 - truth
    share = (k if truth else M - k) / M
    if measure == "consistency":
        return float(positive == (share > 0.5))
    return positive - share if measure == "signed_error" else 2 * (positive - share) ** 2


def members_of(fields: tuple[int, ...], group: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (F, n) slices: in each field, every value is on as many units."""
    units = N // group
    values = [rng.permutation(np.arange(units) * k // units) for k in fields]
    rows = [value == v for value, k in zip(values, fields, strict=True) for v in range(k)]
    return np.repeat(np.array(rows), group, axis=1)


def rows_of(shape: str, answers: str, n_sets: int) -> list[dict[str, object]]:
    """Return a row per measure."""
    rng = np.random.default_rng([ord(letter) for letter in shape + answers])
    fields, group = SHAPES[shape]
    sides = [chances(*of_side) for of_side in ANSWERS[answers]]
    table = {m: np.array([value(m, *cell) for cell in CELLS]) for m in BOUNDS}
    expected = {
        m: [float(np.nansum(p * x) / p[~np.isnan(x)].sum()) for p in sides]
        for m, x in table.items()
    }
    counted: dict[str, list[tuple[float, ...]]] = {m: [] for m in BOUNDS}
    for _ in range(n_sets):
        members = members_of(fields, group, rng)
        inside = members[0][::group]
        drawn = [rng.choice(len(CELLS), N // group, p=p) for p in sides]
        cell = np.repeat(np.where(inside, drawn[1], drawn[0]), group)
        for m, bounds in BOUNDS.items():
            x = table[m][cell]
            means = slice_means(
                x, members, units=np.arange(N) // group, level=LEVEL, bounds=bounds, rng=rng
            )
            enters = members & ~np.isnan(x)
            others = ~members & ~np.isnan(x)
            of_item = np.where(members[0], expected[m][1], expected[m][0])
            truth = (enters * of_item).sum(axis=1) / enters.sum(axis=1)
            gap = truth - (others * of_item).sum(axis=1) / others.sum(axis=1)
            widths = means.gap_high - means.gap_low
            counted[m].append(
                (
                    _contained(means.low, means.high, truth),
                    _contained(means.gap_low, means.gap_high, gap),
                    float(np.nanmean(widths)) if np.isfinite(widths).any() else np.nan,
                )
            )
    return [
        dict(zip(HEADS, (shape, answers, m, *_shares(found), n_sets), strict=True))
        for m, found in counted.items()
    ]


def _shares(found: list[tuple[float, ...]]) -> list[str]:
    return [f"{share:.3f}" for share in np.nanmean(np.array(found), axis=0).tolist()]


def _contained(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> float:
    return float(not ((low > truth + 1e-12) | (high < truth - 1e-12)).any())


def main() -> int:
    """Print all rows; return 1 if one is too low."""
    n_sets = 50 if "--quick" in sys.argv else 1000
    rows = []
    for shape, answers in product(SHAPES, ANSWERS):
        rows += rows_of(shape, answers, n_sets)
        for row in rows[-len(BOUNDS) :]:
            print(*row.values(), sep=",", flush=True)
    if "--write" in sys.argv:
        write_beside(__file__, rows)
    least = LEAST - 2 * sqrt(LEAST * (1 - LEAST) / n_sets)
    return int(any(min(float(row["means"]), float(row["differences"])) < least for row in rows))


if __name__ == "__main__":
    sys.exit(main())

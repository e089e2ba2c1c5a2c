"""How often a slice is named, rightly and wrongly, and how often its intervals hold.

    python benchmarks/slices.py [--data-sets 2000] [--only WORD] [--write]

Draws data sets of 300 items from a seed per row and prints a Markdown table; ``--write`` puts it
into docs/coverage.md, in the place of the last one. Two options, one judge; in each field every
value is on as many items. Exits with 1 if a slice is named without an effect in more than 5 % of
the data sets plus two standard errors, if power is more than 5 points below what is expected, or if
the intervals of all slices hold together in less than 93 % less two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from zlib import crc32

import numpy as np

from harness.stats.subsets.slices import SliceMeans, slice_means, worst_slice

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/slices.py writes what follows -->"
END = "<!-- benchmarks/slices.py wrote this -->"
N, LEVEL = 300, 0.95
FIELDS = {12: (5, 5, 2), 80: (5,) * 16}  # values of each field, by slices
MOST_NAMED, LEAST_CONTAINED, MOST_BELOW = 0.05, 0.93, 0.05
HEADS = (
    "slices",
    "raters and judge",
    "spread",
    "a slice is named",
    "expected",
    "means contained",
    "differences contained",
    "mean width of a difference",
)


@dataclass(frozen=True, kw_only=True)
class Design:
    """How raters and a judge answer.

    Attributes
    ----------
    n_slices : int
        Of all fields together.
    name : str
        The design for a reader.
    judge, raters : (float, float)
        Chance that they are right outside the first slice, and inside.
    m : int
        Raters.
    spread : float or None
        Standard deviation of the judge's chance to be right between items, for a judge that gives
        it as shares; None for one answer.
    group : int
        Items that share their answers and values.
    expected : float or None
        Chance that the slice is named, by the normal distribution; None without an effect.
    """

    n_slices: int
    name: str
    judge: tuple[float, float]
    raters: tuple[float, float] = (0.9, 0.9)
    m: int = 3
    spread: float | None = None
    group: int = 1
    expected: float | None = None
    is_power: bool = field(default=False)
    bounds: tuple[float, float] = field(default=(0.0, 1.0), repr=False)
    less_is_worse: bool = field(default=True, repr=False)

    def members(self, rng: np.random.Generator) -> np.ndarray:
        """Draw (F, n) slices: in each field, every value is on as many units."""
        units, rows = N // self.group, []
        for n_values in FIELDS[self.n_slices]:
            value = rng.permutation(np.arange(units) * n_values // units)
            rows += [value == k for k in range(n_values)]
        return np.repeat(np.array(rows), self.group, axis=1)

    def draw(self, inside: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw (n,) agreement of the judge and of a rater, and the expectation of the first."""
        units = inside[:: self.group]
        right, rated = (
            np.where(units, side[1], side[0]).astype(float) for side in (self.judge, self.raters)
        )
        n_right = (rng.random((self.m, len(units))) < rated).sum(axis=0)
        if self.spread is None:
            judge = (rng.random(len(units)) < right).astype(float)
        else:
            total = right * (1.0 - right) / self.spread**2 - 1.0
            judge = rng.beta(right * total, (1.0 - right) * total)
        share = n_right / self.m
        agreement = judge * share + (1.0 - judge) * (1.0 - share)
        n_wrong = self.m - n_right
        human = (n_right * (n_right - 1) + n_wrong * (n_wrong - 1)) / (self.m * (self.m - 1))
        expected = right * rated + (1.0 - right) * (1.0 - rated)
        return tuple(np.repeat(row, self.group) for row in (agreement, human, expected))


@dataclass(frozen=True, kw_only=True)
class OfNumbers(Design):
    """How raters and a judge answer with numbers between 0 and 100.

    Attributes
    ----------
    judge, raters : (float, float)
        Standard deviations of their errors outside the first slice, and inside.
    """

    bounds: tuple[float, float] = field(default=(0.0, 100.0), repr=False)
    less_is_worse: bool = field(default=False, repr=False)

    def draw(self, inside: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw (n,) distances of the judge and a rater from the others, and the first's mean."""
        units = inside[:: self.group]
        error, rated = (np.where(units, side[1], side[0]) for side in (self.judge, self.raters))
        answers = error * rng.normal(size=len(units))
        ratings = rated * rng.normal(size=(self.m, len(units)))
        others = (ratings.sum(axis=0) - ratings) / (self.m - 1)
        judge = np.abs(answers - others).mean(axis=0)
        human = np.abs(ratings - others).mean(axis=0)
        expected = np.sqrt(2.0 / np.pi * (error**2 + rated**2 / (self.m - 1)))
        return tuple(np.repeat(row, self.group) for row in (judge, human, expected))


def _power(n_slices: int, spread: float, expected: float) -> Design:
    shares = (0.60, 0.35) if spread > 0.4 else (0.75, 0.50)
    return Design(
        n_slices=n_slices,
        name=f"25 points less on 60 items, SD {spread:g}, raters agree",
        judge=shares,
        raters=(1.0, 1.0),
        spread=None if spread > 0.4 else spread,
        expected=expected,
        is_power=True,
    )


ALIKE = (
    {"name": "both alike everywhere", "judge": (0.9, 0.9)},
    {
        "name": "both right in 70% of a slice, 95% of the others",
        "judge": (0.95, 0.7),
        "raters": (0.95, 0.7),
    },
    {
        "name": "raters right in 70% of a slice, 95% of the others, the judge in 85% of all",
        "judge": (0.85, 0.85),
        "raters": (0.95, 0.7),
    },
    {"name": "rare errors: 97% right", "judge": (0.97, 0.97), "raters": (0.98, 0.98)},
)
GROUPED = Design(
    n_slices=12,
    name="both alike, groups of 5 items",
    judge=(0.85, 0.85),
    raters=(0.9, 0.9),
    group=5,
)
NO_EFFECT = (
    *(Design(n_slices=12, **answers) for answers in ALIKE),
    GROUPED,
    *(Design(n_slices=80, **answers) for answers in ALIKE),
)
POWER = (
    _power(12, 0.35, 0.98),
    _power(12, 0.48, 0.77),
    _power(80, 0.35, 0.94),
    _power(80, 0.48, 0.57),
)
OTHER_POWER = (
    Design(
        n_slices=12,
        name="25 points less on 60 items, raters right in 95%",
        judge=(0.85, 0.60),
        raters=(0.95, 0.95),
        is_power=True,
    ),
)
OTHER_NUMBERS = (
    {"name": "numbers: both alike everywhere", "judge": (8.0, 8.0), "raters": (8.0, 8.0)},
    {"name": "numbers: both twice as far in a slice", "judge": (8.0, 16.0), "raters": (8.0, 16.0)},
    {"name": "numbers: raters twice as far in a slice", "judge": (8.0, 8.0), "raters": (8.0, 16.0)},
)
NUMBERS = tuple(OfNumbers(n_slices=n, **errors) for n in FIELDS for errors in OTHER_NUMBERS)
NUMBERS_POWER = tuple(
    OfNumbers(
        n_slices=n,
        name="numbers: the judge twice as far on 60 items",
        judge=(8.0, 16.0),
        raters=(8.0, 8.0),
        is_power=True,
    )
    for n in FIELDS
)
DESIGNS = (*POWER, *OTHER_POWER, *NO_EFFECT, *NUMBERS_POWER, *NUMBERS)


@dataclass(frozen=True)
class SliceRow:
    """What was found in data sets of a design; shares of them, but for spread and width."""

    design: Design
    n_data_sets: int
    spread: float
    named: float
    means_contained: float
    gaps_contained: float
    width: float

    @property
    def fails(self) -> bool:
        """Whether a rate is beyond its bound."""
        too_rare = LEAST_CONTAINED - 2 * sqrt(0.07 * 0.93 / self.n_data_sets)
        if min(self.means_contained, self.gaps_contained) < too_rare:
            return True
        if self.design.is_power:
            expected = self.design.expected
            return expected is not None and self.named < expected - MOST_BELOW
        return self.named > MOST_NAMED + 2 * sqrt(MOST_NAMED * (1 - MOST_NAMED) / self.n_data_sets)

    def line(self) -> str:
        """Return a row of the table."""
        expected = self.design.expected
        bound = f"{expected:.0%}" if expected else "" if self.design.is_power else "at most 5%"
        cells = (
            str(self.design.n_slices),
            self.design.name,
            f"{self.spread:.2f}",
            f"{self.named:.1%}",
            bound,
            f"{self.means_contained:.1%}",
            f"{self.gaps_contained:.1%}",
            f"{self.width:.3f}",
        )
        return f"| {' | '.join(cells)} |"


def simulate(design: Design, n_data_sets: int) -> SliceRow:
    """Draw data sets of a design, and count in how many a slice is named and intervals hold."""
    rng = np.random.default_rng(crc32(repr(design).encode()))
    outcomes = np.array([_outcome(design, rng) for _ in range(n_data_sets)])
    return SliceRow(design, n_data_sets, *outcomes.mean(axis=0).tolist())


def _outcome(design: Design, rng: np.random.Generator) -> tuple[float, ...]:
    """Return spread, whether a slice is named, whether all intervals hold (twice), and width."""
    members = design.members(rng)
    judge, human, expected = design.draw(members[0], rng)
    units, (low, high) = np.arange(N) // design.group, design.bounds
    means, beyond = (
        slice_means(values, members, units=units, level=LEVEL, bounds=bounds, rng=rng)
        for values, bounds in ((judge, design.bounds), (judge - human, (low - high, high - low)))
    )
    every = np.ones(len(members), np.bool_)
    worst = worst_slice(means, beyond, every, less_is_worse=design.less_is_worse)
    named = worst == 0 if design.is_power else worst is not None
    inside = members @ expected / members.sum(axis=1)
    gap = inside - ~members @ expected / (~members).sum(axis=1)
    within = [(judge - human)[part].std() for part in (members[0], ~members[0])]
    return (
        float(np.mean(within)),
        float(named),
        _all_contain(means.low, means.high, inside),
        _all_contain(means.gap_low, means.gap_high, gap),
        _mean_width(means),
    )


def _all_contain(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> float:
    missed = (low > truth + 1e-12) | (high < truth - 1e-12)  # nan is no interval
    return float(not missed.any())


def _mean_width(means: SliceMeans) -> float:
    widths = means.gap_high - means.gap_low
    return float(np.nanmean(widths)) if np.isfinite(widths).any() else float("nan")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    print(*lines, sep="\n", flush=True)
    failed = False
    for design in DESIGNS:
        if given.only in design.name:
            row = simulate(design, given.data_sets)
            failed |= row.fails
            lines.append(row.line())
            print(lines[-1], flush=True)
    if given.write:
        text = PAGE.read_text("utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

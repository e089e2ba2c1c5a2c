"""How often a copy of a rater is recommended, and how often an honest judge is withheld as one.

    python benchmarks/copies.py [--data-sets 1000] [--only WORD] [--write]

Draws data sets from a seed per row and prints a Markdown table; ``--write`` puts it into
docs/coverage.md, in the place of the last one. Two options, an annotator test with a margin of 0.1
at 5 %; the tests are the program's, on counts of answers. Exits with 1 if a copy passes in more
than 5 % of the data sets plus two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil, sqrt
from pathlib import Path
from zlib import crc32

import numpy as np

from harness.stats.alt_test.copied_answers import bound_of, copy_ratios, reasonable_sets
from harness.stats.alt_test.deciding_test import deciding_test
from harness.stats.inference.multiple_testing import partial_conjunction

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/copies.py writes what follows -->"
END = "<!-- benchmarks/copies.py wrote this -->"
ALPHA, EPS = 0.05, 0.1
MOST = 0.05  # of the data sets, in which a copy passes
SETS = reasonable_sets(2)


@dataclass(frozen=True, kw_only=True)
class Design:
    """How raters and a judge answer.

    Attributes
    ----------
    n, m : int
        Items and raters.
    others, first : float
        Share of the items in which raters are right, and the same of the first.
    judge : float or None
        The same of the judge; None if it copies.
    hard : float
        Share of the items on which raters and judge toss coins.
    rarer : float
        Share of the rarer option.
    in_turn : int
        Raters that are copied in turn.
    noise : float
        Share of the copied answers that are turned around.
    """

    n: int
    m: int
    others: float = 0.85
    first: float = 0.85
    judge: float | None = None
    hard: float = 0.0
    rarer: float = 0.5
    in_turn: int = 1
    noise: float = 0.0

    @property
    def is_copy(self) -> bool:
        """Whether the judge copies."""
        return self.judge is None

    @property
    def name(self) -> str:
        """The design for a reader."""
        parts = [f"{self.n} items", f"{self.m} raters"]
        if self.others != 0.85:
            parts[-1] += f" right in {self.others:.0%}"
        elif self.first != 0.85:
            parts.append(f"one of them right in {self.first:.0%}")
        parts += [f"{self.hard:.0%} of the items hard"] * (self.hard > 0)
        parts += [f"{self.rarer:.0%} positive"] * (self.rarer != 0.5)
        if self.judge is not None:
            return ", ".join([*parts, f"a judge right in {self.judge:.0%}"])
        copied = "one rater copied" if self.in_turn == 1 else "two raters copied in turn"
        copied = "that rater copied" if self.first != self.others else copied
        return ", ".join([*parts, copied, f"{self.noise:.0%} noise" if self.noise else "exactly"])

    def draw(self, n_data_sets: int, rng: np.random.Generator) -> np.ndarray:
        """Draw (B, n, m + 1) labels 0 and 1, those of the judge last."""
        shape = (n_data_sets, self.n)
        truth = rng.random(shape) < self.rarer
        hard = rng.random(shape) < self.hard
        right = [self.first, *[self.others] * (self.m - 1), self.judge or 0.85]
        labels = np.stack(
            [truth == (rng.random(shape) < np.where(hard, 0.5, share)) for share in right], axis=2
        )
        if self.is_copy:
            source = rng.integers(self.in_turn, size=shape)
            copied = np.take_along_axis(labels, source[:, :, None], axis=2)[:, :, 0]
            labels[:, :, -1] = copied ^ (rng.random(shape) < self.noise)
        return labels.astype(np.int64)


def annotator_p(labels: np.ndarray) -> np.ndarray:
    """Return (B,) p-values of the annotator test of (B, n, m + 1) labels, the judge's last."""
    ratings, judge = labels[:, :, :-1], labels[:, :, -1]
    m = ratings.shape[2]
    by_rater = []
    for j in range(m):
        others = np.delete(ratings, j, axis=2)
        agreed = [(others == own[:, :, None]).sum(axis=2) for own in (judge, ratings[:, :, j])]
        wins, losses = ((agreed[0] > agreed[1]).sum(axis=1), (agreed[0] < agreed[1]).sum(axis=1))
        by_rater.append([_p(labels.shape[1], int(w), int(k)) for w, k in zip(wins, losses)])  # noqa: B905 -- equally many
    return partial_conjunction(np.array(by_rater).T, ceil(m / 2))


@cache
def _p(n: int, wins: int, losses: int) -> float:
    difference = np.repeat([-1.0, 1.0, 0.0], [wins, losses, n - wins - losses])
    p = deciding_test(difference, EPS).p
    assert p is not None, "ten items are enough"
    return p


def is_copy(labels: np.ndarray) -> np.ndarray:
    """Return (B,) whether each data set's judge counts as a copy, or may be one."""
    r = labels.shape[2]
    kinds = np.array(list(product((0, 1), repeat=r)))
    number = labels @ (2 ** np.arange(r - 1, -1, -1))
    times = np.array([np.bincount(of_set, minlength=len(kinds)) for of_set in number], dtype=float)
    times, place = np.unique(times, axis=0, return_inverse=True)
    copies, bound = copy_ratios(kinds, times, SETS), bound_of(labels.shape[1], r - 1.0)
    return np.asarray((copies.copied(bound) | copies.undecided(bound))[place.ravel()])


@dataclass(frozen=True)
class Row:
    """How many judges of a design pass.

    Attributes
    ----------
    design : Design
        Which.
    n_data_sets, n_passing, n_used : int
        Data sets, those in which the annotator test passes, and those of them in which the judge
        doesn't count as a copy.
    """

    design: Design
    n_data_sets: int
    n_passing: int
    n_used: int

    @property
    def misses(self) -> bool:
        """Whether a copy passes too often."""
        most = MOST + 2.0 * sqrt(MOST * (1.0 - MOST) / self.n_data_sets)
        return self.design.is_copy and self.n_used > most * self.n_data_sets

    def __str__(self) -> str:
        shares = self.n_passing / self.n_data_sets, self.n_used / self.n_data_sets
        used = shares[1]
        error = sqrt(max(used * (1.0 - used), 1e-4) / self.n_data_sets)
        cells = [self.design.name, *(f"{100 * share:.1f} %" for share in shares)]
        lost = f"{100 * (shares[0] - used):.1f}" if not self.design.is_copy else ""
        return f"| {' | '.join([*cells, f'{100 * error:.1f} %', lost])} |"


def simulate(design: Design, n_data_sets: int) -> Row:
    """Draw data sets with a seed made of the design's name, and test them."""
    rng = np.random.default_rng(crc32(design.name.encode()))
    labels = design.draw(n_data_sets, rng)
    passing = labels[annotator_p(labels) <= ALPHA]
    n_used = int((~is_copy(passing)).sum()) if len(passing) else 0
    return Row(design, n_data_sets, len(passing), n_used)


CAREFUL = (0.97, 0.99)  # how often careful raters are right
SIZES = ((60, 3), (60, 5), (150, 3), (150, 5), (300, 3), (300, 5))


def designs() -> list[Design]:
    """List honest judges, then copies."""
    honest = [
        Design(n=n, m=m, **settings)
        for n, m in SIZES
        for settings in (
            {"judge": 0.85},
            {"judge": 0.85, "hard": 1 / 3},
            {"judge": 0.85, "rarer": 0.1},
            {"judge": 0.95},
            {"judge": 0.85, "first": 0.97},
            {"judge": 0.97, "first": 0.97},
            {"judge": 0.97, "first": 0.97, "hard": 1 / 3},
            *({"judge": right, "first": right, "others": right} for right in CAREFUL),
        )
    ]
    copies = [
        Design(n=n, m=m, noise=noise, **settings)
        for n, m in SIZES
        for settings, noises in (
            ({}, (0.0, 0.02, 0.1)),
            ({"in_turn": 2}, (0.0, 0.02, 0.1)),
            ({"hard": 1 / 3}, (0.02,)),
            ({"hard": 1 / 3, "in_turn": 2}, (0.02, 0.1)),
            ({"first": 0.6}, (0.02,)),
            ({"first": 0.97}, (0.0, 0.02, 0.1)),
            *(({"first": right, "others": right}, (0.0, 0.02)) for right in CAREFUL),
        )
        for noise in noises
    ]
    return [*honest, *copies]


INTRODUCTION = """\
## Copies of a rater

A judge that repeats a rater's answers passes the annotator test, because it always agrees with that
rater. The recommendation therefore compares two explanations of the judge's answers: it
[copies one rater, or two in turn](explanation/intervals.md#copies-of-a-rater), or it knows the
answers.

Each row has {n:,} data sets. Raters are right on 85% of items. On hard items, raters and judges
answer at random. The first column shows how often a judge passes the annotator test at 5% with a
margin of 0.1. The second column adds the test for copies, with its standard error. Copies should
pass in at most 5% of data sets. The last column shows by how many points an honest judge passes
less often.

| data sets | annotator test | not a copy, too | standard error | points lost |
| --- | --- | --- | --- | --- |"""


def write_section(section: str, start: str, end: str) -> None:
    """Put the section into the page, in the place of the last one between two marks."""
    page = PAGE.read_text("utf-8")
    before, after = page[: page.index(start) + len(start)], page[page.index(end) :]
    PAGE.write_text(f"{before}\n{section}\n{after}", "utf-8")


def main() -> None:
    """Simulate, print the table, and exit with 1 if a copy passes too often."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    rows = []
    for design in designs():
        if options.only in design.name:
            rows.append(simulate(design, options.data_sets))
            print(rows[-1], file=sys.stderr, flush=True)
    section = "\n".join([INTRODUCTION.format(n=options.data_sets), *map(str, rows)])
    print(section)
    if options.write:
        write_section(section, START, END)
    sys.exit(any(row.misses for row in rows))


if __name__ == "__main__":
    main()

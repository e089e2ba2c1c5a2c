"""How often the whole decision recommends a judge, beside the annotator test alone.

    python benchmarks/power.py [--data-sets 1000] [--only WORD] [--write]

Draws data sets from a seed per row and prints a Markdown table; ``--write`` puts it into
docs/coverage.md. Two options, an annotator test with a margin of 0.1. The first validation of a
series tests the judge with the least mean Jensen-Shannon divergence, at 0.041 divided by the
contenders, and for copies of raters. Every judge that passes is better than the baselines in these
designs: a slow test compares with the program on whole data sets. Exits with 1 if a judge at the
margin is recommended in more than 5 % plus two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from zlib import crc32

import numpy as np
from scipy.stats import binom

try:
    from benchmarks.copies import annotator_p, is_copy, write_section
    from benchmarks.decision import DISAGREEMENT, one_hot
    from benchmarks.series import n_screened, with_error
except ModuleNotFoundError:  # it is run as a script
    from copies import annotator_p, is_copy, write_section
    from decision import DISAGREEMENT, one_hot
    from series import n_screened, with_error

from harness.stats.alt_test.design import AltTestDesign
from harness.stats.inference.alpha_spending import FIRST
from harness.stats.planning.annotator_power import power_from_planted
from harness.stats.planning.planted import PlantedJudge, PlantedRaters

START = "<!-- benchmarks/power.py writes what follows -->"
END = "<!-- benchmarks/power.py wrote this -->"
ALPHA, EPS, RATER, POWER = 0.05, 0.1, 0.85, 0.8
COIN, CONSTANT = 0.5, -1.0  # accuracies of judges that ignore the item


@dataclass(frozen=True)
class Design:
    """How raters and judges answer.

    Attributes
    ----------
    name : str
        The judges, for a reader.
    judges : tuple of float
        How often each is right on items that aren't hard; ``CONSTANT`` for always the same answer.
    hard : float
        Share of the items on which raters and judges toss coins.
    n, m : int
        Items and raters, who are right in 85 %.
    """

    name: str
    judges: tuple[float, ...]
    hard: float = 0.0
    n: int = 150
    m: int = 5

    @property
    def at_margin(self) -> Design:
        """The same with judges at the margin in the place of good ones."""
        worst = accuracy_at_margin(self.m, self.hard)
        return replace(self, judges=tuple(min(right, worst) for right in self.judges))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw (n, m + J) labels 0 and 1, those of the judges last."""
        right = np.array([RATER] * self.m + [max(judge, COIN) for judge in self.judges])
        truth = rng.integers(2, size=(self.n, 1))
        chances = np.where(rng.random((self.n, 1)) < self.hard, COIN, right)
        labels = np.where(rng.random(chances.shape) < chances, truth, 1 - truth)
        labels[:, self.m :][:, np.array(self.judges) == CONSTANT] = 1
        return labels


@lru_cache
def accuracy_at_margin(m: int, hard: float) -> float:
    """Return how often a judge is right that loses to each rater by just the margin.

    On an item that isn't hard, as raters and judge toss coins on the others.
    """
    n_right = np.arange(m)
    of_others = binom.pmf(n_right, m - 1, RATER)
    majority = float((of_others * np.sign(2 * n_right - (m - 1))).sum())
    # A judge differs from a rater if one is right: it loses if most others say so
    return RATER - EPS / (majority * (1.0 - hard))


@lru_cache
def losses_by_count(m: int) -> np.ndarray:
    """Return (m + 1, 2): the divergence of each answer, by how many raters chose 1."""
    ratings = (np.arange(m)[None] < np.arange(m + 1)[:, None]).astype(int)
    humans = one_hot(ratings) / m
    sums = [DISAGREEMENT.contributions(humans, np.tile(np.eye(2)[k], (m + 1, 1))) for k in (0, 1)]
    return np.column_stack([of_answer[:, 0] / of_answer[:, 1] for of_answer in sums])


def simulate(design: Design, n_data_sets: int) -> tuple[float, float]:
    """Return how often the first judge passes the annotator test alone, and is recommended."""
    seed = crc32(design.name.encode())
    rngs = (np.random.default_rng([seed, i]) for i in range(n_data_sets))
    outcomes = [outcome_of(design.draw(rng), design.m, rng) for rng in rngs]
    passing = [labels for _, passes, labels in outcomes if passes]
    n_copies = int(is_copy(np.stack(passing)).sum()) if passing else 0
    n_alone = sum(alone for alone, _, _ in outcomes)
    return n_alone / n_data_sets, (len(passing) - n_copies) / n_data_sets


def outcome_of(
    labels: np.ndarray, m: int, rng: np.random.Generator
) -> tuple[bool, bool, np.ndarray]:
    """Say whether the first judge passes at alpha, and at its level; return the labels tested."""
    ratings, answers = labels[:, :m], labels[:, m:]
    losses = losses_by_count(m)[ratings.sum(axis=1)[:, None], answers].T
    first, n_judges = int(losses.mean(axis=1).argmin()), answers.shape[1]
    kept = np.column_stack([ratings, answers[:, first]])
    p, level = float(annotator_p(kept[None])[0]), ALPHA * FIRST
    passes = p <= level / n_judges
    if not passes and p <= level:
        passes = p <= level / (n_judges - n_screened(losses, first, rng))
    return p <= ALPHA, passes, kept


def designs() -> list[Design]:
    """List designs of the judges that a first run compares."""
    as_good, better, third = RATER, 0.9, 1 / 3
    return [
        Design("as good as a rater, alone", (as_good,)),
        Design("the same, a third of the items hard", (as_good,), third),
        Design("as good as a rater, beside a coin and a constant", (as_good, COIN, CONSTANT)),
        Design("the same, a third of the items hard", (as_good, COIN, CONSTANT), third),
        Design("as good as a rater, beside 4 coins", (as_good, *[COIN] * 4)),
        Design("5 judges as good as a rater", (as_good,) * 5),
        Design("5 judges, the others worse by steps", (as_good, 0.75, 0.7, 0.6, 0.5)),
        Design("right in 90 %, alone", (better,)),
    ]


INTRODUCTION = """\
## Power of the whole decision

Each row simulates {n:,} data sets for the first validation of a series. A data set has 150 items,
two options, five raters who are right on 85% of items, and an annotator test with a margin of 0.1.
On hard items, raters and judges answer at random. The judge with the smallest divergence is tested.
In the columns named *wrong*, judges are at the margin. *Alone* is the annotator test at 5%, as if
the tested judge were the only one. *Use* has the first validation's share of alpha, splits it among
the judges, and adds the test for copies. The brackets contain standard errors.

| judges | wrong, alone | wrong, use | right, alone | right, use | points less |
| --- | --- | --- | --- | --- | --- |"""


def render_row(design: Design, n: int) -> tuple[str, bool]:
    """Simulate a design; return its row, and whether a judge at the margin passes too often."""
    wrong, right = simulate(design.at_margin, n), simulate(design, n)
    lost = right[0] - right[1]  # who is recommended passes the test alone
    shares = " | ".join(with_error(share, n) for share in (*wrong, *right))
    too_often = wrong[1] > ALPHA + 2.0 * sqrt(ALPHA * (1.0 - ALPHA) / n)
    return f"| {design.name} | {shares} | {with_error(lost, n).replace(' %', '')} |", too_often


PLANNED = """\

`harness plan annotators` prints the smallest number of items with which the judge is recommended in
80% of studies, according to the lower end of the interval over 100 draws. Each row simulates
{n:,} new studies with that many items, two options and a margin of 0.1. *Alone* and *use* are as
above:

| raters agree in | the judge agrees in | raters | contenders | items | alone | use |
| --- | --- | --- | --- | --- | --- | --- |"""
SIZES = (100, 150, 200, 300, 400, 600, 800)


@dataclass(frozen=True)
class Plan:
    """What a study is planned from."""

    rater_agreement: float
    agreement: float
    m: int
    n_contenders: int = 1

    def row(self, n_data_sets: int) -> str:
        """Plan the items, and simulate studies of so many."""
        raters = PlantedRaters((0.5, 0.5), self.rater_agreement)
        judge = PlantedJudge.that_agrees(raters, self.agreement)
        name = f"{100 * self.rater_agreement:g} % | {100 * self.agreement:g} % | {self.m}"
        rng = np.random.default_rng(crc32(name.encode()))
        n = self._planned(raters, judge, rng)
        shape = n_data_sets * n, self.m
        chances = raters.chances(shape[0], rng)
        ratings = raters.choose(np.repeat(chances, self.m, axis=0), rng).reshape(shape)
        answers = judge.replies(chances, np.array(raters.shares), 1, rng)
        labels = np.column_stack([ratings, answers]).reshape(n_data_sets, n, self.m + 1)
        p = annotator_p(labels)
        passing = labels[p <= ALPHA * FIRST / self.n_contenders]
        n_used = int((~is_copy(passing)).sum()) if len(passing) else 0
        shares = (float((p <= ALPHA).mean()), n_used / n_data_sets)
        cells = " | ".join(with_error(share, n_data_sets) for share in shares)
        return f"| {name} | {self.n_contenders} | {n} | {cells} |"

    def _planned(self, raters: PlantedRaters, judge: PlantedJudge, rng: np.random.Generator) -> int:
        design = AltTestDesign(score="accuracy", eps=EPS)
        for n in SIZES:
            (row,) = power_from_planted(
                raters,
                judge,
                design,
                n_raters=self.m,
                n_items=[n],
                rng=rng,
                n_contenders=self.n_contenders,
            )
            assert row.use_interval is not None, "it is simulated"
            if row.use_interval.low >= POWER:
                return n
        raise ValueError(f"{self} needs more than {SIZES[-1]} items")


PLANS = (
    Plan(0.75, 0.8, 3),
    Plan(0.75, 0.75, 5),
)


def main() -> None:
    """Simulate, print the table, and exit with 1 if a judge at the margin passes too often."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=1000)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    rows, n = [], options.data_sets
    for design in designs():
        if options.only in design.name:
            rows.append(render_row(design, n))
            print(rows[-1][0], file=sys.stderr, flush=True)
    planned = []
    for plan in PLANS if options.only in "planned" else ():
        planned.append(plan.row(n))
        print(planned[-1], file=sys.stderr, flush=True)
    table = [INTRODUCTION.format(n=n), *(row for row, _ in rows)]
    section = "\n".join([*table, PLANNED.format(n=n), *planned])
    print(section)
    if options.write:
        write_section(section, START, END)
    sys.exit(any(too_often for _, too_often in rows))


if __name__ == "__main__":
    main()

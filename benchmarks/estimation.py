"""How often intervals of `harness estimate` hold the share over the population, and their width.

    python benchmarks/estimation.py [--data-sets 2000] [--write]

Draws labelled and unlabelled items of known prevalence, judges of known sensitivity and
specificity, of which the best by the labels is chosen, and counts. Does the same with stored
answers of raters and judges (HARNESS_TRUTH). Prints Markdown tables and exits with 1 if a coverage
is below 93 % or a median width above 1.05 of the score interval of the labels alone (Wilson);
``--write`` puts the tables into docs/estimation.md. Takes ten minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.known_answers import load_dataset

from harness.stats.estimation.identified_set import endorsed_share, pointwise_level
from harness.stats.estimation.population import MIN_LABELS
from harness.stats.estimation.two_phase import (
    TwoPhaseCounts,
    share_interval,
    squared_critical,
    two_phase_interval,
)

PAGE = ROOT / "docs" / "estimation.md"
MARK = "<!-- benchmarks/estimation.py writes what follows -->"
LEAST_COVERAGE = 0.93
LARGEST_RATIO = 1.05
LEVEL = 0.95
N_LABELLED = (50, 100, 300)
N_UNLABELLED = (2000, 100_000)
PREVALENCES = (0.02, 0.05, 0.1, 0.3, 0.5)
JUDGES = {  # sensitivity, specificity
    "useless": (0.5, 0.5),
    "weak": (0.7, 0.7),
    "good": (0.9, 0.9),
    "near-perfect": (0.98, 0.99),
}
N_JUDGES = (1, 5, 10)
REPLAYED = {"framing": "yes", "cebab_aspects": "Positive"}  # the positive option
BETAS = ((0.0, 0.0), (0.05, 0.15), (0.1, 0.5))


@dataclass(frozen=True)
class Cell:
    """A design: labels, unlabelled items, prevalence, and judges of one kind."""

    n: int
    n_unlabelled: int
    prevalence: float
    kind: str
    n_judges: int = 1

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(crc32(repr(self).encode()))


@dataclass(frozen=True)
class Intervals:
    """(R,) ends of the reported interval, and of Wilson's of the labels."""

    low: np.ndarray
    high: np.ndarray
    wilson: tuple[np.ndarray, np.ndarray]

    def coverage(self, truth: float) -> float:
        return float(np.mean((self.low <= truth) & (truth <= self.high)))

    @property
    def ratio(self) -> float:
        return float(np.median(self.high - self.low) / np.median(self.wilson[1] - self.wilson[0]))


def draw(cell: Cell, n_data_sets: int) -> TwoPhaseCounts:
    """Draw data sets; of the judges, the one that agrees with most labels is used."""
    rng = cell.rng
    sensitivity, specificity = JUDGES[cell.kind]
    labels = rng.random((n_data_sets, cell.n)) < cell.prevalence
    shape = (n_data_sets, cell.n_judges, cell.n)
    right = rng.random(shape) < np.where(labels[:, None], sensitivity, specificity)
    chosen = right.sum(axis=2).argmax(axis=1)
    verdicts = right[np.arange(n_data_sets), chosen] == labels
    said_yes = cell.prevalence * sensitivity + (1.0 - cell.prevalence) * (1.0 - specificity)
    judged_yes = rng.binomial(cell.n_unlabelled, said_yes, n_data_sets).astype(float)

    def count(which: np.ndarray) -> np.ndarray:
        return which.sum(axis=1).astype(float)

    return TwoPhaseCounts(
        yes_yes=count(labels & verdicts),
        yes_no=count(labels & ~verdicts),
        no_yes=count(~labels & verdicts),
        no_no=count(~labels & ~verdicts),
        judged_yes=judged_yes,
        judged_no=cell.n_unlabelled - judged_yes,
    )


@dataclass(frozen=True)
class StoredAnswers:
    """Stored answers about n items: (n,) share of raters who say yes, and (J, n) judges' answers.

    An item about which a judge gave no answer counts as no.
    """

    shares: np.ndarray
    verdicts: np.ndarray

    @classmethod
    def read(cls, name: str, positive: str) -> StoredAnswers:
        data = load_dataset(name)
        row_of = {item["id"]: i for i, item in enumerate(data.items)}
        counts = np.zeros((len(row_of), 2))
        for row in data.ratings:
            counts[row_of[row["item"]], int(row["value"] == positive)] += 1
        judges = {judge: j for j, judge in enumerate(sorted({v["judge"] for v in data.verdicts}))}
        verdicts = np.zeros((len(judges), len(row_of)), dtype=bool)
        for row in data.verdicts:
            verdicts[judges[row["judge"]], row_of[row["item"]]] = row["value"] == positive
        rated = counts.sum(axis=1) > 0
        return cls(counts[rated, 1] / counts[rated].sum(axis=1), verdicts[:, rated])

    @property
    def best(self) -> StoredAnswers:
        """The same with one judge, that whose answers the raters share most often."""
        agreed = np.where(self.verdicts, self.shares, 1.0 - self.shares).mean(axis=1)
        return StoredAnswers(self.shares, self.verdicts[[int(agreed.argmax())]])

    def draw(self, n: int, n_data_sets: int, rng: np.random.Generator) -> TwoPhaseCounts:
        """Label n random items by one of their raters; use the judge that agrees with most."""
        drawn = [self._draw(n, rng) for _ in range(n_data_sets)]
        return TwoPhaseCounts(*np.array(drawn, dtype=float).T)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[float, ...]:
        order = rng.permutation(len(self.shares))
        labelled, others = order[:n], order[n:]
        labels = rng.random(n) < self.shares[labelled]
        judge = int((self.verdicts[:, labelled] == labels).sum(axis=1).argmax())
        said, rest = self.verdicts[judge, labelled], self.verdicts[judge, others]
        return (
            (labels & said).sum(),
            (labels & ~said).sum(),
            (~labels & said).sum(),
            (~labels & ~said).sum(),
            rest.sum(),
            (~rest).sum(),
        )


def critical_at(level: float | np.ndarray, n_judges: int = 1) -> float | np.ndarray:
    if isinstance(level, float):
        return squared_critical(level, n_judges)
    return np.array([squared_critical(one, n_judges) for one in level.tolist()])


def intervals(
    counts: TwoPhaseCounts, n_judges: int, level: float | np.ndarray = LEVEL
) -> Intervals:
    """Return the interval that `population_share` reports: of several judges, the narrower one."""
    n_yes = counts.yes_yes + counts.yes_no
    n = n_yes + counts.no_yes + counts.no_no
    alone = share_interval(n_yes, n, critical_at(level))
    both = two_phase_interval(counts, critical_at(level, n_judges))
    helps = (n_judges == 1) | (both[1] - both[0] < alone[1] - alone[0])
    low, high = (np.where(helps, *ends) for ends in zip(both, alone, strict=True))
    return Intervals(low, high, wilson(n_yes, n))


def wilson(n_yes: np.ndarray, n: np.ndarray, z: float = 1.959964) -> tuple[np.ndarray, np.ndarray]:
    p = n_yes / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return centre - reach, centre + reach


def identified(
    cell: Cell, n_data_sets: int, betas: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the coverage of both ends and of the middle of the identified set."""
    counts = draw(cell, n_data_sets)
    whole = intervals(counts, cell.n_judges)
    ends = zip(whole.low.tolist(), whole.high.tolist(), strict=True)
    n_yes = counts.yes_yes + counts.yes_no
    enough = np.minimum(n_yes, cell.n - n_yes) >= MIN_LABELS
    one_sided = np.array([pointwise_level(pair, betas, LEVEL) for pair in ends])
    levels = np.where(enough, one_sided, LEVEL)
    found = intervals(counts, cell.n_judges, levels)
    low, high = endorsed_share(found.low, betas[0]), endorsed_share(found.high, betas[1])
    points = (betas[0], sum(betas) / 2, betas[1])
    shares = [endorsed_share(cell.prevalence, beta) for beta in points]
    covered = [float(np.mean((low <= share) & (share <= high))) for share in shares]
    return covered[0], covered[1], covered[2]


def share_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return the least coverage and the width of each design, over both numbers of items."""
    rows = [
        "| labels | prevalence | judge | covered, 1 judge | of 5 | of 10 | width, 1 | 5 | 10 |",
        "| --: | --: | --- | --: | --: | --: | --: | --: | --: |",
    ]
    holds = True
    for n, prevalence, kind in product(N_LABELLED, PREVALENCES, JUDGES):
        coverage, ratio = [], []
        for n_judges in N_JUDGES:
            cells = [Cell(n, size, prevalence, kind, n_judges) for size in N_UNLABELLED]
            found = [intervals(draw(cell, n_data_sets), n_judges) for cell in cells]
            coverage.append(min(interval.coverage(prevalence) for interval in found))
            ratio.append(max(interval.ratio for interval in found))
        holds &= min(coverage) >= LEAST_COVERAGE and max(ratio) <= LARGEST_RATIO
        cells_text = " | ".join([f"{c:.1%}" for c in coverage] + [f"{r:.2f}" for r in ratio])
        rows.append(f"| {n} | {prevalence:g} | {kind} | {cells_text} |")
    return rows, holds


def set_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return the least coverage of a point of the identified set."""
    rows = [
        "| labels | prevalence | judge | beta in | covered |",
        "| --: | --: | --- | --- | --: |",
    ]
    holds = True
    for n, prevalence, kind, betas in product(
        N_LABELLED, (0.02, 0.1, 0.5), ("weak", "near-perfect"), BETAS
    ):
        covered = min(identified(Cell(n, 2000, prevalence, kind), n_data_sets, betas))
        holds &= covered >= LEAST_COVERAGE
        rows.append(f"| {n} | {prevalence:g} | {kind} | {list(betas)} | {covered:.1%} |")
    return rows, holds


def replayed(answers: StoredAnswers, n: int, n_data_sets: int) -> tuple[float, float]:
    """Return the coverage of the raters' share over all items of a data set, and the width."""
    n_judges = len(answers.verdicts)
    rng = np.random.default_rng(crc32(f"{answers.shares.shape} {n_judges} {n}".encode()))
    found = intervals(answers.draw(n, n_data_sets, rng), n_judges)
    return found.coverage(float(answers.shares.mean())), found.ratio


def replay_table(n_data_sets: int) -> tuple[list[str], bool]:
    """Return the coverage and the width on stored answers."""
    rows = [
        "| data | items | labels | covered, judge named | of 6 | width, judge named | of 6 |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    holds = True
    for name, n in product(REPLAYED, N_LABELLED):
        answers = StoredAnswers.read(name, REPLAYED[name])
        named, chosen = (replayed(one, n, n_data_sets) for one in (answers.best, answers))
        holds &= min(named[0], chosen[0]) >= LEAST_COVERAGE
        holds &= max(named[1], chosen[1]) <= LARGEST_RATIO
        rows.append(
            f"| {name} | {len(answers.shares):,} | {n} | {named[0]:.1%} | {chosen[0]:.1%} "
            f"| {named[1]:.2f} | {chosen[1]:.2f} |"
        )
    return rows, holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    shares, shares_hold = share_table(arguments.data_sets)
    sets, sets_hold = set_table(arguments.data_sets)
    replay, replay_holds = replay_table(arguments.data_sets)
    sections = {
        f"How often the interval contains the population's share, in {arguments.data_sets:,} data "
        "sets per design (the lower share of 2,000 and 100,000 unlabelled items), and its median "
        "width relative to the score interval from labels only:": shares,
        "If beta is only known to lie in an interval, the labels identify a set of shares. The "
        "lowest coverage of any share in this set:": sets,
        f"Stored answers, with {arguments.data_sets:,} draws per row. One rater labels random "
        "items, and a judge answers the remaining ones. The judge is the best one, named "
        "beforehand, or the one of six that these labels select:": replay,
    }
    text = "\n\n".join("\n\n".join([title, "\n".join(rows)]) for title, rows in sections.items())
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(f"{page[: page.index(MARK) + len(MARK)]}\n\n{text}\n", encoding="utf-8")
    return 0 if shares_hold and sets_hold and replay_holds else 1


if __name__ == "__main__":
    raise SystemExit(main())

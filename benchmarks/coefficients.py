"""How often the intervals of the coefficients of agreement contain their target.

    python benchmarks/coefficients.py [--replicates 400] [--only WORD] [--write]

Prints a row per coefficient and kind of data set. ``--only`` picks rows by a part of their
name. ``--write`` puts the rows into coefficients.csv and their summary into docs/coverage.md. Seeds
are made from the name of the kind. The target is the coefficient of 200,000 items.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from itertools import product
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias
from zlib import crc32

import numpy as np

from harness.stats import HUMAN_AGREEMENT, METRICS, ItemSums, Resampling, estimate_sums
from harness.stats.data.labels import label_counts, modes
from harness.stats.inference.metric import find_metric
from harness.stats.metrics.gwet import ac2_of_raters
from harness.stats.metrics.icc import ICC, two_way_sums
from harness.stats.metrics.judge_agreement import effective_votes_of, enough_errors, error_pairs
from harness.stats.metrics.ordinal import ORDINAL_METRICS
from harness.stats.metrics.set_agreement import set_agreement_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stats.inference.estimate import Interval
    from harness.stats.inference.metric import Metric

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/coefficients.py writes what follows -->"
END = "<!-- benchmarks/coefficients.py wrote this -->"
ROWS = Path(__file__).with_suffix(".csv")
COLUMNS = ("coefficient", "data sets", "contained", "na", "width", "replicates")
LEAST, N_RESAMPLES, LARGE, K = 0.93, 1000, 200_000, 3
SIZES, ACCURACIES = (30, 50, 300), (0.7, 0.9)
OPTIONS_ARE = {"equal": (1 / 3, 1 / 3, 1 / 3), "skewed": (0.8, 0.15, 0.05)}
AMONG_RATERS = ("fleiss_kappa_unequal_raters", "randolph_kappa_unequal_raters", "gwet_ac1")
OF_MODES = ("gwet_ac1(h/h)", "gorodkin_r(h/h)", "macro_f1(h/h)")
ALL_SETS = np.arange(2**K) >> np.arange(K)[:, None] & 1  # (K, V)
SHARE_COPIED = 0.3
MIDDLE = 0.8  # kinds right in 90% give their numbers, others round them
OF_SETS = ("micro_f1(hrs/hrs)", "macro_f1(hrs/hrs)")

Sums: TypeAlias = "dict[str, ItemSums]"


@dataclass(frozen=True)
class Kind:
    """A kind of data set: accuracy of raters and judge, and how common options are."""

    n: int
    accuracy: float
    options_are: str

    @property
    def name(self) -> str:
        """What the row says."""
        return f"{self.n} items, right in {self.accuracy:.0%}, options {self.options_are}"

    def seed(self, replicate: int) -> np.random.Generator:
        """Return the generator of a data set."""
        return np.random.default_rng((crc32(self.name.encode()), replicate))


class Row(NamedTuple):
    """How often the intervals of a coefficient contain it, and their mean width."""

    coefficient: str
    data_sets: str
    contained: float
    na: float
    width: float
    replicates: int

    @classmethod
    def of(cls, row: dict[str, str]) -> Self:
        """Read a line of the file."""
        texts = [row[name] for name in COLUMNS]
        return cls(texts[0], texts[1], *map(float, texts[2:5]), int(texts[5]))

    @property
    def is_too_rare(self) -> bool:
        """Whether it is below the bound by more than two standard errors."""
        error = sqrt(LEAST * (1.0 - LEAST) / self.replicates)
        return self.contained < LEAST - 2.0 * error


def labels(rng: np.random.Generator, truth: np.ndarray, m: int, accuracy: float) -> np.ndarray:
    """Draw (n, m) labels that are the truth, or else a draw from the other options."""
    n = len(truth)
    other = (truth[:, None] + rng.integers(1, K, (n, m))) % K
    return np.where(rng.random((n, m)) < accuracy, truth[:, None], other).astype(float)


def sums(kind: Kind, rng: np.random.Generator, n: int) -> Sums:
    """Draw a data set: two to five ratings of each item, a judge's label, and response sets."""
    truth = rng.choice(K, n, p=OPTIONS_ARE[kind.options_are])
    ratings = labels(rng, truth, 5, kind.accuracy)
    ratings[np.arange(5) >= rng.integers(2, 6, n)[:, None]] = np.nan
    counts = label_counts(ratings, K)
    judge = np.eye(K)[labels(rng, truth, 1, kind.accuracy)[:, 0].astype(int)]
    named = [find_metric(name, (*METRICS, *ORDINAL_METRICS)) for name in (*OF_MODES, *OF_SETS)]
    in_set = rng.random((n, K)) < np.where(np.eye(K)[truth] > 0, kind.accuracy, 0.2)
    said = np.where(rng.random((n, K)) < kind.accuracy, in_set, ~in_set)
    among = [find_metric(name, HUMAN_AGREEMENT) for name in AMONG_RATERS]
    alike = np.where(rng.random((n, 3, K)) < kind.accuracy, in_set[:, None], ~in_set[:, None])
    sets = label_counts((alike @ 2 ** np.arange(K)).astype(float), 2**K)
    ac2 = find_metric("gwet_ac2(h/h)", ORDINAL_METRICS)
    scores = truth[:, None] + np.array([-0.5, 0.0, 0.5]) + rng.spawn(1)[0].normal(size=(n, 3))
    scores = two_way_sums(scores if kind.accuracy > MIDDLE else np.round(scores))
    votes = panel_votes(rng.spawn(1)[0], truth, kind.accuracy)
    panel = effective_votes_of(votes.shape[1])
    sides = {"h": (modes(counts), judge), "hrs": (in_set.astype(float), said.astype(float))}
    return {
        **{f"{row.name}, raters": of(row, counts) for row in (*among, ac2_of_raters(range(K)))},
        **{row.name: ItemSums(contributions=scores, metrics=(row,)) for row in ICC},
        panel.name: ItemSums(contributions=error_pairs(votes, modes(counts)), metrics=(panel,)),
        **{row.name: of(row, sets) for row in set_agreement_metrics(ALL_SETS)},
        **{row.name: of(row, *sides[row.human_form]) for row in (*named, ac2)},
    }


def panel_votes(rng: np.random.Generator, truth: np.ndarray, accuracy: float) -> np.ndarray:
    """Draw (n, 3) votes of judges that copy a fourth on 30 % of items, so that errors correlate."""
    votes = labels(rng, truth, 4, accuracy)
    copied = rng.random((len(truth), 1)) < SHARE_COPIED
    return np.where(copied, votes[:, 3:], votes[:, :3])


def of(metric: Metric, *tables: np.ndarray) -> ItemSums:
    """Return what items add to a metric."""
    contributions = np.asarray(metric.contributions(*tables))
    return ItemSums(contributions=contributions, metrics=(metric,), options=tuple("abc"))


def rows_of(kind: Kind, n_replicates: int, only: str = "") -> Iterator[Row]:
    """Yield the rows of a kind of data sets."""
    large = sums(kind, kind.seed(LARGE), LARGE)
    targets = {
        name: float(of_one.metrics[0].value(np.asarray(of_one.contributions).sum(axis=0)))
        for name, of_one in large.items()
        if only in f"{name}, {kind.name}"
    }
    ends: dict[str, list[Interval]] = {name: [] for name in targets}
    for replicate in range(n_replicates if targets else 0):
        rng = kind.seed(replicate)
        resampling = Resampling(rng=rng, n_resamples=N_RESAMPLES)
        drawn = {name: s for name, s in sums(kind, rng, kind.n).items() if name in targets}
        for name, by_metric in estimate_sums(drawn, resampling=resampling).items():
            estimates = list(by_metric.values())
            if name == "effective_votes":
                estimates = [
                    enough_errors(e, np.asarray(drawn[name].contributions).sum(axis=0))
                    for e in estimates
                ]
            ends[name] += [e.interval for e in estimates if e.interval is not None]
    for name, target in targets.items():
        held = [interval.low <= target <= interval.high for interval in ends[name]]
        widths = [interval.high - interval.low for interval in ends[name]]
        share_na = 1.0 - len(held) / n_replicates
        means = (float(np.mean(held)), float(np.mean(widths))) if held else (1.0, 0.0)
        yield Row(name, kind.name, means[0], share_na, means[1], n_replicates)


def stored_rows() -> list[Row]:
    """Return the rows of the file."""
    if not ROWS.exists():
        return []
    with ROWS.open(encoding="utf-8", newline="") as lines:
        return [Row.of(row) for row in csv.DictReader(lines)]


def store(rows: list[Row]) -> None:
    """Put rows in the place of those with the same coefficient and data sets."""
    by_key = {(row.coefficient, row.data_sets): row for row in (*stored_rows(), *rows)}
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(by_key.values())


def summary(rows: list[Row]) -> list[str]:
    """Return the section of the page: a line per coefficient, and each row below the bound."""
    lines = [
        "| coefficient | kinds | contained | NA, at most | width, 30 items | 50 | 300 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(row.coefficient for row in rows):
        of_name = [row for row in rows if row.coefficient == name]
        shares = [row.contained for row in of_name if row.na < 1.0]
        widths = [
            [row.width for row in of_name if row.data_sets.startswith(f"{n} items") and row.na < 1]
            for n in SIZES
        ]
        cells = [
            f"`{name}`",
            str(len(of_name)),
            f"{min(shares):.1%} to {max(shares):.1%}",
            f"{max(row.na for row in of_name if row.na < 1.0):.1%}",
            *(f"{min(w):.2f} to {max(w):.2f}" if w else "NA" for w in widths),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rare = [row for row in rows if row.is_too_rare]
    lines += ["", f"Rows below {LEAST:.0%} by two standard errors: {len(rare)}."]
    if rare:
        lines += [
            "",
            "| coefficient | data sets | contained | width |",
            "| --- | --- | --- | --- |",
        ]
    return lines + [
        f"| `{row.coefficient}` | {row.data_sets} | {row.contained:.1%} | {row.width:.2f} |"
        for row in rare
    ]


def write(lines: list[str]) -> None:
    """Put the section into the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + START, *lines, END]) + after, "utf-8")


def main() -> None:
    """Print the rows of the command line's coefficients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for n, accuracy, options_are in product(SIZES, ACCURACIES, OPTIONS_ARE):
        rows = list(rows_of(Kind(n, accuracy, options_are), options.replicates, options.only))
        for row in rows:
            print("{} | {} | {:.1%} | {:.1%} | {:.3f} | {}".format(*row), flush=True)
        if options.write:
            store(rows)
    if options.write:
        write(summary(stored_rows()))


if __name__ == "__main__":
    main()

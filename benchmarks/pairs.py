"""What choices and pairs say of decisions at a cut-off, and how often it is right.

    python benchmarks/pairs.py [--data-sets 1000] [--only WORD] [--write]

Items have five choices each and sets that spread as a Dirichlet distribution; pairs are among the
choices. Two judges give five response sets to each item; ``near`` decides like endlessly many
raters on .05 fewer items than ``wide``, ``narrow`` on .11 fewer, ``equal`` on as many. Each row
draws data sets and says how often the intervals hold, how often the order of the judges is right,
and how often it's called settled, rightly or wrongly. ``--write`` puts the rows into pairs.csv and
docs/coverage.md.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import pair_designs as designs

from harness import stats
from harness.stats.indeterminacy.modelled import modelled_decisions
from harness.stats.indeterminacy.pair_bounds import outer_end, pair_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/pairs.py writes what follows -->"
END = "<!-- benchmarks/pairs.py wrote this -->"
KEYS = ("method", "rival", "n_paired", "n_pairs")
JUDGING = {
    "near": designs.judged_alike,
    "narrow": designs.judged,
    "equal": designs.judged_the_same,
}
LEAST, MOST = 0.93, 0.05  # intervals that hold, and wrong claims


@dataclass(frozen=True)
class Row:
    """Data sets of one kind: how decisions are found, and from which pairs."""

    method: str  # "bounds" or "modelled"
    rival: str
    n_paired: int
    n_pairs: int
    n_items: int = 400

    @property
    def name(self) -> str:
        """The row in words."""
        pairs = "one pair" if self.n_pairs == 1 else "two pairs"
        return f"{self.method}, wide and {self.rival}, {pairs} on {self.n_paired} items"

    def simulate(self, seed: int, truth: dict[str, float]) -> tuple[bool, ...]:
        """Return of one data set what `COUNTED` names."""
        rng = np.random.default_rng([crc32(self.name.encode()), seed])
        theta = designs.draw_theta(rng, self.n_items)
        human = designs.raters(rng, theta, n_paired=self.n_paired, n_pairs=self.n_pairs)
        judges = list(designs.judge_tables(rng, theta, JUDGING[self.rival]).values())
        resampling = stats.Resampling(rng=rng, n_resamples=200)
        options = {"tau": designs.CUT.tau, "positive": ("T",), "resampling": resampling}
        if self.method == "bounds":
            bounds, [difference] = pair_bounds(human, judges, **options)
            of_judges = {
                name: _range(goals["decision_consistency"]) for name, goals in bounds.items()
            }
            apart, middle = _range(difference.bound), sum(_range(difference.bound)) / 2
        else:
            modelled = modelled_decisions(human, judges, **options)
            [difference] = modelled.differences
            of_judges = {
                name: _ends(goals["decision_consistency"])
                for name, goals in modelled.estimates.items()
            }
            apart, middle = _ends(difference.difference), difference.difference.value
        gap = 0.0 if self.rival == "equal" else truth["wide"] - truth[self.rival]
        return (
            *(low <= truth[name] <= high for name, (low, high) in of_judges.items()),
            apart[0] <= gap <= apart[1],
            middle > 0,
            difference.settled == "first" and gap > 0,
            difference.settled == "second" or (difference.settled == "first" and gap == 0),
            apart[1] - apart[0],
        )


def _ends(estimate: stats.Estimate) -> tuple[float, float]:
    return estimate.interval.low, estimate.interval.high


def _range(bound: stats.indeterminacy.bounds.Bound) -> tuple[float, float]:
    return outer_end(bound.low, -1), outer_end(bound.high, 1)


COUNTED = (
    *("wide_held", "rival_held", "difference_held", "order_right"),
    *("settled_right", "settled_wrong", "width"),
)
ROWS = (
    Row("bounds", "narrow", 100, 1),
    Row("bounds", "near", 100, 1),
    Row("modelled", "narrow", 100, 1),
    Row("modelled", "near", 100, 1),
    Row("modelled", "equal", 100, 2),
    *(Row("modelled", rival, n, 2) for rival in ("near", "narrow") for n in (50, 100, 200, 400)),
)


def main() -> int:
    """Print all rows; return 1 if intervals hold too rarely or claims are wrong too often."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-sets", type=int, default=1000, help="of each row; bounds: a tenth")
    parser.add_argument("--only", default="", help="rows with this word")
    parser.add_argument("--write", action="store_true", help="renew pairs.csv and the page")
    options = parser.parse_args()
    rows, misses = [], False
    for row in ROWS:
        if options.only not in row.name:
            continue
        n = options.data_sets if row.method == "modelled" else max(options.data_sets // 10, 1)
        figures = designs.figures(400_000, judging=JUDGING[row.rival])
        truth = {name: figure.population for name, figure in figures.items()}
        shares = np.mean([row.simulate(seed, truth) for seed in range(n)], axis=0)
        numbers = dict(zip(COUNTED, (f"{share:.3f}" for share in shares), strict=True))
        rows.append({**vars(row), **numbers, "data_sets": n})
        print(*rows[-1].values(), sep=",", flush=True)
        misses |= shares[:3].min() < LEAST - 2 * sqrt(LEAST * (1 - LEAST) / n)
        misses |= shares[5] > MOST + 2 * sqrt(MOST * (1 - MOST) / n)
    if options.write:
        rows = _joined(rows)
        write_beside(__file__, rows)
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n{table_of(rows)}{END}{after}", encoding="utf-8")
    return int(misses)


def _joined(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return rows and those of the file that they do not replace, in the order of `ROWS`."""
    by_key: dict[tuple[str, ...], dict[str, object]] = {}
    if FILE.is_file():
        with FILE.open(encoding="utf-8", newline="") as file:
            by_key = {tuple(row[key] for key in KEYS): dict(row) for row in csv.DictReader(file)}
    by_key |= {tuple(str(row[key]) for key in KEYS): row for row in rows}
    order = [tuple(str(getattr(row, key)) for key in KEYS) for row in ROWS]
    return [by_key[key] for key in order if key in by_key]


def table_of(rows: Sequence[Mapping[str, object]]) -> str:
    """Return the rows as a table of the page."""
    heads = (
        "how",
        "judges",
        "items with pairs",
        "intervals hold",
        "of the difference",
        "order right",
    )
    heads += ("settled", "wrongly", "width", "data sets")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        pairs = f"{row['n_paired']} x {row['n_pairs']}"
        held = min(str(row["wide_held"]), str(row["rival_held"]))
        settled = f"{float(str(row['settled_right'])) + float(str(row['settled_wrong'])):.3f}"
        cells = (row["method"], f"wide, {row['rival']}", pairs, held, row["difference_held"])
        order = "" if row["method"] == "bounds" else row["order_right"]  # they say none
        cells += (order, settled, row["settled_wrong"], row["width"], row["data_sets"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

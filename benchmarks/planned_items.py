"""How often the number of items that a validation names finds the difference that it names.

    python benchmarks/planned_items.py [--pilots 500] [--only WORD] [--write]

"With N items, a difference of D between the first two judges would be found 4 times in 5": a pilot
compares judges of which the first is better by D, and if it doesn't find that, names N. A new study
has N items. Prints a row per design; ``--write`` writes them into planned_items.csv. Exits with 1
if fewer than 80 % of the new studies, less two standard errors, find the difference.
"""

from __future__ import annotations

import argparse
import sys
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

try:
    from benchmarks.csv_rows import write_beside
    from benchmarks.decision import MARGIN, compare, expected_loss, raters_of
except ModuleNotFoundError:  # it is run as a script
    from csv_rows import write_beside
    from decision import MARGIN, compare, expected_loss, raters_of

from harness.analysis.evidence import close_to_first, items_for_margin

if TYPE_CHECKING:
    from harness.stats.selection.footing import Footing

POWER = 0.8
RATER, BEST = 0.8, 0.85
HEADS = ("pilot", "judges", "raters", "planned", "pilots", "items", "found", "se")


class Design(NamedTuple):
    """Items of the pilot, judges, raters, and whether these are a sample."""

    n: int
    n_judges: int
    m: int
    named: bool

    def __str__(self) -> str:
        return f"{self.n} items, {self.n_judges} judges, {self.raters}"

    @property
    def raters(self) -> str:
        """The raters for a reader."""
        return f"{self.m} as a sample" if self.named else str(self.m)

    def study(self, n: int, rng: np.random.Generator) -> Footing:
        """Compare the judges on n items; all but the first are worse by the margin."""
        truth = rng.integers(2, size=n)
        slope = (expected_loss(0.6, self.m) - expected_loss(BEST, self.m)) / (BEST - 0.6)
        others = BEST - MARGIN.value / slope
        accuracies = (BEST, *[others] * (self.n_judges - 1))
        judges = [raters_of(truth, 1, accuracy, rng) for accuracy in accuracies]
        return compare(raters_of(truth, self.m, RATER, rng), judges, rng, named=self.named)


DESIGNS = [
    Design(n, n_judges, m, named)
    for n, n_judges, m, named in (
        (60, 2, 3, False),
        (60, 2, 5, False),
        (150, 2, 3, False),
        (150, 2, 5, False),
        (60, 5, 5, False),
        (150, 5, 5, False),
        (300, 5, 3, False),
    )
]


def simulate(design: Design, n_pilots: int) -> dict[str, object]:
    """Return how many pilots name a number of items, and how often these find the difference."""
    rng = np.random.default_rng(crc32(str(design).encode()))
    named, found = [], []
    for _ in range(n_pilots):
        pilot = design.study(design.n, rng)
        n_items, _ = items_for_margin(pilot, pilot.order, MARGIN)
        if n_items is None or n_items <= design.n or pilot.order[1] not in close_to_first(pilot):
            continue
        study = design.study(n_items, rng)
        named.append(n_items)
        found.append(study.order[0] == "j0" and "j1" not in close_to_first(study))
    share = float(np.mean(found))
    cells = (len(named), n_pilots, int(np.median(named)), f"{share:.3f}")
    error = f"{sqrt(share * (1.0 - share) / len(named)):.3f}"
    facts = (design.n, design.n_judges, design.raters)
    return dict(zip(HEADS, (*facts, *cells, error), strict=True))


def main() -> int:
    """Print all rows; return 1 if one has too little power."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pilots", type=int, default=500)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    parser.add_argument("--write", action="store_true", help="write planned_items.csv")
    options = parser.parse_args()
    rows = []
    for design in DESIGNS:
        if options.only in str(design):
            rows.append(simulate(design, options.pilots))
            print(rows[-1], flush=True)
    if options.write:
        write_beside(__file__, rows)
    return int(any(fails(row) for row in rows))


def fails(row: dict[str, object]) -> bool:
    """Whether the difference is found too rarely."""
    error = sqrt(POWER * (1.0 - POWER) / int(str(row["planned"])))
    return float(str(row["found"])) < POWER - 2.0 * error


if __name__ == "__main__":
    sys.exit(main())

"""Rows of tables on claims about a judge: how often, and how soon, they are made in schedules.

Used by `judge_in_use`, which prints a row per kind of schedule, and exits with 1 if a claim that is
wrong is made in more than alpha plus three standard errors; ``--write`` puts the table into
docs/drift.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol
from zlib import crc32

import numpy as np

try:
    from benchmarks.drift import highest, write_section
except ModuleNotFoundError:  # a script imports it
    from drift import highest, write_section

if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(Protocol):
    """A kind of schedule, whose repr makes the seeds.

    Attributes
    ----------
    since : float
        The round from which on the claim is true; inf if it never is.
    cells : tuple of str
        What its row begins with.
    """

    @property
    def since(self) -> float: ...

    @property
    def cells(self) -> tuple[str, ...]: ...

    def said_at(self, rng: np.random.Generator) -> float:
        """Return the first round of a schedule at which the claim is made; inf if it never is."""


@dataclass(frozen=True)
class ClaimRow:
    """At which rounds of schedules of a kind the claim was first made."""

    schedule: Kind
    looks: tuple[float, ...]

    @property
    def ever(self) -> float:
        """The share of the schedules in which it was made."""
        return float(np.isfinite(self.looks).mean())

    @property
    def too_often(self) -> bool:
        """Whether it is wrong, and made in more than alpha plus three standard errors."""
        return self.schedule.since == inf and self.ever > highest(len(self.looks))

    def line(self, soon: tuple[int, ...]) -> str:
        """Return a row of the table, with the shares by some rounds from when it is true."""
        since = self.schedule.since
        by = [np.mean([since <= look < since + n for look in self.looks]) for n in soon]
        shares = [f"{share:.0%}" if since < inf else "" for share in by]
        is_true = "yes" if since < inf else "no"
        cells = (*self.schedule.cells, is_true, *shares, f"{self.ever:.1%}", f"{len(self.looks):,}")
        return f"| {' | '.join(cells)} |"


class Table(NamedTuple):
    """A table of the page: its mark, that of the next one, title to heads, and rounds of rows."""

    mark: str
    until: str
    head: str
    soon: tuple[int, ...]


def simulate(schedule: Kind, n_schedules: int) -> ClaimRow:
    """Simulate a row, with seeds made of its kind."""
    seed = crc32(repr(schedule).encode())
    looks = (schedule.said_at(np.random.default_rng([seed, i])) for i in range(n_schedules))
    return ClaimRow(schedule, tuple(looks))


def main(schedules: Iterable[Kind], table: Table) -> None:
    """Simulate, print and write a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--schedules", type=int, default=1000, help="of rows on error rates")
    parser.add_argument("--changed", type=int, default=200, help="of rows on power")
    parser.add_argument("--write", action="store_true", help="renew docs/drift.md")
    options = parser.parse_args()
    rows = []
    for schedule in schedules:
        rows.append(
            simulate(schedule, options.changed if schedule.since < inf else options.schedules)
        )
        print(rows[-1].line(table.soon), flush=True)
    if options.write:
        lines = "".join(f"{row.line(table.soon)}\n" for row in rows)
        write_section(table.head + lines, table.mark, table.until)
    sys.exit(any(row.too_often for row in rows))

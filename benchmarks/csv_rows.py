"""Rows of a table of claims, as a CSV file beside the script that made them."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Design = TypeVar("Design")
QUICK = 10  # times fewer data sets, with --quick


def write_beside(script: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows with the same columns to the file of a script's name that ends in .csv."""
    with Path(script).with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def print_rows(
    script: str,
    designs: Iterable[Design],
    simulate: Callable[[Design, int], Mapping[str, object]],
    passes: Callable[[Mapping[str, object]], bool],
    n_sets: int,
) -> int:
    """Simulate and print a row for each design, and write them with --write; 1 if one fails."""
    n, rows = n_sets // QUICK if "--quick" in sys.argv else n_sets, []
    for design in designs:
        rows.append(simulate(design, n))
        print(*rows[-1].values(), "" if passes(rows[-1]) else "FAILS", sep=",", flush=True)
    if "--write" in sys.argv:
        write_beside(script, rows)
    return int(not all(map(passes, rows)))

"""Rows of a table of claims, as a CSV file beside the script that made them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def write_beside(script: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows with the same columns to the file of a script's name that ends in .csv."""
    with Path(script).with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)

"""Similarities of texts that a user gives: a table in the task's folder."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.folders import path_inside
from harness.tasks.schema import as_number
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import as_text, short

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ("text", "other", "similarity")


def read_similarities(folder: Path, name: str) -> dict[tuple[str, str], float]:
    """Read what texts are worth beside each other, each pair in both orders.

    Parameters
    ----------
    folder : Path
        Of the task.
    name : str
        A table in it with the columns ``text``, ``other`` and ``similarity``.

    Raises
    ------
    TaskError
        If the file is missing or leaves the folder, a similarity is no number, or a pair stands
        twice with different numbers.
    """
    path = path_inside(folder, name, "similarity")
    if not path.is_file():
        raise TaskError(f"{path}: not found; write it, or leave 'similarity' out of task.yaml.")
    similarities: dict[tuple[str, str], float] = {}
    for line, row in read_rows(path, required=COLUMNS):
        text, other = (as_text(row[name]).strip() for name in COLUMNS[:2])
        number = as_number(as_text(row["similarity"]))
        if number is None or not isfinite(number):
            raise TaskError(
                f"{path}: line {line}: similarity {short(row['similarity'])} is no number."
            )
        if similarities.setdefault((text, other), number) != number:
            raise TaskError(
                f"{path}: line {line}: {short(text)} and {short(other)} stand twice with different "
                "similarities; keep one row."
            )
        similarities[other, text] = number
    return similarities

"""Small tables of ratings, imported in this process."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from harness.curation.importing import (
    AnswerSettings,
    FileOptions,
    make_plans,
    make_task,
    read_source,
)
from harness.tasks import load_task
from harness.tasks.columns.table_answers import RatedOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.curation.importing import ImportPlan
    from harness.tasks import Task

SUBJECTS = ("The bus", "A small shop", "Our clinic", "The new phone", "That film", "My cousin")


def text(number: int) -> str:
    """Return a sentence that no other number has."""
    return f"{SUBJECTS[number % len(SUBJECTS)]} was late again, case {number}."


def written(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    """Write rows, the header among them, as csv."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def plan_of(
    path: Path, roles: Mapping[str, Sequence[str]] | None = None, **said: object
) -> ImportPlan:
    """Return the only plan of a table; ``header`` and ``drop`` say how its file is read."""
    how = FileOptions(**{name: said.pop(name) for name in ("header", "drop") if name in said})
    table = read_source(path, how=how)
    settings = AnswerSettings(**said)
    [plan] = make_plans("made", table, roles or {}, settings=settings, rated=RatedOptions())
    return plan


def task_of(path: Path, roles: Mapping[str, Sequence[str]] | None = None, **said: object) -> Task:
    """Import a table that needs no question and has no unusable row."""
    folder = path.parent / f"made-{len(list(path.parent.iterdir()))}"
    summary = make_task(plan_of(path, roles, **said), folder)
    assert summary.n_rejected == 0, summary.rejected
    return load_task(summary.folder)

"""Task versions without some items or raters."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.curation.audit.decision_effects import task_without
from harness.curation.importing.convert import VERDICTS
from harness.curation.importing.new_folder import new_folder
from harness.curation.versions.task_export import verdicts_of
from harness.errors import TaskError
from harness.files.plain_text import counted
from harness.files.regular_files import write_file
from harness.files.tables import read_rows
from harness.files.tables.writer import csv_text
from harness.tasks import CHANGELOG, record_change
from harness.tasks.write import write_version

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from harness.tasks import Task


@dataclass(frozen=True, slots=True)
class Dropped:
    """Counts of what a new version leaves out and keeps."""

    n_items_dropped: int
    n_ratings_dropped: int
    n_items: int
    n_ratings: int


def write_without(
    task: Task, folder: Path, *, items: Collection[str] = (), raters: Collection[str] = ()
) -> Dropped:
    """Write a version of a task without some items and raters, and without unrated items.

    Ids stay the same. ``verdicts.csv`` and the changelog are carried over.

    Parameters
    ----------
    folder : Path
        Must not exist yet.
    items, raters : collection of str
        Items and raters to leave out, all from the task.

    Raises
    ------
    TaskError
        If an item or a rater is not in the task, no item is left, or the folder exists already.
    """
    known = {rating.rater for rating in (*task.ratings, *task.ignored)}
    for noun, names, in_task in (("item", items, task.by_id), ("rater", raters, known)):
        if unknown := [name for name in names if name not in in_task]:
            raise TaskError(f"task {task.name} has no {noun} {unknown[0]!r}.")
    version = task_without(task, set(items), set(raters))
    if not version.items:
        raise TaskError(
            f"task {task.name}: no rated item is left. Leave out fewer items or raters."
        )
    version = version.model_copy(update={"name": folder.name})
    n_items = len(task.items) - len(version.items)
    n_ratings = len(task.ratings) - len(version.ratings)
    with new_folder(folder) as part:
        write_version(version, task, part)
        if (verdicts := verdicts_of(task)) is not None:
            rows = [row for _, row in read_rows(verdicts)]
            kept = [row for row in rows if row["item"] in version.by_id]
            write_file(part / VERDICTS, csv_text(kept, list(rows[0]) if rows else []).encode())
        if (task.folder / CHANGELOG).exists():
            shutil.copyfile(task.folder / CHANGELOG, part / CHANGELOG)
        change = f"{counted([n_items])} and {counted([n_ratings], 'rating')} left out"
        record_change(part, change, before=task.content_hash)
    return Dropped(n_items, n_ratings, len(version.items), len(version.ratings))

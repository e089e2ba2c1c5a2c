"""A task's changelog: changes to the content, each with the content hash before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from harness.errors import TaskError
from harness.files.regular_files import append_text, writing_to
from harness.files.tables import read_rows
from harness.files.tables.checks import as_text
from harness.tasks.load import load_task

if TYPE_CHECKING:
    from pathlib import Path

CHANGELOG = "changelog.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An entry in a changelog.

    Attributes
    ----------
    at : str
        UTC time, as ISO 8601.
    change : str
        Description of the change.
    before, after : str
        `Task.content_hash` before and after the change. ``before`` is "" for a new task.
    """

    at: str
    change: str
    before: str
    after: str


def record_change(folder: Path, change: str, *, before: str = "", after: str = "") -> Change:
    """Append a change to the changelog in a task's folder.

    Parameters
    ----------
    folder : Path
        The task folder after the change.
    change : str
        Description of the change, without texts of items.
    before : str
        Content hash before the change; "" for a new task.
    after : str
        Content hash after the change; computed from the folder if "".

    Raises
    ------
    TaskError
        If the task cannot be read or the changelog cannot be written.
    """
    after = after or load_task(folder, unrated=True).content_hash
    at = datetime.now(UTC).isoformat(timespec="seconds")
    line = Change(at=at, change=change, before=before, after=after)
    path = folder / CHANGELOG
    with writing_to(path, TaskError):
        append_text(path, msgspec.json.encode(line).decode() + "\n")
    return line


def read_changes(folder: Path) -> tuple[Change, ...]:
    """Return the changes in a task's changelog, oldest first. Empty if the task has no changelog.

    Raises
    ------
    TaskError
        If the changelog can't be read or a line lacks a field.
    """
    path = folder / CHANGELOG
    if not path.exists():
        return ()
    names = ("at", "change", "before", "after")
    rows = [row for _, row in read_rows(path, required=names)]
    return tuple(Change(**{name: as_text(row[name]) for name in names}) for row in rows)

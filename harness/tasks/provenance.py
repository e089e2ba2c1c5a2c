"""When and how the ratings of a task were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tasks.human_ratings import PROVENANCE
from harness.tasks.load import table_path
from harness.tasks.schema import TASK_FILE, read_task_file
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import as_text

if TYPE_CHECKING:
    from harness.tasks.model import Task


def read_provenance(task: Task) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the columns that `harness annotate` adds, by item, rater and elicitation.

    Ratings without any are left out.

    Raises
    ------
    TaskError
        If the ratings of the task's folder cannot be read.
    """
    path = table_path(task.folder, "ratings", read_task_file(task.folder / TASK_FILE).ratings)
    made = {}
    for _, row in read_rows(path) if path else ():
        if cells := {name: as_text(row[name]) for name in sorted(PROVENANCE) if row.get(name)}:
            elicitation = as_text(row.get("elicitation") or "forced_choice")
            made[as_text(row["item"]), as_text(row["rater"]), elicitation] = cells
    return made

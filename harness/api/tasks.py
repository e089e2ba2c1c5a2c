"""Tasks, from folders and from tables in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.table_tasks import read_task

if TYPE_CHECKING:
    from harness.table_tasks import TableMapping, TaskLike
    from harness.tasks import Task


def load_task(task: TaskLike, *, mapping: TableMapping | None = None) -> Task:
    """Load a task, and check everything in it.

    Parameters
    ----------
    task : str, Path, list of dict, or DataFrame
        Name or path of a task folder, or a table of ratings.
    mapping : dict, optional
        For a table: which column is what, see `TableMapping`.

    Raises
    ------
    TaskError
        If there is no such task, or something in it is wrong.

    Examples
    --------
    >>> task = harness.load_task("toxicity")
    >>> len(task.items), [option.key for option in task.options]
    (120, ['A', 'B'])
    """
    return read_task(task, mapping)[0]

"""A task folder read into one checked, frozen value: options, items and human ratings."""

from harness.task.files import TaskFile, task_schema
from harness.task.folder import (
    available_tasks,
    bundled,
    describe,
    find_task,
    load_task,
    search_path,
    write_task,
)
from harness.task.model import CANNOT_ASSESS, Item, Lexicon, Option, Rating, Task

__all__ = [
    "CANNOT_ASSESS",
    "Item",
    "Lexicon",
    "Option",
    "Rating",
    "Task",
    "TaskFile",
    "available_tasks",
    "bundled",
    "describe",
    "find_task",
    "load_task",
    "search_path",
    "task_schema",
    "write_task",
]

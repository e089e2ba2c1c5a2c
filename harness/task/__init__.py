"""A task folder read into one checked, frozen value: options, items and human ratings."""

from harness.task.alt_test import AltTestFields
from harness.task.files import TaskFile, task_schema
from harness.task.folder import available_tasks, bundled, describe, find_task, search_path
from harness.task.load import load_task
from harness.task.model import Item, Rating, Task
from harness.task.options import CANNOT_ASSESS, Lexicon, Option
from harness.task.write import write_task

__all__ = [
    "CANNOT_ASSESS",
    "AltTestFields",
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

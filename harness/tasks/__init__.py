"""Task folders and their content: options, items and human ratings."""

from harness.tasks.changelog import CHANGELOG, Change, read_changes, record_change
from harness.tasks.folders import available_tasks, bundled, describe, find_task
from harness.tasks.item import Item, Rating
from harness.tasks.load import load_task
from harness.tasks.model import Task
from harness.tasks.options import CANNOT_ASSESS, Lexicon, Option, Wording
from harness.tasks.schema import AltTestFields, TaskFile, TemplateName, task_schema
from harness.tasks.write import write_task

__all__ = [
    "CANNOT_ASSESS",
    "CHANGELOG",
    "AltTestFields",
    "Change",
    "Item",
    "Lexicon",
    "Option",
    "Rating",
    "Task",
    "TaskFile",
    "TemplateName",
    "Wording",
    "available_tasks",
    "bundled",
    "describe",
    "find_task",
    "load_task",
    "read_changes",
    "record_change",
    "task_schema",
    "write_task",
]

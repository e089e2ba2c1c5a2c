"""New task folders: a commented example that runs at once, or one made from a table."""

from harness.task.make.answers import SCALES, Answers, Wanted
from harness.task.make.convert import Made, Rejected, check_new, make_task
from harness.task.make.mapping import Mapping
from harness.task.make.plan import Plan, make_plan
from harness.task.make.profile import Column, Table, profile
from harness.task.make.starter import write_starter

__all__ = [
    "SCALES",
    "Answers",
    "Column",
    "Made",
    "Mapping",
    "Plan",
    "Rejected",
    "Table",
    "Wanted",
    "check_new",
    "make_plan",
    "make_task",
    "profile",
    "write_starter",
]

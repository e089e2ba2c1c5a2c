"""New task folders: a commented example that runs at once, or one made from a table."""

from harness.curation.column_mapping import Mapping
from harness.curation.column_profile import Column, Table, profile
from harness.curation.convert import Made, Rejected, check_new, make_task
from harness.curation.import_plan import Plan, make_plan
from harness.curation.option_guess import SCALES, Answers, Wanted
from harness.curation.starter import write_starter

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

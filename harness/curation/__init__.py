"""New task folders: a commented example, or a task made from a table."""

from harness.curation.column_mapping import ColumnMapping
from harness.curation.column_profile import Column, Table, profile
from harness.curation.convert import ImportSummary, Rejected, check_new, make_task
from harness.curation.import_plan import Plan, make_plan
from harness.curation.option_guess import SCALES, Answers, AnswerSettings
from harness.curation.starter import write_starter

__all__ = [
    "SCALES",
    "AnswerSettings",
    "Answers",
    "Column",
    "ColumnMapping",
    "ImportSummary",
    "Plan",
    "Rejected",
    "Table",
    "check_new",
    "make_plan",
    "make_task",
    "profile",
    "write_starter",
]

"""New task folders: a commented example, or tasks made from a table."""

from harness.curation.convert import (
    ImportSummary,
    MaxRejected,
    Rejected,
    make_task,
)
from harness.curation.import_plan import Plan, make_plans
from harness.curation.new_folder import check_new, write_starter
from harness.curation.option_guess import SCALES, Answers, AnswerSettings
from harness.curation.source_formats import read_source
from harness.tasks.columns.column_mapping import LAYOUTS, ColumnMapping
from harness.tasks.columns.table_columns import Column, Table

__all__ = [
    "LAYOUTS",
    "SCALES",
    "AnswerSettings",
    "Answers",
    "Column",
    "ColumnMapping",
    "ImportSummary",
    "MaxRejected",
    "Plan",
    "Rejected",
    "Table",
    "check_new",
    "make_plans",
    "make_task",
    "read_source",
    "write_starter",
]

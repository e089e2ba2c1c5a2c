"""New task folders: a commented example, or tasks made from a table."""

from harness.curation.convert import (
    ImportSummary,
    MaxRejected,
    make_task,
)
from harness.curation.import_draft import accepting, columns_block
from harness.curation.import_options import FileOptions
from harness.curation.import_plan import ImportPlan, make_plans
from harness.curation.new_folder import check_new, write_starter
from harness.curation.option_guess import guess_labels
from harness.curation.source_formats import read_records, read_source
from harness.tasks.columns.column_mapping import LAYOUTS
from harness.tasks.columns.table_answers import AnswerSettings
from harness.tasks.columns.table_columns import Table

__all__ = [
    "LAYOUTS",
    "AnswerSettings",
    "FileOptions",
    "ImportPlan",
    "ImportSummary",
    "MaxRejected",
    "Table",
    "accepting",
    "check_new",
    "columns_block",
    "guess_labels",
    "make_plans",
    "make_task",
    "read_records",
    "read_source",
    "write_starter",
]

"""New task folders: a commented example, or tasks made from a table."""

from harness.curation.convert import (
    ImportSummary,
    MaxRejected,
    make_task,
)
from harness.curation.import_draft import readings_of
from harness.curation.import_options import FileOptions
from harness.curation.import_plan import ImportPlan, make_plans
from harness.curation.importing.readings import tried_readings
from harness.curation.new_folder import check_new, write_starter
from harness.curation.option_guess import guess_labels
from harness.curation.role_draft import names_of
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
    "check_new",
    "guess_labels",
    "make_plans",
    "make_task",
    "names_of",
    "read_records",
    "read_source",
    "readings_of",
    "tried_readings",
    "write_starter",
]

"""Creating a task folder from a table, or a commented example of a task folder."""

from harness.curation.importing.convert import (
    ImportSummary,
    MaxRejected,
    make_task,
)
from harness.curation.importing.import_draft import readings_of, settled, short_words
from harness.curation.importing.import_options import FileOptions
from harness.curation.importing.import_plan import ImportPlan, make_plans
from harness.curation.importing.new_folder import check_new, write_starter
from harness.curation.importing.option_guess import guess_labels
from harness.curation.importing.readings import tried_readings
from harness.curation.importing.role_draft import names_of
from harness.curation.importing.source_formats import read_records, read_source
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
    "settled",
    "short_words",
    "tried_readings",
    "write_starter",
]

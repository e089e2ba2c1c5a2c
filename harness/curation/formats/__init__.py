"""Readers for other tools' formats, which are recognised by characteristic fields.

A reader is a `harness.tasks.columns.formats.Format` in `FORMATS`. It tests for the characteristic
fields and converts the content to rows of ratings. No core module imports this package.
"""

from harness.curation.formats.annotation_tools import (
    ALT_TEST,
    ARGILLA,
    ARGILLA_TABLE,
    JUDGE_BENCH,
    LABEL_STUDIO,
)
from harness.curation.formats.crowd_platforms import MTURK, QUALTRICS, TOLOKA
from harness.curation.formats.form_answers import FORM
from harness.curation.formats.preference_data import ARENA, HELPSTEER, ULTRAFEEDBACK
from harness.curation.formats.text_labellers import DOCCANO, PRODIGY
from harness.curation.formats.trace_platforms import LANGFUSE, MLFLOW

FORMATS = (
    LANGFUSE,
    MLFLOW,
    LABEL_STUDIO,
    ARGILLA,
    ARGILLA_TABLE,
    PRODIGY,
    DOCCANO,
    TOLOKA,
    MTURK,
    QUALTRICS,
    HELPSTEER,
    ULTRAFEEDBACK,
    ARENA,
    JUDGE_BENCH,
    ALT_TEST,
    FORM,
)

__all__ = ["FORMATS"]

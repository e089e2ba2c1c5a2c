"""Formats of other tools, recognised by their own marks.

A reader is a `harness.tasks.tables.formats.Format` in `FORMATS`: a test for the marks, and a
function from the content to rows of ratings. No core module imports this package.
"""

from harness.interop.annotation_tools import (
    ALT_TEST,
    ARGILLA,
    ARGILLA_TABLE,
    JUDGE_BENCH,
    LABEL_STUDIO,
)
from harness.interop.crowd_platforms import MTURK, QUALTRICS, TOLOKA
from harness.interop.form_answers import FORM
from harness.interop.preference_data import ARENA, HELPSTEER, ULTRAFEEDBACK
from harness.interop.text_labellers import DOCCANO, PRODIGY

FORMATS = (
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

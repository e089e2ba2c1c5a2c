"""From a validation to words, tables, charts and one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.details import details_of, disputed
from harness.report.files import all_charts, ranking_csv, write_charts, write_pages
from harness.report.page import page
from harness.report.paper import judge_card
from harness.report.text import render
from harness.report.words import decision

if TYPE_CHECKING:
    from harness.runs import RunFolder
    from harness.validate import Source, Validation

__all__ = [
    "all_charts",
    "decision",
    "details_of",
    "judge_card",
    "page",
    "ranking_csv",
    "render",
    "write_charts",
    "write_report",
]


def write_report(folder: RunFolder, validation: Validation, source: Source) -> None:
    """Write ``metrics.json``, the page, the ranking and the judge card into a run folder.

    Raises
    ------
    RunError
        If one of them cannot be written; the others stay as they were.
    """
    folder.write("metrics.json", validation.model_dump_json(indent=1) + "\n")
    write_pages(folder, validation, details_of(source, folder, disputed=disputed(validation)))

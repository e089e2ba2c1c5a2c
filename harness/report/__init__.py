"""Render a validation as text, tables, charts and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis import Validation
from harness.report.chart_files import all_charts, write_charts
from harness.report.export import ranking_csv, write_pages
from harness.report.html.details import details_of
from harness.report.html.page import page
from harness.report.judge_card import judge_card
from harness.report.notebook import notebook_table
from harness.report.recommendation import decision
from harness.report.text import render

if TYPE_CHECKING:
    from harness.analysis import Source
    from harness.runs.run_folder import RunFolder

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

Validation.as_html = staticmethod(notebook_table)


def write_report(folder: RunFolder, validation: Validation, source: Source) -> None:
    """Write ``metrics.json``, the page, the ranking and the judge card into a run folder.

    Raises
    ------
    RunError
        If one of them cannot be written; the others stay as they were.
    """
    folder.write_metrics(validation.to_json() + "\n")
    details = details_of(source, folder, certainty=validation.certainty)
    write_pages(folder, validation, details)

"""Render a validation as text, tables, charts and a page."""

from __future__ import annotations

from harness.analysis import Validation
from harness.report.chart_files import all_charts, write_charts
from harness.report.export import ranking_csv
from harness.report.html.details import details_of
from harness.report.html.page import page
from harness.report.judge_card import judge_card
from harness.report.notebook import notebook_table
from harness.report.recommendation import decision
from harness.report.text import render

__all__ = [
    "all_charts",
    "decision",
    "details_of",
    "judge_card",
    "page",
    "ranking_csv",
    "render",
    "write_charts",
]

Validation.as_html = staticmethod(notebook_table)

"""From a validation to words, tables and one page."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from harness.report.details import details_of
from harness.report.page import page
from harness.report.text import render
from harness.report.words import decision

if TYPE_CHECKING:
    from harness.runs import RunFolder
    from harness.validate import Source, Validation

__all__ = ["decision", "details_of", "page", "ranking_csv", "render", "write_report"]

COLUMNS = (
    *("rank", "judge", "baseline", "metric", "value", "low", "high", "level", "n_used"),
    *("n_excluded", "answered_fraction", "worse_by", "worse_low", "worse_high", "reason"),
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_report(folder: RunFolder, validation: Validation, source: Source | None = None) -> None:
    """Write ``metrics.json``, ``ranking.csv`` and ``report.html`` into a run folder.

    Raises
    ------
    RunError
        If one of them cannot be written; the others stay as they were.
    """
    folder.write("metrics.json", validation.model_dump_json(indent=1) + "\n")
    folder.write("ranking.csv", ranking_csv(validation))
    folder.write("report.html", page(validation, details_of(source, folder) if source else None))


def ranking_csv(validation: Validation) -> str:
    """Write the ranking as CSV; empty cells are NA, and ``reason`` says why."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    ranking = validation.ranking
    for row in ranking.rows if ranking else ():
        assert ranking is not None
        judge = validation.judge(row.judge)
        one = judge.metrics[ranking.metric]
        worse = row.difference
        writer.writerow(
            {
                "rank": row.rank,
                "judge": _inert(row.judge),
                "baseline": row.baseline,
                "metric": ranking.metric,
                "value": one.value,
                "low": one.interval and one.interval.low,
                "high": one.interval and one.interval.high,
                "level": one.interval and one.interval.level,
                "n_used": one.n_used,
                "n_excluded": one.n_excluded,
                "answered_fraction": judge.answered_fraction,
                "worse_by": worse and worse.value,
                "worse_low": worse and worse.interval and worse.interval.low,
                "worse_high": worse and worse.interval and worse.interval.high,
                "reason": one.reason,
            }
        )
    return out.getvalue()


def _inert(text: str) -> str:
    """Keep a spreadsheet from running a name as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text

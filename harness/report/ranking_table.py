"""The ranking as a table: the columns of `COLUMNS` that have something to say, row by row."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from harness.report import ranking_columns
from harness.report.ranking_rows import RankingRow, ranking_rows

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.report.ranking_columns import RankingColumn, RankingView, Raw

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class RankingTable:
    """The ranking as a view draws it.

    Attributes
    ----------
    columns : list of RankingColumn
        From left to right.
    heads : list of str
        One for each column.
    rows : list of RankingRow
        From top to bottom.
    cells : list of list of str
        By row, then column.
    """

    columns: list[RankingColumn]
    heads: list[str]
    rows: list[RankingRow]
    cells: list[list[str]]


def ranking_table(v: Validation, view: RankingView) -> RankingTable:
    """Return the ranking as a view draws it, without columns that have nothing to say."""
    rows = [row for row in ranking_rows(v) if _is_drawn(row, view)]
    drawn = [
        (column, cells)
        for column in ranking_columns.COLUMNS
        if view in column.views
        for cells in [[column.cell_of(v, row) for row in rows]]
        if not {cell.short for cell in cells} <= column.empty
    ]
    return RankingTable(
        columns=[column for column, _ in drawn],
        heads=[column.head_in(v, view) for column, _ in drawn],
        rows=rows,
        cells=[[cells[i].text(view) for _, cells in drawn] for i in range(len(rows))],
    )


def _is_drawn(row: RankingRow, view: RankingView) -> bool:
    """Whether a row is in a view: judges in all, an undefined baseline on the page alone."""
    return row.judge is not None or (view != "card" and (row.is_defined or view == "page"))


def ranking_csv(v: Validation) -> str:
    """Return the judges of the ranking as CSV; empty cells are NA, and ``reason`` says why.

    ``humans`` says where the raters' response sets come from: rated, reconstructed, modelled or
    assumed.
    """
    columns = [column for column in ranking_columns.COLUMNS if "csv" in column.views]
    raw = {name: value_of for column in columns for name, value_of in column.raw.items()}
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(raw)
    writer.writerows(
        [_escape_formula(value_of(v, row.judge)) for value_of in raw.values()]
        for row in ranking_rows(v)
        if row.judge is not None
    )
    return out.getvalue()


def _escape_formula(value: Raw) -> Raw:
    """Keep a spreadsheet from running a text as a formula."""
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value

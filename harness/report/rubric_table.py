"""The criteria of a rubric and their aggregates as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import estimate, number, percent

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.rubric import RubricResult, RubricRow

LEVELS = {
    "micro": "all decisions pooled (micro)",
    "macro": "mean over criteria (macro)",
    "item": "one verdict per item",
}


def rubric_title(rubric: RubricResult) -> str:
    """Say what the table holds, and when an item is met."""
    share = "all criteria are met"
    if rubric.threshold < 1.0:
        share = f"the criteria met hold at least {rubric.threshold:.0%} of the weight"
    return f"Kappa with most raters, by criterion. An item is met where {share}."


def rubric_heads(v: Validation) -> list[str]:
    """Return the heads of the columns: a column of kappa per judge, the best first."""
    return ["criterion", "weight", "rated", "met", *_judges(v)]


def rubric_rows(v: Validation, *, intervals: bool) -> list[list[str]]:
    """Return a row per criterion and level, kappa with or without its intervals."""
    assert v.rubric is not None
    judges = _judges(v)
    return [[*_row(row), *_kappas(row, judges, intervals=intervals)] for row in v.rubric.rows]


def _judges(v: Validation) -> list[str]:
    return [row.judge for row in v.ranking.rows] if v.ranking else []


def _row(row: RubricRow) -> list[str]:
    weight = "" if row.weight is None else f"{row.weight:g}"
    met = "" if row.met is None else percent(row.met)
    return [row.name or LEVELS[row.level], weight, str(row.n), met]


def _kappas(row: RubricRow, judges: list[str], *, intervals: bool) -> list[str]:
    if intervals:
        return [estimate(row.kappa[judge], 2) for judge in judges]
    return [number(row.kappa[judge].value, 2) for judge in judges]


def rubric_table(v: Validation) -> tuple[str, list[str], list[list[str]]] | None:
    """Return title, heads and rows with intervals; None without a rubric."""
    if v.rubric is None:
        return None
    return rubric_title(v.rubric), rubric_heads(v), rubric_rows(v, intervals=True)

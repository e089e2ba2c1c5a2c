"""Show the ranking as a table in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.formatting import compared_on
from harness.report.ranking_columns import ranking_table
from harness.report.ranking_rows import agreement_table, missing_intervals
from harness.report.recommendation import summary
from harness.report.verdict_words import human_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import Validation


def notebook_table(v: Validation) -> str:
    """Return the verdict and the ranking as HTML. Without judges, show agreement among raters.

    If judges are compared on several replies, a sentence below the table describes a human rater.
    Names from tasks and judges are escaped.
    """
    table = ranking_table(v, "notebook")
    heads, rows = agreement_table(v) if v.evidence is None else (table.heads, table.cells)
    caption = f"{summary(v)[0]} " if v.evidence or v.race else ""
    caption += f"{v.task.name}: {counted([v.task.n_items])}"
    caption += f", {footing}" if (footing := compared_on(v)) else ""
    caption += f". {missing}" if (missing := missing_intervals(v)) else ""
    caption += f" ({v.task.notice})" if v.task.notice else ""
    pair = f"<p>{escape(sentence)}</p>" if (sentence := human_pair(v)) else ""
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{_row('th', heads)}</thead>"
        f"<tbody>{''.join(_row('td', cells) for cells in rows)}</tbody></table>{pair}"
    )


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

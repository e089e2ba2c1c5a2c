"""HTML page with a self-test's result, and its section in a run's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.serialize import from_json
from harness.extras.experiments.self_test_text import (
    HEADS,
    SHARE_HEADS,
    judge_heads,
    judge_rows,
    last_lines,
    lead,
    share_line,
    shown_shares,
)
from harness.files.plain_text import counted
from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.html.rendering import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.extras.experiments.self_test import ClaimKind, Selftest, Share
    from harness.report.charts import Chart
    from harness.report.html.details import SelftestSection

REFERENCE: dict[ClaimKind, float] = {"size": 0.05, "coverage": 0.95}
NOTES: dict[ClaimKind, str] = {
    "choice": "Shares of the simulated data sets, with exact binomial intervals.",
    "power": "A larger data set, or a larger difference, raises the power.",
    "size": (
        "The line is at 5 %. An interval entirely above the line shows a claim that is made too "
        "often."
    ),
    "coverage": (
        "The line is at 95 %. An interval entirely below the line shows intervals that are too "
        "narrow."
    ),
}


def selftest_page(result: Selftest) -> str:
    """Render a self-test as a page with tables and a chart for each kind of share."""
    parts = _parts(result)
    return render(
        "figures.html.jinja",
        {
            "eyebrow": "self-test",
            "lead": [*lead(result), *last_lines(result)],
            "parts": parts,
        },
        block={"grid": None, "items": None},
        title=f"Self-test on the design of {result.task}",
        sections=[(str(part["id"]), str(part["head"])) for part in parts],
    )


def selftest_section(text: bytes) -> SelftestSection:
    """Return the section of a run's report that shows a self-test.

    Parameters
    ----------
    text : bytes
        JSON of a `Selftest`.

    Raises
    ------
    ValueError
        If the text is not a self-test.
    """
    from harness.extras.experiments.self_test import Selftest  # noqa: PLC0415 -- starts the analysis

    result = from_json(text, Selftest)
    return {"lead": [*lead(result), *last_lines(result)], "parts": _parts(result)}


def _parts(result: Selftest) -> list[dict[str, object]]:
    """Return the parts of the page: planted judges, then tables and charts of the shares."""
    planted: dict[str, object] = {
        "id": "planted",
        "head": "Planted judges",
        "note": "",
        "tables": [("Planted judges", judge_heads(result), judge_rows(result))],
        "charts": (),
    }
    parts = [planted]
    for kind, head in HEADS.items():
        rows = shown_shares(result, kind)
        if rows:
            table = (head, SHARE_HEADS, list(map(share_line, rows)))
            charts = [_chart(kind, head, rows)] if any(row.n for row in rows) else []
            part = {"id": kind, "head": head, "note": NOTES[kind]}
            parts.append(part | {"tables": [table], "charts": charts})
    return parts


def _chart(kind: ClaimKind, head: str, rows: Sequence[Share]) -> Chart:
    several = len({row.world for row in rows}) > 1
    drawn = [
        IntervalRow(
            f"{row.name} ({row.world})" if several else row.name,
            row.share,
            low=row.interval.low if row.interval else None,
            high=row.interval.high if row.interval else None,
            reason=row.reason,
        )
        for row in rows
    ]
    titles = Titles(
        f"shares-{kind}",
        head,
        f"{head}. {'; '.join(row.description for row in drawn)}.",
        x=f"share of {counted([max(row.n for row in rows)], 'data set')}",
    )
    return interval_chart(
        titles,
        drawn,
        within=(0.0, 1.0),
        reference=REFERENCE.get(kind),
        reach=(1.0,) if kind == "coverage" else (0.0,),
    )

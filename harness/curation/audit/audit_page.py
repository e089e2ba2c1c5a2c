"""An audit as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.curation.audit.audit_text import (
    MOST_RATERS,
    TITLES,
    compared_raters,
    counts_of,
    decision_words,
    left_lines,
    places_of,
    remark_of,
)
from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import number
from harness.report.html.page import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.curation.audit.finding import Audit, Finding, RaterFacts
    from harness.report.charts import Chart

SHOWN = 200  # ids of a finding
SECTIONS = (("summary", "Summary"), ("findings", "Findings"), ("raters", "Raters"))


def audit_page(audit: Audit) -> str:
    """Render an audit as a page; texts of items do not stand in it."""
    compared = compared_raters(audit.raters)
    sections = (*SECTIONS, ("version", "Repaired version")) if audit.version else SECTIONS
    n = len(audit.findings)
    return render(
        "audit.html.jinja",
        {
            "audit": audit,
            "counts": counts_of(audit),
            "headline": f"{n} finding{'' if n == 1 else 's'}" if n else "No findings",
            "summary": list(_summary(audit)),
            "findings": [_row(finding) for finding in audit.findings],
            "chart": _chart(compared) if compared else None,
            "raters": [(fact, remark_of(fact)) for fact in compared],
            "left": left_lines(audit.version) if audit.version else [],
        },
        block={"grid": None, "items": None},
        title=f"Audit of {audit.task}",
        sections=sections,
    )


def _summary(audit: Audit) -> Iterator[str]:
    if audit.decision is None:
        yield "What the findings do to the decision was not measured: no verdicts (--verdicts)."
        return
    changing = sum(bool(f.effect and f.effect.changes_decision) for f in audit.findings)
    yield f"Decision with everything: {decision_words(audit.decision, audit.judge)}."
    verb = "changes" if changing == 1 else "change"
    yield f"{changing} of them {verb} the decision when left out, each on its own."
    yield f"Verdicts: {audit.verdicts}."


def _row(finding: Finding) -> dict[str, Any]:
    effect = finding.effect
    decision, change = "not measured", ""
    if effect is not None:
        words = decision_words(effect.verdict, effect.judge)
        decision = words if effect.changes_decision else f"same ({words})"
        change = "NA" if effect.largest_change is None else number(effect.largest_change)
    return {
        "finding": finding,
        "title": TITLES[finding.kind],
        "what": f"{finding.what[0].upper()}{finding.what[1:]}.",
        "decision": decision,
        "change": change,
        "places": [
            (noun.capitalize(), ids[:SHOWN], max(len(ids) - SHOWN, 0))
            for noun, ids in places_of(finding)
        ],
    }


def _chart(raters: Sequence[RaterFacts]) -> Chart:
    """Draw the agreement of the raters who agree least, compared with what is expected."""
    rows = [
        row
        for fact in raters[:MOST_RATERS]
        for row in (
            IntervalRow(fact.rater, fact.agreement, fact.low, fact.high, "rater", line=fact.rater),
            IntervalRow(f"{fact.rater}, expected", fact.expected, kind="baseline", line=fact.rater),
        )
    ]
    shown = f", the {MOST_RATERS} lowest of {len(raters)}" if len(raters) > MOST_RATERS else ""
    titles = Titles(
        "raters",
        f"Agreement with the other raters{shown}",
        f"{'; '.join(row.description for row in rows)}.",
        x="agreement; grey: expected",
    )
    return interval_chart(titles, rows, within=(0.0, 1.0))

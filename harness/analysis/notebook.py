"""HTML table of a validation for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.evidence import Evidence, JudgeEvidence
    from harness.analysis.result import Validation
    from harness.stats import Estimate


def table(validation: Validation) -> str:
    """Return the ranking as HTML; without judges, the inter-rater agreement.

    Names come from tasks and judges and are escaped. `harness.report.html.page` renders the report.
    """
    evidence = validation.evidence
    rows = _agreement(validation) if evidence is None else _ranks(validation, evidence)
    caption = f"{validation.task.name}: {validation.task.n_items} items"
    caption += f" ({validation.task.notice})" if validation.task.notice else ""
    head, *body = rows
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{_row('th', head)}</thead>"
        f"<tbody>{''.join(_row('td', cells) for cells in body)}</tbody></table>"
    )


def _ranks(validation: Validation, evidence: Evidence) -> list[Sequence[str]]:
    places = {row.judge: row.rank for row in validation.ranking.rows} if validation.ranking else {}
    rows: list[Sequence[str]] = [("", "judge", evidence.display_name, "items", "answered")]
    for row in evidence.judges:
        answered, own = row.answered_fraction, validation.judge(row.judge).metrics[evidence.metric]
        n_items = evidence.n_items if row.ranked else own.n_used
        rows.append(
            (
                str(places[row.judge] or ""),
                row.judge,
                _with_ends(row) if row.ranked and row.value is not None else _number(own),
                str(n_items),
                "NA" if answered is None else f"{answered:.1%} of {evidence.n_rated}",
            )
        )
    return rows


def _with_ends(row: JudgeEvidence) -> str:
    if row.low is None or row.high is None:
        return f"{row.value:.3f}"
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _agreement(validation: Validation) -> list[Sequence[str]]:
    agreement = validation.humans.agreement.items()
    return [
        ("inter-rater agreement", "value", "items"),
        *((name, _number(result), str(result.n_used)) for name, result in agreement),
    ]


def _number(result: Estimate) -> str:
    if result.value is None:
        return f"NA ({result.reason.replace('_', ' ')})"
    interval = result.interval
    span = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
    return f"{result.value:.3f}{span}"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

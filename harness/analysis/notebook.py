"""HTML table of a validation for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.result import Ranking, Validation
    from harness.stats import Estimate


def table(validation: Validation) -> str:
    """Return the ranking as HTML; without judges, the inter-rater agreement.

    Names come from tasks and judges and are escaped. `harness.report.html.page` renders the report.
    """
    ranking = validation.ranking
    rows = _agreement(validation) if ranking is None else _ranks(validation, ranking)
    caption = f"{validation.task.name}: {validation.task.n_items} items"
    caption += f" ({validation.task.notice})" if validation.task.notice else ""
    head, *body = rows
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead>{_row('th', head)}</thead>"
        f"<tbody>{''.join(_row('td', cells) for cells in body)}</tbody></table>"
    )


def _ranks(validation: Validation, ranking: Ranking) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("", "judge", ranking.metric, "items", "answered")]
    for row in ranking.rows:
        judge = validation.judge(row.judge)
        result = judge.metrics[ranking.metric]
        answered = judge.answered_fraction
        rows.append(
            (
                str(row.rank or ""),
                row.judge,
                _number(result),
                str(result.n_used),
                "NA" if answered is None else f"{answered:.1%} of {judge.n_planned}",
            )
        )
    return rows


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

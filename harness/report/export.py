"""Export of a report: tables for other programs, and each chart as SVG and PNG."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from harness.report.formatting import COMPLETENESS, completeness
from harness.report.html.details import details_of
from harness.report.html.page import page
from harness.report.judge_card import judge_card
from harness.report.ranking_table import ranking_csv

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from harness.analysis import Source, Validation
    from harness.report.html.details import Details
    from harness.runs.run_folder import RunFolder
    from harness.stats import Estimate

INTERVAL_COLUMNS = ("low", "high", "level", "method", "unit", "estimand")


def metric_table(v: Validation) -> list[dict[str, object]]:
    """Return a row for each judge and metric, and for each agreement among the raters."""
    return [row | {"humans": v.humans.sets.origin} for row in _metric_rows(v)]


def _metric_rows(v: Validation) -> list[dict[str, object]]:
    rows = [
        _metric_row(judge.name, name, estimate) | {"family": metric.family if metric else ""}
        for judge in v.judges
        for name, estimate in judge.metrics.items()
        for metric in [v.metric(name)]
    ]
    rows += [
        _metric_row(judge.name, name, completeness(v, judge.name, name))
        | {"family": "completeness"}
        for judge in v.judges
        for name in COMPLETENESS
    ]
    return rows + [
        _metric_row("raters", name, estimate) | {"family": "raters"}
        for name, estimate in v.humans.agreement.items()
    ]


def _metric_row(judge: str, metric: str, estimate: Estimate) -> dict[str, object]:
    interval = estimate.interval
    return {
        "judge": judge,
        "metric": metric,
        "value": estimate.value,
        "reason": estimate.reason,
        **{name: getattr(interval, name) if interval else None for name in INTERVAL_COLUMNS},
        "n_used": estimate.n_used,
        "n_replies": estimate.n_replies,
        "n_excluded": estimate.n_excluded,
        "excluded": "; ".join(f"{e.reason} {e.n_items}" for e in estimate.excluded),
        "n_tied": estimate.n_tied,
        "undefined_share": estimate.undefined_share,
        "ratings_per_item": estimate.ratings_per_item,
    }


def write_report(folder: RunFolder, v: Validation, source: Source) -> None:
    """Write ``metrics.json``, the page, the ranking and the judge card into a run folder.

    Raises
    ------
    RunError
        If one of them cannot be written; the others stay as they were.
    """
    folder.write_metrics(v.to_json() + "\n")
    write_pages(folder, v, details_of(source, folder, certainty=v.certainty))


def write_pages(folder: RunFolder, v: Validation, details: Details) -> tuple[Path, ...]:
    """Write the page, the ranking and the judge card into a run folder."""
    return (
        folder.write("report.html", page(v, details)),
        folder.write("ranking.csv", ranking_csv(v)),
        folder.write("judge-card.md", judge_card(v, details)),
    )


def arrow_table(v: Validation) -> pa.Table:
    """Return every metric of every judge, a row each; NA is null, and ``reason`` says why."""
    import pyarrow as pa  # noqa: PLC0415 -- takes 50 ms

    texts = (
        "judge",
        "metric",
        "family",
        "reason",
        "method",
        "unit",
        "estimand",
        "excluded",
        "humans",
    )
    types = dict.fromkeys(texts, pa.string())
    types |= dict.fromkeys(("n_used", "n_excluded", "n_tied"), pa.int64())
    rows = metric_table(v)
    names = rows[0].keys() if rows else types.keys()
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in names])
    return pa.Table.from_pylist(rows, schema=schema)


def parquet_of(v: Validation) -> bytes:
    """Return `arrow_table` as a Parquet file."""
    from pyarrow import parquet  # noqa: PLC0415 -- only for this file

    file = BytesIO()
    parquet.write_table(arrow_table(v), file)
    return file.getvalue()

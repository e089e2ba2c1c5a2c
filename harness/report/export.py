"""Write a report's tables in formats for other programs."""

from __future__ import annotations

import csv
from io import BytesIO, StringIO
from typing import TYPE_CHECKING

from harness.report import ranking_columns
from harness.report.formatting import COMPLETENESS, completeness
from harness.report.html.page import page
from harness.report.judge_card import judge_card
from harness.report.ranking_rows import ranking_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from harness.analysis import Validation
    from harness.report.html.details import Details
    from harness.report.ranking_columns import Raw
    from harness.stats import Estimate

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
INTERVAL_COLUMNS = ("low", "high", "level", "method", "unit", "estimand")


def ranking_csv(v: Validation) -> str:
    """Return the ranking of judges as CSV. An empty cell is NA, with the reason in ``reason``.

    ``humans`` is the origin of the raters' response sets: rated, reconstructed, modelled or
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
    """Escape a text so that spreadsheets do not run it as a formula."""
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def metric_table(v: Validation) -> list[dict[str, object]]:
    """Return a row for each judge and metric, and for each agreement coefficient of the raters."""
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


PAGES: dict[str, Callable[[Validation, Details], str]] = {  # tables by their file in a run folder
    "report.html": page,
    "ranking.csv": lambda v, _: ranking_csv(v),
    "judge-card.md": judge_card,
}


def arrow_table(v: Validation) -> pa.Table:
    """Return `metric_table` as an Arrow table. NA is null, with the reason in ``reason``."""
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
    """Write `arrow_table` as a Parquet file and return the file's bytes."""
    from pyarrow import parquet  # noqa: PLC0415 -- only for this file

    file = BytesIO()
    parquet.write_table(arrow_table(v), file)
    return file.getvalue()

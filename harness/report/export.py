"""What a report gives away as files: tables for other programs, and each chart as SVG and PNG."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.report import (
    annotator_charts,
    certainty_charts,
    confusion_charts,
    judge_charts,
    sensitivity_charts,
)
from harness.report.html.page import drawing, page
from harness.report.judge_card import judge_card

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Validation
    from harness.report.html.details import Details
    from harness.report.svg import Chart
    from harness.runs import RunFolder
    from harness.stats.inference.estimate import Estimate

RANKING_COLUMNS = (
    *("rank", "judge", "baseline", "metric", "value", "low", "high", "level", "n_used"),
    *("n_excluded", "answered_fraction", "n_planned"),
    *("worse_by", "worse_low", "worse_high", "reason"),
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
PNG_SCALE = 2.0
NO_FONT = "no font was found on this machine, so PNG files would lack every word"
WORD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    '<text x="2" y="16" font-family="sans-serif" font-size="16">{}</text></svg>'
)


def ranking_csv(v: Validation) -> str:
    """Write the ranking as CSV; empty cells are NA, and ``reason`` says why."""
    out = StringIO()
    writer = csv.DictWriter(out, RANKING_COLUMNS, lineterminator="\n")
    writer.writeheader()
    ranking = v.ranking
    for row in ranking.rows if ranking else ():
        assert ranking is not None
        judge = v.judge(row.judge)
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
                "n_planned": judge.n_planned,
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


def metric_rows(v: Validation) -> list[dict[str, object]]:
    """Return one row for each judge and metric, and for each agreement among the raters."""
    family = {facts.name: facts.family for facts in v.metrics}
    rows = [
        _metric_row(judge.name, metric, one)
        | {"family": family.get(metric, ""), "baseline": judge.baseline}
        for judge in v.judges
        for metric, one in judge.metrics.items()
    ]
    return rows + [
        _metric_row("raters", name, one) | {"family": "raters", "baseline": False}
        for name, one in v.humans.agreement.items()
    ]


def _metric_row(judge: str, metric: str, one: Estimate) -> dict[str, object]:
    interval = one.interval
    return {
        "judge": judge,
        "metric": metric,
        "value": one.value,
        "reason": one.reason,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "level": interval.level if interval else None,
        "method": interval.method if interval else None,
        "unit": interval.unit if interval else None,
        "estimand": interval.estimand if interval else None,
        "n_used": one.n_used,
        "n_excluded": one.n_excluded,
        "excluded": "; ".join(f"{e.reason} {e.n_items}" for e in one.excluded),
        "n_tied": one.n_tied,
        "undefined_share": one.undefined_share,
        "ratings_per_item": one.ratings_per_item,
    }


def write_pages(folder: RunFolder, v: Validation, d: Details) -> tuple[Path, ...]:
    """Write what people read into a run folder: the page, the ranking and the judge card.

    Raises
    ------
    RunError
        If one of them cannot be written; the others stay as they were.
    """
    return (
        folder.write("report.html", page(v, d)),
        folder.write("ranking.csv", ranking_csv(v)),
        folder.write("judge-card.md", judge_card(v, d)),
    )


def write_parquet(v: Validation, path: Path) -> None:
    """Write every metric of every judge as a Parquet file, a row each; NA is null.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    import pyarrow as pa  # noqa: PLC0415 -- only for this file
    from pyarrow import parquet  # noqa: PLC0415 -- only for this file

    texts = ("judge", "metric", "family", "reason", "method", "unit", "estimand", "excluded")
    kinds = dict.fromkeys(texts, pa.string())
    kinds |= dict.fromkeys(("n_used", "n_excluded", "n_tied"), pa.int64())
    kinds["baseline"] = pa.bool_()
    rows = metric_rows(v)
    names = rows[0].keys() if rows else kinds.keys()
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in names])
    try:
        parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or 'disk error'}).") from None


def all_charts(v: Validation, d: Details | None = None) -> list[Chart]:
    """Return every chart of the page, in its order."""
    charts = [judge_charts.ranking_chart(v)] if v.ranking else []
    for _, first, more in judge_charts.metric_charts(v):
        charts += [*first, *more]
    charts += [*sensitivity_charts.curve_charts(v), *sensitivity_charts.region_charts(v)]
    charts += [*sensitivity_charts.facet_charts(v), *sensitivity_charts.regret_charts(v)]
    charts += [
        *certainty_charts.flat(certainty_charts.strata_charts(v)),
        *certainty_charts.binned_charts(v),
    ]
    charts += [
        *certainty_charts.flat(certainty_charts.perception_charts(v)),
        *certainty_charts.risk_charts(v),
    ]
    charts += [*annotator_charts.charts(v), *annotator_charts.rater_charts(v)]
    charts += [*confusion_charts.confusion_charts(v), *confusion_charts.leniency_charts(v)]
    return [*charts, *judge_charts.translation_charts(v, d.sets if d else ())]


def write_charts(charts: list[Chart], folder: Path) -> str:
    """Write each chart as SVG and PNG.

    Returns
    -------
    str
        Why there are no PNG files; "" where there are.

    Raises
    ------
    RunError
        If a file cannot be written.
    """
    import resvg_py  # noqa: PLC0415 -- only for pictures

    blank, word = (resvg_py.svg_to_bytes(WORD.format(text)) for text in (" ", "M"))
    why = NO_FONT if blank == word else ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for chart in charts:
            svg = drawing(chart)
            (folder / f"{chart.name}.svg").write_text(svg, encoding="utf-8")
            if not why:
                png = resvg_py.svg_to_bytes(svg, zoom=PNG_SCALE)
                (folder / f"{chart.name}.png").write_bytes(png)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror}).") from None
    return why

"""The history of a run as a page: control charts, and the decision of each look."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from harness.report.charts import IntervalRow, Region, Series, Titles, interval_chart, line_chart
from harness.report.html.page import render
from harness.revalidation.history_text import baseline_lines, model_changes
from harness.revalidation.look_text import decision_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.report.charts import Chart
    from harness.revalidation.history import HistoryReading, StreamResult

SECTIONS = (("decision", "Verdicts"), ("charts", "Control charts"), ("looks", "Looks"))
N_DRAWN = 50  # looks whose metrics are drawn, the newest


def history_page(name: str, history: HistoryReading) -> str:
    """Render a history.

    Parameters
    ----------
    name : str
        Of the run.
    """
    streams = dict.fromkeys(
        (stream.judge, stream.elicitation) for b in history.baselines for stream in b.streams
    )
    charts = [_flip_chart(history, judge, elicitation) for judge, elicitation in streams]
    judges = dict.fromkeys(judge for judge, _ in streams)
    metric_charts = [chart for judge in judges for chart in _metric_charts(history, judge)]
    return render(
        "history.html.jinja",
        {
            "name": name,
            "baselines": list(baseline_lines(history)),
            "latest": history.looks[-1] if history.looks else None,
            "looks": history.looks,
            "decisions": [
                decision_sentence(look.decision, None) if look.decision else "no decision"
                for look in history.looks
            ],
            "charts": [*charts, *metric_charts],
        },
        block={"grid": None, "items": None},
        title=f"Looks at {name}",
        sections=SECTIONS,
    )


def _results(
    history: HistoryReading, judge: str, elicitation: str
) -> Iterator[tuple[int, StreamResult]]:
    for look in history.looks:
        result = look.result(judge, elicitation)
        if result is not None:
            yield look.number, result


def _flip_chart(history: HistoryReading, judge: str, elicitation: str) -> Chart:
    """Draw flip rate, own noise and p-value of a stream, and where the model changed."""
    results = list(_results(history, judge, elicitation))
    flips = tuple((float(look), r.flip_rate.value) for look, r in results)
    noise = tuple((float(look), r.retest_rate.value) for look, r in results)
    evidence = tuple((float(look), r.evidence.p_value) for look, r in results)
    regions = [
        Region((look - 0.3, look + 0.3), "j3", f"another model version or fingerprint: look {look}")
        for look in model_changes(history, judge)
    ]
    key = [Series("another model version", (), "j3")] if regions else []
    titles = Titles(
        _identifier("flips", judge, elicitation),
        f"{judge}, {elicitation}: flips and own noise",
        f"Share of replies that differ from the baseline's, by look, beside the judge's own noise "
        f"and the p-value of no change: {_described(results)}.",
        x="look",
        y="share",
    )
    lines = [
        Series("flip rate", flips, "j0"),
        Series("own noise", noise, "j1"),
        Series("p of no change", evidence, "j2"),
    ]
    return line_chart(titles, [*lines, *key], regions=regions, reach=(0.0, 1.0))


def _described(results: list[tuple[int, StreamResult]]) -> str:
    shares = [
        f"look {look} {'NA' if r.flip_rate.value is None else f'{r.flip_rate.value:.0%}'}"
        for look, r in results[-N_DRAWN:]
    ]
    return ", ".join(shares) or "no looks yet"


def _metric_charts(history: HistoryReading, judge: str) -> Iterator[Chart]:
    """Draw the paired difference of the metric that ranks, by look."""
    rows, metrics = [], set()
    for look in history.looks[-N_DRAWN:]:
        result = look.judge(judge)
        change = result.metrics.get(look.decision.metric) if result and look.decision else None
        if change is not None and look.decision is not None:
            metrics.add(look.decision.metric)
            rows.append(
                IntervalRow(
                    f"look {look.number}",
                    change.difference,
                    change.low,
                    change.high,
                    reason=change.reason,
                )
            )
    if rows:
        metric = " or ".join(sorted(metrics))
        titles = Titles(
            _identifier("metric", judge, ""),
            f"{judge}: {metric}, look less baseline",
            f"Paired differences on the same items: {'; '.join(row.description for row in rows)}.",
            x="difference",
        )
        yield interval_chart(titles, rows, within=(-inf, inf), reference=0.0)


def _identifier(*parts: str) -> str:
    text = "-".join(part for part in parts if part)
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)

"""Charts of the ranking and of every metric; order, style and labels of judges in all charts."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from harness.report.charts import IntervalRow, Scale, Titles, interval_chart, interval_ends
from harness.report.formatting import READING, counted, reason
from harness.report.metric_groups import grouped
from harness.report.recommendation import GOAL_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.analysis import JudgeResult, Validation
    from harness.report.charts import Chart
    from harness.report.metric_groups import Group
    from harness.stats import Estimate

USUAL_FORMS = ("(h/h)", "(s/s)", "(h/hrs)", "(srs/srs)")
N_STYLES = 8
TABLE_CHART_WIDTH = 170.0
SMALL_CHART_WIDTH = 340.0


def ranked_judges(v: Validation) -> list[JudgeResult]:
    """Return the judges from best to worst, or in their given order without a ranking."""
    if v.ranking is None:
        return list(v.judges)
    return [v.judge(row.judge) for row in v.ranking.rows]


def judge_kinds(v: Validation) -> dict[str, str]:
    """Return whether each judge is "best", "tied" with the best, "baseline", or "judge"."""
    kinds = {judge.name: "baseline" if judge.baseline else "judge" for judge in v.judges}
    for row in v.ranking.rows if v.ranking else ():
        if not row.baseline and row.rank == 1:
            kinds[row.judge] = "best"
        elif not row.baseline and row.judge in v.decision.not_distinguishable:
            kinds[row.judge] = "tied"
    return kinds


def judge_styles(v: Validation) -> dict[str, str]:
    """Return the CSS classes of colour and dash of each judge; baselines are grey."""
    styles, n_judges, n_baselines = {}, 0, 0
    for judge in ranked_judges(v):
        if judge.baseline:
            styles[judge.name] = f"b{n_baselines % 2}"
            n_baselines += 1
        else:
            repeat = f" d{n_judges // N_STYLES}" if n_judges >= N_STYLES else ""
            styles[judge.name] = f"j{n_judges % N_STYLES}{repeat}"
            n_judges += 1
    return styles


def interval_row(name: str, estimate: Estimate, kind: str = "judge") -> IntervalRow:
    """Return an estimate as a row of an interval chart."""
    interval = estimate.interval
    low, high = (interval.low, interval.high) if interval else (None, None)
    why = "" if estimate.value is not None else reason(estimate)
    return IntervalRow(name, estimate.value, low, high, kind, why)


def metric_intervals(v: Validation, metric: str) -> list[IntervalRow]:
    """Return every judge's value of a metric, in the order of the ranking."""
    kinds = judge_kinds(v)
    return [
        interval_row(judge.name, judge.metrics[metric], kinds[judge.name])
        for judge in ranked_judges(v)
        if metric in judge.metrics
    ]


def slug(text: str) -> str:
    """Return a text as part of a file name and of an id."""
    ascii_only = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in ascii_only.split("-") if part)


def unique_slug(name: str) -> str:
    """Return the slug of a user's name, with a hash where different names may share it."""
    plain = slug(name)
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def ranking_chart(v: Validation) -> Chart:
    """Draw the ranking metric of every judge."""
    assert v.ranking is not None
    metric, reading = v.ranking.metric, READING[v.ranking.better]
    unit = f" in {v.ranking.unit}" if v.ranking.unit else ""
    rows = metric_intervals(v, metric)
    titles = Titles(
        "ranking",
        f"Judges by {metric}",
        f"Dots with intervals, best judge first, {reading}. {described(rows)}.",
        x=f"{metric}{unit} ({reading}), {items_used(v, metric)}",
    )
    return interval_chart(titles, rows, within=_limits(rows))


def described(rows: Iterable[IntervalRow]) -> str:
    """Return the rows of an interval chart in words."""
    return "; ".join(row.description for row in rows)


def ranking_scale(v: Validation) -> Scale:
    """Return the axis that the rows of the ranking table share."""
    assert v.ranking is not None
    rows = metric_intervals(v, v.ranking.metric)
    return Scale.around(interval_ends(rows), 12.0, TABLE_CHART_WIDTH - 12.0, within=_limits(rows))


def metric_charts(v: Validation) -> list[tuple[Group, list[Chart], list[Chart]]]:
    """Draw every metric that some judge has; return the usual and further charts of each group."""
    if not v.judges:
        return []
    groups = []
    for group, names in grouped(v, v.judges[0].metrics):
        defined = [name for name in names if is_defined(v, name)]
        usual = [_metric_chart(v, name) for name in defined if is_usual(v, name)]
        further = [_metric_chart(v, name) for name in defined if not is_usual(v, name)]
        groups.append((group, usual, further) if usual else (group, further[:3], further[3:]))
    return groups


def is_usual(v: Validation, metric: str) -> bool:
    """Whether a metric compares like with like, or a hard judge with what the raters allow."""
    usual = v.choosing.usual if v.choosing else ()
    return metric.endswith(USUAL_FORMS) or metric in (*GOAL_WORDS, *usual, v.settings.metric)


def undefined_metrics(v: Validation) -> dict[str, dict[str, list[str]]]:
    """Return, by group and reason, the metrics that are NA for every judge."""
    undefined: dict[str, dict[str, list[str]]] = {}
    for group, names in grouped(v, v.judges[0].metrics) if v.judges else ():
        by_reason = undefined.setdefault(group.title, {})
        for name in names:
            if not is_defined(v, name):
                reasons = dict.fromkeys(reason(judge.metrics[name]) for judge in v.judges)
                by_reason.setdefault(", ".join(reasons), []).append(name)
    return undefined


def is_defined(v: Validation, metric: str) -> bool:
    """Whether a metric has a value for some judge."""
    return any(judge.metrics[metric].value is not None for judge in v.judges)


def _metric_chart(v: Validation, metric: str) -> Chart:
    rows = metric_intervals(v, metric)
    facts = next((facts for facts in v.metrics if facts.name == metric), None)
    same = f" Equal to {', '.join(facts.also)} on these data." if facts and facts.also else ""
    axis = ", ".join(part for part in (direction(v, metric), items_used(v, metric)) if part)
    alt = f"{metric} of each judge. {described(rows)}.{same}"
    within = _limits(rows)
    if facts:
        low, high = facts.low, facts.high
        within = (within[0] if low is None else low, within[1] if high is None else high)
    return interval_chart(
        Titles(f"metric-{slug(metric)}", metric, alt, axis),
        rows,
        within=within,
        reference=0.0 if facts and facts.better == "zero" else None,
        width=SMALL_CHART_WIDTH,
    )


def direction(v: Validation, metric: str) -> str:
    """Return the unit of a metric and which end of it is better."""
    facts = next((facts for facts in v.metrics if facts.name == metric), None)
    if facts is None:
        return ""
    reading = READING[facts.better]
    return f"{facts.unit} ({reading})" if facts.unit else reading


def items_used(v: Validation, metric: str) -> str:
    """Return the number of items that the judges' values of a metric use, in words."""
    return counted(n_items_used(v, metric, [judge.name for judge in v.judges]))


def n_items_used(v: Validation, metric: str, judges: Iterable[str]) -> list[int]:
    """Return the number of items that each of these judges' values uses, where it has one."""
    estimates = (v.judge(name).metrics.get(metric) for name in judges)
    return [e.n_used for e in estimates if e is not None and e.value is not None]


def _limits(rows: list[IntervalRow]) -> tuple[float, float]:
    """Keep an axis from crossing 0 where no value does."""
    values = [x for row in rows for x in (row.value, row.low) if x is not None]
    return (0.0 if min(values, default=0.0) >= 0 else -math.inf, math.inf)

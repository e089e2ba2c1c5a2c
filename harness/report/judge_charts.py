"""Draw the ranking and every metric. Define the judges' order, style and labels in all charts."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.files.plain_text import counted
from harness.report.charts import (
    Band,
    IntervalRow,
    Series,
    Titles,
    draw_interval,
    interval_chart,
    interval_ends,
)
from harness.report.formatting import capitalized, number, reason, replies_each
from harness.report.svg import PixelScale
from harness.report.words import BASELINE_NAMES, READING
from harness.stats.metrics.alpha import INTERVAL_ALPHA
from harness.stats.metrics.confusion import BINARY, DIAGNOSTICS
from harness.stats.metrics.gwet import ac2_of_raters
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT
from harness.stats.metrics.icc import ICC
from harness.stats.metrics.judge_agreement import effective_votes_of
from harness.stats.metrics.set_agreement import set_agreement_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.evidence_rows import Evidence
    from harness.report.charts import Chart, RowKind
    from harness.report.svg import Mark
    from harness.stats import Estimate

N_STYLES = 8
ARROWS = {"higher": "\u2191", "lower": "\u2193", "zero": "0"}
TABLE_CHART_WIDTH = 170.0
FIRST_CHART_WIDTH = 420.0
SMALL_CHART_WIDTH = 340.0
INLINE_CHART_WIDTH, INLINE_CHART_HEIGHT = 110.0, 16.0
MEASURES = {
    row.name: row.display_name
    for row in (
        *(*HUMAN_AGREEMENT, *BINARY, *DIAGNOSTICS, ac2_of_raters((0, 1))),
        *(*set_agreement_metrics(np.eye(2)), effective_votes_of(2), *ICC, INTERVAL_ALPHA),
    )
}


OTHER = "Further"
GROUPS = {  # families of metrics, and their comparisons
    "Downstream": "What the judge is used for: deciding item by item, and estimating how many are "
    "positive.",
    "Continuous multi-label": "How often each option is accepted, compared option by option.",
    "Categorical multi-label": "Whether the judge stays within the options that the raters accept.",
    "Distributional": "How often each option is chosen. The shares are compared as distributions.",
    "Categorical": "The judge's most common answer, which is right if it is the raters' most "
    "common answer.",
    "Binary": "The same, but with the positive options compared with all others.",
    OTHER: "Metrics outside these groups.",
}


class MetricRow(NamedTuple):
    """Row in the table of all metrics, with a small chart for each judge's value."""

    name: str
    charts: dict[str, list[Mark]]


class MetricGroup(NamedTuple):
    """Metrics of one family. Those without a value are in ``undefined``, by reason."""

    title: str
    rows: list[MetricRow]
    undefined: dict[str, list[str]]


def grouped(v: Validation, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the metrics in each nonempty group of `GROUPS`."""
    members: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in names:
        metric = v.metric(name)
        title = capitalized(metric.family) if metric else OTHER
        members[title if title in GROUPS else OTHER].append(name)
    return {title: group for title, group in members.items() if group}


def judge_kinds(v: Validation) -> dict[str, RowKind]:
    """Return each judge's kind: "best", "tied" with the best, "judge" or "unranked"."""
    kinds: dict[str, RowKind] = {
        judge.name: "unranked" if judge.name in v.decision.unranked else "judge"
        for judge in v.judges
    }
    for row in v.ranking.rows if v.ranking else ():
        if row.judge == v.decision.leader:
            kinds[row.judge] = "best"
        elif row.judge in v.decision.not_distinguishable:
            kinds[row.judge] = "tied"
    return kinds


def judge_styles(v: Validation) -> dict[str, str]:
    """Return the CSS classes for each judge's colour and dash."""
    styles = {}
    for i, judge in enumerate(v.ranked_judges):
        repeat = f" d{i // N_STYLES}" if i >= N_STYLES else ""
        styles[judge.name] = f"j{i % N_STYLES}{repeat}"
    return styles


def interval_row(name: str, estimate: Estimate, kind: RowKind = "judge") -> IntervalRow:
    """Convert an estimate to a row for an interval chart."""
    interval = estimate.interval
    low, high = (interval.low, interval.high) if interval else (None, None)
    why = "" if estimate.value is not None else reason(estimate)
    return IntervalRow(name, estimate.value, low, high, kind, why)


def judge_rows(v: Validation, estimates: Mapping[str, Estimate]) -> list[IntervalRow]:
    """Convert judges' estimates to rows for an interval chart. Unranked judges are grey."""
    kinds = judge_kinds(v)
    return [interval_row(judge, result, kinds[judge]) for judge, result in estimates.items()]


def judge_lines(
    v: Validation, curves: Mapping[str, tuple[Sequence[float], Sequence[float | None]]]
) -> list[Series]:
    """Convert judges' x and y values to lines in a chart. Judges without values have no line."""
    styles = judge_styles(v)
    return [
        Series(judge, tuple(zip(x, y, strict=True)), styles[judge])
        for judge, (x, y) in curves.items()
        if x
    ]


def metric_intervals(v: Validation, metric: str) -> list[IntervalRow]:
    """Return every judge's value for a metric, in ranking order."""
    judges = [judge for judge in v.ranked_judges if metric in judge.metrics]
    return judge_rows(v, {judge.name: judge.metrics[metric] for judge in judges})


def slug(text: str) -> str:
    """Convert a text to a form that is valid in file names and ids."""
    ascii_only = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in ascii_only.split("-") if part)


def unique_slug(name: str) -> str:
    """Convert a user's name to a slug, with a hash if a different name could have the same slug."""
    plain = slug(name)
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def evidence_chart(v: Validation) -> Chart:
    """Draw judges, computed baselines and a human rater on one axis."""
    assert v.evidence is not None
    evidence = v.evidence
    rows = [*_judge_rows(v, evidence), *_baseline_rows(evidence)]
    human = human_band(evidence)
    title = capitalized(evidence.display_name)
    sizes = f"{counted([evidence.n_items])}, {replies_each(evidence.n_replies)}"
    alt = f"{title} of judges and computed baselines, {READING[evidence.better]}, on {sizes}."
    if human:
        alt += f" {human.name}: {number(human.low)} to {number(human.high)}."
    reach = () if evidence.better == "higher" else (0.0,)
    titles = Titles("ranking", title, f"{alt} {described(rows)}.", x=READING[evidence.better])
    return interval_chart(
        titles,
        rows,
        within=_limits(rows),
        reach=reach,
        width=FIRST_CHART_WIDTH,
        band=human,
        shows_values=True,
    )


def _judge_rows(v: Validation, evidence: Evidence) -> list[IntervalRow]:
    return judge_rows(v, {row.judge: row.estimate for row in evidence.judges})


def _baseline_rows(evidence: Evidence) -> list[IntervalRow]:
    return [
        IntervalRow(BASELINE_NAMES[row.name], row.value, row.low, row.high, "baseline")
        for row in evidence.baselines
        if row.value is not None
    ]


def human_band(evidence: Evidence) -> Band | None:
    """Return a human rater's interval on the judges' axis, or None if an end is undefined."""
    if evidence.human_low is None or evidence.human_high is None:
        return None
    return Band("human rater", evidence.human_low, evidence.human_high)


def described(rows: Iterable[IntervalRow]) -> str:
    """Describe an interval chart's rows in words."""
    return "; ".join(row.description for row in rows)


def ranking_scale(v: Validation) -> PixelScale:
    """Return the axis for the ranking metric on the items that each judge answered."""
    rows = [interval_row(judge.name, judge.own) for judge in v.judges]
    return PixelScale.around(
        interval_ends(rows), 12.0, TABLE_CHART_WIDTH - 12.0, within=_limits(rows)
    )


def metric_groups(v: Validation) -> list[MetricGroup]:
    """Return the rows of the table of all metrics, by group."""
    groups = grouped(v, v.judges[0].metrics) if v.judges else {}
    return [_metric_group(v, title, names) for title, names in groups.items()]


def _metric_group(v: Validation, title: str, names: Sequence[str]) -> MetricGroup:
    rows, undefined = [], dict[str, list[str]]()
    for name in names:
        if is_defined(v, name):
            rows.append(MetricRow(name, _inline_charts(v, name)))
        else:
            reasons = dict.fromkeys(reason(j.metrics[name]) for j in v.judges)
            undefined.setdefault(", ".join(reasons), []).append(metric_label(v, name))
    return MetricGroup(title, rows, undefined)


def _inline_charts(v: Validation, metric: str) -> dict[str, list[Mark]]:
    """Draw every judge's value of a metric, in one small chart per judge with a common axis."""
    rows = metric_intervals(v, metric)
    scale = PixelScale.around(
        interval_ends(rows), 6.0, INLINE_CHART_WIDTH - 6.0, within=_limits(rows)
    )
    return {row.name: draw_interval(row, scale, INLINE_CHART_HEIGHT / 2) for row in rows}


def is_drawn(rows: Sequence[IntervalRow]) -> bool:
    """Return whether a chart of these rows is informative: neither all NA nor all equal."""
    values = [(row.value, row.low, row.high) for row in rows if row.value is not None]
    return len(values) == 1 or len(set(values)) > 1


def metric_label(v: Validation, name: str) -> str:
    """Return the display name of a metric or of an agreement coefficient."""
    if metric := v.metric(name):
        return metric.display_name
    return MEASURES.get(name, name.replace("_", " "))


def rater_label(name: str) -> str:
    """Return the display name of an agreement coefficient among raters or judges."""
    return MEASURES.get(name, name.replace("_", " "))


def option_label(v: Validation, key: str) -> str:
    """Return the label of an option. Return any other answer unchanged."""
    return v.task.options.get(key, key)


def is_defined(v: Validation, metric: str) -> bool:
    """Return whether a metric has a value for at least one judge."""
    estimates = (judge.metrics.get(metric) for judge in v.judges)
    return any(estimate is not None and estimate.value is not None for estimate in estimates)


def arrow(v: Validation, name: str) -> str:
    """Return a metric's unit, and an arrow that shows which direction is better."""
    metric = v.metric(name)
    return f"{ARROWS[metric.better]} {metric.unit}".strip() if metric else ""


def n_undefined(groups: Iterable[MetricGroup]) -> int:
    """Return how many metrics are NA for every judge."""
    return sum(len(names) for group in groups for names in group.undefined.values())


def other_names(v: Validation, name: str) -> tuple[str, ...]:
    """Return the names of other coefficients that are equal to a metric on such data."""
    metric = v.metric(name)
    return metric.also if metric else ()


def n_items_used(v: Validation, metric: str, judges: Iterable[str]) -> list[int]:
    """Return the number of items behind a metric for each given judge with a value."""
    estimates = (v.judge(name).metrics.get(metric) for name in judges)
    return [e.n_used for e in estimates if e is not None and e.value is not None]


def _limits(rows: list[IntervalRow]) -> tuple[float, float]:
    """Return limits for an axis that end at 0, if no value crosses 0."""
    values = [x for row in rows for x in (row.value, row.low) if x is not None]
    return (0.0 if min(values, default=0.0) >= 0 else -math.inf, math.inf)

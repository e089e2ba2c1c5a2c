"""From a validation to charts: which numbers, in which order, in whose colour."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from harness.report.charts import N_STYLES, DotRow, Titles, dots, heat
from harness.report.formatting import READING, counted, estimate, reason
from harness.report.metric_groups import grouped
from harness.report.svg import Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.result import HumanResult
    from harness.report.metric_groups import Group
    from harness.report.svg import Chart
    from harness.stats.inference.estimate import Estimate

GOAL_WORDS = {"decision_consistency": "decision consistency", "prevalence_bias": "prevalence bias"}
USUAL_FORMS = ("(h/h)", "(s/s)", "(h/hrs)", "(srs/srs)")
ROW_WIDTH = 170.0


def in_order(v: Validation) -> list[JudgeResult]:
    """Judges from best to worst; in the order given where nothing ranks them."""
    if v.ranking is None:
        return list(v.judges)
    return [v.judge(row.judge) for row in v.ranking.rows]


def kinds(v: Validation) -> dict[str, str]:
    """Return each judge's kind: best, tied (not significantly different), baseline or judge."""
    found = {judge.name: "baseline" if judge.baseline else "judge" for judge in v.judges}
    for row in v.ranking.rows if v.ranking else ():
        if not row.baseline and row.rank == 1:
            found[row.judge] = "best"
        elif not row.baseline and row.judge in v.decision.not_distinguishable:
            found[row.judge] = "tied"
    return found


def styles(v: Validation) -> dict[str, str]:
    """Give each judge a colour and a dash of its own; baselines are grey."""
    found, n, n_baselines = {}, 0, 0
    for judge in in_order(v):
        if judge.baseline:
            found[judge.name] = f"b{n_baselines % 2}"
            n_baselines += 1
        else:
            found[judge.name] = f"j{n % N_STYLES}" + (f" d{n // N_STYLES}" if n >= N_STYLES else "")
            n += 1
    return found


def dot_row(name: str, one: Estimate, kind: str = "judge") -> DotRow:
    """Return an estimate as one line of a chart of dots."""
    low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
    return DotRow(name, one.value, low, high, kind, "" if one.value is not None else reason(one))


def metric_rows(v: Validation, metric: str) -> list[DotRow]:
    """Every judge on one metric, in the order of the ranking."""
    kind = kinds(v)
    return [
        dot_row(judge.name, judge.metrics[metric], kind[judge.name])
        for judge in in_order(v)
        if metric in judge.metrics
    ]


def slug(text: str) -> str:
    """Return a text as part of a file name and of an id."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)


def own_slug(name: str) -> str:
    """Return the slug of a name that somebody chose; names that read alike as slugs stay apart."""
    plain = slug(name)
    if plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def ranking_chart(v: Validation) -> Chart:
    """Draw the ranking: the primary metric of every judge."""
    assert v.ranking is not None
    metric, reading = v.ranking.metric, READING[v.ranking.better]
    unit = f" in {v.ranking.unit}" if v.ranking.unit else ""
    rows = metric_rows(v, metric)
    told = "; ".join(row.told for row in rows)
    titles = Titles(
        "ranking",
        f"Judges by {metric}",
        f"Dots with intervals, best judge first, {reading}. {told}.",
        x=f"{metric}{unit} ({reading}), {items_of(v, metric)}",
    )
    return dots(titles, rows, within=_bounds(rows))


def row_scale(v: Validation) -> Scale:
    """Return the axis that the rows of the ranking table share."""
    assert v.ranking is not None
    rows = metric_rows(v, v.ranking.metric)
    ends = [x for row in rows for x in (row.value, row.low, row.high)]
    return Scale.around(ends, 12.0, ROW_WIDTH - 12.0, within=_bounds(rows))


def metric_charts(v: Validation) -> list[tuple[Group, list[Chart], list[Chart]]]:
    """Draw every metric that is defined for some judge, in groups: the usual ones, the others."""
    if not v.judges:
        return []
    found = []
    for group, names in grouped(v, v.judges[0].metrics):
        drawn = [name for name in names if is_defined(v, name)]
        first = [name for name in drawn if is_usual(v, name)]
        charts = [_metric_chart(v, name) for name in first]
        more = [_metric_chart(v, name) for name in drawn if name not in first]
        found.append((group, charts, more) if charts else (group, more[:3], more[3:]))
    return found


def is_usual(v: Validation, metric: str) -> bool:
    """Whether a metric compares like with like, or a hard judge with what the raters allow."""
    usual = v.choosing.usual if v.choosing else ()
    return metric.endswith(USUAL_FORMS) or metric in (*GOAL_WORDS, *usual, v.settings.metric)


def undefined_metrics(v: Validation) -> dict[str, dict[str, list[str]]]:
    """Return, by group and reason, the metrics that are NA for every judge."""
    found: dict[str, dict[str, list[str]]] = {}
    for group, names in grouped(v, v.judges[0].metrics) if v.judges else ():
        by_reason = found.setdefault(group.title, {})
        for name in names:
            if not is_defined(v, name):
                why = dict.fromkeys(reason(judge.metrics[name]) for judge in v.judges)
                by_reason.setdefault(", ".join(why), []).append(name)
    return found


def is_defined(v: Validation, metric: str) -> bool:
    """Whether a metric has a value for some judge."""
    return any(judge.metrics[metric].value is not None for judge in v.judges)


def _metric_chart(v: Validation, metric: str) -> Chart:
    rows = metric_rows(v, metric)
    facts = next((one for one in v.metrics if one.name == metric), None)
    told = "; ".join(row.told for row in rows)
    same = f" The same number as {', '.join(facts.also)}." if facts and facts.also else ""
    axis = ", ".join(part for part in (reading_of(v, metric), items_of(v, metric)) if part)
    titles = Titles(
        f"metric-{slug(metric)}", metric, f"{metric} of each judge. {told}.{same}", axis
    )
    within = _bounds(rows)
    if facts:
        low, high = facts.low, facts.high
        within = (within[0] if low is None else low, within[1] if high is None else high)
    zero = 0.0 if facts and facts.better == "zero" else None
    return dots(titles, rows, within=within, reference=zero, width=340.0)


def reading_of(v: Validation, metric: str) -> str:
    """Say in which unit a metric is, and which end of it is good."""
    facts = next((one for one in v.metrics if one.name == metric), None)
    if facts is None:
        return ""
    reading = READING[facts.better]
    return f"{facts.unit} ({reading})" if facts.unit else reading


def items_of(v: Validation, metric: str) -> str:
    """Say how many items the judges' values of a metric rest on."""
    return counted(n_used(v, metric, [judge.name for judge in v.judges]))


def n_used(v: Validation, metric: str, judges: Iterable[str]) -> list[int]:
    """Return the items that the value of each of these judges rests on, of those that have one."""
    found = (v.judge(name).metrics.get(metric) for name in judges)
    return [one.n_used for one in found if one is not None and one.value is not None]


def _bounds(rows: list[DotRow]) -> tuple[float, float]:
    """Keep an axis from crossing 0 where no value does."""
    values = [x for row in rows for x in (row.value, row.low) if x is not None]
    return (0.0 if min(values, default=0.0) >= 0 else float("-inf"), float("inf"))


def translation_charts(v: Validation, sets: Sequence[str]) -> list[Chart]:
    """Draw F of the humans and of each judge: what they choose, given what they endorse.

    Parameters
    ----------
    sets : sequence of str
        Names of the V response sets; their numbers stand in where there are none.
    """
    sides: list[tuple[str, HumanResult | JudgeResult]] = [("raters", v.humans)]
    sides += [(judge.name, judge) for judge in in_order(v)]
    return [_translation_chart(v, sets, name, side) for name, side in sides if side.F]


def _translation_chart(
    v: Validation,
    sets: Sequence[str],
    name: str,
    side: HumanResult | JudgeResult,
) -> Chart:
    cells = side.F or ()
    n_pairs = side.translated.n_pairs if side.translated else side.beta.n_used
    named = sets if len(sets) == len(cells[0]) else [f"set {i + 1}" for i in range(len(cells[0]))]
    kept = [i for i in range(len(named)) if any(row[i] is not None for row in cells)]
    titles = Titles(
        f"translation-{own_slug(name)}",
        f"{name} · {counted([n_pairs], 'pair')}",
        f"Chance of each choice, given the response set endorsed, from {n_pairs} pairs of {name}. "
        f"Beta is {estimate(side.beta)}.",
        x="endorsed set",
        y="choice",
    )
    columns = [named[i] for i in kept]
    n_endorsed = side.translated.n_endorsed if side.translated else ()
    widest = max((len(one) for one in columns), default=0) * 7.0 + 10
    drawn = [[row[i] for i in kept] for row in cells]
    return heat(
        titles,
        list(v.task.options),
        columns,
        drawn,
        cell_width=max(54.0, widest),
        counts=[n_endorsed[i] for i in kept] if n_endorsed else (),
    )

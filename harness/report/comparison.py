"""Two runs of the same judges: paired differences, decisions, and differences in setup."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import (
    READING,
    bounds,
    counted,
    headline,
    number,
    p_value,
    replies_each,
)
from harness.report.html.page import render
from harness.report.judge_charts import described, slug
from harness.report.recommendation import capitalized, sentences
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.run_comparison import PairedMetric, RunComparison
    from harness.report.charts import Chart

PairedRow: TypeAlias = "tuple[PairedMetric, str, str, str, str, str, str]"
SECTIONS = (
    ("paired", "Paired differences"),
    ("decisions", "Decisions"),
    ("differences", "Differences in setup"),
)
TESTS = {"mcnemar": "McNemar's test", "sign": "sign test", "": "no test"}
SAMPLED = (
    " These items were sampled with unequal probabilities, which are not weighted here: the "
    "comparison describes the sample."
)
HEADS = ("judge", "first", "second", "change", "better", "worse", "p")


def comparison(
    names: tuple[str, str], validations: tuple[Validation, Validation], paired: RunComparison
) -> str:
    """Render two runs as one page, the earlier one first."""
    a, b = validations
    return render(
        "compare.html.jinja",
        {
            "names": names,
            "headlines": [headline(v).replace("  ", " · ") for v in validations],
            "sentences": [sentences(v) for v in validations],
            "differences": setup_differences(a, b),
            "only": [_only(a, b), _only(b, a)],
            "paired": paired,
            "scope": scope(names, paired),
            "changes": changes(paired),
            "charts": [_chart(paired, metric) for metric in _metrics(paired)],
            "rows": paired_rows(paired),
            "tests": TESTS,
        },
        block={"grid": None, "items": None},
        title=f"Comparison of {names[0]} and {names[1]}",
        sections=SECTIONS,
    )


def comparison_text(names: tuple[str, str], paired: RunComparison) -> str:
    """Return the paired differences for a terminal: a table, and a sentence for each judge."""
    parts = [f"first: {names[0]}", f"second: {names[1]}", paragraph(scope(names, paired))]
    by_metric: dict[str, list[tuple[str, ...]]] = {}
    for row, *cells in paired_rows(paired):
        by_metric.setdefault(row.display_name, []).append((row.judge, *cells))
    for name, rows in by_metric.items():
        parts += ["", f"{capitalized(name)}:", draw_table(HEADS, rows)]
    if by_metric:
        parts += ["", *map(paragraph, changes(paired))]
    return "\n".join(parts)


def scope(names: tuple[str, str], paired: RunComparison) -> str:
    """Say which items are compared, and by whose ratings."""
    if not paired.n_shared:
        return "No item is in both runs, so nothing can be compared."
    items = (
        f"{counted([paired.n_shared], 'shared item')} of {' and '.join(map(str, paired.n_items))}"
    )
    if not paired.metrics:
        return f"{items}, but no judge answered them in both runs."
    n_tests = sum(row.p_adjusted is not None for row in paired.metrics)
    sampled = SAMPLED if paired.sampled else ""
    return (
        f"{items}, both runs scored by the ratings and settings of {names[1]}. Change: second "
        f"minus first, with {paired.confidence:.0%} intervals. Better, worse: items on which the "
        f"second run is. p: exact, adjusted for {counted([n_tests], 'test')} (Holm).{sampled}"
    )


def paired_rows(paired: RunComparison) -> list[PairedRow]:
    """Return each row with its values, change, counts and p-value as texts."""
    return [_paired_row(row) for row in paired.metrics]


def _paired_row(row: PairedMetric) -> PairedRow:
    result = row.result
    change = f"{number(result.difference)} {bounds(result.low, result.high)}".strip()
    counts = (str(result.n_better), str(result.n_worse)) if result.test else ("", "")
    p = p_value(row.p_adjusted) if result.test else ""
    return (row, number(result.first), number(result.second), change, *counts, p)


def changes(paired: RunComparison) -> list[str]:
    """Say of each judge whether it changed, by the first of its metrics that has a test."""
    tested: dict[str, PairedMetric] = {}
    for row in paired.metrics:
        if row.p_adjusted is not None:
            tested.setdefault(row.judge, row)
    return [_change(row, 1.0 - paired.confidence) for row in tested.values()]


def _change(row: PairedMetric, alpha: float) -> str:
    result = row.result
    level = f"{1.0 - alpha:.0%}"
    verdict = "not significantly different"
    if row.p_adjusted is not None and row.p_adjusted <= alpha:
        side = "better" if result.n_better > result.n_worse else "worse"
        verdict = f"significantly {side} ({level})"
    detail = f"better on {result.n_better}, worse on {result.n_worse}"
    return (
        f"{row.judge} is {verdict} in the second run by {row.display_name}: {detail} of "
        f"{counted([result.n_better + result.n_worse + result.n_equal], result.unit)} "
        f"({TESTS[result.test]}, {replies_each(result.n_replies)})."
    )


def _metrics(paired: RunComparison) -> list[str]:
    """Return the metrics that have a change to draw."""
    drawn = (row.metric for row in paired.metrics if row.result.low is not None)
    return list(dict.fromkeys(drawn))


def _chart(paired: RunComparison, metric: str) -> Chart:
    members = [row for row in paired.metrics if row.metric == metric]
    rows = [
        IntervalRow(row.judge, row.result.difference, row.result.low, row.result.high)
        for row in members
    ]
    first = members[0]
    titles = Titles(
        f"change-{slug(metric)}",
        f"Change in {first.display_name}",
        f"Second minus first run, by {metric}. {described(rows)}.",
        x=f"second minus first; {READING[first.better]}",
    )
    return interval_chart(titles, rows, within=(float("-inf"), float("inf")), reference=0.0)


def setup_differences(a: Validation, b: Validation) -> list[tuple[str, str, str]]:
    """Return name and both values of the settings, data and models that differ."""
    second = _setup(b)
    rows = [(name, value, second[name]) for name, value in _setup(a).items()]
    shared = {judge.name for judge in b.judges}
    rows += [
        (f"model of {judge.name}", _model(a, judge.name), _model(b, judge.name))
        for judge in a.judges
        if judge.name in shared
    ]
    return [row for row in rows if row[1] != row[2]]


def _setup(v: Validation) -> dict[str, str]:
    return {
        "task": v.task.name,
        "task content, SHA-256": v.task.content_hash,
        "items": str(v.task.n_items),
        "judges": ", ".join(judge.name for judge in v.judges),
        **{name.replace("_", " "): str(value) for name, value in asdict(v.settings).items()},
    }


def _model(v: Validation, name: str) -> str:
    judge = v.judge(name)
    return ", ".join(judge.reported_models) or judge.model or "unknown"


def _only(a: Validation, b: Validation) -> list[str]:
    names = {judge.name for judge in b.judges}
    return [judge.name for judge in a.judges if judge.name not in names]

"""Compare two runs of the same judges: paired differences, decisions and differences in setup."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from harness.files.plain_text import counted
from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import (
    COMPLETENESS_HEADS,
    capitalized,
    compared_on,
    estimate,
    headline,
    level_text,
    number,
    p_value,
    replies_each,
    share,
    with_bounds,
)
from harness.report.html.rendering import render
from harness.report.judge_charts import described, slug
from harness.report.recommendation import summary
from harness.report.text_table import draw_table, paragraph
from harness.report.words import READING
from harness.stats.selection.paired_runs import FEW_DIFFER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.run_comparison import PairedMetric, RunComparison
    from harness.report.charts import Chart
    from harness.report.served.side_by_side import ChangedAnswer

PairedRow: TypeAlias = "tuple[PairedMetric, str, str, str, str, str, str, str]"
SECTIONS = (
    ("decisions", "Recommendations"),
    ("changed", "Items that changed"),
    ("paired", "Paired differences"),
    ("differences", "Differences in setup"),
)
MAX_CHANGED = 100  # maximum number of answers on the page
TESTS = {"mcnemar": "McNemar's test", "sign": "sign test", "": "no test"}
FEW = " [NA] means that the runs differ on fewer than six items."
SAMPLED = (
    " These items were sampled with unequal probabilities. The comparison doesn't weight them, so "
    "it describes the sample."
)
HEADS = ("judge", "first", "second", "change", "better", "worse", "p")
VALUE_HEADS = ("judge", "value", *COMPLETENESS_HEADS)
VALUES_NOTE = (
    "Each run's own values, as in its report. The two runs can differ in items and number of "
    "replies. The paired values above use the same for both."
)


def comparison(
    names: tuple[str, str],
    validations: tuple[Validation, Validation],
    paired: RunComparison,
    changed: Sequence[ChangedAnswer] = (),
) -> str:
    """Render two runs as one page, with the earlier run first. ``changed`` has the changed answers.

    It begins with both recommendations and the items that changed.
    """
    a, b = validations
    return render(
        "compare.html.jinja",
        {
            "names": names,
            "headlines": [headline(v).replace("  ", " · ") for v in validations],
            "sentences": [summary(v) for v in validations],
            "verdicts": [v.decision.verdict for v in validations],
            "changed": changed[:MAX_CHANGED],
            "n_changed": len(changed),
            "differences": setup_differences(a, b),
            "only": [_only(a, b), _only(b, a)],
            "paired": paired,
            "scope": scope(names, paired),
            "value_tables": value_tables(names, validations),
            "value_heads": VALUE_HEADS,
            "values_note": VALUES_NOTE,
            "changes": changes(paired),
            "charts": [_chart(paired, metric) for metric in _metrics(paired)],
            "rows": paired_rows(paired),
            "tests": TESTS,
        },
        block={"grid": None, "items": None},
        title=f"Comparison of {names[0]} and {names[1]}",
        sections=[row for row in SECTIONS if changed or row[0] != "changed"],
    )


def comparison_text(
    names: tuple[str, str],
    validations: tuple[Validation, Validation],
    paired: RunComparison,
    *,
    details: bool = False,
) -> str:
    """Format the paired differences for a terminal: a table, and a sentence for each judge.

    ``details`` adds the other metrics, and a table of each judge's value in either run.
    """
    parts = [f"first: {names[0]}", f"second: {names[1]}", paragraph(scope(names, paired))]
    by_metric: dict[str, list[tuple[str, ...]]] = {}
    bases: dict[str, dict[str, list[str]]] = {}
    for row, first, second, same, *cells in paired_rows(paired):
        by_metric.setdefault(row.display_name, []).append((row.judge, first, second, *cells))
        bases.setdefault(row.display_name, {}).setdefault(same, []).append(row.judge)
    for name, rows in list(by_metric.items())[: None if details else 1]:
        title = f"{capitalized(name)}, {_bases(bases[name])}:"
        parts += ["", paragraph(title), draw_table(HEADS, rows)]
    if by_metric:
        parts += ["", *map(paragraph, changes(paired))]
    if not details:
        return "\n".join(parts)
    parts += ["", paragraph(VALUES_NOTE)]
    for title, rows in value_tables(names, validations).items():
        parts += ["", paragraph(f"{title}:"), draw_table(VALUE_HEADS, rows)]
    return "\n".join(parts)


def scope(names: tuple[str, str], paired: RunComparison) -> str:
    """Describe which items are compared, and with which tests and intervals."""
    if not paired.n_shared:
        return "No item is in both runs, so nothing can be compared."
    items = (
        f"{counted([paired.n_shared], 'shared item')} of {' and '.join(map(str, paired.n_items))}"
    )
    if not paired.metrics:
        return f"{items}, but no judge answered them in both runs."
    n_tests = sum(row.p_adjusted is not None for row in paired.metrics)
    sampled = SAMPLED if paired.sampled else ""
    level = level_text(paired.confidence)
    few = any(row.result.interval_reason == FEW_DIFFER for row in paired.metrics)
    return (
        f"{items}. Both runs are scored with the ratings and settings of {names[1]}. Change is the "
        f"second run minus the first, with {level} intervals. Better and worse count the items "
        "on which the second run is better or worse. p is exact, and adjusted for "
        f"{counted([n_tests], 'test')} (Holm).{FEW if few else ''}{sampled}"
    )


def _bases(judges: Mapping[str, Sequence[str]]) -> str:
    """Describe the items and replies behind the judges' values, grouping judges that share them."""
    if len(judges) == 1:
        return f"on {next(iter(judges))}"
    return "; ".join(f"{', '.join(names)} on {same}" for same, names in judges.items())


def value_tables(
    names: tuple[str, str], validations: tuple[Validation, Validation]
) -> dict[str, list[tuple[str, ...]]]:
    """Return each judge's ranking metric in each run. Columns are as in `VALUE_HEADS`."""
    return {
        f"{capitalized(v.evidence.display_name)}, {side} run ({name}), {compared_on(v)}": [
            (
                row.judge,
                estimate(row.estimate),
                share(row.usable_replies, row.n_planned),
                share(row.answered_fraction, v.evidence.n_rated),
            )
            for row in v.evidence.judges
        ]
        for side, name, v in zip(("first", "second"), names, validations, strict=True)
        if v.evidence
    }


def paired_rows(paired: RunComparison) -> list[PairedRow]:
    """Format each row's values, change, counts and p-value as text."""
    return [_paired_row(row) for row in paired.metrics]


def _paired_row(row: PairedMetric) -> PairedRow:
    result = row.result
    change = with_bounds(result.difference, result.low, result.high)
    counts = (str(result.n_better), str(result.n_worse)) if result.test else ("", "")
    p = p_value(row.p_adjusted) if result.test else ""
    same = f"{counted([result.n_items])}, {_replies(result.n_replies)}"
    return (row, number(result.first), number(result.second), same, change, *counts, p)


def _replies(n_replies: float) -> str:
    return replies_each(n_replies if isfinite(n_replies) else None)


def changes(paired: RunComparison) -> list[str]:
    """Describe whether each judge changed, using the first of its metrics that has a test."""
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
        f"({TESTS[result.test]}, {_replies(result.n_replies)})."
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
    """Return settings, data and models that differ: name, first value and second value."""
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
        **{
            name.replace("_", " "): str(value)
            for settings in (v.settings, v.sampling)
            for name, value in asdict(settings).items()
        },
    }


def _model(v: Validation, name: str) -> str:
    judge = v.judge(name)
    return ", ".join(judge.reported_models) or judge.model or "unknown"


def _only(a: Validation, b: Validation) -> list[str]:
    names = {judge.name for judge in b.judges}
    return [judge.name for judge in a.judges if judge.name not in names]

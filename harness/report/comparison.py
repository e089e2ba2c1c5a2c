"""Two validations side by side: differences in setup, decisions and metrics."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from harness.report.charts import IntervalRow, Titles, interval_chart
from harness.report.formatting import counted, headline
from harness.report.html.page import render
from harness.report.judge_charts import (
    described,
    direction,
    interval_row,
    n_items_used,
    ranked_judges,
)
from harness.report.metric_groups import grouped
from harness.report.recommendation import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import Validation
    from harness.report.charts import Chart
    from harness.report.metric_groups import Group

SECTIONS = (
    ("decision", "Decisions"),
    ("differences", "Differences in setup"),
    ("judges", "Judges in both runs"),
    ("metrics", "All metrics"),
)


def comparison(names: tuple[str, str], validations: tuple[Validation, Validation]) -> str:
    """Render two validations side by side as one page.

    Parameters
    ----------
    names : (str, str)
        Names of the validations.
    validations : (Validation, Validation)
        The earlier one first.
    """
    a, b = validations
    shared = [judge.name for judge in ranked_judges(a) if judge.name in {j.name for j in b.judges}]
    return render(
        "compare.html.jinja",
        {
            "names": names,
            "validations": validations,
            "headlines": [headline(v).replace("  ", " · ") for v in validations],
            "sentences": [sentences(v) for v in validations],
            "differences": setup_differences(a, b),
            "shared": shared,
            "units": {facts.name: facts.unit for facts in a.metrics},
            "only": [_only(a, b), _only(b, a)],
            "charts": [_chart(names, validations, shared, metric) for metric in _ranked_by(a, b)],
            "groups": _groups(validations, shared),
        },
        block={"grid": None, "items": None},
        title=f"Comparison of {names[0]} and {names[1]}",
        sections=SECTIONS,
    )


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


def _common(a: Validation, b: Validation) -> list[str]:
    first = a.judges[0].metrics if a.judges else {}
    second = b.judges[0].metrics if b.judges else {}
    return [metric for metric in first if metric in second]


def _groups(
    validations: tuple[Validation, Validation], shared: Sequence[str]
) -> list[tuple[Group, list[str], list[str]]]:
    """Return each group with its metrics that are defined for some judge, and the others."""
    groups = []
    for group, names in grouped(validations[0], _common(*validations)):
        defined = [
            name
            for name in names
            if any(
                v.judge(judge).metrics[name].value is not None
                for v in validations
                for judge in shared
            )
        ]
        groups.append((group, defined, [name for name in names if name not in defined]))
    return groups


def _ranked_by(a: Validation, b: Validation) -> list[str]:
    """Return the metrics that rank either and decision consistency, where both have them."""
    metrics = dict.fromkeys((a.settings.metric, b.settings.metric, "decision_consistency"))
    return [metric for metric in metrics if metric in _common(a, b)]


def _chart(
    names: tuple[str, str],
    validations: tuple[Validation, Validation],
    shared: list[str],
    metric: str,
) -> Chart:
    rows: list[IntervalRow] = []
    for judge in shared:
        first, second = (interval_row(judge, v.judge(judge).metrics[metric]) for v in validations)
        rows += [
            replace(first, name=f"{judge}, first", kind="tied", line=judge),
            replace(second, name=f"{judge}, second", kind="best", line=judge),
        ]
    n_items = [counted(n_items_used(v, metric, shared)) for v in validations]
    titles = Titles(
        "both-" + "".join(c if c.isalnum() else "-" for c in metric).strip("-"),
        ", ".join(part for part in (metric, direction(validations[0], metric)) if part),
        f"{metric} of each judge in {names[0]} (ring) and in {names[1]} (dot). {described(rows)}.",
        x=f"ring: first, {n_items[0]}; dot: second, {n_items[1]}",
    )
    return interval_chart(titles, rows, within=(float("-inf"), float("inf")))

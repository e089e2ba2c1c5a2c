"""Draw confusion and translation matrices as heat maps, and leniency as interval charts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.report.charts import HeatCells, Titles, heat_map, interval_chart, items_link
from harness.report.formatting import bounds, choice_labels, estimate, translation_cells
from harness.report.judge_charts import (
    MEASURES,
    SMALL_CHART_WIDTH,
    described,
    is_drawn,
    judge_rows,
    option_label,
    slug,
    unique_slug,
)
from harness.report.svg import wrap_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import JudgeResult, Validation
    from harness.analysis.error_analysis import Confusion, JudgeErrors
    from harness.analysis.judge_result import HumanResult
    from harness.report.charts import Chart
    from harness.report.formatting import TranslationCells

LENIENCY = (
    ("precision", "Precision: share of the items called positive that are positive", None),
    ("recall", "Recall: share of the positive items that are called positive", None),
    ("marginal_drift", "Prevalence drift: share called positive minus share positive", 0.0),
)
FEW_COLUMNS = 8  # columns, up to which names get wider cells


def ranked_errors(v: Validation) -> list[JudgeErrors]:
    """Return the judges' error analyses in ranking order."""
    errors = {result.judge: result for result in v.errors.judges} if v.errors else {}
    return [errors[judge.name] for judge in v.ranked_judges if judge.name in errors]


def confusion_charts(v: Validation) -> list[Chart]:
    """Draw each judge's confusion matrix. Cells are numbers of items."""
    errors = [e for e in ranked_errors(v) if e.confusion.n_items]
    top = max((cell for e in errors for row in e.confusion.cells for cell in row), default=1.0)
    return [_confusion(v, e.judge, e.confusion, top) for e in errors]


def _confusion(v: Validation, judge: str, confusion: Confusion, top: float) -> Chart:
    rows = [i for i, cells in enumerate(confusion.cells) if any(cells)]
    n_options = len(confusion.human) - 1  # without CANNOT_ASSESS
    columns = [
        j
        for j in range(len(confusion.judge))
        if j < n_options or any(cells[j] for cells in confusion.cells)
    ]
    cells = [[confusion.cells[i][j] for j in columns] for i in rows]
    names = [option_label(v, confusion.judge[j]) for j in columns]
    is_whole = all(float(cell).is_integer() for row in cells for cell in row)
    titles = Titles(
        f"confusion-{unique_slug(judge)}",
        f"{judge} · {counted([confusion.n_items])}",
        f"Number of items by the raters' most common answer (rows) and {judge}'s (columns).",
        x="judge",
        y="raters",
    )
    chart = heat_map(
        titles,
        [option_label(v, confusion.human[i]) for i in rows],
        names,
        HeatCells(
            cells, links=[[_cell_link(judge, confusion, i, j) for j in columns] for i in rows]
        ),
        top=top,
        digits=0 if is_whole else 1,
        cell_width=_cell_width(names, 46.0),
    )
    return replace(chart, link=items_link(judge=judge))


def _cell_link(judge: str, confusion: Confusion, i: int, j: int) -> str:
    """Return a link to a cell's items, or "" if the cell is empty."""
    if not confusion.cells[i][j]:
        return ""
    return items_link(judge=judge, raters=confusion.human[i], answer=confusion.judge[j])


def _cell_width(names: Sequence[str], least: float) -> float:
    """Return the width of cells below names. With many columns, the names are wrapped."""
    if len(names) > FEW_COLUMNS:
        return least
    parts = [part for name in names for part in wrap_name(name, 110.0)]
    return min(max(least, max(map(len, parts), default=0) * 7.2 + 10), 110.0)


def leniency_charts(v: Validation) -> list[Chart]:
    """Draw precision, recall and prevalence drift of each judge for which they are defined."""
    charts = []
    for name, title, reference in LENIENCY:
        estimates = {e.judge: e.leniency[name] for e in ranked_errors(v) if name in e.leniency}
        rows = judge_rows(v, estimates)
        if not is_drawn(rows):
            continue
        n_items = counted(value.n_used for value in estimates.values() if value.value is not None)
        axis = f"{name.replace('_', ' ')}, {n_items}"
        titles = Titles(f"leniency-{slug(name)}", title, f"{described(rows)}.", x=axis)
        width = SMALL_CHART_WIDTH
        charts.append(
            interval_chart(titles, rows, within=(-1.0, 1.0), reference=reference, width=width)
        )
    return charts


MODE_LABELS = {  # over all options; metrics with the same symbol compare positive and other options
    "accuracy": "share of answers that match",
    "f1": "agreement on positive answers (F1)",
    "kappa": "agreement of answers beyond chance (kappa)",
    "phi": "correlation of answers (phi)",
}


def mode_label(name: str) -> str:
    """Return a coefficient's name for the table of abstention modes."""
    return MODE_LABELS.get(name) or MEASURES.get(name, name)


def abstention_mode_rows(v: Validation) -> list[tuple[str, str, list[object]]]:
    """Return a row per judge and measure, with an estimate (or None) for each abstention mode."""
    rows: list[tuple[str, str, list[object]]] = []
    for errors in ranked_errors(v):
        modes = (errors.modes.exclude, errors.modes.recode, errors.modes.third_class)
        names = dict.fromkeys(name for mode in modes for name in mode)
        rows += [(errors.judge, name, [mode.get(name) for mode in modes]) for name in names]
    return rows


def translation_charts(v: Validation) -> list[Chart]:
    """Draw F for the raters and each judge: the probability of each choice, given a response set.

    F comes from pairs, or else from independent calls by maximum likelihood.
    """
    sides: list[tuple[str, HumanResult | JudgeResult]] = [("raters", v.humans)]
    sides += [(judge.name, judge) for judge in v.ranked_judges]
    charts = (
        _of_pairs(v, name, side) if side.F else _by_likelihood(v, name) for name, side in sides
    )
    return [chart for chart in charts if chart is not None]


def _of_pairs(v: Validation, name: str, side: HumanResult | JudgeResult) -> Chart:
    n_pairs = sum(side.n_endorsed)
    origin = f"from {n_pairs} pairs of {name}. Beta is {estimate(side.beta)}"
    title = f"{name} · {counted([n_pairs], 'pair')}"
    return _translation(v, translation_cells(side), (name, title, origin), side.n_endorsed)


def _by_likelihood(v: Validation, name: str) -> Chart | None:
    """Draw the maximum likelihood F from independent calls, or return None if there is none."""
    if v.sensitivity is None:
        return None
    is_judge = name in v.sensitivity.judge_translations
    fit = v.sensitivity.judge_translations[name] if is_judge else None
    if name == "raters":
        fit = v.sensitivity.human_translation
    if fit is None or all(fit.reasons):
        return None
    calls = f"{fit.n_forced} choices and {fit.n_sets} sets on {counted([fit.n_items])}"
    title = f"{name} · by likelihood, {counted([fit.n_items])}"
    origin = f"by maximum likelihood from {calls}"
    return _translation(v, translation_cells(fit), (name, title, origin))


def _translation(
    v: Validation,
    cells: TranslationCells,
    texts: tuple[str, str, str],
    n_endorsed: Sequence[int] = (),
) -> Chart:
    """Draw one F. ``texts`` are its owner, its title, and how it was estimated."""
    name, title, origin = texts
    columns = list(zip(*cells, strict=True))
    defined = [i for i, column in enumerate(columns) if any(x is not None for x, _, _ in column)]
    labels = choice_labels(v)
    sets = [f"{{{', '.join(labels[key] for key in keys)}}}" for keys in v.task.response_sets]
    alt = f"Probability of each choice (columns), given the response set (rows), {origin}."
    grid = HeatCells(
        [[value for value, _, _ in columns[i]] for i in defined],
        spans=[[bounds(low, high, 2) for _, low, high in columns[i]] for i in defined],
    )
    return heat_map(
        Titles(f"translation-{unique_slug(name)}", title, alt, x="choice", y="endorsed set"),
        [sets[i] for i in defined],
        list(labels.values()),
        grid,
        cell_width=_cell_width(list(labels.values()), 84.0),
        row_counts=[n_endorsed[i] for i in defined] if n_endorsed else (),
    )

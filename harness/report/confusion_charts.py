"""Charts of how each judge errs: confusion matrices and leniency (Rao et al. 2026)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.charts import Titles, dots, heat
from harness.report.formatting import counted
from harness.report.judge_charts import dot_row, in_order, kinds, own_slug, slug
from harness.report.svg import pieces

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.error_analysis import Confusion, JudgeErrors
    from harness.report.svg import Chart

LENIENCY = (
    ("precision", "Precision: of the items it calls positive, the share that is", None),
    ("recall", "Recall: of the positive items, the share that it finds", None),
    ("marginal_drift", "Drift: share it calls positive, less the share that is", 0.0),
)
FEW = 8  # columns whose names fit in full
SHORT = 10  # characters of a name that is not broken


def ordered(v: Validation) -> list[JudgeErrors]:
    """Return how each judge errs, in the order of the ranking."""
    found = {one.judge: one for one in v.errors.judges} if v.errors else {}
    return [found[judge.name] for judge in in_order(v) if judge.name in found]


def confusion_charts(v: Validation) -> list[Chart]:
    """Draw each judge's confusion matrix, in items."""
    return [_confusion(one.judge, one.confusion) for one in ordered(v) if one.confusion.n_items]


def _confusion(judge: str, found: Confusion) -> Chart:
    rows = [i for i, cells in enumerate(found.cells) if any(cells)]
    n_options = len(found.human) - 1  # without CANNOT_ASSESS
    used = [any(cells[j] for cells in found.cells) for j in range(len(found.judge))]
    columns = [j for j, seen in enumerate(used) if seen or j < n_options]
    drawn = [[found.cells[i][j] for j in columns] for i in rows]
    names = [found.judge[j] for j in columns]
    whole = all(float(cell).is_integer() for row in drawn for cell in row)
    titles = Titles(
        f"confusion-{own_slug(judge)}",
        f"{judge} · {counted([found.n_items])}",
        f"Items by the raters' most frequent answer (rows) and that of {judge} (columns); tied "
        "answers count in equal parts.",
        x="judge",
        y="raters",
    )
    parts = [part for name in names for part in ([name] if len(name) <= SHORT else pieces(name))]
    widest = max(map(len, parts), default=0) * 7.0 + 14
    return heat(
        titles,
        [found.human[i] for i in rows],
        names,
        drawn,
        top=max((cell for row in drawn for cell in row), default=1.0),
        digits=0 if whole else 1,
        cell_width=min(max(46.0, widest), 110.0 if len(names) <= FEW else 46.0),
    )


def leniency_charts(v: Validation) -> list[Chart]:
    """Draw precision, recall and prevalence drift of every judge that has them."""
    kind = kinds(v)
    charts = []
    for name, title, reference in LENIENCY:
        rows = [
            dot_row(one.judge, one.leniency[name], kind[one.judge])
            for one in ordered(v)
            if name in one.leniency
        ]
        if rows:
            told = "; ".join(row.told for row in rows)
            found = (one.leniency[name] for one in ordered(v) if name in one.leniency)
            n_items = counted(one.n_used for one in found if one.value is not None)
            axis = f"{name.replace('_', ' ')}, {n_items}"
            titles = Titles(f"leniency-{slug(name)}", title, f"{title}. {told}.", x=axis)
            charts.append(dots(titles, rows, within=(-1.0, 1.0), reference=reference, width=340.0))
    return charts


def mode_rows(v: Validation) -> list[tuple[str, str, list[object]]]:
    """Return judge, measure, and its estimate in each of the three modes, None where undefined."""
    rows: list[tuple[str, str, list[object]]] = []
    for one in ordered(v):
        modes = (one.modes.exclude, one.modes.recode, one.modes.third_class)
        names = dict.fromkeys(name for mode in modes for name in mode)
        rows += [(one.judge, name, [mode.get(name) for mode in modes]) for name in names]
    return rows

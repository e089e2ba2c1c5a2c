"""Simulated figures as charts on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.extras.experiments.paper_figures import FIGURES
from harness.extras.experiments.simulation import over_cutoffs
from harness.report.charts import (
    HeatCells,
    IntervalRow,
    Series,
    Titles,
    heat_map,
    interval_chart,
    line_chart,
)
from harness.report.formatting import number
from harness.report.html.rendering import render
from harness.report.judge_charts import slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.extras.experiments.paper_figures import Size
    from harness.extras.experiments.simulation import ExperimentRow
    from harness.report.charts import Chart

STYLES = 8  # of line charts
COLUMN = 92.0  # size of a heat map, in pixels
WITHIN = (-1.0, 1.0)  # of every quantity
QUANTITIES = {
    "consistency_spearman": "Rank correlation with consistency",
    "absolute_bias_spearman": "Rank correlation with absolute bias",
    "spearman": "Rank correlation with the ranking without rater error",
}
NOTE = "Means over populations and cut-offs. Bars, and numbers after ±, are standard errors."
BY_CUTOFF = "Means over populations, with one line per cut-off. Bars are standard errors."


def figures_page(figures: Mapping[int, Sequence[ExperimentRow]], size: Size, seed: int) -> str:
    """Render simulated figures as a page of charts with standard errors."""
    model, parts = size.model, []
    for place, (figure, rows) in enumerate(figures.items()):
        charts = figure_charts(figure, rows)
        note = BY_CUTOFF if any(row.n_ratings and not row.metric for row in rows) else NOTE
        parts.append({"id": f"figure-{place}", "note": note, "tables": (), "charts": charts})
    space = model.space()
    sets = f"{len(space.options)} options and {len(space.sets)} response sets"
    effects = f"Gamma {_listed(model.Gammas)}, epsilon {_listed(model.epsilons)}"
    population = f"{size.n_items} items and {size.n_judges} judges"
    lead = (
        f"{sets}; {effects}, eta {_listed(model.etas)}, tau {_listed(model.taus)}.",
        f"{size.n_populations} populations per setting, each of {population}; seed {seed}.",
    )
    sections = [
        (str(part["id"]), f"Figure {figure}. {FIGURES[figure].title}")
        for part, figure in zip(parts, figures, strict=True)
    ]
    title = "Simulated judges and raters"
    return render(
        "figures.html.jinja",
        {"eyebrow": "simulation", "lead": lead, "parts": parts},
        block={"grid": None, "items": None},
        title=title,
        sections=sections,
    )


def figure_charts(figure: int, rows: Sequence[ExperimentRow]) -> list[Chart]:
    """Draw a figure as lines over ratings per item, as a heat map of metrics, or as intervals."""
    charts = []
    for quantity in dict.fromkeys(row.quantity for row in rows):
        chosen = [row for row in rows if row.quantity == quantity]
        if len({row.n_ratings for row in chosen}) > 1:
            charts += [
                _over_ratings(figure, [row for row in chosen if row.scenario == scenario])
                for scenario in dict.fromkeys(row.scenario for row in chosen)
            ]
        elif len({row.metric for row in chosen}) > 1:
            charts.append(_by_metric(figure, chosen))
        else:
            charts.append(_by_setting(figure, chosen))
    return charts


def _over_ratings(figure: int, rows: Sequence[ExperimentRow]) -> Chart:
    """Draw a line over ratings per item for each metric or, if there are no judges, cut-off."""
    quantity, scenario = _words(rows[0].quantity), rows[0].scenario
    ratings = list(dict.fromkeys(row.n_ratings for row in rows))
    lines: dict[str, list[ExperimentRow]] = {}
    for row in rows:
        name = row.metric or f"tau {row.tau:g}"
        lines.setdefault(name, []).append(row)
    series = []
    for i, (name, of_line) in enumerate(lines.items()):
        means = [over_cutoffs([row for row in of_line if row.n_ratings == n]) for n in ratings]
        points = tuple((float(place), value) for place, (value, _) in enumerate(means))
        spans = tuple(map(_span, means))
        series.append(Series(name, points, f"j{i % STYLES}", spans))
    titles = Titles(
        f"figure-{figure}-{slug(quantity)}-{slug(scenario)}",
        f"{quantity}: {scenario}",
        f"{quantity} by ratings per item: "
        + "; ".join(
            f"{line.name} {number(line.points[0][1])} to {number(line.points[-1][1])}"
            for line in series
        )
        + ".",
        x="ratings per item",
        y=quantity,
    )
    ticks = [(float(place), str(n)) for place, n in enumerate(ratings)]
    return line_chart(titles, series, within=WITHIN, ticks=ticks)


def _by_metric(figure: int, rows: Sequence[ExperimentRow]) -> Chart:
    """Draw a heat map of metrics by setting, with a standard error in each cell."""
    quantity = _words(rows[0].quantity)
    settings = list(dict.fromkeys(row.scenario for row in rows))
    metrics = list(dict.fromkeys(row.metric for row in rows))
    cells = [
        [
            over_cutoffs([r for r in rows if (r.scenario, r.metric) == (setting, metric)])
            for metric in metrics
        ]
        for setting in settings
    ]
    titles = Titles(
        f"figure-{figure}-{slug(quantity)}",
        quantity,
        f"{quantity} by setting and metric.",
        x="metric",
        y="setting",
    )
    return heat_map(
        titles,
        settings,
        metrics,
        HeatCells(
            [[value for value, _ in row] for row in cells],
            spans=[["" if e is None else f"± {e:.3f}" for _, e in row] for row in cells],
        ),
        cell_width=COLUMN,
    )


def _by_setting(figure: int, rows: Sequence[ExperimentRow]) -> Chart:
    """Draw each setting's mean with an interval of one standard error on either side."""
    quantity = _words(rows[0].quantity)
    drawn = []
    for setting in dict.fromkeys(row.scenario for row in rows):
        mean = over_cutoffs([row for row in rows if row.scenario == setting])
        drawn.append(IntervalRow(setting, mean[0], *(_span(mean) or (None, None))))
    titles = Titles(
        f"figure-{figure}-{slug(quantity)}",
        quantity,
        f"{quantity} by setting. {'; '.join(row.description for row in drawn)}.",
        x=quantity,
    )
    return interval_chart(titles, drawn, within=WITHIN)


def _span(mean: tuple[float | None, float | None]) -> tuple[float, float] | None:
    """Return the interval within one standard error of a mean, or None if undefined."""
    value, error = mean
    return None if value is None or error is None else (value - error, value + error)


def _words(quantity: str) -> str:
    return QUANTITIES.get(quantity) or quantity.replace("_", " ").capitalize()


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)

"""Draw sensitivity to beta and tau, and regret by metric."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.files.plain_text import counted, reach
from harness.report.charts import (
    Dot,
    HeatCells,
    Overlay,
    Region,
    Series,
    Titles,
    heat_map,
    line_chart,
)
from harness.report.judge_charts import (
    judge_lines,
    judge_styles,
    metric_label,
    n_items_used,
    slug,
)
from harness.report.words import GOAL_WORDS, READING
from harness.stats import METRICS, find_metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.analysis import Validation
    from harness.analysis.beta_grid import Grid
    from harness.report.charts import Chart
    from harness.stats import Regret
    from harness.stats.indeterminacy.sensitivity import BreakEven

DIGITS = 6  # digits of the sliders' values
RANK_CELL, REGRET_CELL = 64.0, 84.0
HALF_STEP = 0.025  # steps of tau, if only one cut-off was computed


def curve_charts(v: Validation) -> list[Chart]:
    """Draw each judge's decision consistency and absolute bias by beta, at the run's tau."""
    grid = swept_grid(v)
    if grid is None:
        return []
    surfaces = grid.judges
    tau = nearest_index(grid.taus, v.tau)
    biases = [unsigned("prevalence_bias", row) for s in surfaces.values() for row in s.bias]
    highest = max(_defined(biases), default=1.0)
    lowest = min(_defined([row for s in surfaces.values() for row in s.consistency]), default=0.0)
    consistency = {name: s.consistency[tau] for name, s in surfaces.items()}
    bias = {name: unsigned("prevalence_bias", s.bias[tau]) for name, s in surfaces.items()}
    return [
        _curves(v, grid, "decision_consistency", consistency, (lowest, 1.0)),
        _curves(v, grid, "prevalence_bias", bias, (0.0, highest)),
    ]


def _defined(rows: Iterable[Sequence[float | None]]) -> list[float]:
    return [value for row in rows for value in row if value is not None]


def unsigned(goal: str, values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return absolute values for a goal at which 0 is best, and other goals' values unchanged."""
    metric = find_metric(goal, METRICS)
    return tuple(None if value is None else float(metric.unsigned(value)) for value in values)


def nearest_index(grid: Sequence[float], value: float) -> int:
    """Return the index of the grid point closest to a value."""
    return min(range(len(grid)), key=lambda i: abs(grid[i] - value))


def _curves(
    v: Validation,
    grid: Grid,
    goal: str,
    values: dict[str, tuple[float | None, ...]],
    ends: tuple[float, float],
) -> Chart:
    even = v.sensitivity.break_evens.get(goal) if v.sensitivity else None
    styles, metric = judge_styles(v), find_metric(goal, METRICS)
    judges = [judge.name for judge in v.ranked_judges if judge.name in values]
    lines = judge_lines(v, {judge: (grid.betas, values[judge]) for judge in judges})
    estimates = [(j.beta.value, j.name, styles[j.name]) for j in v.ranked_judges]
    estimates.append((v.humans.beta.value, "raters", "rater"))
    dots = measured_dots(v, goal)
    name = f"absolute {GOAL_WORDS[goal]}" if metric.zero_is_best else GOAL_WORDS[goal]
    titles = Titles(
        slug(goal) + "-by-beta",
        f"{name} by beta".capitalize(),
        " ".join(
            [
                f"One line per judge, by the raters' beta, {READING[metric.better]}.",
                best_by_beta(even),
            ]
            + [f"{dot.name}: {dot.y:.3f}." for dot in dots]
        ).strip(),
        x=f"beta of the raters, {grid_items(v)}",
        y=name,
    )
    pieces = even.pieces if even else ()
    return line_chart(
        titles,
        lines,
        overlay=Overlay(
            rules=[(beta, f"{round(beta, 3):g}") for beta in (even.betas if even else ())],
            rug=[(beta, judge, style) for beta, judge, style in estimates if beta is not None],
            dots=dots,
            regions=[
                Region(
                    (piece.low, piece.high),
                    _winner_style(piece.winners, styles),
                    f"{_names(piece.winners)}: {piece.low:.3f} to {piece.high:.3f}",
                )
                for piece in pieces
            ],
        ),
        reach=ends,
    )


def measured_dots(v: Validation, goal: str) -> list[Dot]:
    """Return a dot for each judge's value, measured against the raters' own response sets.

    Empty without such sets.
    """
    beta, grid = v.humans.beta.value, swept_grid(v)
    if beta is None or grid is None or v.humans.sets.origin != "rated":
        return []
    styles = judge_styles(v)
    return [
        Dot(
            f"{judge.name}, measured on {counted([judge.metrics[goal].n_used])}",
            beta,
            value,
            styles[judge.name],
        )
        for judge in v.ranked_judges
        if judge.name in grid.judges
        for value in _defined([unsigned(goal, [judge.metrics[goal].value])])
    ]


def grid_items(v: Validation) -> str:
    """Format the number of items behind the judges' values at every beta and tau."""
    grid = v.sensitivity.grid if v.sensitivity else None
    return counted(surface.n_items for surface in grid.judges.values()) if grid else ""


def _winner_style(winners: Sequence[str], styles: dict[str, str]) -> str:
    return styles[winners[0]] if winners else "none"


def _names(winners: Sequence[str]) -> str:
    return " and ".join(winners) or "none, because no judge has a value"


def best_by_beta(even: BreakEven | None) -> str:
    """Name the best judge for each range of beta."""
    if even is None or not even.pieces:
        return ""
    parts = [f"{_names(p.winners)} from {p.low:.3f} to {p.high:.3f}" for p in even.pieces]
    return f"Best: {'; '.join(parts)}."


def swept_grid(v: Validation) -> Grid | None:
    """Return the grid over beta and tau, or None if no judge has a value on it."""
    grid = v.sensitivity.grid if v.sensitivity else None
    surfaces = grid.judges.values() if grid else ()
    rows = [row for surface in surfaces for row in (*surface.consistency, *surface.bias)]
    return grid if _defined(rows) else None


def slider_grid(v: Validation) -> dict[str, object] | None:
    """Return the values on the grid, for the page's sliders."""
    grid = swept_grid(v)
    if grid is None:
        return None
    judges = [judge for judge in v.ranked_judges if judge.name in grid.judges]
    beta = v.settings.beta if v.settings.beta is not None else v.humans.beta.value
    return {
        "judges": [judge.name for judge in judges],
        "items": grid_items(v),
        "betas": grid.betas,
        "taus": grid.taus,
        "consistency": [_rounded(grid.judges[judge.name].consistency) for judge in judges],
        "bias": [_rounded(grid.judges[judge.name].bias) for judge in judges],
        "tau": nearest_index(grid.taus, v.tau),
        "beta": nearest_index(grid.betas, 0.0 if beta is None else beta),
    }


def _rounded(rows: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    return [[None if x is None else round(x, DIGITS) for x in row] for row in rows]


def region_charts(v: Validation) -> list[Chart]:
    """Draw which judge is best at each beta and tau, for each goal."""
    if v.sensitivity is None or swept_grid(v) is None:
        return []
    return [_regions(v, goal, evens) for goal, evens in v.sensitivity.regions.items() if evens]


def _regions(v: Validation, goal: str, evens: Sequence[BreakEven]) -> Chart:
    styles = judge_styles(v)
    taus = [even.tau for even in evens]
    middles = [(low + high) / 2 for low, high in pairwise(taus)]
    margin = middles[0] - taus[0] if middles else HALF_STEP
    ends = max(taus[0] - margin, 0.0), min(taus[-1] + margin, 1.0)
    edges = list(pairwise([ends[0], *middles, ends[1]]))
    pieces = [(even, edge, p) for even, edge in zip(evens, edges, strict=True) for p in even.pieces]
    winners = dict.fromkeys(name for _, _, piece in pieces for name in piece.winners)
    titles = Titles(
        f"regions-{slug(goal)}",
        f"Best judge by {GOAL_WORDS.get(goal, goal)}",
        f"The best judge at each beta, for each cut-off from {taus[0]:g} to {taus[-1]:g}.",
        x=f"beta of the raters, {grid_items(v)}",
        y="tau",
    )
    regions = [
        Region(
            (piece.low, piece.high),
            _winner_style(piece.winners, styles),
            f"{piece.low:.3f}\u2013{piece.high:.3f}: {_names(piece.winners)}",
            edge,
        )
        for even, edge, piece in pieces
    ]
    chart = line_chart(
        titles,
        [Series(name, (), styles[name]) for name in winners],
        overlay=Overlay(regions=regions),
        reach=ends,
    )
    rows = tuple((even.tau, p.low, p.high, _names(p.winners)) for even, _, p in pieces)
    return replace(chart, columns=("tau", "beta from", "beta to", "best"), rows=rows)


def regret_charts(v: Validation) -> list[Chart]:
    """Draw the regret of selecting by each metric, with a chart per goal."""
    if v.choosing is None or not v.choosing.regret:
        return []
    goals = v.choosing.goals
    metrics = list(v.choosing.regret)
    cells = [[v.choosing.regret[metric][goal].value for goal in goals] for metric in metrics]
    if not _defined(cells):
        return []
    n_items = {
        name: reach(n_items_used(v, name, v.choosing.candidates)) for name in (*metrics, goals[0])
    }
    titles = Titles(
        "regret",
        "Regret of selecting by each metric",
        "Rows are selection metrics, with the number of items used. Columns are goals. "
        "Cells show the loss relative to the best judge for that goal, where 0 means no loss.",
        x=f"goal, on {n_items[goals[0]]} items",
        y="select by",
    )
    return [
        heat_map(
            titles,
            [metric_label(v, metric) for metric in metrics],
            [GOAL_WORDS.get(goal, goal) for goal in goals],
            HeatCells(cells),
            top=max(_defined(cells)) or 1.0,
            digits=3,
            cell_width=REGRET_CELL,
            row_counts=[n_items[metric] for metric in metrics],
        )
    ]


def regret_rows(v: Validation) -> list[tuple[str, str, Regret, str, str]]:
    """Return metric, goal, regret and item counts, for metrics with nonzero regret."""
    if v.choosing is None:
        return []
    regrets, judges = v.choosing.regret, v.choosing.candidates
    n_items = {name: reach(n_items_used(v, name, judges)) for name in (*regrets, *v.choosing.goals)}
    return [
        (metric, GOAL_WORDS.get(goal, goal), regret, n_items[metric], n_items[goal])
        for metric, by_goal in regrets.items()
        for goal, regret in by_goal.items()
        if regret.value
    ]

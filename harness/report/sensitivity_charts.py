"""Charts of what hangs on beta and tau, and of what choosing by each metric costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from harness.report.charts import LEVEL, Series, Titles, heat, lines, wrapped
from harness.report.formatting import counted, reach
from harness.report.judge_charts import GOAL_WORDS, in_order, is_usual, n_used, slug, styles
from harness.report.svg import Chart, Mark, Scale, box, clip, dot, label, line, tick

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.analysis import Validation
    from harness.stats.indeterminacy.break_even import BreakEven
    from harness.stats.selection.regret import Regret

PANEL = 230.0
SIDE_BY_SIDE = 13.0  # px between dots of equal ranks, where there is room
RANK_LABEL = 18.0  # px at least between two ranks that are written at an axis
NEXT_LINE = 14.0
KEY_NAME = 17.0  # px from the edge to a name in the key
KEY_APART = 4.0  # px between two names in the key
PLACES = 6  # digits of the numbers that the sliders step through
Axis = tuple[float, ...]
Ranks: TypeAlias = "dict[str, int | None]"


def curve_charts(v: Validation) -> list[Chart]:
    """Draw decision consistency and absolute bias of each judge over beta, at the run's tau."""
    if v.sensitivity is None or v.sensitivity.grid is None:
        return []
    grid = v.sensitivity.grid
    at = nearest(grid.taus, v.settings.tau)
    consistency = {name: one.consistency[at] for name, one in grid.judges.items()}
    bias = {name: absolute(one.bias[at]) for name, one in grid.judges.items()}
    surfaces = grid.judges.values()
    highest = max(_known(absolute(row) for one in surfaces for row in one.bias), default=1.0)
    lowest = min(_known(row for one in surfaces for row in one.consistency), default=0.0)
    return [
        _curves(v, grid.betas, "decision_consistency", consistency, (lowest, 1.0)),
        _curves(v, grid.betas, "prevalence_bias", bias, (0.0, highest)),
    ]


def _known(rows: Iterable[Sequence[float | None]]) -> list[float]:
    return [value for row in rows for value in row if value is not None]


def absolute(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return magnitudes; NA stays NA."""
    return tuple(None if value is None else abs(value) for value in values)


def nearest(grid: Sequence[float], value: float) -> int:
    """Return the index of the grid's point next to a value."""
    return min(range(len(grid)), key=lambda i: abs(grid[i] - value))


def _curves(
    v: Validation,
    betas: Axis,
    goal: str,
    values: dict[str, tuple[float | None, ...]],
    reach: tuple[float, float],
) -> Chart:
    assert v.sensitivity is not None
    style = styles(v)
    series = [
        Series(judge.name, tuple(zip(betas, values[judge.name], strict=True)), style[judge.name])
        for judge in in_order(v)
        if judge.name in values
    ]
    even = v.sensitivity.break_evens.get(goal)
    rug = [(j.beta.value, j.name, style[j.name]) for j in in_order(v) if j.beta.value is not None]
    if v.humans.beta.value is not None:
        rug.append((v.humans.beta.value, "raters", "rater"))
    better = "higher is better" if goal == "decision_consistency" else "lower is better"
    prefix = "" if goal == "decision_consistency" else "absolute "
    titles = Titles(
        slug(goal) + "-by-beta",
        f"{prefix}{GOAL_WORDS[goal]}".capitalize() + " by beta",
        f"One line per judge over beta of the raters, {better}. {winners_told(even)}",
        x=f"beta of the raters, {items_of_grid(v)}",
        y=f"{prefix}{GOAL_WORDS[goal]}",
    )
    return lines(
        titles,
        series,
        y_within=(0.0, 1.0),
        reach=reach,
        rules=[(beta, tick(round(beta, 3))) for beta in (even.betas if even else ())],
        rug=rug,
        band=_band(even, style),
        cursor=True,
        height=270.0,
    )


def items_of_grid(v: Validation) -> str:
    """Say how many items the judges' values at every beta and tau rest on."""
    grid = v.sensitivity.grid if v.sensitivity else None
    return counted(one.n_items for one in grid.judges.values()) if grid else ""


def _band(even: BreakEven | None, style: dict[str, str]) -> list[tuple[float, float, str, str]]:
    """Return the stretches of beta with who wins there, and in whose colour."""
    return [
        (p.low, p.high, style.get(p.winners[0], "b0") if p.winners else "none", _listed(p.winners))
        for p in (even.pieces if even else ())
    ]


def _listed(winners: Sequence[str]) -> str:
    return " and ".join(winners) or "NA"


def winners_told(even: BreakEven | None) -> str:
    """Say in words who wins over which beta."""
    if even is None or not even.pieces:
        return ""
    parts = [f"{_listed(p.winners)} from {p.low:.3f} to {p.high:.3f}" for p in even.pieces]
    return f"Best: {'; '.join(parts)}."


def grid_block(v: Validation) -> dict[str, object] | None:
    """Return what the sliders step through: numbers that were computed, in a fixed order."""
    if v.sensitivity is None or v.sensitivity.grid is None:
        return None
    grid = v.sensitivity.grid
    style = styles(v)
    judges = [judge for judge in in_order(v) if judge.name in grid.judges]
    supposed = v.settings.beta if v.settings.beta is not None else v.humans.beta.value
    return {
        "judges": [[j.name, style[j.name], j.baseline] for j in judges],
        "items": items_of_grid(v),
        "betas": grid.betas,
        "taus": grid.taus,
        "consistency": [_rounded(grid.judges[j.name].consistency) for j in judges],
        "bias": [_rounded(grid.judges[j.name].bias) for j in judges],
        "tau": nearest(grid.taus, v.settings.tau),
        "beta": nearest(grid.betas, 0.0 if supposed is None else supposed),
    }


def _rounded(rows: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    return [[None if x is None else round(x, PLACES) for x in row] for row in rows]


def region_charts(v: Validation) -> list[Chart]:
    """Draw who wins where, over beta and tau, for each goal."""
    if v.sensitivity is None or v.sensitivity.grid is None:
        return []
    taus = v.sensitivity.grid.taus
    regions = v.sensitivity.regions.items()
    return [_regions(v, goal, taus, evens) for goal, evens in regions if evens]


def _regions(v: Validation, goal: str, taus: Axis, evens: Sequence[BreakEven]) -> Chart:
    style = styles(v)
    left, right, top, each = 44.0, 356.0, 26.0, 11.0
    across = Scale(0.0, 1.0, left, right)
    bottom = top + each * len(evens)
    axis = f"beta of the raters, {items_of_grid(v)}"
    marks: list[Mark] = []
    for i, even in enumerate(reversed(evens)):
        y = top + each * i
        for piece in even.pieces:
            told = f"tau {even.tau:g}, beta {piece.low:.3f} to {piece.high:.3f}: "
            who = style.get(piece.winners[0], "b0") if piece.winners else "none"
            width = across(piece.high) - across(piece.low)
            title = told + _listed(piece.winners)
            marks.append(box(across(piece.low), y, width, each, f"region {who}", title=title))
        if i % 4 == (len(evens) - 1) % 4:
            marks.append(label(left - 6, y + each - 2, tick(even.tau), "tick y", anchor="end"))
    marks += [
        label(across(x), bottom + 15, tick(x), "tick x", anchor="middle")
        for x in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    marks.append(label((left + right) / 2, bottom + 31, axis, "small", anchor="middle"))
    marks.append(label(0, 14, "tau", "small"))
    winners = list(dict.fromkeys(w for e in evens for p in e.pieces for w in p.winners))
    for i, name in enumerate(winners[:8]):
        y = bottom + 50 + 17 * i
        marks += [
            box(left, y - 9, 11, 11, f"region {style.get(name, 'b0')}"),
            label(left + 17, y, clip(name, 280), "name"),
        ]
    rows = tuple((e.tau, p.low, p.high, _listed(p.winners)) for e in evens for p in e.pieces)
    return Chart(
        f"regions-{slug(goal)}",
        f"Who is best by {GOAL_WORDS.get(goal, goal)}",
        f"For each cut-off from {taus[0]:g} to {taus[-1]:g}, the best judge at each beta.",
        400.0,
        bottom + 44 + 17 * min(len(winners), 8),
        tuple(marks),
        ("tau", "beta from", "beta to", "best"),
        rows,
    )


def regret_charts(v: Validation) -> list[Chart]:
    """Draw what choosing by each metric costs on each goal."""
    if v.choosing is None or not v.choosing.regret:
        return []
    goals = v.choosing.goals
    rows = [metric for metric in v.choosing.regret if is_usual(v, metric)]
    cells = [[v.choosing.regret[m][g].value for g in goals] for m in rows]
    if not _known(cells):
        return []
    top = max(_known(cells)) or 1.0
    on = {name: reach(n_used(v, name, v.choosing.candidates)) for name in (*rows, goals[0])}
    titles = Titles(
        "regret",
        "Regret: what choosing by each metric costs",
        "Rows: the metric one selects by, with the items it rests on. Columns: the goal. Cells: "
        "loss against the best judge for that goal, 0 is none.",
        x=f"goal, on {on[goals[0]]} items",
        y="select by",
    )
    names = [GOAL_WORDS.get(goal, goal) for goal in goals]
    counts = [on[metric] for metric in rows]
    return [heat(titles, rows, names, cells, top=top, digits=3, cell_width=84.0, row_counts=counts)]


def regret_rows(v: Validation) -> list[tuple[str, str, Regret, str, str]]:
    """Return metric, goal, regret, and the items of both, of every metric, defined or not."""
    if v.choosing is None:
        return []
    regret, judges = v.choosing.regret, v.choosing.candidates
    on = {name: reach(n_used(v, name, judges)) for name in (*regret, *v.choosing.goals)}
    return [
        (metric, GOAL_WORDS.get(goal, goal), one, on[metric], on[goal])
        for metric, goals in regret.items()
        for goal, one in goals.items()
    ]


def facet_charts(v: Validation) -> list[Chart]:
    """Draw the rank by each usual metric, and by the one that ranks, against that by each goal."""
    if v.choosing is None:
        return []
    chosen = dict.fromkeys((v.settings.metric, *v.choosing.usual))
    orders = v.choosing.orders
    charts = [
        _facet(v, metric, goal)
        for goal in v.choosing.goals
        for metric in chosen
        if metric in orders and goal in orders and metric != goal
    ]
    return [chart for chart in charts if chart.rows]


def _facet(v: Validation, metric: str, goal: str) -> Chart:
    assert v.choosing is not None
    by = {p.judge: p.rank for p in v.choosing.orders[metric].places}
    down = {p.judge: p.rank for p in v.choosing.orders[goal].places}
    drawn = [j.name for j in in_order(v) if by.get(j.name) and down.get(j.name)]
    said, n = GOAL_WORDS.get(goal, goal), max(len(v.judges), 2)
    across, up = Scale(1, n, 46, PANEL - 22), Scale(1, n, 47, PANEL - 37)
    named = [(f"rank by {one}", counted(n_used(v, of, drawn)))
             for one, of in ((metric, metric), (said, goal))]  # fmt: skip
    told = {name: f"{name}: rank {by[name]} by {metric}, {down[name]} by {said}" for name in drawn}
    key, height = _key(drawn, styles(v), up(n) + 76)
    moved = [f"{name} ({by[name]} to {down[name]})" for name in drawn if by[name] != down[name]]
    alt = f"Ranks by {metric} against ranks by {said}; on the diagonal they agree. "
    alt += f"Moved: {', '.join(moved)}." if moved else "All agree."
    return Chart(
        f"ranks-{slug(metric)}-{slug(goal)}",
        f"{said} against {metric}",
        alt,
        PANEL,
        height,
        (
            *_rank_axes(across, up, n, named),
            *_placed(told, (by, down), (across, up), styles(v)),
            *key,
        ),
        ("judge", f"rank by {metric}", f"rank by {goal}"),
        tuple((name, by[name], down[name]) for name in drawn),
    )


def _rank_axes(
    across: Scale, up: Scale, n_ranks: int, named: Sequence[tuple[str, str]]
) -> list[Mark]:
    """Draw the diagonal, the ranks, and under each axis' name how many items it rests on."""
    marks = [line(across(1), up(1), across(n_ranks), up(n_ranks), "reference")]
    each = math.ceil(RANK_LABEL / (across(2) - across(1)))
    for rank in range(1, n_ranks + 1, each):
        marks.append(label(across(rank), up.end + 22, str(rank), "tick x", anchor="middle"))
        marks.append(label(24, up(rank) + 4, str(rank), "tick y", anchor="end"))
    middle = (across.start + across.end) / 2
    for i, (below, above) in enumerate(zip(*named, strict=True)):
        y = up.end + 40 + NEXT_LINE * i
        marks.append(label(middle, y, clip(below, PANEL - 16), "small", anchor="middle"))
        marks.append(label(0, 11 + NEXT_LINE * i, above, "small"))
    return marks


def _placed(
    told: dict[str, str],
    ranks: tuple[Ranks, Ranks],
    scales: tuple[Scale, Scale],
    style: dict[str, str],
) -> list[Mark]:
    """Draw a dot for each judge, and those of the same two ranks in a row.

    It goes from their place to the right, where equal ranks leave as many places free.
    """
    (by, down), (across, up) = ranks, scales
    apart = min(SIDE_BY_SIDE, across(2) - across(1))
    places: dict[tuple[int, int], list[str]] = {}
    for name in told:
        places.setdefault((by[name] or 0, down[name] or 0), []).append(name)
    marks: list[Mark] = []
    for (x, y), here in places.items():
        points = [(across(x) + apart * i, up(y)) for i in range(len(here))]
        marks += [
            dot(*point, f"dot {style[name]}", r=(apart - 1) / 2, title=told[name], of=name)
            for point, name in zip(points, here, strict=True)
        ]
    return marks


def _key(names: Sequence[str], style: dict[str, str], top: float) -> tuple[list[Mark], float]:
    """Name the dots below the drawing, whole; return the marks and where they end."""
    marks: list[Mark] = []
    for name in names:
        marks.append(dot(6, top - 4, f"dot {style[name]}", r=5))
        for part in wrapped(name, PANEL - KEY_NAME):
            marks.append(label(KEY_NAME, top, part, "name"))
            top += LEVEL
        top += KEY_APART
    return marks, top - LEVEL + KEY_APART

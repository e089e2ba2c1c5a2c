"""Plans for data collection: items, raters and replies for a target power."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_panel import design_of
from harness.analysis.annotator_variants import Annotators
from harness.analysis.estimates import prepare
from harness.analysis.option_scale import OptionScale
from harness.analysis.ratings import human_table, judge_table
from harness.errors import TaskError
from harness.report.charts import Series, Titles, line_chart
from harness.stats.planning.annotator_power import power_from_panel
from harness.stats.planning.planted import PlantedRaters
from harness.stats.planning.sample_size import (
    agreement_moments,
    power_for_difference,
    sample_size_for_difference,
)
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field need it
from harness.tasks.item import unit_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.analysis.inputs import Source
    from harness.report.charts import Chart
    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.planning.annotator_power import AnnotatorPower
    from harness.stats.planning.sample_size import AgreementMoments

N_STYLES = 8  # number of line styles
N_POINTS = 40  # points on a curve
REACH = 2.0  # curve length relative to the largest plan


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a human rating and of a judge's reply in USD, or None if unknown."""

    rating: float | None = None
    reply: float | None = None

    def cost(self, n_ratings: float, n_replies: float) -> float | None:
        """Return the cost of a data collection in USD, or None unless both prices are known."""
        if self.rating is None or self.reply is None:
            return None
        return n_ratings * self.rating + n_replies * self.reply


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A data collection that reaches the goal.

    Attributes
    ----------
    n_raters, n_replies : int
        Number of raters per item, and of replies per item and judge.
    sd : float or None
        Standard deviation over items of the estimated quantity.
    n_items, n_ratings, n_calls : int or None
        Numbers of items, human ratings, and calls to all judges.
    cost_usd : float or None
        Cost in USD, or None unless both prices are known.
    reason : str
        Reason for a missing number: "one_rating_per_item", "one_reply_per_item", or "no_variance".
    """

    n_raters: int
    n_replies: int
    sd: float | None = None
    n_items: int | None = None
    n_ratings: int | None = None
    n_calls: int | None = None
    cost_usd: float | None = None
    reason: Reason = ""


def moments_of(source: Source, names: Sequence[str]) -> AgreementMoments:
    """Return moments of a judge's agreement with raters, or of two judges' difference in it.

    Raises
    ------
    TaskError
        If fewer than two items are usable.
    """
    task, items = source.task, source.items
    task.require_options("a plan from ratings")
    tables = [judge_table(task, items, name, source.verdicts[name]) for name in names]
    if exact := [table.name for table in tables if "forced_choice" in table.exact]:
        raise TaskError(
            f"{exact[0]} returns distributions. Choose a judge that returns single replies."
        )
    counts = [table.choice_counts for table in tables]
    grouped = any(item.group is not None for item in items)
    clusters = np.array(unit_numbers(items)) if grouped else None
    try:
        return agreement_moments(human_table(task, items).choice_counts, *counts, groups=clusters)
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}. Choose other judges or items.") from None


def planted_raters_of(source: Source) -> PlantedRaters:
    """Return simulated raters with the option shares and agreement of a task's raters.

    Raises
    ------
    TaskError
        If the task has no options, or no item has two forced choices.
    """
    task = source.task
    task.require_options("a plan from ratings")
    raters = PlantedRaters.of_counts(human_table(task, source.items).choice_counts)
    if raters is None:
        raise TaskError(
            f"task {task.name}: no item has two forced choices, so rater agreement "
            "can't be estimated. Pass --rater-agreement."
        )
    return raters


def plan_difference(
    moments: AgreementMoments,
    delta: float,
    *,
    raters: Sequence[int],
    replies: Sequence[int],
    power: float,
    prices: Prices,
) -> tuple[PlanRow, ...]:
    """Plan the detection of a difference ``delta`` in two judges' agreement with a rater."""

    def items(sd: float) -> int | None:
        return sample_size_for_difference(
            sd, delta, design_effect=moments.design_effect, power=power
        )

    return _rows(moments, items, raters=raters, replies=replies, n_judges=2, prices=prices)


def _rows(
    moments: AgreementMoments,
    items: Callable[[float], int | None],
    *,
    raters: Sequence[int],
    replies: Sequence[int],
    n_judges: int,
    prices: Prices,
) -> tuple[PlanRow, ...]:
    rows = []
    for n_replies in replies:
        for n_raters in raters:
            sd = sqrt(moments.variance(n_raters, n_replies))
            n = None if isnan(sd) else items(sd)
            if n is None:
                rows.append(PlanRow(n_raters, n_replies, reason=_reason(moments, sd, n_raters)))
                continue
            n_ratings, n_calls = n * n_raters, n * n_replies * n_judges
            cost = prices.cost(n_ratings, n_calls)
            rows.append(PlanRow(n_raters, n_replies, sd, n, n_ratings, n_calls, cost))
    return tuple(rows)


def _reason(moments: AgreementMoments, sd: float, n_raters: int) -> Reason:
    if not isnan(sd):
        return "no_variance"
    if n_raters > 1 and isnan(moments.other_rater):
        return "one_rating_per_item"
    return "one_reply_per_item"


def cheapest(rows: Sequence[PlanRow]) -> PlanRow | None:
    """Return the cheapest row or, without prices, the row with the fewest ratings."""
    planned = [row for row in rows if row.n_items is not None]

    def expense(row: PlanRow) -> tuple[float, int, int]:
        ratings, calls = row.n_ratings or 0, row.n_calls or 0
        return (ratings if row.cost_usd is None else row.cost_usd, ratings, calls)

    return min(planned, key=expense, default=None)


def annotator_plan(
    source: Source,
    name: str,
    *,
    raters: Sequence[int],
    items: Sequence[int],
    n_draws: int,
    n_contenders: int = 1,
) -> tuple[AltTestDesign, tuple[AnnotatorPower, ...]]:
    """Estimate the power of a judge's annotator test from subsamples of a task's ratings.

    Returns
    -------
    design : AltTestDesign
        The task's design.
    results : tuple of AnnotatorPower
        Powers, in order of the number of raters, then of items.

    Raises
    ------
    TaskError
        If the task doesn't identify raters or has too few.
    """
    source.task.require_options("a plan from ratings")
    prepared = prepare(source)
    scale = OptionScale.of(source.task)
    annotators = Annotators.of(prepared, scale)
    design = design_of(prepared.task, scale)
    rng = np.random.default_rng(source.settings.seed)
    try:
        results = [
            power_from_panel(
                annotators.panel,
                annotators.verdicts[name],
                design,
                n_raters=n_raters,
                n_items=items,
                rng=rng,
                n_draws=n_draws,
                n_contenders=n_contenders,
            )
            for n_raters in raters
        ]
    except ValueError as error:
        raise TaskError(f"task {source.task.name}: {error}.") from None
    return design, tuple(row for rows in results for row in rows)


def difference_chart(
    moments: AgreementMoments, rows: Sequence[PlanRow], delta: float, power: float
) -> Chart:
    """Draw power against the number of items, with a line per combination of raters and replies."""

    def value(sd: float, n: float) -> float:
        return power_for_difference(sd, delta, n, design_effect=moments.design_effect)

    titles = Titles(
        "plan-difference",
        f"Power to detect a difference of {delta:g}",
        f"Power over the number of items; {power:g} is reached at {_reached(rows)}.",
        x="items",
        y="power",
    )
    return line_chart(titles, _curves(rows, value), reach=(0.0, power, 1.0))


def annotator_chart(results: Sequence[AnnotatorPower], name: str, eps: float) -> Chart:
    """Draw the judge's recommendation and pass rates against the number of items."""
    series = []
    for i, n_raters in enumerate(dict.fromkeys(row.n_raters for row in results)):
        rows = [row for row in results if row.n_raters == n_raters]
        curves = (
            ("recommended", tuple((float(row.n_items), row.use) for row in rows)),
            ("passes", tuple((float(row.n_items), row.power) for row in rows)),
            ("winning rate", tuple((float(row.n_items), row.winning_rate) for row in rows)),
            ("advantage", tuple((float(row.n_items), row.advantage) for row in rows)),
        )
        for j, (quantity, points) in enumerate(curves):
            style = f"j{(len(curves) * i + j) % N_STYLES}"
            series.append(Series(f"{quantity}, {n_raters} raters", points, style))
    titles = Titles(
        "plan-annotators",
        f"Annotator test of {name} at eps {eps:g}",
        "; ".join(
            (
                f"recommended in a share of {row.use or 0.0:.2f} with {row.n_raters} raters and "
                f"{row.n_items} items"
            )
            for row in results
        )
        + ".",
        x="items",
        y=f"mean over {results[0].n_draws} draws",
    )
    return line_chart(titles, series, reach=(0.0, 1.0))


def _curves(rows: Sequence[PlanRow], value: Callable[[float, float], float]) -> list[Series]:
    planned = [row for row in rows if row.n_items is not None and row.sd is not None]
    most = REACH * max((row.n_items or 0 for row in planned), default=1)
    sizes = np.linspace(max(2.0, most / N_POINTS), max(3.0, most), N_POINTS).tolist()
    return [
        Series(
            _combination(row),
            tuple((n, value(row.sd or 0.0, n)) for n in sizes),
            f"j{i % N_STYLES}",
        )
        for i, row in enumerate(planned)
    ]


def _combination(row: PlanRow) -> str:
    raters = f"{row.n_raters} rater{'s' if row.n_raters > 1 else ''}"
    return f"{raters}, {row.n_replies} repl{'ies' if row.n_replies > 1 else 'y'}"


def _reached(rows: Sequence[PlanRow]) -> str:
    planned = [row for row in rows if row.n_items is not None]
    return "; ".join(f"{row.n_items} items with {_combination(row)}" for row in planned) or "none"

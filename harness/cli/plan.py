"""`harness plan`: estimate how many items, raters and replies a study needs."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, show, write
from harness.curation.collecting.plan_options import (
    AnnotatorDesign,
    Basis,
    DifferenceBasis,
    DifferenceDesign,
    PlanOutput,
    PriceOptions,
)
from harness.options.concerns import Seed
from harness.options.declaration import leave_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from harness.analysis.inputs import Source
    from harness.curation.collecting.collection_plan import PlanRow, Prices
    from harness.report.charts import Chart
    from harness.stats.planning.annotator_power import AnnotatorPower
    from harness.stats.planning.planted import PlantedJudge, PlantedRaters
    from harness.stats.planning.sample_size import AgreementMoments

NOT_NAMED = "assumed judges have no names. Leave out the names, or pass verdicts"
app = typer.Typer(cls=options.Group, rich_markup_mode=None)


@app.callback()
def plan() -> None:
    """Plan how many items, raters and replies you need for the power you want.

    \b
    Examples:
      harness plan difference 0.05 --task ./mine --verdicts verdicts.csv
      harness plan annotators --task ./mine --verdicts verdicts.csv --judge gpt
    """


@app.command(short_help="Plan to tell two judges apart.")
@takes
def difference(
    delta: Annotated[
        float,
        typer.Argument(
            metavar="DIFFERENCE", help="Difference in agreement with raters, such as 0.05."
        ),
    ],
    *,
    basis: DifferenceBasis,
    design: DifferenceDesign,
    prices: PriceOptions,
    output: PlanOutput,
) -> None:
    """Plan to detect a difference between two judges' agreement with a rater.

    The variance comes from ratings and verdicts that you have, or from simulated raters and judges
    as in `harness lab selftest`. Simulated raters are like a task's, or choose between two options,
    and simulated judges have the agreement you assume. The test is two-sided at 5 %, on the paired
    difference per item.

    \b
    Examples:
      harness plan difference 0.05 --task TASK --verdicts FILE --judges gpt,claude
      harness plan difference 0.05 --task TASK --agreement 0.75
      harness plan difference 0.05 --agreement 0.75 --rater-agreement 0.8
    """
    from harness.curation.collecting.collection_plan import difference_chart, plan_difference

    if not 0 < delta < 1:
        raise typer.BadParameter("expected a difference between 0 and 1", param_hint="DIFFERENCE")
    if (planted := _planted_raters(basis)) is not None:
        from harness.stats.planning.planted import planted_moments

        leave_out(design.model_fields_set & {"compared_judges"}, NOT_NAMED)
        worse, better = (
            _planted_judge(
                planted, basis, better_by=by, self_consistency=basis.assumed_self_consistency
            )
            for by in (0.0, delta)
        )
        moments = planted_moments(planted, better, worse)
    else:
        moments = _estimated_moments(basis, design.compared_judges, n_judges=2)
    rows = plan_difference(
        moments,
        delta,
        raters=design.numbers_of_raters,
        replies=design.numbers_of_replies,
        power=design.power,
        prices=_prices(prices),
    )
    goal = f"A power of {design.power:g} for a difference of {delta:g} in agreement with a rater"
    _write_chart(output.chart, lambda: difference_chart(moments, rows, delta, design.power))
    _show_plan(goal, moments, rows, as_json=output.as_json)


@app.command(short_help="Plan the alternative annotator test.")
@takes
def annotators(
    *,
    basis: Basis,
    design: AnnotatorDesign,
    prices: PriceOptions,
    seed: Seed,
    output: PlanOutput,
) -> None:
    """Estimate how often a judge is recommended, by numbers of raters and items.

    A judge is recommended if it passes the alternative annotator test in the first validation on
    new items, and doesn't look like a copy of a rater. With verdicts, the task's raters are drawn
    without replacement and its items with replacement (Calderon et al. 2025, figure 2). Without
    verdicts, ratings come from simulated raters and a simulated judge, as in `harness lab
    selftest`.

    \b
    Examples:
      harness plan annotators --task TASK --verdicts FILE --judge gpt
      harness plan annotators --agreement 0.8 --rater-agreement 0.75 --eps 0.1
    """
    from harness.curation.collecting.collection_plan import annotator_chart, annotator_plan

    sizes = {"raters": design.numbers_of_raters, "items": design.numbers_of_items}
    eps, draws = design.eps, design.draws
    if min(sizes["raters"]) < 2:  # noqa: PLR2004 -- a rater is compared with another
        raise typer.BadParameter("the test needs 2 raters or more", param_hint="--raters")
    if eps is not None and basis.task is not None:
        leave_out(("eps",), "the margin comes from task.yaml")
    if (planted := _planted_raters(basis)) is not None:
        leave_out(design.model_fields_set & {"planned_judge"}, NOT_NAMED)
        if basis.task is not None:
            from harness.analysis.annotator_panel import eps_of

            eps = eps_of(_source(basis).task)
        if eps is None:
            raise typer.BadParameter("assumed rates need a margin", param_hint="--eps")
        name, origin = "the judge", "assumed rates"
        judge = _planted_judge(planted, basis)
        results = _planted_power(
            planted,
            judge,
            eps,
            **sizes,
            n_draws=draws,
            n_contenders=design.contenders,
            seed=seed.seed,
        )
    else:
        source = _source(basis, seed.seed)
        named = None if design.planned_judge is None else (design.planned_judge,)
        (name,) = _chosen(source, named, 1)
        tested, results = annotator_plan(
            source, name, **sizes, n_draws=draws, n_contenders=design.contenders
        )
        eps, origin = tested.eps, f"{len(source.items)} items"
        if any(item.group for item in source.items):
            origin += ", drawn as if they were independent, although they belong to groups"
    _write_chart(output.chart, lambda: annotator_chart(results, name, eps))
    if output.as_json:
        echo_json([asdict(row) for row in results])
        return
    echo(
        f"Annotator test of {name} at eps {eps:g}, {draws} random draws of raters and items "
        f"({origin}):"
    )
    _show_power(results, _prices(prices))
    echo(_verdict(results, design.power))


def _prices(options: PriceOptions) -> Prices:
    from harness.curation.collecting.collection_plan import Prices

    return Prices(rating=options.cost_of_rating, reply=options.cost_of_reply)


def _planted_raters(basis: Basis) -> PlantedRaters | None:
    """Return simulated raters, or None if there are verdicts to plan with."""
    task, raters = basis.task, basis.assumed_rater_agreement
    if basis.verdicts is not None:
        if task is None:
            raise typer.BadParameter("--verdicts needs a task. Add --task")
        return None
    if basis.assumed_agreement is None or (task is None) == (raters is None):
        raise typer.BadParameter(
            "pass --task and --verdicts, or assume --agreement with either --task or "
            "--rater-agreement"
        )
    from harness.curation.collecting.collection_plan import planted_raters_of
    from harness.stats.planning.planted import PlantedRaters

    return (
        planted_raters_of(_source(basis)) if raters is None else PlantedRaters((0.5, 0.5), raters)
    )


def _planted_judge(
    raters: PlantedRaters, basis: Basis, *, better_by: float = 0.0, self_consistency: float = 1.0
) -> PlantedJudge:
    from harness.stats.planning.planted import PlantedJudge

    agreement = (basis.assumed_agreement or 0.0) + better_by
    try:
        return PlantedJudge.that_agrees(raters, agreement, self_consistency=self_consistency)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--agreement") from None


def _planted_power(
    planted: PlantedRaters,
    judge: PlantedJudge,
    eps: float,
    *,
    raters: Sequence[int],
    items: Sequence[int],
    n_draws: int,
    n_contenders: int,
    seed: int,
) -> tuple[AnnotatorPower, ...]:
    import numpy as np

    from harness.stats import AltTestDesign
    from harness.stats.planning.annotator_power import power_from_planted

    rng, design = np.random.default_rng(seed), AltTestDesign(score="accuracy", eps=eps)
    rows = [
        power_from_planted(
            planted,
            judge,
            design,
            n_raters=m,
            n_items=items,
            rng=rng,
            n_draws=n_draws,
            n_contenders=n_contenders,
        )
        for m in raters
    ]
    return tuple(row for of_raters in rows for row in of_raters)


def _source(basis: Basis, seed: int = 0) -> Source:
    from harness.options.concerns import Validating
    from harness.runs.sources import source_of_verdicts

    chosen = Validating(criterion=basis.criterion, seed=seed)
    return source_of_verdicts(options.required_task(basis.task), basis.verdicts, chosen)


def _estimated_moments(
    basis: Basis, names: Sequence[str] | None, *, n_judges: int
) -> AgreementMoments:
    from harness.curation.collecting.collection_plan import moments_of

    source = _source(basis)
    return moments_of(source, _chosen(source, names, n_judges))


def _chosen(source: Source, names: Sequence[str] | None, n_judges: int) -> list[str]:
    """Return the named judges. Without names, return all judges if there are exactly enough."""
    available = list(source.verdicts)
    chosen = list(names or available)
    if len(chosen) != n_judges or not set(chosen) <= set(available):
        wanted, hint = ("one judge", "--judge") if n_judges == 1 else ("two judges", "--judges")
        raise typer.BadParameter(
            f"name {wanted} from the verdicts ({', '.join(available)})", param_hint=hint
        )
    return chosen


def _show_plan(
    goal: str, moments: AgreementMoments, rows: Sequence[PlanRow], *, as_json: bool
) -> None:
    from harness.curation.collecting.collection_plan import cheapest

    if as_json:
        basis = {name: _defined(value) for name, value in asdict(moments).items()}
        described = {"goal": goal, "basis": basis, "rows": [asdict(row) for row in rows]}
        echo_json(described)
        return
    n = moments.n_items
    variance = "assumed rates" if n is None else f"the variance of {n} items"
    effect = moments.design_effect
    clusters = f", times {effect:.2f} for their groups" if effect > 1 else ""
    echo(f"{goal}, by {variance}{clusters}:")
    least = cheapest(rows)
    priced = any(row.cost_usd is not None for row in rows)
    show([_line(row, priced=priced, least=row is least) for row in rows])


def _line(row: PlanRow, *, priced: bool, least: bool) -> Mapping[str, object]:
    from harness.report.formatting import reason_words

    line: dict[str, object] = {
        "raters": row.n_raters,
        "samples": row.n_replies,
        "items": _count(row.n_items),
        "ratings": _count(row.n_ratings),
        "calls": _count(row.n_calls),
    }
    if priced:
        line["USD"] = "NA" if row.cost_usd is None else f"{row.cost_usd:.2f}"
    remark = "least cost" if row.cost_usd is not None else "fewest ratings"
    return line | {"note": reason_words(row.reason) or (remark if least else "")}


def _defined(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


def _count(n: int | None) -> str:
    return "NA" if n is None else str(n)


def _show_power(results: Sequence[AnnotatorPower], prices: Prices) -> None:
    lines = []
    for row in results:
        cost = prices.cost(row.n_ratings, row.n_items)
        use, interval = row.use, row.use_interval
        assert use is not None, "simulated"
        assert interval is not None, "simulated"
        line = {
            "raters": row.n_raters,
            "items": row.n_items,
            "recommended": f"{use:.2f} [{interval.low:.2f}, {interval.high:.2f}]",
            "passes": f"{row.power:.2f}",
            "winning rate": "NA" if row.winning_rate is None else f"{row.winning_rate:.2f}",
            "advantage": f"{row.advantage:.2f} [{row.advantage_low:.2f}, {row.advantage_high:.2f}]",
            "ratings": f"{row.n_ratings:.0f}",
            "tested": f"{row.n_testable}/{row.n_draws}",
        }
        lines.append(line if cost is None else line | {"USD": f"{cost:.2f}"})
    show(lines)


def _verdict(results: Sequence[AnnotatorPower], power: float) -> str:
    enough = [row for row in results if row.use_interval and row.use_interval.low >= power]
    if not enough:
        return (
            "None of these numbers of raters and items is shown to get the judge recommended in "
            f"{power:.0%} of studies (lower end of the interval)."
        )
    least = min(enough, key=lambda row: (row.n_ratings, row.n_items))
    return (
        f"Fewest ratings with which the judge is recommended in {power:.0%} of studies (lower "
        f"end of the interval): {least.n_raters} raters, {least.n_items} items."
    )


def _write_chart(file: Path | None, draw: Callable[[], Chart]) -> None:
    from harness.report.html.rendering import standalone_svg

    if file is not None:
        write(file, standalone_svg(draw()))

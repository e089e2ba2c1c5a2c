"""`harness plan`: how many items, raters and replies a study needs."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.binding import group
from harness.cli.output import echo, echo_json, show, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.curation.collection_plan import PlanRow, Prices
    from harness.report.charts import Chart
    from harness.stats.planning.annotator_power import AnnotatorPower
    from harness.stats.planning.planted import PlantedJudge, PlantedRaters
    from harness.stats.planning.sample_size import AgreementMoments

app = typer.Typer(
    help="Plan items, raters and replies for a wanted power or interval width.",
    cls=options.Group,
    rich_markup_mode=None,
)
Verdicts = Annotated[
    Path | None,
    typer.Option(help="Verdicts on the task's items: jsonl, csv or parquet, also of a run."),
]
Judge = Annotated[
    str | None, typer.Option(help="Judge in the verdicts; not needed if there is only one.")
]
Agreement = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Without verdicts: how often the judge agrees with a rater."),
]
RaterAgreement = Annotated[
    float | None,
    typer.Option(min=0.5, max=1, help="Without a task: how often two raters agree (2 options)."),
]
SelfConsistency = Annotated[
    float,
    typer.Option(
        min=0.5, max=1, help="Without verdicts: how often two replies of a judge to an item agree."
    ),
]
BASIS: dict[str, Any] = {
    "task": options.Task,
    "verdicts": Verdicts,
    "criterion": options.Criterion,
    "agreement": Agreement,
    "rater_agreement": RaterAgreement,
}
Raters = Annotated[str, typer.Option(help="Numbers of raters per item, comma-separated.")]
Samples = Annotated[
    str, typer.Option(help="Numbers of replies per item and judge, comma-separated.")
]
Power = Annotated[float, typer.Option(min=0.5, max=0.999, help="Wanted power.")]
PRICES: dict[str, Any] = {
    "rating": Annotated[
        float | None, typer.Option("--rating-cost", min=0, help="Cost of a human rating in USD.")
    ],
    "reply": Annotated[
        float | None, typer.Option("--reply-cost", min=0, help="Cost of a judge's reply in USD.")
    ],
}
ChartFile = Annotated[Path | None, typer.Option("--chart", help="Write a chart as SVG.")]


@app.callback()
def plan() -> None:
    """Plan items, raters and replies for a wanted power or interval width."""


@app.command(short_help="Plan to tell two judges apart.")
@group("basis", BASIS)
@group("prices", PRICES)
def difference(
    delta: Annotated[
        float,
        typer.Argument(metavar="DIFFERENCE", help="In agreement with a rater, such as 0.05."),
    ],
    *,
    basis: dict[str, Any],
    judges: Annotated[
        str | None, typer.Option(help="Two judges; not needed if the verdicts hold just two.")
    ] = None,
    self_consistency: SelfConsistency = 1.0,
    raters: Raters = "1,2,3,5",
    samples: Samples = "1",
    power: Power = 0.8,
    prices: dict[str, Any],
    chart: ChartFile = None,
    as_json: options.Json = False,
) -> None:
    """Plan to detect a difference between two judges' agreement with a rater.

    The variance comes from ratings and verdicts at hand, or from planted raters and judges as
    those of `harness selftest`: raters as in a task, or of two options, and judges as assumed. The
    test is two-sided at 5 %, on the paired difference per item.

    \b
    Examples:
      harness plan difference 0.05 --task TASK --verdicts FILE --judges gpt,claude
      harness plan difference 0.05 --task TASK --agreement 0.75
      harness plan difference 0.05 --agreement 0.75 --rater-agreement 0.8
    """
    from harness.curation.collection_plan import Prices, difference_chart, plan_difference

    if not 0 < delta < 1:
        raise typer.BadParameter("expected a difference between 0 and 1", param_hint="DIFFERENCE")
    if (planted := _planted_raters(basis, self_consistency)) is not None:
        from harness.stats.planning.planted import planted_moments

        better, worse = (
            _planted_judge(planted, agreement, self_consistency)
            for agreement in (basis["agreement"] + delta, basis["agreement"])
        )
        moments = planted_moments(planted, better, worse)
    else:
        moments = _estimated_moments(basis, judges, n_judges=2)
    rows = plan_difference(
        moments,
        delta,
        raters=_numbers(raters, "--raters"),
        replies=_numbers(samples, "--samples"),
        power=power,
        prices=Prices(**prices),
    )
    goal = f"A power of {power:g} for a difference of {delta:g} in agreement with a rater"
    _write_chart(chart, lambda: difference_chart(moments, rows, delta, power))
    _show_plan(goal, moments, rows, as_json=as_json)


@app.command(short_help="Plan the alternative annotator test.")
@group("basis", BASIS)
@group("prices", PRICES)
def annotators(
    *,
    basis: dict[str, Any],
    judge: Judge = None,
    eps: Annotated[
        float | None, typer.Option(min=0, max=0.99, help="Without verdicts: margin of the test.")
    ] = None,
    raters: Raters = "3",
    items: Annotated[
        str, typer.Option(help="Numbers of items, comma-separated.")
    ] = "30,50,100,150,200",
    draws: Annotated[int, typer.Option(min=10, help="Draws of raters and items.")] = 100,
    power: Power = 0.8,
    prices: dict[str, Any],
    seed: options.Seed = 0,
    chart: ChartFile = None,
    as_json: options.Json = False,
) -> None:
    """Estimate the power of the alternative annotator test by raters and items.

    With verdicts, raters are drawn from the task's without replacement and items with replacement
    (Calderon et al. 2025, figure 2). Without, new ones are drawn from planted raters and a judge,
    as those of `harness selftest`.

    \b
    Examples:
      harness plan annotators --task TASK --verdicts FILE --judge gpt
      harness plan annotators --agreement 0.8 --rater-agreement 0.75 --eps 0.1
    """
    from harness.curation.collection_plan import Prices, annotator_chart, annotator_plan

    sizes = {"raters": _numbers(raters, "--raters"), "items": _numbers(items, "--items")}
    if min(sizes["raters"]) < 2:  # noqa: PLR2004 -- a rater is compared with another
        raise typer.BadParameter("the test needs 2 raters or more", param_hint="--raters")
    if eps is not None and basis["task"] is not None:
        raise typer.BadParameter("the margin is that of task.yaml", param_hint="--eps")
    if (planted := _planted_raters(basis)) is not None:
        if basis["task"] is not None:
            from harness.analysis.rater_replacement import eps_of

            eps = eps_of(_source(basis).task)
        if eps is None:
            raise typer.BadParameter("assumed rates need a margin", param_hint="--eps")
        name, origin = "the judge", "assumed rates"
        answers = _planted_judge(planted, basis["agreement"])
        results = _planted_power(planted, answers, eps, **sizes, n_draws=draws, seed=seed)
    else:
        source = _source(basis, seed)
        (name,) = _chosen(source, judge, 1)
        design, results = annotator_plan(source, name, **sizes, n_draws=draws)
        eps, origin = design.eps, f"{len(source.items)} items"
        if any(item.group for item in source.items):
            origin += ", drawn as if they were independent although they come in groups"
    _write_chart(chart, lambda: annotator_chart(results, name, eps))
    if as_json:
        echo_json([asdict(row) for row in results])
        return
    echo(f"Annotator test of {name} at eps {eps:g}, {draws} draws of raters and items ({origin}):")
    _show_power(results, Prices(**prices))
    echo(_verdict(results, power))


def _planted_raters(
    basis: Mapping[str, Any], self_consistency: float = 1.0
) -> PlantedRaters | None:
    """Return planted raters: as in a task, or as assumed; None where verdicts are at hand."""
    task, agreement, raters = (basis[name] for name in ("task", "agreement", "rater_agreement"))
    if basis["verdicts"] is not None:
        if agreement is not None or raters is not None or self_consistency != 1.0:
            raise typer.BadParameter("name verdicts, or assume how judges answer, not both")
        if task is None:
            raise typer.BadParameter("verdicts need a --task")
        return None
    if agreement is None or (task is None) == (raters is None):
        raise typer.BadParameter(
            "name --task and --verdicts, or assume --agreement, with --task or --rater-agreement"
        )
    from harness.curation.collection_plan import planted_raters_of
    from harness.stats.planning.planted import PlantedRaters

    return PlantedRaters((0.5, 0.5), raters) if task is None else planted_raters_of(_source(basis))


def _planted_judge(
    raters: PlantedRaters, agreement: float, self_consistency: float = 1.0
) -> PlantedJudge:
    from harness.stats.planning.planted import PlantedJudge

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
    seed: int,
) -> tuple[AnnotatorPower, ...]:
    import numpy as np

    from harness.stats import AltTestDesign
    from harness.stats.planning.annotator_power import power_from_planted

    rng, design = np.random.default_rng(seed), AltTestDesign(score="accuracy", eps=eps)
    rows = [
        power_from_planted(
            planted, judge, design, n_raters=m, n_items=items, rng=rng, n_draws=n_draws
        )
        for m in raters
    ]
    return tuple(row for of_raters in rows for row in of_raters)


def _source(basis: Mapping[str, Any], seed: int = 0) -> Source:
    from harness.command_options import Validating
    from harness.sources import source_of_verdicts

    criterion = basis["criterion"]
    return source_of_verdicts(
        basis["task"], basis["verdicts"], Validating(criterion=criterion, seed=seed)
    )


def _estimated_moments(
    basis: Mapping[str, Any], names: str | None, *, n_judges: int
) -> AgreementMoments:
    from harness.curation.collection_plan import moments_of

    source = _source(basis)
    return moments_of(source, _chosen(source, names, n_judges))


def _chosen(source: Source, names: str | None, n_judges: int) -> list[str]:
    """Return the judges that are named, or all if there are no more than needed."""
    hint = "--judge" if n_judges == 1 else "--judges"
    available = list(source.verdicts)
    chosen = options.split(names, hint) or available
    if len(chosen) != n_judges or not set(chosen) <= set(available):
        wanted = "one judge" if n_judges == 1 else "two judges"
        raise typer.BadParameter(
            f"name {wanted} of the verdicts ({', '.join(available)})", param_hint=hint
        )
    return chosen


def _numbers(text: str, option: str) -> list[int]:
    """Read comma-separated counts, in ascending order."""
    try:
        numbers = sorted({int(part) for part in options.split(text, option) or ()})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise typer.BadParameter(
            f"{text!r}: expected whole numbers from 1, such as 1,3", param_hint=option
        )
    return numbers


def _show_plan(
    goal: str, moments: AgreementMoments, rows: Sequence[PlanRow], *, as_json: bool
) -> None:
    from harness.curation.collection_plan import cheapest

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
    return line | {"note": row.reason.replace("_", " ") or (remark if least else "")}


def _defined(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


def _count(n: int | None) -> str:
    return "NA" if n is None else str(n)


def _show_power(results: Sequence[AnnotatorPower], prices: Prices) -> None:
    lines = []
    for row in results:
        cost = prices.cost(row.n_ratings, row.n_items)
        interval = row.power_interval
        line = {
            "raters": row.n_raters,
            "items": row.n_items,
            "power": f"{row.power:.2f} [{interval.low:.2f}, {interval.high:.2f}]",
            "winning rate": "NA" if row.winning_rate is None else f"{row.winning_rate:.2f}",
            "advantage": f"{row.advantage:.2f} [{row.advantage_low:.2f}, {row.advantage_high:.2f}]",
            "ratings": f"{row.n_ratings:.0f}",
            "tested": f"{row.n_testable}/{row.n_draws}",
        }
        lines.append(line if cost is None else line | {"USD": f"{cost:.2f}"})
    show(lines)


def _verdict(results: Sequence[AnnotatorPower], power: float) -> str:
    enough = [row for row in results if row.power_interval.low >= power]
    if not enough:
        return f"No size is shown to reach a power of {power:g} (lower end of the interval)."
    least = min(enough, key=lambda row: (row.n_ratings, row.n_items))
    return (
        f"Fewest ratings that reach a power of {power:g} (lower end of the interval): "
        f"{least.n_raters} raters, {least.n_items} items."
    )


def _write_chart(file: Path | None, draw: Callable[[], Chart]) -> None:
    from harness.report.html.page import standalone_svg

    if file is not None:
        write(file, standalone_svg(draw()))

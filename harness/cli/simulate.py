"""`harness lab simulate`: repeat published synthetic experiments and print the results."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, show, write
from harness.errors import HarnessError
from harness.extras.experiments.simulation import over_cutoffs
from harness.extras.experiments.simulation_options import SimulationOptions
from harness.options.concerns import Json, Seed
from harness.options.result_options import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.extras.experiments.simulation import ExperimentRow


@takes
def simulate(
    figures: Annotated[
        list[int] | None, typer.Argument(help="Figures to repeat: 4, 5, 6, 10 to 15. Default: 4.")
    ] = None,
    *,
    model: SimulationOptions,
    page: Page,
    seed: Seed,
    printing: Json,
) -> None:
    """Select judges by each metric in simulated populations (Guerdan et al. 2025, section 6).

    The rating model generates raters and judges. The experiments vary task specification, selection
    effects (shared or not by humans and judges), rater error, and the number of ratings. The table
    shows means over populations and cut-offs, with the standard error over populations in brackets.
    --json prints every value with its own standard error.

    \b
    Examples:
      harness lab simulate --quick
      harness lab simulate 5 14 --seed 1
      harness lab simulate 6 --quick --json
      harness lab simulate 4 --options 3 --set-size 2 --gammas 0.5,1.3 --taus 0.5
      harness lab simulate 4 5 6 --page figures.html
    """
    from dataclasses import replace

    from harness.extras.experiments.figure_page import figures_page
    from harness.extras.experiments.paper_figures import FIGURES, FULL, QUICK

    chosen = list(dict.fromkeys(figures or [4]))
    for number in chosen:
        if number not in FIGURES:
            numbers = ", ".join(map(str, FIGURES))
            raise typer.BadParameter(f"{number} isn't one of {numbers}", param_hint="FIGURES")
    wanted = replace(QUICK if model.quick else FULL, model=model.rating_model(chosen))
    if model.populations is not None:
        wanted = replace(wanted, n_populations=model.populations)
    try:
        rows_of_figures = {number: FIGURES[number].rows(seed.seed, wanted) for number in chosen}
    except ValueError as error:
        raise HarnessError(f"{error}. Change --gammas, --options or the sets.") from None
    if page.page is not None:
        write(page.page, figures_page(rows_of_figures, wanted, seed.seed))
        echo(str(page.page))
        return
    if printing.as_json:
        table = [
            {"figure": number} | asdict(row)
            for number, rows in rows_of_figures.items()
            for row in rows
        ]
        echo_json(table, indent=1)
        return
    for number, rows in rows_of_figures.items():
        echo(f"Figure {number}. {FIGURES[number].title}")
        for quantity in dict.fromkeys(row.quantity for row in rows):
            _table(quantity, [row for row in rows if row.quantity == quantity])


def _table(quantity: str, rows: Sequence[ExperimentRow]) -> None:
    """Print one quantity. Lines are settings and metrics, columns are numbers of ratings."""
    columns = list(dict.fromkeys(row.n_ratings for row in rows))
    lines = []
    for scenario, metric in dict.fromkeys((row.scenario, row.metric) for row in rows):
        rows_of_line = [row for row in rows if (row.scenario, row.metric) == (scenario, metric)]
        line: dict[str, object] = {"setting": scenario}
        if metric:
            line["metric"] = metric
        for n in columns:
            head = "all ratings" if n is None else f"{n} rating{'s' if n > 1 else ''}"
            line[head] = _mean([row for row in rows_of_line if row.n_ratings == n])
        lines.append(line)
    echo(f"\n{quantity.replace('_', ' ')}, mean over cut-offs (standard error)")
    show(lines)
    echo("")


def _mean(rows: Sequence[ExperimentRow]) -> str:
    value, error = over_cutoffs(rows)
    if value is None:
        return "NA"
    return f"{value:.3f} ({'NA' if error is None else f'{error:.3f}'})"

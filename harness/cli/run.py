"""`harness run`: run judges, validate them, and rank them."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from shlex import join
from typing import TYPE_CHECKING

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import dollars, echo, echo_json, echo_validation, show
from harness.cli.study import print_study
from harness.errors import ExitCode
from harness.options.concerns import (
    Choices,
    Handling,
    JsonOrDetails,
    Printing,
    RunOptions,
    RunPlace,
    Server,
    Subject,
    check_place,
)
from harness.options.declaration import option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.analysis import Validation
    from harness.app.plan import Plan
    from harness.app.run import RunResult

STOPPED = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)


class RunSubject(Subject):
    """Options for the task and the judges."""

    task: str | None = option(
        None,
        "Name of a task, or path of a task folder. Separate several with commas.",
        flag="--task -t",
    )


@takes
def run(
    *,
    subject: RunSubject,
    settings: RunOptions,
    choices: Choices,
    server: Server,
    place: RunPlace,
    handling: Handling,
) -> None:
    """Run judges on a task's items, validate them against its raters, and rank them.

    \b
    Examples:
      harness run --task toxicity
      harness run --task toxicity --judges gpt,claude --samples 5 --max-cost 2
      harness run --task toxicity --judges gpt,gpt@cot,gpt+claude
      harness run --task ./my-task --judges m --base-url http://127.0.0.1:8000/v1
      harness run --task ./coherence,./fluency --judges gpt,claude
    """
    from harness.app.plan import plan_run

    check_place(place)
    plans = [
        plan_run(
            task,
            subject.judges,
            settings,
            choices=choices,
            server=server,
            purpose="trial" if handling.dry_run else "run",
        )
        for task in options.several_tasks(subject.task)
    ]
    run_plans(plans, place, handling)


def run_plans(plans: Sequence[Plan], place: RunPlace, handling: Handling) -> None:
    """Run the plans and print the results, or only print their costs. Then exit."""
    if handling.dry_run:
        print_costs(*plans, as_json=handling.as_json)
        return
    codes: list[int] = []
    finished: dict[str, Validation] = {}
    for result in _results(plans, partial(run_with_progress, place=place, quiet=handling.quiet)):
        codes += [result.exit_code, options.exit_code_of(result.validation, handling.fail_unless)]
        finished[result.folder.path.name] = result.validation
        if len(plans) == 1 or not handling.as_json:
            print_result(result, handling)
    if len(finished) > 1:
        if not handling.as_json:
            echo("")
        shown = JsonOrDetails(as_json=handling.as_json, details=handling.details)
        print_study(finished, printing=shown)
    raise typer.Exit(ExitCode.most_important(codes))


def _results(plans: Sequence[Plan], ask: Callable[[Plan], RunResult]) -> Iterator[RunResult]:
    """Run the plans within a joint cost limit, until all are done or the user stops them."""
    spent_usd = 0.0
    for plan in plans:
        result = ask(replace(plan, config=plan.config.after(spent_usd)))
        spent_usd += result.cost_usd + result.assumed_usd
        yield result
        if result.exit_code in STOPPED:
            return


def run_with_progress(plan: Plan, place: RunPlace, *, quiet: bool) -> RunResult:
    """Run a plan, showing progress bars on a terminal and lines elsewhere."""
    from harness.app.run import run_plan
    from harness.cli.progress import watch

    with watch(plan.n_planned, quiet=quiet, says_why=False) as observer:
        return run_plan(plan, observer=observer, out=place.out, place=place)


def print_result(result: RunResult, printing: Printing) -> None:
    """Print a validation as JSON, or as text that includes the path of its report."""
    from harness.analysis.serialize import indented

    if printing.as_json:
        echo_json(indented(result.validation.to_json()))
        return
    n_below = 0 if printing.quiet else N_PLACE_LINES
    echo_validation(result.validation, details=printing.details, n_lines_below=n_below)
    if not printing.quiet:
        print_folder(result)


N_PLACE_LINES = 2  # that `print_folder` prints


def print_folder(result: RunResult) -> None:
    """Print the report's path and the cost, and explain how to open reports."""
    from harness.judging.judges.pricing import price_of
    from harness.runs.run_folder import default_out

    unknown = [judge.name for judge in result.validation.judges if judge.cost.usd is None]
    embedder = result.folder.manifest.embedder
    if embedder and price_of(embedder) is None:
        unknown.append(embedder.name)
    cost = cost_text(result.cost_usd, result.assumed_usd, unknown)
    echo(f"Report: {result.folder.path / 'report.html'}   {cost}")
    folder = result.folder.path.parent
    place = [] if folder.resolve() == default_out().resolve() else ["--out", str(folder)]
    echo(f"Open it in a browser, or see all runs with `{join(['harness', 'view', *place])}`.")


def cost_text(cost_usd: float, assumed_usd: float, unknown: Sequence[str]) -> str:
    """Format a run's cost, naming the judges whose price is unknown."""
    cost = dollars(cost_usd)
    if assumed_usd:
        most = dollars(cost_usd + assumed_usd)
        cost += f", or at most {most} including calls whose price is unknown"
    if unknown:
        cost += f", not counting {', '.join(unknown)} (unknown price)"
    return f"cost: {cost}"


def print_costs(*plans: Plan, as_json: bool, parts: Sequence[str] = (), head: str = "task") -> None:
    """Print a table with each judge's calls, replies and cost, and the assumptions behind it.

    Parameters
    ----------
    plans : Plan
        What would be run.
    as_json : bool
        Whether to print JSON.
    parts : sequence of str, optional
        Names of several plans; by default their tasks.
    head : str, optional
        What these names are.

    Raises
    ------
    JudgeUnavailable
        If a plan's cost limit can't be enforced.
    """
    from harness.app.plan import check_limits, estimate_costs, missing_property, overshoots
    from harness.cli.cost_quotes import part_rows, quote_notes, quote_rows
    from harness.report.text_table import paragraph
    from harness.runs.asked_items import blank_lines

    for plan in plans:
        check_limits(plan)
    quotes = [estimate_costs(plan) for plan in plans]
    if as_json:
        echo_json([asdict(quote) for of_plan in quotes for quote in of_plan])
        return
    for plan in plans:
        for line in blank_lines(plan.task, plan.config):
            echo(line)
    if len(plans) == 1:
        show(quote_rows(quotes[0]))
        counts = quotes[0][0].n_items if quotes[0] else {}
        echo("items: " + ", ".join(f"{name} {n}" for name, n in counts.items()))
    else:
        names = parts or [plan.task.name for plan in plans]
        show(part_rows([*zip(names, quotes, strict=True)], head))
    for line in quote_notes(plans, [quote for of_plan in quotes for quote in of_plan]):
        echo(paragraph(line))
    for plan in plans:
        for overshoot in overshoots(plan):
            echo(str(overshoot))
        if problem := missing_property(plan.task, (job.judge.spec for job in plan.jobs)):
            echo(f"note: {problem}")

"""`harness check`: check a judge without labels."""

from __future__ import annotations

from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.binding import takes, task_names
from harness.cli.output import echo, echo_result, write
from harness.options.concerns import (
    CHECKED_TASK,
    CheckedItems,
    Limit,
    Out,
    RunPlace,
    Sending,
    Server,
)
from harness.options.declaration import option
from harness.options.result_options import Page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.analysis.check_result import JudgeCheck
    from harness.app.plan import Plan
    from harness.runs.run_folder import RunFolder


class CheckSubject(CheckedItems):
    """Options for the judge and for the items to check it on."""

    of_run: str | None = option(
        None,
        "Check a judge of this run on the run's items, and keep the card for its report.",
        flag="--run",
        metavar="RUN",
    )


class CheckOutput(Page, Sending):
    """Options for printing and writing the card."""


@takes
def check(
    judge: Annotated[str, typer.Argument(help="Alias or litellm model.")],
    task: Annotated[
        str | None,
        typer.Argument(
            help="Task whose items are used. They don't need ratings. Default: toxicity.",
            autocompletion=task_names,
            show_default=False,
        ),
    ] = None,
    *,
    items: CheckSubject,
    limit: Limit,
    server: Server,
    place: Out,
    output: CheckOutput,
) -> None:
    """Check a judge without any labels: how often its answer flips for no reason.

    The harness re-runs the judge on 30 items with reordered options, padding, different formatting,
    harmless edits, and instructions in the text. The card also shows how many replies can be read,
    which parameters the server rejects, and the cost.

    \b
    Examples:
      harness check gpt
      harness check lexicon toxicity --limit 10 --page card.html
      harness check my-model ./mine --base-url http://127.0.0.1:8000/v1 --dry-run
      harness check gpt --run runs/toxicity-20260101T120000Z-1a2b3c
    """
    from harness.cli.run import print_costs
    from harness.extras.probe.judge_check import plans_in_run, plans_of_judge
    from harness.report.check_card import NAMES
    from harness.runs.run_folder import default_out, find_run
    from harness.tasks import load_task

    folder: RunFolder | None = None
    if items.of_run is None:
        loaded = load_task(task or CHECKED_TASK, unrated=True)
        plans, out = plans_of_judge(judge, loaded, items, limit, server), place.out or default_out()
    elif task is not None:
        raise typer.BadParameter("--run uses the run's own items. Leave out TASK or --run")
    else:
        folder = find_run(place.out, items.of_run)
        plans, out = plans_in_run(folder, judge, items, limit, server), folder.path
    if output.dry_run:
        names = [NAMES[part] for part in plans]
        print_costs(*plans.values(), as_json=output.as_json, parts=names, head="change")
        return
    _print_card(_checked(plans, out / "checks", limit, place, quiet=output.quiet), folder, output)


def _checked(
    plans: Mapping[str, Plan], out: Path, limit: Limit, place: Out, *, quiet: bool
) -> JudgeCheck:
    from harness.cli.progress import watch
    from harness.extras.probe.judge_check import check_judge

    n_planned: Counter[str] = Counter()
    for plan in plans.values():
        n_planned.update(plan.n_planned)
    with watch(n_planned, quiet=quiet) as observer:
        return check_judge(
            plans, observer=observer, below=out, place=RunPlace.of(place), limit=limit
        )


def _print_card(result: JudgeCheck, folder: RunFolder | None, output: CheckOutput) -> None:
    """Print and write the card, save it in the run folder if there is a run, and exit."""
    from harness.report.check_card import card_page, card_text
    from harness.runs.kept_checks import keep_check

    if folder is not None:
        keep_check(folder, result)
    if output.page is not None:
        write(output.page, card_page(result))
    if output.as_json:
        echo_result(result)
    else:
        echo(card_text(result))
        if output.page is not None:
            echo(f"Wrote {output.page}.")
        if folder is not None:
            echo(f"Next:\n  harness report {quote(str(folder.path))}  # shows this card, too")
    raise typer.Exit(result.exit_code)

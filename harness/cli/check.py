"""`harness check`: what a judge does without any label."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.binding import takes, task_names
from harness.cli.output import echo, echo_result, write
from harness.options.concerns import DryRun, Items, Limit, Page, Printing, RunPlace, Server
from harness.options.declaration import CHECK

if TYPE_CHECKING:
    from harness.tasks import Item, Task

TASK = "toxicity"


class CheckOutput(Page, DryRun, Printing):
    """How the card is shown."""


@takes(CHECK, limit=30)
def check(
    judge: Annotated[str, typer.Argument(help="Alias or litellm model.")],
    task: Annotated[
        str,
        typer.Argument(
            help="Task whose items are used; they need no ratings.", autocompletion=task_names
        ),
    ] = TASK,
    *,
    items: Items,
    limit: Limit,
    server: Server,
    place: RunPlace,
    output: CheckOutput,
) -> None:
    """Check a judge without any label: how often its answer flips for no reason.

    The judge is asked about 30 items again, in other orders of the options, with padding, other
    formatting and harmless edits, and with instructions in the text. The card also shows how many
    replies can be read, which parameters the server refuses, and the cost.

    \b
    Examples:
      harness check gpt
      harness check lexicon toxicity --limit 10 --page card.html
      harness check my-model ./mine --base-url http://127.0.0.1:8000/v1 --dry-run
    """
    from harness.cli.progress import watch
    from harness.cli.run import print_costs
    from harness.extras.probe.check_card import card_page, card_text
    from harness.extras.probe.judge_check import check_judge, check_plans
    from harness.options.concerns import RunOptions
    from harness.runs.run_folder import default_out
    from harness.tasks import load_task

    loaded = load_task(task, unrated=True)
    settings = RunOptions(**limit.changes())
    plans = check_plans(judge, loaded, _items(loaded, items), settings, server)
    if output.dry_run:
        print_costs(*plans.values(), as_json=output.as_json)
        return
    out = (place.out or default_out()) / "checks"
    n_planned: Counter[str] = Counter()
    for plan in plans.values():
        n_planned.update(plan.n_planned)
    with watch(n_planned, quiet=output.quiet) as observer:
        result = check_judge(plans, observer=observer, out=out, place=place, limit=limit)
    if output.page is not None:
        write(output.page, card_page(result))
    if output.as_json:
        echo_result(result)
    else:
        echo(card_text(result))
        if output.page is not None:
            echo(f"Wrote {output.page}.")
    raise typer.Exit(result.exit_code)


def _items(task: Task, items: Items) -> list[Item]:
    """Return the first items with a text, of one criterion if that is named."""
    from harness.analysis.ratings import select_items

    selected = select_items(task, criterion=items.criterion, limit=None)
    return [item for item in selected if task.has_text(item)][: items.limit]

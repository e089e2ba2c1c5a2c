"""`harness curate next`: which ratings to collect next."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

EVIDENCE = {
    "consistency": "Simulated against random items at equal budget: less error of consistency from "
    "one answer per item on; with half an answer, none where choices hide options.",
    "decision": "Simulated against random items at equal budget: not shown to choose a better "
    "judge.",
    "break-even": "Simulated against random items, half of them pairs, at equal budget: beta is on "
    "the wrong side less often. Items are random here too; none shows more of beta.",
    "annotator-test": "Simulated against random items at equal budget: standard errors of judge "
    "less rater are 10 to 14 % smaller.",
}


def next_ratings(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    budget: Annotated[int, typer.Option(min=1, help="Answers to collect; a pair is two.")],
    quantity: Annotated[
        Literal["consistency", "decision", "break-even", "annotator-test"],
        typer.Option("--for", help="What the ratings are for."),
    ] = "consistency",
    verdicts: Annotated[
        Path | None, typer.Option(help="Verdicts of judges: a file or a run folder.")
    ] = None,
    queue_file: Annotated[
        Path | None, typer.Option("--queue", help="Write a csv file for harness annotate --queue.")
    ] = None,
    tau: options.Tau = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """List the ratings that are worth most: choices of one more rater, and pairs with a set.

    The value, per answer, is the expected fall of the number of items on the wrong side of the
    cut-off (consistency), weighted by what they do to the choice of a judge (decision); of the
    chance that the raters' beta is on the wrong side of the break-even (break-even); or the growth
    of what the annotator test rests on (annotator-test). Repeat it with the new ratings.

    Of up to 20 raters, "raters" names those who have not rated the item so; harness annotate asks
    no rater again, and takes new ones.

    \b
    Examples:
      harness curate next ./mine --budget 100 --queue queue.csv
      harness curate next ./mine --budget 9 --for decision --verdicts runs/mine-1
    """
    from harness.cli.lists import show
    from harness.curation.rating_queue import next_ratings as best_ratings
    from harness.curation.rating_queue import queue_csv, rows_of_queue
    from harness.errors import RunError
    from harness.files import write_file
    from harness.report.text_table import paragraph
    from harness.sources import source_on_task
    from harness.tasks import load_task

    loaded = load_task(task)
    by_judge = source_on_task(loaded, verdicts).verdicts if verdicts else {}
    queue = best_ratings(loaded, budget, quantity=quantity, verdicts=by_judge, tau=tau, seed=seed)
    if queue_file is not None:
        try:
            write_file(queue_file, queue_csv(queue).encode())
        except OSError as error:
            raise RunError(f"{queue_file}: cannot be written ({error.strerror}).") from None
        n_pairs = sum(row.elicitation == "paired" for row in queue)
        echo(f"Wrote {queue_file}: {len(queue)} ratings, {n_pairs} of them pairs.")
        echo(paragraph(EVIDENCE[quantity]))
        return
    if as_json:
        echo_json(json.dumps([asdict(row) for row in queue], indent=2))
        return
    nothing = f"No rating changes what is expected for {quantity}."
    show(rows_of_queue(queue), as_json=False, empty=nothing)
    if queue:
        echo(f"\n{paragraph(EVIDENCE[quantity])}")

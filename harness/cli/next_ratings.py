"""`harness curate next`: which items to rate next."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json


def next_ratings(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    budget: Annotated[int, typer.Option(min=1, help="Number of ratings.")],
    queue_file: Annotated[
        Path | None, typer.Option("--queue", help="Write a csv file for harness annotate --queue.")
    ] = None,
    tau: options.Tau = None,
    as_json: options.Json = False,
) -> None:
    """List the items of which one more forced choice is worth most.

    The value is the expected fall, per rating, of the chance that the item is on the wrong side of
    the cut-off, which is what consistency at the cut-off counts. Repeat it with the new ratings.

    \b
    Example:
      harness curate next ./mine --budget 100 --queue queue.csv
    """
    from harness.cli.lists import show
    from harness.curation.rating_queue import next_ratings as best_ratings
    from harness.curation.rating_queue import queue_csv
    from harness.errors import RunError
    from harness.files import write_file
    from harness.tasks import load_task

    queue = best_ratings(load_task(task), budget, tau=tau)
    if queue_file is not None:
        try:
            write_file(queue_file, queue_csv(queue).encode())
        except OSError as error:
            raise RunError(f"{queue_file}: cannot be written ({error.strerror}).") from None
        echo(f"Wrote {queue_file}: {len(queue)} ratings.")
        return
    rows = [asdict(row) for row in queue]
    if as_json:
        echo_json(json.dumps(rows, indent=2))
    else:
        show([row | {"value": f"{row['value']:.4f}"} for row in rows], as_json=False)

"""`harness curate diff`: compare two versions of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json


def diff(
    before: Annotated[str, typer.Argument(help="Name or path of the earlier version.")],
    after: Annotated[str, typer.Argument(help="Name or path of the later version.")],
    *,
    verdicts: Annotated[
        Path | None,
        typer.Option(help="Verdicts of judges; by default verdicts.csv of each version."),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Compare two versions of a task: items, ratings, options, other fields, and the decision.

    \b
    Examples:
      harness curate diff ./mine ./mine-2
      harness curate diff runs/mine-20260101T120000Z-1a2b3c/task ./mine
      harness curate diff ./mine ./mine-2 --verdicts ./mine/verdicts.csv --json
    """
    from harness.analysis.serialize import to_json
    from harness.curation.task_diff import diff_text, task_diff
    from harness.tasks import load_task

    result = task_diff(load_task(before), load_task(after), verdicts, seed=seed)
    if as_json:
        echo_json(to_json(result))
    else:
        echo(diff_text(result))

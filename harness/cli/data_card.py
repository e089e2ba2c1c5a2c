"""`harness curate card`: a data card and Croissant metadata of a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json


def card(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    folder: Annotated[
        Path | None,
        typer.Option("--to", help="Folder to write into; by default the task's own."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a data card (card.md) and Croissant metadata (croissant.json) of a task.

    The card says what the ratings are, how they were made, how far raters agree, what the audit
    finds, and what was changed; it holds no text of an item. Both are written anew each time.

    \b
    Examples:
      harness curate card ./mine
      harness curate card toxicity --to cards
    """
    from harness.curation.data_card import write_cards
    from harness.tasks import load_task

    paths = write_cards(load_task(task), folder)
    if as_json:
        echo_json(json.dumps({"files": [str(path) for path in paths]}))
    else:
        echo("\n".join(f"Wrote {path}." for path in paths))

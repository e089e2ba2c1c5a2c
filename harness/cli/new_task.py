"""`harness new-task`: write a commented example, or a task from a table of ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import curate, options
from harness.cli.output import echo, echo_json


def new_task(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or path of the folder to make.")],
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Table of ratings, with the options of `harness curate import`."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a task folder: an example to edit, or a task from a table of ratings.

    With --from, this is `harness curate import FILE --as NAME` and takes its options.

    \b
    Examples:
      harness new-task politeness
      harness new-task mine --from ratings.csv
    """
    folder = options.task_folder(name)
    if source is not None:
        arguments = ["import", str(source), "--as", name, *ctx.args]
        command = typer.main.get_command(curate.app)
        command.main(
            [*arguments, *(["--json"] if as_json else [])],
            prog_name="harness curate",
            standalone_mode=False,
        )
        return
    from harness.curation import write_starter

    options.check_without_table(ctx)
    write_starter(folder.name, folder)
    if as_json:
        echo_json(json.dumps({"folder": str(folder)}))
    else:
        echo(_starter_message(folder))


def _starter_message(folder: Path) -> str:
    return (
        f"Wrote {folder}: task.yaml (commented), items.csv and ratings.csv, a made-up example.\n"
        f"Next:\n  harness run --task {options.argument(folder)}\n"
        "Then replace the items and ratings, or start from a table: "
        "harness curate import --help"
    )

"""`harness baseline`: export the baseline of a run as a small folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo
from harness.cli.revalidate import Anchor, Seed, TaskFolder

app = typer.Typer(name="baseline", rich_markup_mode=None)


@app.callback()
def baseline() -> None:
    """Keep the baseline of a run for re-validation elsewhere.

    \b
    Examples:
      harness baseline export toxicity-20260101T120000Z-1a2b3c baselines/toxicity
    """


@app.command(short_help="Write baseline, anchor and history into a small folder.")
def export(
    run: Annotated[str, typer.Argument(help="A finished run, by name or path.")],
    folder: Annotated[Path, typer.Argument(help="A new folder; harness revalidate accepts it.")],
    *,
    anchor: Anchor = None,
    item_text: Annotated[
        bool, typer.Option("--item-text/--no-item-text", help="Write the items' texts too.")
    ] = False,
    task: TaskFolder = None,
    seed: Seed = 0,
    out: options.Out = None,
) -> None:
    """Write baseline, anchor and history of a run into a small folder without item texts.

    Commit it, or keep it in the cache of a CI system: harness revalidate FOLDER asks the judges on
    a machine that has nothing but the task, and adds to the history in the folder.

    \b
    Examples:
      harness baseline export toxicity-20260101T120000Z-1a2b3c baselines/toxicity
      harness revalidate baselines/toxicity
    """
    from harness.revalidation.baseline_export import export_baseline
    from harness.revalidation.revalidate import LookOptions
    from harness.runs import default_out, find_run

    look_options = LookOptions(anchor=anchor, task=task, seed=seed)
    export_baseline(find_run(out or default_out(), run), folder, look_options, item_text=item_text)
    echo(str(folder))

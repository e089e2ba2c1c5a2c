"""`harness annotate`: rate items on a local page, and add the ratings to the task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.cli.output import echo

if TYPE_CHECKING:
    from harness.annotation import Merged, RatingSession
    from harness.tasks import Task

Form = Literal["forced_choice", "response_set", "paired"]


def annotate(
    task: options.TaskName,
    *,
    rater: Annotated[
        str | None, typer.Option(help="Name of the rater; with --export, --merge: of them alone.")
    ] = None,
    elicitation: Annotated[
        Form,
        typer.Option(
            "--elicitation", help="One option, all reasonable options, or both after each other."
        ),
    ] = "forced_choice",
    queue: Annotated[
        Path | None,
        typer.Option(help="Table of what to rate: item and, optionally, elicitation and raters."),
    ] = None,
    checks: Annotated[
        Path | None,
        typer.Option(help="Table of attention checks: id, the fields shown, and answer."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random order, with the rater.")] = 0,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free port.")
    ] = 0,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the ratings made so far as csv, jsonl or parquet, and end."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Add the ratings made so far to the task, and end.")
    ] = False,
) -> None:
    """Rate items of a task on a page that this computer alone can open.

    Each answer is kept in TASK/annotations before the next item is shown: stop with Ctrl-C at any
    time, and start the same command again to go on. Verdicts of judges and ratings of others are
    not shown.

    \b
    Examples:
      harness annotate ./tone --rater ann
      harness annotate ./tone --rater ann --elicitation paired --queue queue.csv
      harness annotate ./tone --export ratings.csv
      harness annotate ./tone --merge
    """
    from harness.annotation import export_ratings, merge_ratings
    from harness.tasks import load_task

    if merge and export:
        raise typer.BadParameter("give --export or --merge, not both")
    loaded = load_task(task, unrated=True)
    _check_own_files(loaded.folder)
    if export:
        echo(_summary("Wrote", export_ratings(loaded, export, rater=rater)))
    elif merge:
        merged = merge_ratings(loaded, rater=rater)
        echo(_summary("Added to", merged))
        if not merged.n_unrated:
            echo(f"Next:\n  harness validate --task {task}")
    elif rater is None:
        raise typer.BadParameter("name the rater, e.g. --rater ann", param_hint="--rater")
    else:
        _rate(loaded, task, rater, elicitation, queue=queue, checks=checks, seed=seed, port=port)


def _check_own_files(folder: Path) -> None:
    """Refuse a task whose ratings are those of a data set: there is no file to add others to."""
    from harness.errors import TaskError
    from harness.tasks.schema import TASK_FILE, read_task_file

    if read_task_file(folder / TASK_FILE).datasets:
        raise TaskError(
            f"{folder}: its ratings are those of a data set; to add others, make files of it with "
            "`harness curate export` and `harness curate import`."
        )


def _rate(
    task: Task,
    name: str,
    rater: str,
    form: Form,
    *,
    queue: Path | None,
    checks: Path | None,
    seed: int,
    port: int,
) -> None:
    """Serve the page until Ctrl-C, and say what was rated."""
    import asyncio

    from harness.annotation import RatingLog, RatingSession, make_steps, serve
    from harness.errors import TaskError
    from harness.tasks import bundled
    from harness.tasks.tables.checks import identifier

    if task.folder.resolve().is_relative_to(bundled("datasets").resolve()):
        raise TaskError(f"{name}: a bundled task cannot be rated; copy its folder {task.folder}.")
    identifier(rater, "--rater", "harness annotate")
    steps = make_steps(task, rater, form=form, queue=queue, checks=checks, seed=seed)
    with RatingLog.open(task, rater) as log:
        session = RatingSession(task, steps, log)
        echo(f"{task.name}: {session.n_complete} of {session.n_items} items are rated by {rater}.")
        if n_damaged := log.logged.n_damaged:
            echo(f"{log.path}: damaged lines, set aside: {n_damaged}. They are asked again.")

        def announce(address: str) -> None:
            echo(f"Open {address}\nCtrl-C ends; every answer is kept in {log.path}.")

        asyncio.run(serve(session, port=port, announce=announce))
        echo(_end(session, name))


def _end(session: RatingSession, name: str) -> str:
    lines = [f"Rated: {session.n_complete} of {session.n_items} items."]
    n_right, n_checks = session.checks()
    if n_checks:
        lines.append(f"Attention checks answered as expected: {n_right} of {n_checks}.")
    if session.n_complete:
        lines.append(f"Next:\n  harness annotate {name} --merge")
    return "\n".join(lines)


def _summary(done: str, merged: Merged) -> str:
    """Write what was exported or merged, and what was left out."""
    counts = ", ".join(f"{n} by {rater}" for rater, n in merged.n_ratings.items())
    n_new = sum(merged.n_ratings.values())
    lines = [f"{done} {merged.path}: {n_new} ratings{f' ({counts})' if counts else ''}."]
    if merged.n_present:
        lines.append(f"In the task already: {merged.n_present}.")
    if merged.n_foreign:
        lines.append(f"Left out, of items that the task no longer has: {merged.n_foreign}.")
    if merged.n_damaged:
        lines.append(f"Left out, damaged lines: {merged.n_damaged}.")
    if len(merged.versions) > 1:
        versions = ", ".join(merged.versions)
        lines.append(f"The instructions changed meanwhile; their versions: {versions}.")
    if merged.n_unrated:
        lines.append(
            f"Items without any rating yet: {merged.n_unrated}; validation needs all rated."
        )
    return "\n".join(lines)

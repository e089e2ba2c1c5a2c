"""`harness annotate`: rate items on a local page, and add the ratings to the task."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from harness.annotation.annotate_options import CollectedRaters, MergeOptions, PageOptions
from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo
from harness.options.concerns import Seed

if TYPE_CHECKING:
    from harness.annotation import Merged, RatingSession
    from harness.tasks import Task

MOST_SHOWN = 5  # items that are named in a message


app = typer.Typer(name="annotate", cls=options.DefaultGroup, rich_markup_mode=None)


@app.callback()
def annotate() -> None:
    """Rate items of a task on a local page, and add the ratings to the task.

    Without a command this is `harness annotate rate`.

    \b
    Examples:
      harness annotate ./tone --rater ann
      harness annotate merge ./tone
      harness annotate rate --help
    """


@app.command("rate", short_help="Rate items on a local page (the default).")
@takes
def rate(task: options.TaskName, *, page: PageOptions, seed: Seed) -> None:
    """Rate items of a task on a page only this computer can open.

    Each answer is kept in TASK/annotations before you see the next item. You can stop with Ctrl-C
    at any time, and run the same command again to continue. You don't see judges' verdicts or other
    people's ratings. The page asks about all criteria of an item at once, and shows the two answers
    of a pair side by side in random order.

    \b
    Examples:
      harness annotate ./tone --rater ann
      harness annotate rate ./tone --rater ann --elicitation paired --queue q.csv
    """
    _rate(_own_task(task), task, page, seed.seed)


@app.command("merge", short_help="Add the ratings made so far to the task.")
@takes
def merge(task: options.TaskName, *, wanted: MergeOptions) -> None:
    """Add the ratings made so far to the task. Each rating is added only once.

    \b
    Examples:
      harness annotate merge ./tone
      harness annotate merge ./tone --without zoe
    """
    from harness.annotation import collected_logs, merge_ratings

    loaded = _own_task(task)
    logs = collected_logs(loaded, rater=wanted.only_rater, without=wanted.without)
    kept = wanted.outdated
    merged = merge_ratings(loaded, logs, source="harness annotate", keep_outdated=kept)
    echo(merge_summary("Added to", merged, keep_outdated=kept))
    if not merged.n_unrated:
        echo(f"Next:\n  harness validate --task {quote(task)}")


@app.command("export", short_help="Write the ratings made so far as a table.")
@takes
def export(
    task: options.TaskName,
    file: Annotated[Path, typer.Argument(help="Table to write: csv, jsonl or parquet.")],
    *,
    wanted: CollectedRaters,
) -> None:
    """Write the ratings made so far as a table.

    \b
    Examples:
      harness annotate export ./tone ratings.csv
    """
    from harness.annotation import collected_logs, export_ratings

    loaded = _own_task(task)
    logs = collected_logs(loaded, rater=wanted.only_rater, without=wanted.without)
    echo(merge_summary("Wrote", export_ratings(loaded, file, logs)))


def _own_task(name: str) -> Task:
    """Return the task. Raise an error if the task cannot take new ratings."""
    from harness.tasks import load_task

    task = load_task(name, unrated=True)
    check_own_files(task.folder)
    return task


def check_own_files(folder: Path) -> None:
    """Raise an error if the ratings come from a data set, which has no file for new ratings."""
    from harness.errors import TaskError
    from harness.tasks.folders import name_of_copy
    from harness.tasks.item import TASK_FILE
    from harness.tasks.schema import read_task_file

    if read_task_file(folder / TASK_FILE).datasets:
        copy = name_of_copy(folder.name)
        table = f"{copy}.jsonl"
        raise TaskError(
            f"{folder}: its ratings come from a data set, so you can't add others. Make a task "
            f"with rating files: harness curate export {quote(str(folder))} {table} && "
            f"harness curate import {table} --as {copy}"
        )


def _rate(task: Task, name: str, page: PageOptions, seed: int) -> None:
    """Serve the page until Ctrl-C, and print the number of rated items."""
    import asyncio

    from harness.annotation import RatingLog, RatingSession, make_screens, serve
    from harness.errors import TaskError
    from harness.files.tables.checks import identifier
    from harness.tasks import bundled

    rater = page.rater
    if task.folder.resolve().is_relative_to(bundled("datasets").resolve()):
        raise TaskError(f"{name}: bundled tasks can't be rated. Copy its folder {task.folder}.")
    identifier(rater, "--rater", "harness annotate")
    check_property(task)
    form = page.asked_form
    screens = make_screens(task, rater, form=form, queue=page.queue, checks=page.checks, seed=seed)
    with RatingLog.open(task, rater) as log:
        session = RatingSession(task, screens, log)
        echo(f"{task.name}: {session.n_complete} of {session.n_items} items are rated by {rater}.")
        if n_damaged := log.logged.n_damaged:
            echo(
                f"{log.path}: damaged lines were set aside: {n_damaged}. You'll see their "
                "questions again."
            )

        def announce(address: str) -> None:
            echo(f"Open {address}\nPress Ctrl-C to stop. Every answer is kept in {log.path}.")

        asyncio.run(serve(session, port=page.port, announce=announce))
        echo(_end(session, name))


def check_property(task: Task) -> None:
    """Raise an error if the task's 'property' does not yet describe what raters should rate."""
    from harness.errors import TaskError
    from harness.tasks.options import DEFAULT_PROPERTY

    if task.property == DEFAULT_PROPERTY:
        raise TaskError(
            f"{task.folder}: 'property' in task.yaml is still {DEFAULT_PROPERTY!r}. Write a "
            "phrase for raters that says what is rated."
        )


def _end(session: RatingSession, name: str) -> str:
    lines = [f"Rated: {session.n_complete} of {session.n_items} items."]
    n_right, n_checks = session.checks()
    if session.n_skipped:
        lines.append(f"Skipped: {session.n_skipped}.")
    if n_checks:
        lines.append(f"Attention checks answered as expected: {n_right} of {n_checks}.")
    if session.n_complete:
        lines.append(f"Next:\n  harness annotate merge {quote(name)}")
    return "\n".join(lines)


def merge_summary(done: str, merged: Merged, *, keep_outdated: bool = True) -> str:
    """Describe the ratings that were exported or merged, and the ratings that were left out."""
    counts = ", ".join(f"{n} by {rater}" for rater, n in merged.n_ratings.items())
    n_new = sum(merged.n_ratings.values())
    lines = [f"{done} {merged.path}: {n_new} ratings{f' ({counts})' if counts else ''}."]
    if merged.n_present:
        lines.append(f"Ratings that were already in the task: {merged.n_present}.")
    if merged.n_foreign:
        lines.append(
            f"Left out: {merged.n_foreign} ratings of items that are no longer in the task."
        )
    if merged.outdated:
        shown = ", ".join(merged.outdated[:MOST_SHOWN])
        more = f" and {len(merged.outdated) - MOST_SHOWN} more" * (
            len(merged.outdated) > MOST_SHOWN
        )
        what = "Rated with an earlier text or earlier options"
        lines.append(
            f"{what}: items {shown}{more}."
            if keep_outdated
            else f"{what}: items {shown}{more}. These ratings are left out. To add them, pass "
            "--outdated."
        )
    if merged.skips:
        items = {(row["item"], row["rater"]) for row in merged.skips}
        lines.append(f"Skipped: {len(items)}. The task's skipped.csv lists them after a merge.")
    if merged.n_flagged or merged.n_comments:
        lines.append(f"Items flagged: {merged.n_flagged}. Comments: {merged.n_comments}.")
    if merged.n_damaged:
        lines.append(f"Damaged lines, which were left out: {merged.n_damaged}.")
    if len(merged.versions) > 1:
        versions = ", ".join(merged.versions)
        lines.append(f"The instructions changed while people rated. Versions: {versions}.")
    if merged.n_unrated:
        lines.append(
            f"{merged.n_unrated} items have no rating yet. Validation needs a rating for every "
            "item."
        )
    return "\n".join(lines)

"""`harness cache`: show or clear the response cache, and copy replies."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, show
from harness.errors import OptionError
from harness.options.concerns import Cache, DryRun, Json, TaskOption, Unasked
from harness.options.declaration import option

AGE = re.compile(r"(\d+(?:\.\d+)?) ?(h|hours?|d|days?|w|weeks?)")
SECONDS = {"h": 3600.0, "d": 86400.0, "w": 604800.0}
app = typer.Typer(invoke_without_command=True)


@app.callback()
@takes
def cache(context: typer.Context, *, place: Cache, printing: Json) -> None:
    """Show the response cache's folder, its size, and its numbers of requests and replies.

    A request has one reply per sample. Replies stay until `harness cache clear` removes them. Run
    folders keep their own copies of the replies.

    \b
    Examples:
      harness cache
      harness cache --json
      harness cache clear
      harness cache copy ~/.cache/judge-harness postgresql://db.example.org/judges
    """
    if context.invoked_subcommand is None:
        from harness.files.user_folders import cache_folder
        from harness.judging.storage.response_cache import measure_cache

        path = place.cache or cache_folder()
        show([{"folder": str(path), **measure_cache(path)._asdict()}], as_json=printing.as_json)


class ClearedReplies(TaskOption):
    """Options that select the replies to remove."""

    task: str | None = option(
        None,
        "Only replies for this task (name or path).",
        flag="--task -t",
    )
    cached_judge: str | None = option(
        None,
        "Only replies that were received for this judge.",
        flag="--judge -j",
        metavar="JUDGE",
    )
    older_than: str | None = option(
        None,
        "Only replies older than this, such as 30d, 12h or 4w.",
        metavar="AGE",
    )


class ClearDryRun(DryRun):
    """Option to count replies without removing them."""

    dry_run: bool = option(False, "Count the replies that would be removed, without removing them.")


@app.command()
@takes
def clear(*, place: Cache, cleared: ClearedReplies, dry: ClearDryRun, asking: Unasked) -> None:
    """Remove replies from the response cache. Later runs pay for them again.

    Without filters, all replies are removed. With several filters, a reply must match all of them.
    A reply that several tasks or judges use belongs to the first that received it.

    \b
    Examples:
      harness cache clear
      harness cache clear --yes
      harness cache clear --task toxicity --judge gpt
      harness cache clear --older-than 90d --dry-run
    """
    from harness.files.user_folders import cache_folder
    from harness.judging.storage.reply_origins import ReplyFilter
    from harness.judging.storage.response_cache import ResponseCache, count_replies

    path = place.cache or cache_folder()
    before = None if cleared.older_than is None else time.time() - seconds_of(cleared.older_than)
    task = None if cleared.task is None else _name_of(cleared.task)
    wanted = ReplyFilter(task, cleared.cached_judge, before)
    n, n_included, n_unknown = count_replies(path, wanted)
    if not n:
        echo(f"{path}: contains no replies.")
        return
    if n_unknown:
        echo(
            f"{n_unknown} of {n} replies have no task, judge or date, because an earlier version "
            "stored them. They stay unless you clear without filters."
        )
    if dry.dry_run or not n_included:
        echo(f"{path}: {n_included} of {n} replies would be removed.")
        return
    if not asking.unasked:
        typer.confirm(f"Remove {n_included} of {n} replies from {path}?", abort=True)
    with closing(ResponseCache(path)) as store:
        echo(f"Removed {store.clear(wanted)} of {n} replies from {path}.")


def seconds_of(age: str) -> float:
    """Convert an age such as 30d, 12h or 4w to seconds.

    Raises
    ------
    OptionError
        If the text isn't such an age.
    """
    found = AGE.fullmatch(age.strip().lower())
    if not found:
        raise OptionError(
            "older_than", "not an age", "Pass an age such as 30d, 12h or 4w", found=age
        )
    return float(found[1]) * SECONDS[found[2][:1]]


def _name_of(task: str) -> str:
    """Return a task's name, or ``text`` itself if there is no such task any more."""
    from harness.tasks import load_task

    return load_task(task).name if Path(task).is_dir() else task


@app.command()
def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="Folder of a cache or run, or address of a store.")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder, or address of a store.")],
) -> None:
    """Copy replies from a cache, run or store to a cache or store. Existing replies stay.

    \b
    Examples:
      harness cache copy ~/.cache/judge-harness postgresql://db.example.org/judges
      harness cache copy postgresql:// ./cache
      harness cache copy runs/toxicity-20261125T120000Z-3fa9c1 ./cache
    """
    from harness.app.ask import ClusterEdge
    from harness.loading import edge

    n_replies = edge("cluster", ClusterEdge).copy_replies(source, target)
    echo(f"Copied {n_replies} replies to {target}.")

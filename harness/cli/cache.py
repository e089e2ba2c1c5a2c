"""`harness cache`: size of the response cache, clearing it, and copying replies."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, show
from harness.command_options import Cache, Json, Unasked
from harness.option_declarations import CACHE, CACHE_CLEAR

app = typer.Typer(invoke_without_command=True)


@app.callback()
@takes(CACHE)
def cache(context: typer.Context, *, place: Cache, printing: Json) -> None:
    """Show the folder, the number of requests and replies, and the size of the response cache.

    A request has one reply per sample. Replies are never dropped; `harness cache clear` removes
    them all. What runs received stays in their run folders.

    \b
    Examples:
      harness cache
      harness cache --json
      harness cache clear
      harness cache copy ~/.cache/judge-harness postgresql://db.example.org/judges
    """
    if context.invoked_subcommand is None:
        from harness.judging.storage.response_cache import measure_cache
        from harness.user_folders import cache_folder

        path = place.cache or cache_folder()
        show([{"folder": str(path), **measure_cache(path)._asdict()}], as_json=printing.as_json)


@app.command()
@takes(CACHE_CLEAR)
def clear(*, place: Cache, asking: Unasked) -> None:
    """Remove all replies from the response cache; later runs pay for them again.

    \b
    Examples:
      harness cache clear
      harness cache clear --yes
    """
    from harness.judging.storage.response_cache import ResponseCache, measure_cache
    from harness.user_folders import cache_folder

    path = place.cache or cache_folder()
    n_replies = measure_cache(path).n_replies
    if not n_replies:
        echo(f"{path}: holds no replies.")
        return
    if not asking.unasked:
        typer.confirm(f"Remove {n_replies} replies from {path}?", abort=True)
    store = ResponseCache(path)
    try:
        store.clear()
    finally:
        store.close()
    echo(f"Removed {n_replies} replies from {path}.")


@app.command()
def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="Folder of a cache or run, or address of a store.")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder, or address of a store.")],
) -> None:
    """Copy replies of a cache, a run or a shared store to a cache or a store; none is replaced.

    \b
    Examples:
      harness cache copy ~/.cache/judge-harness postgresql://db.example.org/judges
      harness cache copy postgresql:// ./cache
      harness cache copy runs/toxicity-20261125T120000Z-3fa9c1 ./cache
    """
    from harness.edges import edge

    n_replies = edge("cluster").copy_replies(source, target)
    echo(f"Copied {n_replies} replies to {target}.")

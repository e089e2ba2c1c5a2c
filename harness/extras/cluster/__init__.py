"""Runs on many machines that share one store, imported only if a run names a store."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.extras.cluster.ray_launcher import describe_cluster as describe_cluster
from harness.extras.cluster.ray_launcher import launcher as launcher
from harness.judging.running.session_state import SessionLimits
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import REPLIES_PER_TRANSACTION, read_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.app.ask import ClusterEdge
    from harness.extras import cluster
    from harness.extras.cluster.shared_store import SharedStore
    from harness.judging.parsing.verdict import Reply
    from harness.judging.storage.reply_store import Store

    OFFERED: ClusterEdge = cluster


INSTALL = "pip install 'judge-harness[postgres]'"


def open_store(
    address: str,
    run: str,
    longest_call_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
    *,
    budget: str = "",
    is_private: bool = False,
    folder: str = "",
    is_started: bool = False,
) -> SharedStore:
    """Open the shared store at an address.

    Parameters
    ----------
    address : str
        Address of the database. Missing tables are created.
    run : str
        Name of the run.
    longest_call_s : float
        Maximum duration of a call in the run.
    say : callable
        Receives one line for each worker with a lock that the process has waited for.
    budget : str
        Name of the shared budget. By default, the name of the run.
    is_private : bool
        Whether runs with a different name cannot find its replies.
    folder : str
        Name of the run folder that uses the store.
    is_started : bool
        Whether the folder's process started this one and counts its cost.

    Raises
    ------
    RunError
        If the address is invalid, the extra is not installed, or the database cannot be used.
    """
    check_address(address)
    from harness.extras.cluster.shared_store import SharedStore  # noqa: PLC0415 -- an extra
    from harness.extras.cluster.store_address import store_address  # noqa: PLC0415 -- needs it

    return SharedStore(
        store_address(address),
        run=run,
        budget=budget or run,
        longest_call_s=longest_call_s,
        say=say,
        is_private=is_private,
        folder=folder,
        is_started=is_started,
    )


def describe_store(address: str) -> str:
    """Describe a shared store and its contents, after creating missing tables.

    Raises
    ------
    RunError
        As `open_store`.
    """
    with closing(open_store(address, "harness doctor")) as store:
        version, n_replies, n_workers = store.describe()
        replies = f"about {n_replies} replies, {n_workers} other workers"
        return f"{store.lease.name}, PostgreSQL {version}, {replies}"


def check_address(address: str) -> None:
    """Reject an unusable store address without connecting. See `store_address`.

    Raises
    ------
    RunError
        Also if the extra is not installed.
    """
    if not all(map(find_spec, ("psycopg", "psycopg_pool"))):
        raise RunError("--store needs psycopg and its pool", f"Install them: {INSTALL}")
    from harness.extras.cluster.store_address import store_address  # noqa: PLC0415 -- needs it

    store_address(address)


def session_limits(
    store: Store, limit_usd: float | None, spent_usd: float, *, is_soft: bool = False
) -> SessionLimits:
    """Return a session's budget and rate limits, which apply to all processes of its run.

    ``spent_usd`` is the cost in this process's log.

    Raises
    ------
    RunError
        If other processes with this budget have a different limit.
    """
    from harness.extras.cluster.shared_limits import SharedBudget, shared_gate  # noqa: PLC0415 -- needs it
    from harness.extras.cluster.shared_store import SharedStore  # noqa: PLC0415 -- needs psycopg

    assert isinstance(store, SharedStore), "it's the only kind of shared store"
    store.open_budget(limit_usd, spent_usd)
    return SessionLimits(
        SharedBudget(limit_usd, spent_usd, store, is_soft=is_soft), partial(shared_gate, store)
    )


def copy_replies(source: str, target: str) -> int:
    """Copy all replies from a cache folder, run folder or store to a cache folder or store.

    Replies that the target already has are kept. Returns the number of replies read.

    Raises
    ------
    RunError
        If the source does not exist, or if source or target cannot be used.
    """
    if "://" not in source and not Path(source).is_dir():
        raise RunError(
            f"{source}: this folder doesn't exist. Pass a cache, a run or postgresql://..."
        )
    n_replies = 0
    with ExitStack() as opened:
        replies = _replies_in(source, opened)
        new = opened.enter_context(closing(_opened(target)))
        while batch := list(islice(replies, REPLIES_PER_TRANSACTION)):
            new.add_many(batch)
            n_replies += len(batch)
    return n_replies


def _replies_in(place: str, opened: ExitStack) -> Iterator[Reply]:
    """Yield the replies in a store, a cache folder or a run folder's log."""
    log = Path(place) / "verdicts.jsonl"
    if "://" in place or not log.is_file():
        return opened.enter_context(closing(_opened(place))).replies()
    paid = (verdict for verdict in read_log(log).final.values() if not verdict.from_store)
    return (reply for verdict in paid for reply in verdict.replies)


def _opened(place: str) -> ResponseCache | SharedStore:
    """Open a cache folder, or the shared store at an address."""
    if "://" in place:
        return open_store(place, "harness cache copy")
    return ResponseCache(Path(place))

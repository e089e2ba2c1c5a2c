"""Runs on many machines that share one store; imported only when a run names one."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import RunError
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import REPLIES_PER_TRANSACTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.judging.cluster.shared_store import SharedStore

INSTALL = "pip install 'judge-harness[postgres]'"


def open_store(
    address: str,
    run: str,
    longest_call_s: float = 0.0,
    say: Callable[[str], None] = lambda _: None,
    *,
    driver: str | None = None,
    is_private: bool = False,
) -> SharedStore:
    """Open the shared store at an address.

    Parameters
    ----------
    address : str
        Of the database; its tables are created if need be.
    run : str
        Name of the run.
    longest_call_s : float
        The longest time that a call of the run may take.
    say : callable
        Receives one line for each worker that holds what has been waited for.
    driver : str, optional
        Id of the lease of the process that started the run, where that is another one.
    is_private : bool
        Whether no run of another name finds its replies.

    Raises
    ------
    RunError
        If the address is none, the extra is not installed, or the database cannot be used.
    """
    check_address(address)
    # psycopg is an extra, without which this module says what to install
    from harness.judging.cluster.shared_store import SharedStore  # noqa: PLC0415
    from harness.judging.cluster.store_address import store_address  # noqa: PLC0415

    return SharedStore(
        store_address(address), run, longest_call_s, say, driver=driver, is_private=is_private
    )


def check_address(address: str) -> None:
    """Refuse an address of a store that cannot be used, without connecting; see `store_address`.

    Raises
    ------
    RunError
        Also if the extra is not installed.
    """
    if not all(map(find_spec, ("psycopg", "psycopg_pool"))):
        raise RunError("--store needs psycopg and its pool", f"install them: {INSTALL}")
    from harness.judging.cluster.store_address import store_address  # noqa: PLC0415 -- needs it

    store_address(address)


def session_limits(
    store: SharedStore,
    limit_usd: float | None,
    spent_usd: float | None = None,
    *,
    is_soft: bool = False,
) -> dict[str, Any]:
    """Return budget and rate limits of a session that hold for all workers of its run.

    ``spent_usd`` opens the budget of the run; its workers on a cluster leave that out.
    """
    from harness.judging.cluster.shared_limits import SharedBudget, shared_gate  # noqa: PLC0415

    if limit_usd is not None and spent_usd is not None:
        store.open_budget(limit_usd, spent_usd)
    return {
        "budget": SharedBudget(limit_usd, spent_usd or 0.0, store, is_soft=is_soft),
        "make_gate": partial(shared_gate, store),
    }


def copy_replies(source: str, target: str) -> int:
    """Copy all replies of a cache folder or shared store to another; return how many were read.

    A reply that the target holds is kept. `RunError` if the source does not exist, or either cannot
    be used.
    """
    if "://" not in source and not Path(source).is_dir():
        raise RunError(f"{source}: there is no such folder; name a cache or postgresql://...")
    n_replies = 0
    with closing(_opened(source)) as old, closing(_opened(target)) as new:
        replies = old.replies()
        while batch := list(islice(replies, REPLIES_PER_TRANSACTION)):
            new.add_many(batch)
            n_replies += len(batch)
    return n_replies


def _opened(place: str) -> ResponseCache | SharedStore:
    """Open a cache folder, or the shared store at an address."""
    if "://" in place:
        return open_store(place, "harness cache copy")
    return ResponseCache(Path(place))

"""Copies of replies between a cache folder and a shared store."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.cluster import open_store
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import REPLIES_PER_TRANSACTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.judging.cluster.shared_store import SharedStore


def copy_replies(source: str, target: str) -> int:
    """Copy all replies of a cache folder or shared store to another; return how many were read.

    A reply that the target holds is kept.

    Raises
    ------
    RunError
        If the source does not exist, or either cannot be used.
    """
    if "://" not in source and not Path(source).is_dir():
        raise RunError(f"{source}: there is no such folder; name a cache or postgresql://...")
    n_replies = 0
    with _opened(source) as old, _opened(target) as new:
        replies = old.replies()
        while batch := list(islice(replies, REPLIES_PER_TRANSACTION)):
            new.add_many(batch)
            n_replies += len(batch)
    return n_replies


@contextmanager
def _opened(place: str) -> Iterator[ResponseCache | SharedStore]:
    is_address = "://" in place
    store = open_store(place, "harness cache copy") if is_address else ResponseCache(Path(place))
    try:
        yield store
    finally:
        store.close()

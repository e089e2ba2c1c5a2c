"""Request hash -> reply, on disk, as JSON bytes and never as a pickle.

The cache is a convenience, not the record: what was received stands in ``verdicts.jsonl``, from
which the cache is filled in batches and can be filled again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from harness.elicit.verdicts import Reply
from harness.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RAW = 1  # diskcache's mode for a value that stands in the row itself


class ResponseStore(Protocol):
    """Where replies are looked up before anything is sent."""

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Replies that are known, by request hash."""

    def put_many(self, replies: Iterable[Reply]) -> None:
        """Remember replies under the hash of their request."""

    def close(self) -> None:
        """Give the files back."""


class NoStore:
    """Remembers nothing (``--no-cache``)."""

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Know nothing."""
        del hashes
        return {}

    def put_many(self, replies: Iterable[Reply]) -> None:
        """Forget at once."""

    def close(self) -> None:
        """Have nothing to close."""


def default_cache_dir() -> Path:
    """``$HARNESS_CACHE``, else ``judge-harness`` in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"


def open_store(folder: Path) -> tuple[DiskStore, str]:
    """Open the cache in ``folder``; a damaged one is moved aside, never read and never deleted.

    Returns
    -------
    store, notice : DiskStore, str
        ``notice`` is empty, or one line saying what was moved where.

    Raises
    ------
    RunError
        If the folder cannot be written to.
    """
    try:
        return DiskStore(folder), ""
    except (sqlite3.DatabaseError, TypeError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise RunError(
                f"{folder}: the cache is locked by another program; retry later."
            ) from None
        aside = folder.with_name(f"{folder.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        folder.rename(aside)
        return DiskStore(
            folder
        ), f"The cache was damaged and is now {aside}; replies will be asked anew."
    except OSError as error:
        raise RunError(
            f"{folder}: the cache cannot be written ({error.strerror}); "
            "free some space, choose another with --cache DIR, or use --no-cache."
        ) from None


class DiskStore:
    """`ResponseStore` over diskcache, eviction off."""

    def __init__(self, folder: Path) -> None:
        from diskcache import Cache  # noqa: PLC0415 -- costs 30 ms that only runs need

        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._cache: Any = Cache(
            str(folder),
            disk=_bytes_disk(),
            eviction_policy="none",
            cull_limit=0,
            statistics=0,
            timeout=60,
        )

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Replies that are known; an entry that cannot be read counts as unknown."""
        found = {}
        for key in hashes:
            raw = self._cache.get(key)
            if raw is None:
                continue
            with suppress(ValidationError):
                reply = Reply.model_validate_json(raw)
                if reply.request == key:
                    found[key] = reply
        return found

    def put_many(self, replies: Iterable[Reply]) -> None:
        """Write one transaction."""
        with self._cache.transact():
            for reply in replies:
                self._cache.set(
                    reply.request, reply.model_dump_json(exclude_defaults=True).encode()
                )

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def __len__(self) -> int:
        return len(self._cache)

    def __repr__(self) -> str:
        return f"DiskStore({str(self.folder)!r}, {len(self)} replies)"


def _bytes_disk() -> type:
    """Make the Disk that stores and reads bytes in the row, whatever the row says of itself."""
    from diskcache import Disk  # noqa: PLC0415 -- see DiskStore

    class BytesDisk(Disk):  # type: ignore[misc]  # diskcache has no types
        """Keys are text, values are bytes; whatever else a row holds reads as nothing."""

        def put(self, key: object) -> tuple[str, bool]:
            if not isinstance(key, str):
                raise TypeError("a cache key is text")
            return key, True

        def get(self, key: object, raw: object) -> object:
            return key if raw and isinstance(key, str) else None

        def store(
            self, value: object, read: object, key: object = None
        ) -> tuple[int, int, None, memoryview]:
            del read, key
            if not isinstance(value, bytes):
                raise TypeError("a cache value is bytes")
            return 0, RAW, None, sqlite3.Binary(value)

        def fetch(self, mode: int, filename: object, value: object, read: object) -> bytes | None:
            del filename, read
            return value if mode == RAW and isinstance(value, bytes) else None

    return BytesDisk

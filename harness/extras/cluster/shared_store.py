"""Shared store for the replies of runs on many machines, in PostgreSQL.

A reply is looked up in the same exchange that takes its lock, and is stored before its call
counts as ended. While the database cannot be reached, the store does not claim or send requests,
and replies wait to be stored.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.extras.cluster.database import StoreAway
from harness.extras.cluster.request_keys import _ENCODE, RequestKeys
from harness.extras.cluster.shared_locks import SharedLocks
from harness.extras.cluster.worker_lease import WorkerLease
from harness.judging.judges.http_exchange import MAX_REPLY_BYTES
from harness.judging.storage.reply_store import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from psycopg import Connection

    from harness.extras.cluster.store_address import StoreAddress
    from harness.judging.parsing.verdict import Reply
    from harness.judging.storage.reply_store import SharedProgress

PAGE = 1000  # replies copied at a time
PUT_AGAIN_S = 0.5  # after the database was away
FIND = (
    "SELECT request, reply, folder FROM harness_reply "
    "WHERE request = ANY(%b) AND octet_length(reply) <= %s"
)
STORE = (  # in one statement, because an interrupted transaction would keep its locks
    "WITH stored AS (INSERT INTO harness_reply (request, reply, folder) "
    "SELECT *, %s::text FROM unnest(%b::bytea[], %b::bytea[]) ON CONFLICT DO NOTHING) "
    "DELETE FROM harness_lock WHERE request = ANY(%b) AND worker = %s"
)
PAGE_AFTER = (
    "SELECT request, reply, folder FROM harness_reply "
    "WHERE request > %b AND octet_length(reply) <= %s ORDER BY request LIMIT %s"
)
TAKE_RATE = (
    "INSERT INTO harness_rate AS r VALUES (%(name)s, clock_timestamp() + %(span)s) "
    "ON CONFLICT (name) DO UPDATE "
    "SET next_at = greatest(r.next_at, clock_timestamp()) + %(span)s "
    "RETURNING extract(epoch FROM next_at - %(span)s - clock_timestamp())::float8"
)
OPEN_BUDGET = (  # killed processes may have used their allowances
    "INSERT INTO harness_budget AS b VALUES (%(budget)s, %(limit)s, %(spent)s) "
    "ON CONFLICT (budget) DO UPDATE SET limit_usd = greatest(b.limit_usd, excluded.limit_usd), "
    "taken_usd = greatest(%(spent)s, b.taken_usd) RETURNING limit_usd"
)
LIMIT = "SELECT limit_usd FROM harness_budget WHERE budget = %s"
DESCRIBE = (
    "SELECT current_setting('server_version'), "
    "(SELECT reltuples::bigint FROM pg_class WHERE oid = 'harness_reply'::regclass), "
    "(SELECT count(*) FROM harness_worker WHERE worker <> %s AND expires > clock_timestamp())"
)
ROOM = "SELECT limit_usd - taken_usd FROM harness_budget WHERE budget = %s FOR UPDATE"
TAKE_BUDGET = "UPDATE harness_budget SET taken_usd = taken_usd + %s WHERE budget = %s"
HOLD = "UPDATE harness_worker SET held_usd = %s WHERE worker = %s"
HELD = "SELECT coalesce(sum(held_usd), 0) FROM harness_worker WHERE budget = %s AND worker <> %s"
HELD_IN_RUN = (
    "SELECT coalesce(sum(held_usd), 0) FROM harness_worker "
    "WHERE run = %s AND worker <> %s AND expires > clock_timestamp()"
)
ALLOWANCES = 32  # parts into which the rest of a budget is split


class SharedStore:
    """A `Store` in PostgreSQL, shared by runs on many machines. See `open_store`."""

    def __init__(
        self,
        address: StoreAddress,
        *,
        run: str,
        budget: str,
        longest_call_s: float,
        say: Callable[[str], None],
        is_private: bool = False,
        folder: str = "",
        is_started: bool = False,
    ) -> None:
        self._keys = RequestKeys(run if is_private else "", folder)
        self._payer = folder if is_started else None
        self.lease = WorkerLease(address, run, budget, longest_call_s)
        self._locks = SharedLocks(self.lease, self._keys, say)
        self._unstored: list[Reply] = []
        self._is_storing = asyncio.Lock()
        self.at_close: list[Callable[[], None]] = []

    def get(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return stored replies by request hash, or {} while the database is unreachable.

        Raises
        ------
        RunError
            If the database rejects the query.
        """
        keys = [self._keys.key(request) for _, request in requests]
        replies: dict[str, Reply | None] = {}
        with suppress(StoreAway):  # they are looked up again when they are claimed
            replies = self.lease.ask(lambda c: self._find(c, keys)) if keys else {}
        return {request: reply for request, reply in replies.items() if reply is not None}

    def _find(self, connection: Connection, keys: list[bytes]) -> dict[str, Reply | None]:
        return self._keys.replies(connection.execute(FIND, (keys, MAX_REPLY_BYTES), binary=True))

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and unstored earlier ones. Return once they are on the server's disk."""
        self._unstored += replies
        waiting = set(map(id, replies))
        async with self._is_storing:
            while waiting.intersection(map(id, self._unstored)):
                batch = self._unstored[:]
                try:
                    await asyncio.to_thread(self.add_many, batch)
                except StoreAway:
                    await asyncio.sleep(PUT_AGAIN_S)
                else:
                    del self._unstored[: len(batch)]

    def flush(self) -> str:
        """Retry storing replies that could not be stored. Return an error, or "" on success."""
        if self._unstored:
            try:
                self.add_many(self._unstored)
            except RunError as error:
                return str(error)
            self._unstored.clear()
        return ""

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Store replies without replacing existing ones, and unlock their requests.

        Raises
        ------
        StoreAway
            If they could not be stored now. A later call may succeed.
        """
        rows = sorted((self._keys.key(r.request), _ENCODE(r)) for r in replies)
        keys, values = [key for key, _ in rows], [value for _, value in rows]
        rows_of = (self._payer, keys, values, keys, self.lease.id)
        self.lease.exchange(lambda c: c.execute(STORE, rows_of))
        self.lease.n_uncounted += len(replies)
        self._locks.forget(reply.request for reply in replies)

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Claim unlocked requests. Return the claimed requests and any stored replies."""
        claimed = self._locks.claim([request for _, request in requests])
        stored = {request: reply for request, reply in claimed.items() if reply is not None}
        self._locks.release(stored)
        return Claim(set(claimed).difference(stored), stored, {})

    def count_paid(self, request: str) -> bool:
        """Return whether a child process paid for a stored reply. True once per reply."""
        is_paid = self._payer is None and request in self._keys.paid
        self._keys.paid.discard(request)
        return is_paid

    def release(self, requests: Iterable[str]) -> None:
        """Mark the locks on requests for release."""
        self._locks.release(requests)

    def report_holder(self, request: str) -> None:
        """Report, only once, the process that holds the lock on a request."""
        self._locks.report_holder(request)

    def shared_progress(self) -> SharedProgress:
        """Return the progress of all of this run's processes, as of about a second ago."""
        return self.lease.progress

    def replies(self) -> Iterator[Reply]:
        """Yield all stored replies."""
        last = b""
        while rows := self.lease.ask(partial(_page, last=last)):
            yield from filter(None, self._keys.replies(rows).values())
            last = rows[-1][0]

    def describe(self) -> tuple[str, int, int]:
        """Describe the store.

        Returns the server's version, the approximate number of replies, and the number of other
        workers.
        """
        row = self.lease.ask(lambda c: c.execute(DESCRIBE, [self.lease.id]).fetchone())
        version, n_replies, n_workers = row or ("", 0, 0)
        return str(version), max(0, int(n_replies)), int(n_workers)

    def take_rate(self, name: str, seconds: float) -> float:
        """Reserve the next ``seconds`` of a shared rate limit, and return when they start.

        The start is in seconds from now. Any thread can call this method.
        """
        return self.lease.exchange(lambda c: _take_rate(c, name, seconds))

    def open_budget(self, limit_usd: float | None, spent_usd: float) -> None:
        """Join the named budget. ``spent_usd`` is the cost of the replies in the local log.

        Raises
        ------
        RunError
            If the budget has a limit, and this process has no limit or a lower one.
        """
        name = self.lease.budget
        if limit_usd is None:
            row = self.lease.exchange(lambda c: c.execute(LIMIT, [name]).fetchone())
        else:
            values = {"budget": name, "limit": limit_usd, "spent": spent_usd}
            row = self.lease.exchange(lambda c: c.execute(OPEN_BUDGET, values).fetchone())
        if row is not None and (limit_usd is None or limit_usd < row[0]):
            own = "none" if limit_usd is None else f"{limit_usd:g}"
            raise RunError(
                f"{self.lease.name}: all processes with the budget {name} share the limit of "
                f"${row[0]:g}, but this process has {own}. Pass --max-cost {row[0]:g}, a higher "
                "limit to raise it for all processes, or a different --budget-name."
            )

    def exchange_budget(
        self, returned_usd: float, needed_usd: float, kept_usd: float = 0.0
    ) -> tuple[float, float]:
        """Give back the rest of an allowance, and take a new allowance, from any thread.

        Calls in flight keep their part. The allowance is at least the required amount, or 0. The
        second value is the amount available if other workers returned their allowances.
        """
        return self.lease.exchange(
            lambda c: _exchange_budget(c, self.lease, returned_usd, needed_usd, kept_usd)
        )

    def held_by_others(self) -> float:
        """Return the USD that other processes of this run reserved, from any thread."""
        place = (self.lease.run, self.lease.id)
        [held_usd] = self.lease.exchange(lambda c: c.execute(HELD_IN_RUN, place).fetchone()) or [0]
        return float(held_usd)

    def close(self) -> None:
        """Release all locks, and close the store."""
        for close in self.at_close:
            with suppress(RunError):
                close()
        self.lease.close()

    def __repr__(self) -> str:
        return f"SharedStore({self.lease.name})"


def _page(connection: Connection, last: bytes) -> list[tuple[bytes, bytes, str | None]]:
    return connection.execute(PAGE_AFTER, (last, MAX_REPLY_BYTES, PAGE), binary=True).fetchall()


def _take_rate(connection: Connection, name: str, seconds: float) -> float:
    values = {"name": name, "span": timedelta(seconds=seconds)}
    [wait_s] = connection.execute(TAKE_RATE, values).fetchone() or (0.0,)
    return float(wait_s)


def _exchange_budget(
    connection: Connection,
    lease: WorkerLease,
    returned_usd: float,
    needed_usd: float,
    kept_usd: float,
) -> tuple[float, float]:
    with connection.transaction():
        row = connection.execute(ROOM, [lease.budget]).fetchone()
        room_usd = (row[0] if row else 0.0) + returned_usd
        allowance_usd = max(needed_usd, room_usd / ALLOWANCES) if needed_usd <= room_usd else 0.0
        connection.execute(TAKE_BUDGET, (allowance_usd - returned_usd, lease.budget))
        lease.held_usd = kept_usd + allowance_usd
        connection.execute(
            HOLD, (lease.held_usd, lease.id)
        )  # immediately, because others rely on it
        held = connection.execute(HELD, (lease.budget, lease.id)).fetchone()
    return allowance_usd, room_usd + (held[0] if held else 0.0)

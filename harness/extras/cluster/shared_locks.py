"""Locks on requests in a shared store. Each lock is a row that belongs to a lease."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.extras.cluster.database import StoreAway
from harness.judging.judges.http_exchange import MAX_REPLY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from psycopg import Connection

    from harness.extras.cluster.request_keys import RequestKeys
    from harness.extras.cluster.worker_lease import WorkerLease
    from harness.judging.parsing.verdict import Reply

CLAIM = (
    "INSERT INTO harness_lock (request, worker) SELECT unnest(%b::bytea[]), %s "
    "ON CONFLICT DO NOTHING"
)
LOOK_UP = (
    "SELECT request, CASE WHEN octet_length(reply) > %s THEN '' ELSE reply END, folder "
    "FROM harness_lock LEFT JOIN harness_reply USING (request) "
    "WHERE request = ANY(%b) AND worker = %s"
)
REMOVE = "DELETE FROM harness_reply WHERE request = ANY(%b)"
RELEASE = "DELETE FROM harness_lock WHERE request = ANY(%b) AND worker = %s"
HOLDER = (
    "SELECT worker::text, run, host, process, since FROM harness_worker "
    "WHERE worker = (SELECT worker FROM harness_lock WHERE request = %b)"
)


class SharedLocks:
    """Locks on requests, claimed in batches. A claim also returns the stored replies.

    The lease's thread removes released locks. ``say`` receives one line for each worker with a
    lock that the process has waited for.
    """

    def __init__(self, lease: WorkerLease, keys: RequestKeys, say: Callable[[str], None]) -> None:
        self._lease = lease
        self._keys = keys
        self._say = say
        self._mutex = threading.Lock()
        self._held: set[str] = set()
        self._released: set[str] = set()
        self._reported: set[str] = set()
        lease.background.append(self._remove_released)

    def claim(self, requests: Sequence[str]) -> dict[str, Reply | None]:
        """Lock the free requests. Return each with its stored reply, or None if it has none.

        Returns None while the store is away. If the lease has lapsed, all requests are granted,
        because the rate limit then stops every call and reports why.
        """
        if self._lease.has_lapsed:
            return dict.fromkeys(requests)
        with self._mutex:
            wanted = [r for r in requests if r not in self._held and r not in self._released]
        if not wanted:
            return {}
        try:
            return self._lease.ask(lambda c: self._claim(c, wanted))
        except StoreAway:
            return {}

    def release(self, requests: Iterable[str]) -> None:
        """Mark locks for release."""
        with self._mutex:
            released = self._held.intersection(requests)
            self._held -= released
            self._released |= released

    def forget(self, requests: Iterable[str]) -> None:
        """Forget locks that storing the replies has already removed."""
        with self._mutex:
            self._held.difference_update(requests)

    def report_holder(self, request: str) -> None:
        """Report the worker that holds the lock on a request, once per worker."""
        key = self._keys.key(request)
        try:
            row = self._lease.ask(lambda c: c.execute(HOLDER, [key], binary=True).fetchone())
        except RunError:
            return
        if row is not None and row[0] not in self._reported:
            worker, run, host, process, since = row
            self._reported.add(worker)
            self._say(
                f"waiting for requests that {run} has started (process {process} on {host}, "
                f"running since {since:%Y-%m-%d %H:%M:%S}). If that process ends early, this "
                "process sends them"
            )

    def _claim(self, connection: Connection, requests: Sequence[str]) -> dict[str, Reply | None]:
        """Insert locks, then read this process's locks with any stored replies.

        Our rows without a reply are removed, so that new replies can be stored.
        """
        keys = sorted(map(self._keys.key, requests))
        connection.execute(CLAIM, (keys, self._lease.id))
        values = (MAX_REPLY_BYTES, keys, self._lease.id)
        rows = connection.execute(LOOK_UP, values, binary=True).fetchall()
        replies = self._keys.replies(rows)
        unreadable = [
            key
            for key, data, _ in rows
            if data is not None and replies[self._keys.request(key)] is None
        ]
        if unreadable:
            connection.execute(REMOVE, [unreadable])
        with self._mutex:
            self._held.update(replies)
        return replies

    def _remove_released(self) -> None:
        """Remove the released locks."""
        with self._mutex:
            released = list(self._released)
        if released:
            values = (list(map(self._keys.key, released)), self._lease.id)
            self._lease.exchange(lambda c: c.execute(RELEASE, values))
            with self._mutex:
                self._released.difference_update(released)

    def __repr__(self) -> str:
        return f"SharedLocks({len(self._held)} held)"

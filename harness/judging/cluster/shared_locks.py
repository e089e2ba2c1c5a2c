"""Request locks in a shared store: rows that belong to the lease of a process."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.cluster.database import StoreAway
from harness.judging.judges.http_exchange import MAX_REPLY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from psycopg import Connection

    from harness.judging.cluster.shared_store import RequestKeys
    from harness.judging.cluster.worker_lease import WorkerLease
    from harness.judging.parsing.verdict import Reply

FORGET_S = 2.0  # after which nobody waits for a lock that was not claimed again
CLAIM = (
    "INSERT INTO harness_lock (request, worker) SELECT unnest(%b::bytea[]), %s "
    "ON CONFLICT DO NOTHING"
)
LOOK_UP = (
    "SELECT request, CASE WHEN octet_length(reply) > %s THEN '' ELSE reply END "
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
    """Locks on requests, claimed in batches; a claim brings the stored reply, if there is one.

    What was claimed in vain is claimed again by the thread of the lease, all in one exchange, for
    as long as somebody waits for it. ``say`` receives one line for each worker that holds what has
    been waited for.
    """

    def __init__(self, lease: WorkerLease, keys: RequestKeys, say: Callable[[str], None]) -> None:
        self._lease = lease
        self._keys = keys
        self._say = say
        self._mutex = threading.Lock()
        self._held: set[str] = set()
        self._replies: dict[str, Reply | None] = {}  # looked up when the lock was claimed
        self._waited_for: dict[str, float] = {}  # when it was last claimed in vain
        self._granted: dict[str, float] = {}  # by the thread, since when
        self._released: set[str] = set()
        self._reported: set[str] = set()
        lease.background.append(self._work)

    def claim(self, request: str) -> bool:
        """Take the right to send a request; False while anybody holds it or the store is away."""
        with self._mutex:
            if request in self._waited_for and not self._lease.has_lapsed:
                self._waited_for[request] = time.monotonic()
                return False
            if self._granted.pop(request, None) is not None:
                return True
        return bool(self.claim_many([request]))

    def claim_many(self, requests: Sequence[str]) -> set[str]:
        """Take the right to send some requests; return those that nobody else holds."""
        if self._lease.has_lapsed:
            return set(requests)  # the rate limit lets none through and says so
        with self._mutex:
            wanted = [r for r in requests if r not in self._held and r not in self._released]
        try:
            claimed = self._lease.ask(lambda c: self._claim(c, wanted)) if wanted else set()
        except StoreAway:
            claimed = set()
        now = time.monotonic()
        with self._mutex:
            self._waited_for.update((r, now) for r in wanted if r not in claimed)
        return claimed

    def release(self, request: str) -> None:
        """Give the right back, soon."""
        with self._mutex:
            self._release(request)

    def _release(self, request: str) -> None:
        self._replies.pop(request, None)
        if request in self._held:
            self._held.discard(request)
            self._released.add(request)

    def forget(self, requests: Iterable[str]) -> None:
        """Note that locks were removed with the storing of their replies."""
        with self._mutex:
            self._held.difference_update(requests)

    def take_replies(self, requests: Iterable[str]) -> dict[str, Reply | None]:
        """Return, once, what was looked up when some requests were claimed; None for no reply."""
        with self._mutex:
            return {r: self._replies.pop(r) for r in requests if r in self._replies}

    def report_holder(self, request: str) -> None:
        """Report the worker that holds a request, unless it was reported before."""
        key = self._keys.key(request)
        try:
            row = self._lease.ask(lambda c: c.execute(HOLDER, [key], binary=True).fetchone())
        except RunError:
            return
        if row is not None and row[0] not in self._reported:
            worker, run, host, process, since = row
            self._reported.add(worker)
            self._say(
                f"waiting for requests that {run} has begun (process {process} on {host}, running "
                f"since {since:%Y-%m-%d %H:%M:%S}); they are asked here when it ends"
            )

    def _claim(self, connection: Connection, requests: Sequence[str]) -> set[str]:
        """Insert locks and, in a later statement, look up which are ours and have a reply.

        Rows of ours that hold no reply are removed, so that what is received now can be stored.
        """
        keys = sorted(map(self._keys.key, requests))
        connection.execute(CLAIM, (keys, self._lease.id))
        values = (MAX_REPLY_BYTES, keys, self._lease.id)
        rows = connection.execute(LOOK_UP, values, binary=True).fetchall()
        replies = self._keys.replies(rows)
        unreadable = [
            key
            for key, data in rows
            if data is not None and replies[self._keys.request(key)] is None
        ]
        if unreadable:
            connection.execute(REMOVE, [unreadable])
        with self._mutex:
            self._held.update(replies)
            self._replies.update(replies)
        return set(replies)

    def _work(self) -> None:
        """Release what was released, and claim what is waited for."""
        now = time.monotonic()
        with self._mutex:
            for request in [r for r, s in self._granted.items() if now - s > FORGET_S]:
                del self._granted[request]
                self._release(request)
            self._waited_for = {r: s for r, s in self._waited_for.items() if now - s < FORGET_S}
            released, waited_for = list(self._released), list(self._waited_for)
        if released:
            values = (list(map(self._keys.key, released)), self._lease.id)
            self._lease.exchange(lambda c: c.execute(RELEASE, values))
            with self._mutex:
                self._released.difference_update(released)
        if waited_for and not self._lease.has_lapsed:
            claimed = self._lease.exchange(lambda c: self._claim(c, waited_for))
            with self._mutex:
                for request in claimed:
                    self._granted[request] = now
                    self._waited_for.pop(request, None)

    def __repr__(self) -> str:
        return f"SharedLocks({len(self._held)} held)"

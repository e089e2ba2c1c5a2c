"""Lease of one process on a shared store, renewed by a thread.

Only the database's clock sets and checks the expiry of the lease's row. A process that waits for
a lock removes expired rows with their locks. The owner of a removed row stops sending requests.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from harness.errors import RunError
from harness.extras.cluster.database import EXCHANGE_S, Database, StoreAway
from harness.judging.storage.reply_store import SharedProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg import Connection

    from harness.extras.cluster.store_address import StoreAddress

T = TypeVar("T")

RESTART_S = 10.0  # after the database starts, when no lease is removed
LEASE_MARGIN_S = 10.0  # by which the lease outlasts the longest call
ASK_S = 1.0  # maximum wait of the event loop, during which calls' deadlines continue
CONTACT_S = 5.0  # without a renewal for this long, no call is sent
RENEW_EVERY_S = 1.0
TICK_S = 0.1
REGISTER = (
    "INSERT INTO harness_worker (worker, run, budget, host, process, expires) "
    "VALUES (%s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s))"
)
RENEW = (
    "UPDATE harness_worker SET expires = clock_timestamp() + make_interval(secs => %s), "
    "held_usd = %s WHERE worker = %s"
)
REMOVE_EXPIRED = (  # but not while workers reconnect after a restart
    "DELETE FROM harness_worker WHERE expires < clock_timestamp() "
    "AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => %s)"
)
COUNT = (
    "INSERT INTO harness_run AS r VALUES (%(run)s, %(n)s) ON CONFLICT (run) DO UPDATE "
    "SET n_replies = r.n_replies + excluded.n_replies RETURNING "
    "(SELECT count(*) FROM harness_worker WHERE run = %(run)s AND expires > clock_timestamp()), "
    "n_replies"
)


class WorkerLease:
    """Lease of this process, with its database connection.

    Missing tables are created. The lease is longer than ``longest_call_s``. Waiting processes see
    the name of the run, and processes of one run count their stored replies together.

    Attributes
    ----------
    is_away : bool
        Whether the database could not be reached. Any user of the lease can set this, and the
        next renewal resets it.
    has_lapsed : bool
        Whether the lease expired and was removed.
    background : list of callable
        Functions that the lease's thread calls about every `TICK_S`.
    held_usd : float
        Budget that this process holds.
    n_uncounted : int
        Stored replies of this process that are not counted yet.
    progress : SharedProgress
        Progress of all processes of the run.
    """

    def __init__(self, address: StoreAddress, run: str, budget: str, longest_call_s: float) -> None:
        self.id = uuid4()
        self.name = address.name
        self.run = run
        self.budget = budget
        self.n_uncounted = 0
        self.progress = SharedProgress(1, 0)
        self.lease_s = longest_call_s + LEASE_MARGIN_S
        self.is_away = self.has_lapsed = False
        self.held_usd = 0.0
        self.background: list[Callable[[], object]] = []
        self._database = Database(address)
        try:
            self._database.exchange(self._register)
        except BaseException:
            self._database.close()
            raise
        self._renewed_s = time.monotonic()
        self._ended = threading.Event()
        self._renewal = threading.Thread(
            target=self._renew_regularly, name="store lease", daemon=True
        )
        self._renewal.start()

    @property
    def may_send(self) -> bool:
        """Whether this lease was renewed recently enough to outlast a call."""
        return time.monotonic() - self._renewed_s < CONTACT_S

    def ask(self, action: Callable[[Connection], T]) -> T:
        """Run an exchange of at most `ASK_S` from the event loop's thread. See `exchange`."""
        return self.exchange(action, ASK_S)

    def exchange(self, action: Callable[[Connection], T], within_s: float = EXCHANGE_S) -> T:
        """Run an exchange unless the database is unreachable. See `Database.exchange`."""
        if self.is_away:
            raise StoreAway(f"{self.name}: the store cannot be reached")
        try:
            return self._database.exchange(action, within_s)
        except StoreAway:
            self.is_away = True
            raise

    def close(self) -> None:
        """End the lease and all its locks."""
        self._ended.set()
        self._renewal.join()
        with suppress(RunError):
            self.exchange(self._end)
        self._database.close()

    def _register(self, connection: Connection) -> None:
        place = (socket.gethostname(), os.getpid())
        connection.execute(REGISTER, (self.id, self.run, self.budget, *place, self.lease_s))
        self._count(connection)

    def _count(self, connection: Connection) -> None:
        """Add this process's stored replies to the run's count, and read the count."""
        n = self.n_uncounted
        row = connection.execute(COUNT, {"run": self.run, "n": n}).fetchone()
        self.n_uncounted -= n
        self.progress = SharedProgress(*row) if row else self.progress

    def _end(self, connection: Connection) -> None:
        connection.execute("DELETE FROM harness_worker WHERE worker = %s", [self.id])
        self._count(connection)

    def _renew_regularly(self) -> None:
        next_s = 0.0
        while not self._ended.wait(TICK_S):
            try:
                if self.is_away or time.monotonic() >= next_s:
                    next_s = time.monotonic() + RENEW_EVERY_S
                    self._renew()
                for work in self.background:
                    work()
            except RunError:
                self.is_away = True

    def _renew(self) -> None:
        if self.is_away:
            self._database.check()
        before_s = time.monotonic()
        if self._database.exchange(self._extend):
            self._renewed_s = before_s
        else:
            self.has_lapsed = True
        self.is_away = False

    def _extend(self, connection: Connection) -> int:
        """Extend this lease, and remove expired leases. Return 0 if this lease is gone."""
        renewal = (self.lease_s, self.held_usd, self.id)
        n_renewed = connection.execute(RENEW, renewal).rowcount
        connection.execute(REMOVE_EXPIRED, [RESTART_S])
        self._count(connection)
        return n_renewed

    def __repr__(self) -> str:
        state = "lapsed" if self.has_lapsed else "away" if self.is_away else "held"
        return f"WorkerLease({self.name}, {state})"

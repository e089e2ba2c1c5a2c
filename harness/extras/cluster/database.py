"""Connections to a shared store's PostgreSQL database, and its tables."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from harness.errors import RunError
from harness.judging.storage.response_cache import CacheUnwritable
from harness.loading import SharedBlock, silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg.abc import PQGen

    from harness.extras.cluster.store_address import StoreAddress

T = TypeVar("T")

_QUIET = SharedBlock(lambda: silenced(("psycopg", "psycopg.pool")))

CONNECTIONS = (
    3  # maximum numbers of connections for claims, for replies written to disk, and for the lease
)
CONNECT_S = 3
STATEMENT_S = 5.0  # maximum duration of one statement on the server
EXCHANGE_S = STATEMENT_S + CONNECT_S  # default maximum duration of one exchange
CHECK_S = 1.0  # maximum duration of a statement from the pool itself
SCHEMA_LOCK = 7_244_118  # advisory lock, so that one process at a time creates the tables
SCHEMA = (  # one script per version
    """
    CREATE TABLE harness_reply (
        request bytea PRIMARY KEY,
        reply bytea NOT NULL,
        folder text -- of the run that started the process which paid, on a cluster
    );
    CREATE TABLE harness_worker (
        worker uuid PRIMARY KEY,
        run text NOT NULL,
        budget text NOT NULL,
        host text NOT NULL,
        process integer NOT NULL,
        since timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires timestamptz NOT NULL,
        held_usd double precision NOT NULL DEFAULT 0
    );
    CREATE INDEX harness_worker_expires ON harness_worker (expires);
    CREATE TABLE harness_lock (
        request bytea PRIMARY KEY,
        worker uuid NOT NULL REFERENCES harness_worker ON DELETE CASCADE
    );
    CREATE INDEX harness_lock_worker ON harness_lock (worker);
    CREATE TABLE harness_run (
        run text PRIMARY KEY,
        n_replies bigint NOT NULL
    );
    CREATE TABLE harness_budget (
        budget text PRIMARY KEY,
        limit_usd double precision NOT NULL,
        taken_usd double precision NOT NULL
    );
    CREATE TABLE harness_rate (
        name text PRIMARY KEY,
        next_at timestamptz NOT NULL
    );
    """,
)


class StoreAway(CacheUnwritable):
    """Error for a database that cannot be reached. Unstored replies are in the verdict log."""


class TimedConnection(psycopg.Connection):
    """Connection that stops waiting for replies at ``ends_s`` on the monotonic clock.

    A server behind a network partition sends no error, and data that TCP has delivered to a proxy
    has no timeout.
    """

    ends_s: float | None = None

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run an exchange, or raise `psycopg.OperationalError` if it takes too long."""
        del timeout
        left_s = CHECK_S if self.ends_s is None else self.ends_s - time.monotonic()
        return super().wait(gen, interval, left_s)


class Database:
    """Pool of connections that any thread can use. Each statement commits."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        limits = {
            "connect_timeout": CONNECT_S,
            "tcp_user_timeout": int(STATEMENT_S * 1000),
            "application_name": "judge-harness",
            "client_encoding": "UTF8",
        }
        parameters = address.parameters | limits | {"autocommit": True}
        with ExitStack() as opened:
            opened.enter_context(_QUIET.entered())  # errors are raised
            # Without the pool, which doesn't report why it can't connect
            with explained(address), TimedConnection.connect(**parameters) as first:  # type: ignore[arg-type]  # libpq checks them
                first.ends_s = time.monotonic() + EXCHANGE_S
                configure(first)
                prepare(first)
            self._pool = ConnectionPool(
                kwargs=parameters,
                connection_class=TimedConnection,
                configure=configure,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=CONNECT_S,
                reconnect_timeout=CONNECT_S,
                num_workers=1,
                open=True,
            )
            self._opened = opened.pop_all()

    def exchange(
        self, action: Callable[[psycopg.Connection], T], within_s: float = EXCHANGE_S
    ) -> T:
        """Call a function with a connection.

        Raises
        ------
        StoreAway
            If the database cannot be reached, or did not reply in time. It may still have
            executed the call.
        RunError
            If the database rejects the call.
        """
        ends_s = time.monotonic() + within_s
        wait_s = min(within_s, CONNECT_S)
        with explained(self._address), self._pool.connection(wait_s) as connection:
            connection.ends_s = ends_s
            try:
                return action(connection)
            finally:
                connection.ends_s = None

    def check(self) -> None:
        """Replace idle connections that were lost."""
        self._pool.check()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()
        self._opened.close()


def configure(connection: psycopg.Connection) -> None:
    """Limit the duration of each statement and transaction."""
    limit_ms = int(STATEMENT_S * 1000)
    connection.execute(
        f"SET statement_timeout = {limit_ms}; SET idle_in_transaction_session_timeout = {limit_ms}"
    )


@contextmanager
def explained(address: StoreAddress) -> Iterator[None]:
    """Turn database errors into one line without secrets."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
        raise StoreAway(
            f"{address.name}: the store cannot be reached ({address.hide(str(error))})"
        ) from None
    except psycopg.Error as error:
        raise RunError(
            f"{address.name}: cannot be used as a store ({address.hide(str(error))}). Check the "
            "user's rights, and that nothing else uses the database."
        ) from None


def prepare(connection: psycopg.Connection) -> None:
    """Create missing tables. Several processes can call this simultaneously."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEMA_LOCK])
        connection.execute("CREATE TABLE IF NOT EXISTS harness_schema (version integer NOT NULL)")
        row = connection.execute("SELECT version FROM harness_schema").fetchone()
        version = row[0] if row else 0
        if version > len(SCHEMA):
            raise RunError(
                f"the store has tables of version {version}, but this program only supports "
                f"versions up to {len(SCHEMA)}. Update judge-harness."
            )
        for script in SCHEMA[version:]:
            connection.execute(script)
        if version < len(SCHEMA):
            connection.execute("DELETE FROM harness_schema")
            connection.execute("INSERT INTO harness_schema VALUES (%s)", [len(SCHEMA)])

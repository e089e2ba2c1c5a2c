"""Connections to the PostgreSQL database of a shared store, and its tables."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import psycopg

from harness.errors import RunError
from harness.judging.storage.response_cache import CacheUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.judging.cluster.store_address import StoreAddress

T = TypeVar("T")

CONNECT_S = 3
STATEMENT_S = 5.0  # longest that one statement may take
EXCHANGE_S = STATEMENT_S + CONNECT_S  # longest that one exchange may take, by default
SCHEMA_LOCK = 7_244_118  # advisory: one process at a time creates the tables
SCHEMA = (  # a script per version
    """
    CREATE TABLE harness_reply (
        request bytea PRIMARY KEY,
        reply bytea NOT NULL
    );
    CREATE TABLE harness_worker (
        worker uuid PRIMARY KEY,
        run text NOT NULL,
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
    CREATE TABLE harness_budget (
        run text PRIMARY KEY,
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
    """The database cannot be reached now; what was to be stored stands in the verdict log."""


class Database:
    """One connection, for one thread at a time, that is opened again after it was lost.

    Where it is not ``durable``, the last second before the database crashes may be lost. An
    exchange that takes longer than ``exchange_s`` is ended by `end_late_exchange`.
    """

    def __init__(
        self, address: StoreAddress, *, durable: bool = False, exchange_s: float = EXCHANGE_S
    ) -> None:
        self._address = address
        self._durable = durable
        self._exchange_s = exchange_s
        self._connection: psycopg.Connection | None = None
        self._lock = threading.Lock()
        self._late_s = float("inf")

    def run(self, action: Callable[[psycopg.Connection], T]) -> T:
        """Call a function with the connection, which commits each statement.

        Raises
        ------
        StoreAway
            If the database cannot be reached, or did not reply in time; unknown is whether it has
            done what was asked for.
        RunError
            If it refuses what was asked for.
        """
        with self._lock, explained(self._address):
            self._late_s = time.monotonic() + self._exchange_s
            try:
                if self._connection is None:
                    self._connection = connect(self._address)
                    if not self._durable:
                        self._connection.execute("SET synchronous_commit = off")
                return action(self._connection)
            except psycopg.Error:
                self._drop()
                raise
            finally:
                self._late_s = float("inf")

    def end_late_exchange(self) -> None:
        """Close the connection if the database does not reply in time; for another thread."""
        connection = self._connection
        if connection is not None and time.monotonic() > self._late_s:
            with (
                suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(connection.fileno())) as copy,
            ):
                copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


def connect(address: StoreAddress) -> psycopg.Connection:
    """Connect to a database; each statement commits, within a bounded time."""
    limits = {
        "connect_timeout": CONNECT_S,
        "tcp_user_timeout": int(STATEMENT_S * 1000),
        "application_name": "judge-harness",
    }
    connection = psycopg.connect(**(address.parameters | limits), autocommit=True)  # type: ignore[arg-type]  # libpq checks them
    connection.execute(f"SET statement_timeout = {int(STATEMENT_S * 1000)}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {int(STATEMENT_S * 1000)}")
    connection.execute("SET client_encoding = 'UTF8'")
    return connection


@contextmanager
def explained(address: StoreAddress) -> Iterator[None]:
    """Turn the errors of a database into one line without secrets."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
        raise StoreAway(
            f"{address.name}: the store cannot be reached ({address.hide(str(error))})"
        ) from None
    except psycopg.Error as error:
        raise RunError(
            f"{address.name}: cannot be used as a store ({address.hide(str(error))}); check the "
            "rights of its user, and that the database is only for this."
        ) from None


def prepare(connection: psycopg.Connection) -> None:
    """Create the tables that are missing; safe if several processes do so at once.

    Raises
    ------
    RunError
        If they are of a newer version.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEMA_LOCK])
        connection.execute("CREATE TABLE IF NOT EXISTS harness_schema (version integer NOT NULL)")
        version = schema_version(connection)
        if version > len(SCHEMA):
            raise RunError(
                f"the store has tables of version {version}, this program knows {len(SCHEMA)}; "
                "update judge-harness."
            )
        for script in SCHEMA[version:]:
            connection.execute(script)
        if version < len(SCHEMA):
            connection.execute("DELETE FROM harness_schema")
            connection.execute("INSERT INTO harness_schema VALUES (%s)", [len(SCHEMA)])


def schema_version(connection: psycopg.Connection) -> int:
    """Return the version of the tables; 0 where there are none."""
    if connection.execute("SELECT to_regclass('harness_schema')").fetchone() == (None,):
        return 0
    row = connection.execute("SELECT version FROM harness_schema").fetchone()
    return int(row[0]) if row else 0

"""A PostgreSQL server of the tests: in a temporary folder, on loopback, as an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
USERS = ("postgres", "nobody")
START_S = STOP_S = 120.0  # a checkpoint takes long where other programs use the disk


def find_programs() -> Path | None:
    """Return the folder of the server's programs; None where it is not installed."""
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    return INSTALLED[-1] if INSTALLED else None


class Postgres:
    """A server that can be stopped and started again; its data stay.

    Attributes
    ----------
    port : int
        Where it listens on 127.0.0.1.
    """

    def __init__(self, folder: Path) -> None:
        programs = find_programs()
        assert programs is not None, "PostgreSQL is not installed"
        self._programs = programs
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        folder.chmod(0o711)
        self._data = folder / "data"
        self._data.mkdir(mode=0o700)
        self._user = {}
        if os.geteuid() == 0:  # which the server refuses
            entry = next(pwd.getpwnam(name) for name in USERS if _exists(name))
            os.chown(self._data, entry.pw_uid, entry.pw_gid)
            self._user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        initdb = [
            programs / "initdb",
            "-D",
            self._data,
            "-A",
            "trust",
            "-U",
            "harness",
            "-E",
            "UTF8",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=self._data, **self._user)

    def address(self, database: str = "postgres", port: int | None = None) -> str:
        """What ``--store`` is given."""
        return f"postgresql://harness@127.0.0.1:{port or self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Create an empty database; return its address."""
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.address(name)

    def connect(self, database: str = "postgres"):
        """Return a connection that commits each statement."""
        import psycopg

        return psycopg.connect(self.address(database), autocommit=True)

    def start(self) -> None:
        """Start, and wait until it accepts connections."""
        options = ["-p", self.port, "-h", "127.0.0.1", "-k", "", "-c", "fsync=on"]
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            list(map(str, [self._programs / "postgres", "-D", self._data, *options])),
            cwd=self._data,
            stdout=log,
            stderr=log,
            start_new_session=True,
            **self._user,
        )
        log.close()
        give_up_s = time.monotonic() + START_S
        while not self._is_ready():
            assert time.monotonic() < give_up_s, (self._folder / "log").read_text()
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop: SIGINT ends all connections, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(STOP_S)
            self._process = None

    def _is_ready(self) -> bool:
        import psycopg

        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@contextmanager
def postgres_running() -> Iterator[Postgres]:
    """Run a server until the block ends."""
    with tempfile.TemporaryDirectory(prefix="harness-postgres-") as folder:
        server = Postgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # its data are not needed any more

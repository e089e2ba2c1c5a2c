"""Another program, in a process of its own, that keeps SQLite's lock on a file."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGAINST_WRITING = "BEGIN IMMEDIATE"
AGAINST_READING = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"
PROGRAM = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
for words in sys.argv[2].split(";"):
    database.execute(words)
print(flush=True)
sys.stdin.read()
database.execute("ROLLBACK")
"""


@contextmanager
def locked(database: Path, how: str = AGAINST_WRITING) -> Iterator[None]:
    """Keep a lock while the block runs."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(database), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()
        yield
        other.stdin.close()
        assert other.wait() == 0

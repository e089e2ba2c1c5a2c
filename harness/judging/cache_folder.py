"""Where what can be made again is kept."""

from __future__ import annotations

import hashlib
import os
import shlex
import sqlite3
from pathlib import Path


def cache_folder() -> Path:
    """``$HARNESS_CACHE``, else ``judge-harness`` in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"


def note_of(folder: Path, path: Path) -> Path:
    """Name the note in a folder that says where something is."""
    return folder / hashlib.sha256(bytes(path)).hexdigest()


def leave_note(folder: Path, path: Path) -> None:
    """Say in a folder where something is, whole or not at all."""
    note = note_of(folder, path)
    part = note.with_suffix(".part")
    part.write_bytes(bytes(path))
    part.replace(note)


def read_note(note: Path) -> Path:
    """Tell where something is."""
    return Path(os.fsdecode(note.read_bytes()))


def resuming(run: Path, cache: Path | None = None, verb: str = "run --resume") -> str:
    """Write the command that goes on with a run, on another cache than the usual if it had one."""
    chosen = [] if cache in {None, cache_folder()} else ["--cache", str(cache)]
    return shlex.join(["harness", *verb.split(), "--run", str(run), *chosen])


TROUBLES = {  # what SQLite says of a cache that it cannot use, and what is to be done
    "locked": ("locked by another program", "wait for it, choose another with --cache DIR"),
    "no such": ("a database of another program", "choose another with --cache DIR"),
    "full": ("its disk is full", "free some space, choose another with --cache DIR"),
    "": ("it cannot be opened", "check who may read and write it, choose another with --cache DIR"),
}


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another program keeps the database to itself."""
    return "locked" in str(error)


def read_only(database: Path, wait_s: float) -> sqlite3.Connection:
    """Open a database that nothing will be written to; wait so long for a lock."""
    address = f"{database.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=wait_s, isolation_level=None)


def trouble(error: sqlite3.Error | OSError) -> tuple[str, str]:
    """Say what is wrong with a cache, and what to do about it."""
    said = str(error.strerror if isinstance(error, OSError) else error)  # not its path
    return next(told for words, told in TROUBLES.items() if words in said)

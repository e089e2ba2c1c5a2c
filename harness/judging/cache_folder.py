"""Default folder of the response cache, notes in it, and the command that resumes a run."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

from harness.files import write_file


def cache_folder() -> Path:
    """Return ``$HARNESS_CACHE``, else ``judge-harness`` in the user's cache folder."""
    if configured := os.environ.get("HARNESS_CACHE"):
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"


def note_path(folder: Path, target: Path) -> Path:
    """Return the path of the note in ``folder`` that points at ``target``."""
    return folder / hashlib.sha256(bytes(target)).hexdigest()


def leave_note(folder: Path, target: Path) -> None:
    """Write a note that points at ``target``, whole or not at all."""
    write_file(note_path(folder, target), bytes(target))


def note_names(folder: Path) -> list[str]:
    """Return the names of all notes in a folder; empty where there is none."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- at every look-up
    except OSError:  # not created yet, or deleted
        return []
    return [name for name in names if not name.endswith(".part")]


def read_note(note: Path) -> Path:
    """Return the path that a note points at."""
    return Path(os.fsdecode(note.read_bytes()))


def resume_command(run: Path, cache: Path | None = None, verb: str = "run") -> str:
    """Return the command that resumes a run; names the cache unless it is the default one."""
    options = [] if cache in {None, cache_folder()} else ["--cache", str(cache)]
    return shlex.join(["harness", *verb.split(), "--resume", str(run), *options])

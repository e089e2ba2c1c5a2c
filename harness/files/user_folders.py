"""The user's folders for cache, data, settings and tracebacks."""

from __future__ import annotations

import os
import secrets
import shlex
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.files.regular_files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FRAMES = 50


def state_folder() -> Path:
    """Return ``judge-harness`` in the user's state folder (``$XDG_STATE_HOME``)."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "judge-harness"


def keep_traceback(error: BaseException) -> str:
    """Write a traceback without error messages, which can quote texts, and return its location."""
    now = datetime.now(UTC)
    path = state_folder() / "tracebacks" / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(path, "".join(_places(error)).encode(errors="replace"), mode=0o600)
    except OSError as problem:
        return f"the traceback cannot be written ({problem.strerror})"
    return f"the traceback is in {path}"


def _places(error: BaseException) -> list[str]:
    """Return the stack frames and types of an error and its causes, with the first cause first."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = traceback.format_tb(error.__traceback__, limit=-MAX_FRAMES)
    return [*(_places(cause) if cause else []), *frames, f"{type(error).__name__}\n"]


def data_folder() -> Path:
    """Return ``judge-harness`` in the user's data folder (``$XDG_DATA_HOME``)."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "judge-harness"


def cache_folder() -> Path:
    """Return ``$HARNESS_CACHE``, or else ``judge-harness`` in the user's cache folder."""
    if configured := os.environ.get("HARNESS_CACHE"):
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"


def resume_command(
    run: Path,
    cache: Path | None = None,
    store: str | None = None,
    options: Sequence[str] = (),
) -> str:
    """Return the command that resumes a run. It includes a cache that isn't the default."""
    place = [] if cache in {None, cache_folder()} else ["--cache", str(cache)]
    place += ["--store", store] if store else []
    return shlex.join(["harness", "resume", str(run), *options, *place])


def user_file() -> Path | None:
    """Return the path of the user's judges file, or None if the user has none."""
    if path_name := os.environ.get("HARNESS_JUDGES"):
        return Path(path_name)
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    path = Path(home).expanduser() / "judge-harness" / "judges.yaml"
    return path if path.is_file() else None

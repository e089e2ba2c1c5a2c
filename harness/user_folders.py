"""The user's folders: cache, data, and state with the key of their seal and tracebacks."""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from harness.files import read_file, write_file

KEY_BYTES = 32
MAX_FRAMES = 50


def state_folder() -> Path:
    """Return ``judge-harness`` in the user's state folder (``$XDG_STATE_HOME``)."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "judge-harness"


def seal_of(data: bytes) -> str:
    """Return the user's seal on data: an HMAC under a key that is made at its first use.

    Without a folder to keep the key in there is no seal: "".
    """
    with suppress(OSError, RuntimeError):  # also where there is no home
        if not (file := _key_file()).exists():
            _make_key(file)
        return _hmac(file, data)
    return ""


def is_seal(seal: str, data: bytes) -> bool:
    """Whether a seal is the user's own seal on data."""
    with suppress(OSError, RuntimeError):
        return hmac.compare_digest(seal.encode(errors="replace"), _hmac(_key_file(), data).encode())
    return False


def keep_traceback(error: BaseException) -> str:
    """Write where an error occurred, without its message, which may quote a text; say where."""
    now = datetime.now(UTC)
    path = state_folder() / "tracebacks" / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(path, "".join(_places(error)).encode(errors="replace"), mode=0o600)
    except OSError as problem:
        return f"the traceback cannot be kept ({problem.strerror})"
    return f"the traceback is in {path}"


def _places(error: BaseException) -> list[str]:
    """Return frames and types of an error and its causes, the first cause first."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = traceback.format_tb(error.__traceback__, limit=-MAX_FRAMES)
    return [*(_places(cause) if cause else []), *frames, f"{type(error).__name__}\n"]


def _key_file() -> Path:
    return state_folder() / "seal.key"


def _make_key(file: Path) -> None:
    """Write a new key; where two processes do so, both use the first."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = file.with_name(f"{secrets.token_hex(8)}.key")
    write_file(part, secrets.token_bytes(KEY_BYTES), durable=True, mode=0o600)
    try:
        with suppress(FileExistsError):
            os.link(part, file)  # which fails where the file exists, unlike rename
    finally:
        part.unlink()


def _hmac(file: Path, data: bytes) -> str:
    key = read_file(file, KEY_BYTES)
    if len(key) != KEY_BYTES:
        raise OSError(f"{file}: damaged")
    return hmac.digest(key, data, "sha256").hex()


def data_folder() -> Path:
    """Return ``judge-harness`` in the user's data folder (``$XDG_DATA_HOME``)."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "judge-harness"


def cache_folder() -> Path:
    """Return ``$HARNESS_CACHE``, else ``judge-harness`` in the user's cache folder."""
    if configured := os.environ.get("HARNESS_CACHE"):
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"


def resume_command(
    run: Path, cache: Path | None = None, verb: str = "run", store: str | None = None
) -> str:
    """Return the command that resumes a run; names the cache unless it is the default one."""
    options = [] if cache in {None, cache_folder()} else ["--cache", str(cache)]
    options += ["--store", store] if store else []
    return shlex.join(["harness", *verb.split(), "--resume", str(run), *options])

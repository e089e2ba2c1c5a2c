"""Default folder of the response cache, and the command that resumes a run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path


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

"""Where what can be made again is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$HARNESS_CACHE``, else ``judge-harness`` in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "judge-harness"

"""The exit code that a run must have, by the counts of its replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DONE, INCOMPLETE = 0, 3


def code_by_counts(metrics: dict) -> int:
    """Return the code that goes with the content of a `metrics.json`: 3 for too few answers."""
    least = metrics["settings"]["min_answered"]
    counts = [c for judge in metrics["judges"] for c in judge["outcomes"]]
    assert counts
    is_short = any(c["answered"] < least * c["planned"] or c["not_asked"] for c in counts)
    return INCOMPLETE if is_short else DONE


def metrics_in(out: Path) -> dict:
    """Return the content of the `metrics.json` of the only run in a folder."""
    [file] = out.glob("*/metrics.json")
    return json.loads(file.read_text("utf-8"))

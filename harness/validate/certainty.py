"""Judges by how certain the humans were."""

from __future__ import annotations

from harness.validate.source import Frozen


class Certainty(Frozen):
    """Judges by how certain the humans were."""

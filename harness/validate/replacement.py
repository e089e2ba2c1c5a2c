"""Whether a judge may replace a human rater."""

from __future__ import annotations

from harness.validate.source import Frozen


class Replacement(Frozen):
    """Whether a judge may replace a human rater."""

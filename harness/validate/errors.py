"""How each judge errs."""

from __future__ import annotations

from harness.validate.source import Frozen


class Errors(Frozen):
    """How each judge errs."""

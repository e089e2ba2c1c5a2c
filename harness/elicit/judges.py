"""Judges by name: aliases, specifications and the one interface that all of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from harness.elicit.prompts import Request, Unit
    from harness.elicit.verdicts import Reply


class Judge(Protocol):
    """Something that rates in place of people."""

    async def ask(self, request: Request) -> Reply:
        """Answer one request, or raise `harness.errors.CallFailed`."""

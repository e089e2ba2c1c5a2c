"""Strategy for replies that follow a JSON schema, equivalent to ``answer: schema``."""

from __future__ import annotations

from harness.judging.strategies.answer_schemas import SCHEMA_MAX_TOKENS
from harness.judging.strategies.strategy import Params, PlainQuestion, with_room


class JsonReplies(PlainQuestion):
    """Strategy that asks the plain question and requests replies that follow a JSON schema."""

    answer = "schema"

    def params(self, params: Params) -> Params:
        """Return parameters with enough tokens for JSON."""
        return with_room(params, SCHEMA_MAX_TOKENS)

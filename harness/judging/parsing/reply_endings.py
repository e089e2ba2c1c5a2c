"""Meanings of providers' finish reasons.

Providers spell the same meaning in many ways: ``length``, ``MAX_TOKENS``, ``max_output_tokens``,
``model_length``. Each word is therefore split into parts, ignoring case and separators.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

ReplyEnding = Literal["complete", "cut_off", "filtered", "failed", "unknown"]

PART = re.compile(r"[a-z]+")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
BY_PART: tuple[tuple[ReplyEnding, frozenset[str]], ...] = (  # the first match counts
    (
        "filtered",
        frozenset(
            {
                *("blocked", "blocklist", "censored", "filter", "filtered", "flagged", "guardrail"),
                *("guardrails", "harmful", "moderation", "policy", "prohibited", "recitation"),
                *("refusal", "refused", "safety", "sensitive", "spii", "violation"),
            }
        ),
    ),
    (
        "failed",
        frozenset(
            {
                *("abort", "aborted", "cancelled", "canceled", "crash", "crashed", "disconnect"),
                *("disconnected", "error", "errored", "fail", "failed", "failure", "insufficient"),
                *("interrupted", "malformed", "overloaded", "rate", "resource", "time", "timeout"),
                "unavailable",
            }
        ),
    ),
    (
        "cut_off",
        frozenset(
            {
                *("context", "cutoff", "exceeded", "incomplete", "length", "limit", "max"),
                *("maximum", "maxtokens", "truncated", "truncation"),
            }
        ),
    ),
    (
        "complete",
        frozenset(
            {
                *("complete", "completed", "done", "end", "eos", "finished", "function", "normal"),
                *("stop", "stopped", "success", "tool"),
            }
        ),
    ),
)


CALLS = frozenset({"tool", "tools", "function"})


@cache
def ending_of(word: str | None) -> ReplyEnding:
    """Return the meaning of a provider's finish reason, by default "complete".

    Examples
    --------
    >>> ending_of("MAX_TOKENS"), ending_of("model_length"), ending_of("end_turn")
    ('cut_off', 'cut_off', 'complete')
    >>> ending_of("content_filter: PROHIBITED_CONTENT"), ending_of("OTHER")
    ('filtered', 'unknown')
    """
    if not word:
        return "complete"
    parts = _parts(word)
    return next((ending for ending, words in BY_PART if parts & words), "unknown")


def is_tool_call(word: str | None) -> bool:
    """Return whether a provider's finish reason means that a tool was called.

    Examples
    --------
    >>> is_tool_call("tool_calls"), is_tool_call("functionCall"), is_tool_call("stop")
    (True, True, False)
    """
    return bool(word) and bool(_parts(word or "") & CALLS)


def _parts(word: str) -> set[str]:
    return set(PART.findall(HUMP.sub("_", word).lower()))

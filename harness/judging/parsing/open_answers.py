"""Replies on a scale without options: a number, or a text as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.judging.parsing.grammar import MAX_DIAGNOSED, REFUSAL, Parsed, reply_body
from harness.judging.parsing.number_grammar import parse_number, verdict_member
from harness.tasks import CANNOT_ASSESS
from harness.tasks.schema import MAX_ANSWER_CHARS

if TYPE_CHECKING:
    from harness.tasks import Task

QUOTES = (('"', '"'), ("\u201c", "\u201d"))


def parse_open(text: str, task: Task) -> tuple[Parsed, str]:
    """Parse a complete reply to a task without options.

    Returns
    -------
    parsed : Parsed
        Its value is a number or a text.
    quotable : str
        Text that makes the reply a quotation if it occurs in the text of the item; mostly empty.
    """
    if task.scale == "continuous":
        return parse_number(text, task.bounds, abstain=task.abstain)
    return parse_text(text, abstain=task.abstain), ""


def parse_text(text: str, *, abstain: bool) -> Parsed:
    """Parse a complete reply that is to be a text.

    A leading think block, spaces and quotation marks around the whole are left out, and of a JSON
    object with one verdict that is taken; nothing else is changed.

    Parameters
    ----------
    text : str
        The reply as received; any text at all.
    abstain : bool
        Whether CANNOT_ASSESS was offered.
    """
    body = _unquoted(reply_body(text))
    if body.startswith("<think>"):
        return Parsed("invalid", reason="unreadable")
    answer = verdict_member(body).strip() or body if body.startswith("{") else body
    if not answer or len(answer) > MAX_ANSWER_CHARS:
        return Parsed("invalid", reason="too_long" if answer else "empty")
    if answer.upper() == CANNOT_ASSESS:
        return (
            Parsed("abstained") if abstain else Parsed("invalid", reason="abstention_not_offered")
        )
    if REFUSAL.match(answer[:MAX_DIAGNOSED]):
        return Parsed("refused", reason="refusal")
    return Parsed("answered", answer)


def _unquoted(body: str) -> str:
    for opening, closing in QUOTES:
        inner = body[1:-1]
        if body.startswith(opening) and body.endswith(closing) and opening not in inner:
            return inner.strip()
    return body

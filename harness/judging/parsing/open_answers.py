"""Parser for replies on scales without options, which are numbers or texts."""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from harness.judging.parsing.answer_names import role
from harness.judging.parsing.envelope import THOUGHT, own_words
from harness.judging.parsing.grammar import (
    MAX_REPLY,
    Parsed,
    forms,
    is_refusal,
    with_only_score,
)
from harness.judging.parsing.json_verdicts import decoded_members
from harness.judging.parsing.option_matching import NUMERALS, OptionIndices, with_digits
from harness.judging.parsing.option_search import NumberSearch
from harness.judging.parsing.prose import read_prose
from harness.judging.parsing.reply_fields import VerdictPart, verdict_part
from harness.judging.parsing.statement_faults import takes_back_in_any
from harness.judging.parsing.tool_calls import with_arguments
from harness.tasks import CANNOT_ASSESS
from harness.tasks.schema import MAX_ANSWER_CHARS, number_text

if TYPE_CHECKING:
    from harness.tasks import Task


NUMBER = re.compile(r"[+\u2212-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)", re.ASCII)
OUT_OF = re.compile(r"(?P<number>\S+?)\s*/\s*(?P<most>\S+)")
SPACED_SIGN = re.compile(r"[-\u2212\u2013]\s")  # a bullet, or a minus
ASIDE = re.compile(  # "0.67 (2 of 3 claims)"
    r"\s*\((?![^()\n]*\b(?:or|if|not|maybe|perhaps|was|instead|previously)\b)[^()\n]{3,80}\)\s*\Z"
)
MAX_NUMBER_CHARS = 40
QUOTES = (('"', '"'), ("\u201c", "\u201d"))


def parse_number(
    text: str, bounds: tuple[float, float] | None, *, abstain: bool
) -> tuple[Parsed, str]:
    """Parse a reply that must be a number. See `parse_open`.

    The value is the number as `harness.tasks.schema.number_text` writes it. In addition to the
    reasons of `Parsed`, the reason can be ``out_of_bounds``.
    """
    body = with_arguments(own_words(text))
    if not body or len(body) > MAX_REPLY:
        return Parsed("invalid", reason="too_long" if body else "empty"), ""
    if body.startswith(THOUGHT):
        return Parsed("invalid", reason="cut_off"), ""
    body = with_only_score(body)
    body = _on_bounds(with_digits(body), bounds) if bounds else body
    whole = _whole(body, bounds, abstain=abstain)
    if whole is not None:
        return whole[0], body if whole[1] else ""
    part = verdict_part(body)
    if part and (stated := _stated(part, bounds, abstain=abstain)):
        return stated, part.verdict
    return _in_prose(body, bounds, abstain=abstain)


def _in_prose(
    body: str, bounds: tuple[float, float] | None, *, abstain: bool
) -> tuple[Parsed, str]:
    """Parse a reply that contains more than a number, or that declines."""
    search = NumberSearch()

    def read_line(line: str) -> tuple[OptionIndices, bool] | None:
        parsed = _whole(line, bounds, abstain=abstain)
        number = parsed and (parsed[0].value or (line if parsed[0].outcome == "invalid" else None))
        return (
            (OptionIndices([search.index(str(number))]), parsed[1]) if parsed and number else None
        )

    prose = read_prose(body, search, read_line, many=False)
    if prose.reading is not None:
        [index] = prose.reading
        stated = _whole(search.texts[index], bounds, abstain=abstain)
        if stated is not None:
            return stated[0], prose.sentence
    if is_refusal(body):
        return Parsed("refused", reason="refusal"), ""
    return Parsed("invalid", reason=prose.reason or "unreadable"), ""


def _on_bounds(body: str, bounds: tuple[float, float]) -> str:
    """Reduce "8/10", "8 out of 10", "8 points" and, on 0 to 100, "80%" to a number."""
    low, high = map(number_text, bounds)
    if low != "0":  # 5/7 on a scale from 1 could be a fraction
        return body
    return _scale_words(low, high).sub(r"\g<number>", body)


@lru_cache(maxsize=256)
def _scale_words(low: str, high: str) -> re.Pattern[str]:
    """Return a pattern for a number with its range, such as "out of 10", or a range alone."""
    most = rf"{re.escape(high)}(?![\d/%])(?!\.\d)"
    percent = r"|\s?%(?!\s*(?:of|sure|certain|confident)\b)" if (low, high) == ("0", "100") else ""
    return re.compile(
        rf"(?<![\d.,/-])(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?)[*_`]{{0,3}}"
        rf"(?:\s*/\s*{most}|\s+(?:out\s+of|von|sur|de|su)\s+(?:a\s+possible\s+)?{most}{percent}"
        rf"|\s*(?:(?:points?|punkte)\b|[\u5206\u70b9\uc810]))"
        r"|[ ]\((?:(?:on\s+)?a?\s*scale\s+(?:of|from)\s+)?"
        rf"{re.escape(low)}\s*(?:-|\u2013|to)\s*{most}\)",
        re.IGNORECASE,
    )


def _stated(
    part: VerdictPart, bounds: tuple[float, float] | None, *, abstain: bool
) -> Parsed | None:
    """Return the answer in a reply's verdict part, unless other parts disagree with it."""
    verdict = ASIDE.sub("", part.verdict)
    whole = _whole(part.verdict, bounds, abstain=abstain) or _whole(
        verdict, bounds, abstain=abstain
    )
    is_other = any(_whole(other, bounds, abstain=abstain) for other in part.others)
    return None if whole is None or is_other or takes_back_in_any(part.after) else whole[0]


def _whole(
    body: str, bounds: tuple[float, float] | None, *, abstain: bool
) -> tuple[Parsed, bool] | None:
    """Parse a text that contains only an answer. Return None for any other text.

    The flag says whether the answer is behind a lead-in or in JSON.
    """
    for form, _, has_lead in forms(body):
        if SPACED_SIGN.match(form):
            break
        answer = verdict_member(form) if form.startswith("{") else form
        parsed = _answer(answer, bounds, abstain=abstain)
        if parsed is not None:
            return parsed, has_lead or answer != form
    return None


def _answer(form: str, bounds: tuple[float, float] | None, *, abstain: bool) -> Parsed | None:
    """Parse one form of a reply. Return None unless it is a number or an abstention."""
    if form.upper() == CANNOT_ASSESS:
        return (
            Parsed("abstained") if abstain else Parsed("invalid", reason="abstention_not_offered")
        )
    number = _number(form, bounds)
    if number is None:
        return None
    if bounds and not bounds[0] <= number <= bounds[1]:
        return Parsed("invalid", reason="out_of_bounds")
    return Parsed("answered", number_text(number))


def _number(form: str, bounds: tuple[float, float] | None) -> float | None:
    """Parse a number. On a scale from 0, also parse a fraction of the maximum, such as 8/10."""
    if form.casefold() in NUMERALS:
        form = str(NUMERALS.index(form.casefold()))
    if bounds and bounds[0] == 0 and (match := OUT_OF.fullmatch(form)):
        most = _plain(match["most"])
        return _plain(match["number"]) if most == bounds[1] else None
    return _plain(form)


def verdict_member(form: str) -> str:
    """Return the verdict in a JSON object, or "" if there is none or more than one."""
    members = decoded_members(form)
    roles = {name: role(name) for name in members}
    named = [name for name in members if roles[name] in {"answer", "score"}]
    named = named or [name for name in members if roles[name] == "other"]
    value = members[named[0]] if len(named) == 1 else None
    return value if isinstance(value, str) else ""


def _plain(text: str) -> float | None:
    if len(text) > MAX_NUMBER_CHARS or not NUMBER.fullmatch(text):
        return None
    number = float(text.replace("\u2212", "-"))
    return number if isfinite(number) else None


def parse_open(text: str, task: Task) -> tuple[Parsed, str]:
    """Parse a complete reply to a task without options.

    Returns
    -------
    parsed : Parsed
        The outcome, whose value is a number or a text.
    quotable : str
        Text that makes the reply a quotation if the item's text contains it. Usually empty.
    """
    if task.scale == "continuous":
        return parse_number(text, task.bounds, abstain=task.abstain)
    return parse_text(text, abstain=task.abstain), ""


def parse_text(text: str, *, abstain: bool) -> Parsed:
    """Parse a complete reply that must be a text.

    A leading think block, and spaces and quotation marks around the reply, are removed. A JSON
    object with one verdict is replaced by the verdict.
    """
    body = _unquoted(own_words(text))
    if body.startswith(THOUGHT):
        return Parsed("invalid", reason="cut_off")
    answer = verdict_member(body).strip() or body if body.startswith("{") else body
    if not answer or len(answer) > MAX_ANSWER_CHARS:
        return Parsed("invalid", reason="too_long" if answer else "empty")
    if answer.upper() == CANNOT_ASSESS:
        return (
            Parsed("abstained") if abstain else Parsed("invalid", reason="abstention_not_offered")
        )
    if is_refusal(answer):
        return Parsed("refused", reason="refusal")
    return Parsed("answered", answer)


def _unquoted(body: str) -> str:
    for opening, closing in QUOTES:
        inner = body[1:-1]
        if body.startswith(opening) and body.endswith(closing) and opening not in inner:
            return inner.strip()
    return body

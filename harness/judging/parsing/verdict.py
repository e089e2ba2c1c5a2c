"""What a judge answered: replies, verdicts read whole or not at all, and the verdict log's lines.

A line of the log is one JSON object in ASCII without spaces: first the members that every line has
(`ALWAYS_WRITTEN`), then those that differ from their default, last ``"crc"``: eight lower-case hex
digits of the CRC-32 of the line's bytes without ``,"crc":"xxxxxxxx"`` and without the newline. The
file's first line is `HEADER`.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import lru_cache
from inspect import cleandoc
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from harness.errors import VerdictError
from harness.judging.parsing.grammar import (
    OUTCOMES,
    Outcome,
    Parsed,
    Turn,
    parse,
    parse_apart,
    render,
)
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from pathlib import Path

    from harness.judging.prompts.requests import Unit
    from harness.tasks import Task

__all__ = [
    "CANNOT_ASSESS",
    "HEADER",
    "OUTCOMES",
    "SCHEMA_VERSION",
    "Outcome",
    "PairValue",
    "Parsed",
    "Reader",
    "Reply",
    "Value",
    "Verdict",
    "check_header",
    "decode",
    "encode",
    "failed",
    "parse",
    "read_reply",
    "render",
    "verdict_schema",
]

SCHEMA_VERSION = 1
HEADER = b'{"schema_version": 1}\n'
CRC_OPENING = b',"crc":"'
REMEMBERED_CHARS = 64  # how long a reply may be to be remembered
CRC_DIGITS = 8 + len(b'"}')
ALWAYS_WRITTEN = (
    "item",
    "judge",
    "elicitation",
    "sample",
    "outcome",
    "value",
    "request",
    "attempt",
)  # and crc


class _Record(
    Struct,
    frozen=True,
    gc=False,  # no record can be part of a cycle
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What is made and written once per call: types are checked where it is read from a file."""


def _written(default: Value | int) -> Any:  # noqa: ANN401 -- of whatever type the member is
    """Give a member a default that is written to files all the same."""
    return msgspec.field(default_factory=lambda: default)


class Reply(_Record, frozen=True, kw_only=True):
    """One received reply of a judge, as it will be cached.

    Attributes
    ----------
    request : str
        Hash of the request.
    text : str
        What the model said.
    model, finish_reason : str or None
        As the provider reported them.
    prompt_tokens, completion_tokens, cached_tokens : int or None
        As the provider counted them; those cached are among those of the prompt.
    cost_usd : float or None
        0 is free, None is unknown.
    latency_s : float or None
        Seconds from sending to the last byte.
    logprobs : JSON
        As the provider sent them.
    derived : bool
        Whether it was made from another elicitation by rule, not asked for.
    cache_key : str
        What the requests for all samples share, `Request.cache_key`; empty if unknown.
    """

    request: str
    text: str
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    logprobs: Any = None
    derived: bool = False
    cache_key: str = ""


class PairValue(_Record, frozen=True, kw_only=True):
    """What a pair answered: the set, then the single choice made in the same conversation."""

    set: tuple[str, ...]
    choice: str  # may lie outside the set: that is data


Value = str | tuple[str, ...] | PairValue | None


class Verdict(_Record, frozen=True, kw_only=True):
    """One unit's verdict, with all of the reply it was read from.

    Attributes
    ----------
    item, judge : str
        What was judged, and by whom.
    elicitation : str
        What was asked for: one option, all that are reasonable, or both in one conversation.
    sample : int
        Number of the repeat, from 0.
    outcome : str
        What came of it; only what was answered has a value.
    value : str, tuple of str, PairValue or None
        An option's key, a set of them, or of a pair both.
    request : str
        Hash of the request that got the reply (of a pair: the second turn's), or of the one that
        was to be sent when there is no reply.
    attempt : int
        How often the unit was tried, over all starts of the run.
    reply : str or None
        What the model said.
    first : Reply or None
        The first turn of a pair.
    model, finish_reason : str or None
        As the provider reported them.
    prompt_tokens, completion_tokens, cached_tokens : int or None
        As the provider counted them; those cached are among those of the prompt.
    cost_usd : float or None
        0 is free, None is unknown.
    latency_s : float or None
        Seconds from sending to the last byte.
    logprobs : JSON
        As the provider sent them.
    derived : bool
        Whether it was made from another elicitation by rule, not asked for.
    cache_key : str
        What the requests for all samples share, `Request.cache_key`; empty if unknown.
    cached : bool
        Whether the reply was taken from the cache, so not paid for again.
    reason : str
        In a word, why there is no answer.
    """

    item: str
    judge: str
    elicitation: Literal["forced_choice", "response_set", "paired"]
    sample: int = _written(0)
    outcome: Outcome
    value: Value = _written(None)
    request: str = _written("")
    attempt: int = _written(1)
    reply: str | None = None
    first: Reply | None = None
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    logprobs: Any = None
    derived: bool = False
    cache_key: str = ""
    cached: bool = False
    reason: str = ""

    def __repr__(self) -> str:
        what = self.value if self.outcome == "answered" else f"{self.outcome} {self.reason}".strip()
        return f"Verdict({self.judge!r} on {self.item!r}, {self.elicitation} {self.sample}: {what})"


class Reader:
    """Reads the replies to one task's questions.

    What it made of a short reply is remembered: judges say the same few words over and over.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._read = lru_cache(maxsize=1024)(self._parse)

    def verdict(
        self,
        reply: Reply,
        unit: Unit,
        judge: str,
        *,
        first: Reply | None = None,
        cached: bool = False,
    ) -> Verdict:
        """Read the reply to a unit; of a pair, both replies.

        Parameters
        ----------
        reply : Reply
            What answered the unit; of a pair, its second turn.
        first : Reply, optional
            The first turn of a pair, which gave the set.
        cached : bool
            Whether nothing was sent for it.

        Returns
        -------
        Verdict
            A pair is answered only if both turns were read. Otherwise its outcome is the worse of
            the two and its reason says which turn: ``set:refusal``,
            ``set:cut_off,choice:unreadable``.
        """
        value: Value
        if unit.elicitation == "paired":
            parsed, value = self._pair(first, reply, unit.item)
        else:
            parsed = self._turn(reply, unit.elicitation, unit.item)
            value = parsed.value
        return Verdict(
            item=unit.item,
            judge=judge,
            elicitation=unit.elicitation,
            sample=unit.sample,
            outcome=parsed.outcome,
            value=value,
            request=reply.request,
            reply=reply.text,
            first=first,
            model=reply.model,
            finish_reason=reply.finish_reason,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cached_tokens=reply.cached_tokens,
            cost_usd=reply.cost_usd,
            latency_s=reply.latency_s,
            logprobs=reply.logprobs,
            derived=reply.derived,
            cache_key=reply.cache_key,
            cached=cached,
            reason=parsed.reason,
        )

    def _turn(self, reply: Reply, elicitation: Turn, item: str) -> Parsed:
        """Read one reply to one question.

        Why it ended counts too: what a content filter stopped is refused, a reply that was cut off
        before it could be read is ``cut_off``, and so is a set that may have gone on.
        """
        if reply.finish_reason == "content_filter":
            return Parsed("refused", reason="content_filter")
        read = self._read if len(reply.text) <= REMEMBERED_CHARS else self._parse
        parsed, quotable = read(reply.text, elicitation)
        if quotable and quotable in _item_text(item, self._task):
            return Parsed("invalid", reason="quoted")
        if reply.finish_reason == "length":
            unread = parsed.outcome == "invalid" and parsed.reason in {"empty", "unreadable"}
            open_end = parsed.outcome == "answered" and elicitation == "response_set"
            if unread or open_end:
                return Parsed("invalid", reason="cut_off")
        return parsed

    def _parse(self, text: str, elicitation: Turn) -> tuple[Parsed, str]:
        task = self._task
        sets = None if task.response_sets == "all" else task.response_sets
        return parse_apart(text, elicitation, task.options, abstain=task.abstain, sets=sets)

    def _pair(self, first: Reply | None, second: Reply, item: str) -> tuple[Parsed, Value]:
        """Read both turns of a pair."""
        chosen = self._turn(second, "forced_choice", item)
        given = (
            self._turn(first, "response_set", item)
            if first
            else Parsed("failed", reason="no_reply")
        )
        if given.outcome == chosen.outcome == "answered":
            assert isinstance(given.value, tuple)
            assert isinstance(chosen.value, str)
            return chosen, PairValue(set=given.value, choice=chosen.value)
        worse = max(given.outcome, chosen.outcome, key=_ORDER.__getitem__)
        turns = (("set", given), ("choice", chosen))
        why = [f"{name}:{p.reason or p.outcome}" for name, p in turns if p.outcome != "answered"]
        return Parsed(worse, reason=",".join(why)), None


def read_reply(
    reply: Reply,
    unit: Unit,
    judge: str,
    task: Task,
    *,
    first: Reply | None = None,
    cached: bool = False,
) -> Verdict:
    """Read the reply to one unit; see `Reader.verdict`."""
    return Reader(task).verdict(reply, unit, judge, first=first, cached=cached)


def failed(
    unit: Unit,
    judge: str,
    request: str,
    *,
    reason: str,
    first: Reply | None = None,
    attempt: int = 1,
) -> Verdict:
    """Say that a unit got no reply."""
    return Verdict(
        item=unit.item,
        judge=judge,
        elicitation=unit.elicitation,
        outcome="failed",
        sample=unit.sample,
        request=request,
        attempt=attempt,
        first=first,
        reason=reason,
    )


def encode(verdict: Verdict) -> bytes:
    """Write a verdict as one line of the log, its checksum last."""
    try:
        body = _ENCODER.encode(verdict)
    except UnicodeEncodeError:  # half of a surrogate pair
        body = json.dumps(_finite(msgspec.to_builtins(verdict)), separators=(",", ":")).encode()
    if not body.isascii():
        body = NOT_ASCII.sub(_escaped, body.decode()).encode()
    return body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body)


def decode(line: bytes) -> Verdict:
    """Read one line of the log.

    Raises
    ------
    VerdictError
        If the line is not as it was written. The message holds nothing of the line.
    """
    content, opening, digits = line.removesuffix(b"\n").rpartition(CRC_OPENING)
    if not opening or len(digits) != CRC_DIGITS or digits[-2:] != b'"}':
        raise VerdictError("the line has no checksum at its end; it is torn or not a verdict line")
    body = content + b"}"
    if b"%08x" % zlib.crc32(body) != digits[:-2]:
        raise VerdictError("the line's checksum does not fit; it was changed or damaged")
    try:
        return _DECODER.decode(body)
    except ValueError as error:
        return _decode_slowly(body, error)


def check_header(line: bytes, path: Path) -> None:
    """Check the first line of a verdict log.

    Raises
    ------
    VerdictError
        If it is no header, or one of a later format.
    """
    try:
        header = json.loads(line)
        version = header["schema_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise VerdictError(
            f"{path}: line 1 is not a verdict log's header; wanted {HEADER.decode().strip()}"
        ) from None
    if version != SCHEMA_VERSION:
        raise VerdictError(
            f"{path}: written in verdict format {version!r}, this version reads {SCHEMA_VERSION}; "
            "use the version of judge-harness that wrote it."
        )


def verdict_schema() -> dict[str, Any]:
    """JSON schema of a line of the log, its checksum included."""
    [schema], parts = msgspec.json.schema_components([Verdict], ref_template="#/$defs/{name}")
    for part in parts.values():
        part["description"] = cleandoc(part["description"])
    schema = {"$defs": parts, **parts.pop("Verdict")}
    schema["properties"]["crc"] = {
        "description": "CRC-32 of the line without it, in hexadecimal.",
        "type": "string",
        "pattern": "^[0-9a-f]{8}$",
    }
    schema["required"] = [*ALWAYS_WRITTEN, "crc"]
    return schema


NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
MEMBER = re.compile(r"field `(\w+)`|at `\$\.?([^`]*)`")  # where an error of msgspec says it is
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Verdict)
_ORDER = {outcome: i for i, outcome in enumerate(OUTCOMES)}  # from best to worst


def _item_text(item_id: str, task: Task) -> str:
    item = task.by_id.get(item_id)
    return task.text_of(item) if item and task.has_text(item) else ""


def _escaped(text: re.Match[str]) -> str:
    """Write characters of a JSON string as JSON escapes."""
    return encode_basestring_ascii(text[0])[1:-1]


def _finite(value: object) -> object:
    """Put null where JSON has no number (a log probability of minus infinity)."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)


def _decode_slowly(body: bytes, error: ValueError) -> Verdict:
    """Read what the quick reader cannot (halves of surrogate pairs), or say what is wrong."""
    fault: Exception = error
    if not isinstance(fault, msgspec.ValidationError):
        try:
            return msgspec.convert(json.loads(body), Verdict)
        except (ValueError, RecursionError) as slow:
            fault = slow
    found = MEMBER.search(str(fault)) if isinstance(fault, msgspec.ValidationError) else None
    where = "".join(found.groups("")) if found else "line"
    raise VerdictError(f"{where or 'line'}: not as this version writes it") from None

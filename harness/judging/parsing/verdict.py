"""Replies, verdicts and the lines of the verdict log.

A line of the log is a JSON object in ASCII without spaces: first the members that every line has
(`ALWAYS_WRITTEN`), then those that differ from their default, last ``"crc"``: eight lower-case hex
digits of the CRC-32 of the line's bytes without ``,"crc":"xxxxxxxx"`` and without the newline. The
first line of the file is `HEADER`.
"""

from __future__ import annotations

import json
import re
from inspect import cleandoc
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from harness.errors import VerdictError
from harness.files.checksummed_log import DamagedLine, encode, without_checksum
from harness.files.regular_files import bounded_lines, reader
from harness.judging.parsing.grammar import Outcome
from harness.judging.parsing.reply_endings import ReplyEnding, ending_of
from harness.tasks.item import Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.files.json_values import JsonObject
    from harness.judging.prompts.question import Unit
    from harness.tasks import Task

SCHEMA_VERSION = 1
MAX_JUDGES = 50  # most judges in a run or a file, as every resample compares all pairs of them
MAX_CELLS = 20_000  # most pairs of options over all judges, as every resample stores them
MAX_NAME_CHARS = 200  # longest name of a judge
MAX_COST_USD = 1e6  # highest cost of a reply; a higher one is an error
MAX_COUNT = 2**31 - 1  # of tokens and samples, which columns hold in 32 bits
HEADER = b'{"schema_version": 1}\n'
AWAITS_SECOND_TURN = "awaits_second_turn"  # reason of a unit whose conversation continues
ALWAYS_WRITTEN = (
    "item",
    "judge",
    "elicitation",
    "sample",
    "outcome",
    "value",
    "attempt",
)  # and crc
MEMBER = re.compile(r"field `(\w+)`|at `\$\.?([^`]*)`")  # the position in a message from msgspec


class _Record(
    Struct,
    frozen=True,
    gc=False,  # records can't be part of a cycle
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Base class of stored records, whose types are checked when a file is read."""


Usd = Annotated[float, msgspec.Meta(ge=0, le=MAX_COST_USD)]
Count = Annotated[int, msgspec.Meta(ge=-MAX_COUNT, le=MAX_COUNT)]


def _written(default: Value | int) -> Any:  # noqa: ANN401 -- the member's type
    """Return a field that is always written to files, even with its default value."""
    return msgspec.field(default_factory=repeat(default).__next__)


class Reply(_Record, frozen=True, kw_only=True):
    """Reply from a judge, as stored in the cache.

    Attributes
    ----------
    request : str
        Hash of the request.
    text : str
        Text of the reply.
    model, fingerprint, finish_reason : str or None
        Values reported by the provider. The fingerprint identifies the model's configuration.
    prompt_tokens, completion_tokens, cached_tokens : int or None
        Tokens counted by the provider. Those of the prompt include the cached ones.
    cost_usd : float or None
        Cost in USD; 0 if free, None if unknown.
    latency_s : float or None
        Seconds from sending to the last byte.
    logprobs : JSON
        Log-probabilities as the provider sent them.
    reasoning : str
        Hidden reasoning, stored if the reply has no other text.
    used_all_tokens : bool
        Whether it has as many tokens as its request allowed, so that it was cut off.
    prompt_at_least : int or None
        Minimum tokens of the prompt, if the provider counted far fewer and so must have cut it.
    derived : bool
        Whether it was derived by rule from a different elicitation.
    cache_key : str
        `Request.cache_key`, which the requests for all samples share; empty if unknown.
    received_at : float or None
        Time of receipt, in seconds since 1970. For a reply from a batch, the time of submission,
        because the provider does not report when it answered. None in earlier versions' replies.
    task, judge : str
        Names of the task and the judge that it was first received for; empty in earlier versions'
        replies.
    """

    request: str
    text: str
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Usd | None = None
    latency_s: float | None = None
    logprobs: Any = None
    fingerprint: str | None = None
    derived: bool = False
    cache_key: str = ""
    received_at: float | None = None
    reasoning: str = ""
    used_all_tokens: bool = False
    prompt_at_least: int | None = None
    task: str = ""
    judge: str = ""

    @property
    def ending(self) -> ReplyEnding:
        """Ending of the reply, based on its number of tokens and the finish reason."""
        return "cut_off" if self.used_all_tokens else ending_of(self.finish_reason)


class PairValue(_Record, frozen=True, kw_only=True):
    """Value of a pair: a response set, and the single choice from the same conversation."""

    set: tuple[str, ...]
    choice: str  # can be outside the set, which is a finding


Value = str | tuple[str, ...] | PairValue | None


class Verdict(_Record, frozen=True, kw_only=True):
    """Verdict on a unit, with the reply that it comes from.

    Attributes
    ----------
    item, judge : str
        The rated item, and the judge.
    elicitation : str
        ``forced_choice`` (an option), ``response_set`` (all reasonable options) or ``paired``
        (both, in a conversation).
    sample : int
        Sample number, from 0.
    outcome : str
        One of `OUTCOMES`; only ``answered`` has a value.
    value : str, tuple of str, PairValue or None
        An option's key, a set of keys, or both; on a scale without options, the answer as text.
    attempt : int
        Number of attempts at the unit, over all starts of the run.
    reply : Reply or None
        The parsed reply; for a pair, the reply to the second turn. None if there was no reply, or
        if the verdict was computed from several.
    first : Reply or None
        Reply to the first turn of a pair.
    unread, first_unread : Reply or None
        A complete but unreadable reply, after which the judge got a second question in the same
        conversation: ``first_unread`` before ``first``, ``unread`` before ``reply``.
    failed_request : str
        Hash of the request, if it got no reply.
    from_store : bool
        Whether the reply was in the store (the cache folder, or the database of ``--store``), so
        that this run did not pay for it.
    reason : str
        A slug for the reason why there is no answer, see `Parsed`.
    probabilities : dict of str to float, or None
        If log-probabilities were requested, the probability of each option and of CANNOT_ASSESS.
        The rest is outside the options, and the value is the most probable option. For a reply
        about a single option, the probabilities of yes and no. For a response set made of such
        replies, the probability that each option is accepted.
    shown : tuple of str
        The options' keys in the order of the prompt; empty for the task's order. A single key if
        the reply says whether that option is accepted.
    swapped : bool
        Whether the prompt showed the two answers of a pairwise item in reverse order. Value,
        probabilities and ``shown`` are converted to the order of the item.
    """

    item: str
    judge: str
    elicitation: Elicitation
    sample: Count = _written(0)
    outcome: Outcome
    value: Value = _written(None)
    attempt: int = _written(1)
    reply: Reply | None = None
    first: Reply | None = None
    unread: Reply | None = None
    first_unread: Reply | None = None
    failed_request: str = ""
    from_store: bool = False
    reason: str = ""
    probabilities: dict[str, float] | None = None
    shown: tuple[str, ...] = ()
    swapped: bool = False

    @property
    def request(self) -> str:
        """Hash of the request that got the reply, or of the failed request."""
        return self.reply.request if self.reply is not None else self.failed_request

    @property
    def text(self) -> str:
        """Text of the reply, or "" if there is no reply."""
        return self.reply.text if self.reply is not None else ""

    @property
    def replies(self) -> tuple[Reply, ...]:
        """Replies in the order of the conversation."""
        turns = (self.first_unread, self.first, self.unread, self.reply)
        return tuple(reply for reply in turns if reply is not None)

    @property
    def is_reasked(self) -> bool:
        """Whether the judge got a second question after an unreadable reply."""
        return self.unread is not None or self.first_unread is not None

    def __repr__(self) -> str:
        unanswered = f"{self.outcome} {self.reason}".strip()
        result = self.value if self.outcome == "answered" else unanswered
        unit = f"{self.judge!r} on {self.item!r}, {self.elicitation} {self.sample}"
        return f"Verdict({unit}: {result})"


def with_swapped_answers(verdict: Verdict, task: Task) -> Verdict:
    """Convert a verdict on an item to a verdict on the item with swapped answers."""
    assert task.pairwise is not None, "checked by the caller"
    key = task.pairwise.swapped_key
    probabilities = verdict.probabilities
    if probabilities is not None:
        probabilities = {key(name): mass for name, mass in probabilities.items()}
    return replace(
        verdict,
        value=mirrored(verdict.value, task),
        probabilities=probabilities,
        shown=tuple(map(key, verdict.shown)),
        swapped=not verdict.swapped,
    )


def mirrored(value: Value, task: Task) -> Value:
    """Convert a verdict's or rating's value to the item with swapped answers."""
    if task.pairwise is None or value is None:
        return value
    key = task.pairwise.swapped_key
    if isinstance(value, str):
        return key(value)
    if isinstance(value, PairValue):
        return PairValue(set=_mirrored_set(value.set, task), choice=key(value.choice))
    return _mirrored_set(value, task)


def _mirrored_set(members: Sequence[str], task: Task) -> tuple[str, ...]:
    assert task.pairwise is not None, "checked by mirrored"
    chosen = set(map(task.pairwise.swapped_key, members))
    return tuple(option.key for option in task.options if option.key in chosen)


def failed(
    unit: Unit,
    judge: str,
    request: str,
    *,
    reason: str,
    first: Reply | None = None,
    unread: Reply | None = None,
    first_unread: Reply | None = None,
) -> Verdict:
    """Build the verdict for a unit whose last request got no reply."""
    return Verdict(
        item=unit.item,
        judge=judge,
        elicitation=unit.elicitation,
        outcome="failed",
        sample=unit.sample,
        failed_request=request,
        first=first,
        unread=unread,
        first_unread=first_unread,
        reason=reason,
    )


def decode(line: bytes) -> Verdict:
    """Decode a line of the log.

    Raises
    ------
    VerdictError
        If the line is damaged. The message does not quote the line.
    """
    try:
        body = without_checksum(line)
    except DamagedLine as damage:
        raise VerdictError(str(damage)) from None
    try:
        return _DECODER.decode(body)
    except (ValueError, RecursionError) as error:
        return _decode_slowly(body, error)


def log_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and bytes of each line in a verdict log, except the header.

    Raises
    ------
    OSError
        If the file cannot be opened, or a line is too long.
    VerdictError
        If the log has a different version's format.
    """
    with reader(path) as opened:
        lines = bounded_lines(opened)
        check_header(next(lines, b""), path)
        yield from enumerate(lines, 2)


def newest(verdict: Verdict, other: Verdict | None) -> Verdict:
    """Return the verdict that counts for a unit: the newest success or else the newest failure.

    The order of the arguments does not matter. Among verdicts from the same attempt, a paid one
    takes precedence, and the first turn of a pair counts last.
    """
    return verdict if other is None else max(verdict, other, key=_age)


def _age(verdict: Verdict) -> tuple[bool, int, bool, bool, bytes]:
    return (
        verdict.outcome != "failed",
        verdict.attempt,
        verdict.reason != AWAITS_SECOND_TURN,
        not verdict.from_store,
        encode(verdict),
    )


def max_judges(task: Task) -> int:
    """Return the maximum number of judges, which decreases with the number of options."""
    return min(MAX_JUDGES, MAX_CELLS // max(len(task.options), 1) ** 2)


def check_header(line: bytes, path: Path) -> None:
    """Check the first line of a verdict log.

    Raises
    ------
    VerdictError
        If it is not a header, or the format is of a later version.
    """
    try:
        header = json.loads(line)
        version = header["schema_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise VerdictError(
            f"{path}: line 1 must be a verdict log's header: {HEADER.decode().strip()}"
        ) from None
    if version != SCHEMA_VERSION:
        raise VerdictError(
            f"{path}: the verdict format is {version!r}, but this version reads "
            f"{SCHEMA_VERSION}. Use the version of judge-harness that wrote it."
        )


def verdict_schema() -> JsonObject:
    """Return the JSON schema for a line of the log, including its checksum."""
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


_DECODER = msgspec.json.Decoder(Verdict)


def _decode_slowly(body: bytes, error: Exception) -> Verdict:
    """Decode a line with lone surrogates, which msgspec rejects, or raise an error."""
    problem: Exception = error
    if not isinstance(problem, msgspec.ValidationError):
        try:
            text = json.dumps(json.loads(body), ensure_ascii=False)
            utf_16 = text.encode("utf-16", "surrogatepass")
            return _DECODER.decode(utf_16.decode("utf-16", "replace"))
        except (ValueError, RecursionError) as json_error:
            problem = json_error
    is_invalid = isinstance(problem, msgspec.ValidationError)
    match = MEMBER.search(str(problem)) if is_invalid else None
    where = "".join(match.groups("")) if match else "line"
    raise VerdictError(f"{where or 'line'}: doesn't match this version's format") from None

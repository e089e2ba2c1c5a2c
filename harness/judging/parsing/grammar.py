"""Grammar of replies that are nothing but an answer; `prose` reads those that say more.

    reply     = [ "<think>" ... "</think>" ] body
    body      = list | lead-in list | JSON
    list      = mention { separator mention }    separator: , ; & + / "and"; or one mention a line
    mention   = key | label | key joint label | label joint key     joint: : . ) - = or brackets
    lead-in   = "Answer:" | "My final verdict:" ... | "The answer is" keys | "Option" keys
    JSON      = {"verdict": "B"} | {"answer": ["A", "B"]} | ["A", "B"] ...

Decoration (bold, quotes, brackets, a code fence, a full stop, a bullet) may stand around the whole
and around each mention. Exact keys come first, then keys and labels in any case. Where several
readings fit, or two verdicts stand in place of one, nothing is guessed: the reply is invalid. What
has no such reading is read as prose, each of its lines by this grammar.

Decisions:

- A repeated verdict (two lines ``B``) counts once.
- A lone ``b`` is option B; after "The answer is" or "Option" it is not: "a" may be an article.
- A label that is cut off is read only after its key and only in a forced choice: a set that is cut
  off may be incomplete.
- ``A/B`` is a list unless keys hold digits ("4/5" is a score); ``A or B`` is none; ``BA`` is not
  ``AB``.
- A leading think block is skipped, also without its opening tag, which some servers leave out; an
  unclosed one was cut off.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

from harness.judging.parsing.option_matching import (
    OPENERS,
    OptionIndices,
    OptionNames,
    after_joint,
    cut_off,
    fold,
    layers,
    lists,
    mention,
    names_of,
)
from harness.judging.parsing.option_search import option_search
from harness.judging.parsing.phrases import languages
from harness.judging.parsing.prose import Prose, read_prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.tasks import Option
    from harness.tasks.schema import AnswerKind

Outcome = Literal["answered", "abstained", "refused", "invalid", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

GRAMMAR_VERSION = 3  # raised whenever a reply in the corpora of the tests is read otherwise
THOUGHT = "<think>"  # opens the reasoning of a model, before its reply
REASONS: dict[str, str] = {
    "empty": "an empty reply",
    "cut_off": "cut off",
    "reasoning_only": "reasoning without an answer",
    "too_long": "too long to parse",
    "no_option": "no option named",
    "unreadable": "no option stated as the answer",
    "several": "several options named",
    "ambiguous": "several options named",
    "conflict": "the key of one option with the label of another",
    "negated": "an option denied",
    "hedged": "an option named with a doubt",
    "conditional": "an option named under a condition",
    "question": "an option asked about",
    "reported": "a verdict of somebody else",
    "retracted": "a verdict taken back",
    "quoted": "a verdict that the item itself contains",
    "not_admissible": "a response set that the task does not admit",
    "abstention_not_offered": "CANNOT_ASSESS where it is not an option",
    "out_of_bounds": "a number outside the bounds",
    "refusal": "refused",
    "content_filter": "stopped by a content filter",
}
"""Why the text of a reply was not read, by the slug in `Parsed.reason`, in a few words."""
MAX_REPLY = 20_000  # characters that are parsed, after a think block
MAX_DIAGNOSED = 500  # characters that are searched for a reason
MAX_DEPTH = 4  # brackets in a JSON reply

_NOUN = (
    r"(?:answer|verdict|choice|rating|score|label|option|category|class|classification"
    r"|judge?ment|decision)"
)
_ADJECTIVE = r"(?:(?:final|best|correct|single|overall)\s+)?"
_MARK = r"(?:\*\*|__|\*|_)?"
LEAD = re.compile(
    rf"(?:\#{{1,6}}\s+)?{_MARK}(?:(?:the|my)\s+)?{_ADJECTIVE}{_NOUN}s?{_MARK}\s*"
    r"(?:[:=\uff1a](?:(?:\*\*|__|\*|_)(?=\s))?|\n)\s*",
    re.IGNORECASE,
)
SENTENCE = re.compile(
    rf"(?:(?:the|my)\s+{_ADJECTIVE}{_NOUN}s?\s+(?:is|are):?|options?|choice|answer)\s+(?=\S)",
    re.IGNORECASE,
)
FENCED = re.compile(r"```[A-Za-z]{0,10}\n(?P<body>.*?)\n?```", re.DOTALL)
JSON_OBJECT = re.compile(r'\{\s*"[^"]*"\s*:')
VERDICT_MEMBER = re.compile(r"(?:answer|choice|label|option|rating|verdict)s?|(?:response_)?set")
OTHER_MEMBERS = frozenset(("confidence", "explanation", "rationale", "reason", "reasoning"))
_CANNOT = (
    r"(?:can(?:not|\snot|['\u2019]?t)|won['\u2019]?t|will\snot"
    r"|(?:\sam|['\u2019]m)\s(?:not\sable|unable)\sto)"
)
_DECLINED = (
    r"(?:assist|help|comply|provide|fulfill?|engage|respond|answer|continue|participate|discuss"
    r"|generate|rate|evaluate|classify|judge|label|do|process|complete)"
)
_AI = r"(?:ai|artificial\sintelligence|(?:large\s)?language\smodel|llm)"
REFUSAL = re.compile(
    rf"(?:(?:i['\u2019]?m|i\sam|we['\u2019]?re|we\sare)\s(?:\w+\s)?sorry\b.{{0,40}}?"
    rf"\b(?:i|we)\s?{_CANNOT}\b"
    rf"|(?:(?:sorry|apologies|unfortunately)\b.{{0,20}}?)?"
    rf"\b(?:i|we)\s?{_CANNOT}\s(?:\w+ly\s)?{_DECLINED}\b"
    rf"|as\san?\s(?:\w+\s)?{_AI}\b.{{0,60}}?\b(?:i|we)\s?{_CANNOT}\b"
    rf"|(?:i|we)\s(?:must|have\sto|need\sto)\s(?:\w+ly\s)?(?:decline|refuse)\b"
    rf"|(?:i|we)\s(?:decline|refuse)\sto\b)",
    re.IGNORECASE | re.DOTALL,
)


class Parsed(NamedTuple):
    """What a reply says.

    Attributes
    ----------
    outcome : str
        One of `OUTCOMES`, never "failed".
    value : str or tuple of str or None
        The option's key, or the set's keys in the order of the options; None unless answered.
    reason : str
        Why there is no answer, one of `REASONS`; empty when there is one, or an abstention.
    probabilities : dict of str to float, or None
        See `Verdict`.
    is_derived : bool
        Whether it follows by rule from what another elicitation asks for.
    """

    outcome: Outcome
    value: str | tuple[str, ...] | None = None
    reason: str = ""
    probabilities: dict[str, float] | None = None
    is_derived: bool = False

    def with_probabilities(self, probabilities: Mapping[str, float] | None) -> Self:
        """Return the same with probabilities."""
        return self._replace(probabilities=None if probabilities is None else dict(probabilities))


def parse(
    text: str,
    elicitation: AnswerKind,
    options: Sequence[Option],
    *,
    abstain: bool,
    sets: Sequence[Sequence[str]] | None = None,
    complete: bool = True,
) -> tuple[Parsed, str]:
    """Parse a reply, in time linear in its length.

    Parameters
    ----------
    text : str
        The reply as received; any text at all.
    elicitation : {"forced_choice", "response_set"}
        Whether an option or a set of options was asked for.
    options : sequence of Option
        The K options.
    abstain : bool
        Whether CANNOT_ASSESS was offered.
    sets : sequence of sequences of str, optional
        The admissible response sets; any but the empty one when absent.
    complete : bool
        Whether the reply came to its end. The last sentence of one that was cut off states nothing.

    Returns
    -------
    parsed : Parsed
        The outcome.
    quotable : str
        Text that makes the reply a quotation if it occurs in the text of the item; mostly empty. It
        is a reply with a lead-in, or the sentence that states the answer.
    """
    body = reply_body(text)
    if not body:
        return Parsed("invalid", reason="empty"), ""
    if len(body) > MAX_REPLY:
        return Parsed("invalid", reason="too_long"), ""
    names = _names(options)
    readings, has_lead = _readings(body, names)
    if not readings and elicitation == "forced_choice":
        readings, has_lead = _cut_off_readings(body, names)
    if not readings:
        if body.startswith(THOUGHT):
            return Parsed("invalid", reason="cut_off"), ""
        prose = _prose(body, elicitation, options, complete=complete)
        if prose.reading is None:
            return _unread(body, names, prose.reason), ""
        readings, quotable = {prose.reading}, prose.sentence
    else:
        quotable = body if has_lead else ""
    if len(readings) > 1:
        return Parsed("invalid", reason="ambiguous"), quotable
    keys = [option.key for option in options]
    parsed = _decide(readings.pop(), elicitation, keys, abstain=abstain, sets=sets)
    return parsed, quotable


def _prose(
    body: str, elicitation: AnswerKind, options: Sequence[Option], *, complete: bool
) -> Prose:
    """Read a reply that is more than an answer."""
    names = _names(options)

    def read_line(line: str) -> tuple[OptionIndices, bool] | None:
        readings, has_lead = _readings(line, names)
        return (readings.pop(), has_lead) if len(readings) == 1 else None

    search = option_search(_texts(options))
    many = elicitation == "response_set"
    return read_prose(body, search, read_line, many=many, complete=complete)


def last_line(text: str) -> str:
    """Return the last line of a reply that is not blank; all of it while its thinking is open."""
    body = reply_body(text)
    return body if body.startswith(THOUGHT) else body.rpartition("\n")[2]


def render(value: str | Sequence[str], options: Sequence[Option]) -> str:
    """Return a reply that follows the grammar, so that `parse` returns the value.

    Raises
    ------
    ValueError
        If the value names no option.
    """
    names = _names(options)
    keys = [value] if isinstance(value, str) else list(value)
    if not keys or any(key not in names.keys for key in keys):
        raise ValueError("only the task's option keys, or CANNOT_ASSESS, can be rendered")
    plain = ", ".join(keys)
    readings, _ = _readings(reply_body(plain), names)
    return (
        plain if readings == {OptionIndices(names.keys[key] for key in keys)} else json.dumps(keys)
    )


def _names(options: Sequence[Option]) -> OptionNames:
    return names_of(_texts(options))


def _texts(options: Sequence[Option]) -> tuple[tuple[str, str, str], ...]:
    return tuple((option.key, option.label, option.description) for option in options)


def reply_body(text: str) -> str:
    """Strip whitespace and a leading closed think block from a reply."""
    body = text.strip()
    thought, end_tag, answer = body.partition("</think>")
    if not end_tag or (not body.startswith(THOUGHT) and THOUGHT in thought):
        return body
    return answer.strip()


def _decide(
    reading: OptionIndices,
    elicitation: AnswerKind,
    keys: Sequence[str],
    *,
    abstain: bool,
    sets: Sequence[Sequence[str]] | None,
) -> Parsed:
    """Turn the only reading into a verdict, if it fits the elicitation."""
    if reading == {len(keys)}:
        return (
            Parsed("abstained") if abstain else Parsed("invalid", reason="abstention_not_offered")
        )
    chosen = tuple(key for i, key in enumerate(keys) if i in reading)
    if len(keys) in reading or (elicitation == "forced_choice" and len(chosen) > 1):
        return Parsed("invalid", reason="several")
    if elicitation == "forced_choice":
        return Parsed("answered", chosen[0])
    if sets is not None and set(chosen) not in map(set, sets):
        return Parsed("invalid", reason="not_admissible")
    return Parsed("answered", chosen)


def forms(body: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield a body, then its rest without decoration and lead-in, each with two flags.

    The flags are whether only keys may be read, and whether a lead-in was removed.
    """
    fenced = FENCED.fullmatch(body)
    outer = fenced["body"] if fenced else body
    for layer in layers(outer):
        yield layer, False, False
        if sentence := SENTENCE.match(layer):
            yield layer[sentence.end() :].strip(), True, True
        if lead := LEAD.match(layer):
            for inner in layers(layer[lead.end() :]):
                yield inner, False, True
                if sentence := SENTENCE.match(inner):
                    yield inner[sentence.end() :].strip(), True, True


def _readings(body: str, names: OptionNames) -> tuple[set[OptionIndices], bool]:
    """Return the readings of the first form that has any, and whether a lead-in was removed."""
    if body in names.keys:
        return {OptionIndices([names.keys[body]])}, False
    for form, keys_only, has_lead in forms(body):
        if form[:1] in "[{" and (json_readings := _json(form, names)) is not None:
            return json_readings, True
        readings = lists(form, names, keys_only=True)
        if not readings and (not keys_only or _opens_with_key(form, names)):
            readings = lists(form, names, keys_only=False)
        if readings:
            return readings, has_lead
    return set(), False


def _opens_with_key(form: str, names: OptionNames) -> bool:
    """Whether the form begins with an exact key and a joint: "The answer is B) Not toxic"."""
    return any(after_joint(form.lstrip(OPENERS), key) for key in names.keys)


def _cut_off_readings(body: str, names: OptionNames) -> tuple[set[OptionIndices], bool]:
    if len(body) > names.max_chars:
        return set(), False
    lead = LEAD.match(body)
    matches = cut_off(body[lead.end() :] if lead else body, names)
    return {OptionIndices([option]) for option in matches}, bool(lead)


def _json(form: str, names: OptionNames) -> set[OptionIndices] | None:
    """Return the readings of a JSON verdict; None if the text is not JSON."""
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', '""', form)
    is_deep = unquoted.count("[") + unquoted.count("{") > MAX_DEPTH
    try:
        value = None if is_deep else _DECODER.decode(form)
    except (ValueError, RecursionError):
        return set() if JSON_OBJECT.match(form) else None
    if isinstance(value, dict):
        members = [member for member in value if VERDICT_MEMBER.fullmatch(member)]
        if len(members) != 1 or not value.keys() - set(members) <= OTHER_MEMBERS:
            return set()
        value = value[members[0]]
    if isinstance(value, str):
        return lists(value, names, keys_only=True) or lists(value, names, keys_only=False)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        return set() if JSON_OBJECT.match(form) else None
    return _json_list(value, names)


def _json_list(parts: list[str], names: OptionNames) -> set[OptionIndices]:
    readings = {OptionIndices()}
    for part in parts:
        matches = mention(part, names, keys_only=True) or mention(part, names, keys_only=False)
        readings = {reading | {option} for reading in readings for option in matches}
    return readings - {OptionIndices()} if len(parts) <= names.max_separators else set()


def no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the members of a JSON object; ValueError if a name stands twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def not_a_verdict(_: str) -> str:
    """Refuse a constant of JSON that is not a verdict, such as NaN."""
    raise ValueError("not a verdict")


_DECODER = json.JSONDecoder(
    object_pairs_hook=no_duplicates,
    parse_constant=not_a_verdict,
    parse_int=str,
)


def _unread(body: str, names: OptionNames, reason: str) -> Parsed:
    """Return the outcome of a reply that has no reading."""
    if is_refusal(body):
        return Parsed("refused", reason="refusal")
    if len(body) <= MAX_DIAGNOSED and _in_conflict(fold(body), names):
        return Parsed("invalid", reason="conflict")
    return Parsed("invalid", reason=reason)


def is_refusal(body: str) -> bool:
    """Whether a reply declines, from its first words on."""
    head = body[:MAX_DIAGNOSED]
    return bool(REFUSAL.match(head)) or any(
        phrases.refusal.match(head.casefold().replace("\u2019", "'")) for phrases in languages()
    )


def _in_conflict(folded: str, names: OptionNames) -> bool:
    """Whether a key is followed by another option's label, and not by its own."""
    for i, key in enumerate(names.folded_keys):
        rest = after_joint(folded, key)
        labels = [j for j, (label, _) in enumerate(names.tails) if rest.startswith(label)]
        if rest and labels and i not in labels:
            return True
    return False

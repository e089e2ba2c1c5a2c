"""Grammar for replies that contain only an answer. `prose` parses all other replies.

    reply     = body without thinking, channels and chat-template tokens (`envelope`)
    body      = list | lead-in list | adverb list | JSON (`json_verdicts`)
    list      = mention { separator mention }    separator: , ; & + / | "and"; or one mention a line
    mention   = key | label | key joint label | label joint key     joint: : . ) - = or brackets
    lead-in   = "Answer:" | "My final verdict:" ... | "The answer is" keys | "Option" keys
    adverb    = "Only" | "Both" | "Clearly" ...

Decoration (bold, quotes, brackets, a box, a code fence, an answer's tag, a heading, a sign, a full
stop, a bullet) can surround the whole reply and each mention. Exact keys take precedence over keys
and labels in any case. The parser does not guess: if several readings fit, or a reply has two
verdicts, the reply is invalid. Other replies are read as prose, with this grammar for each line.

Decisions:

- A repeated verdict (two lines ``B``) counts once.
- A lone ``b`` is option B; after "The answer is" or "Option" it is not: "a" may be an article.
- A label that is cut off is read only after its key and only in a forced choice: a set that is cut
  off can be incomplete.
- On a scale of whole numbers, ``4/5``, ``4 out of 5``, ``4.0`` and ``4 points`` are 4 if 5 is the
  highest key. Otherwise ``A/B`` is a list unless keys contain digits. ``A or B`` is not a list, and
  ``BA`` is not ``AB``.
- A number next to a label must be its own key: "Good (4)" is invalid if Good is 3.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

from harness.judging.parsing.answer_names import ADJECTIVE, NOUN, role
from harness.judging.parsing.asides import without_asides
from harness.judging.parsing.envelope import THOUGHT, own_words
from harness.judging.parsing.json_verdicts import json_answers
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
    with_digits,
)
from harness.judging.parsing.option_search import option_search
from harness.judging.parsing.phrases import languages
from harness.judging.parsing.prose import Prose, read_prose
from harness.judging.parsing.rankings import with_best_of_ranking
from harness.judging.parsing.reply_fields import verdict_part
from harness.judging.parsing.reply_segments import DIGIT, plain
from harness.judging.parsing.statement_faults import takes_back_in_any
from harness.judging.parsing.tool_calls import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.tasks import Option
    from harness.tasks.item import AnswerKind

Outcome = Literal["answered", "abstained", "refused", "invalid", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

GRAMMAR_VERSION = 16  # raised whenever the reading of a reply in the tests' corpora changes
REASONS: dict[str, str] = {
    "empty": "an empty reply",
    "cut_off": "cut off",
    "reasoning_only": "reasoning without an answer",
    "tool_call": "a tool call in place of an answer",
    "too_long": "too long to parse",
    "no_option": "no option named",
    "unreadable": "no option stated as the answer",
    "several": "several options named",
    "ambiguous": "several options named",
    "conflict": "the key of one option with the label of another",
    "negated": "a negated option",
    "hedged": "an option named with doubt",
    "conditional": "an option named under a condition",
    "question": "an option in a question",
    "reported": "someone else's verdict",
    "retracted": "a verdict that was taken back",
    "quoted": "a verdict that the item itself contains",
    "not_admissible": "a response set that the task doesn't allow",
    "abstention_not_offered": "CANNOT_ASSESS although it is not an option",
    "out_of_bounds": "a number outside the bounds",
    "refusal": "refused",
    "content_filter": "stopped by a content filter",
}
"""Short descriptions of why a reply wasn't read, by the slug in `Parsed.reason`."""
MAX_REPLY = 20_000  # maximum characters to parse, after a think block
MAX_DIAGNOSED = 500  # maximum characters to search for a reason

_MARK = r"(?:\*\*|__|\*|_)?"
_NAME = rf"(?:(?:the|my|your|our)\s+)?{ADJECTIVE}*{NOUN}(?:\(s\)|s)?"
_ABOUT = (
    r"(?:\s+(?:here|of\s+the\s+option|for\s+(?:the|this)\s+\w+|that\s+(?:fits?|apply|applies)(?:\s+best)?"
    r"|i\s+(?:choose|chose|pick|select|find\s+reasonable)|chosen|selected|picked|\(?json\)?))?"
)
LEAD = re.compile(
    rf"(?:\#{{1,6}}\s+)?{_MARK}(?:here(?:\s+is|\s+are|['\u2019]s)\s+)?{_NAME}{_ABOUT}{_MARK}\s*"
    rf"(?:(?:::?|\||[=\uff1a\u2192]|[-=]>|[-\u2013\u2014](?=\s))(?:(?:\*\*|__|\*|_)(?=\s))?|\n)\s*"
    rf"|{_MARK}\[{{1,2}}{_NAME}\]{{1,2}}{_MARK}\s*:?\s*|(?:{_NAME}|boxed)(?=\[[^\[\]\n]{{1,40}}\]\W*\Z)",
    re.IGNORECASE,
)
SENTENCE = re.compile(
    rf"(?:(?:the|my)\s+(?!options\b){ADJECTIVE}*{NOUN}s?{_ABOUT}\s+(?:is|are):?"
    r"|(?:answer|verdict|score|rating|result)\s+is"
    r"|options?|opci[o\u00f3]n|choice|answer|key)\s+(?=\S)",
    re.IGNORECASE,
)
ADVERB = re.compile(
    r"(?P<rest>[^\n]*[^\s,]),?\s+(?:only|alone|absolutely|indeed|of\scourse|definitely|clearly|certainly|for\ssure"
    r"|without\s(?:a|any)\sdoubt|at\sall)[.!]?\Z"
    r"|(?:it['\u2019]s|it\s+is|this\s+is)\s+an?\s+(?=\w)"
    r"|(?:both|only|just|simply|definitely|clearly|certainly|sure|okay|ok)[!,:]?\s+(?=\S)"
    r"|(?P<article>an?|the)\s+(?:(?:clear|solid|definite|firm)\s+)?(?=\w)",
    re.IGNORECASE,
)
TWO_KEYS = re.compile(r"A\s+[A-Z]\W*")  # not an article and a key
ORDINAL = re.compile(
    r"the\s+(?P<rest>\w+)\s+(?:one|answer|response|option|output|choice)[.!]?\Z", re.IGNORECASE
)
RUN_ON = re.compile(  # the model continues with a new example
    r"\n\s*(?:#+\s*|\*\*)?(?:question|instruction|user|human|input|example)s?\b[^\n:]{0,12}:",
    re.IGNORECASE,
)
STARS = re.compile(r"(?P<full>(?:\u2605|\u2b50\ufe0f?){1,10})\u2606*")
QUALITY = re.compile(
    r"^[ \t]*(?:[-*\u2022][ \t]+)?\**(?!(?:confidence|certainty|probability|sentence|quantity"
    r"|entity|frequency|capacity|reference|sequence|instance|distance|occurrence|difference)\b)"
    r"(?:[a-z]+(?:ness|ity|cy|n[c]e|logy|style)|likert)"
    r"(?:\s+(?:score|rating|level))?\**(?:\s*[:=\u2192]|\s+[\u2013\u2014-])\s*(?=\**\d)",
    re.IGNORECASE | re.MULTILINE,
)
OVERALL = re.compile(r"^\W*(?:overall|total|final)\b", re.IGNORECASE | re.MULTILINE)
JSON_BLOCK = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)[A-Za-z]{0,10}[ \t]*\n\s*(?P<fenced>[\[{][^`]{1,4000}?[\]}])"
    r"\s*(?P=fence)[ \t]*$|^[ \t]*(?P<object>\{[^{}]{1,4000}\})[ \t]*$",
    re.MULTILINE,
)
FLAGGED = re.compile(r"[:=\u2705\u2713]")
FLAG_END = re.compile(r"\n|[,;]\s|(?<=[\u274c\u2717\u2705\u2713])\s+")
FLAG = re.compile(
    r"\s*(?:[-*\u2022]\s+)?\**(?P<name>[^:=\n]{1,80}?)\**\s*(?:[:=]|(?=[\u274c\u2717\u2705\u2713]))\**\s*"
    r"(?:(?P<denied>no|not\s+\w+|false|\u274c|\u2717|unreasonable)|yes|true|reasonable|acceptable|\u2705|\u2713)[.\s]*",
    re.IGNORECASE,
)
MIN_STEM = 5  # letters that a property shares with its label: "toxicity", "toxic"
STEM = re.compile(r"(?:ed|es|s)\Z")  # "passed" is "pass"
DENYING = re.compile(  # what "no" would affirm: "Unsupported: no"
    r"\d|\b(?:step|not|no|non|without|lacks?|errors?|wrong|false|problems?|issues?|violat\w*|fail\w*|contradict\w*"
    r"|hallucinat\w*|fabricat\w*|(?:un|i[nmr]|[dm]is)\w{4,})\b",
    re.IGNORECASE,
)
FLAG_NAME = re.compile(
    r"\A(?:(?:is|does|has|contains)\s+)?(?:(?:it|this|(?:the|this)\s+\w+)\s+)?", re.IGNORECASE
)
FLAG_TAG = re.compile(
    r"<(?P<name>(?!strong>|code>|span>|mark>|div>)\w{3,30})>\s*(?P<flag>yes|no|true|false)\s*</(?P=name)>",
    re.IGNORECASE,
)
FLAG_LINE = re.compile(
    r"^[ \t]*(?:[-*\u2022][ \t]+)?\**(?P<name>[A-Za-z][\w -]{1,60}?)\**[ \t]*[:=?]\**[ \t]*\**"
    r"(?P<flag>yes|no|true|false)\b(?P<rest>\**[.\s]*(?:\([^()\n]*\)[.\s]*)?)$",
    re.IGNORECASE | re.MULTILINE,
)
JSON_OBJECT = re.compile(r"(?P<object>\{[^{}]{1,4000}\})(?P<fenced>(?!))?")
JSON_OPENERS, JSON_CLOSERS = frozenset("[{\"'"), frozenset("]}\"'")
FENCED = re.compile(r"(?P<fence>```|~~~)[A-Za-z]{0,10}\n(?P<body>.*?)\n?(?P=fence)", re.DOTALL)
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
    rf"|(?:(?:sorry|apologies|i\sapologi[sz]e|unfortunately)\b.{{0,20}}?)?"
    rf"\b(?:i|we)\s?{_CANNOT}\s(?:\w+ly\s)?{_DECLINED}\b"
    rf"|as\san?\s(?:\w+\s)?{_AI}\b.{{0,60}}?\b(?:i|we)\s?{_CANNOT}\b"
    rf"|(?:i|we)\s(?:must|have\sto|need\sto)\s(?:\w+ly\s)?(?:decline|refuse)\b"
    rf"|(?:i|we)\s(?:decline|refuse)\sto\b)",
    re.IGNORECASE | re.DOTALL,
)


class Parsed(NamedTuple):
    """Parsed content of a reply.

    Attributes
    ----------
    outcome : str
        One of `OUTCOMES`, never "failed".
    value : str or tuple of str or None
        The option's key, or the set's keys in the order of the options; None unless answered.
    reason : str
        Why there is no answer, one of `REASONS`; empty for an answer or an abstention.
    probabilities : dict of str to float, or None
        See `Verdict`.
    is_derived : bool
        Whether the answer was derived by rule from the reply to a different elicitation.
    """

    outcome: Outcome
    value: str | tuple[str, ...] | None = None
    reason: str = ""
    probabilities: dict[str, float] | None = None
    is_derived: bool = False

    def with_probabilities(self, probabilities: Mapping[str, float] | None) -> Self:
        """Return a copy of the parsed reply with these probabilities."""
        return self._replace(probabilities=None if probabilities is None else dict(probabilities))


def parse(
    text: str,
    elicitation: AnswerKind,
    options: Sequence[Option],
    *,
    abstain: bool,
    sets: Sequence[Sequence[str]] | None = None,
    complete: bool = True,
    reasons_first: bool = False,
) -> tuple[Parsed, str]:
    """Parse a reply, in time linear in its length.

    Parameters
    ----------
    text : str
        The reply as received, which can be any text.
    elicitation : {"forced_choice", "response_set"}
        Whether an option or a set of options was requested.
    options : sequence of Option
        The K options.
    abstain : bool
        Whether CANNOT_ASSESS was offered.
    sets : sequence of sequences of str, optional
        The admissible response sets; by default, all except the empty set.
    complete : bool
        Whether the reply is complete. If it was cut off, its last sentence is ignored.
    reasons_first : bool
        Whether reasons and then an answer on the last line were requested. If the last line has an
        answer, statements in the reasons do not count.

    Returns
    -------
    parsed : Parsed
        The outcome.
    quotable : str
        Text that makes the reply a quotation if the item's text contains it: a reply with a
        lead-in, or the sentence that states the answer. Usually empty.
    """
    body = with_arguments(own_words(text))
    if not body or len(body) > MAX_REPLY:
        return Parsed("invalid", reason="too_long" if body else "empty"), ""
    names = _names(options)
    if body not in names.keys:
        if elicitation == "forced_choice":
            body = with_best_of_ranking(body, names)
        body = _on_scale(without_asides(body, option_search(_texts(options)).names), names)
        body = _with_flags(body, names)
    readings, has_lead = _whole_readings(body, names, elicitation)
    if not readings:
        if body.startswith(THOUGHT):
            return Parsed("invalid", reason="cut_off"), ""
        asked = {"complete": complete, "reasons_first": reasons_first}
        prose = _in_parts(body, elicitation, options, **asked)
        if prose is None:
            prose = _prose(body, elicitation, options, **asked)
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


def _whole_readings(
    body: str, names: OptionNames, elicitation: AnswerKind
) -> tuple[set[OptionIndices], bool]:
    """Return the readings of a reply with only an answer, and whether it has a lead-in."""
    readings, has_lead = _readings(body, names)
    if not readings and (further := RUN_ON.search(body)):
        readings, has_lead = _readings(body[: further.start()].strip(), names)
    if not readings and len(body) <= MAX_DIAGNOSED and FLAGGED.search(body):
        readings = _flagged(body, names)
    if not readings and elicitation == "forced_choice":
        return _cut_off_readings(body, names)
    return readings, has_lead


def _is_json(body: str, names: OptionNames) -> bool:
    """Return whether a reply consists of JSON, complete or not."""
    is_whole = body[-1] in JSON_CLOSERS or "}" not in body
    return body[0] in JSON_OPENERS and is_whole and _json(body, names) is not None


def _in_parts(
    body: str,
    elicitation: AnswerKind,
    options: Sequence[Option],
    *,
    complete: bool,
    reasons_first: bool,
) -> Prose | None:
    """Parse the verdict in a reply with labelled parts.

    Returns None if the reply has no verdict part, or if other parts disagree with it.
    """
    cut = verdict_part(body) if complete else None
    if cut is None:
        return None
    names = _names(options)
    if takes_back_in_any(cut.after) or any(_readings(other, names)[0] for other in cut.others):
        return None
    readings, _ = _readings(cut.verdict, names)
    if len(readings) == 1:
        verdict = Prose(readings.pop(), "", cut.verdict)
    else:
        verdict = _prose(cut.verdict, elicitation, options, complete=True, reasons_first=False)
    rest = f"{cut.before}\n{cut.after}".strip()
    if verdict.reading is None or not rest:
        return verdict if verdict.reading else None
    other = _prose(rest, elicitation, options, complete=True, reasons_first=reasons_first)
    is_same = other.reading in {None, verdict.reading} and other.reason != "retracted"
    return verdict if is_same else None


def _prose(
    body: str,
    elicitation: AnswerKind,
    options: Sequence[Option],
    *,
    complete: bool,
    reasons_first: bool,
) -> Prose:
    """Parse a reply that contains more than an answer."""
    names = _names(options)
    if _is_json(body, names):
        return Prose(None, "unreadable", "")

    def read_line(line: str) -> tuple[OptionIndices, bool] | None:
        readings, has_lead = _readings(line, names)
        return (readings.pop(), has_lead) if len(readings) == 1 else None

    body = _with_json_lines(body, JSON_BLOCK, names)
    search = option_search(_texts(options))
    many = elicitation == "response_set"
    return read_prose(
        body, search, read_line, many=many, complete=complete, reasons_first=reasons_first
    )


def render(value: str | Sequence[str], options: Sequence[Option]) -> str:
    """Write a value as a reply that `parse` converts back to this value.

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
    readings, _ = _readings(own_words(plain), names)
    return (
        plain if readings == {OptionIndices(names.keys[key] for key in keys)} else json.dumps(keys)
    )


def is_quoted(statement: str, item: str, options: Sequence[Option]) -> bool:
    """Return whether a reply's statement also occurs in the item, ignoring markup."""
    names = _names(options)
    said, rated = (
        plain(_with_json_lines(_on_scale(text, names), JSON_OBJECT, names))
        for text in (statement, item)
    )
    return statement in item or said.strip() in rated


def _on_scale(body: str, names: OptionNames) -> str:
    """Rewrite "4/5", "4.0", "4 points" and "four" as "4" for a scale from 1 to 5."""
    if not names.most:
        return body
    body = body if names.rivals else with_digits(body)
    body = _total_of(names.most).sub("Score: ", body)
    body = with_only_score(body)
    if not body.isascii() and len(STARS.findall(body)) == 1 and not DIGIT.search(body):
        body = STARS.sub(lambda stars: str(len(stars["full"].replace("\ufe0f", ""))), body)
    if "(" in body:
        body = _scored(names.least, names.most).sub("Score:", body, count=1)
    return _scale_phrases(names.least, names.most).sub(r"\g<number>\g<first>", body)


def with_only_score(body: str) -> str:
    """Rewrite "Fluency: 4" as "Score: 4" if this is the reply's only rating."""
    is_only = len(QUALITY.findall(body)) == 1 and not OVERALL.search(body)
    return QUALITY.sub("Score: ", body) if is_only else body


def _with_flags(body: str, names: OptionNames) -> str:
    """Rewrite the only line such as "Toxic: no" as the answer that it implies."""
    if "</" in body:
        body = FLAG_TAG.sub(r"\n\g<name>: \g<flag>\n", body).strip()
    lines = [*FLAG_LINE.finditer(body)]
    if len(lines) != 1 or role(lines[0]["name"]) in {"answer", "score", "aside"}:
        return body
    is_true = lines[0]["flag"].lower() in {"yes", "true"}
    name = lines[0]["name"]
    is_asked = names.is_yes_no and lines[0].start() == 0 and not DENYING.search(name)
    answers = _by_flag(name, names, is_true=is_true, is_named=not is_asked)
    if len(answers) != 1:
        return body
    [answer] = answers
    key = next(key for key, i in names.keys.items() if {i} == answer)
    rest = lines[0]["rest"].strip("* .\n")
    return body[: lines[0].start()] + f"Answer: {key} {rest}".rstrip() + body[lines[0].end() :]


def _with_json_lines(body: str, pattern: re.Pattern[str], names: OptionNames) -> str:
    """Rewrite JSON verdicts as lines such as "Answer: A"."""
    return pattern.sub(lambda match: _as_line(match, names), body) if "{" in body else body


@lru_cache(maxsize=256)
def _total_of(most: str) -> re.Pattern[str]:
    """Return a pattern for "Total:" before a number of points on a scale."""
    return re.compile(
        rf"^\W*total(?:\s+(?:score|rating|points))?\W*?:\W*(?=\d+(?:\.\d+)?\s*(?:/|out\s+of)\s*{most}\b)",
        re.IGNORECASE | re.MULTILINE,
    )


@lru_cache(maxsize=256)
def _scored(least: str, most: str) -> re.Pattern[str]:
    """Return a pattern for the only rating's name with its scale, as in "Fluency (1-5):"."""
    low = "|".join({least, "0", "1"})
    return re.compile(
        rf"\A[ \t]*(?:[-*\u2022][ \t]+)?\**[A-Za-z][\w ]{{2,30}}\s\("
        rf"(?:(?:on\s+)?(?:a\s+)?scale\s+(?:of|from)\s+)?"
        rf"(?:(?:{low})\s*(?:-|\u2013|to)\s*{most}|scores?\s+only)\)\**\s*:(?=\**\s*\**\d)(?!.*\n.*:\**\s*\d)",
        re.IGNORECASE | re.DOTALL,
    )


@lru_cache(maxsize=256)
def _scale_phrases(least: str, most: str) -> re.Pattern[str]:
    """Return a pattern for a number with words for its scale, such as "out of 5"."""
    low = "|".join({least, "0", "1"})
    end = (
        rf"{most}(?![\d/%])(?!\.\d)(?:\s+(?:stars?|points?|punkten?|sternen?|puntos|estrellas)\b)?"
    )
    return re.compile(
        rf"(?<![\d.,/])(?<!answer\sis\s)(?P<number>\d{{1,9}}[*_`\])]{{0,4}})"
        rf"(?:\s*/\s*{end}|\s*\((?:out\s+)?of\s+{end}\s*\)|(?:\s+(?:points?|stars?))?\s+(?:out\s+of|von|sur|de|su)\s+(?:a\s+(?:possible|total\sof)\s+)?\**{end}"
        rf"|\.0{{1,3}}(?!\d)(?!\.\d)|\s*(?:(?:points?|stars?|punkten?|sternen?|puntos|estrellas)\b|[\u5206\u70b9\uc810]))"
        rf"|(?<!\w\s)(?<!\d)(?P<first>\d{{1,9}})\s+of\s+{end}(?=\W*\Z)"
        rf"|\s+on\s+(?:the|this)\s+(?:given\s+)?scale(?=\s*[).,])"
        rf"|,?\s*\bon\s+a\s+scale\s+(?:of|from)\s+(?:{low})\s*(?:to|-|\u2013)\s*{most}(?!\d),?"
        rf"|\s+on\s+(?:a|the)\s+(?:{low})\s*[-\u2013]\s*{most}\s+(?:point\s+)?scale\b|\s+on\s+(?:a|the)\s+{most}[-\s]point\s+scale\b"
        rf"|\s*\((?:{low})\s*(?:to|-|\u2013)\s*{most}\)",
        re.IGNORECASE,
    )


def _as_line(match: re.Match[str], names: OptionNames) -> str:
    """Convert a JSON verdict to lines with its answers, and return other JSON unchanged."""
    by_option = {index: key for key, index in names.keys.items()}
    readings = _json(match["fenced"] or match["object"], names)
    lines = [
        "Answer: " + ", ".join(by_option[index] for index in sorted(reading))
        for reading in sorted(readings or (), key=sorted)
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else match[0]


def _names(options: Sequence[Option]) -> OptionNames:
    return names_of(_texts(options))


def _texts(options: Sequence[Option]) -> tuple[tuple[str, str, str], ...]:
    return tuple((option.key, option.label, option.description) for option in options)


def _decide(
    reading: OptionIndices,
    elicitation: AnswerKind,
    keys: Sequence[str],
    *,
    abstain: bool,
    sets: Sequence[Sequence[str]] | None,
) -> Parsed:
    """Convert a reply's only reading to a result, which is invalid if the form is wrong."""
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
    """Yield a reply, then its versions without decoration or lead-in, each with two flags.

    The flags say whether only keys count, and whether a lead-in was removed.
    """
    fenced = FENCED.fullmatch(body)
    outer = fenced["body"] if fenced else body
    for layer in layers(outer):
        yield from _plain_forms(layer, has_lead=False)
        if lead := LEAD.match(layer):
            for inner in layers(layer[lead.end() :]):
                yield from _plain_forms(inner, has_lead=True)


def _plain_forms(form: str, *, has_lead: bool) -> Iterator[tuple[str, bool, bool]]:
    """Yield a form, then versions without openings such as "The answer is" and "Only"."""
    yield form, False, has_lead
    if sentence := SENTENCE.match(form):
        yield form[sentence.end() :].strip(), True, True
    if ordinal := ORDINAL.match(form):
        yield ordinal["rest"], False, has_lead
    if (adverb := ADVERB.match(form)) and not TWO_KEYS.fullmatch(form):
        for layer in layers(adverb["rest"] or form[adverb.end() :]):
            yield layer, False, has_lead
            if adverb.lastgroup is None and (sentence := SENTENCE.match(layer)):
                yield layer[sentence.end() :].strip(), True, True
            if further := ADVERB.match(layer):
                yield (further["rest"] or layer[further.end() :]).strip(), False, has_lead


def _readings(body: str, names: OptionNames) -> tuple[set[OptionIndices], bool]:
    """Return the readings of the first readable form, and whether a lead-in was removed."""
    if body in names.keys:
        return {OptionIndices([names.keys[body]])}, False
    for form, keys_only, has_lead in forms(body):
        if form[:1] in JSON_OPENERS and (json_readings := _json(form, names)) is not None:
            return json_readings, True
        readings = lists(form, names, keys_only=True)
        if not readings and (not keys_only or _opens_with_key(form, names)):
            readings = lists(form, names, keys_only=False)
        if readings:
            return readings, has_lead
    return set(), False


def _flagged(body: str, names: OptionNames) -> set[OptionIndices]:
    """Return the answer in a list that accepts or rejects options, as in "A: yes, B: no"."""
    parts = [FLAG.fullmatch(part) for part in FLAG_END.split(body) if part.strip()]
    if len(parts) < 2 or len(parts) > len(names.folded_keys):  # noqa: PLR2004 -- a list
        return set()
    chosen: list[OptionIndices] = []
    named: set[OptionIndices] = set()
    for part in parts:
        option = mention(part["name"], names, keys_only=False) if part else OptionIndices()
        if part is None or len(option) != 1 or option in named:
            return set()
        named.add(option)
        chosen += [] if part["denied"] else [option]
    return {OptionIndices().union(*chosen)} if chosen else set()


def _opens_with_key(form: str, names: OptionNames) -> bool:
    """Return whether a form begins with an exact key and a separator, as in "B) Not toxic"."""
    return any(after_joint(form.lstrip(OPENERS + "- "), key) for key in names.keys)


def _cut_off_readings(body: str, names: OptionNames) -> tuple[set[OptionIndices], bool]:
    if len(body) > names.max_chars:
        return set(), False
    lead = LEAD.match(body)
    matches = cut_off(body[lead.end() :] if lead else body, names)
    return {OptionIndices([option]) for option in matches}, bool(lead)


def _json(form: str, names: OptionNames) -> set[OptionIndices] | None:
    """Return the readings of a JSON verdict, or None if the text is not JSON."""

    def read(value: str) -> set[OptionIndices]:
        return lists(value, names, keys_only=True) or lists(value, names, keys_only=False)

    return json_answers(
        form,
        read,
        lambda parts: _json_list(parts, names),
        lambda name, is_true: _by_flag(name, names, is_true=is_true),
    )


def _by_flag(
    name: str, names: OptionNames, *, is_true: bool, is_named: bool = False
) -> set[OptionIndices]:
    """Return the answers implied by a name with a truth value, as in "Toxic: no".

    A name that is not an option's stands for the question itself, unless `is_named`.
    """
    folded = fold(FLAG_NAME.sub("", name.replace("_", " ")))
    stem = STEM.sub("", folded)
    kin = [_n_shared(folded, label) for label, _ in names.tails]
    for i, (label, _) in enumerate(names.tails):
        is_same = folded in {label, names.folded_keys[i]} or stem in {label, names.folded_keys[i]}
        is_kin = kin[i] >= MIN_STEM and kin.count(max(kin)) == 1 and kin[i] == max(kin)
        if folded and (is_same or (is_kin and " " not in folded)):
            others = OptionIndices(range(len(names.tails))) - {i}
            return {OptionIndices([i])} if is_true else {others} if len(others) == 1 else set()
    if is_named:
        return set()
    said = ("yes", "true", "1") if is_true else ("no", "false", "0")
    return next((found for word in said if (found := lists(word, names, keys_only=False))), set())


def _n_shared(first: str, second: str) -> int:
    """Return the length of the longest common prefix of two words."""
    pairs = zip(f"{first}\0", f"{second}\1", strict=False)
    return next(i for i, (one, other) in enumerate(pairs) if one != other)


def _json_list(parts: Sequence[str], names: OptionNames) -> set[OptionIndices]:
    readings = {OptionIndices()}
    for part in parts:
        matches = mention(part, names, keys_only=True) or mention(part, names, keys_only=False)
        readings = {reading | {option} for reading in readings for option in matches}
    return readings - {OptionIndices()} if len(parts) <= names.max_separators else set()


def _unread(body: str, names: OptionNames, reason: str) -> Parsed:
    """Return the outcome of a reply that has no reading."""
    if is_refusal(body):
        return Parsed("refused", reason="refusal")
    if len(body) <= MAX_DIAGNOSED and _in_conflict(fold(body), names):
        return Parsed("invalid", reason="conflict")
    return Parsed("invalid", reason=reason)


def is_refusal(body: str) -> bool:
    """Return whether a reply begins with a refusal."""
    head = body[:MAX_DIAGNOSED]
    return bool(REFUSAL.match(head)) or any(
        phrases.refusal.match(head.casefold().replace("\u2019", "'")) for phrases in languages()
    )


def _in_conflict(folded: str, names: OptionNames) -> bool:
    """Return whether a key is followed by another option's label instead of its own."""
    for i, key in enumerate(names.folded_keys):
        rest = after_joint(folded, key)
        labels = [j for j, (label, _) in enumerate(names.tails) if rest.startswith(label)]
        if rest and labels and i not in labels:
            return True
    return False

"""Reading the answer that a reply states in prose.

`grammar` reads replies that are nothing but an answer; this module reads those that say more. Four
things state an answer, and nothing else does:

- the last line of the reply, if it is nothing but an answer;
- the first line or sentence, likewise, if a heading of reasons follows, or a sentence about what is
  rated: "Toxic. The comment insults the reader.";
- an answer marker directly followed by an option: "The answer is A, because it is toxic.";
- a subject and a verb directly followed by a label of at least four letters: "It is toxic."

The sentence must begin with the marker or the subject, or with words that do not change what it
says ("Therefore,", "Given the insult,", "Nobody is named, so"). It states nothing if it names
another option, denies, hedges, asks, sets a condition or reports what others say. Quotations,
quoted lines and lists of all options name nothing. All answers that a reply states must be the
same, and what follows the last of them may not take it back or name another option.

The phrases are those of `answer_phrases.yaml`. The time is linear in the length of the reply:
sentences, and mentions of options, are bounded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

from harness.judging.parsing.phrases import CLOSING, OPENING, Phrases, languages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.judging.parsing.option_matching import OptionIndices
    from harness.judging.parsing.option_search import Mention

    LineReader = Callable[[str], tuple[OptionIndices, bool] | None]

MAX_SENTENCE = 600  # characters of a sentence that may state an answer
MAX_MENTIONS = 400  # of options in a reply
MAX_LINES = 400  # of a reply that are read as answers
MAX_ANSWER = 60  # characters of a sentence that may be nothing but an answer
MAX_QUOTE = 400  # characters
MAX_HEADING = 3  # words of a line that may be the heading of the next
MIN_GROUNDS = 6  # words of a sentence that may deny something and still give reasons
MAX_TAG_QUESTION = 4  # words: "Right?"

ReplyFault = Literal[
    "no_option",
    "unreadable",
    "several",
    "negated",
    "hedged",
    "conditional",
    "question",
    "reported",
    "retracted",
]
FAULTS: tuple[ReplyFault, ...] = get_args(ReplyFault)

UNFIT: ReplyFault = "unreadable"  # of "it is toxic" where a set was asked for
DIGIT = re.compile(r"\d")
MASK = "\x01"
PAUSES = " \t\n,;:\u2013\u2014-\uff0c\uff1b\uff1a\u3001" + OPENING
QUOTES = frozenset("\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e\u300c\u300d\u300e\u300f")
WORD_FAULTS: dict[str, ReplyFault] = {
    "conditional": "conditional",
    "negation": "negated",
    "hedge": "hedged",
    "weak": "hedged",
    "report": "reported",
}
LAST_BLOCK = re.compile(
    r"\n\s*(?:```[A-Za-z]{0,10}\n(?P<fenced>[^`]{1,2000}?)\n?\s*```|(?P<json>\{[^{}]{1,2000}\}))\s*\Z"
)
MARKUP = re.compile(
    r"\*\*|(?<!\w)__|__(?!\w)|`+[a-zA-Z]*\n|`|\\boxed\s*(?=\{)|\\(?:text|textbf|mathrm|mathbf)"
    r"\s*(?=\{)|\\[\[\]()]|\$|(?m:^[ \t]*#{1,6}[ \t]+)|(?m:^[ \t]*(?:-{3,}|={3,}|_{3,})[ \t]*$)"
    r"|(?<=[{\s])\{|[{}]|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)"
)
TAG = re.compile(
    r"<(?P<name>answer|verdict|label|choice|rating|score|output)>(?P<inner>[^<>]{1,200})</(?P=name)>",
    re.IGNORECASE,
)
CONTRACTION = re.compile(r"(?<=\bis)n't\b|(?<=\bwas)n't\b")
QUOTED = re.compile(
    rf'"[^"\n]{{0,{MAX_QUOTE}}}"|\u201c[^\u201d\n]{{0,{MAX_QUOTE}}}\u201d'
    rf"|\u201e[^\u201c\u201d\n]{{0,{MAX_QUOTE}}}[\u201c\u201d]|\u00ab[^\u00bb\n]{{0,{MAX_QUOTE}}}\u00bb"
    rf"|\u300c[^\u300d\n]{{0,{MAX_QUOTE}}}\u300d|\u300e[^\u300f\n]{{0,{MAX_QUOTE}}}\u300f"
    rf"|(?<!\w)['\u2018][^'\u2018\u2019\n]{{0,{MAX_QUOTE}}}['\u2019](?!\w)|(?m:^[ \t]*>.*$)"
)
BRACKETED = re.compile(r"[(\[\uff08][^()\[\]\uff08\uff09\n]{0,200}[)\]\uff09]")
END = re.compile(r"[.!?]+(?=[\"'\u201d\u2019)\]]*(?:\s|$))|[\u3002\uff01\uff1f]+|\n")
LOWER = re.compile(r"[\"'\u201d\u2019)\]]*[ \t]+[a-z\xe0-\xff]")
BULLET = re.compile(r"\s*(?:[-*\u2022+]|\d{1,2}[.)])\s+")
HEADING_END = re.compile(r"[:\uff1a]\s*$")
TERMINAL = re.compile(r"[.!?:;\u3002\uff01\uff1f\uff1a)\]\"'\u2026]\s*$")
BOUNDARY = re.compile(
    rf"[{re.escape(CLOSING)}]*\s*(?:$|[,;:.!()\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff08]|[-\u2013\u2014]\s)"
)
STOP = re.compile(rf"[{re.escape(CLOSING)}\s.!\u3002\uff01]*$")
CLAUSE = re.compile(r"\s*[;:\u2013\u2014\uff1a\uff1b-]\s")
COMMA = re.compile(rf"[{re.escape(CLOSING)}\s]*[,\uff0c\u3001]\s*(?P<rest>.*)", re.DOTALL)
SECOND_VERB = re.compile(r"(?:and|with|which|making|\w+ing|et|und|y|e)\b", re.IGNORECASE)
JOINT = re.compile(
    rf"[{re.escape(CLOSING)}]*\s*(?:[.:)\]=,\uff1a]|[-\u2013\u2014](?=\s))?\s*[{re.escape(OPENING)}\uff08]?\s*"
)
SEPARATOR = re.compile(
    r"\s*(?:[,;\u3001\uff0c&+]\s*(?:(?:and|und|et|y|e)\s+)?|\s(?:and|und|et|y|e)\s|[\u548c\u3068])\s*"
)
REASON_JOINT = re.compile(
    r"\s*(?:[:\uff1a(\uff08]|[-\u2013\u2014](?=\s))\s*"
    r"|,?\s+(?:because|since|weil|da|parce que|porque|perch\xe9)\s+"
)
QUESTION = re.compile(r"[?\uff1f]|[\u5417\u5462](?:\s|$)")
INVERTED = re.compile(r"^\s*[\u00bf]")


class Search(Protocol):
    """What finds the answers that a text names."""

    def mentions(self, text: str) -> list[Mention]:
        """Return them in order, without overlaps."""


class Prose(NamedTuple):
    """What a reply in prose states.

    Attributes
    ----------
    reading : Reading or None
        The answers that it states, or None.
    reason : str
        Why it states none; else empty.
    sentence : str
        The sentence or line that states it, without markup.
    """

    reading: OptionIndices | None
    reason: ReplyFault | Literal[""]
    sentence: str


class Statement(NamedTuple):
    """An answer that a part of a reply states, or why that part states none.

    Attributes
    ----------
    reading : Reading
        The answers.
    start, end : int
        Place of the sentence in the text.
    kind : {"line", "lead", "marker", "complement"}
        What states it.
    fault : str
        Why it is not stated after all; else empty.
    """

    reading: OptionIndices
    start: int
    end: int
    kind: Literal["line", "lead", "marker", "complement"]
    fault: ReplyFault | Literal[""] = ""


class ReplyLine(NamedTuple):
    """A line of a reply: its place, the answers that it is, and whether a lead-in stands there."""

    start: int
    end: int
    reading: OptionIndices | None
    has_lead: bool


class Sentence(NamedTuple):
    """A sentence: its place, and whether the line that introduces it speaks of something else."""

    start: int
    end: int
    is_foreign: bool


def read_prose(
    body: str, search: Search, read_line: LineReader, *, many: bool, complete: bool = True
) -> Prose:
    """Read the answer that a reply in prose states.

    Parameters
    ----------
    body : str
        The reply without its thinking.
    search : Search
        Finds mentions of answers.
    read_line : function
        Returns the answers that a whole line is, and whether a lead-in stands before them.
    many : bool
        Whether several answers may be stated together, as in a response set.
    complete : bool
        Whether the reply came to its end; otherwise its last sentence is left out.
    """
    if not complete:
        body = body[: max((match.end() for match in END.finditer(body)), default=0)]
    before, block = _last_block(body)
    text = plain(before)
    closing = read_line(block) if block else None
    mentions = search.mentions(text)
    if len(mentions) > MAX_MENTIONS:
        return Prose(None, "several", "")
    reply = _Reply(text, mentions, read_line, many=many)
    if closing is not None:
        reply.close_with(closing[0])
    return reply.prose()


def plain(text: str) -> str:
    """Return a text without markup, in composed characters and with straight apostrophes."""
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    text = TAG.sub(r"\nAnswer: \g<inner>\n", text)
    return CONTRACTION.sub(" not", MARKUP.sub("", text))


def _last_block(body: str) -> tuple[str, str]:
    """Split a reply from the fenced block, or the JSON object, that it ends with."""
    match = LAST_BLOCK.search(body)
    return (body[: match.start()], match["fenced"] or match["json"]) if match else (body, "")


class _Reply:
    """A reply in prose, and what its parts state."""

    def __init__(
        self, text: str, mentions: Sequence[Mention], read_line: LineReader, *, many: bool
    ) -> None:
        self._text, self._many = text, many
        self._lines = _lines(text, read_line)
        self._bare = _without_quotations(text, mentions, self._lines, many=many)
        self._mentions = mentions
        self._own = [m for m in mentions if self._bare[m.start] == text[m.start]]
        self._claims: list[Statement] = []
        self._spoken: set[Phrases] = set()
        self._sentences = list(_sentences(self._bare, self._lines, read_line))
        self._material = _start_of_material(self._bare, self._sentences)
        self._bare_answers = {
            line.reading
            for line in self._lines
            if line.reading and self._bare[line.start : line.end].strip(MASK + " ")
        }
        self._bare_answers |= _named_answers(self._bare, self._lines, read_line)
        for sentence in self._sentences:
            if sentence.end - sentence.start <= MAX_ANSWER and (
                answer := read_line(self._bare[sentence.start : sentence.end].strip())
            ):
                self._bare_answers.add(answer[0])
            self._claims += self._claims_of(sentence)
        self._claims += self._claims_of_lines()
        self._claims += self._claims_of_opening(read_line)

    def close_with(self, reading: OptionIndices) -> None:
        """Add an answer that stands in a block of its own after the text."""
        end = len(self._text)
        self._claims.append(Statement(reading, end, end, "line"))

    def prose(self) -> Prose:
        """Return what the reply states."""
        clean = [claim for claim in self._claims if not claim.fault]
        if not clean:
            return Prose(None, self._reason(), "")
        last = max(clean, key=lambda claim: claim.end)
        fault = self._contradiction(clean, last)
        if fault:
            return Prose(None, fault, "")
        sentence = self._text[last.start : last.end].strip(" .\n")
        return Prose(last.reading, "", "" if last.kind == "line" else sentence)

    def _reason(self) -> ReplyFault:
        """Return why nothing is stated: what is wrong with the last mention of an answer."""
        faults = [claim.fault for claim in self._claims if claim.fault not in {"", "unreadable"}]
        if faults and faults[-1]:
            return faults[-1]
        if not self._mentions:
            return "no_option"
        last = self._mentions[-1].start
        for sentence in self._sentences:
            if sentence.start <= last < sentence.end and last - sentence.start < MAX_SENTENCE:
                return self._reason_in(sentence)
        return "unreadable"

    def _reason_in(self, sentence: Sentence) -> ReplyFault:
        text = self._bare[sentence.start : sentence.end + 2]
        if QUESTION.search(text):
            return "question"
        spoken = languages()[:1] if text.isascii() else languages()
        kinds = ("conditional", "negation", "hedge")
        faults = (_word_fault(text, phrases, kinds) for phrases in spoken)
        return next((fault for fault in faults if fault), "unreadable")

    def _contradiction(
        self, clean: Sequence[Statement], last: Statement
    ) -> ReplyFault | Literal[""]:
        """Return what is wrong with the last of the answers stated; "" if nothing is."""
        is_repeated = {last.reading} == {claim.reading for claim in clean} | self._bare_answers
        if not is_repeated or self._names_another(last):
            return "several"
        if fault := self._fault_later(last):
            return fault
        if all(claim.kind == "complement" for claim in clean):
            return self._doubt(last)
        return ""

    def _names_another(self, last: Statement) -> bool:
        return any(
            mention.start >= last.end and not mention.is_bare and mention.answer not in last.reading
            for mention in self._own
        ) or any(
            (claim.end >= last.end or claim.fault == "unreadable") and claim.reading != last.reading
            for claim in self._claims
        )

    def _fault_later(self, last: Statement) -> ReplyFault | Literal[""]:
        """Return what the text after an answer says against it; "" if nothing."""
        later = self._bare[last.end :]
        if any(p.retraction.search(later) for p in self._spoken or languages()):
            return "retracted"
        if _is_tag_question(later):
            return "question"
        faults = [c.fault for c in self._claims if c.start >= last.end and c.fault != "unreadable"]
        return next((fault for fault in faults if fault), "")

    def _doubt(self, last: Statement) -> ReplyFault | Literal[""]:
        """Return what else speaks against an answer that is stated without a marker."""
        if any(not m.is_bare and m.answer not in last.reading for m in self._own):
            return "several"
        faults = [claim.fault for claim in self._claims if claim.fault not in {"", "unreadable"}]
        return faults[-1] if faults else ""

    # -- lines ------------------------------------------------------------------------------

    def _claims_of_lines(self) -> Iterator[Statement]:
        filled = [line for line in self._lines if self._text[line.start : line.end].strip()]
        for i, line in enumerate(filled):
            is_last = i == len(filled) - 1
            if line.reading is None or not (is_last or line.has_lead or self._explains(filled, i)):
                continue
            if self._bare[line.start : line.end].strip(MASK + " ") and self._stands_alone(
                filled, i
            ):
                yield Statement(
                    line.reading, line.start, line.end, "lead" if line.has_lead else "line"
                )

    def _explains(self, filled: Sequence[ReplyLine], i: int) -> bool:
        """Whether a line opens the reply and the heading of an explanation follows."""
        after = self._text[filled[i + 1].start : filled[i + 1].end]
        return i == 0 and any(phrases.explanation.match(after) for phrases in languages())

    def _claims_of_opening(self, read_line: LineReader) -> Iterator[Statement]:
        """Yield the answer that opens the reply if what follows is about the text that is rated.

        A letter or a number that ends in a full stop needs a line of its own: it may begin a list.
        """
        first = self._sentences[0] if self._sentences else Sentence(0, 0, is_foreign=False)
        if (joint := REASON_JOINT.search(self._bare, first.start, first.end)) is not None:
            end, grounds, is_joined = joint.start(), self._bare[joint.end() : first.end], True
        elif len(self._sentences) > 1:
            second, is_joined = self._sentences[1], False
            end, grounds = first.end, self._bare[second.start : second.end]
            has_line = "\n" in self._bare[end : second.start + 1]
            if not has_line and not all(m.is_word for m in self._own if m.start < end):
                return
        else:
            return
        opening = self._bare[first.start : end].strip(MASK + " ")
        answer = read_line(opening) if 0 < len(opening) <= MAX_ANSWER else None
        if answer is None or answer[1] or (is_joined and opening.isdecimal()):
            return
        others = {m.answer for m in self._own if m.start >= end} - answer[0]
        if not others and _gives_grounds(grounds, is_joined=is_joined):
            yield Statement(answer[0], first.start, end, "line")

    def _stands_alone(self, filled: Sequence[ReplyLine], i: int) -> bool:  # noqa: PLR0911 -- rules
        """Whether a line is neither part of a list nor of the sentence before it."""
        if i == 0:
            return True
        line, before = filled[i], filled[i - 1]
        text, earlier = self._text[line.start : line.end], self._text[before.start : before.end]
        if BULLET.match(text) and BULLET.match(earlier) and not line.has_lead:
            return False
        if line.start >= self._material:
            return False
        if HEADING_END.search(earlier):
            return line.has_lead and not _is_foreign(earlier)
        if before.reading or TERMINAL.search(earlier) or line.has_lead:
            return True
        is_adjacent = self._text[before.end : line.start].count("\n") == 1
        if (is_adjacent or text.strip().isdecimal()) and len(earlier.split()) <= MAX_HEADING:
            return any(phrases.noun.search(earlier) for phrases in languages())
        return not _speaks_of_others(earlier) and not any(
            phrases.hedge.search(earlier) for phrases in languages()
        )

    # -- sentences --------------------------------------------------------------------------

    def _claims_of(self, sentence: Sentence) -> Iterator[Statement]:
        if sentence.end - sentence.start > MAX_SENTENCE:
            return
        inside = [m for m in self._mentions if sentence.start <= m.start < sentence.end]
        for i, mention in enumerate(inside):
            is_quoted = mention not in self._own
            if is_quoted and not _is_quoted_alone(self._text, mention):
                continue
            if (claim := self._claim(sentence, inside[i:], is_quoted=is_quoted)) is not None:
                yield claim

    def _claim(
        self, sentence: Sentence, inside: Sequence[Mention], *, is_quoted: bool
    ) -> Statement | None:
        """Return what a sentence states at the first of some mentions."""
        first = inside[0]
        head = self._bare[sentence.start : first.start]
        reading, end = self._stated(inside)
        rest = self._bare[end : sentence.end]
        claims = []
        for phrases in languages():
            claim = None
            for kind, pattern in _markers(phrases, complement=first.is_word and not is_quoted):
                match = pattern.search(head)
                if match is None or (claim and not claim.fault):
                    continue
                fault = (
                    self._fault_of(sentence, reading, first, end)
                    or _fault_before(head[: match.start()], phrases)
                    or _fault_after(
                        rest,
                        phrases,
                        is_complement=kind == "complement",
                        is_bare=first.is_bare,
                    )
                    or (UNFIT if kind == "complement" and self._many else "")
                )
                claim = Statement(reading, sentence.start, sentence.end, kind, fault)
            if claim:
                claims.append(claim)
                self._spoken.add(phrases)
        return max(claims, key=_seriousness, default=None)

    def _stated(self, inside: Sequence[Mention]) -> tuple[OptionIndices, int]:
        """Return the answers that stand together from the first mention on, and their end."""
        answers, end = {inside[0].answer}, inside[0].end
        for mention in inside[1:]:
            between = self._text[end : mention.start]
            is_same = mention.answer in answers and JOINT.fullmatch(between)
            if not is_same and not (self._many and SEPARATOR.fullmatch(between)):
                break
            answers.add(mention.answer)
            end = mention.end
        return frozenset(answers), end

    def _fault_of(
        self, sentence: Sentence, reading: OptionIndices, first: Mention, end: int
    ) -> ReplyFault | Literal[""]:
        """Return what is wrong with the sentence as a whole."""
        if sentence.is_foreign or first.start >= self._material:
            return "reported"
        tail = (
            self._bare[sentence.end : sentence.end + 2] + self._bare[sentence.start : sentence.end]
        )
        if QUESTION.search(tail) or INVERTED.search(tail):
            return "question"
        others = [
            mention
            for mention in self._own
            if sentence.start <= mention.start < sentence.end
            and not first.start <= mention.start < end
            and not mention.is_bare
        ]
        if any(mention.answer not in reading for mention in others):
            return "several"
        return ""


def _markers(
    phrases: Phrases, *, complement: bool
) -> Iterator[tuple[Literal["marker", "complement"], re.Pattern[str]]]:
    yield "marker", phrases.statement
    yield "marker", phrases.label
    if complement:
        yield "marker", phrases.word_label
        yield "complement", phrases.complement


def _seriousness(claim: Statement) -> int:
    """Order claims of the same words in several languages: a doubt in any of them counts."""
    return ("unreadable", "").index(claim.fault) if claim.fault in {"", "unreadable"} else 2


def _lines(text: str, read_line: LineReader) -> list[ReplyLine]:
    lines, start = [], 0
    rows = text.split("\n")
    for i, row in enumerate(rows):
        stripped = row.strip()
        is_read = stripped and len(rows) - i <= MAX_LINES
        reading, has_lead = (read_line(stripped) if is_read else None) or (None, False)
        lines.append(ReplyLine(start, start + len(row), reading, has_lead))
        start += len(row) + 1
    return lines


def _named_answers(
    bare: str, lines: Sequence[ReplyLine], read_line: LineReader
) -> set[OptionIndices]:
    """Return the answers that lines give to something else: "Grammar: 6" beside "Style: 4"."""
    answers = set()
    for line in lines[-MAX_LINES:]:
        name, colon, value = bare[line.start : line.end].rpartition(":")
        if colon and len(value) <= MAX_ANSWER and len(name.split()) <= MAX_HEADING:
            answer = read_line(value.strip()) if line.reading is None and value.strip() else None
            if answer:
                answers.add(answer[0])
    return answers


def _without_quotations(
    text: str, mentions: Sequence[Mention], lines: Sequence[ReplyLine], *, many: bool
) -> str:
    """Return a text of the same length in which quotations and lists of all options are masked."""
    bare = QUOTED.sub(lambda match: _masked(match[0]), text)
    if not many:
        bare = BRACKETED.sub(
            lambda match: _masked(match[0]) if _names_several(match, mentions) else match[0], bare
        )
        for block in _blocks(lines, text):
            start, end = block[0].start, block[-1].end
            bare = bare[:start] + MASK * (end - start) + bare[end:]
    return bare


def _masked(text: str) -> str:
    return text[0] + MASK * (len(text) - 2) + text[-1] if len(text) > 1 else text


def _names_several(match: re.Match[str], mentions: Sequence[Mention]) -> bool:
    return len({m.answer for m in mentions if match.start() <= m.start < match.end()}) > 1


def _blocks(lines: Sequence[ReplyLine], text: str) -> Iterator[list[ReplyLine]]:
    """Yield lists of different options, one a line, that more text follows."""
    filled = [line for line in lines if text[line.start : line.end].strip()]
    block: list[ReplyLine] = []
    for line in filled:
        if line.reading is not None and not line.has_lead:
            block.append(line)
            continue
        if len({line.reading for line in block}) > 1:
            yield block
        block = []


def _sentences(bare: str, lines: Sequence[ReplyLine], read_line: LineReader) -> Iterator[Sentence]:
    """Yield sentences; an answer on a line of its own belongs to the heading before it."""
    options = {line.start for line in lines if line.reading and not line.has_lead}
    start, intro, is_list, is_used = 0, "", False, False
    for match in (*END.finditer(bare), None):
        end = match.start() if match else len(bare)
        if match and LOWER.match(bare, match.end()):
            stop = bare.find("\n", match.end())
            rest = bare[match.end() : len(bare) if stop < 0 else stop].strip()
            answer = read_line(rest) if len(rest) <= MAX_ANSWER else None
            if answer is None or answer[1]:
                continue
        if match and match[0] == "\n" and HEADING_END.search(bare, start, end):
            place = len(bare) - len(bare[end:].lstrip())
            if bare.rfind("\n", 0, place) + 1 in options:
                continue
        if line := bare[start:end].strip():
            is_item = bool(BULLET.match(bare[start:end] + " "))
            intro = "" if is_list and not is_item else intro
            is_list = is_list or is_item
            yield Sentence(start, end, _is_foreign(intro))
            if HEADING_END.search(line):
                intro, is_list, is_used = line, False, False
            else:
                is_used = True
        if match and match[0] == "\n" and is_used and not is_list:
            intro = ""
        start = match.end() if match else end


def _start_of_material(bare: str, sentences: Sequence[Sentence]) -> int:
    """Return where another question, example or turn of a conversation begins, if one does."""
    for sentence in sentences:
        text = bare[sentence.start : sentence.end]
        if any(phrases.material.match(text) for phrases in languages()):
            return sentence.start
    return len(bare) + 1


def _is_foreign(intro: str) -> bool:
    """Whether a line that ends in a colon introduces words of others, or the text rated."""
    return _speaks_of_others(intro) or any(
        phrases.thing.search(intro) and not phrases.noun.search(intro) for phrases in languages()
    )


def _speaks_of_others(line: str) -> bool:
    """Whether a line denies, hedges, sets a condition or reports, in any language."""
    return bool(line.strip()) and any(
        pattern.search(line)
        for phrases in languages()
        for pattern in (phrases.negation, phrases.conditional, phrases.report, phrases.material)
    )


def _gives_grounds(clause: str, *, is_joined: bool) -> bool:
    """Whether a clause is about what is rated, and neither about the answer nor against it.

    A clause in the sentence of the answer may not deny, hedge, set a condition or report. One that
    is a sentence may, but a short one denies nothing and sets no condition: "It is not, of course."
    """
    for phrases in languages():
        if (subject := phrases.grounds.match(clause)) is None:
            continue
        said = clause[subject.end() :]
        if phrases.noun.search(said):
            continue
        fault = _word_fault(said, phrases) if is_joined else ""
        if not is_joined and len(said.split()) < MIN_GROUNDS:
            fault = _word_fault(said, phrases, ("conditional", "negation"))
        if not fault:
            return True
    return False


def _fault_before(prefix: str, phrases: Phrases) -> ReplyFault | Literal[""]:
    """Return why the words before a statement change what it says; "" if they do not."""
    bullet = BULLET.match(prefix)
    rest = prefix[bullet.end() :] if bullet else prefix
    while rest := rest.rstrip(PAUSES):
        if therefore := phrases.therefore.search(rest):
            clause = rest[: therefore.start()]
            if not clause.strip():
                return ""
            if clause.rstrip()[-1] in PAUSES or not clause.isascii():
                return _word_fault(clause, phrases, ("conditional",))
        if not (opener := phrases.opener.search(rest)):
            break
        rest = rest[: opener.start()]
    if not rest.strip():
        return ""
    ends_in_pause = prefix.rstrip()[len(rest) :].strip(" ")[:1] in {*PAUSES} - {" "}
    if ends_in_pause and phrases.concession.match(rest):
        return _word_fault(rest, phrases, ("conditional",))
    if ends_in_pause and phrases.clause.match(rest):
        _, comma, more = rest.partition(",")
        return _word_fault(rest, phrases, ("conditional",)) or (
            _word_fault(more, phrases, ("report", "hedge")) if comma else ""
        )
    return _word_fault(rest, phrases) or "unreadable"


def _fault_after(  # noqa: PLR0911 -- one rule after the other
    rest: str, phrases: Phrases, *, is_complement: bool, is_bare: bool
) -> ReplyFault | Literal[""]:
    """Return why the words after a stated answer change what it says; "" if they do not."""
    rest = rest.lstrip(CLOSING)
    if phrases.retraction.search(rest):
        return "retracted"
    if phrases.required_tail and not STOP.match(rest) and not BOUNDARY.match(rest):
        required = phrases.required_tail.match(rest)
        if not required:
            return _word_fault(rest, phrases) or "unreadable"
        rest = rest[required.end() :]
    tail = not is_bare and (
        phrases.tail.match(rest) or (is_complement and phrases.complement_tail.match(rest))
    )
    if tail:
        rest = rest[tail.end() :]
    if STOP.match(rest):
        return ""
    reason = phrases.reason.search(rest)
    is_reason = reason is not None and not rest[: reason.start()].strip(PAUSES)
    comma = COMMA.match(rest)
    if not is_reason and not BOUNDARY.match(rest):
        return _word_fault(rest, phrases) or "unreadable"
    if is_complement and comma and not is_reason and not SECOND_VERB.match(comma["rest"]):
        return _word_fault(rest, phrases) or "unreadable"
    breaks = [match.start() for match in (reason, CLAUSE.search(rest)) if match]
    main = rest[: min(breaks)] if breaks else rest
    if is_bare and DIGIT.search(rest[: reason.start()] if reason else rest):
        return "several"
    return _word_fault(main, phrases) or _word_fault(rest, phrases, ("conditional", "hedge"))


def _word_fault(
    text: str,
    phrases: Phrases,
    kinds: Sequence[str] = ("conditional", "negation", "hedge", "weak", "report"),
) -> ReplyFault | Literal[""]:
    """Return the first kind of words that a text holds."""
    for kind in kinds:
        if getattr(phrases, kind).search(text):
            return WORD_FAULTS[kind]
    return ""


def _is_quoted_alone(text: str, mention: Mention) -> bool:
    """Whether quotation marks stand directly around a mention."""
    before, after = text[: mention.start].rstrip()[-1:], text[mention.end :].lstrip(" .")[:1]
    return before in QUOTES and after in QUOTES and bool(before) and bool(after)


def _is_tag_question(later: str) -> bool:
    match = re.match(r"\W*([^.!?\n\uff1f]*)[?\uff1f]", later)
    return match is not None and len(match[1].split()) <= MAX_TAG_QUESTION

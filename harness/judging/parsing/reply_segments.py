"""Lines and sentences of replies, without markup, quotations and list numbers."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.answer_names import FORMATTING_TAGS, role
from harness.judging.parsing.phrases import languages_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from harness.judging.parsing.option_matching import OptionIndices
    from harness.judging.parsing.option_search import Mention

    LineReader = Callable[[str], tuple[OptionIndices, bool] | None]

MAX_LINES = 400  # maximum lines of a reply that are read as answers
MAX_ANSWER = 60  # maximum characters in a sentence that only contains an answer
MAX_QUOTE = 400  # maximum characters in a quotation
MAX_HEADING = 3  # maximum words in a heading for the next line
MASK = "\x01"
DIGIT = re.compile(r"\d")
MARKUP = re.compile(
    r"\*\*|(?<!\w)__|__(?!\w)|(?:`+|~{3,})[a-zA-Z]*\n|`|~{3,}|\\boxed\s*(?=\{)|\\(?:text|textbf|mathrm|mathbf)"
    r"\s*(?=\{)|\\[\[\]()]|\$|(?m:^[ \t]*#{1,6}[ \t]+)|(?<=\s)#{2,6}[ \t]*(?=[A-Za-z])"
    r"|(?m:^[ \t]*(?:-{3,}|={3,}|_{3,})[ \t]*$)"
    r"|(?<=[{\s])\{|[{}]|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)"
)
TAG = re.compile(r"<(?P<name>[A-Za-z][\w -]{0,30})>(?P<inner>[^<>]{1,200})</(?P=name)>")
FORMATTING = re.compile(rf"</?(?:{'|'.join(FORMATTING_TAGS)})>", re.IGNORECASE)
CONTRACTION = re.compile(r"(?<=\bis)n't\b|(?<=\bwas)n't\b")
QUOTED = re.compile(
    rf'"[^"\n]{{0,{MAX_QUOTE}}}"|\u201c[^\u201d\n]{{0,{MAX_QUOTE}}}\u201d'
    rf"|\u201e[^\u201c\u201d\n]{{0,{MAX_QUOTE}}}[\u201c\u201d]|\u00ab[^\u00bb\n]{{0,{MAX_QUOTE}}}\u00bb"
    rf"|\u300c[^\u300d\n]{{0,{MAX_QUOTE}}}\u300d|\u300e[^\u300f\n]{{0,{MAX_QUOTE}}}\u300f"
    rf"|(?<!\w)['\u2018][^'\u2018\u2019\n]{{0,{MAX_QUOTE}}}['\u2019](?!\w)|(?m:^[ \t]*>.*$)"
)
BRACKETED = re.compile(r"[(\[\uff08][^()\[\]\uff08\uff09\n]{0,200}[)\]\uff09]")
COMPARED = re.compile(r"\s*[<>=]{1,3}\s*")
END = re.compile(r"[.!?]+(?=[\"'\u201d\u2019)\]]*(?:\s|$))|[\u3002\uff01\uff1f]+|\n")
LOWER = re.compile(r"[\"'\u201d\u2019)\]]*[ \t]+[a-z\xe0-\xff]")
BULLET = re.compile(r"\s*(?:[-*\u2022+]|\d{1,2}[.)])\s+")
HEADING_END = re.compile(r"[:\uff1a]\s*$")
TERMINAL = re.compile(r"[.!?:;\u3002\uff01\uff1f\uff1a)\]\"'\u2026]\s*$")
NUMBERED = re.compile(
    r"^[ \t]*\(?(?P<number>\d{1,2})[.)][ \t]+(?=\S)|(?<=[ \t])\((?P<inline>\d{1,2})\)(?=\s)",
    re.MULTILINE,
)
WRAPPED = re.compile(r"\s*\n[ \t]*(?P<word>[a-z\xe0-\xff]+)(?=[ \t]+[^\s:])")


class ReplyLine(NamedTuple):
    """Line of a reply, with its position. ``reading`` is set if the line is an answer."""

    start: int
    end: int
    reading: OptionIndices | None
    has_lead: bool


class Sentence(NamedTuple):
    """Position of a sentence, which is foreign if its introduction is about other views."""

    start: int
    end: int
    is_foreign: bool


def plain(text: str) -> str:
    """Remove markup from a text, compose its characters and straighten apostrophes."""
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    if "<" in text:
        text = TAG.sub(_as_answer, FORMATTING.sub("", text))
    return CONTRACTION.sub(" not", MARKUP.sub("", text))


def _as_answer(tagged: re.Match[str]) -> str:
    """Put a tagged answer on a separate line, and return other tags unchanged."""
    is_answer = role(tagged["name"]) in {"answer", "score"}
    return f"\nAnswer: {tagged['inner'].strip()}\n" if is_answer else tagged[0]


def lines_of(text: str, read_line: LineReader) -> list[ReplyLine]:
    """Split a text into lines, parsing answers only in the last `MAX_LINES` lines."""
    lines, start = [], 0
    rows = text.split("\n")
    for i, row in enumerate(rows):
        stripped = row.strip()
        is_read = stripped and len(rows) - i <= MAX_LINES
        reading, has_lead = (read_line(stripped) if is_read else None) or (None, False)
        lines.append(ReplyLine(start, start + len(row), reading, has_lead))
        start += len(row) + 1
    return lines


def named_answers(
    bare: str, lines: Sequence[ReplyLine], read_line: LineReader
) -> set[OptionIndices]:
    """Return the answers to different criteria, as in "Grammar: 6" and "Style: 4"."""
    answers = set()
    for line in lines[-MAX_LINES:]:
        name, colon, value = bare[line.start : line.end].rpartition(":")
        if colon and len(value) <= MAX_ANSWER and len(name.split()) <= MAX_HEADING:
            answer = read_line(value.strip()) if line.reading is None and value.strip() else None
            if answer:
                answers.add(answer[0])
    return answers


def without_quotations(
    text: str, mentions: Sequence[Mention], lines: Sequence[ReplyLine], *, many: bool
) -> str:
    """Mask quotations and lists of all options in a text, keeping the text's length."""
    bare = QUOTED.sub(lambda match: _masked(match[0]), text)
    if not many:
        bare = BRACKETED.sub(
            lambda match: _masked(match[0]) if _names_several(match, mentions) else match[0], bare
        )
        for block in _blocks(lines, text):
            start, end = block[0].start, block[-1].end
            bare = bare[:start] + MASK * (end - start) + bare[end:]
    return bare


def without_numbering(bare: str, lines: Sequence[ReplyLine]) -> str:
    """Mask the numbers of list items that are not answers."""
    answers = {line.start for line in lines if line.reading}
    numbers = [match["number"] or match["inline"] for match in NUMBERED.finditer(bare)]
    if len(numbers) == 1 and numbers != ["1"]:  # "9. It is nearly perfect." is no list
        return bare
    return NUMBERED.sub(
        lambda match: match[0] if match.start() in answers else DIGIT.sub(MASK, match[0]), bare
    )


def _masked(text: str) -> str:
    return text[0] + MASK * (len(text) - 2) + text[-1] if len(text) > 1 else text


def _names_several(match: re.Match[str], mentions: Sequence[Mention]) -> bool:
    inside = [m for m in mentions if match.start() <= m.start < match.end()]
    is_compared = len(inside) == 2 and COMPARED.fullmatch(  # noqa: PLR2004 -- two options
        match.string, inside[0].end, inside[1].start
    )
    return len({m.answer for m in inside}) > 1 and not is_compared


def _blocks(lines: Sequence[ReplyLine], text: str) -> Iterator[list[ReplyLine]]:
    """Yield lists with one option per line that are followed by more text."""
    filled = [line for line in lines if text[line.start : line.end].strip()]
    block: list[ReplyLine] = []
    for line in filled:
        if line.reading is not None and not line.has_lead:
            block.append(line)
            continue
        if len({line.reading for line in block}) > 1:
            yield block
        block = []


def sentences_of(
    bare: str, lines: Sequence[ReplyLine], read_line: LineReader
) -> Iterator[Sentence]:
    """Yield sentences. An answer on a separate line belongs to the heading before it."""
    options = {line.start for line in lines if line.reading and not line.has_lead}
    leads = {line.start for line in lines if line.reading}
    start, intro, is_list, is_used = 0, "", False, False
    for match in (*END.finditer(bare), None):
        end = match.start() if match else len(bare)
        if match and LOWER.match(bare, match.end()):
            stop = bare.find("\n", match.end())
            rest = bare[match.end() : len(bare) if stop < 0 else stop].strip()
            answer = read_line(rest) if len(rest) <= MAX_ANSWER else None
            if answer is None or answer[1]:
                continue
        if match and match[0] == "\n" and _is_wrapped(bare, start, end, leads):
            continue
        if match and match[0] == "\n" and HEADING_END.search(bare, start, end):
            place = len(bare) - len(bare[end:].lstrip())
            if bare.rfind("\n", 0, place) + 1 in options:
                continue
        if line := bare[start:end].strip():
            is_item = bool(BULLET.match(bare[start:end] + " "))
            intro = "" if is_list and not is_item else intro
            is_list = is_list or is_item
            yield Sentence(start, end, is_foreign(intro))
            if HEADING_END.search(line):
                intro, is_list, is_used = line, False, False
            else:
                is_used = True
        if match and match[0] == "\n" and is_used and not is_list:
            intro = ""
        start = match.end() if match else end


def _is_wrapped(bare: str, start: int, end: int, answers: Container[int]) -> bool:
    """Return whether a sentence continues in lower case after a line break."""
    later = WRAPPED.match(bare, end)
    if later is None or later.start("word") in answers or TERMINAL.search(bare, start, end):
        return False
    return bool(bare[start:end].strip())


def start_of_material(bare: str, sentences: Sequence[Sentence]) -> int:
    """Return where a new question, example or conversation turn begins, or the text's end."""
    for sentence in sentences:
        text = bare[sentence.start : sentence.end]
        if any(phrases.material.match(text) for phrases in languages_of(text)):
            return sentence.start
    return len(bare) + 1


def is_foreign(intro: str) -> bool:
    """Return whether an introductory line announces others' words or the rated text."""
    return speaks_of_others(intro) or any(
        phrases.thing.search(intro) and not phrases.noun.search(intro)
        for phrases in languages_of(intro)
    )


def speaks_of_others(line: str) -> bool:
    """Return whether a line denies, reports or quotes something or sets a condition."""
    return bool(line.strip()) and any(
        pattern.search(line)
        for phrases in languages_of(line)
        for pattern in (phrases.negation, phrases.conditional, phrases.report, phrases.material)
    )

"""The verdict of a reply in parts: labelled lines, headings, tags in brackets and small tables.

Many judges answer in parts, each under a name: ``Verdict: B``, ``## Reasons``, ``[RESULT] 4``. What
a part is for is told by its name (`answer_names.role`), so the part that is the verdict is found
before any sentence is read, and what other parts say of the options doesn't count beside it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.answer_names import NameRole, role
from harness.judging.parsing.phrases import languages_of
from harness.judging.parsing.reply_segments import is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_LINES = 400  # of a reply in parts
MIN_SENTENCE = 4  # words
MAX_NAME = 6  # words of a name
MARKS = re.compile(r"\*\*|__|`")
LABELLED = re.compile(
    r"\s*(?:[-*\u2022]\s+|\d{1,2}[.)]\s+)?(?P<hash>#{1,6}\s*)?(?P<name>(?:[1-3](?:st|nd|rd)\b|[^\W\d_])[^\n:=|\uff1a\u3010\[\]]{0,50}?)"
    r"\s*(?:[-=]+>|[:=\uff1a\u2192])\s*(?P<value>.*)"
)
HEADED = re.compile(
    r"\s*(?:#{1,6}\s+(?:\d{1,2}[.)]\s+)?(?P<hash>[^\n]{1,60}?)|\*\*(?P<bold>[^*\n]{1,60})\*\*)[\s#]*[:\uff1a]?\s*"
)
BRACKETED = re.compile(
    r"\s*[\[\u3010](?P<name>[^\W\d_][^\[\]\n\u3010\u3011]{1,30})[\]\u3011]\s*[:\uff1a]?\s*(?P<value>.*)"
)
INLINE = re.compile(
    r"(?<=[.!?)])[ \t]+(?=\[[A-Z][A-Za-z ]{2,20}\][ \t:])|,[ \t]+(?=\w{3,20}[ \t]*=[ \t]*\w)"
    r"|(?<=:\w),[ \t]*(?=[A-Z]\w{2,20}:)"
)
ENDS = re.compile(r"\[(?:END|/)[^\[\]\n]{0,30}\]")
BEGINS = re.compile(r"(?i:begin|start)\s+")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
SCALE = re.compile(r"\s*\((?:[^()\n]{0,30}\d[^()\n]{0,30}|scores?\s+only)\)\s*\Z", re.IGNORECASE)
ROW = re.compile(r"\s*\|(?P<cells>[^\n]*)\|\s*")
OVERALL = re.compile(r"(?:overall|total|final)\b", re.IGNORECASE)  # beside parts for criteria
RULE = re.compile(r"[\s|:+-]+")


class Part(NamedTuple):
    """A part of a reply.

    Attributes
    ----------
    name : str
        Its heading or label; "" for what stands before the first.
    role : {"answer", "score", "aside", "other"}
        What the name says about it.
    lines : list of str
        What it says, the name left out.
    """

    name: str
    role: NameRole
    lines: list[str]

    @property
    def value(self) -> str:
        """Return what it says."""
        return "\n".join(self.lines).strip()


class VerdictPart(NamedTuple):
    """The verdict of a reply in parts, and what else it says.

    Attributes
    ----------
    verdict : str
        The parts named for a verdict, else those named for a score, as lines "Answer: ...".
    before, after : str
        What the other parts say, before the verdict and after it.
    others : list of str
        What the parts say whose names say nothing of their kind.
    """

    verdict: str
    before: str
    after: str
    others: list[str]


def verdict_part(body: str) -> VerdictPart | None:
    r"""Return the verdict of a reply in parts; None for other replies.

    Examples
    --------
    >>> part = verdict_part("### Analysis\nB is vague.\n### Verdict\nA\n### Why\nB repeats it.")
    >>> part.verdict, part.before, part.after
    ('Answer: A', 'Analysis: B is vague.', 'Why: B repeats it.')
    >>> verdict_part("A is better, as B is vague.") is None
    True
    """
    if ":" not in body and not any(sign in body for sign in "#[=*|\uff1a\u3010"):
        return None
    parts = list(parts_of(body))
    for wanted in ("answer", "score"):
        chosen = [part for part in parts if part.role == wanted and part.value]
        if chosen:
            break
    else:
        return None
    rest = [part for part in parts if part not in chosen]
    if any(_is_material(part) for part in rest) or any(
        _introduces(before) and part in chosen for before, part in pairwise(parts)
    ):
        return None
    first = parts.index(chosen[0])
    if any(is_foreign(f"{part.name}:") for part in parts[:first] if part.role == "aside"):
        return None
    return VerdictPart(
        "\n".join(f"Answer: {part.value}" for part in chosen),
        "\n".join(_told(part) for part in parts[:first]).strip(),
        "\n".join(_told(part) for part in parts[first:] if part not in chosen).strip(),
        [
            part.value
            for part in rest
            if part.name and part.role == "other" and not OVERALL.match(chosen[0].name)
        ],
    )


def _told(part: Part) -> str:
    """Return what a part says, with the name of one that is no sentence: "Rejected: B"."""
    is_sentence = len(part.value.split()) >= MIN_SENTENCE
    return part.value if is_sentence or not part.name else f"{part.name}: {part.value}"


def _is_material(part: Part) -> bool:
    """Return whether a part is a text that is rated, an example or a turn of a conversation."""
    return any(
        phrases.material.match(sentence)
        for line in (f"{part.name}:", *part.lines)
        for sentence in SENTENCE.split(line)
        for phrases in languages_of(line)
    )


def _introduces(part: Part) -> bool:
    """Return whether a part ends in a line that speaks of the next: "The comment asks for:"."""
    is_label = bool(part.lines) and part.role in {"aside", "other"}  # a heading has no lines
    return is_label and (part.value or ":")[-1] in ":\uff1a"


def parts_of(body: str) -> Iterator[Part]:
    """Yield the parts of a reply, with what stands before the first of them."""
    part = Part("", "other", [])
    for line in _without_tables(INLINE.sub("\n", ENDS.sub("", body)).split("\n")[-MAX_LINES:]):
        begun = _begun(line, part)
        if begun is None:
            part.lines.append(line)
            continue
        if part.name or part.value:
            yield part
        part = begun
    yield part


def _begun(line: str, before: Part) -> Part | None:
    """Return the part that begins with a line; None for a line of the part before."""
    if not line.strip():
        return None
    is_awaited = before.role in {"answer", "score"} and not before.value
    if (headed := HEADED.fullmatch(line)) and not LABELLED.fullmatch(
        MARKS.sub("", line).rstrip(": ")
    ):
        name = (headed["hash"] or headed["bold"]).strip(" *_:\uff1a")
        kind = _role(name)
        return Part(name, kind, []) if not is_awaited or kind == "aside" else None
    plain = MARKS.sub("", line)
    is_marked = line != plain
    if labelled := BRACKETED.fullmatch(plain) or LABELLED.fullmatch(plain):
        name, value = labelled["name"], labelled["value"]
        kind = _role(name)
        is_next = bool(before.value) and before.role in {"answer", "score"}
        if kind != "other" or is_marked or is_next or (not value and not is_awaited):
            return Part(name, kind, [value])
    return None


def _role(name: str) -> NameRole:
    name = SCALE.sub("", BEGINS.sub("", name, count=1).strip(" *_"))
    return role(name) if len(name.split()) <= MAX_NAME else "other"


def _without_tables(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines with those of small tables as labelled lines, and without larger tables."""
    table: list[list[str]] = []
    for line in (*lines, ""):
        if row := ROW.fullmatch(line):
            if not RULE.fullmatch(row["cells"]):
                table.append([cell.strip(" *_") for cell in row["cells"].split("|")])
            continue
        yield from _labelled_cells(table)
        table = []
        yield line


def _labelled_cells(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the cells of a table with one row, or with two columns, each with its name."""
    if len(table) == 2:  # noqa: PLR2004 -- a head and a row
        cells = list(zip(*table, strict=False))
        named = [cell for cell in cells if _role(cell[0]) in {"answer", "score"}]
        for name, cell in named or cells:
            yield f"{name}: {cell}"
    elif table and all(len(row) == 2 for row in table):  # noqa: PLR2004 -- a name and a value
        for name, cell in table:
            yield f"{name}: {cell}"
    elif len(table) == 1:
        yield " | ".join(table[0])

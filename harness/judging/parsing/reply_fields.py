"""Verdicts in structured replies with labels, headings, bracketed tags or small tables.

Many judges answer in named parts: ``Verdict: B``, ``## Reasons``, ``[RESULT] 4``. The name shows
the role of a part (`answer_names.role`), so the verdict is found before any sentence is read, and
mentions of options in other parts do not count.
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

MAX_LINES = 400  # maximum lines in a reply in parts
MIN_SENTENCE = 4  # minimum words in a sentence
MAX_NAME = 6  # maximum words in a name
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
OVERALL = re.compile(r"(?:overall|total|final)\b", re.IGNORECASE)  # next to criteria
RULE = re.compile(r"[\s|:+-]+")


class Part(NamedTuple):
    """Named part of a reply.

    Attributes
    ----------
    name : str
        Its heading or label; "" for the text before the first one.
    role : {"answer", "score", "aside", "other"}
        Role of the part according to its name.
    lines : list of str
        Lines of the part, without the name.
    """

    name: str
    role: NameRole
    lines: list[str]

    @property
    def value(self) -> str:
        """Return the part's text."""
        return "\n".join(self.lines).strip()


class VerdictPart(NamedTuple):
    """Verdict in a reply with several parts, and the text of the other parts.

    Attributes
    ----------
    verdict : str
        Parts with a name for verdicts, else for scores, as lines "Answer: ...".
    before, after : str
        Text of the other parts, before the verdict and after it.
    others : list of str
        Text of the parts whose names do not show a role.
    """

    verdict: str
    before: str
    after: str
    others: list[str]


def verdict_part(body: str) -> VerdictPart | None:
    r"""Return the verdict part of a reply, or None if the reply has no such part.

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
    """Return a part's text, preceded by its name if the text is short, as in "Rejected: B"."""
    is_sentence = len(part.value.split()) >= MIN_SENTENCE
    return part.value if is_sentence or not part.name else f"{part.name}: {part.value}"


def _is_material(part: Part) -> bool:
    """Return whether a part quotes a rated text, an example or a turn of a conversation."""
    return any(
        phrases.material.match(sentence)
        for line in (f"{part.name}:", *part.lines)
        for sentence in SENTENCE.split(line)
        for phrases in languages_of(line)
    )


def _introduces(part: Part) -> bool:
    """Return whether a part ends by introducing the next, as in "The comment asks for:"."""
    is_label = bool(part.lines) and part.role in {"aside", "other"}  # a heading has no lines
    return is_label and (part.value or ":")[-1] in ":\uff1a"


def parts_of(body: str) -> Iterator[Part]:
    """Yield the parts of a reply, including the text before the first name."""
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
    """Return the part that a line begins, or None if the line continues the previous part."""
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
    """Convert small tables to labelled lines, drop larger tables, and yield all lines."""
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
    """Yield a labelled line for each cell in a table with one row or with two columns."""
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

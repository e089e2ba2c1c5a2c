"""Fit texts into a number of lines, and count what is omitted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.files.plain_text import counted
from harness.report.formatting import listed
from harness.report.text_table import draw_table, paragraph

if TYPE_CHECKING:
    from collections.abc import Sequence

PartKind: TypeAlias = Literal["", "note", "example", "sentence", "step", "table", "summary"]
LEFT_OUT: tuple[PartKind, ...] = (  # least important first
    "note",
    "example",
    "sentence",
    "step",
    "table",
)


@dataclass(frozen=True, slots=True, eq=False)
class TextPart:
    """Part of a text.

    Attributes
    ----------
    text : str
        The lines.
    kind : str
        Whether it can be left out, see `LEFT_OUT`; other kinds stay.
    table : ShortTable or None
        The table that the lines show, if some of its rows can be left out.
    """

    text: str
    kind: PartKind = ""
    table: ShortTable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ShortTable:
    """Table from which rows at the end can be omitted.

    Attributes
    ----------
    heads, rows : sequence
        The columns' heads, and the cells of each row.
    width : int
        Columns of the screen.
    noun : str
        What a row is called where omitted ones are counted, such as "judge".
    optional : sequence of int
        Positions of the rows that can be left out, the last one first.
    title : str
        Lines directly above the table.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    width: int
    noun: str
    optional: Sequence[int]
    title: str = ""

    def part(self, n_cut: int = 0) -> TextPart:
        """Return title and table after a blank line, without the last ``n_cut`` optional rows."""
        cut = {*self.optional[len(self.optional) - n_cut :]}
        rows = [row for i, row in enumerate(self.rows) if i not in cut]
        drawn = draw_table(self.heads, rows, width=self.width)
        title = f"{self.title}\n" if self.title else ""
        return TextPart(f"\n{title}{drawn}", "", self)


def joined(parts: Sequence[TextPart]) -> str:
    """Join the parts to one text."""
    return "\n".join(part.text for part in parts)


def fitted(parts: Sequence[TextPart], most_lines: int) -> str:
    """Return the text within ``most_lines``, with a line that counts what is omitted.

    The parts of `LEFT_OUT` go first, and then the rows of tables, from the last table to the first.
    The line is above the summary, or at the end. A text is longer if what must stay is.
    """
    kept, left_out = list(parts), Counter[str]()
    for kind in LEFT_OUT:
        _leave_out(kept, kind, left_out, most_lines)
    for i in reversed(range(len(kept))):
        _cut_rows(kept, i, left_out, most_lines)
    return joined(_with_pointer(kept, left_out))


def _leave_out(
    parts: list[TextPart], kind: PartKind, left_out: Counter[str], most_lines: int
) -> None:
    """Remove parts of one kind, starting with the last, until the text fits."""
    for part in [part for part in reversed(parts) if part.kind == kind]:
        if _excess(parts, left_out, most_lines) <= 0:
            break
        parts.remove(part)
        left_out[f"more {kind}"] += 1


def _cut_rows(parts: list[TextPart], place: int, left_out: Counter[str], most_lines: int) -> None:
    """Omit rows from the table at ``place`` until the text fits."""
    table, n_cut = parts[place].table, 0
    if table is None:
        return
    noun = f"more {table.noun}"
    while n_cut < len(table.optional) and (excess := _excess(parts, left_out, most_lines)) > 0:
        n_cut = min(n_cut + excess, len(table.optional))
        parts[place] = table.part(n_cut)
        left_out[noun] = n_cut


def _excess(parts: Sequence[TextPart], left_out: Counter[str], most_lines: int) -> int:
    """Return how many lines exceed the maximum."""
    return len(joined(_with_pointer(parts, left_out)).split("\n")) - most_lines


def _with_pointer(parts: Sequence[TextPart], left_out: Counter[str]) -> list[TextPart]:
    """If parts are omitted, insert a line above the summary that counts them."""
    counts = [counted([n], noun) for noun, n in left_out.items() if n]
    if not counts:
        return [*parts]
    line = TextPart(paragraph(f"Add --details to see {listed(counts)}."))
    place = next((i for i, part in enumerate(parts) if part.kind == "summary"), len(parts))
    return [*parts[:place], line, *parts[place:]]

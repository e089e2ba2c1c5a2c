"""Tables of text that keep to a width: names are wrapped at their joints, numbers stay whole."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 80
GAP = "  "
TOWER = 2  # lines at most of a cell that others stand to the right of
PIECE = re.compile(  # an interval, a rank with its range, a part of a name, a blank
    r"[^ ]+ \[[^]]*\]|\d+ \(\d+-\d+\)|[^ _/:@-]*[_/:@-]+|[^ _/:@-]+| +"
)
NUMBER = re.compile(r"[^ ]+ \[[^]]*\]|\d+ \(\d+-\d+\)|[\d.]+%?")


def columns(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = WIDTH
) -> list[str]:
    """Draw a table as lines.

    What is too wide gives way in this order: heads over narrower cells, the widest column as far
    as its longest piece, then as its longest number, then any. A cell that would then take more
    than two lines runs on over the columns to its right, whose cells stand below it.

    Parameters
    ----------
    heads : sequence of str
        One for each column.
    rows : sequence of sequence of str
        Cells in the order of the heads. A cell's indentation is kept where it is wrapped.
    width : int, optional
        Columns of the screen that the lines keep to.
    """
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(heads)
    both = [(head, *column) for head, column in zip(heads, cells, strict=True)]
    widths = [max(map(measure, column)) for column in both]
    room = width - len(GAP) * (len(heads) - 1)
    least = [max(map(_longest, column)) for column in both]
    under_heads = [max(map(measure, column), default=0) for column in cells]
    numbers = [max(map(_longest_number, column)) for column in both]
    for floors in (list(map(max, least, under_heads)), least, numbers, [1] * len(heads)):
        widths = _narrowed(widths, floors, room)
    return [line for row in (heads, *rows) for line in _lines(row, widths)]


def _narrowed(widths: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """Narrow the widest column that is above its floor, one by one, until all fit."""
    found = list(widths)
    while sum(found) > room:
        wide = [i for i, floor in enumerate(floors) if found[i] > floor]
        if not wide:
            break
        found[max(wide, key=found.__getitem__)] -= 1
    return found


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Draw a row; a cell that would be a tower runs on to the right, above the cells after it."""
    wrapped = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
    towers = (i for i, lines in enumerate(wrapped[:-1]) if len(lines) > TOWER)
    i = next(towers, None)
    if i is None:
        return _level(wrapped, widths)
    room = sum(widths[i:]) + len(GAP) * (len(widths) - i - 1)
    above = _level([*wrapped[:i], wrap(row[i], room)], [*widths[:i], room])
    return above + _lines([*[""] * (i + 1), *row[i + 1 :]], widths)


def _level(wrapped: Sequence[list[str]], widths: Sequence[int]) -> list[str]:
    """Put the lines of cells side by side."""
    height = max(map(len, wrapped))
    level = [[*lines, *[""] * (height - len(lines))] for lines in wrapped]
    return [
        GAP.join(_padded(text, width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*level, strict=True)
    ]


def wrap(text: str, width: int) -> list[str]:
    """Break a text between its pieces, and a piece that is wider than a line anywhere.

    The indentation is repeated; what a terminal would act on is blank.
    """
    shown = "".join(character if character.isprintable() else " " for character in text)
    indent = _indent(shown)
    lines = [indent]
    for piece in PIECE.findall(shown.strip(" ")):
        if lines[-1] != indent and measure(lines[-1] + piece.rstrip(" ")) > width:
            lines.append(indent)
        for character in piece.lstrip(" ") if lines[-1] == indent else piece:
            if measure(lines[-1] + character) > width and character != " ":
                lines.append(indent)
            lines[-1] += character
    return [line.rstrip(" ") for line in lines]


def measure(text: str) -> int:
    """Return how many columns of a screen a text takes."""
    return sum(_of_character(character) for character in text)


def _of_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _longest(text: str, like: re.Pattern[str] = PIECE) -> int:
    """Return the columns that the indentation and the longest piece of a text take."""
    found = (piece.rstrip(" ") for piece in PIECE.findall(text.strip(" ")))
    pieces = (measure(piece) for piece in found if like.fullmatch(piece))
    return len(_indent(text)) + max(pieces, default=0)


def _longest_number(text: str) -> int:
    """Return the columns that the indentation and the longest number of a text take, at least 1."""
    return max(_longest(text, NUMBER), 1)


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" "))]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - measure(text))

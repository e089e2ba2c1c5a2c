"""Draw tables and paragraphs for a terminal with rich."""

from __future__ import annotations

import re
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from harness.files.plain_text import SCREEN_WIDTH, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
NUMBER = re.compile(r"\S+ \[[^]]*\]|\d+ \(\d+-\d+\)")  # with an interval, a rank with its range
CODE = re.compile("`[^`]+`")
UNBROKEN = "\0"  # replaces a blank that can't end a line
WORDS = TextWrapper(width=SCREEN_WIDTH, break_long_words=False, break_on_hyphens=False)


def draw_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int = SCREEN_WIDTH,
    styled: bool = False,
) -> str:
    """Return a table as text.

    Texts of several words wrap between words. Names, numbers and their intervals are never broken
    or cut, so a table with a longer one is wider than ``width``.

    Parameters
    ----------
    heads : sequence of str
        One for each column.
    rows : sequence of sequence of str
        Cells in the order of the heads. Control characters are replaced by pictures.
    width : int, optional
        Columns of the screen that the lines keep to.
    styled : bool, optional
        Whether heads are bold.
    """
    from rich.cells import cell_len  # noqa: PLC0415 -- takes 40 ms, for tables alone
    from rich.console import Console  # noqa: PLC0415 -- as above
    from rich.table import Table  # noqa: PLC0415 -- as above
    from rich.text import Text  # noqa: PLC0415 -- as above

    cells = [[visible(cell) for cell in row] for row in rows]
    columns = [[row[i] for row in cells] for i in range(len(heads))]
    floors = [
        max(map(_longest_piece, (head, *column)))
        for head, column in zip(heads, columns, strict=True)
    ]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    bodies = [max(map(cell_len, column), default=0) for column in columns]
    naturals = [max(cell_len(head), body) for head, body in zip(heads, bodies, strict=True)]
    for head, column_width in zip(
        heads, _fitted(naturals, bodies, floors, width - GAP * (len(heads) - 1)), strict=True
    ):
        table.add_column(Text(head), width=column_width)
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console(
        width=max(width, sum(floors) + GAP * (len(heads) - 1)),
        force_terminal=styled,
        color_system="standard" if styled else None,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(table, crop=False, no_wrap=True, overflow="ignore")
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _fitted(
    naturals: Sequence[int], bodies: Sequence[int], floors: Sequence[int], room: int
) -> list[int]:
    """Narrow columns until they fit. Wrap heads first, then the widest texts."""
    widths = list(naturals)
    for least in ([max(pair) for pair in zip(bodies, floors, strict=True)], floors):
        while sum(widths) > room:
            slack = [i for i, width in enumerate(widths) if width > least[i]]
            if not slack:
                break
            widths[max(slack, key=lambda i: widths[i])] -= 1
    return widths


def paragraph(text: str) -> str:
    """Wrap a text to 80 columns. Never break names, or commands in backticks."""
    joined = CODE.sub(lambda code: code[0].replace(" ", UNBROKEN), visible(text))
    return WORDS.fill(joined).replace(UNBROKEN, " ")


def _is_text(cell: str) -> bool:
    """Return whether a cell can be wrapped: it has several words and is not just a number."""
    return " " in cell.strip() and not NUMBER.fullmatch(cell.strip())


def _longest_piece(text: str) -> int:
    """Return the width of a cell's longest unbreakable part, in columns."""
    from rich.cells import cell_len  # noqa: PLC0415 -- for tables alone

    pieces = text.split() if _is_text(text) else [text]
    return max(map(cell_len, pieces), default=0)

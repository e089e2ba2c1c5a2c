"""Other tools' formats: the interface for a reader, and the registered readers.

The readers are in `harness.curation.formats`; without curation, every file is read as a plain
table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from harness.loading import has_edge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.files.tables.checks import Row
    from harness.tasks.item import ClosedScale

READERS = "harness.curation.formats"
N_OPENING = 5  # rows by which a table is recognised


@dataclass(slots=True)
class Reading:
    """Settings for reading the rows in a recognised file. A plain table has none.

    Attributes
    ----------
    name : str
        Description of the file, for a note.
    columns : dict of str to sequence of str
        Columns by role, as in a recipe.
    scale : str or None
        Scale of the answers.
    options : tuple of str
        Labels that are options, in order.
    lists : str or None
        ``ratings`` if a list in a cell contains the ratings of several raters.
    aside : set of str
        Columns about an item that judges never see, such as metadata and expected answers.
    unclear : tuple of str
        Raters that may be people or models according to the format.
    notes : list of str
        Notes for the user about the import, such as rows that are left out.
    ragged : list of (int, str)
        Line and problem of each row that is left out because it has too few or too many cells.
    """

    name: str = ""
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    scale: ClosedScale | None = None
    options: tuple[str, ...] = ()
    lists: Literal["ratings"] | None = None
    aside: set[str] = field(default_factory=set)
    unclear: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    ragged: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """A recognisable file format.

    Attributes
    ----------
    name : str
        Description for a note: "an export of Label Studio".
    recognises : callable
        Returns whether a JSON file's parsed content, or a table's first rows, have the format.
    rows : callable
        Converts the content, or all rows, to rows of ratings, and completes the `Reading`.
    """

    name: str
    recognises: Callable[[Any], bool]
    rows: Callable[[Any, Reading], Iterable[Row]]


def formats() -> Sequence[Format]:
    """Return the registered formats, with the most specific ones first."""
    return import_module(READERS).FORMATS if has_edge("curation") else ()


def format_of(content: object) -> Format | None:
    """Return the format of a JSON file's content or a table's first rows, or None if unknown."""
    return next((known for known in formats() if known.recognises(content)), None)


def first_row(content: object) -> Mapping[str, Any]:
    """Return the first row in a list of rows, or an empty row if there is none."""
    first = content[0] if isinstance(content, list) and content else None
    return first if isinstance(first, dict) else {}

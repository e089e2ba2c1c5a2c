"""Named formats of other tools: how to register a reader, and the registered ones.

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
    """How to read the rows of a recognised file, or empty for a plain table.

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
    """

    name: str = ""
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    scale: ClosedScale | None = None
    options: tuple[str, ...] = ()
    lists: Literal["ratings"] | None = None
    aside: set[str] = field(default_factory=set)
    unclear: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Format:
    """A recognisable file format.

    Attributes
    ----------
    name : str
        Description for a note: "an export of Label Studio".
    recognises : callable
        Returns whether the parsed content of a JSON file, or the first rows of a table, are in the
        format.
    rows : callable
        Converts the content, or all rows, to rows of ratings, and completes the `Reading`.
    """

    name: str
    recognises: Callable[[Any], bool]
    rows: Callable[[Any, Reading], Iterable[Row]]


def formats() -> Sequence[Format]:
    """Return the registered formats, the most specific first."""
    return import_module(READERS).FORMATS if has_edge("curation") else ()


def format_of(content: object) -> Format | None:
    """Return the format of a JSON content or of a table's first rows."""
    return next((known for known in formats() if known.recognises(content)), None)


def first_row(content: object) -> Mapping[str, Any]:
    """Return the first row of a list of rows, or an empty one if there is none."""
    first = content[0] if isinstance(content, list) and content else None
    return first if isinstance(first, dict) else {}

"""Entries from readers of other tools' files, and the selection of entries to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.files.tables.checks import PlaceError, short

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from harness.judging.parsing.grammar import Outcome

ID_COLUMNS = ("item", "id")
N_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A verdict in another tool's file.

    Attributes
    ----------
    line : int
        Line in the file, or number of the entry if the file has no lines.
    item : str
        Name of the item; "" if there is none.
    source : str
        Origin of the verdict: a column, a scorer, a provider, a model; "" if unknown.
    judge : str
        Name of the judge, unless the user gives a different one; "" for the source's name.
    value : object
        The verdict, unmatched; None if there is none.
    outcome : str or None
        Reason for a missing value, if the file states it.
    sample : int
        Number of the repeat, from 0.
    elicitation : str
        Elicitation in the file; "" if unknown.
    optional : bool
        Whether the entry is only read if the user names its source.
    """

    line: int
    item: str
    source: str
    judge: str = ""
    value: object = None
    outcome: Outcome | None = None
    sample: int = 0
    elicitation: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of the entries to read from a file.

    Attributes
    ----------
    judges : dict of str to str
        Judge's name by source, "" for the name in the file. If empty, every source that isn't
        optional is read.
    item_id : str
        Column or variable that names the item; for a batch, the pattern of ``custom_id``.
    rename : dict of str to str
        Option by value, for values that are neither keys nor labels.
    elicitation : str
        Elicitation if the file has none: ``forced_choice`` or ``response_set``.
    """

    judges: Mapping[str, str] = field(default_factory=dict)
    item_id: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    elicitation: str = "forced_choice"


def id_column(names: Collection[str], selection: Selection) -> str:
    """Return the column that names the item."""
    candidates = [selection.item_id] if selection.item_id else ID_COLUMNS
    for name in candidates:
        if name in names:
            return name
    wanted = " or ".join(map(short, candidates))
    raise PlaceError(f"found no column {wanted} ({listed(names)}). Name the items with --id.")


def listed(names: Collection[str]) -> str:
    """List the first names of columns or sources."""
    shown = [short(name) for name in list(names)[:N_SHOWN]]
    return f"found {', '.join(shown) or 'none'}{', ...' if len(names) > N_SHOWN else ''}"


def content_text(content: object) -> str | None:
    """Return a message's text, from a text or a list of parts with texts."""
    if isinstance(content, str) or content is None:
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))

"""Entries in other tools' files, and the selection of entries to read."""

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
        Line in the file, or the entry's number if the file has no lines.
    item : str
        Id of the item, or "" if there is none.
    source : str
        Where the verdict comes from: a column, a scorer, a provider or a model. "" if unknown.
    judge : str
        Judge's name, which the user can override. "" for the source's name.
    value : object
        The verdict as the file contains it, or None if there is none.
    outcome : str or None
        Outcome for a missing value, if the file states it.
    sample : int
        Number of the repeat, from 0.
    elicitation : str
        Elicitation in the file, or "" if unknown.
    optional : bool
        Whether the entry is read only if the user names its source.
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
        Maps each source to read to the judge's name, or to "" for the name in the file. If empty,
        every source that isn't optional is read.
    item_id : str
        Column or variable with the item's id. For a batch, the pattern of ``custom_id``.
    rename : dict of str to str
        Maps values that are neither keys nor labels to options.
    elicitation : str
        Elicitation if the file states none: ``forced_choice`` or ``response_set``.
    """

    judges: Mapping[str, str] = field(default_factory=dict)
    item_id: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    elicitation: str = "forced_choice"


def id_column(names: Collection[str], selection: Selection) -> str:
    """Return the column with the item's id."""
    candidates = [selection.item_id] if selection.item_id else ID_COLUMNS
    for name in candidates:
        if name in names:
            return name
    wanted = " or ".join(map(short, candidates))
    raise PlaceError(f"found no column {wanted} ({listed(names)}). Name the items with --id.")


def listed(names: Collection[str]) -> str:
    """List the first columns or sources, for a message."""
    shown = [short(name) for name in list(names)[:N_SHOWN]]
    return f"found {', '.join(shown) or 'none'}{', ...' if len(names) > N_SHOWN else ''}"


def content_text(content: object) -> str | None:
    """Return the text in a message's content, which is a text or a list of parts."""
    if isinstance(content, str) or content is None:
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))

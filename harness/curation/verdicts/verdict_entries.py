"""Entries that readers of other tools' files yield, and what to read of these files."""

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
    """A verdict as a file of another tool holds it.

    Attributes
    ----------
    line : int
        Line of the file, or number of the entry where it has no lines.
    item : str
        Name of the item; "" if there is none.
    source : str
        Where the verdict stands: a column, a scorer, a provider, a model; "" if unknown.
    judge : str
        Name of the judge, unless the user gives another; "" for that of the source.
    value : object
        The verdict, unmatched; None if there is none.
    outcome : str or None
        Why there is no value, if the file says so.
    sample : int
        Number of the repeat, from 0.
    elicitation : str
        As the file says; "" if it does not.
    optional : bool
        Whether it is read only if the user names its source.
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
    """What to read of a file.

    Attributes
    ----------
    judges : dict of str to str
        Name of the judge by source, "" for the name in the file; empty: every source that is not
        optional.
    item_id : str
        Column or variable that names the item; of a batch, the pattern of ``custom_id``.
    rename : dict of str to str
        Option by value, for values that are neither keys nor labels.
    elicitation : str
        Where the file does not say: ``forced_choice`` or ``response_set``.
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
    raise PlaceError(f"nothing is called {wanted} ({listed(names)}). Name the item by --id.")


def listed(names: Collection[str]) -> str:
    """Write the first names of columns or sources."""
    shown = [short(name) for name in list(names)[:N_SHOWN]]
    return f"found {', '.join(shown) or 'none'}{', ...' if len(names) > N_SHOWN else ''}"


def content_text(content: object) -> str | None:
    """Return the text of a message: a text, or a list of parts with texts."""
    if isinstance(content, str) or content is None:
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))

"""Response sets in one cell: labels joined by a separator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FEW_LABELS = 20
RARE_MARKS = (";", "|", "\n")  # separators that are rare in single labels
JOINS = (*RARE_MARKS, ",", "+", "/", "&")


def separator_of(names: Sequence[str]) -> str:
    """Return the separator that divides names into other labels or recurring parts, or "".

    All parts must be labels or recur. For a rare separator, one is enough.
    """
    for mark in JOINS:
        joined = [name for name in names if mark in name.strip(mark)]
        parts = [part.strip().casefold() for name in joined for part in name.split(mark)]
        single = {name.casefold() for name in names if name not in joined}
        known = [part in single or parts.count(part) > 1 for part in parts]
        recurring = len(joined) > 1 and all(known)
        rare = mark in RARE_MARKS and any(known)
        if joined and all(parts) and (set(parts) <= single or recurring or rare):
            return mark
    return ""


def joins_labels(values: Sequence[str]) -> bool:
    """Return whether texts join a few labels with a separator, and labels recur in other texts."""
    for mark in JOINS:
        sets = [[part.strip() for part in value.split(mark)] for value in values]
        uses = Counter(part for parts in sets for part in parts)
        several = sum(len(parts) > 1 for parts in sets)
        if several and all(uses) and len(uses) <= FEW_LABELS and min(uses.values()) > 1:
            return 2 * several >= len(values)
    return False

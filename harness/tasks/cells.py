"""Single cells of a task's tables: as text, as the name of something, quoted in a message."""

from __future__ import annotations

import json

from harness.errors import TaskError

MAX_ID_CHARS = 256
SHOWN_CHARS = 80


def as_text(value: object) -> str:
    """Write a cell as text: nothing as "", true as "true", lists and objects as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def short(value: object) -> str:
    """Quote a cell, cut so that a message stays on its line."""
    text = as_text(value)
    return repr(text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "...")


def identifier(value: object, column: str, where: str) -> str:
    """Read the name of an item, a rater, a group or a criterion.

    Raises
    ------
    TaskError
        If it is empty, too long, has spaces around it or cannot be printed.
    """
    text = as_text(value)
    if not text or len(text) > MAX_ID_CHARS or text != text.strip() or not text.isprintable():
        raise TaskError(
            f"{where}: {column}: found {short(text)}; write 1 to {MAX_ID_CHARS} printable "
            "characters without spaces around them."
        )
    return text

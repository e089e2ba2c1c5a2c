"""Counts with nouns, blank texts, and visible forms of control characters for any output."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCREEN_WIDTH, SCREEN_LINES = 80, 25  # that a command prints by default
DELETE = 0x7F
N_PICTURES = 0x20
_OTHERS = (  # C1, marks of direction and of width, halves of surrogate pairs, tags
    "\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
CONTROL = re.compile(f"[\0-\x1f{_OTHERS}]")
CONTROL_IN_LINES = re.compile(f"[\0-\t\x0b-\x1f{_OTHERS}]")  # everything except line breaks
_UNSEEN = (  # with spaces and _OTHERS: Unicode's Default_Ignorable_Code_Point, and blank braille
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff"
)
SEEN = re.compile(f"[^\\s\0-\x1f{_OTHERS}{_UNSEEN}]|[\ud800-\udfff]")  # half a pair shows as a box


def is_blank(text: str) -> bool:
    r"""Return whether a text has no visible characters.

    Examples
    --------
    >>> is_blank(" \u200b\xa0"), is_blank("no")
    (True, False)
    """
    return SEEN.search(text) is None


def counted(counts: Iterable[int], noun: str = "item") -> str:
    """Format a count with its noun, or the lowest and highest of several counts.

    Examples
    --------
    >>> counted([1], "rater"), counted([4, 3, 4], "reply")
    ('1 rater', '3 to 4 replies')
    """
    numbers = set(counts)
    if max(numbers, default=0) == 1:
        return f"{reach(numbers)} {noun}"
    several = f"{noun[:-1]}ies" if noun.endswith("ply") else f"{noun}s"
    return f"{reach(numbers)} {several}"


def reach(counts: Iterable[int]) -> str:
    """Format the range of counts: "77 to 100", or "90" if all are equal."""
    ends = sorted(set(counts)) or [0]
    return " to ".join(map(str, dict.fromkeys((ends[0], ends[-1]))))


def visible(text: str) -> str:
    r"""Put a text on one line by replacing control characters with Unicode control pictures.

    Examples
    --------
    >>> visible("a\x1b[31m\nb")
    'a␛[31m␊b'
    """
    return CONTROL.sub(picture, text)


def visible_lines(text: str) -> str:
    """Replace each control character except line breaks with its control picture."""
    return CONTROL_IN_LINES.sub(picture, text)


def picture(control: re.Match[str]) -> str:
    """Return a control character's Unicode control picture, or U+FFFD if it has none."""
    code = ord(control[0])
    if code == DELETE:
        return "\u2421"
    return chr(0x2400 + code) if code < N_PICTURES else "\ufffd"


def escaped_json(text: str) -> str:
    """Escape the control characters in a JSON text except the line breaks between its values."""
    return CONTROL_IN_LINES.sub(_escape, text)


def _escape(control: re.Match[str]) -> str:
    return json.dumps(control[0])[1:-1]

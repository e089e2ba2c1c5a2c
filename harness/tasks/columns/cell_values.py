"""Cells of other programs' tables: labels, names, dates, counts and conversations."""

from __future__ import annotations

import ast
import json
import re
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from harness.files.tables import parse_json
from harness.files.tables.checks import as_text, looks_like_label
from harness.tasks.columns.column_words import DATE_WORDS, LABELS, MONTHS, RATERS, contains_word
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MISSING = frozenset({"", "nan", "NaN", "null", "NULL", "<NA>", "None", "NaT"})
WHOLE = re.compile(r"-?\d+\.0+")
DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{4}-\d{2})"
    r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"\s*(?:[AaPp]\.?[Mm]\.?|Z|UTC|[+-]\d{2}:?\d{2})?(?:\s*(?:GMT|UTC)(?:[+-]\d{1,2})?)?)?"
)
CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?")
DATE_TOKENS = re.compile(r"[^\W\d_]+|\d[\d:.]*")
MAX_DATE_CHARS = 40
DECIMAL_COMMA = re.compile(r"(-?\d+),(\d+)", re.ASCII)
MAX_LITERAL_CHARS = 100_000
N_NEAREST, N_COMPARED = 3, 1000  # names that a message lists for one that is absent, and looks at


def text_of(value: object) -> str:
    """Write a cell as text without spaces around it. Missing values become ""."""
    text = as_text(value).strip()
    return "" if text in MISSING else text


def name_of(value: object) -> str:
    r"""Put a name on one line and remove unprintable characters.

    Examples
    --------
    >>> name_of(" Rater 1\n(Anna)")
    'Rater 1 (Anna)'
    """
    text = text_of(value)
    if text.isprintable():
        return text
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def folded_name(text: str) -> str:
    """Normalize the case and blanks in a name.

    Examples
    --------
    >>> folded_name(" Anna  B."), folded_name("anna b.")
    ('anna b.', 'anna b.')
    """
    return " ".join(name_of(text).split()).casefold()


def nearest(name: str, names: Iterable[str]) -> str:
    """List the names that are most similar to a given name, for a message. Long names are left out.

    Examples
    --------
    >>> nearest("gpt4", ["ann", "bob", "gpt-4"]), nearest("gpt4", [])
    ("'gpt-4', 'bob', 'ann'", '')
    """
    by_fold = {other.casefold(): other for other in sorted(filter(looks_like_label, names))}
    compared = list(islice(by_fold, N_COMPARED))
    close = get_close_matches(name.casefold(), compared, N_NEAREST, cutoff=0)
    return ", ".join(repr(by_fold[other]) for other in close)


def label_of(value: object) -> str:
    """Read a label as a name.

    Whole numbers lose the ``.0`` that empty cells add to integer columns.
    """
    text = " ".join(name_of(value).split())
    return text.split(".", maxsplit=1)[0] if WHOLE.fullmatch(text) else text


def labels_of(value: object) -> tuple[tuple[str, ...], bool]:
    """Return the labels in a cell, and whether they form a list.

    Examples
    --------
    >>> labels_of("4.0"), labels_of('["a", "b"]'), labels_of("['a', 'a']")
    ((('4',), False), (('a', 'b'), True), (('a', 'a'), True))
    """
    parts = list_of(value)
    if parts is not None:
        return tuple(label for part in parts if (label := label_of(part))), True
    label = label_of(value)
    return ((label,) if label else ()), False


def list_of(value: object) -> list[object] | None:
    """Read a JSON array, a Python list or ``{"choices": [...]}``. Return None for other cells."""
    parsed = _literal(value, "[{") if isinstance(value, str) else value
    if isinstance(parsed, dict) and len(parsed) == 1:
        parsed = parsed.get("choices")
    return parsed if isinstance(parsed, list) else None


def counts_of(value: object) -> Mapping[str, float] | None:
    """Read a mapping of labels to numbers: a JSON object, a Python dict or a ``Counter``.

    Examples
    --------
    >>> counts_of('{"yes": 3, "no": 2}'), counts_of("Counter({'a': 1})")
    ({'yes': 3, 'no': 2}, {'a': 1})
    """
    if isinstance(value, str) and value.startswith("Counter(") and value.endswith(")"):
        value = value[len("Counter(") : -1]
    parsed = _literal(value, "{") if isinstance(value, str) else value
    if not isinstance(parsed, dict) or not parsed:
        return None
    numbers = {label_of(label): n for label, n in parsed.items()}
    if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers.values()):
        return numbers
    return None


N_PAIR = 2  # a name and a label


def ballots_by_rater(value: object) -> list[tuple[str, str]] | None:
    """Return (rater, label) pairs from a mapping, a list of objects or a list of pairs, else None.

    Examples
    --------
    >>> ballots_by_rater('{"Ann": "yes", "Bo": "no"}')
    [('Ann', 'yes'), ('Bo', 'no')]
    >>> ballots_by_rater("[{'annotator': 'Ann', 'label': 4}]"), ballots_by_rater('["yes"]')
    ([('Ann', '4')], None)
    """
    parsed = _literal(value, "[{") if isinstance(value, str) else value
    if isinstance(parsed, dict) and "choices" not in parsed:
        pairs = list(parsed.items())
    elif isinstance(parsed, list) and parsed and all(isinstance(entry, dict) for entry in parsed):
        pairs = [_who_and_what(entry) for entry in parsed]
    elif isinstance(parsed, list) and parsed and all(isinstance(p, list) for p in parsed):
        pairs = [tuple(entry) if len(entry) == N_PAIR else ({}, {}) for entry in parsed]
    else:
        return None
    if not pairs or not all(_is_cell(who) and _is_cell(what) for who, what in pairs):
        return None
    return [
        (name_of(who), as_text(what) if isinstance(what, list) else label_of(what))
        for who, what in pairs
    ]


def _who_and_what(entry: dict[str, object]) -> tuple[object, object]:
    who = [name for name in entry if contains_word(name, RATERS | {"user"})]
    what = [name for name in entry if contains_word(name, LABELS) and name not in who]
    return (entry[who[0]], entry[what[0]]) if len(who) == len(what) == 1 else ({}, {})


def _is_cell(value: object) -> bool:
    """Return whether a value is a name, a label or a list of labels."""
    if isinstance(value, list):
        return all(isinstance(part, str | int | float) for part in value)
    return isinstance(value, str | int | float) and value != ""


def _literal(text: str, opening: str) -> object:
    """Parse JSON, or else a Python literal, if the text begins with one of the opening brackets."""
    if not text.lstrip().startswith(tuple(opening)):
        return None
    try:
        return parse_json(text)
    except ValueError:
        pass
    if len(text) > MAX_LITERAL_CHARS:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number."""
    return as_number(text) is not None


def with_point(text: str) -> str:
    """Replace the decimal comma in a number with a point. Return other texts unchanged.

    Examples
    --------
    >>> with_point("3,5"), with_point("1,2,3"), with_point("4")
    ('3.5', '1,2,3', '4')
    """
    return f"{match[1]}.{match[2]}" if (match := DECIMAL_COMMA.fullmatch(text)) else text


def is_date(text: str) -> bool:
    """Return whether a text is a date or a timestamp.

    Examples
    --------
    >>> is_date("2024-05-01T10:30:00Z"), is_date("3/4/2024 9:15 PM"), is_date("2024")
    (True, True, False)
    >>> is_date("Mon Mar 25 07:39:42 PDT 2019"), is_date("07:39"), is_date("May I go in 5 minutes?")
    (True, True, False)
    """
    return bool(DATE.fullmatch(text) or CLOCK.fullmatch(text)) or _is_worded_date(text)


def _is_worded_date(text: str) -> bool:
    """Return whether a text names a month and contains only numbers and words used in dates."""
    if len(text) > MAX_DATE_CHARS or not any(map(str.isdecimal, text)):
        return False
    words = {token for token in DATE_TOKENS.findall(text.casefold()) if token.isalpha()}
    return words <= DATE_WORDS and not words.isdisjoint(MONTHS)


def is_iso_time(text: str) -> bool:
    """Return whether a text is a date with a time of day in ISO 8601.

    Examples
    --------
    >>> is_iso_time("2024-05-01T10:30:00Z"), is_iso_time("2024-05-01"), is_iso_time("3/4/2024")
    (True, False, False)
    """
    if not is_date(text) or ":" not in text:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_address(text: str) -> bool:
    """Return whether a text is a web address."""
    return text.startswith(("http://", "https://")) and " " not in text


def readable(text: str) -> str:
    r"""Convert a conversation, which is a JSON list of messages, to text. Return others unchanged.

    Examples
    --------
    >>> readable('[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]')
    'user: Hi\n\nassistant: Yes?'
    """
    if not text.startswith("[{"):
        return text
    messages = list_of(text)
    turns = [_turn(message) for message in messages or ()]
    if not turns or None in turns:
        return text
    return "\n\n".join(turn for turn in turns if turn)


def _turn(message: object) -> str | None:
    if not isinstance(message, dict):
        return None
    for speaker, content in (("role", "content"), ("from", "value"), ("speaker", "text")):
        if isinstance(message.get(speaker), str) and content in message:
            return f"{message[speaker]}: {_content(message[content])}"
    return None


def _content(content: object) -> str:
    """Return the text in a message's content, which can be a list of parts."""
    if isinstance(content, list):
        texts = [part.get("text", "") if isinstance(part, dict) else part for part in content]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

"""Strict JSON parsing with limits."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from harness.files.tables.checks import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.files.json_values import JsonObject

MAX_DEPTH = 64
MAX_DIGITS = 100
_LARGE = 10 ** (MAX_DIGITS - 1)  # whole numbers below this need no check of their digits
_FLAT = {str, int, float, bool, type(None)}  # types of values that can't contain other values


def parse_json(text: str) -> Any:  # noqa: ANN401 -- JSON can be anything
    r"""Parse JSON strictly.

    An object can't repeat a key, numbers must be finite, nesting is limited to 64 levels, and texts
    can contain neither NUL nor half of a surrogate pair.

    Raises
    ------
    ValueError
        If the text breaks a rule. The message quotes at most a key or a number.

    Examples
    --------
    >>> parse_json('{"value": ["A", "B"]}')
    {'value': ['A', 'B']}
    """
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from None
    if "\\u" in text:
        _check_characters(value)
    return value


def parse_flat_lines(lines: bytes) -> list[JsonObject] | None:
    r"""Parse several lines of JSON in one call, with the same results as `parse_json`.

    Return None if the lines must be parsed one by one: if a line breaks a rule, has leading or
    trailing spaces, or isn't an object of texts, numbers, true, false, null and lists of texts.

    Examples
    --------
    >>> parse_flat_lines(b'{"id": "a"}\n{"id": "b"}\n')
    [{'id': 'a'}, {'id': 'b'}]
    >>> parse_flat_lines(b'{"id": "a", "id": "b"}\n') is None
    True
    """
    lines = lines.removesuffix(b"\n")
    n_lines = lines.count(b"\n") + 1
    # A line break between "}" and "{" can't be inside an object: only a text could contain those
    # characters, and texts have no line breaks.
    if not (
        lines.startswith(b"{")
        and lines.endswith(b"}")
        and lines.count(b"}\n{") == n_lines - 1
        and b"\\u0000" not in lines
    ):
        return None
    try:
        rows: list[JsonObject] = _LINES.decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if len(rows) != n_lines:
        return None
    values = list(chain.from_iterable(map(dict.values, rows)))
    n_texts = sum(map(len, rows))  # keys
    types = Counter(map(type, values))
    if list in types:
        listed = list(chain.from_iterable(value for value in values if type(value) is list))
        if set(map(type, listed)) - {str}:
            return None
        n_texts += len(listed)
    if int in types and not all(-_LARGE < n < _LARGE for n in values if type(n) is int):
        return None
    # A repeated key is dropped from the object, so its quotes exceed the count.
    is_whole = _n_quotes(lines) == 2 * (n_texts + types[str])
    return rows if is_whole and not types.keys() - _FLAT - {list} else None


def _n_quotes(text: bytes) -> int:
    """Count the quotation marks that open or close strings in JSON."""
    if b"\\" not in text:
        return text.count(b'"')
    text = text.replace(b"\\\\", b"")
    return text.count(b'"') - text.count(b'\\"')


def _depth(text: str) -> int:
    """Return the maximum nesting depth. Brackets inside strings don't count."""
    depth = deepest = 0
    quoted = escaped = False
    for char in text:
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts(part)


def _check_characters(value: object) -> None:
    for text in _texts(value):
        if "\0" in text:
            raise ValueError("a text contains the character NUL")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("a text contains half of a surrogate pair") from None


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"key {short(name)} appears twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {short(text)} is too large")
    return number


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"the number {short(text)} is too large")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)
_LINES = msgspec.json.Decoder(dict)

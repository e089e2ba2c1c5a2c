"""YAML without its surprises: every value is text; no anchors, aliases, tags or repeated keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from harness.errors import TaskError
from harness.tasks.tables.limits import PlaceError, short

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_YAML_BYTES = 256 * 1024
MAX_YAML_DEPTH = 16

Plain = str | list["Plain"] | dict[str, "Plain"] | None


def read_yaml(path: Path) -> Plain:
    """Read one YAML document of at most 256 KiB as dicts, lists and texts.

    An option called ``no`` stays ``no``. An empty document is None.

    Raises
    ------
    TaskError
        If the file cannot be read, is too big, not UTF-8, not YAML, nested deeper than 16 levels,
        or has anchors, aliases, tags, repeated keys or a second document.
    """
    try:
        return _document(_read_text(path))
    except OSError as fault:
        raise TaskError(f"{path}: cannot be read ({fault.strerror}); check the file.") from None
    except PlaceError as fault:
        raise TaskError(f"{path}: {fault}") from None


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(MAX_YAML_BYTES + 1)
    if len(raw) > MAX_YAML_BYTES:
        raise PlaceError("", f"larger than {MAX_YAML_BYTES} bytes; keep rows in the tables.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        found = f"byte 0x{raw[fault.start]:02x} is not UTF-8"
        raise PlaceError(f"line {line}", f"{found}; save the file as UTF-8.") from None


def _document(text: str) -> Plain:
    events = yaml.parse(text, Loader=yaml.BaseLoader)
    try:
        next(events)  # the stream starts
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        value = _value(next(events), events, 1)
        next(events)  # the document ends
        if not isinstance(after := next(events), yaml.StreamEndEvent):
            raise PlaceError(_place(after), "a second document begins; keep one.")
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        what = getattr(fault, "problem", None) or getattr(fault, "reason", None) or "unreadable"
        where = f"line {mark.line + 1}" if mark else ""
        raise PlaceError(where, f"not YAML ({what}); correct it.") from None
    return value


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Plain:
    if getattr(event, "anchor", None):  # an alias has one too
        raise PlaceError(_place(event), "found an anchor or alias; write the value out instead.")
    if getattr(event, "tag", None):
        raise PlaceError(_place(event), "found a tag (!...); remove it.")
    if depth > MAX_YAML_DEPTH:
        raise PlaceError(_place(event), f"nested deeper than {MAX_YAML_DEPTH} levels; flatten it.")
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events, depth)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, depth)
    return event.value if isinstance(event, yaml.ScalarEvent) else None


def _sequence(events: Iterator[yaml.Event], depth: int) -> list[Plain]:
    found: list[Plain] = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        found.append(_value(event, events, depth + 1))
    return found


def _mapping(events: Iterator[yaml.Event], depth: int) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _value(event, events, depth + 1)
        if not isinstance(key, str):
            raise PlaceError(_place(event), "found a key that is no text; write 'key: value'.")
        if key in found:
            raise PlaceError(_place(event), f"key {short(key)} is given twice; keep one of them.")
        found[key] = _value(next(events), events, depth + 1)
    return found


def _place(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else ""

"""Strict YAML, without anchors, aliases, tags, repeated keys or a second document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from harness.errors import HarnessError, TaskError
from harness.files.regular_files import TooLarge, read_file
from harness.files.tables.checks import PlaceError, reading, short

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from harness.files.json_values import JsonObject

MAX_YAML_BYTES = 256 * 1024
MAX_YAML_DEPTH = 16
CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?")
SURROGATE = re.compile("[\ud800-\udfff]")


def read_yaml(
    path: Path, *, typed: bool = False, error: type[HarnessError] = TaskError
) -> JsonObject:
    """Read one YAML mapping of at most 256 KiB.

    Parameters
    ----------
    path : Path
        A UTF-8 file; a byte order mark is tolerated.
    typed : bool, optional
        Whether to read unquoted numbers, ``true``, ``false`` and ``null`` as such. By default every
        value is text, so an option called ``no`` stays ``no``.
    error : type, optional
        Class of the errors to raise.

    Returns
    -------
    dict
        Dict of texts, lists and dicts (and, if ``typed``, of numbers, booleans and None).

    Raises
    ------
    HarnessError
        Error of type ``error``, with file and line, if the file can't be read, is too big, not
        UTF-8, not a YAML mapping, nested deeper than 16 levels, or has anchors, aliases, tags,
        repeated keys or a second document.
    """
    with reading(path, error):
        return _parse(_read_text(path), typed=typed)


def _read_text(path: Path) -> str:
    try:
        raw = read_file(path, MAX_YAML_BYTES, follow_links=True)
    except TooLarge:
        raise PlaceError(f"larger than {MAX_YAML_BYTES} bytes. Shorten the file.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = raw.count(b"\n", 0, fault.start) + 1
        problem = f"byte 0x{raw[fault.start]:02x} is not UTF-8"
        raise PlaceError(f"{problem}. Save the file as UTF-8.", f"line {line}") from None


def _parse(text: str, *, typed: bool) -> JsonObject:
    try:
        loader = _StrictLoader(text)
        loader.typed = typed
        content = loader.get_single_data()
    except yaml.YAMLError as fault:
        where = _line(getattr(fault, "problem_mark", None))
        if isinstance(fault, yaml.composer.ComposerError):  # with neither anchors nor aliases
            raise PlaceError("found a second document. Keep only one document.", where) from None
        problem = getattr(fault, "problem", None) or getattr(fault, "reason", None) or "unreadable"
        raise PlaceError(f"not valid YAML ({problem}). Correct the file.", where) from None
    if not isinstance(content, dict):
        raise PlaceError("found no 'key: value' lines. Write a YAML mapping.")
    return content


def _line(mark: yaml.Mark | None) -> str:
    return f"line {mark.line + 1}" if mark else ""


class _StrictLoader(yaml.BaseLoader):
    """YAML loader that rejects anchors, aliases, tags, repeated keys and deep nesting."""

    depth = 0
    typed = False

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        where = _line(event.start_mark)
        if getattr(event, "anchor", None):  # an alias has an anchor too
            raise PlaceError("found an anchor or alias. Write the value out instead.", where)
        if getattr(event, "tag", None):
            raise PlaceError("found a tag (!...). Remove the tag.", where)
        if self.depth >= MAX_YAML_DEPTH:
            raise PlaceError(
                f"nested deeper than {MAX_YAML_DEPTH} levels. Reduce the nesting.", where
            )
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 -- the base class's signature
        names: set[str] = set()
        for key, _ in node.value:
            where = _line(key.start_mark)
            if not isinstance(key, yaml.ScalarNode):
                raise PlaceError("found a key that is not text. Write 'key: value'.", where)
            if key.value in names:
                raise PlaceError(f"key {short(key.value)} appears twice. Keep one of them.", where)
            names.add(key.value)
        values = [self.construct_object(value, deep=deep) for _, value in node.value]
        return dict(zip((self._text(key) for key, _ in node.value), values, strict=True))

    def construct_scalar(self, node: yaml.ScalarNode) -> Any:  # noqa: ANN401 -- JSON scalars
        text = self._text(node)
        if not self.typed or node.style is not None:
            return text
        if text.lower() in CONSTANTS:
            return CONSTANTS[text.lower()]
        if INTEGER.fullmatch(text):
            return int(text)
        return float(text) if DECIMAL.fullmatch(text) else text

    def _text(self, node: yaml.ScalarNode) -> str:
        text = str(node.value)
        if SURROGATE.search(text):
            where = _line(node.start_mark)
            raise PlaceError("found half of a surrogate pair. Write the character itself.", where)
        return text

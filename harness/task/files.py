"""`task.yaml`: read safely, checked against the model, faults told in one line."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import Field, ValidationError

from harness.errors import TaskError
from harness.task.model import TaskFields

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_YAML_BYTES = 256 * 1024
MAX_YAML_DEPTH = 16
OTHER_SCALES = ("continuous", "text")


class TaskFile(TaskFields):
    """`task.yaml`: what a task says of itself, and the names of its tables.

    Attributes
    ----------
    items, groups, ratings : str or None
        Files inside the task's folder, by default ``items``, ``groups`` and ``ratings`` with
        one of the endings .jsonl, .csv and .parquet. Items and groups may be absent.
    """

    items: str | None = Field(None, min_length=1)
    groups: str | None = Field(None, min_length=1)
    ratings: str | None = Field(None, min_length=1)


def task_schema() -> dict[str, Any]:
    """Return the JSON schema of ``task.yaml``."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **TaskFile.model_json_schema(), "title": "task.yaml"}


def read_task_file(path: Path) -> TaskFile:
    """Read and check ``task.yaml``.

    Every plain value is text first, and becomes a number or a truth value where the field is one:
    an option called ``no`` stays ``no``.

    Raises
    ------
    TaskError
        If it is absent, too big, not UTF-8, not YAML, has anchors, aliases, tags or repeated keys,
        or does not describe a task.
    """
    content = _parse_yaml(path, _read_text(path))
    if not isinstance(content, dict):
        raise TaskError(f"{path}: found no 'key: value' lines; describe the task with them.")
    if content.get("scale") in OTHER_SCALES:
        raise TaskError(
            f"{path}: scale: {content['scale']!r} cannot be loaded yet; binary, nominal, ordinal and "
            "pairwise can."
        )
    try:
        return TaskFile.model_validate(content)
    except ValidationError as error:
        raise TaskError(_explain(path, error)) from None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_YAML_BYTES + 1)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror}).") from None
    if len(raw) > MAX_YAML_BYTES:
        raise TaskError(f"{path}: larger than {MAX_YAML_BYTES} bytes; keep rows in the tables.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(
            f"{path}: byte {error.start + 1} is not UTF-8; save the file as UTF-8."
        ) from None


def _parse_yaml(path: Path, text: str) -> Any:  # noqa: ANN401 -- YAML can be anything
    try:
        _check_events(path, text)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        what = getattr(error, "problem", None) or getattr(error, "reason", "unreadable")
        raise TaskError(f"{path}: {where}not YAML ({what}); correct it.") from None
    return None if node is None else _build(path, node)


def _check_events(path: Path, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        where = f"{path}: line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise TaskError(f"{where}: found an anchor or alias; write the value out instead.")
        if getattr(event, "tag", None):
            raise TaskError(f"{where}: found the tag {event.tag[:60]!r}; remove it.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_YAML_DEPTH:
            raise TaskError(f"{where}: nested deeper than {MAX_YAML_DEPTH} levels; flatten it.")


def _build(path: Path, node: yaml.Node) -> Any:  # noqa: ANN401 -- YAML can be anything
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            where = f"{path}: line {key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise TaskError(f"{where}: found a key that is no text; write 'key: value'.")
            if key.value in found:
                raise TaskError(
                    f"{where}: key {key.value[:60]!r} is given twice; keep one of them."
                )
            found[key.value] = _build(path, value)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_build(path, part) for part in node.value]
    return node.value


def _explain(path: Path, error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    more = f" ({len(faults) - 1} more after this)" if len(faults) > 1 else ""
    return f"{path}: {_one_line(faults[0])}{more}"


def _one_line(fault: ErrorDetails) -> str:
    parts = [str(part) for part in fault["loc"]]
    where = ".".join(parts)
    kind, message = fault["type"], fault["msg"]
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
        return f"{where}.{message}." if where else f"{message}."
    if kind == "missing":
        return f"{where}: not found; add it."
    if kind == "extra_forbidden":
        known = ", ".join(TaskFile.model_fields) if len(parts) == 1 else "key, label, description"
        return f"{where}: unknown field; remove it, or use one of {known}."
    found = repr(fault["input"])
    short = found if len(found) <= 80 else f"{found[:80]}..."  # noqa: PLR2004 -- fits a line
    return f"{where}: found {short}; {message[0].lower()}{message[1:]}."


def inside(folder: Path, name: str, field: str) -> Path:
    """Path of a file that must be in the folder, whatever links say.

    Raises
    ------
    TaskError
        If the name is absolute, climbs with ``..``, or resolves to a place outside.
    """
    parts = PurePosixPath(name.replace("\\", "/"))
    path = folder / name
    outside = parts.is_absolute() or ".." in parts.parts or Path(name).drive
    if outside or not path.resolve().is_relative_to(folder.resolve()):
        raise TaskError(
            f"{folder / 'task.yaml'}: {field}: {name!r} leaves the task's folder; "
            "put the file into the folder and name it from there."
        )
    return path

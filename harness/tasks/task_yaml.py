"""`task.yaml`: read safely, checked against the model, faults told in one line."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from harness.errors import TaskError
from harness.tasks.annotator_settings import AltTestFields
from harness.tasks.fields import TaskFields
from harness.tasks.options import Lexicon, Option
from harness.tasks.plain_yaml import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

TASK_FILE = "task.yaml"
NESTED: dict[str, type[BaseModel]] = {"lexicon": Lexicon, "alt_test": AltTestFields}
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
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise TaskError(f"{path}: found no 'key: value' lines; describe the task with them.")
    if content.get("scale") in OTHER_SCALES:
        raise TaskError(
            f"{path}: scale: {content['scale']!r} cannot be loaded; the scales that can are "
            "binary, nominal, ordinal and pairwise."
        )
    try:
        return TaskFile.model_validate(content)
    except ValidationError as error:
        raise TaskError(_explain(path, error)) from None


def _explain(path: Path, error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    more = f" ({len(faults) - 1} more after this)" if len(faults) > 1 else ""
    return f"{path}: {_one_line(faults[0])}{more}"


def _one_line(fault: ErrorDetails) -> str:
    parts = [str(part) for part in fault["loc"] if "[" not in str(part)]  # no branches of unions
    where = ".".join(parts)
    kind, message = fault["type"], fault["msg"]
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
        return f"{where}.{message}." if where else f"{message}."
    if kind == "missing":
        return f"{where}: not found; add it."
    if kind == "extra_forbidden":
        known = NESTED.get(parts[0], Option) if len(parts) > 1 else TaskFile
        return f"{where}: unknown field; remove it, or use one of {', '.join(known.model_fields)}."
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
    path = folder / name
    parts = PureWindowsPath(name)  # knows both kinds of slashes, and drives
    climbs = bool(parts.anchor) or ".." in parts.parts
    if climbs or not _resolves_inside(path, folder):
        raise TaskError(
            f"{folder / TASK_FILE}: {field}: {name!r} leaves the task's folder; "
            "put the file into the folder and name it from there."
        )
    return path


def _resolves_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name with NUL
        return False

"""Writing a task folder."""

from __future__ import annotations

import shutil
from math import inf
from textwrap import indent
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import yaml

from harness.files.regular_files import read_file, write_file
from harness.tasks.item import TASK_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.tasks.model import Task
    from harness.tasks.schema import TaskFields


def write_task(task: Task, folder: Path, *, item_text: bool) -> None:
    """Write a task to a folder. The folder is created if needed.

    Parameters
    ----------
    task : Task
        The task.
    folder : Path
        Folder for ``task.yaml``, ``items.jsonl`` and ``ratings.jsonl``. With ``item_text``, the
        task has the same `Task.content_hash` when read back.
    item_text : bool
        Whether items keep their fields and images, or only id, group, criterion and, if
        `AltTestFields.gold` names it, the correct answer.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_task_file(folder, described(task))
    gold = task.alt_test and task.alt_test.gold
    items = [
        {"id": item.id}
        | ({"group": item.group} if item.group is not None else {})
        | ({"criterion": item.criterion} if item.criterion is not None else {})
        | {name: value for name, value in item.fields.items() if item_text or name == gold}
        for item in task.items
    ]
    ratings = [
        {"item": r.item, "rater": r.rater, "elicitation": r.elicitation, "value": r.value}
        | dict(r.provenance)
        for r in (*task.ratings, *task.ignored)
    ]
    lines = msgspec.json.Encoder().encode_lines
    write_file(folder / "items.jsonl", lines(items))
    if item_text and task.image:
        _write_images(task, task.image, folder)
    write_file(folder / "ratings.jsonl", lines(ratings))
    if name := task.similarity_file:
        write_file(folder / name, read_file(task.folder / name))


def write_version(task: Task, before: Task, folder: Path) -> None:
    """Write a new version of a task, and copy the previous version's prompts.

    Parameters
    ----------
    task, before : Task
        The version, and the task it was made from.
    folder : Path
        See `write_task`.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    write_task(task, folder, item_text=True)
    for name in set(before.prompts.values()):
        shutil.copyfile(before.folder / name, folder / name)


def _write_images(task: Task, field: str, folder: Path) -> None:
    """Copy the items' images to a folder under the same names."""
    for item, image in task.images.items():
        target = folder / task.by_id[item].fields[field]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            write_file(target, read_file(image.path))


def write_task_file(folder: Path, fields: Iterable[Field]) -> None:
    """Write ``task.yaml``."""
    write_file(folder / TASK_FILE, task_yaml(fields).encode())


class Field(NamedTuple):
    """A field to write to ``task.yaml``.

    Attributes
    ----------
    name : str
        Name of the field. "" for a comment without a field.
    value : object
        A text, number, boolean, list or mapping.
    comment : str
        Comment lines above the field, including empty lines.
    is_example : bool
        Whether the field is commented out.
    """

    name: str
    value: object = ""
    comment: str = ""
    is_example: bool = False


def described(task: TaskFields) -> list[Field]:
    """Return a task's fields in the form of ``task.yaml``."""
    return [Field(name, value) for name, value in task.described().items()]


def task_yaml(fields: Iterable[Field]) -> str:
    """Return the content of ``task.yaml``.

    Texts are read back unchanged, whatever their line breaks.
    """
    return "".join(map(_field_yaml, fields))


def _field_yaml(field: Field) -> str:
    comments = [f"# {line}\n" if line else "\n" for line in field.comment.splitlines()]
    text = f"{field.name}:{_value_yaml(field.value)}" if field.name else ""
    return "".join(comments) + (f"# {text}" if field.is_example else text)


def _value_yaml(value: object) -> str:
    """Return the YAML text that follows a field's name. Nested values begin on a new line."""
    text = yaml.dump(
        value,
        Dumper=_PlainDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=inf,
    ).removesuffix("...\n")
    is_block = isinstance(value, dict | list) and text[0] not in "[{"
    return "\n" + indent(text, "  ") if is_block else f" {text}"


class _PlainDumper(yaml.SafeDumper):
    """YAML writer that repeats values instead of using anchors, and quotes line breaks."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Quote texts with line breaks of any kind. YAML would turn some into spaces."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _PlainDumper.represent_text)

"""Writing a task folder, and reading when and how its ratings were made."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import yaml

from harness.files import read_file, write_file
from harness.tasks.human_ratings import PROVENANCE
from harness.tasks.load import task_tables
from harness.tasks.schema import TASK_FILE
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.tasks.model import Task

    Provenance: TypeAlias = Mapping[tuple[str, str, str], dict[str, Any]]


def write_task(
    task: Task, folder: Path, *, item_text: bool, provenance: Provenance | None = None
) -> None:
    """Write a task into a folder, which is created if need be.

    Parameters
    ----------
    task : Task
        The task.
    folder : Path
        Gets ``task.yaml``, ``items.jsonl`` and ``ratings.jsonl``. With ``item_text`` the task that
        is read back has the same `Task.content_hash`.
    item_text : bool
        Whether items keep their fields and images, or only id, group, criterion and the right
        answer, where `AltTestFields.gold` names it.
    provenance : mapping, optional
        When and how ratings were made, by item, rater and elicitation.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / TASK_FILE, described_yaml(task).encode())
    gold = task.alt_test and task.alt_test.gold
    items = [
        {"id": item.id}
        | ({"group": item.group} if item.group is not None else {})
        | ({"criterion": item.criterion} if item.criterion is not None else {})
        | {name: value for name, value in item.fields.items() if item_text or name == gold}
        for item in task.items
    ]
    made = provenance or {}
    ratings = [
        msgspec.to_builtins(r) | made.get((r.item, r.rater, r.elicitation), {})
        for r in (*task.ratings, *task.ignored)
    ]
    lines = msgspec.json.Encoder().encode_lines
    write_file(folder / "items.jsonl", lines(items))
    if item_text and task.image:
        _write_images(task, task.image, folder)
    write_file(folder / "ratings.jsonl", lines(ratings))
    if name := task.similarity_file:
        write_file(folder / name, read_file(task.folder / name))


def write_version(task: Task, before: Task, folder: Path, ids: Mapping[str, str]) -> None:
    """Write a version of a task, with the prompts of the task before and how ratings were made.

    Parameters
    ----------
    task, before : Task
        The version, and what it was made from.
    folder : Path
        See `write_task`.
    ids : mapping of str to str
        Ids of items in the version, by their ids before, where they differ.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    provenance = {
        (ids.get(item, item), rater, elicitation): cells
        for (item, rater, elicitation), cells in read_provenance(before).items()
    }
    write_task(task, folder, item_text=True, provenance=provenance)
    for name in set(before.prompts.values()):
        shutil.copyfile(before.folder / name, folder / name)


def _write_images(task: Task, field: str, folder: Path) -> None:
    """Copy the images of the items, under the same names."""
    for item, image in task.images.items():
        target = folder / task.by_id[item].fields[field]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            write_file(target, read_file(image.path))


def described_yaml(task: Task) -> str:
    """Return the content of ``task.yaml``; texts with any line breaks are read back the same."""
    return yaml.dump(task.described(), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)


class _PlainDumper(yaml.SafeDumper):
    """Repeats values instead of using anchors, and quotes texts that YAML may fold."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """Quote texts with line breaks of any kind: YAML would turn some of them into spaces."""
        style = None if text.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _PlainDumper.represent_text)


def read_provenance(task: Task) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the columns that `harness annotate` adds, by item, rater and elicitation.

    Ratings without any are left out.

    Raises
    ------
    TaskError
        If the ratings of the task's folder cannot be read.
    """
    path = task_tables(task.folder).get("ratings")
    made = {}
    for _, row in read_rows(path) if path else ():
        if cells := {name: as_text(row[name]) for name in sorted(PROVENANCE) if row.get(name)}:
            elicitation = as_text(row.get("elicitation") or "forced_choice")
            made[as_text(row["item"]), as_text(row["rater"]), elicitation] = cells
    return made

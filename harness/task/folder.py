"""Task folders: found by name or path, read whole, written back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from harness.errors import TaskError
from harness.task.files import inside, read_task_file
from harness.task.model import Item, Task
from harness.task.rows import read_items, read_ratings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.task.files import TaskFile
    from harness.task.model import Rating

TASK_FILE = "task.yaml"
ENDINGS = (".jsonl", ".csv", ".parquet")


def bundled(kind: Literal["prompts", "datasets"]) -> Path:
    """Folder of the prompts or tasks that come with the package: in the wheel, or in the checkout."""
    package = Path(__file__).resolve().parent.parent
    inside_wheel = package / "_bundled" / kind
    return inside_wheel if inside_wheel.is_dir() else package.parent / kind


def search_path() -> list[Path]:
    """Folders that hold task folders: ``$HARNESS_TASKS``, ``./datasets``, then the bundled ones."""
    named = os.environ.get("HARNESS_TASKS", "").split(os.pathsep)
    return [Path(name) for name in named if name] + [Path("datasets"), bundled("datasets")]


def available_tasks(search: Sequence[Path] | None = None) -> list[tuple[str, Path]]:
    """List (name, folder) of every task that a name finds; an earlier folder hides a later one."""
    found: dict[str, Path] = {}
    for root in search_path() if search is None else search:
        if root.is_dir():
            for file in sorted(root.glob(f"*/{TASK_FILE}")):
                found.setdefault(file.parent.name, file.parent)
    return sorted(found.items())


def describe(folder: Path) -> dict[str, str | int]:
    """Summarise a task from its ``task.yaml`` alone; a fault is part of the summary."""
    try:
        task = read_task_file(folder / TASK_FILE)
    except TaskError as error:
        return {
            "task": folder.name,
            "scale": "",
            "options": 0,
            "property": "",
            "notice": str(error),
        }
    return {
        "task": folder.name,
        "scale": task.scale,
        "options": len(task.options),
        "property": task.property,
        "notice": task.notice,
    }


def find_task(name_or_path: str, *, search: Sequence[Path] | None = None) -> Path:
    """Folder of a task, by its name on the search path or by its own path.

    Raises
    ------
    TaskError
        If there is none; the message lists the names there are.
    """
    path = Path(name_or_path).expanduser()
    tasks = dict(available_tasks(search))
    if name_or_path in tasks:
        return tasks[name_or_path]
    if path.name == TASK_FILE and path.is_file():
        return path.parent
    if (path / TASK_FILE).is_file():
        return path
    if path.is_dir():
        raise TaskError(f"{path}: the folder has no {TASK_FILE}; write one.")
    known = ", ".join(tasks) or "none"
    raise TaskError(
        f"task {name_or_path!r} was not found; give one of the names ({known}) or the path of a "
        f"folder with a {TASK_FILE}."
    )


def load_task(name_or_path: str | Path, *, search: Sequence[Path] | None = None) -> Task:
    """Read a task folder and check everything in it.

    Parameters
    ----------
    name_or_path : str or Path
        A name on the search path, or the path of a folder with a ``task.yaml``.
    search : sequence of Path, optional
        Folders that hold task folders, instead of `search_path`.

    Returns
    -------
    Task
        Frozen; `Task.content_hash` says what was read, wherever it was.

    Raises
    ------
    TaskError
        Naming file, line or field, what was found and what to do.
    """
    folder = find_task(str(name_or_path), search=search)
    file = read_task_file(inside(folder, TASK_FILE, "task.yaml"))
    items_path = _table(folder, "items", file.items)
    groups_path = _table(folder, "groups", file.groups)
    ratings_path = _table(folder, "ratings", file.ratings)
    if ratings_path is None:
        raise TaskError(
            f"{folder}: found no ratings; write ratings.csv (or .jsonl, .parquet) with the columns "
            "item, rater and value."
        )
    if groups_path and not items_path:
        raise TaskError(f"{groups_path}: found groups but no items; write an items file.")
    items = read_items(items_path, groups_path) if items_path else None
    ratings, ignored = read_ratings(ratings_path, file, items)
    if items is None:
        items = tuple(
            Item(name, {}) for name in dict.fromkeys(r.item for r in (*ratings, *ignored))
        )
    _check_text(folder, file, items)
    return Task(**_fields(file), items=items, ratings=ratings, ignored=ignored, folder=folder)


def _fields(file: TaskFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in Task.model_fields if name in _SAID}


_SAID = set(Task.model_fields) - {"items", "ratings", "ignored", "folder"}


def _table(folder: Path, kind: str, name: str | None) -> Path | None:
    if name is not None:
        return inside(folder, name, kind)
    found = [kind + ending for ending in ENDINGS if (folder / (kind + ending)).exists()]
    if len(found) > 1:
        raise TaskError(
            f"{folder}: found {' and '.join(found)}; say which one under '{kind}' in {TASK_FILE}."
        )
    return inside(folder, found[0], kind) if found else None


def _check_text(folder: Path, file: TaskFile, items: Iterable[Item]) -> None:
    names = {name for item in items for name in item.fields}
    missing = [name for name in file.text if name not in names]
    if names and missing and "text" in file.model_fields_set:
        raise TaskError(
            f"{folder / TASK_FILE}: text: no item has a field {missing[0]!r}; "
            f"the fields are {', '.join(sorted(names)[:10])}."
        )


def write_task(task: Task, folder: Path, *, item_text: bool) -> None:
    """Write a task into a folder of its own, made if need be.

    Parameters
    ----------
    task : Task
        What to write.
    folder : Path
        Gets ``task.yaml``, ``items.jsonl`` and ``ratings.jsonl``. With ``item_text`` the task that
        is read back has the same `Task.content_hash`.
    item_text : bool
        Whether items keep their fields, or only id, group and criterion.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    said = yaml.dump(task.described(), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
    (folder / TASK_FILE).write_text(said, encoding="utf-8", newline="\n")
    items = (
        {"id": item.id}
        | ({"group": item.group} if item.group is not None else {})
        | ({"criterion": item.criterion} if item.criterion is not None else {})
        | (item.fields if item_text else {})
        for item in task.items
    )
    _write_lines(folder / "items.jsonl", items)
    _write_lines(folder / "ratings.jsonl", map(_row, (*task.ratings, *task.ignored)))


class _PlainDumper(yaml.SafeDumper):
    """Repeats a value rather than point at it: anchors are not read back."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _row(rating: Rating) -> dict[str, Any]:
    return {
        "item": rating.item,
        "rater": rating.rater,
        "elicitation": rating.elicitation,
        "value": rating.value,
    }


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

"""Task folders: where they are, found by name or by path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.errors import TaskError
from harness.tasks.task_yaml import TASK_FILE, read_task_file

if TYPE_CHECKING:
    from collections.abc import Sequence


def bundled(kind: Literal["prompts", "datasets"]) -> Path:
    """Folder of the prompts or tasks that come along: in the wheel, or in the checkout."""
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

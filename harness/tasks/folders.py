"""Task folders and the search path for them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from harness.errors import TaskError, did_you_mean, in_sentences
from harness.tasks.item import TASK_FILE
from harness.tasks.options import DEFAULT_PROPERTY
from harness.tasks.schema import read_task_file


def bundled(kind: Literal["prompts", "datasets"]) -> Path:
    """Return the folder of bundled prompts or tasks, in the wheel or the checkout."""
    package = Path(__file__).resolve().parent.parent
    inside_wheel = package / "_bundled" / kind
    return inside_wheel if inside_wheel.is_dir() else package.parent / kind


def search_path() -> list[Path]:
    """Return the search path for tasks: ``$HARNESS_TASKS``, ``./datasets``, then bundled tasks."""
    folders = os.environ.get("HARNESS_TASKS", "").split(os.pathsep)
    return [Path(folder) for folder in folders if folder] + [Path("datasets"), bundled("datasets")]


def available_tasks() -> list[tuple[str, Path]]:
    """List the (name, folder) of every task on the search path.

    The first folder with a name wins.
    """
    tasks: dict[str, Path] = {}
    for root in search_path():
        if root.is_dir():
            for file in sorted(root.glob(f"*/{TASK_FILE}")):
                tasks.setdefault(file.parent.name, file.parent)
    return sorted(tasks.items())


def describe(folder: Path) -> dict[str, str | int]:
    """Summarise a task from its ``task.yaml`` without reading items.

    The summary includes any error.
    """
    try:
        task = read_task_file(folder / TASK_FILE)
    except TaskError as error:
        scale, n_options, rated, notice = "", 0, "", str(error)
    else:
        scale, n_options, rated = task.scale, len(task.options), task.property
        notice = task.notice
    return {
        "task": folder.name,
        "scale": scale,
        "options": n_options,
        "property": rated,
        "notice": notice,
    }


def find_task(name_or_path: str) -> Path:
    """Return a task's folder, given its path or its name on the search path.

    Raises
    ------
    TaskError
        If no such folder exists. The message lists the available names.
    """
    path = Path(name_or_path).expanduser()
    tasks = dict(available_tasks())
    if name_or_path in tasks:
        return tasks[name_or_path]
    if path.name == TASK_FILE and path.is_file():
        return path.parent
    if (path / TASK_FILE).is_file():
        return path
    if path.is_dir():
        raise TaskError(f"{path}: the folder has no {TASK_FILE}. Create this file.")
    names = ", ".join(tasks) or "none"
    raise TaskError(
        in_sentences(
            f"task {name_or_path!r} was not found",
            did_you_mean(name_or_path, tasks),
            f"Use one of the names ({names}) or the path of a folder with a {TASK_FILE}.",
        )
    )


def name_of_copy(task: str) -> str:
    """Return a path next to a task for a changed copy. Its last part is a valid task name."""
    folder, slash, name = task.rstrip("/").rpartition("/")
    return folder + slash + re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") + "-2"


def takes_ratings(folder: Path) -> bool:
    """Return whether `harness annotate` can collect ratings for the task in a folder.

    The task must not be bundled, must keep its ratings in separate files, and must define the rated
    property.
    """
    if folder.resolve().is_relative_to(bundled("datasets").resolve()):
        return False
    fields = read_task_file(folder / TASK_FILE)
    return fields.datasets is None and fields.property != DEFAULT_PROPERTY

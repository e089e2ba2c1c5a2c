"""A task folder read whole: `task.yaml`, then its tables, then what must hold between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.annotator_settings import check_alt_test
from harness.tasks.fields import TaskFields
from harness.tasks.folders import find_task
from harness.tasks.human_ratings import read_ratings
from harness.tasks.items import read_items
from harness.tasks.model import Item, Task
from harness.tasks.task_yaml import TASK_FILE, inside, read_task_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.tasks.model import Rating
    from harness.tasks.task_yaml import TaskFile

ENDINGS = (".jsonl", ".csv", ".parquet")


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
    _check_alt_test(folder, file, items, ratings)
    said = {name: getattr(file, name) for name in TaskFields.model_fields}
    return Task(**said, items=items, ratings=ratings, ignored=ignored, folder=folder)


def _table(folder: Path, kind: str, name: str | None) -> Path | None:
    if name is not None:
        return inside(folder, name, kind)
    found = [kind + ending for ending in ENDINGS if (folder / (kind + ending)).exists()]
    if len(found) > 1:
        raise TaskError(
            f"{folder}: found {' and '.join(found)}; say which one under '{kind}' in {TASK_FILE}."
        )
    return inside(folder, found[0], kind) if found else None


def _check_alt_test(
    folder: Path, file: TaskFile, items: Sequence[Item], ratings: Sequence[Rating]
) -> None:
    if file.alt_test is None:
        return
    try:
        check_alt_test(file.alt_test, [option.key for option in file.options], items, ratings)
    except ValueError as error:
        raise TaskError(f"{folder / TASK_FILE}: {error}.") from None


def _check_text(folder: Path, file: TaskFile, items: Iterable[Item]) -> None:
    answer = file.alt_test and file.alt_test.gold
    names = {name for item in items for name in item.fields if name != answer}
    missing = [name for name in file.text if name not in names]
    if names and missing and "text" in file.model_fields_set:
        raise TaskError(
            f"{folder / TASK_FILE}: text: no item has a field {missing[0]!r}; "
            f"the fields are {', '.join(sorted(names)[:10])}."
        )

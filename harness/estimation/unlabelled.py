"""Reading unlabelled items from tables, without keeping all items in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.tables.reader import READERS
from harness.tasks.load import item_rows
from harness.tasks.model import INCLUSION_PROBABILITY, SOURCE_ITEM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.tasks import Item, Task

PART = 2000  # items in a part, which stays in memory at one time
OF_SAMPLES = {INCLUSION_PROBABILITY, SOURCE_ITEM}  # fields that don't appear in any prompt


@dataclass(frozen=True, slots=True)
class ItemTables:
    """One table of unlabelled items, or two tables with different systems' outputs.

    With two tables, each is named after the system of its items, unless the items name one. Items
    with the same id share a prompt.

    Attributes
    ----------
    path : Path
        A csv, jsonl or parquet table like the task's items, or a folder of such tables.
    against : Path or None
        The second table, of a different system.
    system : str
        Field that names the system; "" with one table.
    rated : frozenset of (str, str)
        (system, prompt) of each rated output. These outputs are left out.
    """

    path: Path
    against: Path | None = None
    system: str = ""
    rated: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def __str__(self) -> str:
        return f"{self.path}" if self.against is None else f"{self.path} and {self.against}"

    def items(self, limit: int | None) -> Iterator[Item]:
        """Yield the items, at most ``limit`` per system."""
        if self.against is None:
            yield from islice(_items(self.path), limit)
            return
        ids: set[str] = set()
        for path in (self.path, self.against):
            for item in islice(_items(path), limit):
                own = self._of_system(item, path)
                if own.id in ids:
                    raise TaskError(
                        f"{path}: {item.id!r} of system {own.fields[self.system]!r} appears twice",
                        "Put each system's outputs in a separate file",
                    )
                ids.add(own.id)
                if not self._is_rated(own):
                    yield own

    def n_rated(self, limit: int | None) -> int:
        """Count the items that are left out because they are rated."""
        if self.against is None:
            return 0
        return sum(
            self._is_rated(self._of_system(item, path))
            for path in (self.path, self.against)
            for item in islice(_items(path), limit)
        )

    def _of_system(self, item: Item, path: Path) -> Item:
        """Return an item with its system added, its prompt as its group, and a unique id."""
        system = item.fields.get(self.system, "").strip() or path.stem
        return replace(
            item,
            id=f"{item.id} ({system})",
            group=item.id if item.group is None else item.group,
            fields=item.fields | {self.system: system},
        )

    def _is_rated(self, item: Item) -> bool:
        return (item.fields[self.system], item.group or "") in self.rated


def _items(path: Path) -> Iterator[Item]:
    return (item for file in _tables(path) for item in item_rows(file))


def read_parts(
    path: ItemTables, task: Task, limit: int | None = None
) -> Iterator[tuple[Item, ...]]:
    """Yield the items in chunks of 2,000. Blank items are left out.

    Parameters
    ----------
    path : ItemTables
        The tables.
    task : Task
        Task whose fields the items must have. They can only be items of this task if they were
        drawn for labelling with known probabilities.
    limit : int, optional
        Maximum number of items to read.

    Raises
    ------
    TaskError
        If there is no table, an item lacks a field of the task's items, or an item has the id of a
        task's item. An item's text can be blank.
    """
    items = (item for item in _checked(path, task, limit) if task.has_text(item))
    while part := tuple(islice(items, PART)):
        yield part


def count_blank(path: ItemTables, task: Task, limit: int | None = None) -> int:
    """Check all items before the first request, and count blank items.

    Parameters and errors are those of `read_parts`, which needs one item that isn't blank.
    """
    n_items = n_blank = 0
    for item in _checked(path, task, limit):
        n_items += 1
        n_blank += not task.has_text(item)
    if n_blank == n_items:
        raise TaskError(f"{path}: no item has a text to judge. Add items with a text.")
    return n_blank


def come_in_groups(path: ItemTables, task: Task, limit: int | None = None) -> bool:
    """Return whether any two items share a group. Parameters and errors are as for `read_parts`."""
    groups: set[str] = set()
    for item in _checked(path, task, limit):
        if item.group in groups:
            return True
        if item.group is not None:
            groups.add(item.group)
    return False


def _checked(path: ItemTables, task: Task, limit: int | None) -> Iterator[Item]:
    """Yield the items, and check that each of the task's text fields occurs in an item."""
    fields = [set(item.fields) - OF_SAMPLES for item in task.items if task.has_text(item)]
    wanted = set.intersection(*fields) if fields else set()
    texts = set(task.text) & set[str]().union(*fields)
    for item in path.items(limit):
        _check(item, path, task, wanted - set(task.text))
        texts -= item.fields.keys()
        yield item
    if texts:
        raise TaskError(
            f"{path}: no item has the field {min(texts)!r}. Judges see that field of task "
            f"{task.name}, so add the field."
        )


def _tables(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    tables = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS)
    if not tables:
        raise TaskError(
            f"{path}: this folder contains no table",
            "Put a csv, jsonl or parquet file into the folder",
        )
    return tables


def _check(item: Item, path: ItemTables, task: Task, wanted: set[str]) -> None:
    if missing := sorted(wanted - item.fields.keys()):
        raise TaskError(
            f"{path}: item {item.id!r} has no field {missing[0]!r}",
            f"Add the fields of task {task.name}: {', '.join(sorted(wanted))}",
        )
    rated = task.by_id.get(item.id)
    if rated is not None and INCLUSION_PROBABILITY not in rated.fields:
        raise TaskError(
            f"{path}: item {item.id!r} is also an item of task {task.name}",
            "Use different ids for unlabelled items",
        )

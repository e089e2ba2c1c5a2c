"""Export of a task as one table, from which the same task can be imported.

The file ``TABLE.task.yaml`` next to the table defines the options. Without this file, the table is
read like any other table. The folder ``TABLE.files`` contains the task's images, prompts and
similarities.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.curation.importing.convert import VERDICT, VERDICTS
from harness.curation.importing.new_folder import new_folder
from harness.curation.importing.source_formats import source_rows
from harness.errors import TaskError
from harness.files.plain_text import counted
from harness.files.regular_files import read_file, write_file, writing_to
from harness.files.tables import LIMITS, read_rows
from harness.files.tables.checks import as_text
from harness.files.tables.writer import csv_text, jsonl_text, neutralized, restored
from harness.tasks import record_change
from harness.tasks.human_ratings import PROVENANCE
from harness.tasks.item import path_inside
from harness.tasks.schema import read_task_file
from harness.tasks.write import described, task_yaml, write_task_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.files.json_values import JsonObject
    from harness.tasks import Task
    from harness.tasks.schema import TaskFields

SIDECAR = ".task.yaml"
FILES = ".files"
COLUMNS = ("item", "item_number", "group", "criterion", "rater", "judge", "elicitation", "value")
FIELD = "field."
ENDINGS = (".csv", ".jsonl")


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """Counts of an exported task."""

    n_items: int
    n_ratings: int
    n_verdicts: int

    def __str__(self) -> str:
        counts = {"item": self.n_items, "rating": self.n_ratings, "verdict": self.n_verdicts}
        return ", ".join(counted([n], noun) for noun, n in counts.items())


def sidecar_of(path: Path) -> Path:
    """Return the path of an exported table's ``.task.yaml`` file.

    For a workbook saved from the table, this is the csv table's file.
    """
    if path.suffix.lower() == ".xlsx":
        path = path.with_suffix(".csv")
    return path.with_name(path.name + SIDECAR)


def files_of(path: Path) -> Path:
    """Return the path of the folder for an exported table's images and other files."""
    return path.with_name(path.name + FILES)


def _file_names(task: TaskFields, items: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of the files that a task's fields and items mention."""
    images = [fields.get(task.image, "") for fields in items] if task.image else []
    names = (*images, *task.prompts.values(), task.similarity_file or "")
    return [name for name in dict.fromkeys(names) if name]


def verdicts_of(task: Task) -> Path | None:
    """Return the path of ``verdicts.csv`` in a task's folder, or None if there is no such file."""
    path = task.folder / VERDICTS
    return path if path.is_file() else None


def export_task(task: Task, path: Path) -> ExportSummary:
    """Write a task, and the ``verdicts.csv`` in its folder, as one table.

    Parameters
    ----------
    task : Task
        The task.
    path : Path
        A csv or jsonl file that doesn't exist yet. In csv, cells that start with ``= + - @`` get
        an apostrophe, which the import removes.

    Raises
    ------
    TaskError
        If the ending isn't .csv or .jsonl, or a file exists or can't be written.
    """
    if path.suffix.lower() not in ENDINGS:
        raise TaskError(
            f"{path}: a task is exported as .csv or .jsonl. Choose a name with one of these "
            "endings."
        )
    for file in (path, sidecar_of(path), files_of(path)):
        if file.exists():
            raise TaskError(f"{file}: exists already. Choose another name, or remove it yourself.")
    names = _file_names(task, (item.fields for item in task.items))
    verdicts = list(_verdict_rows(task))
    rows = [*_rating_rows(task), *verdicts]
    with writing_to(path, TaskError):
        write_file(path, _written(rows, task, path).encode())
        write_file(sidecar_of(path), task_yaml(described(task)).encode())
        for name in names:
            _copy(task.folder, files_of(path), name)
    return ExportSummary(len(task.items), len(rows) - len(verdicts), len(verdicts))


def _copy(source: Path, folder: Path, name: str) -> None:
    """Copy a file to the same relative path in another folder. Reject paths outside the folders."""
    target = path_inside(folder, name, "file")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_file(target, read_file(path_inside(source, name, "file")))


def _rating_rows(task: Task) -> Iterator[dict[str, str]]:
    places = _places(task)
    for r in (*task.ratings, *task.ignored):
        value = r.value if isinstance(r.value, str) else json.dumps(r.value, ensure_ascii=False)
        cells = {"rater": r.rater, "elicitation": r.elicitation, "value": value}
        yield places[r.item] | cells | dict(r.provenance)


def _verdict_rows(task: Task) -> Iterator[dict[str, str]]:
    path = verdicts_of(task)
    if path is None:
        return
    places = _places(task)
    for line, row in read_rows(path, required=VERDICT):
        if row["item"] not in places:
            raise TaskError(f"{path}: line {line}: item {row['item']!r} is not in the task.")
        yield places[row["item"]] | {name: row[name] for name in VERDICT[1:]}


def _places(task: Task) -> dict[str, dict[str, str]]:
    """Return the cells that describe each item, by item id."""
    return {
        item.id: {
            "item": item.id,
            "item_number": str(number),
            "group": item.group or "",
            "criterion": item.criterion or "",
            **{FIELD + name: text for name, text in item.fields.items()},
        }
        for number, item in enumerate(task.items)
    }


def _written(rows: Sequence[dict[str, str]], task: Task, path: Path) -> str:
    if path.suffix.lower() == ".jsonl":
        return jsonl_text(rows)
    fields = dict.fromkeys(FIELD + name for item in task.items for name in item.fields)
    names = {name for row in rows for name in row}
    made = [name for name in PROVENANCE if name in names]
    safe_rows = ({name: neutralized(cell) for name, cell in row.items()} for row in rows)
    return csv_text(safe_rows, [*COLUMNS, *made, *fields])


def import_exported(path: Path, folder: Path) -> ExportSummary:
    """Create a task folder from a table that `export_task` wrote.

    Parameters
    ----------
    path : Path
        The table, next to its description.
    folder : Path
        Must not exist yet. The resulting task has the same `Task.content_hash`.

    Raises
    ------
    TaskError
        If the folder exists, or the table or its description is invalid.
    """
    items: dict[int, JsonObject] = {}
    ratings: list[dict[str, str]] = []
    verdicts: list[dict[str, str]] = []
    made: set[str] = set()
    undo = str if path.suffix.lower() == ".jsonl" else restored
    for line, raw in source_rows(path, LIMITS):
        row = {name: undo(as_text(cell)) for name, cell in raw.items()}
        if missing := {"item", "item_number", "elicitation", "value"} - row.keys():
            raise TaskError(f"{path}: column {min(missing)!r} is missing. Export the task again.")
        made |= row.keys() & set(PROVENANCE)
        if not row["item_number"].isdecimal():
            raise TaskError(
                f"{path}: line {line}: item_number isn't a number. Export the task again."
            )
        items.setdefault(int(row["item_number"]), _item(row))
        answers = verdicts if row.get("judge") else ratings
        answers.append({name: row.get(name, "") for name in (*VERDICT, "rater", *PROVENANCE)})
    file = read_task_file(sidecar_of(path))
    with new_folder(folder) as part:
        write_task_file(part, described(file))
        in_order = [items[number] for number in sorted(items)]
        for name in _file_names(file, in_order):
            _copy(files_of(path), part, name)
        write_file(part / "items.jsonl", jsonl_text(in_order).encode())
        columns = ("item", "rater", *VERDICT[2:], *sorted(made))
        write_file(part / "ratings.csv", csv_text(ratings, columns).encode())
        if verdicts:
            write_file(part / VERDICTS, csv_text(verdicts, VERDICT).encode())
        record_change(part, f"import of {path.name}")
    return ExportSummary(len(items), len(ratings), len(verdicts))


def _item(row: dict[str, str]) -> dict[str, str]:
    place = {
        "id": row["item"],
        "group": row.get("group", ""),
        "criterion": row.get("criterion", ""),
    }
    fields = {n.removeprefix(FIELD): text for n, text in row.items() if n.startswith(FIELD)}
    return {name: text for name, text in (place | fields).items() if text}

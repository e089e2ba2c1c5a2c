"""Loading a task folder: `task.yaml`, items, groups and human ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from pydantic import ValidationError

from harness.errors import TaskError, fault_of
from harness.files.tables import read_rows
from harness.files.tables.checks import as_text, identifier
from harness.tasks.folders import find_task
from harness.tasks.human_ratings import check_ratings, read_ratings
from harness.tasks.item import TASK_FILE, Item, Rating, path_inside
from harness.tasks.model import Task
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import (
    MAX_POWERSET_OPTIONS,
    MAX_RESPONSE_SETS,
    TaskFields,
    TaskFile,
    check_alt_test,
    check_rubric,
    read_task_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.files.tables import Row
    from harness.tasks.columns.table_reader import TableAnswer, TableTask
    from harness.tasks.item import HumanElicitation

    Content: TypeAlias = tuple[tuple[Item, ...], Sequence[Rating], tuple[Rating, ...]]

TableKind = Literal["items", "groups", "ratings"]
TABLES: tuple[TableKind, ...] = get_args(TableKind)
ENDINGS = (".jsonl", ".csv", ".parquet")
MAX_REJECTED = 0.05  # share of the answers of a table that may be rejected by default


def load_task(name_or_path: str | Path, *, unrated: bool = False) -> Task:
    """Read and check a task folder.

    Parameters
    ----------
    name_or_path : str or Path
        A name on the `search_path`, or the path of a folder with a ``task.yaml``.
    unrated : bool
        Whether items don't need ratings yet, and the task doesn't need a ratings file.

    Returns
    -------
    Task
        Frozen; `Task.content_hash` identifies its content.

    Raises
    ------
    TaskError
        With file, line or field, what was found and what to do.
    """
    folder = find_task(str(name_or_path))
    file = read_task_file(path_inside(folder, TASK_FILE, "task.yaml"))
    read = _from_dataset if file.datasets else _from_tables
    task = _made(folder, file, read(folder, file, unrated=unrated))
    if file.image:
        _ = task.images  # raises if one is wrong
    return task


class TableContent(NamedTuple):
    """A table's task and verdicts, and the rejected rows and cells with reasons."""

    task: Task
    verdicts: list[Row]
    rejected: list[str]


def task_from(subject: TableTask, fields: Mapping[str, object] | None = None) -> TableContent:
    """Create a task from a table with known columns and labels, without writing files.

    ``fields`` are more fields of its task.yaml.

    Raises
    ------
    TaskError
        If no row can be used, more than 5 % of the answers are rejected, or the task is invalid.
    """
    from harness.tasks.columns.table_reader import (  # noqa: PLC0415 -- numpy
        Rejected,
        TableAnswer,
        TableItem,
    )

    where, reader = str(subject.table.path), subject.reader()
    order, foreign = tuple(subject.answers.labels), frozenset(subject.answers.ignore)
    items: list[Item] = []
    ratings: list[Rating] = []
    verdicts: list[Row] = []
    rejected: list[str] = []
    sets: set[tuple[str, ...]] = set()
    for entry in reader.rated():
        if isinstance(entry, TableAnswer) and isinstance(entry.value, tuple):
            sets.add(entry.value)
        if isinstance(entry, TableItem):
            items.append(entry.item)
        elif isinstance(entry, Rejected):
            column = f", {entry.column}" if entry.column else ""
            rejected.append(f"row {reader.line(entry.row)}{column}: {entry.reason}")
        elif entry.is_judge:
            asked: Row = {"item": entry.item, "judge": entry.name}
            verdicts.append(asked | {"elicitation": entry.elicitation, "value": entry.cell})
        else:
            ratings.append(_rating(entry, order, foreign))
    _check_rejected(where, rejected, len(ratings) + len(verdicts))
    described = subject.described(
        {name for item in items for name in item.field_names},
        {(r.item, r.elicitation) for r in ratings if r.value != CANNOT_ASSESS},
        sets,
    )
    if sets and len(order) > MAX_POWERSET_OPTIONS and "response_sets" not in described:
        raise TaskError(
            f"{where}: found more than {MAX_RESPONSE_SETS} different response sets. Merge "
            "options that mean the same (--rename), or use a table with fewer options."
        )
    try:
        file = TaskFile.model_validate(described | dict(fields or {}))
    except ValidationError as error:
        place, problem = fault_of(error)[:2]
        raise TaskError(f"{': '.join(filter(None, (where, place, problem)))}.") from None
    rated = tuple(rating for rating in ratings if foreign.isdisjoint(rating.labels))
    ignored = tuple(rating for rating in ratings if not foreign.isdisjoint(rating.labels))
    task = _made(Path(file.name), file, (tuple(items), rated, ignored))
    return TableContent(task, verdicts, rejected)


def _rating(answer: TableAnswer, order: Sequence[str], foreign: frozenset[str]) -> Rating:
    """Return a rating, with a response set in the order of the options."""
    value, name = answer.value, answer.elicitation
    elicitation: HumanElicitation = "response_set" if name == "response_set" else "forced_choice"
    if isinstance(value, tuple) and foreign.isdisjoint(value):
        value = tuple(key for key in order if key in value)
    time = (("rated_at", answer.rated_at),) if answer.rated_at else ()
    return Rating(answer.item, answer.name, elicitation, value, time)


def _check_rejected(where: str, rejected: Sequence[str], n_answers: int) -> None:
    if not n_answers:
        reason = f" ({rejected[0]})" if rejected else ""
        raise TaskError(f"{where}: no row could be used{reason}.")
    if len(rejected) > MAX_REJECTED * (len(rejected) + n_answers):
        raise TaskError(
            f"{where}: {len(rejected)} rows or cells can't be used, which is more than "
            f"{MAX_REJECTED:.0%} of the answers (such as {rejected[0]}). Correct or remove these "
            "rows."
        )


def _made(folder: Path, file: TaskFile, content: Content) -> Task:
    items, ratings, ignored = content
    _check_text(folder, file, items)
    _check_content(folder, file, items, ratings)
    fields = {name: getattr(file, name) for name in TaskFields.model_fields}
    if file.datasets:
        fields["source"] = "; ".join(filter(None, (file.source, file.datasets.origin)))
    return Task(**fields, items=items, ratings=ratings, ignored=ignored, folder=folder)


def _from_tables(folder: Path, file: TaskFile, *, unrated: bool) -> Content:
    """Read items and ratings from a task's files."""
    items_path = table_path(folder, "items", file.items)
    groups_path = table_path(folder, "groups", file.groups)
    ratings_path = table_path(folder, "ratings", file.ratings)
    if ratings_path is None and not unrated:
        raise TaskError(
            f"{folder}: found no ratings. Write ratings.csv (or .jsonl, .parquet) with the columns "
            "item, rater and value."
        )
    if groups_path and not items_path:
        raise TaskError(f"{groups_path}: found groups but no items. Create an items file.")
    items = _read_items(items_path, groups_path) if items_path else None
    ratings: Sequence[Rating] = ()
    ignored: tuple[Rating, ...] = ()
    if ratings_path and (ratings_path.exists() or not unrated):
        ratings, ignored = read_ratings(ratings_path, file, items, unrated=unrated)
    if items is None:
        names = dict.fromkeys(rating.item for rating in (*ratings, *ignored))
        items = tuple(Item(name, {}) for name in names)
    return items, ratings, ignored


def _from_dataset(folder: Path, file: TaskFile, *, unrated: bool) -> Content:
    """Read items and ratings from a task's data set."""
    from harness.tasks.dataset_table import DatasetTable  # noqa: PLC0415 -- numpy, when needed

    for kind in TABLES:
        if path := table_path(folder, kind, getattr(file, kind)):
            raise TaskError(
                f"{path}: {TASK_FILE} names a data set, which already contains items and "
                "ratings. Remove this file, or the data set."
            )
    table = DatasetTable(file, folder)
    items = table.items()
    ratings, ignored = check_ratings(table.ratings(), table.where, file, items, unrated=unrated)
    return items, ratings, ignored


def table_path(folder: Path, kind: TableKind, name: str | None) -> Path | None:
    """Return the path of a task's table, or None if the task has no such table.

    ``kind`` is ``items``, ``groups`` or ``ratings``, and ``name`` is the file name in
    ``task.yaml``, if any.

    Raises
    ------
    TaskError
        If several tables of this kind exist, or the file is outside the folder.
    """
    if name is not None:
        return path_inside(folder, name, kind)
    names = [kind + ending for ending in ENDINGS if (folder / (kind + ending)).exists()]
    if len(names) > 1:
        raise TaskError(
            f"{folder}: found {' and '.join(names)}. Write the one to use under '{kind}' in "
            f"{TASK_FILE}."
        )
    return path_inside(folder, names[0], kind) if names else None


def task_tables(folder: Path) -> dict[str, Path]:
    """Return the tables that exist in a task folder, by kind."""
    file = read_task_file(folder / TASK_FILE)
    if file.datasets and file.datasets.file:
        return {"datasets": folder / file.datasets.file}
    paths = {kind: table_path(folder, kind, getattr(file, kind)) for kind in TABLES}
    return {kind: path for kind, path in paths.items() if path is not None}


def _read_items(path: Path, groups_path: Path | None) -> tuple[Item, ...]:
    """Read items, adding each group's fields before the item's own."""
    if groups_path is None:
        return tuple(item_rows(path))
    shared = {group.id: group.fields for group in item_rows(groups_path)}
    return tuple(_join(path, item, shared) for item in item_rows(path))


def item_rows(path: Path) -> Iterator[Item]:
    """Yield the items in a table in order.

    Raises
    ------
    TaskError
        If the table can't be read, or an id occurs twice.
    """
    item_ids: set[str] = set()
    for line, row in read_rows(path, required=("id",)):
        where = f"{path}: line {line}"
        item_id = identifier(row.pop("id"), "id", where)
        if item_id in item_ids:
            raise TaskError(f"{where}: id {item_id!r} occurs twice. Give each row its own id.")
        item_ids.add(item_id)
        group = _optional(row, "group", where)
        criterion = _optional(row, "criterion", where)
        fields = {name: as_text(value) for name, value in row.items() if value is not None}
        yield Item(item_id, fields, group, criterion)


def _optional(row: Row, column: str, where: str) -> str | None:
    value = row.pop(column, None)
    return None if value is None or value == "" else identifier(value, column, where)


def _join(path: Path, item: Item, shared: Mapping[str, dict[str, str]]) -> Item:
    if item.group is None:
        return item
    where = f"{path}: item {item.id!r}"
    fields = shared.get(item.group)
    if fields is None:
        raise TaskError(
            f"{where}: group {item.group!r} is not in the groups file. Add the group there."
        )
    if repeated := fields.keys() & item.fields.keys():
        raise TaskError(
            f"{where}: the field {min(repeated)!r} is also in the item's group. Rename one "
            "of the two fields."
        )
    return Item(item.id, fields | item.fields, item.group, item.criterion)


def _check_content(
    folder: Path, file: TaskFile, items: Sequence[Item], ratings: Sequence[Rating]
) -> None:
    try:
        if file.alt_test is not None:
            check_alt_test(file.alt_test, [option.key for option in file.options], items, ratings)
        if file.rubric is not None:
            check_rubric(file.rubric, items)
    except ValueError as error:
        raise TaskError(f"{folder / TASK_FILE}: {error}.") from None


def _check_text(folder: Path, file: TaskFile, items: Iterable[Item]) -> None:
    answer = file.alt_test and file.alt_test.gold
    names = {name for item in items for name in item.field_names if name != answer}
    if names and file.reasons and file.reasons not in names:
        raise TaskError(f"{folder / TASK_FILE}: reasons: no item has a field {file.reasons!r}.")
    missing = [name for name in file.text if name not in names]
    if names and missing and "text" in file.model_fields_set:
        raise TaskError(
            f"{folder / TASK_FILE}: text: no item has a field {missing[0]!r}. "
            f"The fields are {', '.join(sorted(names)[:10])}."
        )

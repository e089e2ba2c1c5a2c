"""Ratings of the logs as a table, and added to the ratings of a task."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from harness.annotation.questions import checked_value
from harness.annotation.rating_log import OWNER_FILE, log_path, log_paths, read_answers
from harness.errors import TaskError
from harness.files import write_file, writing_to
from harness.report.formatting import counted
from harness.tasks.changelog import record_change
from harness.tasks.load import table_path
from harness.tasks.schema import TASK_FILE, read_task_file
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import as_text
from harness.tasks.tables.writer import csv_text, neutralized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.annotation.rating_log import Answer
    from harness.tasks import Task
    from harness.tasks.model import HumanElicitation

    Present = Mapping[tuple[str, str, HumanElicitation], str | tuple[str, ...]]  # item and rater

COLUMNS = ("item", "rater", "elicitation", "value", "rated_at", "form", "instructions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What was exported or merged.

    Attributes
    ----------
    path : Path
        The table that was written.
    n_ratings : dict of str to int
        New ratings by rater.
    n_present : int
        Ratings that the task has already.
    n_foreign : int
        Ratings of items that the task no longer has; left out.
    n_damaged : int
        Damaged lines of the logs; left out.
    versions : tuple of str
        Versions of the instructions under which the new ratings were made.
    n_unrated : int
        Items of the task that have no rating yet.
    """

    path: Path
    n_ratings: dict[str, int]
    n_present: int
    n_foreign: int
    n_damaged: int
    versions: tuple[str, ...]
    n_unrated: int


@dataclass(slots=True)
class _Collected:
    rows: list[dict[str, Any]]
    n_present: int = 0
    n_foreign: int = 0
    n_damaged: int = 0

    def summary(self, task: Task, path: Path) -> Merged:
        raters = [row["rater"] for row in self.rows]
        rated = {rating.item for rating in task.ratings} | {row["item"] for row in self.rows}
        return Merged(
            path=path,
            n_ratings={rater: raters.count(rater) for rater in dict.fromkeys(raters)},
            n_present=self.n_present,
            n_foreign=self.n_foreign,
            n_damaged=self.n_damaged,
            versions=tuple(dict.fromkeys(row["instructions"] for row in self.rows)),
            n_unrated=len(task.by_id.keys() - rated),
        )


def export_ratings(task: Task, path: Path, *, rater: str | None = None) -> Merged:
    """Write the ratings of the logs as a table with their provenance, for its owner's eyes alone.

    Parameters
    ----------
    task : Task
        The task that was rated.
    path : Path
        Ends in .csv, .jsonl or .parquet. In csv, cells that a spreadsheet would take for formulas
        begin with an apostrophe.
    rater : str, optional
        A rater, in place of all.

    Raises
    ------
    TaskError
        If there are no ratings, or the table cannot be written.
    """
    collected = _collect(task, rater, {})
    rows: Sequence[dict[str, Any]] = collected.rows
    if path.suffix.lower() == ".csv":
        rows = [{name: neutralized(cell) for name, cell in row.items()} for row in rows]
    _write(path, rows, mode=OWNER_FILE)
    return collected.summary(task, path)


def merge_ratings(task: Task, *, rater: str | None = None) -> Merged:
    """Add the ratings of the logs to the ratings of a task, with their provenance.

    Ratings that the task has already are left as they are; a second merge adds nothing.

    Parameters
    ----------
    task : Task
        The task, loaded with ``unrated=True``.
    rater : str, optional
        A rater, in place of all.

    Raises
    ------
    TaskError
        If there are no ratings, a rating differs from that of the same rater in the task, a value
        no longer fits the task, or the table cannot be written. Nothing is merged then.
    """
    file = read_task_file(task.folder / TASK_FILE)
    path = table_path(task.folder, "ratings", file.ratings) or task.folder / "ratings.jsonl"
    present = {(r.item, r.rater, r.elicitation): r.value for r in (*task.ratings, *task.ignored)}
    collected = _collect(task, rater, present)
    if collected.rows:
        rows = [row for _, row in read_rows(path)] if path.exists() else []
        mode = path.stat().st_mode & 0o777 if rows else OWNER_FILE
        _write(path, [*rows, *collected.rows], mode=mode)
        change = f"merge of {counted([len(collected.rows)], 'rating')} of harness annotate"
        record_change(task.folder, change, before=task.content_hash)
    return collected.summary(task, path)


def _collect(task: Task, rater: str | None, present: Present) -> _Collected:
    """Collect the ratings of the logs that are not present."""
    collected = _Collected([])
    paths = [log_path(task, rater)] if rater else log_paths(task)
    for path in paths:
        logged = read_answers(path, task)
        collected.n_damaged += logged.n_damaged
        for answer in logged.answers.values():
            if answer.is_check:
                continue
            if answer.item not in task.by_id:
                collected.n_foreign += 1
            elif _is_present(answer, logged.rater, present, path):
                collected.n_present += 1
            else:
                collected.rows.append(_row(answer, logged.rater, task, path))
    if not (collected.rows or collected.n_present):
        raise TaskError(f"task {task.name}: found no ratings in {task.folder}/annotations.")
    return collected


def _is_present(answer: Answer, rater: str, present: Present, path: Path) -> bool:
    value = present.get((answer.item, rater, answer.elicitation))
    if value is not None and value != answer.value:
        raise TaskError(
            f"{path}: {rater} rated item {answer.item!r} ({answer.elicitation}) otherwise in the "
            "task's ratings; remove that rating from them to merge this answer."
        )
    return value is not None


def _row(answer: Answer, rater: str, task: Task, path: Path) -> dict[str, Any]:
    try:
        checked_value(task, answer.elicitation, answer.value or "")
    except ValueError:
        raise TaskError(
            f"{path}: item {answer.item!r} ({answer.elicitation}): the answer is no longer one of "
            "the task's options or response sets; restore them in task.yaml."
        ) from None
    return {name: getattr(answer, name, rater) for name in COLUMNS}


def _write(path: Path, rows: Sequence[dict[str, Any]], *, mode: int) -> None:
    writers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    encode = writers.get(path.suffix.lower())
    if encode is None:
        raise TaskError(f"{path}: a table ends in .csv, .jsonl or .parquet.")
    with writing_to(path, TaskError):
        write_file(path, encode(rows), durable=True, mode=mode)


def _jsonl(rows: Sequence[dict[str, Any]]) -> bytes:
    return msgspec.json.Encoder().encode_lines(rows)


def _columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    return csv_text(rows, _columns(rows)).encode()


def _parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 -- only for parquet
    import pyarrow.parquet as pq  # noqa: PLC0415 -- the same

    columns = {
        name: [as_text(row[name]) if name in row else None for row in rows]
        for name in _columns(rows)
    }
    buffer = BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()

"""Ratings of the logs as a table, and added to the ratings of a task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from harness.annotation.questions import checked_value
from harness.annotation.rating_log import OWNER_FILE, log_path, log_paths, read_answers
from harness.errors import TaskError
from harness.files import write_file, writing_to
from harness.report.formatting import counted
from harness.tasks.changelog import record_change
from harness.tasks.load import task_tables
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


@dataclass(slots=True)
class Merged:
    """What is exported or merged.

    Attributes
    ----------
    path : Path
        The table that is written.
    rows : list of dict
        New ratings.
    n_present : int
        Ratings that the task has already.
    n_foreign : int
        Ratings of items that the task no longer has; left out.
    n_damaged : int
        Damaged lines of the logs; left out.
    n_unrated : int
        Items of the task that have no rating yet.
    """

    path: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    n_present: int = 0
    n_foreign: int = 0
    n_damaged: int = 0
    n_unrated: int = 0

    @property
    def n_ratings(self) -> dict[str, int]:
        """New ratings by rater."""
        return Counter(row["rater"] for row in self.rows)

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions of the instructions under which the new ratings were made."""
        return tuple(dict.fromkeys(row["instructions"] for row in self.rows))


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
    merged = _collect(task, path, rater, {})
    rows = merged.rows
    if path.suffix.lower() == ".csv":
        rows = [{name: neutralized(cell) for name, cell in row.items()} for row in rows]
    _write(path, rows, mode=OWNER_FILE)
    return merged


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
    path = task_tables(task.folder).get("ratings", task.folder / "ratings.jsonl")
    present = {(r.item, r.rater, r.elicitation): r.value for r in (*task.ratings, *task.ignored)}
    merged = _collect(task, path, rater, present)
    if merged.rows:
        rows = [row for _, row in read_rows(path)] if path.exists() else []
        mode = path.stat().st_mode & 0o777 if rows else OWNER_FILE
        _write(path, [*rows, *merged.rows], mode=mode)
        change = f"merge of {counted([len(merged.rows)], 'rating')} of harness annotate"
        record_change(task.folder, change, before=task.content_hash)
    return merged


def _collect(task: Task, path: Path, rater: str | None, present: Present) -> Merged:
    """Collect the ratings of the logs that are not present."""
    merged = Merged(path)
    for log in [log_path(task, rater)] if rater else log_paths(task):
        logged = read_answers(log, task)
        merged.n_damaged += logged.n_damaged
        for answer in logged.answers.values():
            if answer.is_check:
                continue
            if answer.item not in task.by_id:
                merged.n_foreign += 1
            elif _is_present(answer, logged.rater, present, log):
                merged.n_present += 1
            else:
                merged.rows.append(_row(answer, logged.rater, task, log))
    if not (merged.rows or merged.n_present):
        raise TaskError(f"task {task.name}: found no ratings in {task.folder}/annotations.")
    rated = {rating.item for rating in task.ratings} | {row["item"] for row in merged.rows}
    merged.n_unrated = len(task.by_id.keys() - rated)
    return merged


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
    jsonl = msgspec.json.Encoder().encode_lines
    writers = {".csv": _csv, ".jsonl": jsonl, ".parquet": _parquet}
    encode = writers.get(path.suffix.lower())
    if encode is None:
        raise TaskError(f"{path}: a table ends in .csv, .jsonl or .parquet.")
    with writing_to(path, TaskError):
        write_file(path, encode(rows), durable=True, mode=mode)


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

"""Export of logged ratings as a table, and merging them into a task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec

from harness.annotation.questions import checked_value, shown_version
from harness.annotation.rating_log import (
    FOLDER,
    OWNER_FILE,
    log_path,
    log_paths,
    read_answers,
)
from harness.errors import TaskError
from harness.files.plain_text import counted
from harness.files.regular_files import write_file, writing_to
from harness.files.tables import read_rows
from harness.files.tables.checks import as_text
from harness.files.tables.writer import csv_text, neutralized
from harness.tasks.changelog import record_change
from harness.tasks.load import task_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from harness.annotation.rating_log import Answer, LoggedAnswers
    from harness.files.tables import Row
    from harness.tasks import Task
    from harness.tasks.item import HumanElicitation

    Present = Mapping[tuple[str, str, HumanElicitation], str | tuple[str, ...]]  # item and rater

COLUMNS = ("item", "rater", "elicitation", "value", "rated_at", "form", "instructions", "shown")
SKIPPED = "skipped.csv"  # in the task's folder
SKIP_COLUMNS = ("item", "rater", "elicitation", "rated_at", "comment", "flagged")
YES = "yes"


@dataclass(frozen=True, slots=True)
class Collected:
    """A rater's answers and the file they come from."""

    where: str
    logged: LoggedAnswers


@dataclass(slots=True)
class Merged:
    """Result of an export or merge.

    Attributes
    ----------
    path : Path
        The written table.
    rows : list of dict
        New ratings.
    n_present : int
        Number of ratings that the task already has.
    n_foreign : int
        Number of ratings left out because the task no longer contains the item.
    outdated : tuple of str
        Rated items whose text or options have changed since.
    skips : list of dict
        Questions that raters skipped.
    n_damaged : int
        Number of damaged log lines, which are left out.
    n_unrated : int
        Number of the task's items without a rating.
    """

    path: Path
    rows: list[Row] = field(default_factory=list)
    n_present: int = 0
    n_foreign: int = 0
    outdated: tuple[str, ...] = ()
    skips: list[dict[str, str]] = field(default_factory=list)
    n_damaged: int = 0
    n_unrated: int = 0

    @property
    def n_ratings(self) -> dict[str, int]:
        """New ratings by rater."""
        return Counter(row["rater"] for row in self.rows)

    @property
    def n_flagged(self) -> int:
        """Number of flagged items."""
        rows = (*self.rows, *self.skips)
        return len({row["item"] for row in rows if row.get("flagged")})

    @property
    def n_comments(self) -> int:
        """Number of new ratings and skips that have a comment."""
        return sum(bool(row.get("comment")) for row in (*self.rows, *self.skips))

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions of the instructions that raters saw for the new ratings."""
        return tuple(dict.fromkeys(row["instructions"] for row in self.rows))


def export_ratings(task: Task, path: Path, collected: Sequence[Collected]) -> Merged:
    """Write logged ratings with provenance to a table that only its owner can read.

    Parameters
    ----------
    task : Task
        The task that was rated.
    path : Path
        Ends in .csv, .jsonl or .parquet. In csv, cells that a spreadsheet would take for formulas
        begin with an apostrophe.
    collected : sequence of Collected
        The answers of each rater.

    Raises
    ------
    TaskError
        If there are no ratings, or the table cannot be written.
    """
    merged = _merged(task, path, collected, {}, keep_outdated=True)
    rows = merged.rows
    if path.suffix.lower() == ".csv":
        rows = [{name: neutralized(cell) for name, cell in row.items()} for row in rows]
    _write(path, rows, mode=OWNER_FILE)
    return merged


def merge_ratings(
    task: Task, collected: Sequence[Collected], *, source: str, keep_outdated: bool = False
) -> Merged:
    """Add each new rating to a task's ratings, with its provenance.

    Existing ratings stay unchanged, so a second merge adds nothing. ``skipped.csv`` lists skipped
    questions.

    Parameters
    ----------
    task : Task
        The task, loaded with ``unrated=True``.
    collected : sequence of Collected
        The answers of each rater.
    source : str
        Origin of the ratings, for the changelog.
    keep_outdated : bool
        Whether to also add ratings of items whose text or options have changed since.

    Raises
    ------
    TaskError
        If there are no ratings, a rating differs from that of the same rater in the task, a value
        no longer fits the task, or the table cannot be written. Nothing is merged then.
    """
    path = task_tables(task.folder).get("ratings", task.folder / "ratings.jsonl")
    present = {(r.item, r.rater, r.elicitation): r.value for r in (*task.ratings, *task.ignored)}
    merged = _merged(task, path, collected, present, keep_outdated=keep_outdated)
    if merged.rows:
        rows = [row for _, row in read_rows(path)] if path.exists() else []
        mode = path.stat().st_mode & 0o777 if rows else OWNER_FILE
        _write(path, [*rows, *merged.rows], mode=mode)
        change = f"merge of {counted([len(merged.rows)], 'rating')} of {source}"
        record_change(task.folder, change, before=task.content_hash)
    _write_skips(task.folder / SKIPPED, merged)
    return merged


def collected_logs(
    task: Task, *, rater: str | None = None, without: Collection[str] = ()
) -> list[Collected]:
    """Read a task's logs from `harness annotate`.

    Parameters
    ----------
    rater : str, optional
        The only rater to read. Default: all raters.
    without : collection of str
        Raters to leave out.

    Raises
    ------
    TaskError
        If a log can't be read, or a rater to leave out has no log.
    """
    paths = [log_path(task, rater)] if rater else log_paths(task)
    collected = [Collected(str(path), read_answers(path, task)) for path in paths]
    names = {one.logged.rater for one in collected}
    if unknown := [name for name in without if name not in names]:
        known = ", ".join(sorted(names)) or "nobody"
        raise TaskError(
            f"--without {unknown[0]}: this rater has no ratings. The raters are {known}."
        )
    return [one for one in collected if one.logged.rater not in without]


def _merged(
    task: Task,
    path: Path,
    collected: Sequence[Collected],
    present: Present,
    *,
    keep_outdated: bool,
) -> Merged:
    """Collect the ratings that the task doesn't contain yet."""
    merged = Merged(path)
    outdated: dict[str, None] = {}
    for one in collected:
        merged.n_damaged += one.logged.n_damaged
        rater = one.logged.rater
        for answer in one.logged.answers.values():
            if answer.is_check:
                continue
            if answer.item not in task.by_id:
                merged.n_foreign += 1
            elif answer.skipped:
                merged.skips.append(_skip(answer, rater))
            elif _is_present(answer, rater, present, one.where):
                merged.n_present += 1
            elif is_outdated(answer, task) and not keep_outdated:
                outdated[answer.item] = None
            else:
                outdated |= {answer.item: None} if is_outdated(answer, task) else {}
                merged.rows.append(_row(answer, rater, task, one.where))
    if not (merged.rows or merged.n_present or merged.skips or outdated):
        raise TaskError(f"task {task.name}: found no ratings in {_places(collected, task)}.")
    merged.outdated = tuple(outdated)
    rated = {rating.item for rating in task.ratings} | {row["item"] for row in merged.rows}
    merged.n_unrated = len(task.by_id.keys() - rated)
    return merged


def _places(collected: Sequence[Collected], task: Task) -> str:
    where = list(dict.fromkeys(one.where for one in collected))
    return ", ".join(where) if where else f"{task.folder}/{FOLDER}"


def is_outdated(answer: Answer, task: Task) -> bool:
    """Return whether the item or the options have changed since the answer."""
    return bool(answer.shown) and answer.shown != shown_version(task, task.by_id[answer.item])


def _skip(answer: Answer, rater: str) -> dict[str, str]:
    row = {"item": answer.item, "rater": rater, "elicitation": answer.elicitation}
    row |= {"rated_at": answer.rated_at, "comment": answer.comment}
    return row | {"flagged": YES if answer.flagged else ""}


def _write_skips(path: Path, merged: Merged) -> None:
    """Write these and earlier merges' skips, listing each rater's question once."""
    if not merged.skips:
        return
    before = [row for _, row in read_rows(path)] if path.exists() else []
    keys = SKIP_COLUMNS[:3]
    rows = {tuple(row[key] for key in keys): row for row in (*before, *merged.skips)}
    safe = [
        {name: neutralized(as_text(row.get(name))) for name in SKIP_COLUMNS}
        for row in rows.values()
    ]
    with writing_to(path, TaskError):
        write_file(path, csv_text(safe, SKIP_COLUMNS).encode(), mode=OWNER_FILE)


def _is_present(answer: Answer, rater: str, present: Present, where: str) -> bool:
    value = present.get((answer.item, rater, answer.elicitation))
    if value is not None and value != answer.value:
        raise TaskError(
            f"{where}: {rater} rated item {answer.item!r} ({answer.elicitation}) differently in "
            "the task's ratings. To merge this answer, remove that rating from the task."
        )
    return value is not None


def _row(answer: Answer, rater: str, task: Task, where: str) -> Row:
    try:
        checked_value(task, answer.elicitation, answer.value or "")
    except ValueError:
        raise TaskError(
            f"{where}: item {answer.item!r} ({answer.elicitation}): the answer is no longer one of "
            "the task's options or response sets. Restore them in task.yaml."
        ) from None
    row = {name: getattr(answer, name, rater) for name in COLUMNS}
    row |= {"swapped": YES} if answer.swapped else {}
    row |= {"comment": answer.comment} if answer.comment else {}
    return row | ({"flagged": YES} if answer.flagged else {})


def _write(path: Path, rows: Sequence[Row], *, mode: int) -> None:
    jsonl = msgspec.json.Encoder().encode_lines
    writers = {".csv": _csv, ".jsonl": jsonl, ".parquet": _parquet}
    encode = writers.get(path.suffix.lower())
    if encode is None:
        raise TaskError(f"{path}: the name of a table must end in .csv, .jsonl or .parquet.")
    with writing_to(path, TaskError):
        write_file(path, encode(rows), durable=True, mode=mode)


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Row]) -> bytes:
    return csv_text(rows, _columns(rows)).encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 -- only for parquet
    import pyarrow.parquet as pq  # noqa: PLC0415 -- the same

    columns = {
        name: [as_text(row[name]) if name in row else None for row in rows]
        for name in _columns(rows)
    }
    buffer = BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()

"""Append-only log of a rater's answers. Each is saved before the next question is shown.

The first line names the task and the rater. Each later line is an answer, a skip, or the
withdrawal of an earlier answer (with the value null). The last line for an item and elicitation
counts. Lines end with a checksum, as in the verdict log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct

from harness.errors import TaskError
from harness.files.checksummed_log import (
    ChecksummedLog,
    DamagedLine,
    encode,
    without_checksum,
)
from harness.files.regular_files import bounded_lines, reader
from harness.tasks.item import HumanElicitation, path_inside
from harness.tasks.model import JudgeElicitation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

    from harness.tasks import Task

FOLDER = "annotations"  # in the task's folder
SCHEMA_VERSION = 1
OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
StepKey = tuple[str, str]  # item and elicitation


class LogHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a log."""

    schema_version: int
    task: str
    rater: str


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rater's answer, skip or withdrawal.

    Attributes
    ----------
    item, elicitation : str
        The answered question.
    value : str, tuple of str or None
        An option key, a response set, or CANNOT_ASSESS; None withdraws the previous answer.
    rated_at : str
        Time in UTC, ISO 8601.
    form : str
        The item's form: ``paired`` if the rater was asked for a set and then a choice.
    instructions : str
        Version of the instructions shown: a prefix of their hash.
    is_check : bool
        Whether it answers an attention check and is therefore not a rating.
    shown : str
        Version of the item and the options as shown, or "" if unknown.
    swapped : bool
        Whether the two answers of a pairwise item were shown in reverse order. The value refers to
        the item's order.
    comment : str
        The rater's comment.
    flagged : bool
        Whether the rater flagged the item.
    skipped : bool
        Whether the rater skipped the question. The value is then None, and the skip counts.
    """

    item: str
    elicitation: HumanElicitation
    value: str | tuple[str, ...] | None
    rated_at: str
    form: JudgeElicitation
    instructions: str
    is_check: bool = False
    shown: str = ""
    swapped: bool = False
    comment: str = ""
    flagged: bool = False
    skipped: bool = False

    @property
    def key(self) -> StepKey:
        """The item's id and the elicitation."""
        return self.item, self.elicitation


@dataclass(slots=True)
class LoggedAnswers:
    """Contents of a rater's log."""

    rater: str
    answers: dict[StepKey, Answer] = field(default_factory=dict)  # current answers, latest last
    n_damaged: int = 0  # lines set aside because their checksum fails

    def add(self, answer: Answer) -> None:
        """Replay an answer or a withdrawal."""
        self.answers.pop(answer.key, None)
        if answer.value is not None or answer.skipped:
            self.answers[answer.key] = answer


def log_path(task: Task, rater: str) -> Path:
    """Return the path of a rater's log. Each rater has a separate file."""
    return path_inside(task.folder, f"{FOLDER}/{quote(rater, safe='')}.jsonl", "annotations")


def log_paths(task: Task) -> list[Path]:
    """List a task's logs in order of name."""
    return sorted(path_inside(task.folder, FOLDER, "annotations").glob("*.jsonl"))


def read_answers(path: Path, task: Task) -> LoggedAnswers:
    """Read a log. Damaged lines are counted, and an incomplete last line is ignored."""
    try:
        with reader(path) as file:
            lines = [line for line in bounded_lines(file) if line.endswith(b"\n")]
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror}).") from None
    if not lines:
        raise TaskError(f"{path}: the log is empty. Remove the file.")
    return _replayed(lines, path, task)


def _check_rater(logged: str, rater: str, path: Path) -> None:
    """Reject a different rater's log, which can have the same path if file names ignore case."""
    if logged != rater:
        raise TaskError(f"{path}: this log contains ratings by {logged!r}, not by {rater!r}.")


_decode_answer = msgspec.json.Decoder(Answer).decode


def _replayed(lines: Iterable[bytes], path: Path, task: Task) -> LoggedAnswers:
    first, *rest = lines
    header = _header(first, path)
    if header.task != task.name:
        raise TaskError(
            f"{path}: this log contains ratings for task {header.task!r}, not for {task.name!r}. "
            f"Move the file to a different folder."
        )
    logged = LoggedAnswers(header.rater)
    for line in rest:
        try:
            logged.add(_decode_answer(without_checksum(line)))
        except (DamagedLine, msgspec.MsgspecError, RecursionError):
            logged.n_damaged += 1
    return logged


def _header(line: bytes, path: Path) -> LogHeader:
    try:
        header = msgspec.json.decode(without_checksum(line), type=LogHeader)
    except (DamagedLine, msgspec.MsgspecError, RecursionError):
        raise TaskError(f"{path}: line 1 is damaged. Correct or remove the file.") from None
    if header.schema_version != SCHEMA_VERSION:
        raise TaskError(
            f"{path}: written in format {header.schema_version}, but this version reads "
            f"{SCHEMA_VERSION}. Use the version of judge-harness that wrote it."
        )
    return header


class RatingLog(ChecksummedLog):
    """A rater's open log and its contents. Only one process can open a log at a time."""

    logged: LoggedAnswers

    @classmethod
    def open(cls, task: Task, rater: str) -> Self:
        """Open or create a rater's log, lock it, cut off an incomplete last line and read it.

        Raises
        ------
        TaskError
            If the log is open in another process, belongs to another rater or task, or can't be
            written.
        """
        path = log_path(task, rater)
        try:
            path.parent.mkdir(mode=OWNER_FOLDER, exist_ok=True)
            header = encode(LogHeader(SCHEMA_VERSION, task.name, rater))
            log = cls(path, header=header, mode=OWNER_FILE, durable=True)
        except BlockingIOError:
            raise TaskError(
                f"{path}: another process is writing to this log. End that process, or rate "
                "under a different name."
            ) from None
        except OSError as error:
            raise TaskError(f"{path}: cannot be written ({error.strerror}).") from None
        try:
            log.logged = read_answers(path, task)
            _check_rater(log.logged.rater, rater, path)
        except BaseException:
            log.close()
            raise
        return log

    def add(self, answer: Answer) -> None:
        """Write an answer. It survives a power failure once this returns.

        Raises
        ------
        TaskError
            If the answer can't be written. Earlier answers are kept.
        """
        self.append([answer])
        self.logged.add(answer)

    def unwritable(self, error: OSError) -> TaskError:
        """Return the error for a failed write, which says that earlier ratings are safe."""
        return TaskError(
            f"{self.path}: cannot be written ({error.strerror}). Free some space. "
            "Earlier ratings are safe."
        )

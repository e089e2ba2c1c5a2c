"""Verdict log: append-only record of the replies that were received.

Lines are never changed. On reading, the newest success of each unit wins; a torn last line is cut
off, and a line whose checksum fails is set aside. Workers on a cluster write parts of their own,
which are read like the log and appended to it when they are written no longer. Runs in progress
leave notes on files that other runs must know: the note on the log of a run that was killed says
where its replies are.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.checksummed_log import ChecksummedLog, create_part, parts_of
from harness.errors import RunError, VerdictError
from harness.files import NO_DESCRIPTORS, reader, write_file
from harness.judging.parsing.verdict import (
    HEADER,
    Reply,
    Verdict,
    decode,
    encode,
    log_lines,
    newest,
)
from harness.user_folders import resume_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.tasks.schema import Elicitation

NOTE_NAME = re.compile(r"[0-9a-f]{64}")
REPLIES_PER_TRANSACTION = 1000  # when a log is read back


class UnitKey(NamedTuple):
    """Identifies the unit of a verdict within a run."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int


def unit_key(verdict: Verdict) -> UnitKey:
    """Return the unit that a verdict answers."""
    return UnitKey(verdict.judge, verdict.item, verdict.elicitation, verdict.sample)


class LogReading(NamedTuple):
    """Contents of a verdict log."""

    final: dict[UnitKey, Verdict]  # the newest success of each unit, else its newest failure
    damaged: list[bytes]  # lines that were set aside because their checksum fails


def read_log(path: Path) -> LogReading:
    """Replay a log and its parts; VerdictError if one cannot be read or is of another version."""
    final: dict[UnitKey, Verdict] = {}
    damaged: list[bytes] = []
    try:
        for _, _, line in log_lines(path):
            try:
                verdict = decode(line)
            except VerdictError:
                damaged.append(line)
                continue
            key = unit_key(verdict)
            final[key] = newest(verdict, final.get(key))
    except OSError as error:
        where = error.filename or path
        raise VerdictError(f"{where}: cannot be read ({error.strerror}).") from None
    return LogReading(final, damaged)


class VerdictLog(ChecksummedLog):
    """An open verdict log; only one process can have it open."""

    @classmethod
    def open(cls, path: Path) -> VerdictLog:
        """Open or create a log; RunError if another process has it open, or the disk refuses."""
        try:
            return cls(path, header=HEADER)
        except BlockingIOError:
            raise RunError(
                f"{path.parent}: another process is writing to this run; wait for it."
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}).") from None

    def append(self, verdicts: Iterable[Verdict]) -> None:
        """Write verdicts in one call; they are safe when it returns, else there is a RunError."""
        try:
            self.write(b"".join(map(encode, verdicts)))
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); what it holds is safe. "
                f"Free some space, then `{resume_command(self.path.parent)}`."
            ) from None


def open_part(log: Path) -> VerdictLog:
    """Create a part of a verdict log and open it; no other process writes to it.

    Raises
    ------
    RunError
        If it cannot be created.
    """
    try:
        return VerdictLog.open(create_part(log))
    except OSError as error:
        raise RunError(f"{log.parent}: cannot be written ({error.strerror}).") from None


def merge_parts(log: VerdictLog) -> None:
    """Append to an open log what counts of its parts, and remove these.

    Parts that somebody writes to stay, and those with damaged lines.

    Raises
    ------
    RunError
        If a part cannot be read, or the log not be written; nothing is removed then.
    VerdictError
        If a part has a format of another version.
    """
    with ExitStack() as opened:
        try:
            complete = [part for part in parts_of(log.path) if _is_complete(part, opened)]
            if complete:
                damaged = _append_parts(log)
        except OSError as error:
            where = error.filename or log.path
            raise RunError(f"{where}: cannot be read ({error.strerror}).") from None
        for part in complete:
            if part not in damaged:
                with suppress(OSError):  # it is read and merged again
                    part.unlink()


def _is_complete(part: Path, opened: ExitStack) -> bool:
    """Lock a part and cut off a torn last line, unless another process is writing to it."""
    try:
        opened.enter_context(VerdictLog.open(part))
    except RunError:
        return False
    return True


def _append_parts(log: VerdictLog) -> set[Path]:
    """Append the verdicts of parts that count; return the files with damaged lines."""
    final: dict[UnitKey, Verdict] = {}
    own: dict[UnitKey, Verdict] = {}
    damaged: set[Path] = set()
    for file, _, line in log_lines(log.path):
        try:
            verdict = decode(line)
        except VerdictError:
            damaged.add(file)
            continue
        key = unit_key(verdict)
        final[key] = newest(verdict, final.get(key))
        if file == log.path:
            own[key] = newest(verdict, own.get(key))
    log.append(verdict for key, verdict in final.items() if own.get(key) is not verdict)
    return damaged


class RunNote(NamedTuple):
    """A file of a run, with its identity, the run's process and when the note was left."""

    path: Path
    identity: str
    process: int
    since: str


class RunNotes:
    """Notes in one folder; whatever else lies there is ignored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all notes; none where the folder is not created yet, or deleted."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return list(filter(NOTE_NAME.fullmatch, os.listdir(self._folder)))  # noqa: PTH208 -- faster
        return []

    def read(self, name: str) -> RunNote | None:
        """Read a note; None if it was removed, or is none."""
        try:
            with reader(self._folder / name) as file:
                identity, process, since = file.readline().decode().rstrip().split(" ", 2)
                path = Path(os.fsdecode(file.read()))
            note = RunNote(path, identity, int(process), since)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) in NO_DESCRIPTORS:
                raise
            return None
        return note if name == note_name(path) else None

    def read_all(self) -> list[RunNote]:
        """Read all notes."""
        return [note for name in self.names() if (note := self.read(name))]

    def leave(self, file: Path) -> None:
        """Leave a note on a file of this process's run."""
        self._folder.mkdir(exist_ok=True)
        heading = f"{identity_of(file)} {os.getpid()} {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        write_file(self._folder / note_name(file), heading.encode() + bytes(file))

    def remove(self, file: Path) -> None:
        """Remove the note on a file, if there is one."""
        (self._folder / note_name(file)).unlink(missing_ok=True)

    def adopt(self, name: str, add_many: Callable[[Sequence[Reply]], None]) -> None:
        """Store the replies in the log that a note is on, and remove the note.

        Another run's log that lies there is left alone. With a VerdictError the note stays.
        """
        if note := self.read(name):
            if note.identity == identity_of(note.path):
                final = read_log(note.path).final.values()
                replies = (r for verdict in final if not verdict.cached for r in verdict.replies)
                while batch := list(islice(replies, REPLIES_PER_TRANSACTION)):
                    add_many(batch)
            self.remove(note.path)


def note_name(file: Path) -> str:
    """Return the name of the note on a file."""
    return sha256(bytes(file)).hexdigest()


def identity_of(file: Path) -> str:
    """Return what tells a file of a run from a copy, and from that of another run at its path.

    It is made of the file's inode, the inode of the run's copy of the task, and the time at which
    the system wrote that, which no run changes and no copy keeps.
    """
    parts = []
    with suppress(OSError):
        parts.append(file.lstat().st_ino)
        task = (file.parent / "task" / "task.yaml").lstat()
        parts += [task.st_ino, task.st_ctime_ns]
    return "-".join(map(str, parts)) or "missing"

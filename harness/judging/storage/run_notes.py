"""Notes in a cache of the files that runs in progress write.

A note on a verdict log that is left by a run that was killed says where its replies are.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import VerdictError
from harness.files import NO_DESCRIPTORS, reader, write_file
from harness.judging.storage.verdict_log import replay, replies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.judging.parsing.verdict import Reply

NAME = re.compile(r"[0-9a-f]{64}")
REPLIES_PER_TRANSACTION = 1000  # when a log is read back


class RunNote(NamedTuple):
    """A file of a run, with its identity, the run's process and when the note was left."""

    path: Path
    identity: str
    process: int
    since_s: float

    def recover(self, add_many: Callable[[Sequence[Reply]], None]) -> None:
        """Store the replies in the verdict log that this is on, unless another run's lies there.

        Raises
        ------
        OSError
            If the log cannot be read now.
        """
        if self.identity != identity_of(self.path):
            return
        with suppress(VerdictError):
            final = replay(self.path).final.values()
            replies = (r for verdict in final if not verdict.cached for r in replies_of(verdict))
            while batch := list(islice(replies, REPLIES_PER_TRANSACTION)):
                add_many(batch)


class RunNotes:
    """Notes in one folder; whatever else lies there is ignored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names of all notes; none where the folder is not created yet, or deleted."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 -- at every look-up
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in names if NAME.fullmatch(name)]

    def read(self, name: str) -> RunNote | None:
        """Read a note; None if it was removed, or is none."""
        try:
            with reader(self._folder / name) as file:
                identity, process = file.readline().decode().split()
                path, status = Path(os.fsdecode(file.read())), os.fstat(file.fileno())
            note = RunNote(path, identity, int(process), status.st_mtime)
        except ValueError:
            return None
        except OSError as error:
            if error.errno in NO_DESCRIPTORS:
                raise
            return None
        return note if name == note_name(path) else None

    def read_all(self) -> list[RunNote]:
        """Read all notes."""
        return [note for name in self.names() if (note := self.read(name))]

    def leave(self, file: Path) -> None:
        """Leave a note on a file of this process's run."""
        self._folder.mkdir(exist_ok=True)
        heading = f"{identity_of(file)} {os.getpid()}\n"
        write_file(self._folder / note_name(file), heading.encode() + bytes(file))

    def remove(self, file: Path) -> None:
        """Remove the note on a file, if there is one."""
        (self._folder / note_name(file)).unlink(missing_ok=True)


def note_name(file: Path) -> str:
    """Return the name of the note on a file."""
    return hashlib.sha256(bytes(file)).hexdigest()


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

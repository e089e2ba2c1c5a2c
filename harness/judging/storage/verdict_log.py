"""Verdict log, an append-only record of received replies.

Lines are never changed. On reading, the newest success of each unit wins, an incomplete last line
is cut off, and lines that fail their checksum are set aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.errors import RunError, VerdictError
from harness.files.checksummed_log import ChecksummedLog
from harness.files.user_folders import resume_command
from harness.judging.parsing.verdict import (
    HEADER,
    Verdict,
    decode,
    log_lines,
    newest,
)

if TYPE_CHECKING:
    from pathlib import Path

    from harness.tasks.item import Elicitation

REPLIES_PER_TRANSACTION = 1000  # replies stored at once when a log is copied


class UnitKey(NamedTuple):
    """Identifier of a verdict's unit within a run."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int


def unit_key(verdict: Verdict) -> UnitKey:
    """Return the key of the unit that a verdict answers."""
    return UnitKey(verdict.judge, verdict.item, verdict.elicitation, verdict.sample)


class LogReading(NamedTuple):
    """Contents of a verdict log."""

    final: dict[UnitKey, Verdict]  # the newest success of each unit, else its newest failure
    damaged: list[bytes]  # lines that were set aside because their checksum fails


def read_log(path: Path) -> LogReading:
    """Read a log. Raise `VerdictError` if it cannot be read or has a different version."""
    final: dict[UnitKey, Verdict] = {}
    damaged: list[bytes] = []
    try:
        for _, line in log_lines(path):
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
    """Verdict log that is open for writing, which only one process can do.

    Attributes
    ----------
    server : tuple of str
        Options for the location of the run's judges.
    """

    server: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, server: tuple[str, ...] = ()) -> VerdictLog:
        """Open or create a log. Raise `RunError` if this fails or another process has it open."""
        try:
            log = cls(path, header=HEADER)
        except BlockingIOError:
            raise RunError(
                f"{path.parent}: another process is writing to this run. Wait until that "
                "process ends."
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}).") from None
        log.server = server
        return log

    def unwritable(self, error: OSError) -> RunError:
        """Return an error for a failed write, with instructions for continuing the run."""
        command = resume_command(self.path.parent, options=self.server)
        return RunError(
            f"{self.path}: cannot be written ({error.strerror}). Its contents are safe. "
            f"Free some space, then `{command}`."
        )

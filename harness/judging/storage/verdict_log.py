"""Verdict log: append-only record of the replies that were received.

Lines are never changed. On reading, the newest success of each unit wins; a torn last line is cut
off, and a line whose checksum fails is set aside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from harness.checksummed_log import ChecksummedLog
from harness.errors import RunError, VerdictError
from harness.files import bounded_lines, reader
from harness.judging.parsing.verdict import HEADER, Reply, Verdict, check_header, decode, encode
from harness.user_folders import resume_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Self

    from harness.judging.prompts.requests import Elicitation

REPLY_FIELDS = tuple(name for name in Reply.__struct_fields__ if name != "text")


class UnitKey(NamedTuple):
    """Identifies the unit of a verdict within a run."""

    judge: str
    item: str
    elicitation: Elicitation
    sample: int


def unit_key(verdict: Verdict) -> UnitKey:
    """Return the unit that a verdict answers."""
    return UnitKey(verdict.judge, verdict.item, verdict.elicitation, verdict.sample)


@dataclass(slots=True)
class LogReading:
    """Contents of a verdict log.

    Attributes
    ----------
    final : dict of UnitKey to Verdict
        The newest success of each unit, else its newest failure.
    n_lines : int
        Readable verdict lines.
    damaged : list of bytes
        Lines that were set aside because their checksum fails.
    """

    final: dict[UnitKey, Verdict] = field(default_factory=dict)
    n_lines: int = 0
    damaged: list[bytes] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """Replay one line."""
        self.n_lines += 1
        key = unit_key(verdict)
        previous = self.final.get(key)
        if previous is None or previous.outcome == "failed" or verdict.outcome != "failed":
            self.final[key] = verdict


def read_log(path: Path) -> LogReading:
    """Replay a log file; damaged lines are set aside, not raised.

    Raises
    ------
    VerdictError
        If the file cannot be opened or has a format of another version.
    """
    try:
        return replay(path)
    except OSError as error:
        raise VerdictError(f"{path}: cannot be read ({error.strerror}).") from None


def replay(path: Path) -> LogReading:
    """Replay a log file as `read_log`; OSError if it cannot be opened or a line is too long."""
    reading = LogReading()
    with reader(path) as file:
        lines = bounded_lines(file)
        check_header(next(lines, b""), path)
        for line in lines:
            try:
                reading.add(decode(line))
            except VerdictError:
                reading.damaged.append(line)
    return reading


class VerdictLog(ChecksummedLog):
    """An open verdict log; only one process can have it open."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create a log for appending, lock it and cut off a torn last line.

        Raises
        ------
        RunError
            If another process has it open, or the folder cannot be written to.
        """
        try:
            return cls(path, header=HEADER)
        except BlockingIOError:
            raise RunError(
                f"{path.parent}: another process is writing to this run; wait for it."
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}).") from None

    def append(self, verdicts: Iterable[Verdict]) -> None:
        """Write verdicts in one call; they are safe when it returns.

        Raises
        ------
        RunError
            If not all could be written. Earlier lines and those written whole stay readable.
        """
        try:
            self.write(b"".join(map(encode, verdicts)))
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); what it holds is safe. "
                f"Free some space, then `{resume_command(self.path.parent)}`."
            ) from None


def replies_of(verdict: Verdict) -> Iterator[Reply]:
    """Yield the replies that a verdict holds, as they were received."""
    if verdict.first is not None:
        yield verdict.first
    if verdict.reply is None:
        return
    members = {name: getattr(verdict, name) for name in REPLY_FIELDS}
    yield Reply(text=verdict.reply, **members)

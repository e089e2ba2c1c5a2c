"""Read and write a run's re-validation history, the append-only file ``history.jsonl``.

Each line is a baseline or a round, with its checksum. A line contains the replies as categories,
item by item, so that every test can be replayed from only the history. It doesn't contain any
texts.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from harness.errors import RunError
from harness.files.checksummed_log import ChecksummedLog, DamagedLine, without_checksum
from harness.files.regular_files import read_file
from harness.revalidation.records import SCHEMA_VERSION, Baseline, Look
from harness.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from typing import Self

FILE = "history.jsonl"
KEPT = "The replies are kept. Free some space, then repeat the command."


@dataclass(slots=True)
class HistoryReading:
    """Contents of a history in file order.

    Damaged lines are left out and counted; ``n_damaged_last`` is the number after the last round.
    """

    baselines: list[Baseline] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    n_damaged: int = 0
    n_damaged_last: int = 0

    def add(self, record: Baseline | Look) -> None:
        """Add a record. It replaces an earlier record with the same number.

        The replaced line is a baseline with fewer replies, or a round as assessed before the
        exclusion of a different one.
        """
        if isinstance(record, Look):
            self.n_damaged_last = 0
            self.looks = [look for look in self.looks if look.number != record.number]
            self.looks.append(record)
            self.looks.sort(key=lambda look: look.number)
            return
        if self.baselines and self.baselines[-1].number == record.number:
            self.baselines.pop()
        self.baselines.append(record)

    @property
    def baseline(self) -> Baseline | None:
        """The newest baseline."""
        return self.baselines[-1] if self.baselines else None

    @property
    def looks_since_baseline(self) -> list[Look]:
        """The rounds that are compared with the newest baseline."""
        number = self.baselines[-1].number if self.baselines else 0
        return [look for look in self.looks if look.baseline == number]

    def last_look_at(self, judges: Collection[str]) -> Look | None:
        """Return the last round, for any baseline, that watched at least the given judges."""
        looks = (look for look in reversed(self.looks) if all(map(look.judge, judges)))
        return next(looks, None)

    def last(self, n: int | None) -> HistoryReading:
        """Return the history with its last ``n`` rounds, or all if None."""
        looks = self.looks if n is None else self.looks[max(len(self.looks) - n, 0) :]
        return HistoryReading(self.baselines, looks, self.n_damaged)

    @property
    def first_unused_occasion(self) -> int:
        """The first occasion number that the history has not used."""
        asked = [line.occasion for line in self.baselines] + [look.occasion for look in self.looks]
        return (
            1 + max(asked, default=0) + self.n_damaged
        )  # so that a lost line's replies aren't used again


def read_history(path: Path) -> HistoryReading:
    """Read a history. Skip an incomplete last line and damaged lines.

    Raises
    ------
    RunError
        If the file can't be read or was written by a different version.
    """
    reading = HistoryReading()
    try:
        content = read_file(path)
    except FileNotFoundError:
        return reading
    except OSError as error:
        raise RunError(f"{path}: can't be read ({error.strerror}).") from None
    for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
        try:
            record = _decoded(without_checksum(line), path)
        except DamagedLine:
            reading.n_damaged += 1
            reading.n_damaged_last += 1
        else:
            reading.add(record)
    return reading


def _of_another_version(path: Path) -> RunError:
    """Return the error for a history from a different version, with ways to continue without it."""
    folder, aside = path.parent, path.parent.with_name(f"{path.parent.name}.old")
    if (folder / "verdicts.jsonl").exists():
        old = [file for file in (path, folder / "looks") if file.exists()]
        moves = [shlex.join(map(str, words)) for words in (["mkdir", aside], ["mv", *old, aside])]
        again = f": {' && '.join([*moves, RunFolder.open(folder).location.command_to_watch()])}"
    else:
        new = shlex.quote(f"{folder}.new")
        again = f" from a finished run: harness revalidate export RUN {new}  # RUN: that run"
    return RunError(
        f"{path}: a different version of judge-harness wrote this baseline. Make a new "
        f"baseline{again}"
    )


class HistoryFile(ChecksummedLog):
    """Open history file. Only one process can have it open."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open or create a run folder's history, lock it, and remove an incomplete last line.

        Raises
        ------
        RunError
            If another process re-validates this run, or the file cannot be written.
        """
        path = folder / FILE
        try:
            return cls(path)
        except BlockingIOError:
            raise RunError(
                f"{folder}: another process is re-validating this run, so nothing was sent here."
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror}).") from None

    def unwritable(self, error: OSError) -> RunError:
        """Return the error for a history that cannot be written. It says that replies are kept."""
        return RunError(f"{self.path}: can't be written ({error.strerror}). {KEPT}")


_DECODER = msgspec.json.Decoder(Baseline | Look)


def _decoded(body: bytes, path: Path) -> Baseline | Look:
    try:
        record: Baseline | Look = _DECODER.decode(body)
        for time in record.times if isinstance(record, Look) else (record.at,):
            datetime.fromisoformat(time)
    except (ValueError, RecursionError):
        raise _of_another_version(path) from None
    if isinstance(record, Baseline) and record.schema_version != SCHEMA_VERSION:
        raise _of_another_version(path)
    return record

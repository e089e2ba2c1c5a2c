"""Reserved requests in submitted batches, which outlive the process that sent them.

Each run with such requests has a file in one folder of the cache, rewritten after each change.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from harness.errors import RunError
from harness.files.regular_files import read_file, write_file
from harness.files.user_folders import resume_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FILE_NAME = re.compile(r"[0-9a-f]{64}\.json")


class Holding(msgspec.Struct, frozen=True):
    """Requests reserved for one judge of a run until ``until_s``, in seconds since 1970."""

    judge: str
    until_s: float
    requests: frozenset[str]


class RunHoldings(msgspec.Struct, frozen=True):
    """Requests reserved for a run folder. ``server`` has the options to resume the run."""

    run: str
    holdings: tuple[Holding, ...] = ()
    server: tuple[str, ...] = ()

    @property
    def requests(self) -> frozenset[str]:
        """All requests reserved for the run."""
        return frozenset().union(*(holding.requests for holding in self.holdings))


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(RunHoldings).decode


class _Snapshot(NamedTuple):
    """Contents of a file, with the file's state when it was read."""

    state: tuple[int, int, int]
    content: RunHoldings


class HeldRequests:
    """Registry of the requests in one cache that are reserved for runs.

    Parameters
    ----------
    folder : Path
        Folder with a file per run; created for the first one.
    say : callable
        Receives one line for each run whose requests are no longer held.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._own = ""
        self._snapshots: dict[str, _Snapshot] = {}

    def hold(self, run: Path, holdings: Sequence[Holding], *, server: tuple[str, ...] = ()) -> None:
        """Reserve requests for a run folder, replacing its earlier reservations.

        ``server`` are the options for the location of the run's judges.

        Raises
        ------
        RunError
            If the file cannot be written.
        """
        path = str(run.resolve())
        self._own = sha256(path.encode()).hexdigest() + ".json"
        try:
            if not holdings:
                (self._folder / self._own).unlink(missing_ok=True)
                return
            self._folder.mkdir(exist_ok=True)
            write_file(
                self._folder / self._own, _ENCODE(RunHoldings(path, tuple(holdings), server))
            )
        except OSError as error:
            raise RunError(f"{self._folder}: cannot be written ({error.strerror}).") from None

    def find(self, requests: Sequence[str]) -> Mapping[str, str]:
        """Map requests reserved for other runs to the command that collects the reply.

        Raises
        ------
        RunError
            If the file of a run cannot be read.
        """
        commands: dict[str, str] = {}
        for name in self._names():
            content = self._read(name)
            if content is None:
                continue
            held = content.requests.intersection(requests)
            command = resume_command(Path(content.run), self._folder.parent, options=content.server)
            commands |= dict.fromkeys(held, command)
        return commands

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self._folder)  # noqa: PTH208 -- faster than Path.iterdir
            return [n for n in names if n != self._own and FILE_NAME.fullmatch(n)]
        return []

    def _read(self, name: str) -> RunHoldings | None:
        """Return the unexpired contents of a file, or None if there are none."""
        path = self._folder / name
        try:
            status = path.lstat()
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            snapshot = self._snapshots.get(name)
            if snapshot is None or snapshot.state != state:
                content = self._current(_DECODE(read_file(path)), path)
                snapshot = self._snapshots[name] = _Snapshot(state, content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "damaged"
            raise RunError(
                f"{path}: cannot be read ({reason}), so its requests might be paid for twice. "
                "Repair the file, or choose a different cache with --cache DIR."
            ) from None
        return snapshot.content

    def _current(self, content: RunHoldings, path: Path) -> RunHoldings:
        """Drop reservations of deleted runs and reservations that are too old."""
        if not Path(content.run).is_dir():
            with suppress(OSError):
                path.unlink()
            self._say(
                f"{content.run} no longer exists, so the requests in its batches are sent again"
            )
            return RunHoldings(content.run)
        lasting = tuple(h for h in content.holdings if h.until_s > time.time())
        if len(lasting) < len(content.holdings):
            self._say(
                f"{content.run}: the results of its batches have expired, so their requests "
                "are sent again"
            )
        return RunHoldings(content.run, lasting, content.server)

    def __repr__(self) -> str:
        return f"HeldRequests({self._folder})"

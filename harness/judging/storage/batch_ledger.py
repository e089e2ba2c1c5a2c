"""Batches that were handed in and not got back: a run's own, and those of all runs on one cache."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import RunError
from harness.judging.cache_folder import leave_note, note_of, read_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

RESULTS_KEPT_S = 29 * 86400.0  # by Anthropic; by OpenAI a day longer


class Ticket(NamedTuple):
    """A batch that was or is about to be handed in.

    ``token`` is ours, ``created`` in seconds since 1970, ``id`` the provider's, empty while it is
    not known whether the batch was received; ``requests`` are the hashes of what is in it.
    """

    judge: str
    token: str
    created: float
    n: int
    id: str = ""
    requests: Sequence[str] = ()


class Book:
    """Batches that were handed in and whose results are not all in the log: ``batches.json``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tickets: list[Ticket] = []
        if path.exists():
            try:
                self.tickets = [Ticket(**entry) for entry in json.loads(path.read_bytes())]
            except (OSError, ValueError, TypeError):
                raise RunError(
                    f"{path}: cannot be read, so batches might be handed in twice; put it right, "
                    "or remove it when no batch of this run is outstanding."
                ) from None

    def put(self, ticket: Ticket) -> None:
        """Write down a batch, in the place of what was known of it."""
        self.tickets = [one for one in self.tickets if one.token != ticket.token] + [ticket]
        self._save()

    def drop(self, ticket: Ticket) -> None:
        """Forget a batch whose results are in the log, or that was never received."""
        self.tickets = [one for one in self.tickets if one.token != ticket.token]
        self._save()

    def _save(self) -> None:
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            part.write_text(json.dumps([one._asdict() for one in self.tickets]), encoding="utf-8")
            part.replace(self.path)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror}).") from None


class _Page(NamedTuple):
    """What a book held when it was last read, by judge, and which state of the file that was."""

    state: tuple[int, int, int]
    requests: dict[str, set[str]]


class Shelf:
    """The books of all runs on one cache: what none of them may ask for again.

    A run that hands in batches leaves a note where its book is, before it does and for as long as
    anything is outstanding. Books are read when they have changed; of each, the hashes of at most
    one batch per judge are held.

    Parameters
    ----------
    folder : Path
        Where the notes are.
    say : callable
        Is told, in one line, of batches that are no longer waited for.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._own: Path | None = None
        self._pages: dict[Path, _Page] = {}

    def add(self, book: Path) -> None:
        """Leave a note where our own book is."""
        self._own = book.resolve()
        self._folder.mkdir(exist_ok=True)
        leave_note(self._folder, self._own)

    def close(self) -> None:
        """Take our note away, unless something is outstanding."""
        with suppress(RunError, OSError):
            if self._own and not Book(self._own).tickets:
                note_of(self._folder, self._own).unlink(missing_ok=True)

    def awaited(self, requests: Sequence[str], judge: str) -> dict[str, Path]:
        """Tell which requests are outstanding, and the folder of the run that handed them in.

        Those that ``judge`` itself has handed in for this run are not among them.

        Raises
        ------
        RunError
            If a run's book cannot be read.
        """
        found: dict[str, Path] = {}
        for book in self._books():
            for owner, outstanding in self._read(book).items():
                if book != self._own or owner != judge:
                    found |= dict.fromkeys(outstanding.intersection(requests), book.parent)
        return found

    def _books(self) -> Iterator[Path]:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 -- at every look
        except FileNotFoundError:
            return  # before there is a note
        for name in names:
            if not name.endswith(".part"):
                with suppress(FileNotFoundError):  # it was taken away just now
                    yield read_note(self._folder / name)

    def _read(self, book: Path) -> dict[str, set[str]]:
        """Hashes of what is outstanding, by judge."""
        try:
            status = book.stat()
        except (FileNotFoundError, NotADirectoryError):
            if not book.parent.is_dir():
                note_of(self._folder, book).unlink(missing_ok=True)
                self._say(f"{book.parent} is gone; what it waited for in batches is asked again")
            return {}
        except OSError as error:
            raise RunError(
                f"{book}: cannot be read ({error.strerror}), so what waits in batches might be "
                "asked for twice; put it right, or choose another cache with --cache DIR."
            ) from None
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._pages.get(book)
        if known is None or known.state != state:
            known = self._pages[book] = _Page(state, self._outstanding(book))
        return known.requests

    def _outstanding(self, book: Path) -> dict[str, set[str]]:
        requests: dict[str, set[str]] = {}
        for ticket in Book(book).tickets:
            if time.time() - ticket.created < RESULTS_KEPT_S:
                requests.setdefault(ticket.judge, set()).update(ticket.requests)
            elif book != self._own:
                self._say(
                    f"{book.parent}: batch {ticket.id} is older than 29 days, so that its results "
                    "are no longer kept; what it held is asked again"
                )
        return requests

"""Writes verdicts down, lets them count only then, and brings their replies into the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.storage.response_cache import CacheUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.running.jobs import Observer
    from harness.judging.running.services import CacheService
    from harness.judging.storage.verdict_log import VerdictLog

FLUSH_EVERY_S = 0.2  # how long a logged reply may wait for its place in the store
FLUSH_AGAIN_S = 5.0  # after it could not be stored: a lock is waited for each time


class Recorder:
    """The way of every verdict: the log, the observer, the store.

    Parameters
    ----------
    log : VerdictLog
        Where verdicts are written; afterwards their replies are received.
    store : CacheService
        Where replies go from there, and whose leases on them are given back then.
    observer : Observer
        Is told of what was written.
    stop : callable
        Is called when the log cannot be written: what came back later could not either.
    """

    def __init__(
        self, log: VerdictLog, store: CacheService, observer: Observer, stop: Callable[[], None]
    ) -> None:
        self._log = log
        self._store = store
        self._observer = observer
        self._stop = stop
        self._unwritten: list[tuple[str, Sequence[Verdict], Sequence[Reply]]] = []
        self._unstored: list[Reply] = []

    async def record_soon(
        self, judge: str, verdicts: Sequence[Verdict], received: Sequence[Reply]
    ) -> None:
        """Write verdicts down, in one go with all others whose replies came at the same time.

        Raises
        ------
        RunError
            Here and in `record`: if they cannot be written.
        """
        self._unwritten.append((judge, verdicts, received))
        try:
            await asyncio.sleep(0)
        finally:
            self._write()

    def record(
        self, judge: str, verdicts: Sequence[Verdict], received: Sequence[Reply] = ()
    ) -> None:
        """Write verdicts down, and with them what was received for them."""
        self._unwritten.append((judge, verdicts, received))
        self._write()

    def _write(self) -> None:
        if not self._unwritten:
            return
        records, self._unwritten = self._unwritten, []
        for _, _, received in records:
            self._unstored += received  # even if the log has no room for them: the store may have
        try:
            self._log.append(verdict for _, verdicts, _ in records for verdict in verdicts)
        except RunError:
            self._stop()
            raise
        for judge, verdicts, _ in records:
            self._observer.advanced(judge, verdicts)

    async def flush_regularly(self) -> None:
        """Flush again and again, for others to find what they wait for."""
        pause_s = FLUSH_EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = FLUSH_EVERY_S if self.flush() else FLUSH_AGAIN_S

    def flush(self, *, last: bool = False) -> bool:
        """Bring what is in the log into the store, too; only then may others ask for it.

        Returns False if that was not possible now.
        """
        if not self._unstored:
            return True
        try:
            self._store.add_many(self._unstored)
        except CacheUnwritable as error:
            if last:
                self._observer.say(f"{error}; the replies are safe in {self._log.path}")
            return False
        for reply in self._unstored:
            self._store.locks.release(reply.request)
        self._unstored.clear()
        return True

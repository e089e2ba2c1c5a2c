"""Records verdicts: first in the log, then for the observer; their replies go to the cache."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.storage.response_cache import CacheUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.running.services import Cache, Observer
    from harness.judging.storage.verdict_log import VerdictLog

FLUSH_EVERY_S = 0.2  # how long a logged reply may wait to be stored
FLUSH_AGAIN_S = 5.0  # after a failure, which may have waited for a lock


class Recorder:
    """Writes verdicts to the log, reports them, and stores their replies.

    Parameters
    ----------
    log : VerdictLog
        Where verdicts are written; afterwards their replies are received.
    cache : Cache
        Where their replies are stored; the locks on their requests are released then.
    observer : Observer
        Receives what was written.
    stop : callable
        Called when the log cannot be written.
    """

    def __init__(
        self, log: VerdictLog, cache: Cache, observer: Observer, stop: Callable[[], None]
    ) -> None:
        self._log = log
        self._cache = cache
        self._observer = observer
        self._stop = stop
        self._unwritten: list[tuple[str, Sequence[Verdict], Sequence[Reply]]] = []
        self._unstored: list[Reply] = []

    async def record_soon(
        self, judge: str, verdicts: Sequence[Verdict], received: Sequence[Reply]
    ) -> None:
        """Write verdicts in one call with all others that are recorded at the same time.

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
        """Write verdicts, and keep what was received for them to be stored."""
        self._unwritten.append((judge, verdicts, received))
        self._write()

    def write_only(self, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts to the log that are not final."""
        self._log.append(verdicts)

    def _write(self) -> None:
        if not self._unwritten:
            return
        records, self._unwritten = self._unwritten, []
        for _, _, received in records:
            self._unstored += received  # even if the log is full: the cache may not be
        try:
            self._log.append(verdict for _, verdicts, _ in records for verdict in verdicts)
        except RunError:
            self._stop()
            raise
        for judge, verdicts, _ in records:
            self._observer.advanced(judge, verdicts)

    async def flush_regularly(self) -> None:
        """Flush at intervals, so that other runs find the replies that they wait for."""
        pause_s = FLUSH_EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = FLUSH_EVERY_S if self.flush() else FLUSH_AGAIN_S

    def flush(self, *, last: bool = False) -> bool:
        """Store replies that are in the log; return False if that is not possible now."""
        if not self._unstored:
            return True
        try:
            self._cache.add_many(self._unstored)
        except CacheUnwritable as error:
            if last:
                self._observer.say(f"{error}; the replies are safe in {self._log.path}")
            return False
        for reply in self._unstored:
            self._cache.locks.release(reply.request)
        self._unstored.clear()
        return True

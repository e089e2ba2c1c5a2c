"""A wall deadline around each of many calls, all of the same length; one timer serves them all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType


class Deadline:
    """Ends what takes longer than ``seconds``; a context that many tasks may be in at once.

    A task that is cancelled for it sees `TimeoutError` come out of the context, as with
    `asyncio.timeout`; one that is cancelled for another reason as well stays cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any] | None, float] = {}  # those that end first stand first
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        self._ends[asyncio.current_task()] = end
        if self._timer is None:
            self._timer = loop.call_at(end, self._end_late)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        late = self._ends.pop(task, None) is None
        if late and task and task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                self._timer = loop.call_at(end, self._end_late)
                break
            del self._ends[task]
            if task:
                task.cancel()

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g} s, {len(self._ends)} calls)"

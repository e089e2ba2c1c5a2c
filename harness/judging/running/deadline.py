"""A wall deadline around each of many calls, all of the same length; one timer serves them all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")


class Deadline:
    """Ends what takes longer than ``seconds``, however many tasks wait for something at once.

    A task that is cancelled for it sees `TimeoutError`, as with `asyncio.timeout`; one that is
    cancelled for another reason as well stays cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}  # those that end first stand first
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, call: Awaitable[T]) -> T:
        """Wait for a call.

        Raises
        ------
        TimeoutError
            If it took too long.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        end = loop.time() + self._seconds
        self._ends[task] = end
        if self._timer is None:
            self._timer = loop.call_at(end, self._end_late)
        try:
            result = await call
        except BaseException as error:
            if self._was_late(task) and isinstance(error, asyncio.CancelledError):
                raise TimeoutError from error
            raise
        self._was_late(task)
        return result

    def _was_late(self, task: asyncio.Task[Any]) -> bool:
        """Stop a task's clock; tell whether the task was cancelled for being late, and only so."""
        return self._ends.pop(task, None) is None and task.uncancel() == 0

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                self._timer = loop.call_at(end, self._end_late)
                break
            del self._ends[task]
            task.cancel()

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g} s, {len(self._ends)} calls)"

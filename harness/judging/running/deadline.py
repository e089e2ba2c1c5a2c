"""Time limit of calls that all may take equally long, with one timer for all of them.

`asyncio.timeout` does the same for one call, with a timer of its own; that takes a tenth of all the
CPU that a request costs.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Deadline:
    """A context, for many tasks at once, that ends with `TimeoutError` after ``seconds``.

    A task that is cancelled for another reason as well stays cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}  # in the order in which they end
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        end = self._ends[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(end, self._cancel_late)

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._ends.pop(task, None) is not None:
            return
        if task.uncancel() == 0 and error_type is asyncio.CancelledError:
            raise TimeoutError

    def _cancel_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                self._timer = loop.call_at(end, self._cancel_late)
                break
            del self._ends[task]
            task.cancel()

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g} s, {len(self._ends)} calls)"

"""Calls of API functions in scripts and in notebooks, limited to one run at a time."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from harness.app.run import LineObserver

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.judging.running.stopping import StopRequests

Result = TypeVar("Result")
LOG = logging.getLogger("harness")
TURN = threading.Lock()  # runs take turns, because request locks belong to the process


class LogObserver(LineObserver):
    """Observer that logs messages for the user."""

    def say(self, line: str) -> None:
        """Log a line."""
        LOG.warning("%s", line)


def wait_for(function: Callable[[], Result], stop: StopRequests) -> Result:
    """Call a function, in a separate thread if an event loop is running, as in a notebook.

    An interrupt of the calling thread then becomes a stop request.
    """
    if not _loop_is_running():
        return function()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(function)
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                stop.request()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

"""State of the whole process, such as environment variables, that is changed for a while alone."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager


@contextmanager
def variables_set(**variables: str) -> Iterator[None]:
    """Set environment variables that a library reads when it is imported or called."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def silenced(loggers: Collection[str], warnings_about: Collection[str] = ()) -> Iterator[None]:
    """Let loggers pass nothing on, and ignore warnings whose message matches one of these."""
    own = [(logging.getLogger(name), logging.getLogger(name).level) for name in loggers]
    with warnings.catch_warnings():
        for message in warnings_about:
            warnings.filterwarnings("ignore", message)
        for logger, _ in own:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in own:
                logger.setLevel(level)


class SharedBlock:
    """A block that may be entered again before it was left: the first opens it, the last closes.

    Parameters
    ----------
    opened : callable
        Returns the context manager of the block.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[None]]) -> None:
        self._opened = opened
        self._mutex = threading.Lock()
        self._n_inside = 0
        self._block = ExitStack()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside."""
        with self._mutex:
            if not self._n_inside:
                self._block.enter_context(self._opened())
            self._n_inside += 1
        try:
            yield
        finally:
            with self._mutex:
                self._n_inside -= 1
                if not self._n_inside:
                    self._block.close()

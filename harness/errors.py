"""The error tree. Callers catch at the level that fits; the command line turns errors into exit codes.

    HarnessError                 exit 2   every error that this package raises on purpose
    ├── TaskError                exit 2   a task folder, its ratings or a file in it is wrong
    ├── PromptError              exit 2   a template is missing or uses an unknown placeholder
    ├── VerdictError             exit 2   a verdict file cannot be read
    ├── JudgeError               exit 2   a judge is unknown or badly configured
    │   ├── JudgeUnavailable     exit 2   it cannot run here: no key, no wheel, not applicable
    │   └── CallFailed           exit 3   a request got no usable reply
    ├── PluginError              exit 2   a plug-in is missing, cannot be loaded or fails
    ├── BudgetSpent              exit 4   the next request would exceed --max-cost
    └── RunError                 exit 2   a run folder is missing, locked, damaged or of another version

Messages say where, what was found, what was expected and what to do. They never hold a key, the text
of an item or a reply. `harness.stats` raises `ValueError` alone.
"""  # noqa: E501 -- the tree is the documentation

from __future__ import annotations

from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    CHECK_FAILED = 1
    WRONG_INPUT = 2
    INCOMPLETE = 3
    COST_LIMIT = 4
    INTERNAL = 70
    INTERRUPTED = 130
    TERMINATED = 143

    @classmethod
    def most_important(cls, codes: Iterable[int]) -> ExitCode:
        """Return the code that a command ends with where several apply; `DONE` if none does."""
        return min(map(cls, codes), key=PRECEDENCE.index, default=cls.DONE)


PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.TERMINATED,
    ExitCode.INTERNAL,
    ExitCode.WRONG_INPUT,
    ExitCode.CHECK_FAILED,
    ExitCode.COST_LIMIT,
    ExitCode.INCOMPLETE,
    ExitCode.DONE,
)


class HarnessError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what the command line returns."""

    exit_code = ExitCode.WRONG_INPUT


class TaskError(HarnessError):
    """A task folder, its ratings or a file in it is wrong.

    Attributes
    ----------
    reason : str
        A slug for the kind of problem, e.g. ``"unknown_label"``; empty for problems of a file.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class PromptError(HarnessError):
    """A template is missing or uses something that the task does not have."""


class VerdictError(HarnessError):
    """A verdict file cannot be read."""


class JudgeError(HarnessError):
    """A judge is unknown or badly configured."""


class JudgeUnavailable(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """A judge cannot run here: no key, no wheel, or it does not apply to the task."""


class CallFailed(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """A request got no usable reply.

    Attributes
    ----------
    reason : str
        A slug that is safe to log, e.g. ``"rate_limited"``, ``"context_length"``, ``"timeout"``.
    retry : bool
        Whether the same request may succeed if sent again.
    retry_after_s : float or None
        Seconds to wait that the server asked for, if it did.
    stops_judge : bool
        Whether every later request to this judge would fail too (wrong key, quota spent).
    paid : bool
        Whether the server did reply, so that the unreadable reply was probably paid for.
    """

    exit_code = ExitCode.INCOMPLETE

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = False,
        retry_after_s: float | None = None,
        stops_judge: bool = False,
        paid: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(f"{reason}: {hint}" if hint else reason)
        self.reason = reason
        self.retry = retry
        self.retry_after_s = retry_after_s
        self.stops_judge = stops_judge
        self.paid = paid
        self.hint = hint

    def __reduce__(self) -> tuple[partial[Self], tuple[()]]:
        """Pickle with all attributes, to be sent to another process."""
        return partial(type(self), **self.__dict__), ()


class PluginError(HarnessError):
    """A plug-in is missing, cannot be loaded or fails."""


class BudgetSpent(HarnessError):  # noqa: N818 -- a state of the world, not a mistake
    """The next request would exceed ``--max-cost``."""

    exit_code = ExitCode.COST_LIMIT


class RunError(HarnessError):
    """A run folder is missing, locked, damaged or written by another version."""

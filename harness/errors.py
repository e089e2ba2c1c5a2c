"""The error tree. A caller catches at the level that fits; only the command line turns errors into exit codes.

    HarnessError                 exit 2   everything this package raises on purpose
    ├── TaskError                exit 2   a task folder, its ratings or a file in it is wrong
    ├── PromptError              exit 2   a template is missing or asks for a field the task has not
    ├── VerdictError             exit 2   a verdict file cannot be read
    ├── JudgeError               exit 2   a judge is unknown or badly configured
    │   ├── JudgeUnavailable     exit 2   it cannot run here: no key, no wheel, nothing it could mean
    │   └── CallFailed           exit 3   one request got no usable reply
    ├── BudgetSpent              exit 1   the next request would exceed --max-cost
    └── RunError                 exit 2   a run folder is missing, locked, damaged or of another version

Messages say where, what was found, what was wanted and what to do. They never hold a key, an item's
text or a reply. `harness.stats` raises `ValueError` and knows none of this.
"""  # noqa: E501 -- the tree is the documentation


class HarnessError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what the command line returns."""

    exit_code = 2


class TaskError(HarnessError):
    """A task folder, its ratings or a file in it is wrong.

    Attributes
    ----------
    reason : str
        A slug for the kind of fault, e.g. ``"unknown_label"``; empty for faults of a file.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class PromptError(HarnessError):
    """A template is missing or asks for something the task does not have."""


class VerdictError(HarnessError):
    """A verdict file cannot be read."""


class JudgeError(HarnessError):
    """A judge is unknown or badly configured."""


class JudgeUnavailable(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """A judge cannot run here: no key, no wheel, or the task does not say what it means."""


class CallFailed(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """One request got no usable reply.

    Attributes
    ----------
    reason : str
        A slug that is safe to log, e.g. ``"rate_limited"``, ``"context_length"``, ``"timeout"``.
    retry : bool
        Whether the same request may succeed if sent again.
    retry_after_s : float or None
        Seconds the server asked us to wait, if it did.
    stops_judge : bool
        Whether every later request to this judge must fail too (wrong key, quota spent).
    """

    exit_code = 3

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = False,
        retry_after_s: float | None = None,
        stops_judge: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(f"{reason}: {hint}" if hint else reason)
        self.reason = reason
        self.retry = retry
        self.retry_after_s = retry_after_s
        self.stops_judge = stops_judge
        self.hint = hint


class BudgetSpent(HarnessError):  # noqa: N818 -- a state of the world, not a mistake
    """The next request would exceed ``--max-cost``."""

    exit_code = 1


class RunError(HarnessError):
    """A run folder is missing, locked, damaged or written by another version."""

"""Exception hierarchy. The command line maps each error to an exit code.

    HarnessError                 exit 2   every error that this package raises on purpose
    ├── TaskError                exit 2   a task folder, its ratings or a file in it is wrong
    ├── PromptError              exit 2   a template is missing or uses an unknown placeholder
    ├── VerdictError             exit 2   a verdict file cannot be read
    ├── JudgeError               exit 2   a judge is unknown or badly configured
    │   ├── JudgeUnavailable     exit 2   it cannot run here: no key, no wheel, not applicable
    │   └── CallFailed           exit 3   a request got no usable reply
    ├── PluginError              exit 2   a plug-in is missing, cannot be loaded or fails
    ├── BudgetSpent              exit 4   the next request would exceed --max-cost
    ├── OptionError              exit 2   an option has a wrong value, or does not apply
    └── RunError                 exit 2   a run folder is missing, locked, damaged or of another version

Each message gives the place, what was found and what was expected, and then says what to do. Messages never contain
a key, an item's text or a reply. `harness.stats` only raises `ValueError`.
"""  # noqa: E501 -- the tree is the documentation

from __future__ import annotations

import re
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import ValidationError

NAMED = re.compile(r"(?<!\{)\{(\w+)\}")  # an option in a text, by its name in Python


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
        """Return the exit code with the highest precedence, or `DONE` if there are no codes."""
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


def in_sentences(*texts: str) -> str:
    """Join texts, such as a problem and its advice, and add missing full stops between them."""
    *before, last = [text for text in texts if text] or [""]
    return " ".join((*(t if t.endswith((".", "?", "!")) else f"{t}." for t in before), last))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests the most similar name, or "" if no name is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 -- for errors only

    near = get_close_matches(name, [*names], n=1)
    return f"Did you mean {near[0]}?" if near else ""


def use_one_of(name: str, names: Iterable[str], *, none: str) -> str:
    """Return advice for an unknown name: the most similar name and all known names.

    Parameters
    ----------
    name : str
        The unknown name.
    names : iterable of str
        The known names.
    none : str
        Advice to return if no names are known.
    """
    known = list(names)
    return (
        in_sentences(did_you_mean(name, known), f"Use one of {', '.join(known)}.")
        if known
        else none
    )


def capitalised(text: str) -> str:
    """Capitalise the first letter of a text. Unlike `str.capitalize`, keep all other letters."""
    return text[:1].upper() + text[1:]


class HarnessError(Exception):
    """Base class of all errors raised on purpose. The command line exits with ``exit_code``.

    Attributes
    ----------
    problem : str
        The place of the error, and what was found there.
    advice : str
        What to do, as a sentence. Empty if the problem makes this clear.
    """

    exit_code = ExitCode.WRONG_INPUT

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(in_sentences(problem, advice))
        self.problem = problem
        self.advice = advice

    def reword(self, change: Callable[[str], str]) -> None:
        """Apply a function to the texts of the problem and the advice."""
        self.problem, self.advice = change(self.problem), change(self.advice)
        self.args = (in_sentences(self.problem, self.advice),)


class OptionError(HarnessError):
    """Error for an option that has an invalid value or does not apply to the command.

    Attributes
    ----------
    option : str
        The option's name in Python. Empty if the problem concerns no option or several.
    """

    def __init__(
        self, option: str, problem: str, advice: str = "", *, found: object = None
    ) -> None:
        self.option = option
        self.found = found
        self._texts = (problem, advice)
        super().__init__(*self.worded(str))

    def worded(self, name_of: Callable[[str], str]) -> tuple[str, str]:
        """Return the problem and the advice, with option names converted by ``name_of``."""
        problem, advice = (NAMED.sub(lambda found: name_of(found[1]), t) for t in self._texts)
        if not self.option:
            return problem, advice
        value = "" if self.found is None else f"={self.found!r}"
        return f"{name_of(self.option)}{value}: {problem}", advice

    def __reduce__(self) -> tuple[partial[Self], tuple[()]]:
        """Pickle the error with all its attributes, to send it to another process."""
        return partial(type(self), self.option, *self._texts, found=self.found), ()


class Fault(NamedTuple):
    """First fault that pydantic found in some data.

    Attributes
    ----------
    place : str
        Place in the data, such as ``options.2.key``. Empty for the data as a whole.
    problem : str
        Description of the fault. It omits the value, which can be an item's text.
    kind : str
        Slug of the fault in pydantic, such as ``"missing"``.
    found : object
        The invalid value.
    n_more : int
        Number of other faults.
    """

    place: str
    problem: str
    kind: str
    found: object
    n_more: int


def fault_of(error: ValidationError) -> Fault:
    """Return the first fault in a validation error."""
    faults = [
        fault
        for fault in error.errors(include_url=False, include_context=False)
        if fault["type"] != "default_factory_not_called"  # of a field that follows from a wrong one
    ]
    first = faults[0]
    parts = [str(part) for part in first["loc"] if "[" not in str(part)]  # no branches of unions
    problem = first["msg"].removeprefix("Value error, ")
    return Fault(".".join(parts), problem, first["type"], first["input"], len(faults) - 1)


RatingFault: TypeAlias = Literal[
    "",  # of a file
    "duplicate_rating",
    "unknown_item",
    "unrated_item",
    "unknown_label",
    "empty_response_set",
    "empty_value",
    "set_not_admissible",
    "non_numeric_value",
    "out_of_bounds",
    "too_long",
]


class TaskError(HarnessError):
    """Error in a task folder, its ratings or one of its files.

    Attributes
    ----------
    reason : RatingFault
        The kind of problem; empty for problems of a file.
    """

    def __init__(self, problem: str, advice: str = "", *, reason: RatingFault = "") -> None:
        super().__init__(problem, advice)
        self.reason = reason


class PromptError(HarnessError):
    """Error for a template that is missing or uses something that the task lacks."""


class VerdictError(HarnessError):
    """Error for a verdict file that cannot be read."""


class JudgeError(HarnessError):
    """Error for a judge that is unknown or badly configured."""


class JudgeUnavailable(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """Error for a judge without a key or wheel, or one that does not apply to the task."""


class CallFailed(JudgeError):  # noqa: N818 -- a state of the world, not a mistake
    """Error for a request without a usable reply.

    Attributes
    ----------
    reason : str
        A slug that is safe to log, e.g. ``"rate_limited"``, ``"context_length"``, ``"timeout"``.
    retry : bool
        Whether the same request can succeed if it is sent again.
    retry_after_s : float or None
        Wait in seconds that the server requested, or None if it requested none.
    stops_judge : bool
        Whether every later request to this judge would fail too (wrong key, quota spent).
    paid : bool
        Whether the server replied. The unreadable reply was then probably paid for.
    alike : str
        Key that a server's rejections for the same reason have in common, or "" for a temporary
        failure.
    unsent : bool
        Whether the call failed before it reached a model, so that it costs nothing.
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
        unsent: bool = False,
        hint: str = "",
        alike: str = "",
    ) -> None:
        super().__init__(f"{reason}: {hint}" if hint else reason)
        self.reason = reason
        self.retry = retry
        self.retry_after_s = retry_after_s
        self.stops_judge = stops_judge
        self.paid = paid
        self.unsent = unsent
        self.hint = hint
        self.alike = alike

    def __reduce__(self) -> tuple[partial[Self], tuple[()]]:
        """Pickle the error with all its attributes, to send it to another process."""
        names = (
            "reason",
            "retry",
            "retry_after_s",
            "stops_judge",
            "paid",
            "unsent",
            "hint",
            "alike",
        )
        return partial(type(self), **{name: getattr(self, name) for name in names}), ()


class NotAsked(Exception):  # noqa: N818 -- a state of the run, not a mistake
    """Signal that a request must not be sent now. Its unit remains open.

    Attributes
    ----------
    held_by : str
        The command that collects the reply, if the request is in another run's batch. Empty if the
        run is ending, the judge has stopped or the budget is spent.
    is_sent : bool
        Whether the request was sent without waiting for its reply. It can still be billed.
    """

    def __init__(self, held_by: str = "", *, is_sent: bool = False) -> None:
        super().__init__(held_by)
        self.held_by = held_by
        self.is_sent = is_sent


class PluginError(HarnessError):
    """Error for a plug-in that is missing, cannot be loaded or fails."""


class BudgetSpent(HarnessError):  # noqa: N818 -- a state of the world, not a mistake
    """Signal that the next request would exceed ``--max-cost``."""

    exit_code = ExitCode.COST_LIMIT


class RunError(HarnessError):
    """Error for a run folder that is missing, locked, damaged or from another version."""

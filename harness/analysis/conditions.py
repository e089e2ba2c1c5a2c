"""Read and evaluate conditions on numbers and verdicts, such as ``kappa:lower > .6``."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, cast

from harness.analysis.decision import VERDICTS, DecisionVerdict
from harness.analysis.slice_names import PREFIX, SliceName

if TYPE_CHECKING:
    from harness.stats import Estimate

End: TypeAlias = Literal["value", "lower", "upper"]
Sign: TypeAlias = Literal[">=", "<=", ">", "<"]

DECISION = "decision"
SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
WORD = re.compile(r"[a-z][a-z _-]*", re.IGNORECASE)
OF_DECISION = re.compile(
    rf"{DECISION}\s*(?P<sign>=|>=)\s*(?P<verdicts>[a-z_]+(\|[a-z_]+)*)", re.IGNORECASE
)
OF_NUMBER = re.compile(
    r"(?P<name>.*?\S)\s*(:\s*(?P<near>lower|upper))?\s*(?P<sign>>=|<=|>|<)\s*"
    r"(?P<limit>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)(?P<times>x?)(\s*:\s*(?P<end>lower|upper))?",
    re.IGNORECASE,
)
ABSOLUTE = re.compile(r"abs\((?P<name>.*)\)")
DIFFERENCE = "difference("  # of an estimate: difference(B,A) is the mean of B minus the mean of A
BETWEEN = re.compile(r"\s*,\s*")
WITH_VALUES = (PREFIX, DIFFERENCE)
SEPARATOR = re.compile(r",(?![^()]*\))")  # commas in a metric's name don't count


@dataclass(frozen=True, slots=True)
class ComparedQuantity:
    """Quantity in a condition: a value or an interval's end, with or without its sign."""

    name: str
    end: End = "value"
    is_absolute: bool = False

    def __str__(self) -> str:
        name = f"abs({self.name})" if self.is_absolute else self.name
        return name if self.end == "value" else f"{name}:{self.end}"

    @classmethod
    def read(cls, text: str, end: End = "value") -> Self:
        """Read a name, optionally in ``abs(...)``. Standardise the spelling of a slice's name."""
        absolute = ABSOLUTE.fullmatch(text)
        name = (absolute["name"] if absolute else text).strip()
        if name.startswith(DIFFERENCE):
            name = BETWEEN.sub(",", name)
        return cls(str(SliceName.read(name) or name), end, absolute is not None)

    def of(self, estimate: Estimate) -> Estimate:
        """Return the compared quantity as an estimate, which is NA if the quantity is undefined."""
        if estimate.value is None:
            return estimate
        if self.end == "value":
            return replace(estimate, value=abs(estimate.value)) if self.is_absolute else estimate
        if estimate.interval is None:
            reason = estimate.interval_reason or "no_interval"
            return replace(estimate, value=None, reason=reason)
        low, high = estimate.interval.low, estimate.interval.high
        if self.is_absolute:
            low, high = _without_sign(low, high)
        return replace(estimate, value=low if self.end == "lower" else high, interval=None)


def _without_sign(low: float, high: float) -> tuple[float, float]:
    """Return the interval for the absolute value."""
    ends = abs(low), abs(high)
    return (0.0 if low <= 0.0 <= high else min(ends)), max(ends)


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition on a word, on the decision's verdict, or on a number.

    Attributes
    ----------
    word : str
        A single name, such as ``changed``, in lower case with spaces; "" otherwise.
    verdicts : tuple of str
        Verdicts that satisfy the condition; empty otherwise. Unchecked: see `unknown_verdict`.
    judge : str or None
        The judge that the number belongs to; None if the condition names no judge.
    quantity : ComparedQuantity or None
        The quantity compared with ``limit``; None for a word or verdicts.
    sign : str
        ``>=``, ``<=``, ``>`` or ``<``.
    limit : float
        The limit for the number.
    is_multiple : bool
        Whether ``limit`` is a multiple of an earlier number, as in ``cost>1.5x``.
    """

    word: str = ""
    verdicts: tuple[str, ...] = ()
    judge: str | None = None
    quantity: ComparedQuantity | None = None
    sign: Sign = ">="
    limit: float = 0.0
    is_multiple: bool = False

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read a condition. Return None if the text has a different form.

        A condition is a word; ``decision=VERDICT``, with several verdicts separated by ``|``, or
        ``decision>=VERDICT`` for that verdict or a stronger one; or a number's name, a sign and a
        limit, after ``JUDGE:`` if it belongs to a judge, and with ``:lower`` or ``:upper`` (after
        the number's name or the limit) if it is about an end of the interval. ``abs(NAME)`` is the
        number without its sign, ``slice(FIELD=VALUE).MEASURE`` a slice's measure,
        ``difference(B,A)`` a difference between two values of a field in an estimate, and ``1.5x``
        a multiple.
        """
        text = text.strip()
        if decision := OF_DECISION.fullmatch(text):
            return cls(verdicts=_verdicts(decision["sign"], decision["verdicts"].lower()))
        if number := OF_NUMBER.fullmatch(text):
            return cls._of_number(number)
        word = WORD.fullmatch(text)
        return cls(word=re.sub("[_-]", " ", text).lower()) if word else None

    @classmethod
    def _of_number(cls, match: re.Match[str]) -> Self | None:
        if match["near"] and match["end"]:
            return None
        end = cast("End", (match["near"] or match["end"] or "value").lower())
        judge, name = _split_judge(match["name"])
        if not name or judge == "":
            return None
        return cls(
            judge=judge,
            quantity=ComparedQuantity.read(name, end),
            sign=cast("Sign", match["sign"]),
            limit=float(match["limit"]),
            is_multiple=bool(match["times"]),
        )

    @classmethod
    def at_least(cls, verdict: DecisionVerdict) -> Self:
        """Make the condition that the decision is the given verdict or a stronger one."""
        return cls(verdicts=_verdicts(">=", verdict))

    def __str__(self) -> str:
        if self.quantity is None:
            return self.word or f"{DECISION}={'|'.join(self.verdicts)}"
        of_judge = f"{self.judge}: " if self.judge else ""
        short = f"{self.limit:g}"
        limit = short if float(short) == self.limit else repr(self.limit)
        return f"{of_judge}{self.quantity}{self.sign}{limit}{'x' if self.is_multiple else ''}"

    @property
    def unknown_verdict(self) -> str | None:
        """The condition's first verdict that is not a known decision, or None if all are known."""
        return next((verdict for verdict in self.verdicts if verdict not in VERDICTS), None)

    def accepts(self, verdict: DecisionVerdict) -> bool:
        """Return whether a decision satisfies the condition."""
        return verdict in self.verdicts

    def holds(self, value: float, unit: float = 1.0) -> bool:
        """Return whether a number satisfies the condition. A multiple counts in ``unit``."""
        limit = self.limit * unit if self.is_multiple else self.limit
        return bool(SIGNS[self.sign](value, limit))


def difference_name(first: str, second: str) -> str:
    """Return the name of a difference between the means at two field values."""
    return BETWEEN.sub(",", f"{DIFFERENCE}{first},{second})")


def read_conditions(text: str) -> tuple[Condition | str, ...]:
    """Read comma-separated conditions. Parts that are not conditions stay text."""
    return tuple(Condition.read(part) or part.strip() for part in SEPARATOR.split(text))


def _verdicts(sign: str, joined: str) -> tuple[str, ...]:
    """Return the accepted verdicts. ``>=`` adds verdicts stronger than the weakest named one."""
    verdicts = tuple(joined.split("|"))
    if sign == "=" or not set(verdicts) <= set(VERDICTS):
        return verdicts
    return VERDICTS[: 1 + max(VERDICTS.index(cast("DecisionVerdict", v)) for v in verdicts)]


def _split_judge(name: str) -> tuple[str | None, str]:
    """Split a number's name at its last colon into judge and number. The judge can be absent."""
    starts = [start for prefix in WITH_VALUES if (start := name.find(prefix)) >= 0]
    start = min(starts, default=len(name))  # field values can contain a colon
    judge, colon, number = name[:start].rstrip().rpartition(":")
    if not colon:
        return None, name
    return judge.strip(), (number + name[start:]).strip()

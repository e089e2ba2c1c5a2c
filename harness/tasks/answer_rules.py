"""The answers that a task allows: option keys, response sets, numbers and texts."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Self

from harness.files.tables import parse_json
from harness.files.tables.checks import as_text, quoted, short
from harness.tasks.item import OPEN_SCALES
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import (
    MAX_ANSWER_CHARS,
    MAX_POWERSET_OPTIONS,
    as_number,
    number_text,
    numeric_keys,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.errors import RatingFault
    from harness.tasks.item import HumanElicitation, Scale
    from harness.tasks.schema import TaskFields


class BadAnswerError(ValueError):
    """Error for a value that isn't an answer. ``reason`` is the slug of the problem."""

    def __init__(self, reason: RatingFault, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """Allowed values of ratings and verdicts in a task. See `read`."""

    keys: tuple[str, ...]
    answers: frozenset[str]  # the keys, and CANNOT_ASSESS where the task allows it
    numbers: dict[float, str]  # keys by number, on a numeric scale
    sets: frozenset[frozenset[str]] | None  # None: every set, if they can be listed at all
    foreign: frozenset[str]
    scale: Scale
    bounds: tuple[float, float] | None

    @classmethod
    def of(cls, task: TaskFields) -> Self:
        """Return the rules of a task."""
        keys = tuple(option.key for option in task.options)
        listed = task.response_sets
        return cls(
            keys=keys,
            answers=frozenset((*keys, CANNOT_ASSESS) if task.abstain else keys),
            numbers=numeric_keys(keys) if task.scale == "ordinal" else {},
            sets=None if listed == "all" else frozenset(map(frozenset, listed)),
            foreign=frozenset(task.ignore_labels),
            scale=task.scale,
            bounds=task.bounds,
        )

    def read(
        self, value: object, elicitation: HumanElicitation
    ) -> tuple[str | tuple[str, ...], bool]:
        """Read a value by the rules for the task's files.

        Returns
        -------
        value : str or tuple of str
            An option key, ``CANNOT_ASSESS``, a number as `number_text` writes it, a text, or a
            response set in the order of the options.
        is_foreign : bool
            Whether the value is or contains one of the task's ``ignore_labels``.

        Raises
        ------
        BadAnswerError
            With ``reason`` ``unknown_label``, ``non_numeric_value``, ``out_of_bounds``,
            ``too_long``, ``empty_value``, ``empty_response_set`` or ``set_not_admissible``.
        """
        if self.scale in OPEN_SCALES:
            if elicitation == "response_set":
                problem = (
                    "a response set needs options, but the task has no options. Write forced_choice"
                )
                raise BadAnswerError("set_not_admissible", problem)
            return (_number if self.scale == "continuous" else _text)(value, self)
        return (_response_set if elicitation == "response_set" else _option)(value, self)


def _option(value: object, rules: AnswerRules) -> tuple[str, bool]:
    """Return an option key, CANNOT_ASSESS or a foreign label, and whether it is foreign."""
    text = as_text(value)
    if text in rules.answers:
        return text, False
    if text in rules.foreign:
        return text, True
    number = as_number(text) if rules.numbers else None
    if number in rules.numbers:
        return rules.numbers[number], False
    raise _unknown(text, rules, numeric=bool(rules.numbers) and number is None)


def _open_answer(value: object, rules: AnswerRules) -> tuple[str, bool]:
    """Return an open answer, CANNOT_ASSESS or a foreign label, and whether it is foreign."""
    text = as_text(value).strip()
    if text in rules.foreign:
        return text, True
    if not text or (text == CANNOT_ASSESS and text not in rules.answers):
        raise _unknown(text, rules, numeric=False)
    return text, False


def _text(value: object, rules: AnswerRules) -> tuple[str, bool]:
    """Return a text, CANNOT_ASSESS or a foreign label, and whether it is foreign."""
    text, is_foreign = _open_answer(value, rules)
    if len(text) > MAX_ANSWER_CHARS:
        problem = f"the value has {len(text)} characters. Write at most {MAX_ANSWER_CHARS}"
        raise BadAnswerError("too_long", problem)
    return text, is_foreign


def _number(value: object, rules: AnswerRules) -> tuple[str, bool]:
    """Return a number as text, CANNOT_ASSESS or a foreign label, and whether it is foreign."""
    text, is_foreign = _open_answer(value, rules)
    if is_foreign or text in rules.answers:
        return text, is_foreign
    number = as_number(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    if number is None or not isfinite(number):
        problem = (
            f"{quoted('value', text)} is not a number. Write a number, or list the value "
            "under ignore_labels"
        )
        raise BadAnswerError("non_numeric_value", problem)
    if rules.bounds and not rules.bounds[0] <= number <= rules.bounds[1]:
        low, high = map(number_text, rules.bounds)
        problem = (
            f"{quoted('value', text)} isn't between {low} and {high}. Correct the value or the "
            "bounds"
        )
        raise BadAnswerError("out_of_bounds", problem)
    return number_text(number), False


def _unknown(text: str, rules: AnswerRules, *, numeric: bool) -> BadAnswerError:
    if not text:
        return _empty()
    if text == CANNOT_ASSESS:
        problem = (
            f"value {text!r} is not allowed here. To allow it, write 'abstain: true' in task.yaml"
        )
        return BadAnswerError("unknown_label", problem)
    remedy = f"Write one of {', '.join(rules.keys)}, or list the value under ignore_labels"
    if numeric:
        return BadAnswerError(
            "non_numeric_value", f"{quoted('value', text)} is not a number. {remedy}"
        )
    return BadAnswerError("unknown_label", f"{quoted('value', text)} is not an option. {remedy}")


def _empty() -> BadAnswerError:
    problem = "the value is empty. Remove the row if the rater gave no answer"
    return BadAnswerError("empty_value", problem)


def _response_set(value: object, rules: AnswerRules) -> tuple[str | tuple[str, ...], bool]:
    """Return a response set in the order of the options, and whether it contains foreign labels."""
    if value == CANNOT_ASSESS or (isinstance(value, str) and value in rules.foreign):
        return _option(value, rules)
    parts = [_option(part, rules) for part in _parts(value)]
    named = [name for name, _ in parts]
    if any(foreign for _, foreign in parts):
        return tuple(named), True
    chosen = tuple(key for key in rules.keys if key in named)
    if problem := _inadmissible(named, chosen, rules):
        raise BadAnswerError("set_not_admissible", f"value {short(value)} {problem}")
    return chosen, False


def _inadmissible(named: Sequence[str], chosen: tuple[str, ...], rules: AnswerRules) -> str:
    if CANNOT_ASSESS in named:
        return (
            f"contains {CANNOT_ASSESS} together with options. Write either {CANNOT_ASSESS} or "
            "options"
        )
    if len(chosen) < len(named):
        return "lists an option twice. Remove one of the two"
    if rules.sets is None and len(rules.keys) > MAX_POWERSET_OPTIONS:
        return "can't be checked with so many options. List the response_sets in task.yaml"
    if rules.sets is not None and frozenset(chosen) not in rules.sets:
        return "is not one of the response_sets. Add the set to response_sets in task.yaml"
    return ""


def _parts(value: object) -> list[object]:
    try:
        members = parse_json(value) if isinstance(value, str) and value else value
    except ValueError:
        members = value
    if members is None or members == "":
        raise _empty()
    if not isinstance(members, list):
        cell = quoted("value", as_text(value))
        problem = f"{cell} is not a response set. Write a JSON array of option keys"
        raise BadAnswerError("unknown_label", problem)
    if not members:
        problem = "the response set is empty. List its options, or remove the row"
        raise BadAnswerError("empty_response_set", problem)
    return members

"""Reading human ratings: each value is checked with its line at hand."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, NoReturn, Self

from harness.errors import TaskError
from harness.tasks.model import HumanElicitation, Rating
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import (
    MAX_ANSWER_CHARS,
    MAX_POWERSET_OPTIONS,
    OPEN_SCALES,
    as_number,
    number_text,
    numeric_keys,
)
from harness.tasks.tables import parse_json, read_rows
from harness.tasks.tables.checks import as_text, identifier, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.tasks.model import Item
    from harness.tasks.schema import Scale, TaskFields
    from harness.tasks.tables import Row

COLUMNS = frozenset({"item", "rater", "elicitation", "value"})
PROVENANCE = (  # columns of `harness annotate`
    *("form", "instructions", "rated_at"),
    *("shown", "swapped", "comment", "flagged"),
)
KNOWN_COLUMNS = COLUMNS.union(PROVENANCE)
ELICITATIONS: dict[object, HumanElicitation] = {
    None: "forced_choice",
    "": "forced_choice",
    "forced_choice": "forced_choice",
    "response_set": "response_set",
}


class _BadValueError(ValueError):
    """A value that is not a rating; ``reason`` is the slug of the problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Rules:
    """Values that ratings of a task may have."""

    keys: tuple[str, ...]
    answers: frozenset[str]  # the keys, and CANNOT_ASSESS where the task allows it
    numbers: dict[float, str]  # keys by number, on a numeric scale
    sets: frozenset[frozenset[str]] | None  # None: every set, if they can be listed at all
    foreign: frozenset[str]
    scale: Scale
    bounds: tuple[float, float] | None

    @classmethod
    def of(cls, task: TaskFields) -> Self:
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


def read_ratings(
    path: Path, task: TaskFields, items: Sequence[Item] | None, *, unrated: bool = False
) -> tuple[tuple[Rating, ...], tuple[Rating, ...]]:
    """Read human ratings in long form."""
    table = read_rows(path, required=("item", "rater", "value"))
    rows = ((f"{path}: line {line}", row) for line, row in table)
    return check_ratings(rows, str(path), task, items, unrated=unrated)


def check_ratings(
    rows: Iterable[tuple[str, Row]],
    where: str,
    task: TaskFields,
    items: Sequence[Item] | None,
    *,
    unrated: bool = False,
) -> tuple[tuple[Rating, ...], tuple[Rating, ...]]:
    """Check human ratings in long form: place and cells by column of each.

    Without ``items``, the ratings alone say which there are. Returns the ratings, and those whose
    value is one of the task's ``ignore_labels``, in order.

    Raises
    ------
    TaskError
        With ``reason`` ``unknown_label``, ``non_numeric_value``, ``out_of_bounds``, ``too_long``,
        ``empty_value``, ``empty_response_set``, ``set_not_admissible``, ``duplicate_rating``,
        ``unknown_item`` or ``unrated_item``, naming place, value, item and rater.
    """
    rules = _Rules.of(task)
    item_ids = None if items is None else {item.id for item in items}
    rated: set[tuple[str, str, str]] = set()
    ratings: list[Rating] = []
    ignored: list[Rating] = []
    for place, row in rows:
        rating, is_foreign = _rating(row, rules, place)
        key = (rating.item, rating.rater, rating.elicitation)
        if key in rated:
            _refuse(place, rating, "duplicate_rating", "this rating is there twice; keep one row")
        if item_ids is not None and rating.item not in item_ids:
            _refuse(place, rating, "unknown_item", "the items file has no such item; add it there")
        rated.add(key)
        (ignored if is_foreign else ratings).append(rating)
    if not unrated:
        _check_rated(where, items or (), {item for item, _, _ in rated})
    return tuple(ratings), tuple(ignored)


def _refuse(where: str, rating: Rating, reason: str, problem: str) -> NoReturn:
    place = f"{where}: item {rating.item!r}, rater {rating.rater!r}, {rating.elicitation}"
    raise TaskError(f"{place}: {problem}.", reason=reason)


def _check_rated(where: str, items: Sequence[Item], rated: set[str]) -> None:
    if unrated := [item.id for item in items if item.id not in rated]:
        more = f" ({len(unrated) - 1} more like it)" if len(unrated) > 1 else ""
        problem = f"item {unrated[0]!r} has no ratings{more}; rate it or remove it from the items."
        raise TaskError(f"{where}: {problem}", reason="unrated_item")


def _rating(row: Row, rules: _Rules, where: str) -> tuple[Rating, bool]:
    if not KNOWN_COLUMNS.issuperset(row):
        unknown = short(min(row.keys() - KNOWN_COLUMNS))
        raise TaskError(
            f"{where}: unknown column {unknown}; use item, rater, elicitation and value only."
        )
    item = identifier(row["item"], "item", where)
    rater = identifier(row["rater"], "rater", where)
    cell = row.get("elicitation")
    elicitation = ELICITATIONS.get(cell) if cell is None or isinstance(cell, str) else None
    if elicitation is None:
        raise TaskError(
            f"{where}: elicitation: found {short(cell)}; write forced_choice or response_set."
        )
    try:
        read = _response_set if elicitation == "response_set" else _option
        if rules.scale in OPEN_SCALES:
            read = _number if rules.scale == "continuous" else _text
            _check_elicitation(elicitation)
        value, is_foreign = read(row["value"], rules)
    except _BadValueError as error:
        _refuse(where, Rating(item, rater, elicitation, ""), error.reason, str(error))
    if COLUMNS.issuperset(row):
        return Rating(item, rater, elicitation, value), is_foreign
    made = tuple((name, as_text(row[name])) for name in PROVENANCE if row.get(name))
    return Rating(item, rater, elicitation, value, made), is_foreign


def _option(value: object, rules: _Rules) -> tuple[str, bool]:
    """Read an option key or CANNOT_ASSESS, and whether it is a foreign label instead."""
    text = as_text(value)
    if text in rules.answers:
        return text, False
    if text in rules.foreign:
        return text, True
    number = as_number(text) if rules.numbers else None
    if number in rules.numbers:
        return rules.numbers[number], False
    raise _unknown(text, rules, numeric=bool(rules.numbers) and number is None)


def _check_elicitation(elicitation: HumanElicitation) -> None:
    if elicitation == "response_set":
        problem = "a response set needs options, and the task has none; write forced_choice"
        raise _BadValueError("set_not_admissible", problem)


def _open_answer(value: object, rules: _Rules) -> tuple[str, bool]:
    """Read an answer that is no option, and whether it is a foreign label or CANNOT_ASSESS."""
    text = as_text(value).strip()
    if text in rules.foreign:
        return text, True
    if not text or (text == CANNOT_ASSESS and text not in rules.answers):
        raise _unknown(text, rules, numeric=False)
    return text, False


def _text(value: object, rules: _Rules) -> tuple[str, bool]:
    """Read a text, or CANNOT_ASSESS, and whether it is a foreign label instead."""
    text, is_foreign = _open_answer(value, rules)
    if len(text) > MAX_ANSWER_CHARS:
        problem = f"value {short(text)} has {len(text)} characters; at most {MAX_ANSWER_CHARS}"
        raise _BadValueError("too_long", problem)
    return text, is_foreign


def _number(value: object, rules: _Rules) -> tuple[str, bool]:
    """Read a number, or CANNOT_ASSESS, and whether it is a foreign label instead."""
    text, is_foreign = _open_answer(value, rules)
    if is_foreign or text in rules.answers:
        return text, is_foreign
    number = as_number(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    if number is None or not isfinite(number):
        problem = f"value {short(text)} is not a number; write one, or list it under ignore_labels"
        raise _BadValueError("non_numeric_value", problem)
    if rules.bounds and not rules.bounds[0] <= number <= rules.bounds[1]:
        low, high = map(number_text, rules.bounds)
        problem = f"value {short(text)} is outside {low} to {high}; correct it, or the bounds"
        raise _BadValueError("out_of_bounds", problem)
    return number_text(number), False


def _unknown(text: str, rules: _Rules, *, numeric: bool) -> _BadValueError:
    if not text:
        return _empty()
    if text == CANNOT_ASSESS:
        problem = f"value {text!r} is not allowed here; say 'abstain: true' in task.yaml"
        return _BadValueError("unknown_label", problem)
    remedy = f"write one of {', '.join(rules.keys)}, or list it under ignore_labels"
    if numeric:
        return _BadValueError("non_numeric_value", f"value {short(text)} is not a number; {remedy}")
    return _BadValueError("unknown_label", f"value {short(text)} is no option; {remedy}")


def _empty() -> _BadValueError:
    problem = "the value is empty; leave the row out if the rater gave none"
    return _BadValueError("empty_value", problem)


def _response_set(value: object, rules: _Rules) -> tuple[str | tuple[str, ...], bool]:
    """Read a response set in the order of the options, and whether it holds a foreign label."""
    if value == CANNOT_ASSESS or (isinstance(value, str) and value in rules.foreign):
        return _option(value, rules)
    parts = [_option(part, rules) for part in _parts(value)]
    named = [name for name, _ in parts]
    if any(foreign for _, foreign in parts):
        return tuple(named), True
    chosen = tuple(key for key in rules.keys if key in named)
    if problem := _inadmissible(named, chosen, rules):
        raise _BadValueError("set_not_admissible", f"value {short(value)} {problem}")
    return chosen, False


def _inadmissible(named: Sequence[str], chosen: tuple[str, ...], rules: _Rules) -> str:
    if CANNOT_ASSESS in named:
        return f"holds {CANNOT_ASSESS}; write it alone or leave it out"
    if len(chosen) < len(named):
        return "names an option twice; name it once"
    if rules.sets is None and len(rules.keys) > MAX_POWERSET_OPTIONS:
        return "cannot be placed: list the response_sets in task.yaml, as the options are many"
    if rules.sets is not None and frozenset(chosen) not in rules.sets:
        return "is not one of the response_sets; add it to them in task.yaml"
    return ""


def _parts(value: object) -> list[object]:
    try:
        members = parse_json(value) if isinstance(value, str) and value else value
    except ValueError:
        members = value
    if members is None or members == "":
        raise _empty()
    if not isinstance(members, list):
        problem = f"value {short(value)} is no response set; write a JSON array of option keys"
        raise _BadValueError("unknown_label", problem)
    if not members:
        problem = "the response set is empty; name its options, or leave the row out"
        raise _BadValueError("empty_response_set", problem)
    return members

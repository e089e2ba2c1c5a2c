"""Human ratings of a task: each value is checked where its line is still known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self

from harness.errors import TaskError
from harness.tasks.cells import as_text, identifier, short
from harness.tasks.checks import MAX_POWERSET_OPTIONS, as_number, numeric_keys
from harness.tasks.model import HumanElicitation, Rating
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.tables import parse_json, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.tasks.fields import TaskFields
    from harness.tasks.model import Item
    from harness.tasks.tables import Row

COLUMNS = frozenset({"item", "rater", "elicitation", "value"})
ELICITATIONS: dict[object, HumanElicitation] = {
    None: "forced_choice",
    "": "forced_choice",
    "forced_choice": "forced_choice",
    "response_set": "response_set",
}


class _BadValueError(ValueError):
    """A value that is no rating; ``reason`` is the slug of the fault."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the values of a task's ratings may be."""

    keys: tuple[str, ...]
    answers: frozenset[str]  # the keys, and CANNOT_ASSESS where the task allows it
    numbers: dict[float, str]  # keys by number, on a numeric scale
    sets: frozenset[frozenset[str]] | None  # None: every set, if they can be listed at all
    foreign: frozenset[str]

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
        )


def read_ratings(
    path: Path, task: TaskFields, items: Sequence[Item] | None
) -> tuple[tuple[Rating, ...], tuple[Rating, ...]]:
    """Read human ratings in long form.

    Parameters
    ----------
    path : Path
        A table with the columns ``item``, ``rater``, ``value`` and, optionally, ``elicitation``.
    task : TaskFields
        Says which values there are.
    items : sequence of Item or None
        The items that may be rated; None if the ratings alone say which there are.

    Returns
    -------
    ratings, ignored : tuple of Rating
        In file order; ``ignored`` holds those whose value is one of the task's ``ignore_labels``.

    Raises
    ------
    TaskError
        With ``reason`` ``unknown_label``, ``non_numeric_value``, ``empty_value``,
        ``empty_response_set``, ``set_not_admissible``, ``duplicate_rating``, ``unknown_item`` or
        ``unrated_item``, naming line, value, item and rater; without one for faults of the table.
    """
    rules = _Rules.of(task)
    known = None if items is None else {item.id for item in items}
    seen: set[tuple[str, str, str]] = set()
    kept: tuple[list[Rating], list[Rating]] = ([], [])
    for line, row in read_rows(path, required=("item", "rater", "value")):
        where = f"{path}: line {line}"
        rating, foreign = _rating(row, rules, where)
        key = (rating.item, rating.rater, rating.elicitation)
        if key in seen:
            _refuse(where, rating, "duplicate_rating", "this rating is there twice; keep one row")
        if known is not None and rating.item not in known:
            _refuse(where, rating, "unknown_item", "the items file has no such item; add it there")
        seen.add(key)
        kept[foreign].append(rating)
    _check_rated(path, items or (), {item for item, _, _ in seen})
    return tuple(kept[False]), tuple(kept[True])


def _refuse(where: str, rating: Rating, reason: str, what: str) -> NoReturn:
    place = f"{where}: item {rating.item!r}, rater {rating.rater!r}, {rating.elicitation}"
    raise TaskError(f"{place}: {what}.", reason=reason)


def _check_rated(path: Path, items: Sequence[Item], rated: set[str]) -> None:
    if unrated := [item.id for item in items if item.id not in rated]:
        more = f" ({len(unrated) - 1} more like it)" if len(unrated) > 1 else ""
        what = f"item {unrated[0]!r} has no ratings{more}; rate it or remove it from the items."
        raise TaskError(f"{path}: {what}", reason="unrated_item")


def _rating(row: Row, rules: _Rules, where: str) -> tuple[Rating, bool]:
    if not COLUMNS.issuperset(row):
        odd = short(min(row.keys() - COLUMNS))
        raise TaskError(
            f"{where}: unknown column {odd}; use item, rater, elicitation and value only."
        )
    item = identifier(row["item"], "item", where)
    rater = identifier(row["rater"], "rater", where)
    given = row.get("elicitation")
    elicitation = ELICITATIONS.get(given) if given is None or isinstance(given, str) else None
    if elicitation is None:
        raise TaskError(
            f"{where}: elicitation: found {short(given)}; write forced_choice or response_set."
        )
    try:
        read = _response_set if elicitation == "response_set" else _option
        value, foreign = read(row["value"], rules)
    except _BadValueError as fault:
        _refuse(where, Rating(item, rater, elicitation, ""), fault.reason, str(fault))
    return Rating(item, rater, elicitation, value), foreign


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


def _unknown(text: str, rules: _Rules, *, numeric: bool) -> _BadValueError:
    if not text:
        return _empty()
    if text == CANNOT_ASSESS:
        what = f"value {text!r} is not allowed here; say 'abstain: true' in task.yaml"
        return _BadValueError("unknown_label", what)
    todo = f"write one of {', '.join(rules.keys)}, or list it under ignore_labels"
    if numeric:
        return _BadValueError("non_numeric_value", f"value {short(text)} is not a number; {todo}")
    return _BadValueError("unknown_label", f"value {short(text)} is no option; {todo}")


def _empty() -> _BadValueError:
    what = "the value is empty; leave the row out if nothing was said"
    return _BadValueError("empty_value", what)


def _response_set(value: object, rules: _Rules) -> tuple[str | tuple[str, ...], bool]:
    """Read a response set in the order of the options, and whether it holds a foreign label."""
    if value == CANNOT_ASSESS or (isinstance(value, str) and value in rules.foreign):
        return _option(value, rules)
    parts = [_option(part, rules) for part in _parts(value)]
    named = [name for name, _ in parts]
    if any(foreign for _, foreign in parts):
        return tuple(named), True
    chosen = tuple(key for key in rules.keys if key in named)
    if fault := _inadmissible(named, chosen, rules):
        raise _BadValueError("set_not_admissible", f"value {short(value)} {fault}")
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
        found = parse_json(value) if isinstance(value, str) and value else value
    except ValueError:
        found = value
    if found is None or found == "":
        raise _empty()
    if not isinstance(found, list):
        what = f"value {short(value)} is no response set; write a JSON array of option keys"
        raise _BadValueError("unknown_label", what)
    if not found:
        what = "the response set is empty; name its options, or leave the row out"
        raise _BadValueError("empty_response_set", what)
    return found

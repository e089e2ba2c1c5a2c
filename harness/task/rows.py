"""Items and ratings of a task: read row by row, each value checked where its line is still known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from harness.errors import TaskError
from harness.tables import parse_json, read_rows
from harness.task.checks import MAX_POWERSET_OPTIONS, as_number, numeric_keys
from harness.task.model import CANNOT_ASSESS, HumanElicitation, Item, Rating, TaskFields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.tables import Row

MAX_ID_CHARS = 256
RATING_COLUMNS = frozenset({"item", "rater", "elicitation", "value"})
FORCED_CHOICE: HumanElicitation = "forced_choice"
RESPONSE_SET: HumanElicitation = "response_set"


def read_items(items: Path, groups: Path | None) -> tuple[Item, ...]:
    """Read items, each with the fields of its group before its own.

    Raises
    ------
    TaskError
        If an id is missing or repeated, a group is unknown, or a field stands in both tables.
    """
    shared = {item.id: item.fields for item in _read_fields(groups)} if groups else None
    return tuple(_joined(items, item, shared) for item in _read_fields(items))


def _joined(path: Path, item: Item, shared: dict[str, dict[str, str]] | None) -> Item:
    if shared is None or item.group is None:
        return item
    fields = shared.get(item.group)
    if fields is None:
        raise TaskError(
            f"{path}: item {item.id!r}: group {item.group!r} is not in the groups file; add it there."
        )
    if twice := fields.keys() & item.fields.keys():
        raise TaskError(
            f"{path}: item {item.id!r}: field {min(twice)!r} is also in its group; rename one of them."
        )
    return Item(item.id, fields | item.fields, item.group, item.criterion)


def _read_fields(path: Path) -> Iterator[Item]:
    seen: set[str] = set()
    for line, row in read_rows(path, required=("id",)):
        where = f"{path}: line {line}"
        ident = _identifier(row.pop("id"), "id", where)
        if ident in seen:
            raise TaskError(f"{where}: id {ident!r} is given twice; give each row its own id.")
        seen.add(ident)
        group, criterion = (_optional(row.pop(name, None), name, where) for name in _COLUMNS)
        fields = {name: _shown(value) for name, value in row.items() if value is not None}
        yield Item(ident, fields, group, criterion)


_COLUMNS = ("group", "criterion")


def _optional(value: object, column: str, where: str) -> str | None:
    return None if value is None or value == "" else _identifier(value, column, where)


def _identifier(value: object, column: str, where: str) -> str:
    text = _text(value)
    if not text or text != text.strip() or not text.isprintable() or len(text) > MAX_ID_CHARS:
        raise TaskError(
            f"{where}: {column}: found {_short(text)}; write 1 to {MAX_ID_CHARS} printable "
            "characters without spaces around them."
        )
    return text


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else _text(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "...")  # noqa: PLR2004 -- fits a line


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the values of a task's ratings may be."""

    keys: tuple[str, ...]
    known: dict[str, str]
    numbers: dict[float, str]
    sets: frozenset[frozenset[str]] | None  # None: every non-empty set
    sets_known: bool
    ignored: frozenset[str]

    @classmethod
    def of(cls, task: TaskFields) -> _Rules:
        keys = tuple(option.key for option in task.options)
        known = {key: key for key in keys}
        if task.abstain:
            known[CANNOT_ASSESS] = CANNOT_ASSESS
        listed = task.response_sets
        return cls(
            keys=keys,
            known=known,
            numbers=numeric_keys(keys) if task.scale == "ordinal" else {},
            sets=None if listed == "all" else frozenset(frozenset(one) for one in listed),
            sets_known=listed != "all" or len(keys) <= MAX_POWERSET_OPTIONS,
            ignored=frozenset(task.ignore_labels),
        )


class _BadValueError(ValueError):
    """A value that cannot be a rating; ``reason`` is the slug of the fault."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _ForeignLabelError(ValueError):
    """A value that the task lists as foreign: counted, left out."""


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
    ratings: list[Rating] = []
    ignored: list[Rating] = []
    for line, row in read_rows(path, required=("item", "rater", "value")):
        where = f"{path}: line {line}"
        rating, foreign = _rating(row, rules, where)
        key = (rating.item, rating.rater, rating.elicitation)
        if key in seen:
            _refuse(where, "duplicate_rating", rating.item, rating.rater, _TWICE)
        seen.add(key)
        if known is not None and rating.item not in known:
            _refuse(where, "unknown_item", rating.item, rating.rater, _NO_ITEM)
        (ignored if foreign else ratings).append(rating)
    rated = {item for item, _, _ in seen}
    if unrated := [item.id for item in items or () if item.id not in rated]:
        raise TaskError(
            f"{path}: item {unrated[0]!r} has no ratings ({len(unrated)} such items); "
            "rate it or remove it from the items.",
            reason="unrated_item",
        )
    return tuple(ratings), tuple(ignored)


_TWICE = "rated twice in the same way; keep one of the rows"
_NO_ITEM = "the item is not in the items file; add it there or remove the row"


def _refuse(where: str, reason: str, item: str, rater: str, what: str) -> NoReturn:
    raise TaskError(f"{where}: item {item!r}, rater {rater!r}: {what}.", reason=reason)


def _rating(row: Row, rules: _Rules, where: str) -> tuple[Rating, bool]:
    if not RATING_COLUMNS.issuperset(row):
        odd = min(row.keys() - RATING_COLUMNS)
        raise TaskError(
            f"{where}: unknown column {_short(odd)}; ratings have item, rater, elicitation and value."
        )
    item = _identifier(row["item"], "item", where)
    rater = _identifier(row["rater"], "rater", where)
    elicitation = row.get("elicitation") or FORCED_CHOICE
    value = row["value"]
    try:
        if elicitation == FORCED_CHOICE:
            return Rating(item, rater, FORCED_CHOICE, _option(value, rules)), False
        if elicitation == RESPONSE_SET:
            return Rating(item, rater, RESPONSE_SET, _response_set(value, rules)), False
    except _ForeignLabelError:
        kept = tuple(map(_text, value)) if isinstance(value, list) else _text(value)
        return Rating(item, rater, elicitation, kept), True
    except _BadValueError as fault:
        _refuse(where, fault.reason, item, rater, str(fault))
    raise TaskError(
        f"{where}: elicitation: found {_short(_text(elicitation))}; "
        "write forced_choice or response_set."
    )


def _option(value: object, rules: _Rules) -> str:
    text = _text(value)
    key = rules.known.get(text)
    if key is not None:
        return key
    if text in rules.ignored:
        raise _ForeignLabelError
    if not text:
        raise _BadValueError("empty_value", "value is empty; leave the row out if there is none")
    if rules.numbers:
        number = as_number(text)
        if number is None and text != CANNOT_ASSESS:
            raise _BadValueError(
                "non_numeric_value", f"value {_short(text)} is not a number; {_wanted(rules)}"
            )
        if number in rules.numbers:
            return rules.numbers[number]
    if text == CANNOT_ASSESS:
        raise _BadValueError(
            "unknown_label", f"value {CANNOT_ASSESS!r} needs 'abstain: true' in task.yaml"
        )
    raise _BadValueError(
        "unknown_label",
        f"value {_short(text)} is no option; {_wanted(rules)}, or list it under ignore_labels",
    )


def _wanted(rules: _Rules) -> str:
    return f"write one of {', '.join(rules.keys)}"


def _response_set(value: object, rules: _Rules) -> str | tuple[str, ...]:
    if value == CANNOT_ASSESS or (isinstance(value, str) and value in rules.ignored):
        return _option(value, rules)
    parts = _parts(value)
    if not parts:
        raise _BadValueError(
            "empty_response_set", "the response set is empty; name its options or leave the row out"
        )
    named = [_option(part, rules) for part in parts]
    chosen = tuple(key for key in rules.keys if key in named)
    if len(chosen) < len(named):
        raise _BadValueError(
            "set_not_admissible",
            f"value {_short(_text(value))} names an option twice or abstains too",
        )
    if not rules.sets_known:
        raise _BadValueError(
            "set_not_admissible",
            f"with more than {MAX_POWERSET_OPTIONS} options, list the response_sets in task.yaml",
        )
    if rules.sets is not None and frozenset(chosen) not in rules.sets:
        raise _BadValueError(
            "set_not_admissible",
            f"value {_short(_text(value))} is none of the response_sets listed",
        )
    return chosen


def _parts(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    try:
        found = parse_json(value) if isinstance(value, str) and value else None
    except ValueError:
        found = None
    if isinstance(found, list):
        return found
    raise _BadValueError(
        "unknown_label" if value else "empty_value",
        f"value {_short(_text(value))} is no response set; write a JSON array of option keys",
    )

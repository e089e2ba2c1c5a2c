"""Reading human ratings. Error messages include the line of a wrong value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeAlias

from harness.errors import TaskError
from harness.files.tables import read_rows
from harness.files.tables.checks import as_text, identifier, short
from harness.tasks.answer_rules import AnswerRules, BadAnswerError
from harness.tasks.coded_ratings import CodedRatings
from harness.tasks.item import HumanElicitation, Rating

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.errors import RatingFault
    from harness.files.tables import Row
    from harness.tasks.coded_ratings import HumanAnswer
    from harness.tasks.item import Item
    from harness.tasks.schema import TaskFields

COLUMNS = frozenset({"item", "rater", "elicitation", "value"})
PROVENANCE = (  # columns of `harness annotate`
    *("form", "instructions", "rated_at"),
    *("shown", "swapped", "comment", "flagged"),
)
KNOWN_COLUMNS = COLUMNS.union(PROVENANCE)
MAX_ANSWERS = 1000  # different cells that are held
ELICITATIONS: dict[object, HumanElicitation] = {
    None: "forced_choice",
    "": "forced_choice",
    "forced_choice": "forced_choice",
    "response_set": "response_set",
}


def read_ratings(
    path: Path, task: TaskFields, items: Sequence[Item] | None, *, unrated: bool = False
) -> tuple[CodedRatings, tuple[Rating, ...]]:
    """Read human ratings in long form."""
    rows = read_rows(path, required=("item", "rater", "value"))
    return check_ratings(rows, str(path), task, items, unrated=unrated)


def check_ratings(
    rows: Iterable[tuple[int | str, Row]],
    where: str,
    task: TaskFields,
    items: Sequence[Item] | None,
    *,
    unrated: bool = False,
) -> tuple[CodedRatings, tuple[Rating, ...]]:
    """Check human ratings in long form. Each row is a line or other location, and cells by column.

    Without ``items``, the ratings define the items. Return the ratings, then the ignored ratings,
    whose value is one of the task's ``ignore_labels``, both in order.

    Raises
    ------
    TaskError
        With ``reason`` ``unknown_label``, ``non_numeric_value``, ``out_of_bounds``, ``too_long``,
        ``empty_value``, ``empty_response_set``, ``set_not_admissible``, ``duplicate_rating``,
        ``unknown_item`` or ``unrated_item``, with place, value, item and rater.
    """
    cells = _Cells(AnswerRules.of(task), items or (), where)
    n_items = len(cells.items.names)
    is_rated = bytearray(n_items)
    keys: set[int] = set()
    ratings = CodedRatings(cells.items.names, cells.raters.names)
    ignored: list[Rating] = []
    for place, row in rows:
        made = () if COLUMNS.issuperset(row) else cells.provenance(row, place)
        item = cells.items.number(row["item"], where, place)
        rater = cells.raters.number(row["rater"], where, place)
        names = cells.items.names[item], cells.raters.names[rater]
        answer, is_foreign = cells.answer(row, names, place)
        key = (rater << 1 | (answer[0] == "response_set")) << 33 | item
        if key in keys:
            problem = "this rating is in the table twice. Keep only one row"
            _refuse(_at(where, place), Rating(*names, *answer), "duplicate_rating", problem)
        keys.add(key)
        if item < n_items:
            is_rated[item] = True
        elif items is not None:
            problem = "this item isn't in the items file. Add the item there"
            _refuse(_at(where, place), Rating(*names, *answer), "unknown_item", problem)
        if is_foreign:
            ignored.append(Rating(*names, *answer, made))
        else:
            ratings.add(item, rater, answer, made)
    if not unrated:
        _check_rated(where, items or (), is_rated)
    return ratings, tuple(ignored)


def _at(where: str, place: int | str) -> str:
    """Name a line in a file, or another location, for a message."""
    return f"{where}: line {place}" if isinstance(place, int) else f"{where}: {place}"


class _Names:
    """Checked names, each stored once, in order of occurrence."""

    def __init__(self, column: str, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        self._column = column
        self._numbers = {name: i for i, name in enumerate(self.names)}

    def number(self, cell: object, where: str, place: int | str) -> int:
        """Return the index of the name in a cell. Raise `TaskError` as `identifier` does."""
        number = self._numbers.get(cell) if isinstance(cell, str) else None
        if number is None:
            name = identifier(cell, self._column, _at(where, place))
            number = self._numbers.setdefault(name, len(self.names))
            if number == len(self.names):
                self.names.append(name)
        return number


CheckedAnswer: TypeAlias = "tuple[HumanAnswer, bool]"


class _Cells:
    """Reader for rating cells that checks and stores equal cells only once."""

    def __init__(self, rules: AnswerRules, items: Iterable[Item], where: str) -> None:
        self.items = _Names("item", (item.id for item in items))
        self.raters = _Names("rater")
        self._where = where
        self._rules = rules
        self._answers: dict[tuple[str | None, str], CheckedAnswer] = {}

    def answer(self, row: Row, names: tuple[str, str], place: int | str) -> CheckedAnswer:
        """Return the elicitation and value in a row, and whether the value is a foreign label."""
        form, cell = row.get("elicitation"), row["value"]
        if not isinstance(cell, str) or not (form is None or isinstance(form, str)):
            return self._read(form, cell, names, place)
        answer = self._answers.get((form, cell))
        if answer is None:
            answer = self._read(form, cell, names, place)
            if len(self._answers) < MAX_ANSWERS:
                self._answers[form, cell] = answer
        return answer

    def _read(
        self, form: object, cell: object, names: tuple[str, str], place: int | str
    ) -> CheckedAnswer:
        elicitation = ELICITATIONS.get(form) if form is None or isinstance(form, str) else None
        where = _at(self._where, place)
        if elicitation is None:
            problem = f"found {short(form)}. Write forced_choice or response_set"
            raise TaskError(f"{where}: elicitation: {problem}.")
        try:
            value, is_foreign = self._rules.read(cell, elicitation)
        except BadAnswerError as error:
            _refuse(where, Rating(*names, elicitation, ""), error.reason, str(error))
        return (elicitation, value), is_foreign

    def provenance(self, row: Row, place: int | str) -> tuple[tuple[str, str], ...]:
        """Return the cells in the columns that `harness annotate` adds. Reject unknown columns."""
        if not KNOWN_COLUMNS.issuperset(row):
            unknown = short(min(row.keys() - KNOWN_COLUMNS))
            raise TaskError(
                f"{_at(self._where, place)}: unknown column {unknown}. Use item, rater, "
                "elicitation and value only."
            )
        return tuple((name, as_text(row[name])) for name in PROVENANCE if row.get(name))


def _refuse(where: str, rating: Rating, reason: RatingFault, problem: str) -> NoReturn:
    place = f"{where}: item {rating.item!r}, rater {rating.rater!r}, {rating.elicitation}"
    raise TaskError(f"{place}: {problem}.", reason=reason)


def _check_rated(where: str, items: Sequence[Item], is_rated: Sequence[int]) -> None:
    if unrated := [item.id for item, rated in zip(items, is_rated, strict=True) if not rated]:
        more = f" ({len(unrated) - 1} more like it)" if len(unrated) > 1 else ""
        problem = (
            f"item {unrated[0]!r} has no ratings{more}. Rate the item, or remove it from the items."
        )
        raise TaskError(f"{where}: {problem}", reason="unrated_item")

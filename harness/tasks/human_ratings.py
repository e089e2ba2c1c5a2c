"""Reading human ratings: each value is checked with its line at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from harness.errors import TaskError
from harness.tasks.answer_rules import AnswerRules, BadAnswerError
from harness.tasks.model import HumanElicitation, Rating
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import as_text, identifier, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.errors import RatingFault
    from harness.tasks.model import Item
    from harness.tasks.schema import TaskFields
    from harness.tasks.tables import Row

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
) -> tuple[tuple[Rating, ...], tuple[Rating, ...]]:
    """Read human ratings in long form."""
    table = read_rows(path, required=("item", "rater", "value"))
    place = f"{path}: line "
    rows = ((f"{place}{line}", row) for line, row in table)
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
    cells = _Cells(AnswerRules.of(task), items or ())
    n_items = len(cells.items)
    rated: set[int] = set()
    ratings: list[Rating] = []
    ignored: list[Rating] = []
    for place, row in rows:
        rating, is_foreign = _rating(row, cells, place)
        item, rater = cells.items.index(rating.item), cells.raters.index(rating.rater)
        key = item << 33 | rater << 1 | (rating.elicitation == "response_set")
        if key in rated:
            _refuse(place, rating, "duplicate_rating", "this rating is there twice; keep one row")
        if items is not None and item >= n_items:
            _refuse(place, rating, "unknown_item", "the items file has no such item; add it there")
        rated.add(key)
        (ignored if is_foreign else ratings).append(rating)
    if not unrated:
        _check_rated(where, items or (), {key >> 33 for key in rated})
    return tuple(ratings), tuple(ignored)


class _Names:
    """Names that were checked, each held once, and the places at which they came."""

    def __init__(self, column: str, names: Iterable[str] = ()) -> None:
        self._column = column
        self._places = {name: i for i, name in enumerate(names)}
        self._names = {name: name for name in self._places}

    def __len__(self) -> int:
        return len(self._places)

    def index(self, name: str) -> int:
        """Return the place of a name that was read."""
        return self._places[name]

    def read(self, cell: object, where: str) -> str:
        """Return the name in a cell; TaskError as `identifier`."""
        if isinstance(cell, str) and (name := self._names.get(cell)) is not None:
            return name
        name = identifier(cell, self._column, where)
        self._places.setdefault(name, len(self._places))
        return self._names.setdefault(name, name)


class _Cells:
    """Readers of the cells of ratings, each of which checks and holds equal cells once."""

    def __init__(self, rules: AnswerRules, items: Iterable[Item]) -> None:
        self.items = _Names("item", (item.id for item in items))
        self.raters = _Names("rater")
        self._rules = rules
        self._answers: dict[tuple[str, HumanElicitation], tuple[str | tuple[str, ...], bool]] = {}

    def answer(
        self, cell: object, elicitation: HumanElicitation
    ) -> tuple[str | tuple[str, ...], bool]:
        """Return an answer, and whether it is foreign; as `AnswerRules.read`."""
        if not isinstance(cell, str):
            return self._rules.read(cell, elicitation)
        answer = self._answers.get((cell, elicitation))
        if answer is None:
            answer = self._rules.read(cell, elicitation)
            if len(self._answers) < MAX_ANSWERS:
                self._answers[cell, elicitation] = answer
        return answer


def _refuse(where: str, rating: Rating, reason: RatingFault, problem: str) -> NoReturn:
    place = f"{where}: item {rating.item!r}, rater {rating.rater!r}, {rating.elicitation}"
    raise TaskError(f"{place}: {problem}.", reason=reason)


def _check_rated(where: str, items: Sequence[Item], rated: set[int]) -> None:
    if unrated := [item.id for i, item in enumerate(items) if i not in rated]:
        more = f" ({len(unrated) - 1} more like it)" if len(unrated) > 1 else ""
        problem = f"item {unrated[0]!r} has no ratings{more}; rate it or remove it from the items."
        raise TaskError(f"{where}: {problem}", reason="unrated_item")


def _rating(row: Row, cells: _Cells, where: str) -> tuple[Rating, bool]:
    if not KNOWN_COLUMNS.issuperset(row):
        unknown = short(min(row.keys() - KNOWN_COLUMNS))
        raise TaskError(
            f"{where}: unknown column {unknown}; use item, rater, elicitation and value only."
        )
    item = cells.items.read(row["item"], where)
    rater = cells.raters.read(row["rater"], where)
    cell = row.get("elicitation")
    elicitation = ELICITATIONS.get(cell) if cell is None or isinstance(cell, str) else None
    if elicitation is None:
        raise TaskError(
            f"{where}: elicitation: found {short(cell)}; write forced_choice or response_set."
        )
    try:
        value, is_foreign = cells.answer(row["value"], elicitation)
    except BadAnswerError as error:
        _refuse(where, Rating(item, rater, elicitation, ""), error.reason, str(error))
    if COLUMNS.issuperset(row):
        return Rating(item, rater, elicitation, value), is_foreign
    made = tuple((name, as_text(row[name])) for name in PROVENANCE if row.get(name))
    return Rating(item, rater, elicitation, value, made), is_foreign

"""Which labels each side of a table uses, and whether its raters are persons or places."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from harness.curation import column_words
from harness.curation.column_profile import MAX_LABELS
from harness.curation.table_cells import labels_of, name_of, rows_of, text_of
from harness.errors import TaskError
from harness.tasks.options import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.curation.column_mapping import Mapping
    from harness.curation.column_profile import Table
    from harness.tasks.tables import Row

ENOUGH = 10
RaterIds = Literal["real", "positional"]


@dataclass(slots=True)
class Tally:
    """Labels by side.

    Attributes
    ----------
    humans : Counter
        How often the raters used each label.
    judges : dict of str to Counter
        The same for each judge.
    rater_ids : str
        ``positional`` where a rater's column seems to be only the place within the row.
    """

    humans: Counter[str] = field(default_factory=Counter)
    judges: dict[str, Counter[str]] = field(default_factory=dict)
    rater_ids: RaterIds = "real"

    @property
    def abstains(self) -> bool:
        """Whether anybody said CANNOT_ASSESS."""
        return any(CANNOT_ASSESS in labels for labels in (self.humans, *self.judges.values()))


def answers_in(row: Row, mapping: Mapping, table: Table) -> Iterator[tuple[bool, str, str]]:
    """Yield (is a judge, who, column) for each cell of a row that may hold an answer."""
    if mapping.rater:
        who = name_of(row.get(mapping.rater))
        yield who in mapping.judges, who, mapping.label
    for name in mapping.raters:
        yield False, name, name
    for name in mapping.judge_columns(table):
        yield True, name, name


def tally_labels(table: Table, mapping: Mapping) -> Tally:
    """Count the labels that raters and judges use.

    Raises
    ------
    TaskError
        If the raters use too many different ones, as free text and continuous numbers do.
    """
    tally = Tally()
    nested, n_uneven = True, 0
    for _, row in rows_of(table.path):
        filled = [bool(text_of(row.get(name))) for name in mapping.raters]
        nested = nested and filled == sorted(filled, reverse=True)
        n_uneven += not all(filled)
        for judged, who, column in answers_in(row, mapping, table):
            labels = labels_of(row.get(column))[0]
            side = tally.judges.setdefault(who, Counter()) if judged else tally.humans
            side.update(labels)
        if len(tally.humans) > MAX_LABELS:
            _too_many(table, mapping)
    if mapping.raters and _are_places(mapping.raters, nested, n_uneven):
        tally.rater_ids = "positional"
    return tally


def _too_many(table: Table, mapping: Mapping) -> None:
    columns = ", ".join(mapping.raters) or mapping.label
    raise TaskError(
        f"{table.path}: found more than {MAX_LABELS} different labels in {columns}; free text and "
        "continuous numbers cannot be used yet: bin them, or name other columns."
    )


def _are_places(raters: tuple[str, ...], nested: bool, n_uneven: int) -> bool:  # noqa: FBT001 -- a private helper
    """Whether numbered columns are places: always filled from the left, or called after the label.

    Columns called after people need more rows to show it, as it may be chance.
    """
    if not len({column_words.stem(name) for name in raters}) == 1 < len(raters):
        return False
    called = column_words.speaks_of(raters[0], column_words.LABELS)
    return (nested and n_uneven >= (1 if called else ENOUGH)) or (called and not n_uneven)

"""Readings of a table, which the importer tries on a sample and compares by their results.

A reading is like a recipe: the columns for each role, and the meaning of the answers. An import
drafts one and, if values leave roles or labels open, others. Before any of them is shown,
`tried_readings` tries it with the reader that writes tasks. A reading is left out if

- it can't be carried out, or asks a question that the draft already asked;
- its facts are absurd while those of another aren't: most options occur once, most cells can't be
  used, or rows are numbered and have one rating each, although a column names items with several;
- another one explains every column that it explains, and more.

A reading explains a column (`explained`) if the column has a role in it, says the same in all rows
of an item, follows from the ratings of its row, records a rater's action (a time, a measure, a
remark), or is the only one like it: a rater's confidence looks like a rating. It doesn't explain
the rest of a family: at least `MIN_TICKS` columns with the same labels that differ between an
item's raters. This is a partial order. Readings that only exchange roles, such as those of item
and rater, explain the same columns, so the user chooses.

Among the remaining readings, the draft comes first. A reading that explains more columns precedes
one that explains fewer. At most `MOST_READINGS` are shown. If only one is left, an import takes it
(`harness.curation.importing.import_draft.settled`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import MIN_TICKS, Facts, sample_of
from harness.curation.importing.contradictions import is_contradicted
from harness.curation.importing.import_plan import make_plans
from harness.curation.importing.reading_facts import ReadingFacts, facts_of
from harness.errors import TaskError
from harness.tasks.columns import column_words
from harness.tasks.columns.column_mapping import NONE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from harness.curation.importing.import_plan import ImportPlan
    from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions
    from harness.tasks.columns.table_columns import Table

MOST_READINGS = 3
BESIDE_RATINGS = column_words.MARGINS | column_words.REMARK_COLUMNS
SAMPLE_ROWS = 2000


@dataclass(frozen=True, slots=True)
class TableReading:
    """A reading of a table.

    Attributes
    ----------
    condition : str
        Condition under which the reading is right.
    roles : dict of str to sequence of str
        Columns by role, as in a recipe.
    settings : AnswerSettings
        Meaning of the answers.
    words : tuple of str
        Options that select the reading, including all roles.
    unclear : tuple of str
        Roles and settings in which readings differ.
    """

    condition: str
    roles: Mapping[str, Sequence[str]]
    settings: AnswerSettings
    words: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns that have a role."""
        return sum(len(names) for names in self.roles.values() if names != [NONE])

    @property
    def items(self) -> tuple[str, ...]:
        """Columns that name the item, or none if rows are numbered."""
        return tuple(name for name in self.roles.get("id", ()) if name != NONE)


def explained(plan: ImportPlan) -> frozenset[str]:
    """Return the columns that a reading explains. The module defines what that means."""
    mapping, table = plan.mapping, plan.cells.table
    facts = Facts(table)
    named = {name for names in mapping.by_role().values() for name in names}
    items = table.keys(mapping.id)
    varying = [
        name
        for name in table.columns
        if not mapping.one_row_per_item
        and facts.is_labels(name)
        and name not in facts.opaque
        and not facts.called(name, BESIDE_RATINGS)
        and not table.is_constant_within(items, name)
    ]
    return frozenset(
        name
        for name in table.columns
        if name in named
        or len(facts.alike(varying, name) if name in varying else ()) < MIN_TICKS
        or facts.determines(mapping.rating_columns, name)
    )


def explains_less(
    columns: Mapping[tuple[str, ...], frozenset[str]], reading: TableReading, other: TableReading
) -> bool:
    """Return whether ``other`` explains everything that ``reading`` explains, and more."""
    if reading.words not in columns or other.words not in columns:
        return False
    return columns[reading.words] < columns[other.words]


def _differs_in_text(reading: TableReading, other: TableReading) -> bool:
    """Return whether two readings differ only in the texts that judges see."""
    roles = ({**of.roles, "text": ()} for of in (reading, other))
    first, second = roles
    return first == second and reading.settings == other.settings


def tried_readings(
    readings: Iterable[TableReading], table: Table, rated: RatedOptions, asked: Collection[str]
) -> list[tuple[TableReading, ReadingFacts | None]]:
    """Try readings, and return the plausible readings with their results.

    Parameters
    ----------
    readings : iterable of TableReading
        The draft and the alternatives.
    table : Table
        Table as read from its file.
    rated : RatedOptions
        The rated property and the raters.
    asked : collection of str
        Questions of the draft, which no reading may ask again.

    Returns
    -------
    tested : list of (TableReading, ReadingFacts or None)
        Readings and facts; no facts for a reading that leads to another question.
    """
    tested: list[tuple[TableReading, ReadingFacts | None]] = []
    columns: dict[tuple[str, ...], frozenset[str]] = {}
    for reading in readings:
        items = [name for name in reading.items if name in table.columns]
        sample = sample_of(table, items, SAMPLE_ROWS)
        try:
            plans = make_plans(
                table.path.stem, sample, reading.roles, settings=reading.settings, rated=rated
            )
        except TaskError:
            if sample is not table:
                tested.append((reading, None))
            continue
        if is_contradicted(Facts(plans[0].cells.table), plans[0].mapping):
            continue
        questions = {question for plan in plans for question in plan.questions()}
        if questions.isdisjoint(asked):
            is_open = any(not doubt.is_last for plan in plans for doubt in plan.doubts)
            tested.append((reading, None if is_open else facts_of(plans)))
            columns[reading.words] = explained(plans[0])
    several = any(facts.per_item > 1 for reading, facts in tested if facts and reading.items)
    plain = [
        (reading, facts)
        for reading, facts in tested
        if facts is None
        or not (facts.is_absurd or (several and not reading.items and facts.per_item <= 1))
    ]
    plain = [
        entry
        for entry in plain
        if not any(explains_less(columns, entry[0], other) for other, _ in plain)
    ]
    first, others = (plain or tested)[:1], (plain or tested)[1:]
    others.sort(key=lambda entry: (_differs_in_text(entry[0], first[0][0]), -entry[0].n_columns))
    return [*first, *others][:MOST_READINGS]

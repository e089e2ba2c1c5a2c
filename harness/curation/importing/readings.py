"""Readings of a table: each is carried out on a sample, and judged by the facts that come out.

A reading is what a recipe says: the columns of each role, and what the answers mean. An import
drafts one and, if values leave roles or labels open, others. Before any of them is shown,
`tried_readings` tries it with the reader that writes tasks. A reading is left out if

- it can't be carried out, or asks a question that the draft asked already;
- its facts are absurd while those of another aren't: most options occur once, most cells can't be
  used, or rows are numbered and have one rating each, although a column names items with several;
- another one explains every column that it explains, and more.

A reading explains a column (`explained`) if the column has a role in it, says the same in all rows
of an item, follows from the ratings of its row, is what a rater did or wrote (a time, a measure, a
remark), or stands alone: a rater's confidence looks like a rating. It doesn't explain the rest of a
family: at least `MIN_TICKS` columns that hold the same labels and differ between the raters of an
item. This is a partial order. Readings that give other roles to the same columns, such as those of
item and rater exchanged, explain the same, so the user chooses.

Of the others the draft comes first, and a reading that explains more columns before one that
explains fewer: at most `MOST_READINGS` are shown. If a single one is left, an import takes it
(`harness.curation.importing.import_draft.settled`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.column_facts import MIN_TICKS, Facts, sample_of
from harness.curation.importing.import_plan import make_plans
from harness.errors import TaskError
from harness.files.plain_text import visible
from harness.tasks.columns import column_words
from harness.tasks.columns.column_mapping import NONE
from harness.tasks.columns.table_reader import Rejected, TableAnswer, TableItem
from harness.tasks.item import OPEN_SCALES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from harness.curation.importing.import_plan import ImportPlan
    from harness.tasks.columns.table_answers import AnswerSettings, RatedOptions
    from harness.tasks.columns.table_columns import Table

MOST_READINGS = 3
BESIDE_RATINGS = column_words.MARGINS | column_words.REMARK_COLUMNS
SAMPLE_ROWS = 2000
MIN_RATINGS = 20  # from which facts may be absurd
MOST_UNUSED = 2 / 3  # of the cells
OPTIONS_PER_RATING = 0.5
N_SHOWN = 4  # options, and ratings of an item, that a line lists
LINE_CHARS = 76


@dataclass(slots=True)
class ReadingFacts:
    """What a reading makes of a sample.

    Attributes
    ----------
    raters : dict of str to int
        Ratings per rater.
    items : dict of str to int
        Ratings per item.
    values : Counter of str
        How often each option is chosen; a set counts for each of its options.
    n_unused : int
        Rows and cells that can't be used.
    first_item : str
        Its name.
    example : list of (str, str)
        Rater and value of the first ratings of the first item.
    has_options : bool
        Whether values are options, not numbers or texts.
    """

    raters: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    n_unused: int = 0
    first_item: str = ""
    example: list[tuple[str, str]] = field(default_factory=list)
    has_options: bool = True

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return sum(self.raters.values())

    @property
    def per_item(self) -> float:
        """Median number of ratings of an item."""
        return float(np.median([*self.items.values()])) if self.items else 0.0

    def add(self, entry: TableItem | TableAnswer | Rejected) -> None:
        """Count what the reader yields; verdicts of judges aren't counted."""
        if isinstance(entry, Rejected):
            self.n_unused += 1
        elif isinstance(entry, TableAnswer) and not entry.is_judge:
            self.raters[entry.name] += 1
            self.items[entry.item] += 1
            self.values.update(_labels(entry))
            self.first_item = self.first_item or entry.item
            if entry.item == self.first_item:
                self._show(entry)

    def _show(self, entry: TableAnswer) -> None:
        """Add a rating to the example."""
        if len(self.example) < N_SHOWN:
            self.example.append((entry.name, " + ".join(_labels(entry))))

    @property
    def is_absurd(self) -> bool:
        """Whether most cells can't be used, or most options occur once."""
        n = self.n_ratings
        many_options = self.has_options and len(self.values) > OPTIONS_PER_RATING * n
        unusable = self.n_unused > MOST_UNUSED * (n + self.n_unused)
        return n + self.n_unused >= MIN_RATINGS and (unusable or many_options)

    def lines(self) -> tuple[str, str]:
        """Return the counts, and the first item as a person would see it."""
        uses = ", ".join(f"{value}: {n}" for value, n in self.values.most_common(N_SHOWN))
        more = ", ..." if len(self.values) > N_SHOWN else ""
        sizes = (
            f"{len(self.items)} items, {len(self.raters)} raters, {self.per_item:g} ratings each"
        )
        unused = f", {self.n_unused} unusable cells" if self.n_unused else ""
        counts = f"{sizes}{unused} ({uses}{more})"
        ratings = ", ".join(f"{who}: {value}" for who, value in self.example)
        return clipped(counts), clipped(f"{self.first_item}: {ratings}")


def _labels(entry: TableAnswer) -> tuple[str, ...]:
    """Return the options of an answer."""
    return (entry.value,) if isinstance(entry.value, str) else entry.value


def clipped(text: str) -> str:
    """Return a text on one line, cut at the width of a line."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 3]}..."


@dataclass(frozen=True, slots=True)
class TableReading:
    """A reading of a table.

    Attributes
    ----------
    condition : str
        What has to be so.
    roles : dict of str to sequence of str
        Columns by role, as in a recipe.
    settings : AnswerSettings
        What the answers mean.
    words : tuple of str
        The options that select it.
    """

    condition: str
    roles: Mapping[str, Sequence[str]]
    settings: AnswerSettings
    words: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        """Number of columns that have a role."""
        return sum(len(names) for names in self.roles.values() if names != [NONE])

    @property
    def items(self) -> tuple[str, ...]:
        """The columns that name the item; none if rows are numbered."""
        return tuple(name for name in self.roles.get("id", ()) if name != NONE)


def facts_of(plans: Iterable[ImportPlan]) -> ReadingFacts:
    """Carry out the plans of a reading and count what comes out."""
    facts = ReadingFacts()
    for plan in plans:
        facts.has_options &= plan.answers.scale not in OPEN_SCALES
        ignored = set(plan.answers.ignore)
        for entry in plan.reader().rated():
            if not (isinstance(entry, TableAnswer) and ignored.intersection(_labels(entry))):
                facts.add(entry)
    return facts


def explained(plan: ImportPlan) -> frozenset[str]:
    """Return the columns that a reading explains; see the module's order of readings."""
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
    """Return whether another reading explains all that one explains, and more."""
    if reading.words not in columns or other.words not in columns:
        return False
    return columns[reading.words] < columns[other.words]


def tried_readings(
    readings: Iterable[TableReading], table: Table, rated: RatedOptions, asked: Collection[str]
) -> list[tuple[TableReading, ReadingFacts | None]]:
    """Return the readings that are worth showing, with their facts.

    Parameters
    ----------
    readings : iterable of TableReading
        The draft and others.
    table : Table
        As it was read from its file.
    rated : RatedOptions
        What was rated and by whom.
    asked : collection of str
        Questions of the draft, which no reading may ask again.

    Returns
    -------
    tested : list of (TableReading, ReadingFacts or None)
        No facts where a reading leads to another question.
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
        questions = {question for plan in plans for question in plan.questions()}
        if questions.isdisjoint(asked):
            tested.append((reading, None if questions else facts_of(plans)))
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
    others.sort(key=lambda entry: -entry[0].n_columns)
    return [*first, *others][:MOST_READINGS]

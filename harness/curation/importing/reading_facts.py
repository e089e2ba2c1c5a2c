"""Results of reading a table: counts and an example."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from harness.files.plain_text import counted, visible
from harness.tasks.columns.table_reader import Rejected, TableAnswer, TableItem
from harness.tasks.item import OPEN_SCALES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.tasks.columns.table_reader import TableTask

MIN_RATINGS = 20  # fewest ratings whose facts can be absurd
MOST_UNUSED = 2 / 3  # most unusable cells, as a share
OPTIONS_PER_RATING = 0.5
N_SHOWN = 4  # options, or an item's ratings, listed on a line
LINE_CHARS = 76


@dataclass(slots=True)
class ReadingFacts:
    """Results of reading a sample of the table.

    Attributes
    ----------
    raters : dict of str to int
        Number of ratings per rater.
    items : dict of str to int
        Number of ratings per item.
    values : Counter of str
        Number of times each option is chosen. A set counts for each of its options.
    labels : dict of str to set of str
        Options that each rater chose.
    n_unused : int
        Number of rows and cells that can't be used.
    first_item : str
        Name of the first item.
    example : list of (str, str)
        Rater and value of the first item's first ratings.
    has_options : bool
        Whether values are options, as opposed to numbers or texts.
    """

    raters: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    labels: dict[str, set[str]] = field(default_factory=dict)
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
        """Median number of ratings per item."""
        return float(np.median([*self.items.values()])) if self.items else 0.0

    def add(self, entry: TableItem | TableAnswer | Rejected) -> None:
        """Count an entry from the reader. Judges' verdicts don't count."""
        if isinstance(entry, Rejected):
            self.n_unused += not entry.is_repeat
        elif isinstance(entry, TableAnswer) and not entry.is_judge:
            self.raters[entry.name] += 1
            self.items[entry.item] += 1
            self.values.update(_labels(entry))
            self.labels.setdefault(entry.name, set()).update(_labels(entry))
            self.first_item = self.first_item or entry.item
            if entry.item == self.first_item:
                self._show(entry)

    def _show(self, entry: TableAnswer) -> None:
        """Add a rating to the example."""
        if len(self.example) < N_SHOWN:
            self.example.append((entry.name, " + ".join(_labels(entry))))

    @property
    def is_absurd(self) -> bool:
        """Whether most cells are unusable, most options occur once, or raters share no option."""
        n = self.n_ratings
        if n >= MIN_RATINGS and self.has_options and self._are_apart:
            return True
        many_options = self.has_options and len(self.values) > OPTIONS_PER_RATING * n
        unusable = self.n_unused > MOST_UNUSED * (n + self.n_unused)
        return n + self.n_unused >= MIN_RATINGS and (unusable or many_options)

    @property
    def _are_apart(self) -> bool:
        """Whether no two raters share an option, although each rater chose several."""
        sets = [*self.labels.values()]
        return (
            len(sets) > 1
            and all(len(of) > 1 for of in sets)
            and sum(map(len, sets)) == len(set().union(*sets))
        )

    def lines(self) -> tuple[str, str]:
        """Describe the counts on one line, and the first item with its ratings on another."""
        uses = ", ".join(f"{value}: {n}" for value, n in self.values.most_common(N_SHOWN))
        more = ", ..." if len(self.values) > N_SHOWN else ""
        sizes = [counted([len(self.items)]), counted([len(self.raters)], "rater")]
        sizes.append(f"{counted(self.items.values(), 'rating')} each")
        sizes += [counted([self.n_unused], "unusable cell")] if self.n_unused else []
        counts = f"{', '.join(sizes)} ({uses}{more})"
        ratings = ", ".join(f"{who}: {value}" for who, value in self.example)
        return clipped(counts), clipped(f"{self.first_item}: {ratings}")


def _labels(entry: TableAnswer) -> tuple[str, ...]:
    """Return the options in an answer."""
    return (entry.value,) if isinstance(entry.value, str) else entry.value


def is_ignored(answer: TableAnswer, ignored: frozenset[str]) -> bool:
    """Return whether a rating has a label that the task ignores, so that it doesn't count."""
    return not answer.is_judge and not ignored.isdisjoint(_labels(answer))


def clipped(text: str) -> str:
    """Put a text on one line, and truncate the text to the line's width."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 3]}..."


def facts_of(plans: Iterable[TableTask]) -> ReadingFacts:
    """Carry out a reading's plans and count the results."""
    facts = ReadingFacts()
    for plan in plans:
        facts.has_options &= plan.answers.scale not in OPEN_SCALES
        ignored = frozenset(plan.answers.ignore)
        for entry in plan.reader().rated():
            if not (isinstance(entry, TableAnswer) and is_ignored(entry, ignored)):
                facts.add(entry)
    return facts

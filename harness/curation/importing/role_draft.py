"""One reading of a table: the roles of its columns so far, with doubts and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import Facts
from harness.tasks.columns import column_words
from harness.tasks.columns.table_columns import with_places

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_columns import Table

N_NAMED = 8  # columns that a message names


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question that values do not answer.

    Attributes
    ----------
    question : str
        What is unclear, with the options that settle it.
    accept : mapping of str to object
        Settings of the answers that the draft takes, where they are not those of the user.
    others : tuple of mapping
        Roles and settings of other readings, each as far as it differs from the draft.
    about : tuple of str
        Roles that are unclear, beside those of other readings.
    in_table : bool
        Whether no option settles it, but a change of the table alone.
    """

    question: str
    accept: Mapping[str, object] = field(default_factory=dict)
    others: tuple[Mapping[str, object], ...] = ()
    about: tuple[str, ...] = ()
    in_table: bool = False


class RoleDraft:
    """Roles so far; those that the user gave stay.

    Attributes
    ----------
    fixed : frozenset of str
        Roles that the user gave.
    mapping : ColumnMapping
        The roles; where there are doubts, a draft.
    doubts : list of Doubt
        What values do not imply.
    notes : list of str
        Columns that are left out and may be missed.
    computed : list of str
        Columns that follow from the ratings, which judges are never shown.
    other_pattern : str
        Of columns that may be called after criteria and raters; "" if there are none.
    """

    def __init__(self, table: Table, mapping: ColumnMapping, fixed: Collection[str]) -> None:
        self.table = table
        self.fixed = frozenset(fixed) | (frozenset({"raters"}) if mapping.pattern else frozenset())
        self.facts = Facts(table)
        self.mapping = mapping
        self.doubts: list[Doubt] = []
        self.other_pattern = ""
        self.notes: list[str] = []
        self.computed: list[str] = []

    def ask(self, question: str, *others: Mapping[str, object], about: str = "") -> None:
        """Add a doubt ``about`` a role, with other readings."""
        roles = (about,) if about else ()
        self.doubts.append(Doubt(question, others=others, about=roles))

    def set(self, **roles: str | tuple[str, ...]) -> None:
        """Give roles to columns, except for those that the user gave."""
        new = {role: value for role, value in roles.items() if role not in self.fixed}
        self.mapping = self.mapping.with_roles(new)

    def anew(self) -> RoleDraft:
        """Return a draft with the roles so far, which knows the same facts."""
        draft = RoleDraft(self.table, self.mapping, self.fixed)
        draft.facts, draft.other_pattern = self.facts, self.other_pattern
        return draft

    def use(self, table: Table) -> Table:
        """Read another table from here on, and return the one before."""
        before, self.table, self.facts = self.table, table, Facts(table)
        return before

    def place_raters(self, item: Sequence[str]) -> Table:
        """Add a column that numbers the rows of each item, and return the table without it."""
        return self.use(with_places(self.table, item))

    def free(self) -> list[str]:
        """Return the columns that have no role yet."""
        return list(self.mapping.unused(self.table))

    def is_rater_named(self, name: str) -> bool:
        """Return whether a column is called after raters."""
        return self.facts.called(name, column_words.RATERS | column_words.WEAK_RATERS)


def names_of(columns: Sequence[str]) -> str:
    """Write the names of columns for a message."""
    shown = ", ".join(columns[:N_NAMED])
    more = len(columns) - N_NAMED
    return shown + (f" and {more} more" if more > 0 else "")

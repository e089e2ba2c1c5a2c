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

N_NAMED = 8  # most columns named in a message


@dataclass(frozen=True, slots=True)
class Doubt:
    """A question that values don't answer.

    Attributes
    ----------
    question : str
        The question, with the options that answer it.
    accept : mapping of str to object
        Settings for the answers in the draft that the user didn't choose.
    others : tuple of mapping
        Roles and settings of other readings, each only with its differences from the draft.
    about : tuple of str
        Unclear roles, in addition to those of other readings.
    in_table : bool
        Whether only a change to the table answers it, not an option.
    """

    question: str
    accept: Mapping[str, object] = field(default_factory=dict)
    others: tuple[Mapping[str, object], ...] = ()
    about: tuple[str, ...] = ()
    in_table: bool = False


class RoleDraft:
    """Roles found so far, on top of those that the user gave.

    Attributes
    ----------
    fixed : frozenset of str
        Roles that the user gave.
    mapping : ColumnMapping
        The roles, which are a draft if there are doubts.
    doubts : list of Doubt
        Questions that values don't answer.
    notes : list of str
        Notes about unused columns that the user might want.
    computed : list of str
        Columns computed from the ratings, which judges never see.
    other_pattern : str
        Pattern of columns possibly named after criteria and raters; "" if there are none.
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
        """Assign roles to columns, except the roles that the user gave."""
        new = {role: value for role, value in roles.items() if role not in self.fixed}
        self.mapping = self.mapping.with_roles(new)

    def anew(self) -> RoleDraft:
        """Return a draft with the same roles so far and the same facts."""
        draft = RoleDraft(self.table, self.mapping, self.fixed)
        draft.facts, draft.other_pattern = self.facts, self.other_pattern
        return draft

    def use(self, table: Table) -> Table:
        """Use a different table from here on, and return the previous one."""
        before, self.table, self.facts = self.table, table, Facts(table)
        return before

    def place_raters(self, item: Sequence[str]) -> Table:
        """Add a column that numbers each item's rows, and return the table without it."""
        return self.use(with_places(self.table, item))

    def free(self) -> list[str]:
        """Return the columns without a role so far."""
        return list(self.mapping.unused(self.table))

    def is_rater_named(self, name: str) -> bool:
        """Return whether a column is named after raters."""
        return self.facts.called(name, column_words.RATERS | column_words.WEAK_RATERS)


def names_of(columns: Sequence[str]) -> str:
    """Write the names of columns for a message."""
    shown = ", ".join(columns[:N_NAMED])
    more = len(columns) - N_NAMED
    return shown + (f" and {more} more" if more > 0 else "")

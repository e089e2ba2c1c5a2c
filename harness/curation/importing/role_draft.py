"""Draft of a reading: column roles so far, doubts and notes."""

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
    """A question that the table's values don't answer.

    Attributes
    ----------
    question : str
        The question, with the options that answer it.
    accept : mapping of str to object
        Answer settings that the draft assumes and the user didn't choose.
    others : tuple of mapping
        Other readings, as the roles and settings in which each differs from the draft.
    about : tuple of str
        Unclear roles, in addition to the roles in ``others``.
    in_table : bool
        Whether the user must change the table, because no option answers the question.
    is_last : bool
        Whether it is asked once the others are answered, as none depends on it.
    """

    question: str
    accept: Mapping[str, object] = field(default_factory=dict)
    others: tuple[Mapping[str, object], ...] = ()
    about: tuple[str, ...] = ()
    in_table: bool = False
    is_last: bool = False


class RoleDraft:
    """Roles found so far, in addition to the user's.

    Attributes
    ----------
    fixed : frozenset of str
        Roles that the user specified.
    mapping : ColumnMapping
        The column roles. They are only a draft if there are doubts.
    doubts : list of Doubt
        Questions that the table's values don't answer.
    notes : list of str
        Notes for the user, for example about unused columns.
    computed : list of str
        Columns computed from the ratings. Judges never see them.
    """

    def __init__(self, table: Table, mapping: ColumnMapping, fixed: Collection[str]) -> None:
        self.table = table
        self.fixed = frozenset(fixed) | (frozenset({"raters"}) if mapping.pattern else frozenset())
        self.facts = Facts(table)
        self.mapping = mapping
        self.doubts: list[Doubt] = []
        self.notes: list[str] = []
        self.computed: list[str] = []

    def ask(self, question: str, *others: Mapping[str, object], about: str = "") -> None:
        """Add a doubt ``about`` a role, with other readings."""
        roles = (about,) if about else ()
        self.doubts.append(Doubt(question, others=others, about=roles))

    def set(self, **roles: str | tuple[str, ...]) -> None:
        """Assign roles to columns. Roles that the user specified stay unchanged."""
        new = {role: value for role, value in roles.items() if role not in self.fixed}
        self.mapping = self.mapping.with_roles(new)

    def anew(self) -> RoleDraft:
        """Return a new draft with the same roles and facts, but without doubts and notes."""
        draft = RoleDraft(self.table, self.mapping, self.fixed)
        draft.facts = self.facts
        return draft

    def use(self, table: Table) -> Table:
        """Replace the table, and return the previous table."""
        before, self.table, self.facts = self.table, table, Facts(table)
        return before

    def place_raters(self, item: Sequence[str]) -> Table:
        """Add a column that numbers each item's rows, and return the table without it."""
        return self.use(with_places(self.table, item))

    def free(self) -> list[str]:
        """Return the columns that have no role yet."""
        return list(self.mapping.unused(self.table))

    def is_rater_named(self, name: str) -> bool:
        """Return whether a column is named after raters."""
        return self.facts.called(name, column_words.RATERS | column_words.WEAK_RATERS)


def names_of(columns: Sequence[str]) -> str:
    """List columns' names for a message."""
    shown = ", ".join(columns[:N_NAMED])
    more = len(columns) - N_NAMED
    return shown + (f" and {more} more" if more > 0 else "")

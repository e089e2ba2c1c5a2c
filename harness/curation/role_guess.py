"""Guessing the roles of columns: by dependence between them, by values, and by names last.

A role that values do not imply is a doubt: the guess is then a draft, which the user accepts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from harness.curation.counted_roles import CountedRoles
from harness.curation.doubts import Doubt
from harness.curation.item_fields import group_column, shown_fields
from harness.curation.role_draft import names_of
from harness.curation.wide_roles import WideRoles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_columns import Table

LAYOUT_ROLES = (
    *("raters", "pattern", "rater", "label", "set", "criteria", "sets", "counts", "votes"),
)


@dataclass(frozen=True, slots=True)
class Guess:
    """Roles that the columns of a table may have.

    Attributes
    ----------
    mapping : ColumnMapping
        The roles; where there are doubts, a draft.
    doubts : tuple of Doubt
        What values do not imply.
    notes : tuple of str
        Columns that are left out and may be missed.
    """

    mapping: ColumnMapping
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()


def guess_roles(table: Table, fixed: Mapping[str, Any]) -> Guess:
    """Complete the roles that the user gave.

    Parameters
    ----------
    table : Table
        See `read_source`.
    fixed : mapping of str to object
        Fields of a `ColumnMapping` that the user gave; they are kept.
    """
    return _Guesser(table, fixed).guess()


class _Guesser(WideRoles, CountedRoles):
    """One guess: the roles so far, doubts and notes."""

    def guess(self) -> Guess:
        """Find the layout, then judges, group and the fields that judges are shown."""
        given = [role for role in LAYOUT_ROLES if self.fixed.get(role)]
        if self.mapping.votes or self.mapping.counts:
            self._total()
        elif self.mapping.rater or {"label", "criteria", "set", "sets"} & set(given):
            self._long(required=True)
        elif self.mapping.raters or self.mapping.pattern:
            self._judges_beside_raters()
        else:
            _ = self._votes() or self._counts() or self._long() or self._pattern() or self._wide()
        if not self.mapping.rater or self.mapping.votes:
            self._item_of_rows()
        else:
            self._judges_of_long()
        self._by_criterion()
        if self.mapping.rater and "rated_at" not in self.fixed:
            self._set(rated_at=self._time())
        fields = shown_fields(self.facts, self.mapping)
        if "text" not in self.fixed:
            self._set(text=fields.shown)
            self._note(fields.notes)
            self.doubts += fields.doubts
        self._swapped_sides()
        if "group" not in self.fixed and not self.mapping.group:
            self._set(group=group_column(self.facts, self.mapping))
        self._left_out()
        return Guess(self.mapping, tuple(self.doubts), tuple(self.notes))

    def _by_criterion(self) -> None:
        """Make an item of each pair of id and criterion, and a group of each id."""
        mapping = self.mapping
        joint = (*mapping.id, mapping.criterion)
        if not mapping.id or not mapping.criterion or mapping.criterion in mapping.id:
            return
        if self.table.n_distinct(mapping.id) == self.table.n_distinct(joint):
            return
        former = mapping.id[0] if len(mapping.id) == 1 else ""
        self.mapping = replace(mapping, id=joint, group=mapping.group or former)

    def _swapped_sides(self) -> None:
        """Ask about two texts that change their places between rows."""
        texts = [
            n for n in self.table.columns if self.facts.is_prose(n) and not self.facts.is_list(n)
        ]
        known = [n for n in self.mapping.id if not self.facts.is_prose(n)]
        items = self.table.keys(known).tolist()
        for first, second in combinations(texts, 2):
            cells = zip(items, self.facts[first].by_row(), self.facts[second].by_row(), strict=True)
            pairs = set(cells)
            if any(a != b and a and b and (item, b, a) in pairs for item, a, b in pairs):
                question = (
                    f"{first} and {second} change places between rows: put each pair in one order, "
                    "and exchange its label with it"
                )
                self.doubts.append(Doubt(question, in_table=True))

    def _left_out(self) -> None:
        """Name the columns that hold the labels of the ratings but are not used as such."""
        mapping, facts = self.mapping, self.facts
        ratings = [n for n in (*mapping.raters, mapping.label, *mapping.criteria) if n]
        ratings = [n for n in ratings if facts.is_labels(n)]
        columns = [n for n in self._free() if facts.is_labels(n) and not facts.is_prose(n)]
        similar = {n for rating in ratings for n in facts.alike(columns, rating)}
        numeric = {n for n in similar if facts.is_numbers(n)}
        similar -= {n for n in numeric if len(ratings) == 1 and mapping.rater}
        if similar:
            verb = "holds" if len(similar) == 1 else "hold"
            listed = names_of([n for n in columns if n in similar])
            self.notes.append(
                f"{listed} {verb} the same labels but no rating; --raters or --judges uses it"
            )

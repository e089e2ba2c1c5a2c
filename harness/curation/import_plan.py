"""Planning a task from a table: column roles, answers and item fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.curation.column_guess import guess_columns
from harness.curation.column_mapping import ColumnMapping, check, mapping_fields
from harness.curation.column_words import parts
from harness.curation.option_guess import (
    Answers,
    AnswerSettings,
    LabelCounts,
    RaterIds,
    count_labels,
    guess_answers,
)
from harness.tasks.options import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.curation.column_profile import Table

Kind = Literal["expert", "skilled", "crowd"]
RESERVED = ("id", "group", "criterion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a table becomes a task.

    Attributes
    ----------
    name, property : str
        Of the task.
    kind : str
        Whether the raters are ``expert``, ``skilled`` or ``crowd``.
    counts : LabelCounts
        Labels of raters and judges.
    fields : mapping of str to str
        Columns that become fields of the items, to the name of the field.
    """

    name: str
    property: str
    kind: Kind
    table: Table
    mapping: ColumnMapping
    counts: LabelCounts
    answers: Answers
    fields: Mapping[str, str]


def make_plan(
    name: str,
    table: Table,
    roles: Mapping[str, Sequence[str]],
    *,
    settings: AnswerSettings,
    property_rated: str = "",
    rater_ids: RaterIds | None = None,
    kind: Kind | None = None,
) -> Plan:
    """Guess missing settings and check that a task can be made.

    Parameters
    ----------
    name : str
        Of the task.
    table : Table
        See `profile`.
    roles : mapping of str to sequence of str
        Columns by role, as the user names them; see `mapping_fields`.
    settings : AnswerSettings
        Settings of the user about the answers.
    property_rated : str, optional
        Property rated, as a phrase.
    rater_ids : {"real", "positional"}, optional
        ``real`` or ``positional``; guessed if absent.
    kind : {"expert", "skilled", "crowd"}, optional
        What the raters are; by default crowd, or expert where their names say so.

    Raises
    ------
    TaskError
        If a column is unknown, nothing looks like ratings, or the labels cannot be options.
    """
    labelled = table.without_labels({CANNOT_ASSESS, *settings.ignore})
    mapping = guess_columns(labelled, mapping_fields(roles, table))
    check(mapping, table)
    counts = count_labels(table, mapping)
    counts.rater_ids = rater_ids or counts.rater_ids
    answers = guess_answers(counts, settings, str(table.path))
    return Plan(
        name=name,
        property=property_rated,
        kind=kind or _kind(mapping),
        table=table,
        mapping=mapping,
        counts=counts,
        answers=answers,
        fields=_fields(mapping, table),
    )


def _kind(mapping: ColumnMapping) -> Kind:
    """Return ``expert`` where the columns of the raters say so, else ``crowd``."""
    names = mapping.raters or (mapping.rater,)
    return "expert" if all("expert" in parts(name) for name in names) else "crowd"


def _fields(mapping: ColumnMapping, table: Table) -> dict[str, str]:
    """Name the fields of items after their columns, except for reserved names."""
    columns = mapping.text if mapping.rater else (*mapping.text, *mapping.unused(table))
    fields: dict[str, str] = {}
    for column in columns:
        name = column
        while name in RESERVED or name in fields.values():
            name += "_"
        fields[column] = name
    return fields

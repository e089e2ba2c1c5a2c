"""Everything that is decided about a table before a task is written from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.curation.column_guess import guess
from harness.curation.column_mapping import Mapping, check, settings
from harness.curation.column_words import parts
from harness.curation.label_counts import RaterIds, Tally, tally_labels
from harness.curation.option_guess import Answers, Wanted, find_answers
from harness.tasks.options import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Mapping as Dict
    from collections.abc import Sequence

    from harness.curation.column_profile import Table

Kind = Literal["expert", "skilled", "crowd"]
RESERVED = ("id", "group", "criterion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a table will become.

    Attributes
    ----------
    name, property : str
        Of the task.
    kind : str
        Whether the raters are ``expert``, ``skilled`` or ``crowd``.
    tally : Tally
        The labels of each side.
    fields : mapping of str to str
        Columns that become fields of the items, to the name of the field.
    """

    name: str
    property: str
    kind: Kind
    table: Table
    mapping: Mapping
    tally: Tally
    answers: Answers
    fields: Dict[str, str]


def make_plan(
    name: str,
    table: Table,
    given: Dict[str, Sequence[str]],
    *,
    wanted: Wanted,
    property_rated: str = "",
    rater_ids: RaterIds | None = None,
    kind: Kind | None = None,
) -> Plan:
    """Guess what is not given and check that a task can be made of it.

    Parameters
    ----------
    name : str
        Of the task.
    table : Table
        See `profile`.
    given : mapping of str to sequence of str
        Columns by role, as the user gave them; see `settings`.
    wanted : Wanted
        What the user says about the answers.
    property_rated : str, optional
        What is rated, as a phrase.
    rater_ids : {"real", "positional"}, optional
        ``real`` or ``positional``; guessed if absent.
    kind : {"expert", "skilled", "crowd"}, optional
        What the raters are; by default crowd, or expert where their names say so.

    Raises
    ------
    TaskError
        If a column is unknown, nothing looks like ratings, or the labels cannot be options.
    """
    mapping = guess(table.without_labels({CANNOT_ASSESS, *wanted.ignore}), settings(given, table))
    check(mapping, table)
    tally = tally_labels(table, mapping)
    tally.rater_ids = rater_ids or tally.rater_ids
    answers = find_answers(tally, wanted, str(table.path))
    return Plan(
        name=name,
        property=property_rated,
        kind=kind or _kind(mapping),
        table=table,
        mapping=mapping,
        tally=tally,
        answers=answers,
        fields=_fields(mapping, table),
    )


def _kind(mapping: Mapping) -> Kind:
    """What the raters' columns are called after, if after experts."""
    names = mapping.raters or (mapping.rater,)
    return "expert" if all("expert" in parts(name) for name in names) else "crowd"


def _fields(mapping: Mapping, table: Table) -> dict[str, str]:
    """Name the items' fields after their columns, but for the names that items use themselves."""
    kept = mapping.text if mapping.rater else (*mapping.text, *mapping.unused(table))
    fields: dict[str, str] = {}
    for column in kept:
        name = column
        while name in RESERVED or name in fields.values():
            name += "_"
        fields[column] = name
    return fields

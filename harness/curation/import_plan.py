"""Planning tasks from a table: column roles, answers and item fields."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.curation.column_roles import read_roles
from harness.curation.option_guess import (
    Answers,
    AnswerSettings,
    LabelCounts,
    count_labels,
    guess_answers,
    guess_rater_ids,
    merged,
)
from harness.tasks.columns.answer_cells import NO_TOTAL, SHARE_WORDS, AnswerReader
from harness.tasks.columns.cell_values import list_of
from harness.tasks.columns.column_mapping import ColumnMapping, check, mapping_fields
from harness.tasks.columns.column_words import parts
from harness.tasks.dataset_fields import RESERVED
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import OPEN_SCALES, RaterIds, RaterKind, as_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.tasks.columns.table_columns import Table

NO_JUDGES = "none"  # the name that says that there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a table, or a criterion of it, becomes a task.

    Attributes
    ----------
    name, property : str
        Of the task.
    kind : str
        Whether the raters are ``expert``, ``skilled`` or ``crowd``.
    criterion : str or None
        The only criterion of the task; None for all there are.
    joint : bool
        Whether an item is a row's item and a criterion.
    rater_ids : str
        ``positional`` where a rater is only a place within the row.
    fields : mapping of str to str
        Columns that become fields of the items, to the name of the field.
    points : tuple of (float, str)
        The evidence for the layout.
    questions : tuple of str
        What is unclear, with the flags that settle it; no task is made before.
    notes : tuple of str
        Decisions that a reader may want to change.
    source, licence : str
        Where the data come from, and on what terms; "" where that is not known.
    """

    name: str
    property: str
    kind: RaterKind
    table: Table
    mapping: ColumnMapping
    reader: AnswerReader
    criterion: str | None
    joint: bool
    rater_ids: RaterIds
    answers: Answers
    fields: Mapping[str, str]
    points: tuple[tuple[float, str], ...]
    questions: tuple[str, ...]
    notes: tuple[str, ...]
    source: str = ""
    licence: str = ""


def make_plans(
    name: str,
    table: Table,
    roles: Mapping[str, Sequence[str]],
    *,
    settings: AnswerSettings,
    property_rated: str = "",
    rater_ids: RaterIds | None = None,
    kind: RaterKind | None = None,
) -> tuple[Plan, ...]:
    """Complete the settings and check that tasks can be made.

    Parameters
    ----------
    name : str
        Of the task; where each criterion becomes a task of its own, what their names begin with.
    table : Table
        See `read_source`.
    roles : mapping of str to sequence of str
        Columns by role, as the user names them; see `mapping_fields`.
    settings : AnswerSettings
        Settings of the user about the answers.
    property_rated : str, optional
        Property rated, as a phrase.
    rater_ids : {"real", "positional"}, optional
        ``real`` or ``positional``; read from the columns if absent.
    kind : {"expert", "skilled", "crowd"}, optional
        What the raters are; by default crowd, or expert where their names say so.

    Returns
    -------
    plans : tuple of Plan
        One, or one per criterion where their labels differ.

    Raises
    ------
    TaskError
        If a column is unknown, nothing looks like ratings, or the labels cannot be options.
    """
    remarks = {CANNOT_ASSESS, *settings.ignore, *settings.abstain}
    fixed = mapping_fields(roles, table)
    column_roles = read_roles(table, fixed, remarks)
    mapping = column_roles.mapping
    if mapping.judges == (NO_JUDGES,):
        mapping = replace(mapping, judges=())
    check(mapping, table)
    mapping, list_questions = _read_lists(mapping, table, settings)
    reader = AnswerReader(table, mapping, settings.n_raters)
    counts = count_labels(reader, is_open=settings.scale in OPEN_SCALES)
    where = str(table.path)
    shared = len(counts) < 2 or (  # noqa: PLR2004 -- a criterion of its own
        settings.scales != "own"
        and (settings.scales == "shared" or settings.scale in OPEN_SCALES or _one_scale(counts))
    )
    by_task = {None: merged(counts.values())} if shared else counts
    questions = (*column_roles.questions, *list_questions, *_share_questions(reader))
    rater_ids = rater_ids or guess_rater_ids(reader)
    plans = []
    for criterion, of_task in by_task.items():
        answers = guess_answers(of_task, settings, where)
        plans.append(
            Plan(
                name=name if criterion is None else f"{name}-{_slug(criterion)}",
                property=property_rated,
                kind=kind or _kind(mapping),
                table=table,
                mapping=mapping,
                reader=reader,
                criterion=criterion,
                joint=criterion is None and bool(mapping.criteria or mapping.pattern),
                rater_ids=rater_ids,
                answers=answers,
                fields=_fields(mapping, table),
                points=column_roles.points,
                questions=(*questions, *answers.questions),
                notes=(*table.notes, *column_roles.notes, *answers.notes),
            )
        )
    return tuple(plans)


def _one_scale(counts: Mapping[str, LabelCounts]) -> bool:
    """Whether the criteria have one scale: the same numbers, or labels of one list of options."""
    sets = [
        {label.casefold() for label in c.humans} - {CANNOT_ASSESS.casefold()}
        for c in counts.values()
    ]
    numeric = [{x for x in labels if as_number(x) is not None} for labels in sets]
    if any(numeric):
        return all(labels == numeric[0] for labels in numeric)
    union = set().union(*sets)
    return any(labels == union for labels in sets)


def _slug(criterion: str) -> str:
    """Return a criterion as the end of a task's name."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in criterion)
    return text[:32] or "criterion"


def _read_lists(
    mapping: ColumnMapping, table: Table, settings: AnswerSettings
) -> tuple[ColumnMapping, list[str]]:
    """Settle whether lists in cells are the ratings of several raters or response sets."""
    if mapping.layout != "votes" or settings.lists == "ratings":
        return mapping, []
    lists = [parts for text in table.columns[mapping.votes].values if (parts := list_of(text))]
    repeats = any(len(parts) > len({str(part) for part in parts}) for parts in lists)
    if settings.lists == "sets":
        votes = mapping.votes
        return replace(mapping, votes="", total="", raters=(votes,)), []
    if repeats or not lists:
        return mapping, []
    text = f"the lists in {mapping.votes!r} may be ratings of several raters or one rater's set"
    return mapping, [f"{text}: give --lists ratings or --lists sets"]


def _share_questions(reader: AnswerReader) -> list[str]:
    """Ask for the number of raters where there are shares and nothing says it."""
    mapping = reader.mapping
    if not (mapping.counts or mapping.votes) or mapping.total or reader.n_raters:
        return []
    named = any(not SHARE_WORDS.isdisjoint(parts(name)) for name in mapping.counts)
    if not named and all(answer.problem != NO_TOTAL for answer in reader.answers()):
        return []
    return ["shares of raters need their number: give --n-raters N, or --total with its column"]


def _kind(mapping: ColumnMapping) -> RaterKind:
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

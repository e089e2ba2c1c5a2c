"""Inference of column roles from dependences first, then values, then names.

A role that values don't imply is a doubt. The result is then a draft that the user can accept.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from shlex import quote
from typing import TYPE_CHECKING

from harness.curation.importing.contradictions import is_contradicted, unread_raters
from harness.curation.importing.counted_roles import find_counts, find_total, find_votes
from harness.curation.importing.item_fields import group_column, show_fields
from harness.curation.importing.long_roles import (
    find_lone_rater,
    find_long,
    find_repeated,
    judges_among_raters,
    time_of_ratings,
)
from harness.curation.importing.picture_columns import picture_column
from harness.curation.importing.role_draft import Doubt, RoleDraft, names_of
from harness.curation.importing.structure_readings import find_crossed, find_rated_once
from harness.curation.importing.structures import names_cell
from harness.curation.importing.wide_roles import (
    find_item_of_rows,
    find_pattern,
    find_wide,
    judges_beside_raters,
)
from harness.tasks.columns import column_words

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_columns import Table
    from harness.tasks.item import Scale

REJECTED = frozenset({"rejected", "cancelled", "canceled", "discarded", "expired", "invalid"})
STATUSES = REJECTED | {"approved", "accepted", "submitted", "completed", "valid", "pending", "ok"}
LAYOUT_ROLES = (
    *("raters", "pattern", "rater", "label", "set", "criteria", "sets", "counts", "votes"),
)
RATER_ROLES = ("raters", "pattern", "rater")
LAYOUTS = (  # in the order in which they are tried
    *(find_votes, find_counts, find_long, find_lone_rater, find_pattern, find_repeated, find_wide),
    *(find_crossed, find_rated_once),
)


def guess_roles(
    table: Table,
    mapping: ColumnMapping,
    fixed: Collection[str],
    scale: Scale | None = None,
) -> RoleDraft:
    """Infer the roles that the user didn't specify.

    Parameters
    ----------
    table : Table
        See `read_source`.
    mapping : ColumnMapping
        Roles that the user gave.
    fixed : collection of str
        Names of those roles, which are kept even if empty.
    scale : str, optional
        Scale of the answers, if the user gave it.
    """
    draft = _with_layout(RoleDraft(table, mapping, fixed))
    if not draft.mapping.rater or draft.mapping.votes:
        find_item_of_rows(draft)
    else:
        judges_among_raters(draft)
    _by_criterion(draft)
    if draft.mapping.rater and "rated_at" not in fixed:
        draft.set(rated_at=time_of_ratings(draft))
    if "image" not in fixed:
        named = [n for n in draft.mapping.id if len(draft.mapping.id) == 1]
        draft.set(image=picture_column(draft.facts, [*draft.free(), *named]))
    if "text" not in fixed:
        show_fields(draft)
    if scale in {None, "pairwise"}:
        _swapped_sides(draft)
    _rejected_work(draft)
    _named_cells(draft)
    if "group" not in fixed and not draft.mapping.group:
        draft.set(group=group_column(draft.facts, draft.mapping))
    _left_out(draft)
    _ask_who_judges(draft)
    return draft


def _with_layout(draft: RoleDraft) -> RoleDraft:
    """Complete the layout that the user's roles imply, or choose the first plausible layout.

    Layouts that headers contradict are excluded. The first remaining layout is used, unless it
    ignores a column named after raters and a later layout uses that column for the same ratings.
    """
    mapping = draft.mapping
    given = [r for r in LAYOUT_ROLES if r in draft.fixed and getattr(mapping, r)]
    if mapping.votes or mapping.counts:
        find_total(draft)
    elif mapping.rater or {"label", "criteria", "set", "sets"} & set(given):
        find_long(draft, required=True) or (mapping.rater or find_repeated(draft))
    elif mapping.raters or mapping.pattern:
        judges_beside_raters(draft)
    else:
        return _explaining(draft)
    return draft


def _explaining(draft: RoleDraft) -> RoleDraft:
    first = None
    for find in LAYOUTS:
        tried = draft.anew()
        is_drafted = find(tried)
        if not is_drafted or is_contradicted(tried.facts, tried.mapping):
            continue
        unread = unread_raters(tried.facts, tried.mapping)
        rated = {*tried.mapping.rating_columns}
        if not unread and (first is None or rated >= {*first.mapping.rating_columns}):
            return tried
        first = first or tried
    return first or draft


def _by_criterion(draft: RoleDraft) -> None:
    """Make each combination of id and criterion an item, with the id as its group."""
    mapping = draft.mapping
    joint = (*mapping.id, mapping.criterion)
    if not mapping.id or not mapping.criterion or mapping.criterion in mapping.id:
        return
    if draft.table.n_distinct(mapping.id) == draft.table.n_distinct(joint):
        return
    former = mapping.id[0] if len(mapping.id) == 1 else ""
    draft.mapping = replace(mapping, id=joint, group=mapping.group or former)


def _swapped_sides(draft: RoleDraft) -> None:
    """Ask about two texts that change places between rows, if ratings can name a side."""
    texts = [
        n for n in draft.table.columns if draft.facts.is_prose(n) and not draft.facts.is_list(n)
    ]
    known = [n for n in draft.mapping.id if not draft.facts.is_prose(n)]
    items = draft.table.keys(known).tolist()
    for first, second in combinations(texts, 2):
        if not (column_words.are_pair(first, second) or _may_name_sides(draft, first, second)):
            continue
        cells = zip(items, draft.facts[first].by_row(), draft.facts[second].by_row(), strict=True)
        pairs = set(cells)
        if any(a != b and a and b and (item, b, a) in pairs for item, a, b in pairs):
            question = (
                f"{first} and {second} change places between rows. Put each pair in one order, "
                "and swap its label accordingly, or pass a --scale other than pairwise if "
                "labels don't name a side"
            )
            draft.doubts.append(Doubt(question, in_table=True))


def _may_name_sides(draft: RoleDraft, first: str, second: str) -> bool:
    """Return whether the labels, except ties, can name two texts' sides."""
    names = draft.mapping.rating_columns
    labels = {label.casefold() for name in names for label in draft.facts.labels(name)}
    sides = {label for label in labels if not column_words.contains_word(label, column_words.TIES)}
    pairs = (*column_words.SIDES, {"0", "1"}, {first.casefold(), second.casefold()})
    return sides in pairs or column_words.are_sides(sorted(sides), tied=False)


def _named_cells(draft: RoleDraft) -> None:
    """Ask the user to change ratings that repeat another cell in their row."""
    mapping = draft.mapping
    columns = [n for n in (mapping.label, *mapping.criteria, *mapping.raters) if n]
    if named := [n for n in columns if names_cell(draft.table, n)]:
        verb = "repeats" if len(named) == 1 else "repeat"
        question = (
            f"{names_of(named)} {verb} another cell of the row. Write which column a rater chose, "
            "such as 1 or 2, so that a label means the same in each row"
        )
        draft.doubts.append(Doubt(question, in_table=True))


def _rejected_work(draft: RoleDraft) -> None:
    """Ask about a column that says which ratings were accepted, if it has no role."""
    for name in draft.free():
        labels = {label.casefold() for label in draft.facts.labels(name)}
        if len(labels) > 1 and labels & REJECTED and labels <= STATUSES:
            question = (
                f"{name} says that some ratings weren't accepted. Remove the rows with these "
                f"ratings, or pass --drop {quote(name)} if the ratings count"
            )
            draft.doubts.append(Doubt(question, in_table=True))


def _ask_who_judges(draft: RoleDraft) -> None:
    """Ask about rating columns with models' names, because a name alone doesn't make a judge.

    If the user named the raters, or is asked about them anyway, add a note instead.
    """
    mapping = draft.mapping
    models = mapping.judge_columns(draft.table) if "judges" not in draft.fixed else ()
    if not models:
        return
    several, named = len(models) > 1, names_of(models)
    is_said = not draft.fixed.isdisjoint(RATER_ROLES)
    if is_said or any("raters" in doubt.about for doubt in draft.doubts):
        are = "have names of models, so they are judges"
        one = "has the name of a model, so it is a judge"
        draft.notes.append(f"{named} {are if several else one} (--judges none if not)")
        return
    people = (*mapping.raters, *models) if mapping.raters else ()
    other = f"--raters {quote(','.join(people))}" if people else "--judges none"
    judges = f"Pass --judges {quote(','.join(models))}"
    draft.ask(
        f"{named} have names of models. {judges} if they are models, or {other} if not"
        if several
        else f"{named} has the name of a model. {judges} if it is one, or {other} if not",
        {"raters": people, "judges": ()},
        about="judges",
    )


def _left_out(draft: RoleDraft) -> None:
    """Add a note about columns with the ratings' labels that aren't used as ratings."""
    mapping, facts = draft.mapping, draft.facts
    ratings = [n for n in (*mapping.raters, mapping.label, *mapping.criteria) if n]
    ratings = [n for n in ratings if facts.is_labels(n)]
    columns = [n for n in draft.free() if facts.is_labels(n) and not facts.is_prose(n)]
    similar = {n for rating in ratings for n in facts.alike(columns, rating)}
    numeric = {n for n in similar if facts.is_numbers(n)}
    similar -= {n for n in numeric if len(ratings) == 1 and mapping.rater}
    if similar:
        verb, was = ("contains", "wasn't") if len(similar) == 1 else ("contain", "weren't")
        listed = names_of([n for n in columns if n in similar])
        draft.notes.append(
            f"{listed} {verb} the same labels but {was} read as ratings (to include them, "
            "use --raters or --judges)"
        )

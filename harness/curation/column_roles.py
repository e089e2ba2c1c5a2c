"""The roles of the columns of a table: the best supported layout and what is unclear."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from harness.curation import column_evidence as evidence
from harness.curation.column_evidence import is_model, who_are
from harness.curation.layout_evidence import ACCEPTED, MARGIN, Roles, candidates, names_of
from harness.plain_text import visible
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import is_number
from harness.tasks.columns.column_mapping import LAYOUTS, ColumnMapping
from harness.tasks.columns.column_words import contains_word

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from harness.tasks.columns.column_mapping import Layout
    from harness.tasks.columns.table_columns import Table

FLAGS: Mapping[Layout, str] = {
    "wide": "--raters",
    "pattern": "--pattern",
    "long": "--rater and --label",
    "criteria": "--rater and --criteria",
    "counts": "--counts",
    "votes": "--votes",
}


def read_roles(
    table: Table, fields: dict[str, Any] | None = None, remarks: Collection[str] = ()
) -> Roles:
    """Read the roles of the columns of a table from their names and values."""
    fixed = fields or {}
    mapping = ColumnMapping(**fixed)
    if "criterion" not in fixed and not mapping.criteria and not mapping.pattern:
        mapping = replace(mapping, criterion=evidence.criterion_column(table, mapping))
    ranked = candidates(table, mapping, remarks)
    if not ranked:
        return Roles(mapping)
    best, rivals = _best(ranked)
    questions = [*_layout_questions(best, rivals), *best.questions]
    mapping, who_questions = _judges(table, best.mapping, fixed)
    questions += who_questions
    if "group" not in fixed:
        mapping = replace(mapping, group=evidence.group_column(table, mapping))
    mapping = _by_criterion(table, mapping)
    if mapping.rater and "rated_at" not in fixed:
        mapping = replace(mapping, rated_at=evidence.time_column(table, mapping))
    if "text" not in fixed:
        mapping = replace(mapping, text=evidence.text_columns(table, mapping))
    return Roles(mapping, best.points, tuple(questions), _left_out(table, mapping, remarks))


def _best(ranked: list[Roles]) -> tuple[Roles, list[Roles]]:
    """Return the best layout and those that are as well supported."""
    patterns = [c for c in ranked if c.mapping.layout == "pattern" and c.score >= ACCEPTED]
    if patterns:  # its columns are a family of rating columns, too
        ranked = [c for c in ranked if c.mapping.layout != "wide"]
    best = ranked[0]
    rivals = [
        c
        for c in ranked[1:]
        if c.score >= min(ACCEPTED, best.score) - MARGIN
        and c.score >= best.score - MARGIN
        and (c.mapping.layout, c.mapping.rater) != (best.mapping.layout, best.mapping.rater)
    ]
    return best, rivals


def _layout_questions(best: Roles, rivals: list[Roles]) -> list[str]:
    if best.score >= ACCEPTED and not rivals:
        return []
    choices = {c.mapping.layout: c for c in (*reversed(rivals), best)}
    options = "; ".join(
        f"{FLAGS[layout]} for {LAYOUTS[layout]} ({_columns_of(c)}?)"
        for layout, c in reversed(choices.items())
    )
    if rivals and all(c.mapping.layout == best.mapping.layout for c in rivals):
        names = names_of([c.mapping.rater for c in (best, *rivals)])
        return [f"{names} may each name the rater: give --rater and --label"]
    return [f"the layout of the table: give {options}"]


def _columns_of(roles: Roles) -> str:
    m = roles.mapping
    ratings = m.raters or m.counts or m.criteria or (m.label or m.votes,)
    return names_of([*filter(None, [m.rater]), *ratings])


def _judges(
    table: Table, mapping: ColumnMapping, fixed: dict[str, Any]
) -> tuple[ColumnMapping, list[str]]:
    """Find the judges beside people, where the user named none."""
    if mapping.layout in {"wide", "pattern"} or "judges" in fixed:
        return mapping, []
    questions: list[str] = []
    names: list[str] = []
    if mapping.rater:
        names, questions = _judges_of_long(table, mapping)
    columns = _judge_columns(table, mapping)
    return replace(mapping, judges=(*names, *columns)), questions


def _judges_of_long(table: Table, mapping: ColumnMapping) -> tuple[list[str], list[str]]:
    """Return the models among the raters, and what is unclear."""
    raters = table.columns[mapping.rater].values
    people = contains_word(mapping.rater, column_words.RATERS)
    who = who_are(raters, people=people)
    models = [name for name in raters if who[name] == "model"]
    unclear = [name for name in raters if who[name] == "unclear"]
    if len(models) == len(raters):
        text = f"every name in {mapping.rater!r} is called after a model"
        return [], [f"{text}: give --judges with those that are, or --judges none"]
    if not unclear:
        return models, []
    remedy = f"give --judges {quote(','.join(models) or 'none')} if they are people"
    text = f"{names_of(unclear)} in {mapping.rater!r} may be people or models: {remedy}"
    return models, [visible(f"{text}, or --judges with the models among them")]


def _judge_columns(table: Table, mapping: ColumnMapping) -> list[str]:
    """Columns called after models that hold the labels of the ratings."""
    columns = evidence.label_columns(table, mapping, ())
    models = [name for name in columns if is_model(name)]
    if mapping.layout in {"counts", "votes"}:
        return models
    ratings = (mapping.label, *mapping.criteria, *mapping.raters)
    labels = {n: table.columns[n].labels or {} for n in ratings if n in table.columns}
    similar = evidence.like(columns | labels, labels)
    return [name for name in models if name in similar]


def _by_criterion(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Make an item of each pair of id and criterion, and a group of each id."""
    joint = (*mapping.id, mapping.criterion)
    if not mapping.id or not mapping.criterion or mapping.criterion in mapping.id:
        return mapping
    if table.n_distinct(mapping.id) == table.n_distinct(joint):
        return mapping
    former_id = mapping.id[0] if len(mapping.id) == 1 else ""
    return replace(mapping, id=joint, group=mapping.group or former_id)


def _left_out(table: Table, mapping: ColumnMapping, remarks: Collection[str]) -> tuple[str, ...]:
    """Name the columns that hold the labels of the ratings but are not used as such."""
    ratings = [n for n in (*mapping.raters, mapping.label, *mapping.criteria) if n]
    labels = {n: table.columns[n].labels or {} for n in ratings if n in table.columns}
    columns = evidence.label_columns(table, mapping, remarks)
    numeric = {n for n in columns if evidence.all_values(table.columns[n], is_number)}
    similar = [n for n in evidence.like(columns | labels, labels) if n in columns]
    similar = [n for n in similar if n not in numeric or len(labels) > 1 or not mapping.rater]
    if not similar:
        return ()
    verb = "holds" if len(similar) == 1 else "hold"
    text = f"{names_of(similar)} {verb} the same labels but no rating"
    return (f"{text}; --raters or --judges uses it",)

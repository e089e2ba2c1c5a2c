"""Guessing the roles of columns from their values and names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.curation import column_words
from harness.curation.column_mapping import ColumnMapping
from harness.curation.column_words import contains_word, parts, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.curation.column_profile import Column, Table

SHARED = 0.8  # share of a column's labels that a family of columns must have in common
UNIQUE = 0.99  # share of rows that a key must tell apart
MOSTLY = 0.5
MAX_KEYS = 4
TEXT_CHARS = 20
ID_CHARS = 80
VARIED = 0.2  # distinct values per row above which a column is no category


def guess_columns(table: Table, fields: dict[str, Any] | None = None) -> ColumnMapping:
    """Guess the roles of the columns of a table.

    Parameters
    ----------
    table : Table
        Profile of the columns.
    fields : dict, optional
        Fields of the `ColumnMapping` that the user set; the others are guessed to fit them.

    Returns
    -------
    ColumnMapping
        With neither ``raters`` nor ``rater`` where nothing looks like ratings.
    """
    fixed = fields or {}
    mapping = ColumnMapping(**fixed)
    if "criterion" not in fixed:
        mapping = replace(mapping, criterion=_criterion(table, mapping))
    if not mapping.raters and not mapping.rater:
        mapping = _layout(table, mapping)
    mapping = _long(table, mapping) if mapping.rater else _wide(table, mapping)
    if "group" not in fixed:
        mapping = replace(mapping, group=_group(table, mapping))
    mapping = _by_criterion(table, mapping)
    if "text" not in fixed:
        mapping = replace(mapping, text=_text(table, mapping))
    return mapping


def _layout(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Choose between a column per rater and a row per rating."""
    if (long_mapping := _long_by_name(table, mapping)) is not None:
        return long_mapping
    family = _family(table, mapping)
    people = [name for name in family if not _is_judge(name)]
    candidates = [c.name for c in _free(table, mapping) if _may_name_raters(c, table)]
    by_name = [name for name in candidates if contains_word(name, column_words.RATERS)]
    late = [name for name in candidates if contains_word(name, column_words.LATE_RATERS)]
    if len(people) > 1 and not mapping.label:
        return replace(mapping, raters=tuple(people))
    rater = next(iter(by_name or late), "")
    label = mapping.label or (_label(table, mapping, rater) if rater else "")
    if rater and label:
        return replace(mapping, rater=rater, label=label)
    if people and (len(family) > 1 or contains_word(people[0], column_words.LABELS)):
        return replace(mapping, raters=tuple(people))
    return _by_structure(table, mapping)


def _long_by_name(table: Table, mapping: ColumnMapping) -> ColumnMapping | None:
    """Find a long table by name: a rater's column that distinguishes the rows of an item."""
    free = [column.name for column in _free(table, mapping)]
    raters = [
        n
        for n in free
        if contains_word(n, column_words.RATERS) and not contains_word(n, column_words.LABELS)
    ]
    if len(raters) != 1:
        return None
    [rater] = raters
    label = mapping.label or _label(table, mapping, rater)
    ids = [mapping.id] if mapping.id else [(n,) for n in free if _may_name_items(n)]
    within = (rater, *_within_item(table, mapping))
    repeated = any(
        _distinct_share(table, id_) < UNIQUE <= _distinct_share(table, (*id_, *within))
        for id_ in ids
    )
    if (
        not repeated
        or not label
        or not (mapping.label or contains_word(label, column_words.LABELS))
    ):
        return None
    return replace(mapping, rater=rater, label=label)


def _within_item(table: Table, mapping: ColumnMapping) -> tuple[str, ...]:
    """Columns that distinguish the ratings that a rater gives an item."""
    elicitation = mapping.elicitation or (
        "elicitation" if "elicitation" in mapping.unused(table) else ""
    )
    return tuple(filter(None, [elicitation, mapping.criterion]))


def _may_name_items(name: str) -> bool:
    """Whether a column is named after items or their groups."""
    return _has_id_name(name) or contains_word(name, column_words.GROUPS)


def _has_id_name(name: str) -> bool:
    """Whether a column's name is, or ends in, that of an id; "yes / no" does not."""
    return not column_words.ITEMS.isdisjoint({*parts(name)[-1:], "".join(parts(name))})


def _is_judge(name: str) -> bool:
    return contains_word(name, column_words.JUDGES) and not contains_word(name, column_words.RATERS)


def _free(table: Table, mapping: ColumnMapping) -> list[Column]:
    names = mapping.unused(table)
    return [table.columns[name] for name in names]


def _labelish(table: Table, mapping: ColumnMapping) -> dict[str, Column]:
    """Columns that may hold labels, by their values and as far as their name allows."""
    excluded = column_words.MARGINS | column_words.GROUPS | column_words.CRITERIA
    return {
        c.name: c
        for c in _free(table, mapping)
        if c.labels
        and not set(parts(c.name)) & excluded
        and not _has_id_name(c.name)
        and not (c.unique and c.n_filled > len(c.labels) / 2 and _looks_like_ids(c))
    }


def _looks_like_ids(column: Column) -> bool:
    return (
        contains_word(column.name, column_words.ITEMS)
        or set(parts(column.name)[-1:]) <= column_words.ID_MARKS
    )


def _family(table: Table, mapping: ColumnMapping) -> list[str]:
    """Return the largest group of columns that share their labels."""
    candidates = _labelish(table, mapping)
    by_name = [
        name
        for name in candidates
        if contains_word(name, column_words.RATERS)
        and not _may_name_raters(candidates[name], table)
    ]
    if len(by_name) > 1:
        stems = {stem(name) for name in by_name}
        similar = _like(candidates, by_name)
        return [
            name
            for name in candidates
            if name in by_name or (name in similar and (_is_judge(name) or stem(name) in stems))
        ]
    families = [_like(candidates, [anchor]) for anchor in candidates]
    families += [_numbered(candidates, anchor) for anchor in candidates]
    largest = max(families, key=len, default=[])
    numbered = [name for anchor in largest for name in _numbered(candidates, anchor)]
    family = _like(candidates, [*largest, *numbered])
    summaries = [name for name in family if contains_word(name, column_words.SUMMARIES)]
    people = [name for name in family if not _is_judge(name)]
    if set(people) - set(summaries):
        family = [name for name in family if name not in summaries]
    return family


def _like(candidates: dict[str, Column], anchors: Sequence[str]) -> list[str]:
    """Columns whose labels are mostly those of the anchors."""
    labels = {label for name in anchors for label in candidates[name].labels or ()}
    return [
        name
        for name, column in candidates.items()
        if sum(n for label, n in (column.labels or {}).items() if label in labels)
        >= SHARED * sum((column.labels or {}).values())
    ]


def _numbered(candidates: dict[str, Column], anchor: str) -> list[str]:
    """Short columns named like the anchor but for a number: ``a1``, ``a2``, ``a3``."""
    return [
        name
        for name, column in candidates.items()
        if stem(name) == stem(anchor) != " ".join(parts(name)) and column.mean_chars < TEXT_CHARS
    ]


def _may_name_raters(column: Column, table: Table) -> bool:
    """Whether a column repeats the names of several people over a long table."""
    named = contains_word(column.name, column_words.RATERS | column_words.LATE_RATERS)
    if (
        not named
        or contains_word(column.name, column_words.LABELS)
        or column.n_filled < table.n_rows
    ):
        return False
    distinct = {row.get(column.name, "") for row in table.sample}
    names = sum(not label.lstrip("-").isdecimal() and len(label) > 1 for label in distinct)
    others = [c for c in table.columns.values() if c.name != column.name and c.labels]
    shared = any(set(column.labels or ()) & set(c.labels or ()) for c in others)
    numbered = contains_word(column.name, column_words.ID_MARKS)
    return 1 < len(distinct) < len(table.sample) and (names > 0 or numbered) and not shared


def _label(table: Table, mapping: ColumnMapping, rater: str) -> str:
    """The column of a long table that holds the ratings."""
    options = {n: c for n, c in _labelish(table, mapping).items() if n != rater}
    options = {n: c for n, c in options.items() if len(c.labels or ()) > 1 and not _is_judge(n)}
    by_name = [n for n in options if contains_word(n, column_words.LABELS)]
    return min(by_name or options, key=lambda n: len(options[n].labels or ()), default="")


def _by_structure(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Find a long table by its values alone: item and rater repeat, their pairs do not."""
    free = [c for c in _free(table, mapping) if c.mean_chars <= ID_CHARS and not c.unique]
    sizes = {c.name: len({row.get(c.name, "") for row in table.sample}) for c in free}
    for item in sorted(sizes, key=lambda name: -sizes[name]):
        for rater in sorted(sizes, key=lambda name: -sizes[name]):
            if 1 < sizes[rater] < sizes[item] and _distinct_share(table, (item, rater)) >= UNIQUE:
                label = _label(table, replace(mapping, id=(item,)), rater)
                if label:
                    return replace(mapping, id=mapping.id or (item,), rater=rater, label=label)
    return mapping


def _distinct_share(table: Table, columns: Iterable[str]) -> float:
    """Return the share of sampled rows that are distinct in these columns."""
    names = tuple(columns)
    distinct = {tuple(row.get(name, "") for name in names) for row in table.sample}
    return len(distinct) / max(len(table.sample), 1)


def _wide(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    if not mapping.judges:
        candidates = _labelish(table, mapping) | {n: table.columns[n] for n in mapping.raters}
        similar = _like(candidates, [n for n in mapping.raters if n in candidates])
        judges = tuple(n for n in similar if n not in mapping.raters and _is_judge(n))
        mapping = replace(mapping, judges=judges)
    within = tuple(filter(None, [mapping.criterion]))
    return mapping if mapping.id else replace(mapping, id=_id(table, mapping, within))


def _long(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    if not mapping.label:
        mapping = replace(mapping, label=_label(table, mapping, mapping.rater))
    if not mapping.elicitation and "elicitation" in mapping.unused(table):
        mapping = replace(mapping, elicitation="elicitation")
    if not mapping.judges:
        mapping = replace(mapping, judges=_judges_of_long(table, mapping))
    if mapping.id:
        return mapping
    return replace(mapping, id=_id(table, mapping, (mapping.rater, *_within_item(table, mapping))))


def _judges_of_long(table: Table, mapping: ColumnMapping) -> tuple[str, ...]:
    """Judges' names among the raters', and columns that hold the same labels."""
    raters = table.columns[mapping.rater].labels or {} if mapping.rater in table.columns else {}
    names = [name for name in raters if _is_judge(name)]
    if len(names) == len(raters):  # when every name sounds like a judge, no name does
        names = []
    candidates = _labelish(table, mapping)
    if mapping.label in table.columns and table.columns[mapping.label].labels:
        candidates[mapping.label] = table.columns[mapping.label]
        similar = _like(candidates, [mapping.label])
        columns = [n for n in similar if n != mapping.label and _is_judge(n)]
        names += [n for n in columns if table.columns[n].n_filled]
    return tuple(names)


def _id(table: Table, mapping: ColumnMapping, within: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that name an item: one if possible, none to number the rows.

    Parameters
    ----------
    within : tuple of str
        Columns that distinguish the rows of an item: rater (in a long table) and criterion.
    """
    full = [c for c in _free(table, mapping) if c.n_filled > MOSTLY * table.n_rows]
    by_name = [c.name for c in full if _looks_like_ids(c) and c.mean_chars <= ID_CHARS]
    free = [c for c in full if c.n_filled == table.n_rows]
    groups = [
        c.name for c in free if _is_name(c, table) and contains_word(c.name, column_words.GROUPS)
    ]
    others = [c.name for c in free if _is_name(c, table)]
    names = list(dict.fromkeys(by_name + groups + others))
    for name in names:
        if _distinct_share(table, (name, *within)) >= UNIQUE:
            return (name,)
    if joint := _joint(table, names, within):
        return joint
    repeated = [name for name in names if _distinct_share(table, (name,)) < UNIQUE]
    for name in repeated if within else by_name:  # rows that repeat an item will be rejected
        if _distinct_share(table, (name, *within)) > MOSTLY:
            return (name,)
    texts = [c for c in free if within and _distinct_share(table, (c.name, *within)) >= UNIQUE]
    return tuple(c.name for c in sorted(texts, key=lambda c: -c.mean_chars)[:1])


def _is_name(column: Column, table: Table) -> bool:
    """Whether a column holds short names without spaces, as ids are."""
    spaced = any(" " in row.get(column.name, "") for row in table.sample)
    return column.mean_chars <= ID_CHARS and not spaced


def _joint(table: Table, names: Sequence[str], within: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns that only together name an item, the most id-like first."""
    chosen = list(names[:1])
    while chosen and len(chosen) < MAX_KEYS:
        rest = [name for name in names if name not in chosen]
        if not rest:
            break
        best = max(rest, key=lambda name: _distinct_share(table, (*chosen, name, *within)))
        chosen.append(best)
        if _distinct_share(table, (*chosen, *within)) >= UNIQUE:
            return tuple(chosen)
    return ()


def _group(table: Table, mapping: ColumnMapping) -> str:
    """Return the column of the cluster to resample: named so, and repeated over items."""
    candidates = [c.name for c in _free(table, mapping)]
    candidates += mapping.id if len(mapping.id) > 1 else ()
    n_items = _distinct_share(table, mapping.id) if mapping.id else 1.0
    for name in candidates:
        column = table.columns[name]
        repeats = _distinct_share(table, (name,)) < n_items
        varies = len({row.get(name, "") for row in table.sample}) > 1
        is_short = column.mean_chars <= ID_CHARS and column.n_filled == table.n_rows
        if contains_word(name, column_words.GROUPS) and repeats and varies and is_short:
            return name
    return ""


def _criterion(table: Table, mapping: ColumnMapping) -> str:
    for column in _free(table, mapping):
        repeats = column.labels and len(column.labels) <= max(2, table.n_rows // 4)
        if contains_word(column.name, column_words.CRITERIA) and repeats:
            return column.name
    return ""


def _by_criterion(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Make an item of each pair of id and criterion, and a group of each id."""
    joint = (*mapping.id, mapping.criterion)
    if not mapping.id or not mapping.criterion or mapping.criterion in mapping.id:
        return mapping
    if _distinct_share(table, mapping.id) == _distinct_share(table, joint):
        return mapping
    former_id = mapping.id[0] if len(mapping.id) == 1 else ""
    return replace(mapping, id=joint, group=mapping.group or former_id)


def _text(table: Table, mapping: ColumnMapping) -> tuple[str, ...]:
    """Return columns to read: long or varied texts, without columns that look like answers."""
    answers = {name: column for name, column in table.columns.items() if column.labels}
    alike = _like(answers, [n for n in (*mapping.raters, mapping.label) if n in answers])
    rows = max(len(table.sample), 1)
    n_items = rows * _distinct_share(table, mapping.id) if mapping.id else rows
    named = [table.columns[name] for name in mapping.id if not _is_name(table.columns[name], table)]
    free = [column for column in _free(table, mapping) if column.name not in alike]
    return tuple(c.name for c in (*named, *free) if _is_read(c, table, n_items))


def _is_read(column: Column, table: Table, n_items: float) -> bool:
    values = {row.get(column.name, "") for row in table.sample} - {""}
    if not values or set(parts(column.name)) & (column_words.MARGINS | column_words.SUMMARIES):
        return False
    number = all(value.replace(".", "", 1).lstrip("-").isdecimal() for value in values)
    address = all(value.startswith(("http://", "https://")) for value in values)
    if number or address or (_looks_like_ids(column) and _is_name(column, table)):
        return False
    by_name = contains_word(column.name, column_words.TEXTS)
    return by_name or column.mean_chars >= TEXT_CHARS or len(values) >= VARIED * n_items

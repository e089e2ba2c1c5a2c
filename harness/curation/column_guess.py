"""A guess at which column of a table is what: from what columns hold, then from their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.curation import column_words
from harness.curation.column_mapping import Mapping
from harness.curation.column_words import parts, speaks_of, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.curation.column_profile import Column, Table

SHARED = 0.8  # share of a column's labels that a family of columns must know
UNIQUE = 0.99  # share of rows that a key must tell apart
MOSTLY = 0.5
MAX_KEYS = 4
TEXT_CHARS = 20
ID_CHARS = 80
VARIED = 0.2  # distinct values per row above which a column is no category


def guess(table: Table, given: dict[str, Any] | None = None) -> Mapping:
    """Guess which column of a table is what.

    Parameters
    ----------
    table : Table
        What the columns hold.
    given : dict, optional
        Fields of the `Mapping` that are known already; the others are guessed to fit them.

    Returns
    -------
    Mapping
        With neither ``raters`` nor ``rater`` where nothing looks like ratings.
    """
    known = Mapping(**(given or {}))
    if "criterion" not in (given or {}):
        known = replace(known, criterion=_criterion(table, known))
    if not known.raters and not known.rater:
        known = _layout(table, known)
    known = _long(table, known) if known.rater else _wide(table, known)
    if "group" not in (given or {}):
        known = replace(known, group=_group(table, known))
    known = _by_criterion(table, known)
    if "text" not in (given or {}):
        known = replace(known, text=_text(table, known))
    return known


def _layout(table: Table, known: Mapping) -> Mapping:
    """Choose between a column per rater and a row per rating."""
    if (long := _called_long(table, known)) is not None:
        return long
    family = _family(table, known)
    people = [name for name in family if not _is_judge(name)]
    named = [c.name for c in _free(table, known) if _may_name_raters(c, table)]
    called = [name for name in named if speaks_of(name, column_words.RATERS)]
    if len(people) > 1 and not known.label:
        return replace(known, raters=tuple(people))
    rater = next(iter(called or [n for n in named if speaks_of(n, column_words.LATE_RATERS)]), "")
    label = known.label or (_label(table, known, rater) if rater else "")
    if rater and label:
        return replace(known, rater=rater, label=label)
    if people and (len(family) > 1 or speaks_of(people[0], column_words.LABELS)):
        return replace(known, raters=tuple(people))
    return _by_structure(table, known)


def _called_long(table: Table, known: Mapping) -> Mapping | None:
    """A row per rating by name: one rater's column, whose names tell an item's rows apart."""
    free = [column.name for column in _free(table, known)]
    raters = [
        n
        for n in free
        if speaks_of(n, column_words.RATERS) and not speaks_of(n, column_words.LABELS)
    ]
    if len(raters) != 1:
        return None
    [rater] = raters
    label = known.label or _label(table, known, rater)
    ids = [known.id] if known.id else [(n,) for n in free if _may_name_items(n)]
    beside = (rater, *_beside(table, known))
    repeated = any(
        _told_apart(table, id_) < UNIQUE <= _told_apart(table, (*id_, *beside)) for id_ in ids
    )
    if not repeated or not label or not (known.label or speaks_of(label, column_words.LABELS)):
        return None
    return replace(known, rater=rater, label=label)


def _beside(table: Table, known: Mapping) -> tuple[str, ...]:
    """Columns that tell apart what one rater says of one item."""
    asked = known.elicitation or ("elicitation" if "elicitation" in known.unused(table) else "")
    return tuple(filter(None, [asked, known.criterion]))


def _may_name_items(name: str) -> bool:
    """Whether a column is called after what it names: items, or what they stand in."""
    return _is_called_id(name) or speaks_of(name, column_words.GROUPS)


def _is_called_id(name: str) -> bool:
    """Whether a column's name is, or ends in, that of an id; "yes / no" does not."""
    return not column_words.ITEMS.isdisjoint({*parts(name)[-1:], "".join(parts(name))})


def _is_judge(name: str) -> bool:
    return speaks_of(name, column_words.JUDGES) and not speaks_of(name, column_words.RATERS)


def _free(table: Table, known: Mapping) -> list[Column]:
    names = known.unused(table)
    return [table.columns[name] for name in names]


def _labelish(table: Table, known: Mapping) -> dict[str, Column]:
    """Columns that may hold labels, by what they hold and as far as their name allows."""
    barred = column_words.MARGINS | column_words.GROUPS | column_words.CRITERIA
    return {
        c.name: c
        for c in _free(table, known)
        if c.labels
        and not set(parts(c.name)) & barred
        and not _is_called_id(c.name)
        and not (c.unique and c.n_filled > len(c.labels) / 2 and _looks_like_ids(c))
    }


def _looks_like_ids(column: Column) -> bool:
    return (
        speaks_of(column.name, column_words.ITEMS)
        or set(parts(column.name)[-1:]) <= column_words.ID_MARKS
    )


def _family(table: Table, known: Mapping) -> list[str]:
    """The most columns that share their labels, so that they can be ratings of the same items."""
    candidates = _labelish(table, known)
    by_name = [
        name
        for name in candidates
        if speaks_of(name, column_words.RATERS) and not _may_name_raters(candidates[name], table)
    ]
    if len(by_name) > 1:
        stems = {stem(name) for name in by_name}
        more = _like(candidates, by_name)
        return [
            name
            for name in candidates
            if name in by_name or (name in more and (_is_judge(name) or stem(name) in stems))
        ]
    families = [_like(candidates, [anchor]) for anchor in candidates]
    families += [_numbered(candidates, anchor) for anchor in candidates]
    best = max(families, key=len, default=[])
    kin = [name for one in best for name in _numbered(candidates, one)]
    best = _like(candidates, [*best, *kin])
    summaries = [name for name in best if speaks_of(name, column_words.SUMMARIES)]
    people = [name for name in best if not _is_judge(name)]
    if set(people) - set(summaries):
        best = [name for name in best if name not in summaries]
    return best


def _like(candidates: dict[str, Column], anchors: Sequence[str]) -> list[str]:
    """Columns whose labels are mostly those of the anchors."""
    known = {label for name in anchors for label in candidates[name].labels or ()}
    return [
        name
        for name, column in candidates.items()
        if sum(n for label, n in (column.labels or {}).items() if label in known)
        >= SHARED * sum((column.labels or {}).values())
    ]


def _numbered(candidates: dict[str, Column], anchor: str) -> list[str]:
    """Short columns called like the anchor but for a number: ``a1``, ``a2``, ``a3``."""
    return [
        name
        for name, column in candidates.items()
        if stem(name) == stem(anchor) != " ".join(parts(name)) and column.mean_chars < TEXT_CHARS
    ]


def _may_name_raters(column: Column, table: Table) -> bool:
    """Whether a column repeats the names of several people over a long table."""
    said = speaks_of(column.name, column_words.RATERS | column_words.LATE_RATERS)
    if not said or speaks_of(column.name, column_words.LABELS) or column.n_filled < table.n_rows:
        return False
    distinct = {row.get(column.name, "") for row in table.sample}
    names = sum(not label.lstrip("-").isdecimal() and len(label) > 1 for label in distinct)
    others = [c for c in table.columns.values() if c.name != column.name and c.labels]
    shared = any(set(column.labels or ()) & set(c.labels or ()) for c in others)
    numbered = speaks_of(column.name, column_words.ID_MARKS)
    return 1 < len(distinct) < len(table.sample) and (names > 0 or numbered) and not shared


def _label(table: Table, known: Mapping, rater: str) -> str:
    """The column of a long table that holds the ratings."""
    options = {n: c for n, c in _labelish(table, known).items() if n != rater}
    options = {n: c for n, c in options.items() if len(c.labels or ()) > 1 and not _is_judge(n)}
    called = [n for n in options if speaks_of(n, column_words.LABELS)]
    few = sorted(called or options, key=lambda n: len(options[n].labels or ()))
    return few[0] if few else ""


def _by_structure(table: Table, known: Mapping) -> Mapping:
    """Find a long table by its shape alone: item and rater repeat, together they do not."""
    free = [c for c in _free(table, known) if c.mean_chars <= ID_CHARS and not c.unique]
    sizes = {c.name: len({row.get(c.name, "") for row in table.sample}) for c in free}
    for item in sorted(sizes, key=lambda name: -sizes[name]):
        for rater in sorted(sizes, key=lambda name: -sizes[name]):
            if 1 < sizes[rater] < sizes[item] and _told_apart(table, (item, rater)) >= UNIQUE:
                label = _label(table, replace(known, id=(item,)), rater)
                if label:
                    return replace(known, id=known.id or (item,), rater=rater, label=label)
    return known


def _told_apart(table: Table, columns: Iterable[str]) -> float:
    """Share of the sampled rows that these columns tell apart."""
    keys = tuple(columns)
    seen = {tuple(row.get(name, "") for name in keys) for row in table.sample}
    return len(seen) / max(len(table.sample), 1)


def _wide(table: Table, known: Mapping) -> Mapping:
    if not known.judges:
        candidates = _labelish(table, known) | {n: table.columns[n] for n in known.raters}
        like = _like(candidates, [n for n in known.raters if n in candidates])
        judges = tuple(n for n in like if n not in known.raters and _is_judge(n))
        known = replace(known, judges=judges)
    beside = tuple(filter(None, [known.criterion]))
    return known if known.id else replace(known, id=_id(table, known, beside))


def _long(table: Table, known: Mapping) -> Mapping:
    if not known.label:
        known = replace(known, label=_label(table, known, known.rater))
    if not known.elicitation and "elicitation" in known.unused(table):
        known = replace(known, elicitation="elicitation")
    if not known.judges:
        known = replace(known, judges=_judges_of_long(table, known))
    if known.id:
        return known
    return replace(known, id=_id(table, known, (known.rater, *_beside(table, known))))


def _judges_of_long(table: Table, known: Mapping) -> tuple[str, ...]:
    """Judges' names among the raters', and columns that hold the same labels."""
    raters = table.columns[known.rater].labels or {} if known.rater in table.columns else {}
    names = [name for name in raters if _is_judge(name)]
    if len(names) == len(raters):  # everybody sounds like a judge: then nobody is one
        names = []
    candidates = _labelish(table, known)
    if known.label in table.columns and table.columns[known.label].labels:
        candidates[known.label] = table.columns[known.label]
        like = [n for n in _like(candidates, [known.label]) if n != known.label and _is_judge(n)]
        names += [n for n in like if table.columns[n].n_filled]
    return tuple(names)


def _id(table: Table, known: Mapping, beside: tuple[str, ...]) -> tuple[str, ...]:
    """Columns that name an item: one if possible, several if need be, none to number the rows.

    Parameters
    ----------
    beside : tuple of str
        Columns that tell the rows of one item apart: the rater's, in a long table, and the
        criterion's.
    """
    full = [c for c in _free(table, known) if c.n_filled > MOSTLY * table.n_rows]
    called = [c.name for c in full if _looks_like_ids(c) and c.mean_chars <= ID_CHARS]
    free = [c for c in full if c.n_filled == table.n_rows]
    groups = [c.name for c in free if _is_name(c, table) and speaks_of(c.name, column_words.GROUPS)]
    others = [c.name for c in free if _is_name(c, table)]
    names = list(dict.fromkeys(called + groups + others))
    for name in names:
        if _told_apart(table, (name, *beside)) >= UNIQUE:
            return (name,)
    if joint := _joint(table, names, beside):
        return joint
    repeated = [name for name in names if _told_apart(table, (name,)) < UNIQUE]
    for name in (
        repeated if beside else called
    ):  # with rows that will be rejected, as they repeat an item
        if _told_apart(table, (name, *beside)) > MOSTLY:
            return (name,)
    texts = [c for c in free if beside and _told_apart(table, (c.name, *beside)) >= UNIQUE]
    return tuple(c.name for c in sorted(texts, key=lambda c: -c.mean_chars)[:1])


def _is_name(column: Column, table: Table) -> bool:
    """Whether a column holds short names without spaces, as ids are."""
    spaced = any(" " in row.get(column.name, "") for row in table.sample)
    return column.mean_chars <= ID_CHARS and not spaced


def _joint(table: Table, names: Sequence[str], beside: tuple[str, ...]) -> tuple[str, ...]:
    """Columns that only together name an item; the first is the one most called like an id."""
    chosen = list(names[:1])
    while chosen and len(chosen) < MAX_KEYS:
        rest = [name for name in names if name not in chosen]
        if not rest:
            break
        best = max(rest, key=lambda name: _told_apart(table, (*chosen, name, *beside)))
        chosen.append(best)
        if _told_apart(table, (*chosen, *beside)) >= UNIQUE:
            return tuple(chosen)
    return ()


def _group(table: Table, known: Mapping) -> str:
    """The column of the cluster to resample: named so, and repeating over items."""
    candidates = [c.name for c in _free(table, known)]
    candidates += known.id if len(known.id) > 1 else ()
    n_items = _told_apart(table, known.id) if known.id else 1.0
    for name in candidates:
        column = table.columns[name]
        repeats = _told_apart(table, (name,)) < n_items
        many = len({row.get(name, "") for row in table.sample}) > 1
        short = column.mean_chars <= ID_CHARS and column.n_filled == table.n_rows
        if speaks_of(name, column_words.GROUPS) and repeats and many and short:
            return name
    return ""


def _criterion(table: Table, known: Mapping) -> str:
    for column in _free(table, known):
        few = column.labels and len(column.labels) <= max(2, table.n_rows // 4)
        if speaks_of(column.name, column_words.CRITERIA) and few:
            return column.name
    return ""


def _by_criterion(table: Table, known: Mapping) -> Mapping:
    """Make an item of each criterion that is rated of one thing, and a group of the thing."""
    named = (*known.id, known.criterion)
    if not known.id or not known.criterion or known.criterion in known.id:
        return known
    if _told_apart(table, known.id) == _told_apart(table, named):
        return known
    alone = known.id[0] if len(known.id) == 1 else ""
    return replace(known, id=named, group=known.group or alone)


def _text(table: Table, known: Mapping) -> tuple[str, ...]:
    """Columns with something to read: long, or varied words, but no answers that were left out."""
    answers = {name: column for name, column in table.columns.items() if column.labels}
    alike = _like(answers, [n for n in (*known.raters, known.label) if n in answers])
    rows = max(len(table.sample), 1)
    n_items = rows * _told_apart(table, known.id) if known.id else rows
    named = [table.columns[name] for name in known.id if not _is_name(table.columns[name], table)]
    free = [column for column in _free(table, known) if column.name not in alike]
    return tuple(c.name for c in (*named, *free) if _is_read(c, table, n_items))


def _is_read(column: Column, table: Table, n_items: float) -> bool:
    values = {row.get(column.name, "") for row in table.sample} - {""}
    if not values or set(parts(column.name)) & (column_words.MARGINS | column_words.SUMMARIES):
        return False
    number = all(value.replace(".", "", 1).lstrip("-").isdecimal() for value in values)
    address = all(value.startswith(("http://", "https://")) for value in values)
    if number or address or (_looks_like_ids(column) and _is_name(column, table)):
        return False
    called = speaks_of(column.name, column_words.TEXTS)
    return called or column.mean_chars >= TEXT_CHARS or len(values) >= VARIED * n_items

"""Evidence for the role of a column in its name and values."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import (
    counts_of,
    is_address,
    is_date,
    is_iso_time,
    is_number,
    list_of,
)
from harness.tasks.columns.column_words import contains_word, parts, stem
from harness.tasks.columns.table_columns import without_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_columns import Column, Table


Who = Literal["person", "model", "unclear"]

VERSION = re.compile(r"(?<![a-z0-9])v\d|\d\.\d|\d+b(?![a-z0-9])|(?<=\d)o(?![a-z0-9])")
FILLERS = frozenset({"by", "of", "from", "s", "the", "no", "nr", "number", "id"})
MAX_PLACE_CHARS = 3
SHARED = 0.8  # share of a column's labels that a family of columns must have in common
UNIQUE = 0.99  # share of rows that a key must tell apart
MOSTLY = 0.5
MAX_KEYS = 4
TEXT_CHARS = 20
ID_CHARS = 80
VARIED = 0.2  # distinct values per item above which a column is no category
MAX_VALUES = 2000  # distinct values of a column that are looked at


def who_are(names: Iterable[str], *, people: bool = False) -> dict[str, Who]:
    """Say of names whether each is a person's or a model's, or that it is unclear.

    A letter and a number, as in ``r1``, is a person where another is numbered alike. In a column
    that is called after ``people``, a name is a person's unless it looks like a model's.

    Examples
    --------
    >>> who_are(["annotator_2", "gpt-4o", "mini"])
    {'annotator_2': 'person', 'gpt-4o': 'model', 'mini': 'unclear'}
    >>> who_are(["rater_gpt4"])  # a rater, or what a model says of raters
    {'rater_gpt4': 'unclear'}
    >>> who_are(["Bert", "our_finetune_2"], people=True)
    {'Bert': 'person', 'our_finetune_2': 'unclear'}
    """
    distinct = list(dict.fromkeys(names))
    forms = Counter(
        form for name in distinct for form in {_numbered_form(name), _lettered_form(name)}
    )
    return {name: _who_is(name, forms, people=people) for name in distinct}


def _who_is(name: str, forms: Mapping[str, int], *, people: bool) -> Who:
    if is_model(name):
        return "model"
    place = {_numbered_form(name), _lettered_form(name)} - {""}
    words = parts(name)
    if _opens_with_rater(words) and is_model("_".join(words[1:])):
        return "unclear"
    if _opens_with_rater(words) or any(forms[form] > 1 for form in place):
        return "person"
    if people:
        return "unclear" if _may_be_model(name) else "person"
    return "unclear"


def is_model(name: str) -> bool:
    """Whether a name holds a product's name, or a model's family with a version.

    Examples
    --------
    >>> is_model("gpt-4o-mini"), is_model("claude-3-opus"), is_model("Claude")
    (True, True, False)
    """
    words = {*parts(name), "".join(parts(name))}
    words |= {re.sub(r"\d+$", "", word) for word in words}
    if not words.isdisjoint(column_words.RATERS):
        return False
    family = not words.isdisjoint(column_words.MODEL_FAMILIES)
    return not words.isdisjoint(column_words.MODELS) or (family and _has_version(name))


def _has_version(name: str) -> bool:
    return VERSION.search(name.casefold()) is not None or (
        len(parts(name)) > 1 and any(part.isdecimal() for part in parts(name))
    )


def _may_be_model(name: str) -> bool:
    """Whether a name has the marks of a model's name; a single given name does not count."""
    words = parts(name)
    marked = not column_words.MODEL_MARKS.isdisjoint(words)
    return (marked and len(words) > 1) or VERSION.search(name.casefold()) is not None


def _opens_with_rater(words: tuple[str, ...]) -> bool:
    """Whether the first word that is no label or filler is a word for raters."""
    content = [w for w in words if w not in column_words.LABELS and w not in FILLERS]
    return bool(content) and content[0] in column_words.RATERS


def _numbered_form(name: str) -> str:
    """Return what a place shares with those beside it, as ``r1`` shares ``r``."""
    words = parts(name)
    opening = stem(name)
    short = len(opening) < MAX_PLACE_CHARS and opening not in column_words.COUNT_MARKS
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    numbered = len(words) > 1 and words[-1].isdecimal() and bool(opening)
    return opening if numbered and (short or labelled) else ""


def _lettered_form(name: str) -> str:
    """Return what a label and a letter share with those beside it: ``rating by`` A, B, C."""
    words = parts(name)
    lettered = len(words) > 1 and len(words[-1]) == 1 and words[-1].isalpha()
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    return " ".join((*words[:-1], "*")) if lettered and labelled else ""


def free_columns(table: Table, mapping: ColumnMapping) -> list[Column]:
    """Columns without a role."""
    return [table.columns[name] for name in mapping.unused(table)]


def all_values(column: Column, test: Callable[[str], object]) -> bool:
    """Whether a column has values and all of those looked at pass a test."""
    values = column.values[:MAX_VALUES]
    return bool(values) and all(map(test, values))


def is_mostly_dates(column: Column) -> bool:
    """Whether a column holds dates or time stamps."""
    return all_values(column, is_date)


def holds_labels(column: Column) -> bool:
    """Whether the values of a column may be labels, whatever its name."""
    return (
        bool(column.labels)
        and not is_mostly_dates(column)
        and not all_values(column, is_address)
        and not all_values(column, counts_of)
    )


def label_columns(
    table: Table, mapping: ColumnMapping, remarks: Collection[str]
) -> dict[str, Mapping[str, int]]:
    """Return the labels of the columns that may hold ratings, by values and names."""
    excluded = column_words.MARGINS | column_words.GROUPS | column_words.CRITERIA
    return {
        c.name: without_labels(c, remarks)
        for c in free_columns(table, mapping)
        if holds_labels(c)
        and not set(parts(c.name)) & excluded
        and not has_id_name(c.name)
        and not (c.unique and (looks_like_ids(c) or _are_texts(c)))
    }


def _are_texts(column: Column) -> bool:
    """Whether values that differ from row to row are texts by their length or their name."""
    named = contains_word(column.name, column_words.TEXTS)
    return (named or column.mean_chars >= TEXT_CHARS) and not all_values(column, is_number)


def has_id_name(name: str) -> bool:
    """Whether a column's name is, or ends in, that of an id; "yes / no" does not."""
    return not column_words.ITEMS.isdisjoint({*parts(name)[-1:], "".join(parts(name))})


def looks_like_ids(column: Column) -> bool:
    """Whether a column is called after items, or ends in the mark of an id."""
    return (
        contains_word(column.name, column_words.ITEMS)
        or set(parts(column.name)[-1:]) <= column_words.ID_MARKS
    )


def like(candidates: Mapping[str, Mapping[str, int]], anchors: Iterable[str]) -> list[str]:
    """Columns whose labels are mostly those of the anchors, whatever their case.

    Beside two sides, a tie is one of their labels, too: not every rater of pairs uses it.
    """
    labels = {label.casefold() for name in anchors for label in candidates[name]}
    if column_words.are_sides([*labels, "tie"], tied=True):
        every = {label.casefold() for counts in candidates.values() for label in counts}
        labels |= {label for label in every if contains_word(label, column_words.TIES)}
    return [
        name
        for name, counts in candidates.items()
        if sum(n for label, n in counts.items() if label.casefold() in labels)
        >= SHARED * sum(counts.values())
    ]


def family(candidates: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the columns of raters and judges: those that share the labels of the people.

    Where no column is called after a person, the largest group that shares its labels.
    """
    people = [name for name, who in who_are(candidates).items() if who == "person"]
    if people:
        return [n for n in candidates if n in {*people, *like(candidates, people)}]
    anchors = {frozenset(labels): name for name, labels in candidates.items()}.values()
    families = [like(candidates, [anchor]) for anchor in anchors]  # one for each set of labels
    families += [_numbered(candidates, anchor) for anchor in candidates]
    largest = max(families, key=len, default=[])
    numbered = [name for anchor in largest for name in _numbered(candidates, anchor)]
    return like(candidates, [*largest, *numbered])


def _numbered(candidates: Iterable[str], anchor: str) -> list[str]:
    """Columns named like the anchor but for a number: ``a1``, ``a2``, ``a3``."""
    return [n for n in candidates if stem(n) == stem(anchor) != " ".join(parts(n))]


def id_columns(table: Table, mapping: ColumnMapping, within: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that name an item: one if possible, none to number the rows."""
    full = [c for c in free_columns(table, mapping) if c.n_filled > MOSTLY * table.n_rows]
    full = [c for c in full if not is_mostly_dates(c)]
    by_name = [c.name for c in full if looks_like_ids(c) and c.mean_chars <= ID_CHARS]
    free = [c for c in full if c.n_filled == table.n_rows]
    groups = [c.name for c in free if is_name(c) and contains_word(c.name, column_words.GROUPS)]
    others = [c.name for c in free if is_name(c) and not _is_measure(c) and not _is_rating(c)]
    names = list(dict.fromkeys(by_name + groups + others))
    keys = [n for n in names if table.distinct_share((n, *within)) >= UNIQUE]
    if within:  # a number of each rating names no item
        keys = [n for n in keys if table.distinct_share((n,)) < UNIQUE] or keys
    if keys:
        return (keys[0],)
    texts = [c for c in free if within and table.distinct_share((c.name, *within)) >= UNIQUE]
    if texts and not by_name:
        return (max(texts, key=lambda c: c.mean_chars).name,)
    if joint := _joint(table, names, within):
        return joint
    repeated = [name for name in names if table.distinct_share((name,)) < UNIQUE]
    for name in repeated if within else by_name:  # rows that repeat an item will be rejected
        if table.distinct_share((name, *within)) > MOSTLY:
            return (name,)
    return (max(texts, key=lambda c: c.mean_chars).name,) if texts else ()


def _is_measure(column: Column) -> bool:
    """Whether a column holds a measure of the rating, such as its time."""
    return bool(set(parts(column.name)) & column_words.MARGINS - column_words.ID_MARKS - {"turn"})


def _is_rating(column: Column) -> bool:
    """Whether a column of labels is called after a rating."""
    return bool(column.labels) and contains_word(column.name, column_words.LABELS)


def is_name(column: Column) -> bool:
    """Whether a column holds short names without spaces, as ids are."""
    return column.mean_chars <= ID_CHARS and not any(
        " " in value for value in column.values[:MAX_VALUES]
    )


def _joint(table: Table, names: Sequence[str], within: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns that only together name an item, the most id-like first."""
    chosen = list(names[:1])
    while chosen and len(chosen) < MAX_KEYS:
        rest = [name for name in names if name not in chosen]
        if not rest:
            break
        best = max(rest, key=lambda name: table.n_distinct((*chosen, name, *within)))
        chosen.append(best)
        if table.distinct_share((*chosen, *within)) >= UNIQUE:
            return tuple(chosen)
    return ()


def group_column(table: Table, mapping: ColumnMapping) -> str:
    """Return the column of the cluster to resample: named so, and repeated over items."""
    candidates = [c.name for c in free_columns(table, mapping)]
    candidates += mapping.id if len(mapping.id) > 1 else ()
    n_items = table.n_distinct(mapping.id) if mapping.id else table.n_rows
    for name in candidates:
        column = table.columns[name]
        if not contains_word(name, column_words.GROUPS) or column.n_filled < table.n_rows:
            continue
        constant = mapping.one_row_per_item or table.determines(mapping.id, name)
        if 1 < len(column.values) < n_items and column.mean_chars <= ID_CHARS and constant:
            return name
    return ""


def criterion_column(table: Table, mapping: ColumnMapping) -> str:
    """Return the column of what is rated: named so, with few values."""
    for column in free_columns(table, mapping):
        repeats = column.labels and len(column.labels) <= max(2, table.n_rows // 4)
        if contains_word(column.name, column_words.CRITERIA) and repeats:
            return column.name
    return ""


def time_column(table: Table, mapping: ColumnMapping) -> str:
    """Return the only column of times (ISO 8601) that differ between the ratings of an item."""
    times = [
        c.name
        for c in free_columns(table, mapping)
        if all_values(c, is_iso_time) and not table.determines(mapping.id, c.name)
    ]
    return times[0] if len(times) == 1 else ""


def text_columns(table: Table, mapping: ColumnMapping) -> tuple[str, ...]:
    """Return columns to read: long or varied texts, without columns that look like answers.

    Dates, numbers, addresses, ids and remarks that differ between the raters of an item are not.
    """
    answers = {n: c.labels for n, c in table.columns.items() if c.labels}
    ratings = (*mapping.raters, mapping.label, *mapping.criteria)
    alike = like(answers, [n for n in ratings if n in answers])
    named = [table.columns[n] for n in mapping.id if not is_name(table.columns[n])]
    free = [c for c in free_columns(table, mapping) if c.name not in alike]
    n_items = table.n_distinct(mapping.id) if mapping.id else table.n_rows
    return tuple(
        c.name
        for c in (*named, *free)
        if _is_read(c, n_items) and _belongs_to_item(c, table, mapping)
    )


def _belongs_to_item(column: Column, table: Table, mapping: ColumnMapping) -> bool:
    """Whether a column is the same for all raters of an item."""
    if not contains_word(column.name, column_words.RATERS) and not is_model(column.name):
        return mapping.one_row_per_item or table.determines(mapping.id, column.name)
    return False


def _is_read(column: Column, n_items: int) -> bool:
    if set(parts(column.name)) & (column_words.MARGINS | column_words.SUMMARIES):
        return False
    if any(all_values(column, test) for test in (is_number, is_address, is_date, counts_of)):
        return False
    if not column.values or (looks_like_ids(column) and is_name(column)):
        return False
    by_name = contains_word(column.name, column_words.TEXTS)
    varied = len(column.values) >= VARIED * n_items
    return by_name or column.mean_chars >= TEXT_CHARS or varied


def holds_lists(column: Column) -> bool:
    """Whether every cell is a list of labels."""
    return bool(column.labels) and all_values(column, list_of)

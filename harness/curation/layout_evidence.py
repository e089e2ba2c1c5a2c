"""Evidence for each layout of a table.

A layout is accepted from a score of `ACCEPTED` on, if no other comes within `MARGIN` of it. Names
alone never reach that score: the rest must come from the values, such as ids that repeat once per
rater, or numbers that add up to the number of raters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.curation import column_evidence as evidence
from harness.curation.column_evidence import FILLERS, is_model, who_are
from harness.tasks.columns import column_words
from harness.tasks.columns.answer_cells import OPTION_MARKS, SHARES_SUM
from harness.tasks.columns.cell_values import counts_of, is_number, list_of
from harness.tasks.columns.column_mapping import PLACEHOLDERS, ColumnMapping, pattern_of
from harness.tasks.columns.column_words import contains_word, parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from harness.tasks.columns.table_columns import Column, Table

ACCEPTED = 0.75
CONCEIVABLE = 0.5  # layouts with less are not proposed
MARGIN = 0.1
MOST_REPEATED = 0.8  # share of rows that item and rater must tell apart at least
FEW_LABELS = 20
MAX_RATING_CHARS = 60
COUNTED = (
    "the numbers of a row add up to the number of raters",
    "they are shares that add up to 1",
    "the numbers of every row have the same sum",
)
FEW_ROWS = 5  # rows below which raters may share no label by chance
MIN_SUMS = 5  # rows from which equal sums are no chance
SEPARATORS = ("__", "_", " - ", "-", ".", "/", ":", " ", "")


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles that the columns of a table may have, and the evidence for them.

    Attributes
    ----------
    mapping : ColumnMapping
        The roles; where ``questions`` is not empty, a proposal.
    points : tuple of (float, str)
        What each piece of evidence for the layout adds, and why; they sum to at most 1.
    questions : tuple of str
        What is unclear, with the flags that settle it.
    notes : tuple of str
        Columns that hold the same labels as the ratings and are not used.
    """

    mapping: ColumnMapping
    points: tuple[tuple[float, str], ...] = ()
    questions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Sum of the points."""
        return round(sum(points for points, _ in self.points), 3)


def candidates(table: Table, mapping: ColumnMapping, remarks: Collection[str]) -> list[Roles]:
    """Return the layouts that fit a table and the roles that the user set, the best first."""
    proposals: list[Roles | None] = [
        *_long(table, mapping),
        _pattern(table, mapping),
        _wide(table, mapping, remarks),
        _counts(table, mapping),
        _votes(table, mapping),
    ]
    fitting = [c for c in proposals if c is not None and _fits(c.mapping, mapping)]
    fitting = [c for c in fitting if c.score >= CONCEIVABLE]
    counted = {
        name for c in fitting if c.points[0][1] in COUNTED for name in c.mapping.counts
    }  # cells that add up are no ratings
    fitting = [c for c in fitting if not counted.intersection(c.mapping.raters)]
    return sorted(fitting, key=lambda c: -c.score)


def _fits(candidate: ColumnMapping, fixed: ColumnMapping) -> bool:
    """Whether a candidate keeps the roles that the user set."""
    roles = ("raters", "pattern", "rater", "label", "criteria", "counts", "votes")
    return all(
        getattr(candidate, role) == getattr(fixed, role) for role in roles if getattr(fixed, role)
    )


def names_of(columns: Sequence[str]) -> str:
    """Write the names of columns for a message."""
    shown = ", ".join(columns[:8])
    return shown + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")  # noqa: PLR2004


def _within(mapping: ColumnMapping) -> tuple[str, ...]:
    """Return the columns that tell the rows of an item apart where each rater has a column."""
    return (mapping.criterion,) if mapping.criterion else ()


def _with_id(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Return the roles with the columns that name an item, unless the user set them."""
    ids = mapping.id or evidence.id_columns(table, mapping, _within(mapping))
    return replace(mapping, id=ids)


def _rows_are_items(table: Table, mapping: ColumnMapping) -> bool:
    key = (*mapping.id, *_within(mapping))
    return not mapping.id or table.distinct_share(key) >= evidence.UNIQUE


# A row per rating, and a row per item and rater with a column per criterion


def _long(table: Table, mapping: ColumnMapping) -> Iterator[Roles]:
    for name, points in _rater_columns(table, mapping):
        if (candidate := _long_with(table, mapping, name, points)) is not None:
            yield candidate


def _rater_columns(table: Table, mapping: ColumnMapping) -> Iterator[tuple[str, float]]:
    """Yield columns that may name the rater of a row, and what their names say for it."""
    if mapping.rater:
        yield mapping.rater, 0.3
        return
    for column in evidence.free_columns(table, mapping):
        words = set(parts(column.name))
        if not _may_name_raters(table, column, words):
            continue
        if words & column_words.RATERS and not any(word.isdecimal() for word in words):
            yield column.name, 0.3
        elif _shares_labels(table, column):
            continue
        elif words & column_words.LATE_RATERS:
            yield column.name, 0.15
        elif _are_names(column):
            yield column.name, 0.0


def _may_name_raters(table: Table, column: Column, words: set[str]) -> bool:
    """Whether the values of a column repeat and are no dates, lists or measures."""
    repeats = 1 < len(column.values) < table.n_rows and column.n_filled >= 0.98 * table.n_rows
    measures = column_words.LABELS | (column_words.MARGINS - {"number", "n", "num"})
    names_items = evidence.has_id_name(column.name) and not words & column_words.RATERS
    return (
        repeats
        and column.mean_chars <= evidence.ID_CHARS
        and not words & measures
        and not names_items
        and not evidence.holds_lists(column)
        and not evidence.is_mostly_dates(column)
    )


def _shares_labels(table: Table, column: Column) -> bool:
    """Whether another column holds values of this one, as columns of ratings do."""
    values = set(column.values)
    return any(
        other.name != column.name and other.labels and not values.isdisjoint(other.labels)
        for other in table.columns.values()
    )


def _are_names(column: Column) -> bool:
    """Whether most values are those of people or models by their form."""
    values = column.values[: evidence.MAX_VALUES]
    clear = sum(who != "unclear" for who in who_are(values).values())
    return clear > 0.5 * len(values) > 0.5  # noqa: PLR2004 -- most


def _long_with(
    table: Table, mapping: ColumnMapping, rater: str, name_points: float
) -> Roles | None:
    mapping = replace(mapping, rater=rater)
    if not mapping.elicitation and "elicitation" in mapping.unused(table):
        mapping = replace(mapping, elicitation="elicitation")
    if not mapping.criterion:
        mapping = replace(mapping, criterion=evidence.criterion_column(table, mapping))
    within = tuple(filter(None, [rater, mapping.criterion, mapping.elicitation]))
    ids = mapping.id or evidence.id_columns(table, replace(mapping, criteria=()), within)
    if not ids:
        return None
    mapping = replace(mapping, id=ids)
    points = [(name_points, f"{rater!r} is called after people")]
    share = table.distinct_share((*ids, *within))
    repeated = table.n_distinct(ids) < table.n_rows
    column = table.columns[rater]
    is_numeric = evidence.all_values(column, is_number)
    if not repeated and not is_numeric and _shares_labels(table, column):
        return None  # words that another column holds as ratings
    if share >= evidence.UNIQUE and repeated:
        points.append((0.5, "items repeat, once per rater"))
    elif share >= MOST_REPEATED:
        points.append((0.3, "most pairs of item and rater stand once"))
    if _are_names(table.columns[rater]):
        points.append((0.15, f"the values of {rater!r} have the form of names"))
    ratings, questions = _ratings_of_long(table, mapping)
    if not ratings:
        return None
    points.append((0.2, f"{names_of(ratings)} may hold ratings"))
    if len(ratings) > 1 or mapping.criteria:
        mapping = replace(mapping, criteria=tuple(ratings))
    else:
        mapping = replace(mapping, label=ratings[0])
    return Roles(mapping, tuple(points), tuple(questions))


def _ratings_of_long(table: Table, mapping: ColumnMapping) -> tuple[list[str], list[str]]:
    """Return the rating, or one column per criterion, of a table with a row per item and rater."""
    if mapping.label or mapping.criteria:
        return list(mapping.criteria) or [mapping.label], []
    possible = {
        c.name: c.labels or {}
        for c in evidence.free_columns(table, mapping)
        if evidence.holds_labels(c) and not evidence.has_id_name(c.name) and not is_model(c.name)
    }
    possible = {
        n: labels
        for n, labels in possible.items()
        if len(labels) > 1 and not _is_text(table.columns[n])
    }
    named = [n for n in possible if contains_word(n, column_words.LABELS) and not _is_margin(n)]
    differing = [n for n in possible if _differs_between_raters(table, mapping, n)]
    plain = [n for n in differing if not _is_margin(n)]
    if not plain:
        only = named or list(possible)
        return (only if len(only) == 1 else []), []
    chosen = plain
    if len(plain) > 1 and len(only := [n for n in plain if n in named]) == 1:
        return only, [_which_ratings(plain, only[0])]
    if len(named) == 1 and named[0] not in plain:
        return named, [_which_ratings([*named, *plain], named[0])]
    alike = [n for n in evidence.like(possible, chosen) if n not in chosen]
    doubtful = [n for n in alike if not _is_described(n)]
    return chosen, [_is_rating(doubtful, chosen)] if doubtful else []


def _is_text(column: Column) -> bool:
    """Whether a column with few values is a text by its name or length."""
    words = set(parts(column.name))
    named = words & column_words.TEXTS and not words & column_words.LABELS
    return bool(named) or column.mean_chars > MAX_RATING_CHARS


def _is_margin(name: str) -> bool:
    words = set(parts(name))
    return bool(words & (column_words.MARGINS | column_words.SUMMARIES))


def _is_described(name: str) -> bool:
    """Whether a name is that of a fact about the item or the rater."""
    return bool(set(parts(name)) & (column_words.GROUPS | column_words.SUMMARIES | {"age"}))


def _differs_between_raters(table: Table, mapping: ColumnMapping, name: str) -> bool:
    """Whether a column differs between the raters of an item and between the items of a rater."""
    of_item = (*mapping.id, *_within(mapping))
    return not table.determines(of_item, name) and not table.determines((mapping.rater,), name)


def _which_ratings(names: Sequence[str], label: str) -> str:
    return (
        f"{names_of(names)} differ between raters: give --label {label} if that alone is the "
        f"rating, or --criteria {','.join(names)} if each is a criterion"
    )


def _is_rating(names: Sequence[str], ratings: Sequence[str]) -> str:
    option = "--criteria" if len(ratings) > 1 else "--label"
    return (
        f"{names_of(names)} holds the labels of {names_of(ratings)} but does not differ between "
        f"raters: give --criteria {','.join([*ratings, *names])} if it is a rating, or {option} "
        f"{','.join(ratings)} if not"
    )


# A column per rater, and a column per criterion and rater


def _wide(table: Table, mapping: ColumnMapping, remarks: Collection[str]) -> Roles | None:
    if mapping.pattern:
        return None
    columns = evidence.label_columns(table, mapping, remarks)
    fixed = {
        n: table.columns[n].labels or {} for n in (*mapping.raters, *mapping.judge_columns(table))
    }
    everything = {
        n: columns.get(n, fixed.get(n, {})) for n in table.columns if n in {*columns, *fixed}
    }
    if mapping.raters:
        return _wide_as_set(table, mapping, everything)
    anchors = {n: labels for n, labels in everything.items() if n not in mapping.judges}
    names = evidence.family(anchors)
    who = who_are(anchors)
    summaries = [n for n in names if contains_word(n, column_words.SUMMARIES)]
    people = [n for n in names if who[n] == "person" and n not in summaries]
    unclear = [n for n in names if who[n] == "unclear" and n not in summaries]
    models = tuple(n for n in names if who[n] == "model")
    raters = [n for n in names if n in {*people, *unclear}]
    if not raters:
        return None
    questions = () if mapping.judges or not unclear else (_who_question(raters, unclear, models),)
    judges = mapping.judges or models
    mapping = _with_id(table, replace(mapping, raters=tuple(raters), judges=judges))
    return Roles(mapping, tuple(_points_of_wide(table, mapping, everything, people)), questions)


def _wide_as_set(table: Table, mapping: ColumnMapping, columns: dict[str, Any]) -> Roles:
    """Complete the roles of a table whose raters the user named."""
    similar = evidence.like(columns, [n for n in mapping.raters if n in columns])
    models = tuple(n for n in similar if n not in mapping.raters and is_model(n))
    mapping = _with_id(table, replace(mapping, judges=mapping.judges or models))
    return Roles(mapping, ((1.0, "named by --raters"),))


def _points_of_wide(
    table: Table, mapping: ColumnMapping, columns: dict[str, Any], people: Sequence[str]
) -> list[tuple[float, str]]:
    points, raters = [], mapping.raters
    if len(raters) == 1 and not mapping.judges:  # may as well be a gold label
        labelled = contains_word(raters[0], column_words.LABELS)
        points.append((0.15 if labelled else 0, f"{raters[0]!r} is called after a rating"))
    elif people or mapping.judges:
        points.append((0.4, f"{names_of(people or raters)} are called after raters"))
    elif not any(_may_be_option_or_criterion(name) for name in raters):
        points.append((0.15, f"{names_of(raters)} may be called after people"))
    answers = {n: columns[n] for n in (*raters, *mapping.judge_columns(table))}
    if len(evidence.like(answers, raters[:1])) > 1:
        points.append((0.3, "they share their labels"))
    shared = table.n_rows < FEW_ROWS or _share_a_label(answers)
    if shared and all(len(columns[name]) <= FEW_LABELS for name in raters):
        points.append((0.1, "they hold few labels"))
    if _rows_are_items(table, mapping):
        points.append((0.3, "a row is an item"))
    elif table.distinct_share((*mapping.id, *_within(mapping))) > MOST_REPEATED:
        points.append((0.2, "most rows are items of their own"))
    return points


def _share_a_label(answers: dict[str, Any]) -> bool:
    """Whether a label stands in several columns, or there is one column alone."""
    labels = [label.casefold() for counts in answers.values() for label in counts]
    return len(set(labels)) < len(labels) or len(answers) == 1


def _may_be_option_or_criterion(name: str) -> bool:
    words = set(parts(name))
    options = column_words.YES | column_words.NO | column_words.TIES | column_words.COUNT_MARKS
    return bool(words & options) or is_number(name)


def _who_question(raters: Sequence[str], unclear: Sequence[str], models: Sequence[str]) -> str:
    some = "may be a person, a model or a criterion"
    several = "may be people, models or criteria"
    judges = ",".join([*models, "..."])
    return (
        f"{names_of(unclear)} {some if len(unclear) == 1 else several}: give "
        f"--raters {quote(','.join(raters))}, or --judges {quote(judges)} with the models"
    )


def _pattern(table: Table, mapping: ColumnMapping) -> Roles | None:
    if mapping.pattern:
        return Roles(_with_id(table, mapping), ((1.0, "named by --pattern"),))
    if mapping.raters:
        return None
    columns = [
        c.name
        for c in evidence.free_columns(table, mapping)
        if evidence.holds_labels(c) and not evidence.has_id_name(c.name)
    ]
    fitting = (_with_pattern(table, mapping, columns, pattern) for pattern in _patterns())
    return max(filter(None, fitting), key=lambda roles: roles.score, default=None)


def _patterns() -> Iterator[str]:
    for separator in SEPARATORS:
        yield separator.join(PLACEHOLDERS)
        if separator:
            yield separator.join(PLACEHOLDERS[::-1])


def _with_pattern(
    table: Table, mapping: ColumnMapping, columns: Sequence[str], pattern: str
) -> Roles | None:
    expression = pattern_of(pattern)
    pairs, verdicts = {}, {}
    for name in columns:
        match = expression.fullmatch(name)
        if match and not _names_raters(match["criterion"]):
            if _is_place(match["rater"]):
                pairs[name] = (match["criterion"], match["rater"])
            elif is_model(match["rater"]):
                verdicts[name] = match["criterion"]
    criteria = {criterion for criterion, _ in pairs.values()}
    raters = {rater for _, rater in pairs.values()}
    if len(criteria) < 2 or len(raters) < 2 or len(pairs) < 3:  # noqa: PLR2004
        return None
    if _end_alike(criteria):
        return None
    people = all(not rater.isdecimal() for rater in raters)
    complete = len(pairs) == len(criteria) * len(raters)
    points = [(0.3, f"columns are called {pattern}")]
    if people:
        points.append((0.2, f"{names_of(sorted(raters))} are called after raters"))
    if complete:
        points.append((0.2, "every criterion has every rater"))
    judges = mapping.judges or tuple(n for n in verdicts if verdicts[n] in criteria)
    mapping = replace(mapping, raters=tuple(pairs), judges=judges, pattern=pattern)
    mapping = _with_id(table, mapping)
    if not mapping.id or table.distinct_share(mapping.id) >= evidence.UNIQUE:
        points.append((0.3, "a row is an item"))
    return Roles(mapping, tuple(points))


def _end_alike(criteria: Collection[str]) -> bool:
    """Whether the last words of all criteria are one that belongs to the names of the raters."""
    words = [parts(name) for name in criteria]
    ends = {name[-1] for name in words if len(name) > 1}
    return (
        all(len(name) > 1 for name in words) and len(ends) == 1 and not ends & column_words.LABELS
    )


def _is_place(name: str) -> bool:
    """Whether a part of a name is that of a rater: a number, or a word for raters with one."""
    words = parts(name)
    numbered = len(words) > 1 and words[-1].isdecimal() and len(words[0]) == 1
    called = bool(words) and words[0] in column_words.RATERS
    return name.isdecimal() or numbered or called


def _names_raters(name: str) -> bool:
    words = set(parts(name)) - FILLERS
    return not words or words <= (column_words.RATERS | column_words.LABELS) or len(name) < 2  # noqa: PLR2004


# Numbers of raters by option, and all ratings of an item in one cell


def _counts(table: Table, mapping: ColumnMapping) -> Roles | None:
    if mapping.counts:
        return Roles(_with_id(table, mapping), ((1.0, "named by --counts"),))
    numeric = [c for c in evidence.free_columns(table, mapping) if _may_count(c)]
    totals = [c for c in numeric if _is_total(c.name)]
    marked = [c for c in numeric if c not in totals and _count_mark(c.name)]
    columns = marked if len(marked) > 1 else [c for c in numeric if c not in totals]
    if len(columns) < 2:  # noqa: PLR2004 -- two options
        return None
    names = [c.name for c in columns]
    points, total = _sum_points(columns, totals)
    if len(marked) > 1:
        points.append((0.4, f"{names_of(names)} are called after counts"))
    elif all(_may_be_option_or_criterion(name) for name in names):
        points.append((0.3, f"{names_of(names)} are called after options"))
    if not points:
        return None
    mapping = _with_id(table, replace(mapping, counts=tuple(names), total=total))
    if _rows_are_items(table, mapping):
        points.append((0.1, "a row is an item"))
    return Roles(mapping, tuple(points))


def _may_count(column: Column) -> bool:
    """Whether a column holds numbers of 0 or more and is not called after items."""
    negative = any(value.startswith("-") for value in column.values)
    return (
        evidence.all_values(column, is_number)
        and not negative
        and not evidence.has_id_name(column.name)
    )


def _is_total(name: str) -> bool:
    words = set(parts(name))
    return bool(words & column_words.TOTALS) and bool(
        words <= column_words.TOTALS | column_words.COUNT_MARKS | FILLERS
    )


def _count_mark(name: str) -> bool:
    """Whether a name opens or ends with the mark of a count or a share."""
    words = parts(name)
    return len(words) > 1 and not OPTION_MARKS.isdisjoint((words[0], words[-1]))


def numbers(column: Column) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the cells of a column of numbers; an empty cell is 0."""
    values = np.array([float(text) if is_number(text) else 0.0 for text in column.texts])
    cells: np.ndarray[Any, np.dtype[np.float64]] = values[column.codes]
    return cells


def _sum_points(
    columns: Sequence[Column], totals: Sequence[Column]
) -> tuple[list[tuple[float, str]], str]:
    """Return what the sums of the rows say for counts, and the column of the number of raters."""
    cells = np.column_stack([numbers(column) for column in columns])
    sums = cells.sum(axis=1)
    varied = len(np.unique(cells, axis=0)) > 1 and len(sums) >= MIN_SUMS
    for column in totals:
        if np.allclose(sums, numbers(column)) and varied:
            return [(0.6, COUNTED[0])], column.name
    whole = bool(np.all(cells == np.round(cells)))
    if varied and (totals or not whole) and np.allclose(sums, 1, atol=SHARES_SUM):
        total = totals[0].name if len(totals) == 1 else ""
        return [(0.7, COUNTED[1])], total
    if varied and not totals and np.all(sums == sums[0]) and sums[0] > 0:
        return [(0.6, COUNTED[2])], ""
    return [], ""


def _votes(table: Table, mapping: ColumnMapping) -> Roles | None:
    columns = [table.columns[mapping.votes]] if mapping.votes else _vote_columns(table, mapping)
    if len(columns) != 1:
        return None
    mapping = replace(mapping, votes=columns[0].name)
    totals = [c.name for c in evidence.free_columns(table, mapping) if _is_total(c.name)]
    if not mapping.total and len(totals) == 1:
        is_numeric = evidence.all_values(table.columns[totals[0]], is_number)
        mapping = replace(mapping, total=totals[0] if is_numeric else "")
    named = (0.2, f"{columns[0].name!r} is the only such column")
    cells = "hold numbers by label" if _holds_counts(columns[0]) else "are lists"
    return Roles(_with_id(table, mapping), (named, (0.7, f"its cells {cells}")))


def _vote_columns(table: Table, mapping: ColumnMapping) -> list[Column]:
    return [
        c
        for c in evidence.free_columns(table, mapping)
        if _holds_counts(c) or (evidence.holds_lists(c) and not _holds_messages(c))
    ]


def _holds_counts(column: Column) -> bool:
    return evidence.all_values(column, counts_of)


def _holds_messages(column: Column) -> bool:
    return any(
        isinstance(part, dict) for value in column.values[:20] for part in list_of(value) or ()
    )

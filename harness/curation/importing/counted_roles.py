"""Numbers of raters by option, and all ratings of an item in one cell."""

from __future__ import annotations

from itertools import combinations
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.column_facts import (
    KEY,
    LOOKED_AT,
    MOST,
    holds_ballots,
)
from harness.curation.importing.doubts import Doubt
from harness.curation.importing.long_roles import item_keys, rater_columns
from harness.curation.importing.role_draft import RoleDraft, names_of
from harness.curation.importing.structures import (
    added_up,
    are_parallel,
    is_usual,
    numbers,
    recur,
)
from harness.tasks.columns import column_words
from harness.tasks.columns.answer_cells import OPTION_MARKS, SHARES_SUM
from harness.tasks.columns.cell_values import (
    counts_of,
    is_number,
    list_of,
)
from harness.tasks.columns.column_words import parts
from harness.tasks.columns.rater_names import FILLERS, who_are

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.tasks.columns.table_columns import Column

MOST_DISTINCT = 0.7  # of the rows, among which dependences are no chance
N_PARALLEL = 2  # columns: the labels of an item, and who gave them
ROUNDING = 0.01  # by which shares may miss 1
PLAIN_TOTALS = frozenset({"total", "sum", "all"})  # of scores, too
MIN_SUMS = 5  # rows from which equal sums are no chance


def find_counts(draft: RoleDraft) -> bool:
    """Find columns of the numbers, or shares, of raters by option."""
    facts = draft.facts
    numeric = [n for n in draft.free() if _may_count(draft, n)]
    summed = added_up(draft.table, numeric)
    if summed and _names_people(draft, summed[0]):
        summed = None
    if summed and is_usual(numbers(facts[summed[1]])):
        draft.set(counts=summed[0], total=summed[1])
        return True
    if _find_named_counts(draft, numeric):
        return True
    if summed:
        draft.set(counts=summed[0], total=summed[1])
        _ask_about_sum(draft, *summed)
    return summed is not None


def _find_named_counts(draft: RoleDraft, numeric: Sequence[str]) -> bool:
    """Find columns that are called after options, or counts, or add up to one number."""
    facts = draft.facts
    totals = [n for n in numeric if _is_total(n)]
    marked = [n for n in numeric if n not in totals and _is_marked(n)]
    columns = marked if len(marked) > 1 else [n for n in numeric if n not in totals]
    if len(columns) <= 1:
        return False
    why, total = _sums([facts[n] for n in columns], [facts[n] for n in totals])
    if not why and len(marked) <= 1:
        return False
    people = facts.called(columns[0], column_words.PEOPLE)
    named = (
        len(marked) > 1 or all(_is_option(n) for n in columns) or (why == "total" and not people)
    )
    if not named and (people or why != "same sum"):
        return False
    draft.set(counts=tuple(columns), total=total)
    if not why or not named:
        draft.ask(
            f"{names_of(columns)} may be numbers of raters by option: give --counts "
            f"{quote(','.join(columns))}, or --raters if they are raters",
            {"counts": (), "total": "", "raters": tuple(columns)},
        )
    return True


def _ask_about_sum(draft: RoleDraft, columns: Sequence[str], total: str) -> None:
    """Ask whether columns whose sum differs between rows count raters, or are scores."""
    listed = quote(",".join(columns))
    draft.ask(
        f"{names_of(columns)} add up to {total}: give --counts {listed} --total {quote(total)} if "
        f"they count raters, or --criteria {listed} if they are scores",
        {"counts": (), "total": "", "criteria": tuple(columns)},
    )


def _names_people(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Return whether columns are called after people, whose scores may add up, too."""
    return any(who == "person" for who in who_are(columns).values()) or any(
        draft.facts.called(name, column_words.PEOPLE) for name in columns
    )


def _may_count(draft: RoleDraft, name: str) -> bool:
    column = draft.facts[name]
    negative = any(value.startswith("-") for value in column.values)
    named_id = draft.facts.called(name, column_words.ITEMS) and not _is_marked(name)
    is_key = draft.table.n_rows >= MIN_SUMS and column.unique
    names_something = named_id or is_key
    return draft.facts.is_numbers(name) and not negative and not names_something


def _is_total(name: str) -> bool:
    words = set(parts(name))
    return bool(words & column_words.TOTALS) and bool(
        words <= column_words.TOTALS | column_words.COUNT_MARKS | FILLERS
    )


def _is_marked(name: str) -> bool:
    """Return whether a name opens or ends with the mark of a count or a share."""
    words = parts(name)
    return len(words) > 1 and not OPTION_MARKS.isdisjoint((words[0], words[-1]))


def find_total(draft: RoleDraft) -> None:
    """Find the column of the number of raters, beside counts or votes."""
    totals = [n for n in draft.free() if _is_total(n) and draft.facts.is_numbers(n)]
    if len(totals) == 1:
        draft.set(total=totals[0])


def find_votes(draft: RoleDraft) -> bool:
    """Find columns whose cells hold all ratings of an item."""
    facts = draft.facts
    columns = [
        n
        for n in draft.free()
        if facts.is_counted(n) or (facts.is_list(n) and not facts.is_prose(n))
    ]
    rows = [
        n for n in draft.free() if facts.keys(n) >= KEY and (facts.is_prose(n) or facts.is_name(n))
    ]
    if listed := _listed_raters(draft, columns):
        draft.set(votes=listed[0], rater=listed[1])
        return True
    columns = _votes(draft, columns)
    if not columns or (not rows and _looks_long(draft)):
        return False
    parallel = _parallel(draft, columns)
    if parallel:
        labels, who = parallel
        draft.set(votes=(labels,), rater=who)
    elif len(columns) == 1 or _are_criteria(draft, columns):
        if (
            len(columns) == 1
            and not facts.is_counted(columns[0])
            and not _repeats([list_of(text) for text in facts[columns[0]].texts])
            and who_are(columns)[columns[0]] == "person"
        ):
            return False
        draft.set(votes=tuple(columns))
        find_total(draft)
        _vote_doubts(draft, columns)
    else:
        return bool(rows) and _which_votes(draft, columns)
    return True


def _listed_raters(draft: RoleDraft, columns: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """Return lists of ratings by several criteria, and the list of who gave them.

    All are as long in every row. The raters recur in other rows, never within a list.
    """
    facts = draft.facts
    lists = {n: [list_of(text) or [] for text in facts[n].texts] for n in columns}
    lists = {n: of for n, of in lists.items() if facts.is_list(n)}
    who = [n for n, of in lists.items() if not _repeats(of) and draft.is_rater_named(n)]
    if len(who) != 1 or not recur(facts[who[0]]):
        return None
    lengths = {n: np.array([*map(len, of)])[facts[n].codes] for n, of in lists.items()}
    rated = [
        n
        for n, of in lists.items()
        if _repeats(of) and np.array_equal(lengths[n], lengths[who[0]]) and recur(facts[n])
    ]
    return ((*rated,), who[0]) if len(rated) > 1 else None


def _which_votes(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Draft the first of several columns that may hold all ratings of an item, and ask."""
    facts = draft.facts
    lists = {n: [list_of(text) for text in facts[n].texts] for n in columns}
    listed = [n for n in columns if lists[n][-1] is not None and _repeats(lists[n])]
    counted = [n for n in columns if facts.is_counted(n)]
    if counted:  # a list of numbers beside them is the same counts
        listed = [n for n in listed if not all(map(is_number, facts.labels(n)))]
    whole = counted + [n for n in listed if recur(facts[n])]
    whole = [n for n in whole if not any(_is_computed(draft, n, other) for other in whole)]
    if not whole:
        return False
    draft.set(votes=(whole[0],))
    _vote_doubts(draft, whole[:1])
    if len(whole) > 1:
        draft.ask(
            f"{names_of(whole)} may each hold the ratings: give --votes {quote(whole[0])}",
            *({"votes": (name,)} for name in whole[1:]),
            about="votes",
        )
    return True


def _is_computed(draft: RoleDraft, name: str, other: str) -> bool:
    """Return whether ratings follow from those in another column, which don't follow from them."""
    facts = draft.facts
    recurs = facts.keys(other) <= MOST_DISTINCT  # what is unique determines everything
    return recurs and facts.determines((other,), name) and not facts.determines((name,), other)


def _votes(draft: RoleDraft, columns: Sequence[str]) -> list[str]:
    """Return the columns that list ratings by what only these do, or all where none does.

    Two of them list labels and their raters, a cell says who gave which label, or of two lists one
    has members that never recur: a remark beside each rating.
    """
    facts = draft.facts
    lists = [n for n in columns if facts.is_list(n)]
    pairs = [pair for pair in combinations(lists, 2) if are_parallel(draft.table, *pair)]
    if len(pairs) == 1:
        return [*pairs[0]]
    if ballots := [n for n in columns if holds_ballots(facts[n])]:
        return ballots
    recurring = [n for n in columns if facts.is_counted(n) or recur(facts[n])]
    is_named = any(map(draft.is_rater_named, columns))
    return recurring if len(recurring) == 1 and not is_named else [*columns]


def _looks_long(draft: RoleDraft) -> bool:
    items = item_keys(draft)
    if any(_is_of_items(draft, item) for item in items[:1]):
        return True
    return any(rater_columns(draft, item) for item in items[:2])


def _is_of_items(draft: RoleDraft, item: tuple[str, ...]) -> bool:
    """Return whether most items have rows that nothing tells apart: a list is a rater's answer."""
    facts = draft.facts
    n_rows = np.bincount(draft.table.keys(item))
    others = [n for n in draft.free() if n not in item and not facts.is_list(n)]
    apart = any(facts.is_labels(n) and facts.keys(*item, n) >= KEY for n in others)
    return bool(np.mean(n_rows > 1) >= MOST) and not apart


def _are_criteria(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Whether lists of the same length repeat labels in every column: ratings by criterion."""
    cells = [[list_of(text) for text in draft.facts[n].texts] for n in columns]
    if any(texts[k] is None for texts in cells for k in range(1, len(texts))):
        return False
    lengths = [
        np.array([len(part or ()) for part in texts])[draft.facts[n].codes]
        for n, texts in zip(columns, cells, strict=True)
    ]
    same = all(np.array_equal(lengths[0], other) for other in lengths[1:])
    return same and all(_repeats(texts) for texts in cells)


def _parallel(draft: RoleDraft, columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of labels and of their raters, where two lists are parallel."""
    if len(columns) != N_PARALLEL or not all(map(draft.facts.is_list, columns)):
        return None
    lists = {n: [list_of(text) or [] for text in draft.facts[n].texts] for n in columns}
    lengths = [np.array([*map(len, lists[n])])[draft.facts[n].codes] for n in columns]
    if not np.array_equal(lengths[0], lengths[1]):
        return None
    repeating = [n for n in columns if _repeats(lists[n])]
    named = [n for n in columns if draft.is_rater_named(n)]
    if len(repeating) == len(columns) and not named:
        return None  # nobody is named twice in a list of raters
    who = [n for n in columns if n not in repeating] if len(repeating) == 1 else named
    if len(who) != 1 or (named and named != who):
        draft.ask(f"{names_of(columns)}: one may list raters: give --votes and --rater")
        who = list(columns[1:])
    return next(n for n in columns if n not in who), who[0]


def _vote_doubts(draft: RoleDraft, columns: Sequence[str]) -> None:
    facts = draft.facts
    for name in columns:
        values = facts[name].values[:LOOKED_AT]
        if facts.all_values(name, counts_of):
            sums = {sum((counts_of(text) or {}).values()) for text in values}
            if (
                not draft.mapping.total
                and len(sums) > 1
                and not all(s <= 1 + ROUNDING for s in sums)
            ):
                question = (
                    f"the numbers in {name!r} may be counts by label or ratings by rater: give "
                    "--lists counts or --lists raters"
                )
                counts = {"lists": "counts"}
                draft.doubts.append(Doubt(question, counts, ({"lists": "raters"},)))


def _is_option(name: str) -> bool:
    words = set(parts(name))
    options = column_words.YES | column_words.NO | column_words.TIES | column_words.COUNT_MARKS
    return bool(words & options) or is_number(name)


def _repeats(lists: Sequence[list[object] | None]) -> bool:
    """Return whether some list names a member twice."""
    return any(len(part) > len(set(map(str, part))) for part in lists if part)


def _sums(columns: Sequence[Column], totals: Sequence[Column]) -> tuple[str, str]:
    """Return what the sums of the rows say for counts, and the column of the number of raters."""
    cells = np.column_stack([numbers(column) for column in columns])
    sums = cells.sum(axis=1)
    varied = len(np.unique(cells, axis=0)) > 1 and len(sums) >= MIN_SUMS
    for column in totals:
        are_raters = is_usual(sums) or not PLAIN_TOTALS.issuperset(parts(column.name))
        if varied and np.allclose(sums, numbers(column)) and are_raters:
            return "total", column.name
    whole = bool(np.all(cells == np.round(cells)))
    if varied and (totals or not whole) and np.allclose(sums, 1, atol=SHARES_SUM):
        return "shares", totals[0].name if len(totals) == 1 else ""
    if varied and not totals and np.all(sums == sums[0]) and sums[0] > 0:
        return "same sum", ""
    return "", ""

"""Finders for columns that count raters by option, and for cells with all ratings of an item."""

from __future__ import annotations

from collections import defaultdict
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.column_facts import KEY, LOOKED_AT, MOST, holds_ballots
from harness.curation.importing.long_roles import item_keys, rater_columns
from harness.curation.importing.role_draft import Doubt, RoleDraft, names_of
from harness.curation.importing.structures import added_up, is_usual, numbers, recur, repeats
from harness.tasks.columns import column_words
from harness.tasks.columns.answer_cells import OPTION_MARKS, SHARES_SUM
from harness.tasks.columns.cell_values import counts_of, is_number, list_of
from harness.tasks.columns.column_words import parts
from harness.tasks.columns.rater_names import FILLERS, who_are

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DISTINCT = 0.7  # share of distinct rows up to which dependences aren't chance
ROUNDING = 0.01  # sums above 1 by more than this aren't sums of shares
PLAIN_TOTALS = frozenset({"total", "sum", "all"})  # totals of scores as well
MIN_SUMS = 5  # fewest rows in which equal sums aren't chance


def find_counts(draft: RoleDraft) -> bool:
    """Find columns with the number or share of raters who chose each option.

    Such columns add up to another column, to a constant or to 1, or are named after counts.
    """
    facts = draft.facts
    numeric = [n for n in draft.free() if _may_count(draft, n)]
    totals = [n for n in numeric if _is_total(n)]
    of_raters = {n for n in totals if not PLAIN_TOTALS.issuperset(parts(n))}
    summed = added_up(draft.table, numeric, of_raters)
    if summed and _names_people(draft, summed[0]):
        summed = None
    is_sure = summed and (summed[1] in of_raters or is_usual(numbers(facts[summed[1]])))
    if not is_sure and _find_named_counts(draft, numeric, totals):
        return True
    if summed:
        columns, total = summed
        draft.set(counts=columns, total=total)
        listed = quote(",".join(columns))
        if not is_sure:
            draft.ask(
                f"{names_of(columns)} add up to {total}. Pass --counts {listed} --total "
                f"{quote(total)} if they count raters, or --criteria {listed} if they are scores",
                {"counts": (), "total": "", "criteria": tuple(columns)},
            )
    return summed is not None


def _find_named_counts(draft: RoleDraft, numeric: Sequence[str], totals: Sequence[str]) -> bool:
    """Find columns that are named after counts or options, or that add up to a constant."""
    marked = [n for n in numeric if n not in totals and _is_marked(n)]
    columns = marked if len(marked) > 1 else [n for n in numeric if n not in totals]
    if len(columns) <= 1:
        return False
    cells = np.column_stack([numbers(draft.facts[name]) for name in columns])
    sums = cells.sum(axis=1)
    varied = len(np.unique(cells, axis=0)) > 1 and len(sums) >= MIN_SUMS
    parted = bool(totals) or not np.all(cells == np.round(cells))
    are_shares = varied and parted and np.allclose(sums, 1, atol=SHARES_SUM)
    is_same = varied and not (are_shares or totals) and np.all(sums == sums[0]) and sums[0] > 0
    is_named = len(marked) > 1 or ((are_shares or is_same) and all(map(_is_option, columns)))
    if not is_named and (not is_same or draft.facts.called(columns[0], column_words.PEOPLE)):
        return False
    total = totals[0] if len(totals) == 1 and are_shares else ""
    draft.set(counts=tuple(columns), total=total)
    if not is_named or not (are_shares or is_same):
        draft.ask(
            f"can't tell whether {names_of(columns)} count raters by option. If so, pass --counts "
            f"{quote(','.join(columns))}, or pass --raters if they are raters",
            {"counts": (), "total": "", "raters": tuple(columns)},
        )
    return True


def _names_people(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Return whether columns are named after people, whose scores could add up by chance."""
    return "person" in who_are(columns).values() or any(
        draft.facts.called(name, column_words.PEOPLE) for name in columns
    )


def _may_count(draft: RoleDraft, name: str) -> bool:
    column = draft.facts[name]
    negative = any(value.startswith("-") for value in column.values)
    named_id = draft.facts.called(name, column_words.ITEMS) and not _is_marked(name)
    is_key = draft.table.n_rows >= MIN_SUMS and column.unique
    return draft.facts.is_numbers(name) and not (negative or named_id or is_key)


def _is_total(name: str) -> bool:
    words = set(parts(name))
    known = column_words.TOTALS | column_words.COUNT_MARKS | FILLERS
    return bool(words & column_words.TOTALS) and words <= known


def _is_marked(name: str) -> bool:
    """Return whether a name begins or ends with a word that marks a count or a share."""
    words = parts(name)
    return len(words) > 1 and not OPTION_MARKS.isdisjoint((words[0], words[-1]))


def _is_option(name: str) -> bool:
    words = set(parts(name))
    options = column_words.YES | column_words.NO | column_words.TIES | column_words.COUNT_MARKS
    return bool(words & options) or is_number(name)


def find_total(draft: RoleDraft) -> None:
    """Find the column with each item's number of raters."""
    totals = [n for n in draft.free() if _is_total(n) and draft.facts.is_numbers(n)]
    if len(totals) == 1:
        draft.set(total=totals[0])


def find_votes(draft: RoleDraft) -> bool:
    """Find columns whose cells list all of an item's ratings, and the column of its raters."""
    facts, free = draft.facts, draft.free()
    columns = [
        n for n in free if facts.is_counted(n) or (facts.is_list(n) and not facts.is_prose(n))
    ]
    has_rows = any(facts.keys(n) >= KEY and (facts.is_prose(n) or facts.is_name(n)) for n in free)
    if not columns or (not has_rows and _looks_long(draft)):
        return False
    if listed := _listed_raters(draft, columns):
        draft.set(votes=listed[0], rater=listed[1])
        return True
    ballots = [n for n in columns if holds_ballots(facts[n])]
    likely = [n for n in columns if facts.is_counted(n) or recur(facts[n])]
    is_named = any(map(draft.is_rater_named, columns))
    columns = ballots or (likely if len(likely) == 1 and not is_named else columns)
    if len(columns) > 1 and not _are_criteria(draft, columns):
        return has_rows and _which_votes(draft, columns)
    [first, *more] = columns
    is_rater = not more and who_are(columns)[first] == "person"
    if is_rater and not facts.is_counted(first) and not repeats(facts[first]):
        return False
    draft.set(votes=tuple(columns))
    find_total(draft)
    _vote_doubts(draft, columns)
    return True


def _listed_raters(draft: RoleDraft, columns: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """Return columns of rating lists, and the column with the raters' names for these lists.

    The lists in a row have the same length. No rater occurs twice in a list, and raters recur in
    other rows. Labels recur within lists.
    """
    facts, found = draft.facts, list[tuple[tuple[str, ...], str]]()
    by_lengths: dict[bytes, list[str]] = defaultdict(list)
    for name in filter(facts.is_list, columns):
        lengths = np.array([len(list_of(text) or ()) for text in facts[name].texts])
        by_lengths[lengths[facts[name].codes].tobytes()].append(name)
    for names in by_lengths.values():
        labels = [n for n in names if repeats(facts[n]) and not draft.is_rater_named(n)]
        labels = [n for n in labels if facts.is_labels(n) or all(map(is_number, facts.labels(n)))]
        who = [n for n in names if not repeats(facts[n])]
        who = [n for n in who if draft.is_rater_named(n)] or who
        is_pair = len(names) == 1 + len(who) == 1 + len(labels)
        sure = len(who) == 1 and recur(facts[who[0]]) and (is_pair or draft.is_rater_named(who[0]))
        if sure and labels:
            found.append(((*labels,), who[0]))
        elif len(names) == len(columns) == len(who) > 1 and not labels:
            draft.ask(
                f"can't tell which of {names_of(names)} lists raters. Pass --votes and --rater"
            )
            found.append(((names[0],), names[1]))
    return found[0] if len(found) == 1 else None


def _which_votes(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Draft the first column that can contain all of an item's ratings, and ask about others."""
    facts = draft.facts
    counted = [n for n in columns if facts.is_counted(n)]
    listed = [n for n in columns if n not in counted and repeats(facts[n]) and recur(facts[n])]
    if counted:  # a list of numbers beside them is the same counts
        listed = [n for n in listed if not all(map(is_number, facts.labels(n)))]
    whole = counted + listed
    whole = [n for n in whole if not any(_is_computed(draft, n, other) for other in whole)]
    if not whole:
        return False
    draft.set(votes=(whole[0],))
    _vote_doubts(draft, whole[:1])
    if len(whole) > 1:
        draft.ask(
            (
                f"can't tell which of {names_of(whole)} contains the ratings. Pass that column "
                "as --votes"
            ),
            *({"votes": (name,)} for name in whole[1:]),
            about="votes",
        )
    return True


def _is_computed(draft: RoleDraft, name: str, other: str) -> bool:
    """Return whether ``other`` determines a column, but not the reverse."""
    facts = draft.facts
    recurs = facts.keys(other) <= MOST_DISTINCT  # unique values determine everything
    return recurs and facts.determines((other,), name) and not facts.determines((name,), other)


def _looks_long(draft: RoleDraft) -> bool:
    """Return whether each row looks like a rating, so that a list in a cell is one answer."""
    items = item_keys(draft)
    if any(rater_columns(draft, item) for item in items[:2]):
        return True
    facts, item = draft.facts, (items or [()])[0]
    repeated = bool(item and np.mean(np.bincount(draft.table.keys(item)) > 1) >= MOST)
    others = [n for n in draft.free() if n not in item and not facts.is_list(n)]
    return repeated and not any(facts.is_labels(n) and facts.keys(*item, n) >= KEY for n in others)


def _are_criteria(draft: RoleDraft, columns: Sequence[str]) -> bool:
    """Return whether columns contain lists of equal length with repeated labels, as criteria do."""
    facts = draft.facts
    if not all(facts.is_list(n) and repeats(facts[n]) for n in columns):
        return False
    lengths = [
        np.array([len(list_of(text) or ()) for text in facts[n].texts])[facts[n].codes]
        for n in columns
    ]
    return all(np.array_equal(lengths[0], other) for other in lengths[1:])


def _vote_doubts(draft: RoleDraft, columns: Sequence[str]) -> None:
    """Ask whether numbers by name are counts by label or ratings by rater, if their sums vary."""
    for name in columns:
        values = draft.facts[name].values[:LOOKED_AT]
        if draft.facts.all_values(name, counts_of) and not draft.mapping.total:
            sums = {sum((counts_of(text) or {}).values()) for text in values}
            if len(sums) > 1 and max(sums) > 1 + ROUNDING:
                question = (
                    f"can't tell whether the numbers in {name!r} count labels or are ratings. Pass "
                    "--lists counts for counts by label, or --lists raters for ratings by rater"
                )
                counts = {"lists": "counts"}
                draft.doubts.append(Doubt(question, counts, ({"lists": "raters"},)))

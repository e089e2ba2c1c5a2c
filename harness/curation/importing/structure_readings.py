"""Readings that a table's structure allows if no other evidence identifies its columns.

The readings are enumerated. Each combines an item (one or several columns) and a rater that
together identify the rows, with a column of answers that differ between an item's raters.
`harness.curation.importing.readings` carries them out and shows those whose facts make sense.
"""

from __future__ import annotations

from itertools import combinations
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.column_facts import KEY, ends_in_id, names_person
from harness.curation.importing.contradictions import (
    COUNTED,
    is_contradicted,
    means_and_counts,
    of_sides,
    rater_headers,
)
from harness.curation.importing.role_draft import Doubt, names_of
from harness.curation.importing.structures import names_cell, numbers
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import list_of
from harness.tasks.columns.rater_names import names_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.curation.importing.role_draft import RoleDraft

    Roles = dict[str, object]

MOST_NAMES = 8  # most columns considered as names of items and raters
MOST_ITEM_COLUMNS = 3
MOST_CRITERIA = 20
MOST_ANSWERS = 3  # most answer columns for a pair of item and rater
MOST_READINGS = 12
MIN_RATED = 10  # fewest rows in a table whose columns can each be ratings
RATERS_PER_ITEM = 1.5  # smallest mean
EMPTY: dict[str, object] = {
    "rater": "",
    "label": "",
    "criterion": "",
    "raters": (),
    "criteria": (),
}


def find_crossed(draft: RoleDraft) -> bool:
    """Draft the likeliest item and rater that together identify rows, and ask about others."""
    readings = sorted(_crossed(draft), key=lambda roles: _evidence(draft, roles), reverse=True)
    if not readings:
        return False
    first, *others = _distinct(draft, readings)[:MOST_READINGS]
    draft.set(**first)  # type: ignore[arg-type]  # names of columns
    item, rater, criterion = first["id"], str(first["rater"]), str(first["criterion"])
    assert isinstance(item, tuple), "made so below"
    rated = f", {criterion} the criterion" if criterion else ""
    option = f" --criterion {quote(criterion)}" if criterion else ""
    draft.ask(
        f"can't tell whether {names_of(item)} names the item{rated}, {rater} the rater, and "
        f"{first['label']} the rating. If so, pass --id {quote(','.join(item))}{option} --rater "
        f"{quote(rater)} --label {quote(str(first['label']))}",
        *(EMPTY | roles for roles in others),
        about="rater",
    )
    return True


def _distinct(draft: RoleDraft, readings: Sequence[Roles]) -> list[Roles]:
    """Remove readings with the same items as an earlier reading under different column names."""
    found: dict[tuple[object, ...], Roles] = {}
    for roles in readings:
        item = roles["id"]
        assert isinstance(item, tuple), "made so below"
        rest = (roles[role] for role in ("criterion", "rater", "label"))
        found.setdefault((draft.table.keys(item).tobytes(), *rest), roles)
    return [*found.values()]


def find_rated_once(draft: RoleDraft) -> bool:
    """Draft the likeliest answers in a table with a row per item, and ask about alternatives.

    Candidates are columns of labels or numbers without another explanation. The largest family of
    columns with similar labels comes first, then each single column, with columns named after
    ratings first.
    """
    facts = draft.facts
    texts = [n for n in draft.free() if facts.is_prose(n) and facts.is_filled(n)]
    is_repeated = bool(texts) and not any(facts.keys(name) >= KEY for name in texts)
    if is_repeated or rater_headers(facts) or draft.table.n_rows < MIN_RATED:
        return False
    if named := [n for n in draft.free() if names_cell(draft.table, n)]:
        draft.set(criteria=(*named,))  # what a rater chose isn't a label: it's asked about
        return True
    counts = [n for n in draft.free() if _counts_raters(draft, n)]
    if counts := counts + [count for _, count in means_and_counts(facts)]:
        question = (
            f"{names_of(counts)} counts raters, so a row summarizes ratings. Import a file with a "
            "row per rating"
        )
        draft.doubts.append(Doubt(question, in_table=True))
        draft.set(criteria=(*counts,))
        return True
    sides = {*of_sides(facts, draft.free())}
    answers = [n for n in draft.free() if n not in sides and _may_be_answer(draft, n)]
    answers.sort(key=lambda name: not facts.called(name, column_words.LABELS))
    families = [facts.alike(answers, name) for name in answers]
    largest: list[str] = max(families, key=len, default=[])
    readings = [(*largest,)] if len(largest) > 1 else []
    readings += [(name,) for name in answers]
    if not readings:
        return False
    first, *others = dict.fromkeys(readings)
    draft.set(criteria=first)
    verb = "is the rating" if len(first) == 1 else "are ratings"
    draft.ask(
        f"can't tell whether {names_of(first)} are ratings of each row. Pass --criteria "
        f"{quote(','.join(first))} if {'it' if len(first) == 1 else 'they'} {verb}",
        *({"criteria": names} for names in others[:MOST_READINGS]),
        about="criteria",
    )
    return True


def _counts_raters(draft: RoleDraft, name: str) -> bool:
    """Return whether a column is named after many raters and has whole numbers, some above 1."""
    facts = draft.facts
    return (
        facts.called(name, COUNTED)
        and facts.is_numbers(name)
        and not facts.is_measured(name)
        and float(np.max(numbers(facts[name]))) > 1
    )


def _may_be_answer(draft: RoleDraft, name: str) -> bool:
    """Return whether a column could contain a rating of the row's item."""
    facts = draft.facts
    is_score = facts.is_numbers(name) and (facts.is_measured(name) or facts.keys(name) < KEY)
    is_score = is_score and not rises(numbers(facts[name]))
    words = column_words.MARGINS | column_words.SYSTEMS - column_words.LABELS | COUNTED
    return (
        (facts.is_labels(name) or is_score)
        and len(facts[name].values) > 1
        and facts.is_filled(name)
        and not facts.is_plain(name)
        and not facts.is_prose(name)
        and not names_model(name)
        and (not ends_in_id(name) or facts.called(name, column_words.LABELS))
        and not names_person(name)
        and not facts.called(name, words)
    )


def _crossed(draft: RoleDraft) -> Iterator[Roles]:
    """Yield the roles of item, rater and answer that are possible with a row per rating."""
    names = _names(draft)
    for size in range(1, MOST_ITEM_COLUMNS + 1):
        is_any = False
        for rater in names:
            others = [name for name in names if name != rater]
            for item in combinations(others, size):
                for roles in _crossings(draft, item, rater):
                    if not is_contradicted(draft.facts, draft.mapping.with_roles(roles)):
                        is_any = True
                        yield roles
        if is_any:
            return


def _crossings(draft: RoleDraft, item: tuple[str, ...], rater: str) -> Iterator[Roles]:
    """Yield the roles for each possible answer, if item and rater identify rows.

    An item's column that only distinguishes rows with the same texts is the criterion.
    """
    if not _are_crossed(draft, item, rater):
        return
    rated = [name for name in item if _is_beside_texts(draft, item, name)]
    if len(rated) > 1 or any(len(draft.facts[name].values) > MOST_CRITERIA for name in rated):
        return
    kept = tuple(n for n in item if n not in rated)
    roles: Roles = {"id": kept, "criterion": "".join(rated)}
    for label in _answers(draft, item, rater):
        yield roles | {"rater": rater, "label": label}


def _names(draft: RoleDraft) -> list[str]:
    """Return the columns whose values recur like names of items or raters."""
    facts, n_rows = draft.facts, draft.table.n_rows
    names = [
        name
        for name in draft.free()
        if (facts.is_name(name) or (facts.is_prose(name) and facts.is_filled(name)))
        and 1 < len(facts[name].values) <= n_rows / RATERS_PER_ITEM
        and not facts.called(name, column_words.REMARK_COLUMNS)
        and not facts.all_values(name, list_of)
        and not _is_measured(draft, name)
    ]
    return names[:MOST_NAMES]


def _is_measured(draft: RoleDraft, name: str) -> bool:
    """Return whether a column is named after times, measures or, for numbers, ratings."""
    facts = draft.facts
    words = column_words.LABELS if facts.is_numbers(name) else frozenset[str]()
    words |= column_words.MARGINS
    return facts.called(name, words) and not facts.called(name, column_words.ITEMS)


def _are_crossed(draft: RoleDraft, item: Sequence[str], rater: str) -> bool:
    """Return whether items have several raters and vice versa, and each pair has one row."""
    n_items = draft.facts.keys(*item) * draft.table.n_rows
    return (
        draft.table.n_rows >= RATERS_PER_ITEM * n_items
        and draft.facts.keys(*item, rater) >= KEY * draft.facts.keys(*draft.table.columns)
        and not any(draft.facts.keys(n) >= KEY for n in item)
        and not draft.facts.determines((rater,), item[0])
    )


def _is_beside_texts(draft: RoleDraft, item: Sequence[str], name: str) -> bool:
    """Return whether an item's columns except ``name`` determine its texts."""
    facts = draft.facts
    rest = [n for n in item if n != name]
    texts = [n for n in draft.table.columns if n != name and facts.is_prose(n)]
    texts = [n for n in texts if n in item or facts.determines(item, n)]
    return bool(rest and texts) and all(n in rest or facts.determines(rest, n) for n in texts)


def _answers(draft: RoleDraft, item: Sequence[str], rater: str) -> list[str]:
    """Return the columns of labels or numbers that neither the item nor the rater determines."""
    facts = draft.facts
    answers = [
        name
        for name in draft.free()
        if name not in {*item, rater}
        and (facts.is_labels(name) or facts.is_numbers(name))
        and not facts.is_plain(name)
        and not names_model(name)
        and not facts.determines(item, name)
        and not facts.determines((rater,), name)
        and (
            facts.called(name, column_words.LABELS)
            or not (facts.is_numbers(name) and rises(numbers(facts[name])))
        )
    ]
    clear = [n for n in answers if not facts.called(n, column_words.MARGINS)] or answers
    called = [n for n in clear if facts.called(n, column_words.LABELS)] or clear
    return called[:MOST_ANSWERS]


def rises(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """Return whether numbers never decrease from row to row, like times and row numbers.

    Examples
    --------
    >>> rises(np.array([3.0, 3.0, 8.0])), rises(np.array([3.0, 2.0]))
    (True, False)
    """
    return bool(np.all(np.diff(values) >= 0))


def _evidence(draft: RoleDraft, roles: Roles) -> tuple[int, int, int]:
    """Score a reading by names and dependences. A higher score is likelier."""
    facts, rater, item = draft.facts, str(roles["rater"]), roles["id"]
    assert isinstance(item, tuple), "made so above"
    named, *others = (
        draft.is_rater_named(name) + facts.called(name, column_words.PEOPLE)
        for name in (rater, *item)
    )
    of_items = sum(facts.called(name, column_words.ITEMS) for name in item)
    depends = sum(
        facts.determines(item, name) and not facts.determines((rater,), name)
        for name in draft.free()
        if len(facts[name].values) > 1
    )
    return named - max(others), of_items, depends

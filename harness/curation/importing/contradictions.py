"""Headers and texts that contradict a reading of a table.

- A column whose whole header is a word for raters, such as ``worker`` or ``annotator_id``, and
  whose names recur, is the rater. It isn't part of an item, and isn't a text, criterion or rating.
- A column whose whole header is a word for systems, such as ``system`` or ``model_id``, and that
  differs within the items of a reading, is part of the item. One whose whole header is a word for
  ratings, such as ``score``, is the rating if the columns that a reading takes aren't called so.
  Scores in columns numbered like raters, such as ``rating_1``, are left out for no other column.
- If each row has its own text, an item of several rows has another text, unless it has none.
- Rows of an item aren't numbered as its raters if a column names them.
- Columns named after the sides of a pair, as ``score_a`` and ``score_b`` next to
  ``reply_a`` and ``reply_b`` are, describe each side. They aren't two raters.
- A mean and its number of raters, as ``humor.value`` and ``humor.count``, aren't ratings.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from harness.tasks.columns import column_words
from harness.tasks.columns.column_words import are_pair, parts
from harness.tasks.columns.rater_names import who_are
from harness.tasks.columns.table_columns import POSITIONAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.curation.importing.column_facts import Facts
    from harness.tasks.columns.column_mapping import ColumnMapping

RATERS = column_words.RATERS - {"ann", "anno"}  # given names, or openings of label columns' names
WHOLE = RATERS | column_words.ID_MARKS | {"amt", "mturk", "prolific", "unique", "crowd"}

MEANS = frozenset({"value", "mean", "average", "score"})
SYSTEMS = frozenset({"system", "systems", "model", "models", "sys"})
COUNTED = frozenset(  # words for a number of raters, if numeric
    {"raters", "annotators", "workers", "coders", "judgments", "judgements", "annotations"}
)


def rater_headers(facts: Facts) -> list[str]:
    """Return the columns whose whole header is a word for raters, and whose values recur."""
    return [
        name
        for name, column in facts.table.columns.items()
        if (words := {*parts(name)}) <= WHOLE
        and words & RATERS
        and 1 < len(column.values) < column.n_filled
        and not (words & COUNTED and facts.is_numbers(name))
        and not facts.is_prose(name)
        and not facts.is_list(name)
        and not facts.is_counted(name)
    ]


def means_and_counts(facts: Facts) -> list[tuple[str, str]]:
    """Return (mean, count) column pairs, such as ``humor.value`` and ``humor.count``."""
    words = {parts(name): name for name in facts.table.columns}
    pairs = [(name, words.get((*of[:-1], "count"), "")) for of, name in words.items()]
    return [
        (mean, count)
        for mean, count in pairs
        if count and parts(mean)[-1] in MEANS and facts.is_measured(mean)
    ]


def unread_raters(facts: Facts, mapping: ColumnMapping) -> list[str]:
    """Return the columns named after raters to which a reading gives no role."""
    used = {name for names in mapping.by_role().values() for name in names}
    return [name for name in rater_headers(facts) if name not in used]


def is_contradicted(facts: Facts, mapping: ColumnMapping) -> bool:
    """Return whether headers or texts contradict a reading. The module lists the rules."""
    single = (mapping.criterion, mapping.label, mapping.set)
    several = (*mapping.criteria, *mapping.sets, *mapping.counts)
    if not {*mapping.id, *mapping.text, *several, *single}.isdisjoint(rater_headers(facts)):
        return True
    means = {name for pair in means_and_counts(facts) for name in pair}
    if not means.isdisjoint(mapping.rating_columns):
        return True
    if mapping.rater == POSITIONAL and unread_raters(facts, mapping):
        return True
    has_rows = mapping.rater and not mapping.votes
    if has_rows and (_leaves_out(facts, mapping) or _hides_texts(facts, mapping)):
        return True
    rated = (*mapping.raters, *mapping.criteria)
    return bool(rated) and {*rated} <= {*of_sides(facts, rated)}


def _leaves_out(facts: Facts, mapping: ColumnMapping) -> bool:
    """Return whether a reading ignores a column of systems or ratings that varies within items."""
    items = tuple(filter(None, (*mapping.id, mapping.criterion)))
    varying = [
        name
        for name in mapping.unused(facts.table)
        if len(facts[name].values) > 1 and not facts.determines(items, name)
    ]
    if any(_is_whole(name, SYSTEMS | column_words.ID_MARKS) for name in varying):
        return True
    scores = [n for n, who in who_are(varying).items() if who == "person" and facts.is_numbers(n)]
    if len(scores) > 1 and not facts.called(mapping.rater, column_words.PEOPLE):
        return True
    ratings = mapping.rating_columns
    return not any(facts.called(name, column_words.LABELS) for name in ratings) and any(
        _is_whole(name, column_words.LABELS)
        and (facts.is_numbers(name) or facts.is_labels(name))
        and not facts.determines(ratings, name)
        for name in varying
    )


def _hides_texts(facts: Facts, mapping: ColumnMapping) -> bool:
    """Return whether each row has a different text, but a reading's items have no text."""
    texts = [n for n in facts.table.columns if facts.is_prose(n) and facts.is_filled(n)]
    texts = [n for n in texts if not facts.called(n, column_words.REMARK_COLUMNS)]
    own = [n for n in texts if facts.called(n, column_words.TEXTS) and facts[n].unique]
    is_person = facts.called(mapping.rater, column_words.PEOPLE)
    return is_person and bool(own) and not any(facts.determines(mapping.id, n) for n in texts)


def _is_whole(name: str, words: frozenset[str]) -> bool:
    """Return whether all words in a header are in ``words``, and not all of them mark ids."""
    of_name = {*parts(name)}
    return of_name <= words and not of_name <= column_words.ID_MARKS


def of_sides(facts: Facts, names: Iterable[str]) -> Iterator[str]:
    """Yield the columns of each pair that is named after the same two sides as texts."""
    texts = [name for name in facts.table.columns if facts.is_prose(name)]
    sides = [_sides(*pair) for pair in combinations(texts, 2) if are_pair(*pair)]
    others = [n for n in names if not facts.called(n, column_words.PEOPLE)]
    for pair in combinations(others if sides else (), 2):
        if are_pair(*pair) and _sides(*pair) in sides:
            yield from pair


def _sides(first: str, second: str) -> set[str]:
    """Return the words in which two names differ."""
    return {*parts(first)} ^ {*parts(second)}

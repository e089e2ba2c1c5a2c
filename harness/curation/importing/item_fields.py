"""Choice of the columns that belong to an item: texts for judges, and the group."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import LOOKED_AT, TICKS, Facts, ends_in_id, has_digits
from harness.curation.importing.role_draft import Doubt
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import list_of
from harness.tasks.columns.column_words import parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.curation.importing.role_draft import RoleDraft
    from harness.tasks.columns.column_mapping import ColumnMapping

FEW_PER_ITEM = 1.5  # ratings per item below which a text always depends on the item
MIN_WORDS = 2  # mean number of words in a phrase; a category has one
MAX_SUFFIX_CHARS = 2  # length of the number or letter that ends comment_1
FEW_BLANK = 0.02
MOST_CATEGORIES = 20
ASIDE = column_words.GROUPS | column_words.MARGINS
KEYS = frozenset({"hint", "hints", "expected", "metadata", "meta"})  # what raters needn't read
MIN_REPEATS = 3  # fewest items per category


def show_fields(draft: RoleDraft) -> None:  # noqa: C901 -- a rule per kind of column
    """Choose the texts that judges see, which must depend only on the item.

    In a table with a row per rating, a text that differs between an item's raters is a remark. In a
    table with a row per item, all texts depend on the item, so remarks are recognised by names and
    blank cells. The user decides about unclear texts.
    """
    facts, mapping = draft.facts, draft.mapping
    own = [n for n in mapping.id if facts.is_prose(n) or _is_phrase(facts, n)]
    n_items = facts.table.n_distinct(mapping.id) if mapping.id else facts.table.n_rows
    trivial = mapping.one_row_per_item or facts.table.n_rows < FEW_PER_ITEM * n_items
    free = [
        n
        for n in mapping.unused(facts.table)
        if mapping.one_row_per_item or facts.determines(mapping.id, n)
    ]
    free = [n for n in free if len(facts[n].values) > 1 or n_items == 1]
    free = [n for n in free if n not in {*draft.computed, *facts.table.reading.aside}]
    texts = [n for n in free if facts.is_prose(n) and not facts.called(n, column_words.SUMMARIES)]
    if any(not facts.called(n, KEYS) for n in texts):
        free, texts = ([n for n in of if not facts.called(n, KEYS)] for of in (free, texts))
    short = [n for n in free if n not in texts and _may_be_text(facts, n)]
    shown, remarks, unclear = list(own), list[str](), list[str]()
    full = [n for n in texts if facts[n].n_filled >= (1 - FEW_BLANK) * facts.table.n_rows]
    of_raters = _one_per_rater(facts, texts, mapping)
    plain = [n for n in full if n not in of_raters and not _is_remark(facts, n)]
    for name in texts:
        if not trivial or (name in plain and (len(plain) == 1 or _is_called_text(facts, name))):
            shown.append(name)
        elif name in of_raters or _is_remark(facts, name):
            is_remark = _names_rater(name, mapping) or (name not in full and bool(plain))
            is_only = not (plain or shown) and len(texts) == 1
            (remarks if is_remark else shown if is_only else unclear).append(name)
        elif texts == [name]:
            shown.append(name)
        else:
            unclear.append(name)
    sides = [
        n
        for n in unclear
        if not _is_remark(facts, n)
        and n not in of_raters
        and any(column_words.are_pair(n, o) for o in unclear)
    ]
    shown += sides
    unclear = [n for n in unclear if n not in sides]
    remarks_of_words = [n for n in short if _is_remark(facts, n) and _names_rater(n, mapping)]
    remarks += remarks_of_words
    for name in short:
        alone = not (texts or len(short) > 1)
        is_category = bool(texts or own) and _is_category(facts, name, n_items)
        if name in remarks_of_words:
            continue
        if not is_category and _is_short_text(facts, name, alone=alone):
            shown.append(name)
        elif not facts.called(name, column_words.METADATA | ASIDE):
            unclear.append(name)
    shown = [n for n in facts.table.columns if n in shown]
    if unclear:
        _ask_about_texts(draft, shown, unclear, plain)
    if remarks:
        draft.notes.append(
            f"{', '.join(remarks)}: raters' remarks, which judges don't see (--text shows them)"
        )
    draft.set(text=tuple(shown))


def _ask_about_texts(
    draft: RoleDraft, shown: Sequence[str], unclear: Sequence[str], plain: Sequence[str]
) -> None:
    """Ask which texts judges see, after all other questions if plain texts are among them."""
    every = [n for n in draft.table.columns if n in {*shown, *unclear}]
    whole = tuple(n for n in every if n in {*shown, *plain})
    verb = "is it" if len(unclear) == 1 else "are they"
    question = (
        f"{', '.join(unclear)}: {verb} part of the item that judges see? Pass --text "
        f"{quote(','.join(every))}, or --text {quote(','.join(shown) or 'none')}"
    )
    is_last = {*whole} > {*shown}
    others = ({"text": whole}, {"text": tuple(every)})
    draft.doubts.append(Doubt(question, others=others[not is_last :], is_last=is_last))


def group_column(facts: Facts, mapping: ColumnMapping) -> str:
    """Return the column named after groups whose values several items share, or ""."""
    table = facts.table
    n_items = table.n_distinct(mapping.id) if mapping.id else table.n_rows
    candidates = [
        *mapping.unused(table),
        *(mapping.id if len(mapping.id) > 1 else ()),
        *mapping.text,
    ]
    for name in candidates:
        column = facts[name]
        named = facts.called(name, column_words.GROUPS)
        if not named or not facts.is_filled(name) or name == mapping.criterion:
            continue
        constant = mapping.one_row_per_item or facts.determines(mapping.id, name)
        if 1 < len(column.values) < n_items and constant and not facts.is_plain(name):
            return name
    return ""


def _is_category(facts: Facts, name: str, n_items: int) -> bool:
    """Return whether a column contains a few single words, which categorize items."""
    values = facts[name].values
    single = all(len(value.split()) == 1 for value in values[:LOOKED_AT])
    return single and len(values) <= min(MOST_CATEGORIES, n_items / MIN_REPEATS)


def _may_be_text(facts: Facts, name: str) -> bool:
    """Return whether short values could be rated texts: words, not ids, numbers or labels."""
    column = facts[name]
    if (
        not column.values
        or (facts.is_numbers(name) and not facts.called(name, column_words.REPLIES))
        or facts.is_plain(name)
        or facts.is_counted(name)
    ):
        return False
    if facts.labels(name) and {*map(str.casefold, facts.labels(name))} <= TICKS:
        return False
    if facts.all_values(name, _is_list) or ends_in_id(name) or len(column.values) <= 1:
        return False
    spaced = sum(" " in value for value in column.values[:LOOKED_AT])
    named = facts.called(name, column_words.TEXTS)
    if has_digits(column) and 2 * spaced < len(column.values[:LOOKED_AT]) and not named:
        return False
    others = column_words.SUMMARIES | column_words.PEOPLE | column_words.LABELS - column_words.TEXTS
    others |= column_words.MARGINS if facts.is_numbers(name) else frozenset()
    return not facts.called(name, others)


def _is_list(value: str) -> bool:
    return list_of(value) is not None


def _is_short_text(facts: Facts, name: str, *, alone: bool) -> bool:
    """Return whether short values are texts for judges without asking the user."""
    if facts.is_numbers(name) or not facts.called(name, column_words.TEXTS):
        return False
    if facts.called(name, column_words.SOURCES) and not _has_phrases(facts, name):
        return False
    n_values = len(facts[name].values)
    return alone or n_values > 0.5 * facts.table.n_rows or _has_phrases(facts, name)


def _is_phrase(facts: Facts, name: str) -> bool:
    """Return whether values that name items are short texts, such as prompts."""
    is_text = facts.called(name, column_words.TEXTS) and not ends_in_id(name)
    return is_text and _has_phrases(facts, name)


def _has_phrases(facts: Facts, name: str) -> bool:
    """Return whether values have at least two words on average."""
    values = facts[name].values[:LOOKED_AT]
    return sum(len(value.split()) for value in values) >= MIN_WORDS * len(values)


def _is_called_text(facts: Facts, name: str) -> bool:
    return facts.called(name, column_words.TEXTS) and not facts.called(
        name, column_words.REMARK_COLUMNS
    )


def _is_remark(facts: Facts, name: str) -> bool:
    """Return whether a column is named after remarks, or after raters with a number."""
    words = parts(name)
    numbered = any(word.isdecimal() for word in words)
    return facts.called(name, column_words.REMARK_COLUMNS) or (
        numbered and facts.called(name, column_words.PEOPLE)
    )


def _one_per_rater(facts: Facts, texts: Sequence[str], mapping: ColumnMapping) -> list[str]:
    """Return the texts that are remarks because each is named after a different rater's column."""
    if len(mapping.raters) <= 1:
        return []
    rest = [n for n in texts if not _is_called_text(facts, n)]
    by_end = {parts(n)[-1]: n for n in rest if parts(n) and _names_rater(n, mapping)}
    ends = {parts(rater)[-1] for rater in mapping.raters if parts(rater)}
    return [*by_end.values()] if by_end.keys() == ends else []


def _names_rater(name: str, mapping: ColumnMapping) -> bool:
    """Return whether a name contains a rater column's name or ends like it."""
    words = parts(name)
    whole = " ".join(words)
    for rater in mapping.raters:
        own = parts(rater)
        person = set(own) - column_words.LABELS  # of ann1_label, as of ann1_comment
        if " ".join(own) in whole or (person and person <= set(words)):
            return True
        if own and words and own[-1] == words[-1] and len(own[-1]) <= MAX_SUFFIX_CHARS:
            return True
    return False

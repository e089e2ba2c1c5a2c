"""Names of raters and models: what a name alone says about who rated."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from harness.tasks.columns import column_words
from harness.tasks.columns.column_words import parts, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Who = Literal["person", "model", "unclear"]

VERSION = re.compile(r"(?<![a-z0-9])(v\d|(\d+x)?\d+b(?![a-z0-9])|\d+o(?![a-z0-9]))|\d\.\d")
FILLERS = frozenset(
    {"by", "of", "from", "s", "the", "no", "nr", "number", "id", "de", "von", "par"}
)
LOOKED_AT = 2000  # names
PLACES = frozenset({"a", "r", "p", "h", "j", "w", "an", "ra", "hr"})  # as in r1, r2, r3


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


def who_are_raters(column: str, names: Sequence[str]) -> dict[str, Who]:
    """Say who the raters are that a column names; see `who_are`.

    They are people where the column is called so, or no name has the mark of a model.
    """
    marked = any(not column_words.MODEL_MARKS.isdisjoint(parts(name)) for name in names[:LOOKED_AT])
    people = column_words.contains_word(column, column_words.PEOPLE) or not marked
    return who_are(names, people=people)


def are_people(column: str, names: Sequence[str]) -> bool:
    """Whether all raters that a column names are people."""
    return {*who_are_raters(column, names).values()} == {"person"}


def _who_is(name: str, forms: Mapping[str, int], *, people: bool) -> Who:
    if is_model(name):
        return "model"
    place = {_numbered_form(name), _lettered_form(name)} - {""}
    words = parts(name)
    if opens_with_rater(words) and is_model("_".join(words[1:])):
        return "unclear"
    if opens_with_rater(words) or any(forms[form] > 1 for form in place):
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
    if not words.isdisjoint(column_words.PEOPLE):
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


def opens_with_rater(words: Collection[str]) -> bool:
    """Whether the first word that is no label or filler is a word for raters."""
    content = [w for w in words if w not in column_words.LABELS and w not in FILLERS]
    return bool(content) and column_words.contains_word(content[0], column_words.PEOPLE)


def _numbered_form(name: str) -> str:
    """Return what a place shares with those beside it, as ``r1`` shares ``r``."""
    words = parts(name)
    opening = stem(name)
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    numbered = len(words) > 1 and words[-1].isdecimal() and bool(opening)
    return opening if numbered and (opening in PLACES or labelled) else ""


def _lettered_form(name: str) -> str:
    """Return what a label and a letter share with those beside it: ``rating by`` A, B, C."""
    words = parts(name)
    lettered = len(words) > 1 and len(words[-1]) == 1 and words[-1].isalpha()
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    return " ".join((*words[:-1], "*")) if lettered and labelled else ""

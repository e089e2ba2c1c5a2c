"""Classification of names as raters' or models'."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from harness.tasks.columns import column_words
from harness.tasks.columns.column_words import parts, stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

Who = Literal["person", "model", "unclear"]

_TOKENS = re.compile(r"[^\W_]+")
_VERSION_END = re.compile(r"v?\d+(x\d+)?[a-z]{0,2}$")  # of gpt4o, v2, 70b and 8x7b
_SIZE = re.compile(r"(?<![a-z0-9])(v\d{1,2}|(\d{1,2}x)?\d{1,3}b)(?![a-z0-9])|\d\.\d")
FILLERS = frozenset({"by", "of", "from", "s", "the", "no", "nr", "number", "id"})
LOOKED_AT = 2000  # names
_WORDS_OF_MODELS = (
    column_words.MODELS
    | column_words.MODEL_MARKS
    | column_words.LABELS
    | FILLERS
    | {"v", "r", "chat", "preview", "latest", "exp", "hf", "meta", "google", "text", "it", "base"}
    | {"distill", "large", "small", "medium", "ultra", "reasoner", "thinking"}
) - column_words.PEOPLE
_MARKS = column_words.MODELS | column_words.MODEL_MARKS
SCREENS = frozenset({"ui", "app"})  # where people rate
MACHINES = frozenset({"machine", "model", "llm", "ai", "auto", "automatic", "bot", "judge", "code"})
PROGRAMS = frozenset({"sdk", "api"})  # which people use too
PLACES = frozenset({"a", "r", "p", "h", "j", "w", "an", "ra", "hr"})  # as in r1, r2, r3


def who_are(names: Iterable[str], *, people: bool = False) -> dict[str, Who]:
    """Classify each name as a person's or a model's, or as unclear.

    A letter and a number, as in ``r1``, is a person's name if a similar name exists. In a column
    named after ``people``, a name is a person's unless it looks like a model's.

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
    """Classify the raters in a column. See `who_are`.

    An unclear name counts as a person's if the column's name says so, or if no name in the column
    looks like a model's.
    """
    marked = any(map(_is_marked, names[:LOOKED_AT]))
    people = column_words.contains_word(column, column_words.PEOPLE) or not marked
    return who_are(names, people=people)


def are_people(column: str, names: Sequence[str]) -> bool:
    """Return whether all raters in a column are people."""
    return {*who_are_raters(column, names).values()} == {"person"}


def _who_is(name: str, forms: Mapping[str, int], *, people: bool) -> Who:
    if names_model(name):
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
    """Return whether a whole name is a model's: a product, or a family with a version.

    A product's name within an id isn't enough, because people get random ids.

    Examples
    --------
    >>> is_model("gpt-4o-mini"), is_model("claude-3-opus"), is_model("Claude")
    (True, True, False)
    >>> is_model("A26O4OGE3YI0"), is_model("gpt4_score"), is_model("our_gpt4_tune")
    (False, True, False)
    """
    words = _TOKENS.findall(name.casefold())
    stems = {word if word in _WORDS_OF_MODELS else _VERSION_END.sub("", word) for word in words}
    if not stems <= _WORDS_OF_MODELS | {""}:
        return False
    is_versioned = any(char.isdecimal() for word in words for char in word)
    return not stems.isdisjoint(column_words.MODELS) or (
        is_versioned and not stems.isdisjoint(column_words.MODEL_FAMILIES)
    )


def names_model(name: str) -> bool:
    """Return whether a column's name is a model's name, or begins with a product's name.

    Examples
    --------
    >>> names_model("gpt-careful"), names_model("A26O4OGE3YI0")
    (True, False)
    """
    opening = _VERSION_END.sub("", "".join(_TOKENS.findall(name.casefold())[:1]))
    people = not column_words.PEOPLE.isdisjoint(parts(name))
    return is_model(name) or (opening in column_words.MODELS and not people)


def _may_be_model(name: str) -> bool:
    """Return whether a name looks like a model's. A given name on its own doesn't count."""
    is_phrase = len(_TOKENS.findall(name)) > 1
    return (is_phrase and _is_marked(name)) or _SIZE.search(name.casefold()) is not None


def _is_marked(name: str) -> bool:
    """Return whether a word in a name indicates a model."""
    words = _TOKENS.findall(name.casefold())
    return any({word, _VERSION_END.sub("", word)} & _MARKS for word in words)


def opens_with_rater(words: Collection[str]) -> bool:
    """Return whether the first word that isn't a label or filler is a word for raters."""
    content = [w for w in words if w not in column_words.LABELS and w not in FILLERS]
    return bool(content) and column_words.contains_word(content[0], column_words.PEOPLE)


def _numbered_form(name: str) -> str:
    """Return the part that a numbered name shares with similar names, such as ``r`` in ``r1``."""
    words = parts(name)
    opening = stem(name)
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    numbered = len(words) > 1 and words[-1].isdecimal() and bool(opening)
    return opening if numbered and (opening in PLACES or labelled) else ""


def _lettered_form(name: str) -> str:
    """Return a name with ``*`` for its final letter, or "" if it isn't a label and a letter."""
    words = parts(name)
    lettered = len(words) > 1 and len(words[-1]) == 1 and words[-1].isalpha()
    labelled = set(words[:-1]) <= column_words.LABELS | FILLERS
    return " ".join((*words[:-1], "*")) if lettered and labelled else ""


def kind_of_rater(label: str) -> str:
    """Return the kind of rater that a label names: person, machine, program, or "" if none.

    Examples
    --------
    >>> kind_of_rater("HUMAN"), kind_of_rater("LLM"), kind_of_rater("sdk"), kind_of_rater("en")
    ('person', 'machine', 'program', '')
    """
    kinds = {"person": column_words.PEOPLE | SCREENS, "machine": MACHINES, "program": PROGRAMS}
    fitting = (kind for kind, words in kinds.items() if column_words.contains_word(label, words))
    return next(fitting, "")

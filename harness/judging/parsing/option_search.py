"""Search for options or numbers anywhere in a sentence."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.answer_names import COUNTS
from harness.judging.parsing.option_matching import ALONE, TIES, fold, names_of
from harness.judging.parsing.phrases import languages
from harness.tasks import CANNOT_ASSESS
from harness.tasks.schema import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_LETTERS = 3  # minimum letters in a label that can follow "it is" and isn't a short common word
LITTLE = frozenset(
    (
        "yes",
        "not",
        "and",
        "the",
        "for",
        "all",
        "any",
        "one",
        "two",
        "ten",
        "six",
        "few",
        "off",
        "tie",
    )
)
MAX_SHORT = 2  # maximum characters in a key that only counts in its exact case
SPACED = (
    r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"  # letters in scripts with spaces
)
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
BEFORE = rf"(?<!{SPACED})(?<!{SPACED}[-'\u2019/&])(?<![+\u2212#@$\u20ac])"
_OWNED = r"(?!['\u2019]s(?:\s+(?:answer|response|output|reply|version)\b|\s*[.,;!]|\s*\Z))"
AFTER = rf"(?!{SPACED})(?!{_OWNED}[-'\u2019/&]{SPACED})(?![+#@%])"
BEFORE_DIGIT = r"(?<![.,/-])(?<!\d:)(?<!\d\sof\s)(?<!\d[-\u2013\u2014])(?<!\d\s[-\u2013\u2014]\s)"
AFTER_DIGIT = r"(?!\s*[%/])(?![.,:]\d)(?!\s*[-\u2013\u2014]\s*\d)(?!\s+(?:out\s+)?of\s+\d)"
NUMBER = re.compile(
    rf"(?:{BEFORE}{BEFORE_DIGIT}[+\u2212-]?[0-9]{{1,20}}(?:\.[0-9]{{1,20}})?|{CANNOT_ASSESS})"
    rf"{AFTER}{AFTER_DIGIT}"
)
NONE_OF = re.compile(
    r"\s+(?!(?:is|was|as|because|since|and|or|but|for|if|to|here|from|fits?|with|on|in|at|over|would|wins)\b)[a-z]"
)  # "no insult"
VERBAL = re.compile(r"(?:ment|ion|ed)\Z")
LETTER_WORDS = frozenset("aiyoeu\xe0")  # one-letter words in the supported languages
WORD = re.compile(r"\s+[^\W\d_A-Z]")  # after "A", which can be an article: "A reasonable person"


class Mention(NamedTuple):
    """Mention of an answer in a text, with its position.

    Attributes
    ----------
    answer : int
        Index of the option, where the index after the last is CANNOT_ASSESS, or of the number.
    start, end : int
        Position in the text.
    is_word : bool
        Whether it is a label, or a key that is a word, with at least `MIN_LETTERS` letters.
    is_bare : bool
        Whether it could mean something else: an article, a count, a word such as "no".
    """

    answer: int
    start: int
    end: int
    is_word: bool
    is_bare: bool


@dataclass(frozen=True, slots=True)
class OptionSearch:
    """Search for the names of options in prose.

    Attributes
    ----------
    keys : dict of str to int
        Short keys and numbers, which only count in their exact case.
    words : dict of str to int
        Folded labels and other keys, which count in any case.
    pattern : re.Pattern
        Any of these names, longest first.
    names : str
        The same pattern without group names.
    abstention : int
        Index of CANNOT_ASSESS.
    is_scale : bool
        Whether all keys are whole numbers.
    rivals : bool
        Whether the options are compared texts.
    """

    keys: Mapping[str, int]
    words: Mapping[str, int]
    pattern: re.Pattern[str]
    names: str
    abstention: int
    is_scale: bool
    rivals: bool

    @property
    def tie(self) -> int | None:
        """Return the index of the option for a tie, or None if no option means a tie."""
        return self.words.get(TIES[0])

    def by_verb(self, verb: str) -> int | None:
        """Return the only option whose label derives from a verb, as "entailment" from "entail"."""
        made = {
            i for word, i in self.words.items() if VERBAL.sub("", word) == verb.removesuffix("e")
        }
        return made.pop() if len(made) == 1 else None

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions of options in a text, in order and without overlaps."""
        return [
            self._mention(text, match)
            for match in self.pattern.finditer(text)
            if not (match[0] == "no" and NONE_OF.match(text, match.end()))
        ]

    def _mention(self, text: str, match: re.Match[str]) -> Mention:
        start, end = match.span()
        if match["word"] is not None:
            words = " ".join(match["word"].casefold().replace("_", " ").split())
            n_letters = sum(map(str.isalpha, words))
            is_unspaced = UNSPACED.search(words) is not None
            is_word = words not in LITTLE and n_letters >= MIN_LETTERS - is_unspaced
            is_bare = not is_word and words.isalpha() and not is_unspaced
            return Mention(self.words[words], start, end, is_word=is_word, is_bare=is_bare)
        key = match["key"]
        is_article = (
            len(key) == 1
            and key.casefold() in LETTER_WORDS
            and bool(WORD.match(text, end))
            and not any(phrases.verb.match(text, end) for phrases in languages())
        )
        is_bare = is_article or key.isdecimal() or (len(key) > 1 and key.islower())
        return Mention(self.keys[key], start, end, is_word=False, is_bare=is_bare)


class NumberSearch:
    """Search for numbers and CANNOT_ASSESS. Each distinct number is an answer.

    Attributes
    ----------
    texts : list of str
        The answers by their index.
    """

    is_scale = False
    rivals = False
    tie = None

    def __init__(self) -> None:
        self.texts: list[str] = []

    def by_verb(self, verb: str) -> None:
        """Return no answer, because numbers do not derive from verbs."""

    def mentions(self, text: str) -> list[Mention]:
        """Return the numbers in a text, in order."""
        return [
            Mention(self.index(match[0]), *match.span(), is_word=False, is_bare=True)
            for match in NUMBER.finditer(text)
            if not COUNTS.match(text, match.end())
        ]

    @property
    def abstention(self) -> int:
        """Return the index of CANNOT_ASSESS."""
        return self.index(CANNOT_ASSESS)

    def index(self, text: str) -> int:
        """Return the index of a number or CANNOT_ASSESS. Equal numbers have the same index."""
        with suppress(ValueError):
            text = number_text(float(text.replace("\u2212", "-")))
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


@lru_cache(maxsize=256)
def option_search(options: tuple[tuple[str, str, str], ...]) -> OptionSearch:
    """Create a search for options, given as tuples (key, label, description)."""
    names = names_of(options)
    keys = {
        key: option
        for key, option in names.keys.items()
        if len(key) <= MAX_SHORT or not any(map(str.isalpha, key))
    }
    own_labels = {key.casefold() for key, label, _ in options if fold(label or key) == key}
    own = {fold(text) for option in options for text in option}
    short = {key.casefold() for key in keys} - {key for key in own_labels if len(key) > 1}
    words = {
        text: min(reading)
        for text, reading in names.loose.items()
        if len(reading) == 1 and text not in short and (text in own or text not in ALONE)
    }
    choices = [
        *((len(key), "key", _exact(key)) for key in keys),
        *((len(word), "word", rf"(?i:{_words(word)})") for word in words),
    ]
    by_kind = {
        kind: "|".join(pattern for _, k, pattern in sorted(choices, reverse=True) if k == kind)
        or r"(?!)"
        for kind in ("key", "word")
    }
    pattern = rf"{BEFORE}(?:(?P<word>{by_kind['word']})|(?P<key>{by_kind['key']})){AFTER}"
    unnamed = rf"{BEFORE}(?:{by_kind['word']}|{by_kind['key']}){AFTER}"
    return OptionSearch(
        keys, words, re.compile(pattern), unnamed, len(options), bool(names.most), names.rivals
    )


def _exact(key: str) -> str:
    pattern = re.escape(key)
    before = BEFORE_DIGIT if key[:1].isdigit() else ""
    after = AFTER_DIGIT if key[-1:].isdigit() else ""
    return before + pattern + after


def _words(folded: str) -> str:
    return r"[\s_]+".join(map(re.escape, folded.split()))

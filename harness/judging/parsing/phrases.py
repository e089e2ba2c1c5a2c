"""Phrases that state, hedge, deny or report an answer, compiled from a data file.

`answer_phrases.yaml` lists them by language and explains each list. They are compiled for the first
reply that needs them. A reply that only names an option never does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.files.strict_yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PHRASES = Path(__file__).with_name("answer_phrases.yaml")
PLACEHOLDER = re.compile(r"<(\w+)>")
MAX_NESTING = 5  # maximum nesting of placeholders
NAMED = "[\ue000-\uf8ff]"  # placeholder for any option
Winner = Literal["first", "last", "level"]
WINNERS: dict[str, Winner] = {"first_wins": "first", "second_wins": "last", "level": "level"}
NEVER = re.compile(r"(?!)")
OPENING = "\"'\u201c\u2018\u00ab\u201e\u300c\u300e(["
CLOSING = "\"'\u201d\u2019\u00bb\u300d\u300f)]"
ARTICLE = (
    r"(?:(?:an?|the|that|both|only|just|simply|clearly|still|solid|clear|strong|definite|firm)"
    r"\s+){0,3}"
)
GLUE = (
    rf"\s*(?:[:\uff1a=\u2192]|[-=]>|[-\u2013\u2014](?=\s))?\s*(?:[{re.escape(OPENING)}]\s*){{0,2}}"
)
LABEL_GLUE = (
    rf"\s*(?:[:\uff1a=\u2192]\s*|[-=]>\s*|\s[-\u2013\u2014]\s+|\n\s*)"
    rf"(?:[{re.escape(OPENING)}]\s*){{0,2}}"
)


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Compiled phrases of one language.

    Attributes
    ----------
    is_spaced : bool
        Whether the language separates words with spaces.
    noun, thing : re.Pattern
        Words for an answer, and for the rated text.
    statement : re.Pattern
        A marker before an option. Like the next five patterns, it matches at the end of a text.
    label : re.Pattern
        A noun and a colon before an option.
    word_label : re.Pattern
        A word for the rated text and a colon before a label.
    complement : re.Pattern
        Subject and verb before a label.
    conclusion : re.Pattern
        Words and a comma before a label at the end of a sentence ("therefore,").
    identity : re.Pattern
        Subject and verb before a key ("it's" B).
    predicate, set_predicate : re.Pattern
        Words after one or several options that state that they are the answer ("is better").
    abstention : re.Pattern
        Beginning of a sentence that says that the text cannot be assessed.
    verb : re.Pattern
        Verb after a key of one letter, including the blanks before it.
    beginning : re.Pattern
        An opener with its comma, at the beginning of a text.
    opener, therefore : re.Pattern
        Words that can precede a statement, at the end of a text.
    clause, concession : re.Pattern
        Words that can open a clause before a statement, at the beginning of a text.
    reason, tail, complement_tail, required_tail : re.Pattern
        Words that can follow the option, and those that must; the last is None if none must.
    negation, hedge, conditional, weak, report, retraction : re.Pattern
        Words anywhere in a text.
    explanation, material : re.Pattern
        Headings, up to their colon.
    grounds : re.Pattern
        Subject at the beginning of a sentence with reasons.
    refusal : re.Pattern
        Beginning of a reply that declines.
    comparisons : tuple of (str, re.Pattern)
        Sentences that compare options `NAMED`, each with which of the two it prefers.
    deciding, plain, merit : frozenset of str
        Words in sentences that only say which option is the answer.
    """

    is_spaced: bool
    noun: re.Pattern[str]
    thing: re.Pattern[str]
    statement: re.Pattern[str]
    label: re.Pattern[str]
    word_label: re.Pattern[str]
    complement: re.Pattern[str]
    conclusion: re.Pattern[str]
    identity: re.Pattern[str]
    predicate: re.Pattern[str]
    set_predicate: re.Pattern[str]
    abstention: re.Pattern[str]
    verb: re.Pattern[str]
    beginning: re.Pattern[str]
    opener: re.Pattern[str]
    therefore: re.Pattern[str]
    clause: re.Pattern[str]
    concession: re.Pattern[str]
    reason: re.Pattern[str]
    tail: re.Pattern[str]
    complement_tail: re.Pattern[str]
    required_tail: re.Pattern[str] | None
    negation: re.Pattern[str]
    hedge: re.Pattern[str]
    conditional: re.Pattern[str]
    weak: re.Pattern[str]
    report: re.Pattern[str]
    retraction: re.Pattern[str]
    explanation: re.Pattern[str]
    grounds: re.Pattern[str]
    material: re.Pattern[str]
    refusal: re.Pattern[str]
    comparisons: tuple[tuple[Winner, re.Pattern[str]], ...]
    deciding: frozenset[str]
    plain: frozenset[str]
    merit: frozenset[str]


@cache
def languages() -> tuple[Phrases, ...]:
    """Return the phrases of every language."""
    return tuple(map(_compiled, read_yaml(PHRASES).values()))


def languages_of(text: str) -> tuple[Phrases, ...]:
    """Return the phrases of all languages that a text could be in, based on its letters."""
    return _spaced() if text.isascii() else languages()


@cache
def _spaced() -> tuple[Phrases, ...]:
    return tuple(phrases for phrases in languages() if phrases.is_spaced)


def _compiled(lists: Mapping[str, list[str]]) -> Phrases:
    def pattern(name: str, before: str = "", after: str = "", *, bounded: bool = True) -> str:
        entries = _expanded(lists, lists.get(name, []))
        joined = "|".join(sorted(entries, key=len, reverse=True))
        if not joined:
            return NEVER.pattern
        core = rf"(?<!\w)(?:{joined})(?!\w)" if bounded and spaced else f"(?:{joined})"
        return before + core + after

    def words(name: str, before: str = "", after: str = "") -> re.Pattern[str]:
        return re.compile(pattern(name, before, after), re.IGNORECASE)

    spaced = not lists.get("unspaced")
    nouns = pattern("noun", bounded=False)
    named = rf"{ARTICLE}(?:{nouns}\s*[:\uff1a]?\s*)?(?:[{re.escape(OPENING)}]\s*){{0,3}}"
    return Phrases(
        is_spaced=spaced,
        noun=words("noun", after="s?"),
        thing=words("thing", after="s?"),
        statement=words("marker", after=rf"{GLUE}{named}\Z"),
        label=words("label", after=rf"{LABEL_GLUE}{named}\Z"),
        word_label=words("word_label", after=rf"{LABEL_GLUE}\Z"),
        complement=words("complement", after=r"\s*\Z"),
        conclusion=words("conclusion", after=rf"\s*[,:\uff0c]\s*{ARTICLE}\Z"),
        identity=words("identity", after=rf"\s*[,:]?\s*{ARTICLE}[(\[]{{0,3}}\Z"),
        predicate=words("predicate", before=rf"[{re.escape(CLOSING)}]*\s*"),
        set_predicate=words("set_predicate", before=rf"[{re.escape(CLOSING)}]*\s*"),
        abstention=words("abstention", before=r"\A\W*"),
        verb=words("verb", before=r"\s+"),
        beginning=words("opener", before=r"\A\s*", after=r"\s*[,\uff0c]\s*"),
        opener=words("opener", before=r"(?:\A|(?<=[\s,;:\uff0c]))", after=r"[\s,:\uff0c]*\Z"),
        therefore=words("therefore", after=r"[\s,:\uff0c]*\Z"),
        clause=words("clause", before=r"\A\s*"),
        concession=words("concession", before=r"\A\s*"),
        reason=words("reason"),
        tail=re.compile(rf"(?:{pattern('tail', before=chr(92) + 's*')}){{1,2}}", re.IGNORECASE),
        complement_tail=words("complement_tail", before=r"\s*"),
        required_tail=words("needs_tail", before=r"\s*") if lists.get("needs_tail") else None,
        negation=words("negation"),
        hedge=words("hedge"),
        conditional=words("conditional"),
        weak=words("weak"),
        report=words("report"),
        retraction=words("retraction"),
        explanation=words("explanation", before=r"\A\s*", after=r"\s*[:\uff1a]"),
        grounds=words("grounds", before=r"\A[\W_]*"),
        material=words(
            "material", before=r"\A[\W_]*", after=r"(?:\s*\d+)?[\])]?\s*(?:[:\uff1a.]|\Z)"
        ),
        refusal=re.compile(pattern("refusal", r"\A[\W_]*", bounded=False), re.IGNORECASE),
        comparisons=tuple(
            (winner, re.compile(pattern(name).replace("X", NAMED), re.IGNORECASE))
            for name, winner in WINNERS.items()
            if name in lists
        ),
        deciding=frozenset(lists.get("deciding", ())),
        plain=frozenset(lists.get("plain", ())),
        merit=frozenset(re.findall(r"[a-z]+", "".join(lists.get("merit", ())))),
    )


def _expanded(lists: Mapping[str, list[str]], entries: Iterable[str]) -> list[str]:
    """Fill placeholders in entries, and let each space match any blanks."""

    def replaced(match: re.Match[str]) -> str:
        return "(?:" + "|".join(sorted(lists[match[1]], key=len, reverse=True)) + ")"

    patterns = []
    for entry in entries:
        text = entry
        for _ in range(MAX_NESTING):
            text = PLACEHOLDER.sub(replaced, text)
        patterns.append(text.replace(" ", r"\s+"))
    return patterns

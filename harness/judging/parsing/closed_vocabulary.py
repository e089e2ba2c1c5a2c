"""Sentences that only say which option is the answer, with words in any order.

Judges use more phrases than a list can cover, such as "The edge goes to B" and "That makes it B".
All these sentences consist of the option, a word that decides ("edge", "choose", "fits") and plain
words ("the", "it", "to"). Words that deny, doubt, report or set a condition are in neither list, so
a sentence with such a word does not count as a statement.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.judging.parsing.phrases import Phrases

MAX_WORDS = 16
WORDS = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")
ASKS = frozenset(("is", "are", "do", "does", "has", "have", "would", "which", "why"))
ORDERS = frozenset(
    ("choose", "select", "pick", "prefer", "accept", "vote", "judge", "go", "answer", "say", "find")
)
SIGNS = re.compile(r"[^\w\s.,:;!()\[\]*'\u2019\u2013\u2014-]|\banswer\s+key\b", re.IGNORECASE)
SPOKEN = frozenset(
    ("has", "have", "makes", "leaves", "say", "answers", "judge", "choose", "gives", "takes")
)
SCORED = frozenset(("score", "scored", "rating", "grade", "points", "rate", "numeric", "me"))
COUNTED = frozenset(("makes", "has", "have", "there", "answers", "choices", "options", "readings"))
UNDERSTOOD = re.compile(  # words that are plain only in a phrase: "out of these", but not "is out"
    r"\bby\s+far\b|\bfar\s+(?=better|stronger|superior|ahead|more)|\ball\s+told\b|\ba\s+little\b"
    r"|\bout\s+of\s+(?:the|these|those|all)\b|\bcomes?\s+out\s+(?=ahead|on\s+top|best)"
    r"|(?<=\bsums\sit\s)up\b|(?<=\bsums\sthis\s)up\b|\bat\s+the\s+end\s+of\s+the\s+day\b"
    r"|\beasy(?=\s*:|\s+(?:one|call)\b)|\bwould(?=\s+be\b)|(?<=\bi\s)would\b"
    r"|(?P<kept>\b(?:better|stronger|superior|preferable|preferred|more\s+\w+(?:\s+and\s+(?:more\s+)?\w+)?)\s+)than\b",
    re.IGNORECASE,
)
DOUBTED = re.compile(  # plain words that retract an answer when combined
    r"\bat\s+(?:best|most)\b|\b(?:more|most)\s+(?:than|to|of|so|and|on|in)\b|\b(?:more|most)\W*\Z",
    re.IGNORECASE,
)
INTRODUCED = re.compile(r":\W*\Z")
PAUSED = re.compile(r",\W*\Z")
LISTED = frozenset(
    ("options", "choices", "answers", "there", "these", "readings", "response", "output")
)
RATED = frozenset(
    ("text", "comment", "statement", "sentence", "message", "post", "review", "passage", "wording")
)
ADMITS = frozenset(
    ("reasonable", "acceptable", "plausible", "valid", "accept", "applicable", "fit", "possible")
) | {"fine", "okay", "defensible", "justified", "supports", "allows"}
ADMITTED = ADMITS | {"or", "either", "can", "could", "may", "person", "people", "reader", "readers"}
DEGREES = frozenset(("more", "most"))


def states_only(
    head: str, rest: str, phrases: Phrases, *, decided: bool, many: bool, is_number: bool = False
) -> bool:
    """Return whether a sentence only says that the option in it is the answer.

    Parameters
    ----------
    head, rest : str
        The sentence before and after the option. Words between several options are in both.
    decided : bool
        Whether the words before the option already state the answer: "this is".
    many : bool
        Whether several options can be named as reasonable.
    is_number : bool
        Whether the option is named by a number, which could count something else.
    """
    first, last = _words(head), _words(rest)
    words = first + last
    used = set(words)
    is_statement = not (first and first[0] in ASKS | ORDERS) and bool(words)
    has_signs = SIGNS.search(head) or SIGNS.search(rest)
    is_doubted = DOUBTED.search(head) or DOUBTED.search(rest)
    if not is_statement or len(words) > MAX_WORDS or has_signs or is_doubted:
        return False
    unknown = used - phrases.plain - phrases.deciding
    if unknown and not unknown <= _allowed(used, phrases, many=many):
        return False
    if ("than" if many else "only") in used:
        return False
    if used & RATED and used & SPOKEN:  # "The text has the answer B" is about the text
        return False
    if is_number:
        return not used & COUNTED and bool(used & SCORED)
    is_opened = INTRODUCED.search(head) or (PAUSED.search(head) and not last)
    others = LISTED if first[:1] == ["for"] else RATED | LISTED  # "For this text, B"
    introduces = is_opened and not used & others
    decides = phrases.deciding | (ADMITS if many else frozenset())
    return decided or bool(introduces) or bool(used & decides)


def _words(text: str) -> list[str]:
    """Split a text into lower-case words, leaving out set phrases."""
    folded = text.casefold().replace("\u2019", "'")
    return WORDS.findall(UNDERSTOOD.sub(lambda phrase: phrase["kept"] or " so ", folded))


def _allowed(used: set[str], phrases: Phrases, *, many: bool) -> frozenset[str]:
    """Return additional words that a sentence can contain, given the words already in it."""
    allowed = phrases.merit | DEGREES if used & DEGREES else frozenset[str]()
    return allowed | ADMITTED if many and used & ADMITS else allowed

"""Sentences that compare two options, and descriptions of the rejected option.

"A is better than B", "B isn't as good as A" and "I rank B below A" mean the same. One grammar in
`answer_phrases.yaml`, with placeholders for the options, determines which of the two wins.

A reply that says which of two options is better often describes both afterwards. A description
does not retract the answer unless it prefers the other option, ranks the answer behind it, or calls
them equal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.phrases import NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.option_search import Mention
    from harness.judging.parsing.phrases import Phrases

OPTION = re.compile(NAMED)
FIRST_NAME = ord(NAMED[1])
COMPARES = re.compile(
    r"\b(?:better|best|stronger|superior|preferable|preferred|prefer|wins|winner|outperforms|beats)\b",
    re.IGNORECASE,
)
OBJECT = re.compile(
    r"\b(?:than|over|to|from|unlike|with|versus|against)\s+(?:that\s+(?:of|in)\s+)?(?:the\s+)?\Z",
    re.IGNORECASE,
)
BEHIND = re.compile(
    r"\b(?:worse|inferior|weaker|loses?|lost|behind|less|equal|similar|identical|not\s+(?:as|so|any|better|more)"
    r"|no\s+(?:better|more)|same|prefer\w*|in\s+favou?r|yield|yields|second)\b",
    re.IGNORECASE,
)
FAVOURS = re.compile(
    r"\b(?:better|best|stronger|strongest|superior|preferable|prefer\w*|wins?|won|winner|winning|choose|chose|chosen"
    r"|pick(?:ed|s)?|select\w*|vote|edges?|ahead|deserves?|should\s+(?:be|win)|overall(?=,)|equal(?:ly)?|tie[ds]?|same"
    r"|alternatively|otherwise|else|likewise|verdict|outperforms|beats|perfect\w*"
    r"|(?:right|correct)\s+(?:answer|one|choice|option)|just\s+as|as\s+(?:well|good)|(?:too|also|though)(?=\W*\Z)"
    r"|(?:so|as)\s+(?:is|does|did|has)"
    r"|(?:more|most)\s+(?:\w+ly\s+)?(?:helpful|useful|appropriate|suitable|fitting|convincing|relevant|correct|accurate|reasonable"
    r"|precise|faithful|closely|precisely|accurately|faithfully|directly|likely|plausible|defensible))\b",
    re.IGNORECASE,
)
DENIED = re.compile(  # "B is not as good" favours A
    r"\b(?:not|never|less)\s+(?:(?:as|any|so|a|the|nearly|quite|such)\s+){0,2}"
    r"(?:good|well|better|best|\w+ly|more\s+\w+|helpful|useful|accurate|precise|relevant)\b",
    re.IGNORECASE,
)
CONTRAST = re.compile(r"[,;:]|\b(?:while|whereas|but|and|yet|though)\b", re.IGNORECASE)
GROUNDS = re.compile(
    r"\s*[,;]?\s*(?:because|since|as|while|whereas|but|and|though|although)\b|\s*[,;:.\u2013\u2014]",
    re.IGNORECASE,
)
NAMES_ON = re.compile(
    r"(?:'s)?\s+(?!(?:instead|then|now|if|unless|the|an?)\b)\w|\s*,\s+(?:on\s+the\s+other\s+hand|however|by\s+contrast|in\s+contrast|meanwhile)\b"
)


class Comparison(NamedTuple):
    """Comparison of options in a text.

    Attributes
    ----------
    winner : int or None
        Index of the preferred option; None for a tie.
    start, end : int
        Position of the comparison in the text.
    """

    winner: int | None
    start: int
    end: int


def comparisons(
    text: str, start: int, end: int, named: Sequence[Mention], phrases: Phrases
) -> list[Comparison]:
    """Return the comparisons between mentioned options in a part of a text."""
    pieces, places, at = [], [], start
    for mention in named:
        pieces += [text[at : mention.start], chr(FIRST_NAME + mention.answer)]
        places += [*range(at, mention.start), mention.start]
        at = mention.end
    unnamed = "".join((*pieces, text[at:end]))
    places += [*range(at, end), end]
    compared = []
    for winner, pattern in phrases.comparisons:
        for match in pattern.finditer(unnamed):
            options = [ord(name) - FIRST_NAME for name in OPTION.findall(match[0])]
            preferred = {"first": options[0], "last": options[-1], "level": None}[winner]
            stop = places[match.end() - 1] + 1
            ends = [m.end for m in named if m.start == places[match.end() - 1]]
            compared.append(Comparison(preferred, places[match.start()], ends[0] if ends else stop))
    return sorted(compared, key=lambda comparison: (comparison.start, -comparison.end))


def compares(statement: str) -> bool:
    """Return whether a sentence says which option is better, not just which is the answer."""
    return COMPARES.search(statement) is not None


def is_described(head: str, clause: str) -> bool:
    """Return whether a sentence only describes an option that is not the answer.

    Parameters
    ----------
    head : str
        The sentence before the option, from the last mention of the answer on.
    clause : str
        The sentence after the option, up to the next mention of the answer.
    """
    if OBJECT.search(head):
        return BEHIND.search(head) is None and FAVOURS.search(clause) is None
    clause = DENIED.sub("", clause)
    is_subject = NAMES_ON.match(clause) is not None
    opening = CONTRAST.split(head)[-1]
    return is_subject and FAVOURS.search(opening) is None and FAVOURS.search(clause) is None

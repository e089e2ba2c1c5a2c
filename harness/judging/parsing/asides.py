"""Words in a reply that are not part of its answer, such as courtesies.

"Sure thing! B", "B. Let me know if you need more.", "A, not B" and "A; no other option fits" each
name one answer. The removed words never state an answer, so removing them cannot change it.
"""

from __future__ import annotations

import re
from functools import lru_cache

GREETING = re.compile(
    r"\A(?:sure(?:\s+thing)?|of\s+course|certainly|absolutely|understood|okay|ok|alright"
    r"|all\s+right|got\s+it|thanks|thank\s+you(?:\s+for\s+[a-z ]{3,40})?|great(?:\s+question)?"
    r"|here\s+you\s+go)[.!,:]+\s+(?=\S)",
    re.IGNORECASE,
)
CLOSING = re.compile(
    r"[.!)\s]*(?:\s|\A)(?:please\s+)?(?:let\s+me\s+know\s+(?:if|whether)|feel\s+free\s+to|(?:i\s+)?hope\s+(?:this|that)\s+helps"
    r"|happy\s+to\s+(?:explain|elaborate|help)|i(?:'|\u2019)?m\s+happy\s+to\s+(?:explain|elaborate|help)"
    r"|would\s+you\s+like\s+(?:me\s+to|an?\s+explanation)|(?:do\s+)?you\s+want\s+me\s+to)\b[^\n]{0,120}\Z",
    re.IGNORECASE,
)
NO_OTHER = re.compile(
    r"\s*(?:[,;.(]|\band\b)\s*(?:and\s+)?(?:(?:no\s+other|none\s+of\s+the\s+other|nothing\s+else)s?"
    r"(?:\s+(?:options?|ones?|readings?|keys?|answers?))?(?:\s+(?:fits?|appl(?:y|ies)|works?|is\s+(?:reasonable|needed)))?"
    r"|the\s+others?(?:\s+(?:options?|ones?|keys?|answers?))?\s+(?:do(?:es)?|is|are|was)(?:\s+not|n['\u2019]t)"
    r"(?:\s+(?:fit|apply|work|reasonable))?)[.!)\s]*\Z",
    re.IGNORECASE,
)
CERTAIN = re.compile(
    r"(?:\A|(?P<comma>,))\s*(?:without\s+(?:a|any)\s+doubt|no\s+(?:question|doubt|hesitation)(?:\s+(?:here|about\s+it))?"
    r"|hands\s+down|for\s+sure|by\s+an?\s+(?:small|narrow|wide|clear|large)\s+margin)(?(comma)(?=[.!\s]*\Z)|\s*[:,]\s*)",
    re.IGNORECASE,
)
AT_ALL = re.compile(r"\A(?P<said>\W*no\b),\s+not\s+at\s+all[.!\s]*\Z", re.IGNORECASE)
CERTAINTY = re.compile(
    r"\s*[\[(](?:confidence|certainty)\b[^\])\n]{0,30}[\])][.\s]*\Z", re.IGNORECASE
)
STRAY_TAG = re.compile(r"\s*</[a-z_]{1,20}>\s*\Z", re.IGNORECASE)
NOTHING_BUT = re.compile(
    r"\b(?:nothing\s+(?:but|except|other\s+than)|no\s+(?:other\s+)?(?:option|key|answer|choice)\s+(?:but|except|other\s+than|than))\b",
    re.IGNORECASE,
)
CROSS = r"[\u274c\u2717\u2718\u274e]\ufe0f?"
NEGATIVE = r"(?:no|fail(?:ed|s)?|false|incorrect|wrong|reject(?:ed)?|invalid)"
CROSSED = re.compile(
    rf"{CROSS}\s*(?=\W*{NEGATIVE}\b)|(?P<said>\b{NEGATIVE}\b\W*?)\s*{CROSS}", re.IGNORECASE
)
ECHO = re.compile(
    r"\A(?P<said>\W*(?P<word>yes|no)\b)[,.]\s+(?:it|this|that|they|there|he|she)\s*"
    r"(?:(?:is|are|does|do|was|has|would)(?P<denied>\s+not|n['\u2019]t)?|['\u2019]s(?P<also>\s+not)?)[.!\s]*\Z",
    re.IGNORECASE,
)


MAX_DENIAL = 200  # characters at the end of a reply that are searched for denials of other options
YES_NO = frozenset(("yes", "no,", "no."))
DENIED = (
    "not ",
    "n't",
    "n\u2019t",
    "rather than",
    "instead of",
    "ejected",
    "iminated",
    "uled out",
    "cluded",
    "carded",
)
ASIDES = (
    (("know", "feel free", "hope", "happy to", "would you", "want me"), CLOSING, ""),
    (("doubt", "question", "hesitation", "hands", "sure", "margin"), CERTAIN, ""),
    (("confidence", "certainty"), CERTAINTY, ""),
    (("nothing ", "no o", "no k", "no a", "no c"), NOTHING_BUT, "only"),
    (("other", "nothing else"), NO_OTHER, ""),
)


def without_asides(body: str, options: str) -> str:
    """Remove courtesies, an echo of "yes" or "no", and denials from a reply.

    Parameters
    ----------
    body : str
        The reply.
    options : str
        A regular expression that matches the name of any option.
    """
    greeting = GREETING.match(body)
    if greeting and not re.match(options, body):
        body = body[greeting.end() :]
    if not body.isascii():
        body = CROSSED.sub(lambda cross: cross["said"] or "", body)
    if "<" in body and body.count("<") == 1:
        body = STRAY_TAG.sub("", body) or body
    folded = body.casefold()
    for words, aside, instead in ASIDES:
        if any(word in folded for word in words):
            body = aside.sub(instead, body) or body
    body = AT_ALL.sub(r"\g<said>", body)
    if folded[:3] in YES_NO and (echo := ECHO.match(body)) and _agrees(echo):
        body = echo["said"]
    if any(word in folded for word in DENIED):
        start = max(0, len(body) - MAX_DENIAL)
        denial = _denials(options).search(body, start)
        rest = body[: denial.start()] if denial else ""
        is_same = denial is not None and any(
            re.search(rf"(?<!\w){re.escape(name[0])}(?!\w)", rest, re.IGNORECASE)
            for name in re.finditer(options, denial[0])
        )
        if denial and not is_same and not _is_inside_name(denial.start(), body, options):
            return body[: denial.start()] + body[denial.end() :]
    return body


def _is_inside_name(place: int, body: str, options: str) -> bool:
    """Return whether a position is inside an option's name, such as "Rude, but not toxic"."""
    names = re.finditer(f"(?=({options}))", body)
    return any(name.start(1) < place < name.end(1) for name in names)


def _agrees(echo: re.Match[str]) -> bool:
    """Return whether an echo repeats the meaning of its "yes" or "no", as in "No, it isn't"."""
    is_denied = bool(echo["denied"] or echo["also"])
    return is_denied == (echo["word"].casefold() == "no")


@lru_cache(maxsize=256)
def _denials(options: str) -> re.Pattern[str]:
    """Return a pattern for a denied option after other words, as in ", not B" or "; B is not"."""
    joint = r"\s*(?:[,;(]|(?<=\w)\.)\s*(?:(?:but|and|while|whereas)\s+)?"
    named = rf"(?:(?:the|an?|option)\s+)?(?:{options})"
    rejected = r"(?:eliminated|rejected|ruled\s+out|excluded|discarded|not\s+chosen)"
    listed = rf"[(\[]?(?:{options})[)\]]?"
    return re.compile(
        rf"(?<=\S)[.;,]?\s*{rejected}\s*:\s*{listed}(?:,\s*{listed})*[.\s]*\Z"
        rf"|(?<=\S){joint}(?:not|rather\s+than|instead\s+of)\s+{named}(?=\s*[:;,]\s)"
        rf"|(?<=\S)\s+(?:rather\s+than|instead\s+of)\s+{named}(?=\s*[:;,.]\s|[.!)\s]*\Z)"
        rf"|(?<=\S){joint}(?:(?:not|rather\s+than|instead\s+of)\s+{named}"
        rf"|{named}\s+(?:is|are|does|do|would)(?:\s+not|n['\u2019]t)(?:\s+(?:fit|apply|reasonable|be|so|it))*)"
        r"(?=[.!)\s]*\Z)\)?"
    )

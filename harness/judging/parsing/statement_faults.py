"""Search for words around a stated answer that change its meaning or give reasons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from harness.judging.parsing.answer_names import COUNTS
from harness.judging.parsing.phrases import CLOSING, OPENING, Phrases, languages, languages_of
from harness.judging.parsing.reply_segments import BULLET

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_REASONS = 3  # minimum words in a sentence with reasons
MIN_GROUNDS = 6  # minimum words in a sentence with reasons that can contain a denial
MAX_RETRACTION = 8  # maximum words in a sentence that can retract an answer anywhere
MAX_OPENING = 24  # maximum characters before a retraction in a longer sentence
MAX_TAG_QUESTION = 4  # maximum words in a short question: "Right?"
ReplyFault = Literal[
    "no_option",
    "unreadable",
    "several",
    "negated",
    "hedged",
    "conditional",
    "question",
    "reported",
    "retracted",
]
FAULTS: tuple[ReplyFault, ...] = get_args(ReplyFault)
KINDS = ("conditional", "negation", "hedge", "weak", "report")
PAUSES = " \t\n,;:\u2013\u2014-\uff0c\uff1b\uff1a\u3001" + OPENING
WORD_FAULTS: dict[str, ReplyFault] = {
    "conditional": "conditional",
    "negation": "negated",
    "hedge": "hedged",
    "weak": "hedged",
    "report": "reported",
}
BOUNDARY = re.compile(
    rf"[{re.escape(CLOSING)}]*\s*(?:$|[,;:.!()\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff08]|[-\u2013\u2014]\s)"
)
CONCEDED = re.compile(
    r"\s*,?\s*(?:even\s+(?:though|if)|although|though|despite|while|whereas)\b", re.IGNORECASE
)
MILD = re.compile(  # in reasons: about the text, not about the answer
    r"\b(?:all\s+but\s+one|(?:but|yet|though|although)(?=\s+(?!(?:i|it|this|that|these|the|my|we|you|he|she|they|maybe|perhaps|not"
    r"|could|might|may|then|if|only|still|who|on|also|a|an|one|some)\b)\w)|at\s+least|slightly|somewhat|mildly"
    r"|(?<=it\s)(?:only|just)(?=\s+\w+s\b)"
    r"|(?:the|an?)\s+(?:wrong|incorrect|false)\s+(?!(?:answer|verdict|label|option|choice|key|rating|score)\b)\w+)\b"
    r"|,\s*not\s+(?:(?:in|on|at|the|an?|from|by)\s+)?[\w'-]+(?=\W*\Z)",
    re.IGNORECASE,
)
MILD_LATER = re.compile(  # in a sentence of reasons: "..., but the answer says 1978"
    r"(?<=,\s)but(?=\s+(?:the|its)\s+(?:answer|response|summary|text|context|passage|article|source|claim|reply|output)\s+[a-z]+s\b)",
    re.IGNORECASE,
)
SENTENCE_MARKS = ".!?\n"
ITSELF = re.compile(r"(?:th(?:at|is|e)|i|not\s+my|don't|do\s+not)\b", re.IGNORECASE)
OF_VERDICT = re.compile(
    r"\b(?:i|i'm|i'd|my|we|verdict|choice|rating|decision|judge?ment|above|this\s+(?:answer|line|key)"
    r"|(?:the|that)\s+(?:answer|option|label|key|score)\s+(?:is|was|should|would|must))\b",
    re.IGNORECASE,
)
OWNED = re.compile(
    r"\A's(?:\s+(?:answer|response|output|reply|version)\b|(?=\W|\Z))", re.IGNORECASE
)
NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
STOP = re.compile(rf"[{re.escape(CLOSING)}\s.!\u3002\uff01]*$")
SPEAKER = re.compile(r"\bthe\s+(?:writer|author|speaker|user|poster|customer)\b", re.IGNORECASE)
BUT_IT = re.compile(r"(?:but|however),?\s+it", re.IGNORECASE)
LACKS = re.compile(  # after "but it": about the rated text
    r"\s+(?:could|can)\s+(?:be|have|use)\s+(?!(?:wrong|a\s+mistake|argued|said|that)\b)\w"
    r"|\s+(?:lacks|misses|omits|ignores|repeats|leaves|contains|has|needs|skips|forgets|overlooks)\b|\s+(?:does|did)(?:n't|\s+not)\s+\w{3}",
    re.IGNORECASE,
)
STRESSED = re.compile(
    r"(?:\A|[.!?:;,]\s|\bthat\s|\band\s|\bas\s|\bbecause\s)\s*(?:it|they|which|(?:the|its)\s+\w+)\s+\Z",
    re.IGNORECASE,
)
DENIED_FACT = re.compile(  # "the quote doesn't exist"
    r"\W*(?:the|its|their|his|her)\s+(?!(?:answer|verdict|label|option|choice|key|rating|score|decision|other|text|comment)\b)"
    r"(?:[\w-]+\s+){1,4}?(?:(?:does|do|did|is|are|was|were|has|have|can|could|will)(?:n't|\s+not)|cannot)\s+\w",
    re.IGNORECASE,
)
STRESSED_VERB = re.compile(
    r"\s+(?!(?:is|was|not|isn't|should|would|must|deserves|means)\b)[a-z]{3,}", re.IGNORECASE
)
FACT_DENIED = re.compile(  # the end of a clause with a subject of its own
    r"(?:\A|[.!?:;,]\s|\b(?:and|but|while|whereas|though|although)\s)\s*(?:the|its|their|his|her)\s+"
    r"(?!(?:answer|verdict|label|option|choice|key|rating|score|decision|above|other|comment|text|rest)\b)(?:[\w-]+\s+){1,4}?"
    r"(?:is|are|was|were|does|do|did|has|have|can|could|will)\s+\Z",
    re.IGNORECASE,
)
CLAUSE = re.compile(
    r"\s*[;:\u2013\u2014\uff1a\uff1b-]\s"
    r"|\s*[(\uff08](?=(?:the|this|that|it|its|there|they|both|nobody|each|no|none|one|all)\s)",
    re.IGNORECASE,
)
COMMA = re.compile(rf"[{re.escape(CLOSING)}\s]*[,\uff0c\u3001]\s*(?P<rest>.*)", re.DOTALL)
SECOND_VERB = re.compile(r"(?:and|with|which|making|\w+ing|et|und|y|e)\b", re.IGNORECASE)
GROUNDS = re.compile(  # a clause with a separate subject
    r"\s*(?:the|this|these|it|its|there|both|nobody|each|every|they|he|she)\b(?:\W+\w+){2,}",
    re.IGNORECASE,
)
CO_ORDINATED = re.compile(r"(?:\s+overall)?\s*,\s*(?:and|so|hence)\b", re.IGNORECASE)
BUT = re.compile(r"[,;]\s*but\s*(?:overall,?\s*)?\Z", re.IGNORECASE)
SPLICED = re.compile(r"(?:it|its|the|this|that|there)\b(?:\W+\w+){2,}", re.IGNORECASE)
REASON_WORD = re.compile(
    r"(?:because|since|as\s(?:the|this|it|its|there|they|no|nobody)|given|due|depending"
    r"|weil|da|denn|car|puisque|parce|porque|pues|perch\xe9|poich\xe9)\b",
    re.IGNORECASE,
)
ENUMERATOR = re.compile(r"\W*(?:\d+|first|second|third|fourth|fifth|last)\b", re.IGNORECASE)
SUBJECT_OF_REASONS = re.compile(
    r"(?:the|this|these|that|it|its|there|they|he|she|both|nobody|each|every"
    r"|der|die|das|dieser|diese|dieses|es|le|la|el|il|ce|cette|este|esta|questo|questa|ceci|cela|eso|esto)\b|c'|[^\x00-\x7f]",
    re.IGNORECASE,
)
OF_SOMETHING_ELSE = re.compile(  # "It is not relevant which option I choose" rates no text
    r"\s+(?:which|whether|how|what|that|to\s+(?:call|label|rate|mark|choose|pick|assume))\b",
    re.IGNORECASE,
)
ON_VERDICT = re.compile(r"\b(?:verdict|rating|label|judge?ment|decision|key)\b", re.IGNORECASE)
OF_ANSWER = re.compile(
    r"\W*(?:that|this|these|those|it|my|mine|i|i'm|here|such|above|below|end|one"
    r"|(?:the|an?)\s+(?!(?:in)?correct\s)(?:\w+\s+)?(?:answer|verdict|label|option|choice|key|rating|score|line)s?)\b"
    r"|.*\b(?:such|this|that)\s+(?:an?\s+)?(?:answer|verdict|label|option|choice|rating|score)\b",
    re.IGNORECASE,
)
RATED_ANSWER = re.compile(  # "The answer is vague", but not "The answer is mine"
    r"\W*the\s+(?:answer|response|output)\s+(?:[\"\u201c'][\x01\w ]*[\"\u201d']\s+)?"
    r"(?:(?:is|was)\s+(?!(?:not|the|my|only|just|an?|what|which|how|wrong|right|correct|incorrect|false|true|mine|final|yours?"
    r"|unclear|open|no|yes|one|so|either|neither|it|that|this|hard|difficult)\b)[a-z]{2,}(?!\s*[:,;])\b"
    r"|(?:has|lacks|covers|contains|misses|names|gives|omits|repeats|ignores|explains)\s)",
    re.IGNORECASE,
)
REPORTED = re.compile(r"\W*(?:according|as|so|at\s+least|or|if|for|in)\b", re.IGNORECASE)
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}|[^\W\d_]{2,}")


def may_join(opening: str, rest: str) -> bool:
    """Return whether reasons, and not a list item's text, follow an answer in its sentence."""
    joint, clause = rest.lstrip()[:1], rest.strip(PAUSES + "(\uff08")
    if REASON_WORD.match(clause):
        return True
    if joint in ",\uff0c":
        return SUBJECT_OF_REASONS.match(clause) is not None and not ENUMERATOR.match(opening)
    return not clause[:1].isdigit() and not (opening.isdecimal() and joint in ":\uff1a")


def gives_grounds(
    clause: str, *, is_joined: bool, is_varied: bool, is_negative: bool = False
) -> bool:
    """Return whether a clause supports an answer without doubting or retracting it.

    A short clause must not deny anything: "It is not, of course." Several possible readings of a
    text are a reason for several answers.
    """
    words = WORD.findall(clause)
    clause = SPEAKER.sub("it", clause) if is_joined else clause
    clause = MILD.sub("", clause) if is_joined else MILD_LATER.sub("", clause)
    if not words or (not is_joined and len(words) < MIN_REASONS):
        return False
    is_short = len(words) < MIN_GROUNDS
    english, *others = languages()
    is_fact = is_joined and DENIED_FACT.match(clause) and not english.thing.search(clause)
    is_negative = is_negative or bool(is_fact)
    is_of_verdict = REPORTED.match(clause) or english.noun.search(clause)
    is_reported = is_joined and (is_short or is_of_verdict)
    kinds = ["conditional", *(["report"] if is_reported else []), *([] if is_varied else ["hedge"])]
    kinds += ["negation", "weak"] if is_short and not is_negative else []
    is_of_answer = OF_ANSWER.match(clause) and not RATED_ANSWER.match(clause)
    if not is_joined and is_of_answer and english.noun.search(clause):
        return False  # "That is my answer" can have a different meaning
    if is_negative and ON_VERDICT.search(clause):  # "No, this is not a verdict"
        return False
    spoken = [english, *(p for p in others if p.thing.search(clause) or p.reason.search(clause))]
    return not any(word_fault(clause, phrases, kinds) for phrases in spoken)


def fault_before(prefix: str, phrases: Phrases) -> ReplyFault | Literal[""]:
    """Return the fault that words before a statement cause, or "" if there is none."""
    if but := BUT.search(prefix):  # earlier words are about a different option
        clause = prefix[: but.start()]
        kinds = ("conditional",) if phrases.concession.match(clause) else ("conditional", "report")
        return word_fault(clause, phrases, kinds)
    bullet = BULLET.match(prefix)
    rest = prefix[bullet.end() :] if bullet else prefix
    while rest := rest.rstrip(PAUSES):
        if therefore := phrases.therefore.search(rest):
            clause = rest[: therefore.start()]
            if not clause.strip():
                return ""
            if clause.rstrip()[-1] in PAUSES or not clause.isascii():
                return word_fault(clause, phrases, ("conditional",))
        if not (opener := phrases.opener.search(rest)):
            break
        rest = rest[: opener.start()]
    pause = prefix.rstrip()[prefix.rstrip().rfind(rest) + len(rest) :].strip(" ")[:1]
    while begin := phrases.beginning.match(rest):
        rest = rest[begin.end() :]
    if not rest:
        return ""
    if GROUNDS.match(rest) and CO_ORDINATED.match(prefix, len(rest)):
        return word_fault(rest, phrases, ("conditional", "hedge", "report"))
    fault = _fault_in_clause(rest, phrases, ends_in_pause=pause in {*PAUSES} - {" "})
    return fault and _fault_in_whole(prefix, phrases, fault)


def _fault_in_whole(
    prefix: str, phrases: Phrases, fault: ReplyFault | Literal[""]
) -> ReplyFault | Literal[""]:
    """Return a clause's fault, unless its last word only resembles an opening word.

    In "Based on the evaluation, A is better", the clause ends in a noun that is also an opener.
    """
    clause = prefix.rstrip(PAUSES)
    ends_in_pause = prefix[len(clause) :].strip() != ""
    while begin := phrases.beginning.match(clause):
        clause = clause[begin.end() :]
    is_whole = ends_in_pause and phrases.clause.match(clause) is not None
    return _fault_in_clause(clause, phrases, ends_in_pause=True) if is_whole else fault


def _fault_in_clause(
    clause: str, phrases: Phrases, *, ends_in_pause: bool
) -> ReplyFault | Literal[""]:
    """Return the fault that a clause before a statement causes, or "" if there is none."""
    if ends_in_pause and phrases.concession.match(clause):
        return word_fault(clause, phrases, ("conditional",))
    if ends_in_pause and phrases.clause.match(clause):
        _, comma, more = clause.partition(",")
        return word_fault(clause, phrases, ("conditional",)) or (
            word_fault(more, phrases, ("report", "hedge")) if comma else ""
        )
    return word_fault(clause, phrases) or "unreadable"


def fault_after(  # noqa: PLR0911 -- one return per rule
    rest: str,
    phrases: Phrases,
    *,
    is_complement: bool,
    is_bare: bool,
    is_number: bool = False,
    is_negative: bool = False,
) -> ReplyFault | Literal[""]:
    """Return the fault that words after an answer cause, or "" if there is none.

    After a negative answer, another negation agrees with it: "No, it isn't toxic."
    """
    rest = OWNED.sub("", rest).lstrip(CLOSING)
    if retracts(rest, phrases):
        return "retracted"
    if is_complement and OF_SOMETHING_ELSE.match(rest):
        return "unreadable"
    if phrases.required_tail and not STOP.match(rest) and not BOUNDARY.match(rest):
        required = phrases.required_tail.match(rest)
        if not required:
            return word_fault(rest, phrases) or "unreadable"
        rest = rest[required.end() :]
    tail = not is_bare and (
        phrases.tail.match(rest) or (is_complement and phrases.complement_tail.match(rest))
    )
    if tail:
        rest = rest[tail.end() :]
    if STOP.match(rest):
        return ""
    reason = CONCEDED.match(rest) or phrases.reason.search(rest)
    is_reason = reason is not None and not rest[: reason.start()].strip(PAUSES)
    comma = COMMA.match(rest)
    if not is_reason and not BOUNDARY.match(rest):
        return word_fault(rest, phrases) or "unreadable"
    goes_on = comma and (SECOND_VERB.match(comma["rest"]) or SPLICED.match(comma["rest"]))
    if is_complement and comma and not is_reason and not goes_on:
        return word_fault(rest, phrases) or "unreadable"
    breaks = [match.start() for match in (reason, CLAUSE.search(rest)) if match]
    main = rest[: min(breaks)] if breaks else rest
    if is_number and _names_a_number(rest[: reason.start()] if reason else rest):
        return "several"
    grounds = MILD.sub("", rest[reason.end() :]) if is_reason and reason else rest
    is_agreed = (
        is_negative
        and comma is not None
        and SUBJECT_OF_REASONS.match(comma["rest"]) is not None
        and not ON_VERDICT.search(rest)
    )
    kinds = ("conditional", "hedge", "weak", "report") if is_agreed else KINDS
    weak = ("weak",) if CONCEDED.match(rest) else ()
    report = () if is_reason or len(grounds.split()) >= MIN_GROUNDS else ("report",)
    return word_fault(main, phrases, kinds) or word_fault(
        grounds, phrases, ("conditional", "hedge", *weak, *report)
    )


def _names_a_number(text: str) -> bool:
    """Return whether a text has a number that is not a count of things."""
    return any(not COUNTS.match(text, number.end()) for number in NUMERAL.finditer(text))


def word_fault(
    text: str,
    phrases: Phrases,
    kinds: Sequence[str] = KINDS,
) -> ReplyFault | Literal[""]:
    """Return the first kind of fault whose words occur in a text, or "" if none occurs."""
    for kind in kinds:
        if getattr(phrases, kind).search(text):
            return WORD_FAULTS[kind]
    return ""


def retracts(text: str, phrases: Phrases) -> bool:
    """Return whether a text retracts an answer rather than only denying a fact.

    "Actually" inside a clause about the text, as in "it actually compiles", only stresses a fact.
    """
    return any(not _is_fact(text, match) for match in phrases.retraction.finditer(text))


def _is_fact(text: str, match: re.Match[str]) -> bool:
    head = text[: match.start()]
    if match[0].casefold() == "actually":
        return (
            STRESSED.search(head) is not None and STRESSED_VERB.match(text, match.end()) is not None
        )
    if BUT_IT.fullmatch(match[0]):
        return LACKS.match(text, match.end()) is not None
    return match[0].casefold().startswith("not") and FACT_DENIED.search(head) is not None


def takes_back(later: str, phrases: Phrases) -> bool:
    """Return whether a text after a verdict retracts it. Talk about the rated text does not.

    "Actually, no." and "I take it back." are retractions. "It names two causes that are actually in
    the text" is not, because the word comes late in a sentence about the text.
    """
    if not phrases.is_spaced:
        return phrases.retraction.search(later) is not None
    for match in phrases.retraction.finditer(later):
        if _is_fact(later, match):
            continue
        start = max(later.rfind(mark, 0, match.start()) for mark in SENTENCE_MARKS) + 1
        ends = [end for mark in SENTENCE_MARKS if (end := later.find(mark, match.end() - 1)) >= 0]
        sentence = later[start : min(ends, default=len(later))]
        is_early = match.start() - start <= MAX_OPENING or ITSELF.match(match[0]) is not None
        if is_early or len(sentence.split()) <= MAX_RETRACTION or OF_VERDICT.search(sentence):
            return True
    return False


def takes_back_in_any(later: str) -> bool:
    """Return whether a text after a verdict retracts it in any language that it could be in."""
    return any(takes_back(later, phrases) for phrases in languages_of(later))


def is_tag_question(later: str) -> bool:
    """Return whether a text begins with a short question such as "Right?"."""
    match = re.match(r"\W*([^.!?\n\uff1f]*)[?\uff1f]", later)
    return match is not None and len(match[1].split()) <= MAX_TAG_QUESTION

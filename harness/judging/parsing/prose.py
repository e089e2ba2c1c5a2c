"""Parser for answers that replies state in prose.

`grammar` reads replies that only contain an answer. This module reads replies that say more. A
reply is split into lines and sentences (`reply_segments`), and each of them can state an answer:

- the last line, the first line, or a line with a lead-in, if it only contains an answer;
- the beginning of the first sentence, if reasons follow: "Toxic, as it insults her.";
- an answer marker directly followed by an option: "The answer is A, because it is toxic.";
- an option directly followed by a predicate: "Response A is better.";
- a subject and a verb directly followed by a label of at least four letters: "It is toxic.";
- a sentence that says that the text cannot be assessed.

A sentence must begin with its marker or subject, or with words that do not change its meaning
("Therefore,", "Given the insult,", "Nobody is named, so"). It does not count if it names a
different option, denies, hedges, asks, sets a condition or reports other people's views
(`statement_faults`). Names in quotations, quoted lines and lists of all options are ignored. All
stated answers must be the same, and the text after the last one must not retract it or choose a
different option. If reasons were requested first, an answer on the last line takes precedence over
the sentences before it.

The phrases come from `answer_phrases.yaml`. The time is linear in the length of the reply, because
the length of sentences and the number of mentions are bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from harness.judging.parsing.answer_names import COUNTS
from harness.judging.parsing.closed_vocabulary import states_only
from harness.judging.parsing.comparisons import (
    FAVOURS,
    GROUNDS,
    compares,
    comparisons,
    is_described,
)
from harness.judging.parsing.phrases import CLOSING, OPENING, Phrases, languages, languages_of
from harness.judging.parsing.reply_segments import (
    BULLET,
    END,
    HEADING_END,
    MASK,
    MAX_ANSWER,
    MAX_HEADING,
    TERMINAL,
    ReplyLine,
    Sentence,
    is_foreign,
    lines_of,
    named_answers,
    plain,
    sentences_of,
    speaks_of_others,
    start_of_material,
    without_numbering,
    without_quotations,
)
from harness.judging.parsing.statement_faults import (
    CONCEDED,
    KINDS,
    MIN_GROUNDS,
    MIN_REASONS,
    OF_SOMETHING_ELSE,
    SPEAKER,
    STOP,
    WORD,
    ReplyFault,
    fault_after,
    fault_before,
    gives_grounds,
    is_tag_question,
    may_join,
    retracts,
    takes_back,
    word_fault,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.judging.parsing.option_matching import OptionIndices
    from harness.judging.parsing.option_search import Mention
    from harness.judging.parsing.reply_segments import LineReader

MAX_SENTENCE = 600  # maximum characters in a sentence that states an answer
IN_CLAUSE = ("conditional",)  # faults in a clause before a verdict in double brackets
IN_BRACKETS = ("conditional", "negation", "report")  # faults checked before double brackets
MAX_MENTIONS = 400  # maximum mentions of options in a reply


MILDER: frozenset[ReplyFault] = frozenset(("hedged", "reported"))  # ignored after a comparison
UNFIT: ReplyFault = "unreadable"  # fault of "it is toxic" if a set was requested
QUOTES = frozenset("\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e\u300c\u300d\u300e\u300f")
JOINT = re.compile(
    rf"[{re.escape(CLOSING)}]*\s*(?:[.:)\]=,\uff1a]|[-\u2013\u2014](?=\s))?\s*"
    rf"(?:(?:it|this|that|(?:the|this)\s+\w+)(?:\s+is|'s)\s+)?[{re.escape(OPENING)}\uff08]{{0,3}}\s*",
    re.IGNORECASE,
)
SEPARATOR = re.compile(
    rf"[{re.escape(CLOSING)}]*\s*(?:[,;\u3001\uff0c&+]\s*(?:(?:but\s+also|and|und|et|y|e|also)\s+)?"
    rf"|\s(?:and|but\s+also|as\s+well\s+as|und|et|y|e)\s|[\u548c\u3068])\s*[{re.escape(OPENING)}]{{0,3}}\s*"
)
ORDERED = re.compile(r"\W*\d\s*>{1,3}\s*\d\W*")
REJECTED = re.compile(
    r"\W*\s(?:is|are|does|do|would)(?:\s+not|n't)\s+(?:be\s+)?(?:(?:a\s+)?reasonable|acceptable|plausible|defensible"
    r"|appl(?:y|icable)|fit(?:ting)?|present|expressed|conveyed|supported)\b",
    re.IGNORECASE,
)
OR = re.compile(
    rf"[{re.escape(CLOSING)}]*,?\s+or\s+(?:an?\s+|the\s+)?[{re.escape(OPENING)}]{{0,3}}\s*"
)
COMPARED = re.compile(
    r"\s*(?:(?:,\s*followed\s+by|than|over|to|compared\s+(?:to|with)|al[s]|que|a)\s+)?(?:the\s+|die\s+|la\s+)?",
    re.IGNORECASE,
)
PREFERRED = re.compile(
    r"\s+(?:by\s+an?\s+(?:\w+\s+){1,2}margin\s+)?(?:over|(?:rather|other)\s+than)\s+(?:the\s+)?",
    re.IGNORECASE,
)
NUMBER_BESIDE = re.compile(rf"[{re.escape(CLOSING)}]*[\s,:(\[\u2013\u2014-]{{1,4}}(?P<number>\d)")
SUBJECT = re.compile(
    r"\b(?:(?:both|either|only|just)\s+)?(?:(?:the|die|la)\s+(?:answer|response|reply|output|version|antwort|respuesta|resposta"
    r"|risposta|r\xe9ponse)\s+(?:of|by|from|von|de|del|du|do|di)\s+)?(?:(?:an?|the|el|la|le|der|die|das)\s+)?(?:an?\s+(?:score|rating)\s+of\s+)?(?:(?:(?P<one>answer|response)|option|key|label|choice|rating|score)s?\s+)?[^\w\s,.;:]{0,3}\Z",
    re.IGNORECASE,
)
GOES_ON = re.compile(r"(?:'s)?\s+[a-z]|\s*[^\x00-\x7f]|(?:'s)?\s*[(,]?\s*(?=\w*n't)")
CONTINUES = re.compile(r"\s*[a-z\xe0-\xff]")
REASON_JOINT = re.compile(
    r"\s+(?=(?:by|with|in|per|from)\s+(?:(?:the|this|its)\s+(?:\w+\s+)?(?:source|article|passage|context|text|document|evidence"
    r"|reference|premise|claim|facts?|key)|sentence|line|paragraph|section)\b[^,;.]*\W*\Z)|"
    r"\s*(?:[:\uff1a(\uff08,\uff0c;\uff1b]|[-\u2013\u2014](?=\s))\s*"
    r"|,?\s+(?:because|since|as|weil|da|denn|parce que|car|porque|ya que|puesto que|pues"
    r"|perch\xe9)\s+"
)
NEGATIVE = re.compile(
    r"\b(?:no|fail(?:ed|s)?|false|incorrect|wrong|nein|non|n\xe3o|\u043d\u0435\u0442"
    r"|\u4e0d|\u4e0d\u662f|\u5426|\u3044\u3044\u3048|\uc544\ub2c8\uc694)\W*\Z|\bnot\b",
    re.IGNORECASE,
)  # an answer, with or without its lead-in
REASONS_AFTER = re.compile(
    r",?\s+(?:mostly|mainly|primarily|largely|chiefly|simply|partly)?\s*(?:because(?:\s+of)?|due\s+to|thanks\s+to|owing\s+to|given)\s"
    r"|,\s+(?:mostly|mainly|primarily|largely|chiefly|simply)?\s*for\s+(?:its|the|being|having)\s",
    re.IGNORECASE,
)
OBJECT_OF_VIEW = re.compile(r"\s+(?:that|with)\s[^,;.:()]*", re.IGNORECASE)
COLON = re.compile(r"\s*[:;\u2013\u2014]\s+")
RANKED = re.compile(r"\s*>\s*(?!>)")
MAX_CORRECTION = 3  # maximum words in a sentence that corrects a number
MIN_COMPARED = 4  # minimum words in a sentence that describes a different option
LIST_ITEM = re.compile(r"\s*[:.)=\uff1a-]\s")
CHOOSES = re.compile(
    r"\b(?:also|too|equally|either|or|alternatively|instead|rather|possible|plausible|reasonable|acceptable"
    r"|just\s+as|as\s+(?:good|well)|on\s+par|no\s+worse|defensible|else|otherwise|if|more|most|better|best|stronger|choose|chose|pick|prefer|select|verdict|choice|option|rating|label|key|should|would|could)\b",
    re.IGNORECASE,
)  # words that don't occur in a sentence that only gives reasons
CHOSEN = re.compile(r"\b(?:i|i'd|i'll|my)\b", re.IGNORECASE)
RELATIVE = re.compile(r"one\s+(?:that|which|i|i'd)\s", re.IGNORECASE)
LEAST = re.compile(r"\b(?:less|least|worse|worst|lower|lowest)\b", re.IGNORECASE)
WHY = re.compile(r"\s*why\s+not\b", re.IGNORECASE)
OVERALL = re.compile(
    r"\b(?:overall|total)\b|\bfinal\s+(?:verdict|result|grade|score)\b", re.IGNORECASE
)
QUESTION = re.compile(r"[?\uff1f]|[\u5417\u5462](?:\s|$)")
INVERTED = re.compile(r"^\s*[\u00bf]")


PASSES = re.compile(
    r"(?<!\w)(?:(?<=so\s)it|(?:the|this)\s+(?:response|reply|answer|output|check|test|summary|submission|code|criterion))"
    r"\s+(?P<verb>[a-z]{4,}?)(?:es|s)"
    r"(?:\s+(?:the|this|all|every|each)\s+(?:tests?|checks?|criterion|criteria|requirements?|evaluation|rubric))?(?=\W*\Z)",
    re.IGNORECASE,
)
THE = re.compile(r"\b(?:the|its)\s+\Z", re.IGNORECASE)
FACT = re.compile(
    r"\s+(?:answer|value|date|year|name|number|city|person|spelling|formula|solution|result)"
    r"\s+(?:is|was|would\s+be|should\s+be)\s",
    re.IGNORECASE,
)
_COMPARED = (
    r"(?:evidence|premise|hypothesis|passage|context|source|document|article|statement|claim|summary"
    r"|reference|response|answer|sentence)"
)
RELATED = re.compile(
    rf"\W*(?:(?:so|therefore|thus|hence),?\s+)?(?:the|this)\s+{_COMPARED}\s+(?:(?:clearly|directly|fully|does)\s+)?"
    rf"(?P<verb>[a-z]{{5,}})s\s+(?:it|(?:the|this)\s+{_COMPARED})(?=\W*\Z|,?\s+(?:because|since|as)\b|\s*[:(]\s*\w)",
    re.IGNORECASE,
)
PRONOUN = re.compile(
    r",\s*(?:so|and|which|hence|therefore|thus)\s+(?:therefore\s+|thus\s+|overall\s+)?"
    r"(?:(?:it|this|that)|(?P<made>makes\s+it))(?='s|\s)|,\s*(?P<making>making\s+it)(?=\s)",
    re.IGNORECASE,
)
ALL_REASONABLE = re.compile(
    r"\W*(?:(?:both|either)|(?P<all>all))(?:\s+(?:one|of\s+(?:the|these|them)))?(?:\s+(?:two|three|four|five))?"
    r"(?:\s+(?:labels?|options?|answers?|choices?|readings?|responses?|keys?|ratings?|outputs?|assistants?))?"
    r"\s+(?:is|are|would\s+be|could\s+be|can\s+be)\s+(?:equally\s+)?"
    r"(?:reasonable|acceptable|plausible|defensible|valid|justified|justifiable|applicable)\b",
    re.IGNORECASE,
)
OF = re.compile(r"\bof\s+\Z", re.IGNORECASE)
BUT_NO = re.compile(r",?\s*(?:but|and)\s+(?:no|not|without)\b", re.IGNORECASE)
UNEQUAL = re.compile(
    r"\b(?:absent|missing|lack|neither|den\w+|opposite|than|rather|more|less|most|could|would|or)\b|[?:;]",
    re.IGNORECASE,
)
ACCEPTS = re.compile(r"\bi(?:'d|\s+would)?\s+accept\s+(?:either\s+)?\Z", re.IGNORECASE)
SO = re.compile(r",\s+(?:so|therefore|hence)\s+(?=i\b|we\b)", re.IGNORECASE)
INFORMATION = re.compile(r"\b(?:information|context|evidence|detail)\b", re.IGNORECASE)
HEADING_JOINT = re.compile(r"[)\]\s]*(?:[:\uff1a(]|\s[-\u2013\u2014]\s)\s*")
CLOSING_JOINT = re.compile(r"\s*(?:[:\uff1a]|\u2192|[-=]+>)\s+|\s+[\u2013\u2014-]\s+")
UNENDED = re.compile(  # a full stop that doesn't end a sentence
    r"\b(?:vs|e\.?g|i\.?e|etc|cf|resp|approx|no|nr|dr|mr|ms|\d+)\W*\Z", re.IGNORECASE
)
REPLIED = re.compile(r"\b(?:repl(?:y|ies|ied)|respond(?:s|ed)|words?|no\s+idea)\b", re.IGNORECASE)
NOT_BUT = re.compile(r"\bnot\s+(?:[\w-]+\s+){1,4}?but\b", re.IGNORECASE)
OWN_LINE = frozenset(("line", "lead", "opening"))  # statements on separate lines
REASONED = OWN_LINE | {
    "predicate",
    "plain",
    "comparison",
}  # statements that a comparison of the options can follow


class Search(Protocol):
    """Interface of searches for the answers that a text mentions.

    Attributes
    ----------
    abstention : int
        Index of CANNOT_ASSESS.
    is_scale : bool
        Whether the answers are options with whole numbers as keys.
    rivals : bool
        Whether the options are compared texts.
    tie : int or None
        Index of the option for a tie.
    """

    @property
    def abstention(self) -> int:
        """Return the index of CANNOT_ASSESS."""

    @property
    def is_scale(self) -> bool:
        """Return whether the options' keys are whole numbers."""

    @property
    def rivals(self) -> bool:
        """Return whether the options stand for compared texts."""

    @property
    def tie(self) -> int | None:
        """Return the index of the option for a tie, or None if no option means a tie."""

    def by_verb(self, verb: str) -> int | None:
        """Return the only option whose label derives from a verb, if there is one."""

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions of answers in a text, in order and without overlaps."""


class Prose(NamedTuple):
    """Answer that a reply states in prose.

    Attributes
    ----------
    reading : Reading or None
        The stated answers, if any.
    reason : str
        Why no answer is stated; else empty.
    sentence : str
        The sentence or line that states the answer, without markup.
    """

    reading: OptionIndices | None
    reason: ReplyFault | Literal[""]
    sentence: str


StatementKind = Literal[
    "line",
    "lead",
    "opening",
    "marker",
    "predicate",
    "comparison",
    "plain",
    "conclusion",
    "complement",
]


class Statement(NamedTuple):
    """Answer stated by a part of a reply. ``fault`` says why the answer does not count.

    Attributes
    ----------
    reading : Reading
        The answers.
    start, end : int
        Position of the sentence in the text.
    kind : StatementKind
        The form of the statement.
    fault : str
        Why the statement does not count; else empty.
    """

    reading: OptionIndices
    start: int
    end: int
    kind: StatementKind
    fault: ReplyFault | Literal[""] = ""


def read_prose(
    body: str,
    search: Search,
    read_line: LineReader,
    *,
    many: bool,
    complete: bool = True,
    reasons_first: bool = False,
) -> Prose:
    """Find the answer that a reply states in prose.

    Parameters
    ----------
    body : str
        The reply without its thinking.
    search : Search
        Search for mentions of answers.
    read_line : function
        Function that returns the answers on a line that only contains answers, and whether they
        follow a lead-in.
    many : bool
        Whether several answers can be stated together, as in a response set.
    complete : bool
        Whether the reply is complete. If not, its last sentence is ignored.
    reasons_first : bool
        Whether an answer on the last line takes precedence over the sentences before it.
    """
    if not complete:
        body = body[: max((match.end() for match in END.finditer(body)), default=0)]
    text = plain(body)
    mentions = search.mentions(text)
    if len(mentions) > MAX_MENTIONS:
        return Prose(None, "several", "")
    reply = _Reply(text, mentions, search, read_line, many=many)
    return reply.prose(reasons_first=reasons_first)


class _Reply:
    """Reply in prose, and the statements in its parts."""

    def __init__(
        self,
        text: str,
        mentions: Sequence[Mention],
        search: Search,
        read_line: LineReader,
        *,
        many: bool,
    ) -> None:
        self._text, self._many, self._search = text, many, search
        self._languages = languages_of(text)
        self._lines = lines_of(text, read_line)
        self._bare = without_numbering(
            without_quotations(text, mentions, self._lines, many=many), self._lines
        )
        self._mentions = mentions
        self._own = [
            m
            for m in mentions
            if self._bare[m.start] == text[m.start] and not _is_attribute(self._bare, m)
        ]
        self._claims: list[Statement] = []
        self._spoken: set[Phrases] = set()
        self._is_compared = False
        self._sentences = list(sentences_of(self._bare, self._lines, read_line))
        self._material = start_of_material(self._bare, self._sentences)
        self._bare_answers = {
            line.reading
            for line in self._lines
            if line.reading and self._bare[line.start : line.end].strip(MASK + " ")
        }
        self._named_answers = named_answers(self._bare, self._lines, read_line)
        for sentence in self._sentences:
            if sentence.end - sentence.start <= MAX_ANSWER and (
                answer := read_line(self._bare[sentence.start : sentence.end].strip())
            ):
                self._bare_answers.add(answer[0])
            self._claims += [*self._abstentions(sentence)] or self._claims_of(sentence)
        self._claims += self._claims_of_lines()
        self._claims += self._claims_of_closing(read_line)
        self._claims += self._claims_of_opening(read_line)

    def prose(self, *, reasons_first: bool = False) -> Prose:
        """Return the answer that the reply states."""
        if reasons_first:
            self._leave_out_reasons()
        self._leave_out_merits()
        if self._many:
            self._leave_out_members()
        clean = [claim for claim in self._claims if not claim.fault]
        self._is_compared |= self._search.rivals and any(
            claim.kind in OWN_LINE | {"marker"} for claim in clean
        )
        if not clean:
            return Prose(None, self._reason(), "")
        last = max(clean, key=lambda claim: (claim.end, claim.kind in OWN_LINE))
        fault = self._contradiction(clean, last)
        if fault:
            return Prose(None, fault, "")
        sentence = self._text[last.start : last.end].strip(" .\n")
        return Prose(last.reading, "", "" if last.kind == "line" else sentence)

    def _leave_out_merits(self) -> None:
        """Drop praise of other options if a sentence says which option is better.

        "A is more detailed, but off topic. Therefore, B is better" prefers B.
        """
        better = [c for c in self._claims if not c.fault and self._is_comparison(c)]
        self._is_compared = bool(better)
        if better:
            self._claims = [c for c in self._claims if not self._is_merit(c, better[-1])]

    def _leave_out_members(self) -> None:
        """If the reply states a set, drop sentences that only say why one of its options fits."""
        sets = [claim.reading for claim in self._claims if not claim.fault]
        self._claims = [
            claim
            for claim in self._claims
            if not (claim.kind == "complement" and any(claim.reading < stated for stated in sets))
        ]

    def _is_merit(self, claim: Statement, better: Statement) -> bool:
        """Return whether a statement only praises an option that is not the better one."""
        is_praise = claim.kind in {"predicate", "plain"} and not self._is_comparison(claim)
        named = [m for m in self._own if claim.start <= m.start < claim.end]
        head = self._bare[claim.start : named[0].start] if named else ""
        if not is_praise or CHOSEN.search(head) or claim.reading == better.reading:
            return False
        return claim.end <= better.start or all(
            self._is_described(m, better.reading, claim.start)
            for m in named
            if m.answer not in better.reading
        )

    def _leave_out_reasons(self) -> None:
        """Keep only answers on separate lines if the last line is an answer.

        An answer that opens the reply is also dropped if the reasons retract it.
        """
        end = len(self._text.rstrip())
        own = [claim for claim in self._claims if claim.kind in OWN_LINE]
        last = next((claim for claim in own if claim.end >= end and not claim.fault), None)
        if last is None:
            return
        self._claims = [claim for claim in own if not self._is_retracted(claim, last)]
        self._bare_answers = {claim.reading for claim in self._claims}
        self._named_answers = set()

    def _is_retracted(self, claim: Statement, last: Statement) -> bool:
        between = self._bare[claim.end : last.start]
        return claim.reading != last.reading and any(
            phrases.retraction.search(between) for phrases in self._languages
        )

    def _reason(self) -> ReplyFault:
        """Return why the reply states no answer, which is the fault of its last mention."""
        faults = [claim.fault for claim in self._claims if claim.fault not in {"", "unreadable"}]
        if faults and faults[-1]:
            return faults[-1]
        if not self._mentions:
            return "no_option"
        last = self._mentions[-1].start
        for sentence in self._sentences:
            if sentence.start <= last < sentence.end and last - sentence.start < MAX_SENTENCE:
                return self._reason_in(sentence)
        return "unreadable"

    def _reason_in(self, sentence: Sentence) -> ReplyFault:
        text = self._bare[sentence.start : sentence.end + 2]
        if QUESTION.search(text):
            return "question"
        spoken = languages()[:1] if text.isascii() else languages()
        kinds = ("conditional", "negation", "hedge")
        faults = (word_fault(text, phrases, kinds) for phrases in spoken)
        return next((fault for fault in faults if fault), "unreadable")

    def _contradiction(
        self, clean: Sequence[Statement], last: Statement
    ) -> ReplyFault | Literal[""]:
        """Return why the last stated answer does not count, or "" if it counts."""
        stated = {claim.reading for claim in clean} | self._bare_answers
        if not OVERALL.search(self._bare, last.start, last.end):
            stated |= self._named_answers
        is_repeated = {last.reading} == stated
        if not is_repeated or self._names_another(last):
            return "several"
        if fault := self._fault_later(last):
            return fault
        if all(claim.kind == "complement" for claim in clean):
            return self._doubt(last)
        return ""

    def _names_another(self, last: Statement) -> bool:
        return any(
            mention.start >= last.end
            and mention.answer not in last.reading
            and (not mention.is_bare or self._is_corrected(mention))
            and not (last.kind in REASONED and self._is_in_reasons(mention))
            and not (self._is_compared and self._is_described(mention, last.reading, last.end))
            and not self._is_asked_why(mention)
            and not (self._many and self._is_rejected(mention))
            for mention in self._own
        ) or any(
            (claim.end >= last.end or claim.fault == "unreadable") and claim.reading != last.reading
            for claim in self._claims
        )

    def _sentence_of(self, mention: Mention) -> Sentence | None:
        return next((s for s in self._sentences if s.start <= mention.start < s.end), None)

    def _is_comparison(self, statement: Statement) -> bool:
        """Return whether a sentence says which option is better."""
        if statement.kind == "comparison":
            return True
        is_sentence = statement.kind in {"predicate", "plain"} and not self._many
        return is_sentence and compares(self._bare[statement.start : statement.end])

    def _is_described(self, mention: Mention, reading: OptionIndices, since: int) -> bool:
        """Return whether the sentence that mentions another option only describes that option."""
        sentence = self._sentence_of(mention)
        if sentence is None:
            return False
        own = [m for m in self._own if m.answer in reading and not m.is_bare]
        since = max(since, sentence.start)
        start = max((m.end for m in own if since <= m.start < mention.start), default=since)
        end = min(
            (m.start for m in own if mention.end <= m.start < sentence.end), default=sentence.end
        )
        return is_described(self._bare[start : mention.start], self._bare[mention.end : end])

    def _is_asked_why(self, mention: Mention) -> bool:
        """Return whether a mention is in a question such as "Why not A?"."""
        sentence = self._sentence_of(mention)
        return sentence is not None and bool(WHY.match(self._bare, sentence.start, sentence.end))

    def _is_rejected(self, mention: Mention) -> bool:
        """Return whether a sentence says that an option is not reasonable."""
        return REJECTED.match(self._bare, mention.end) is not None

    def _is_corrected(self, mention: Mention) -> bool:
        """Return whether a short sentence ends in a number on the scale, as in "Rather 2"."""
        sentence = self._sentence_of(mention)
        if sentence is None or not self._search.is_scale:
            return False
        words = self._bare[sentence.start : sentence.end].split()
        is_end = STOP.match(self._bare, mention.end, sentence.end) is not None
        return is_end and len(words) <= MAX_CORRECTION and not words[0].strip("-*").isdecimal()

    def _is_in_reasons(self, mention: Mention) -> bool:
        """Return whether a mention is in a full sentence that compares options but chooses none."""
        if LIST_ITEM.match(self._bare, mention.end) or not GOES_ON.match(self._bare, mention.end):
            return False
        for sentence in self._sentences:
            if sentence.start <= mention.start < sentence.end:
                text = self._bare[sentence.start : sentence.end]
                is_chosen = CHOOSES.search(text) or FAVOURS.search(text)
                return len(text.split()) >= MIN_COMPARED and not is_chosen
        return False

    def _fault_later(self, last: Statement) -> ReplyFault | Literal[""]:
        """Return the fault in the text after an answer, or "" if the answer remains valid."""
        later = self._bare[last.end :]
        if self._is_compared:
            later = self._without_descriptions(last)
        is_described = self._is_compared or last.kind in OWN_LINE
        for phrases in self._spoken or self._languages:
            if retracts(later, phrases) and not (is_described and not takes_back(later, phrases)):
                return "retracted"
        if is_tag_question(later) and not WHY.match(later.strip(" .\n")):
            return "question"
        if last.kind in OWN_LINE and self._is_denied(last):
            return "negated"
        faults = [
            claim.fault
            for claim in self._claims
            if claim.start >= last.end and claim.fault != "unreadable"
            if not (self._is_compared and claim.reading == last.reading and claim.fault in MILDER)
            if not (self._many and claim.fault == "negated" and not claim.reading & last.reading)
        ]
        return next((fault for fault in faults if fault), "")

    def _without_descriptions(self, last: Statement) -> str:
        """Return the text after an answer, except for descriptions of other options."""
        later = self._bare
        for mention in self._own:
            if mention.start < last.end or mention.answer in last.reading or mention.is_bare:
                continue
            sentence = self._sentence_of(mention)
            if sentence and self._is_described(mention, last.reading, last.end):
                end = sentence.end
                later = later[: mention.start] + MASK * (end - mention.start) + later[end:]
        return later[last.end :]

    def _is_denied(self, last: Statement) -> bool:
        """Return whether a later mention of the answer follows a word that denies it."""
        mentions = [m for m in self._own if m.start >= last.end and m.answer in last.reading]
        heads = [
            self._bare[max(last.end, m.start - 8) : m.start] for m in mentions if not m.is_bare
        ]
        return any(p.negation.search(head) for head in heads for p in languages()[:1])

    def _doubt(self, last: Statement) -> ReplyFault | Literal[""]:
        """Check an answer that has no marker. Return its fault, or "" if it has none."""
        if any(
            not m.is_bare
            and m.answer not in last.reading
            and not last.start <= m.start < last.end  # `_fault_of` checks its own sentence
            for m in self._own
        ):
            return "several"
        faults = [claim.fault for claim in self._claims if claim.fault not in {"", "unreadable"}]
        return faults[-1] if faults else ""

    # -- lines ------------------------------------------------------------------------------

    def _claims_of_lines(self) -> Iterator[Statement]:
        filled = [line for line in self._lines if self._text[line.start : line.end].strip()]
        filled = self._with_closing_list(self._with_reasons(filled)) if self._many else filled
        for i, line in enumerate(filled):
            is_last = i == len(filled) - 1
            is_opening = i == 0 and not is_last and not self._continues(filled)
            if line.reading is None or not (is_last or line.has_lead or is_opening):
                continue
            quotes = "".join(QUOTES) + "." if is_opening else ""
            is_own = self._bare[line.start : line.end].strip(MASK + " " + quotes)
            if is_own and not self._goes_on(filled, i) and self._stands_alone(filled, i):
                own: StatementKind = "lead" if line.has_lead else "line"
                kind = "opening" if is_opening else own
                yield Statement(line.reading, line.start, line.end, kind)

    def _with_reasons(self, filled: list[ReplyLine]) -> list[ReplyLine]:
        """Mark all lines as answers if each of them gives reasons for a different option.

        "Joy: the first line says so" on a line, and another option on the next, name a set.
        """
        read = [self._headed(line) for line in filled]
        answers = [line.reading for line in read]
        is_list = None not in answers and 1 < len(set(answers)) == len(answers)
        is_part = len(answers) < self._search.abstention
        return [line for line in read if line] if is_list and is_part else filled

    def _headed(self, line: ReplyLine) -> ReplyLine:
        """Mark a line as an answer if it begins with an option that is followed by reasons."""
        named = [m for m in self._own if line.start <= m.start < line.end]
        if not named or line.reading:
            return line
        first = named[0]
        joint = HEADING_JOINT.match(self._bare, self._headed_end(named), line.end)
        clause = self._bare[joint.end() : line.end] if joint else ""
        is_head = not self._bare[line.start : first.start].strip("-*\u2022 \t([0123456789.)" + MASK)
        is_only = all(m.answer == first.answer or m.is_bare for m in named)
        about = SPEAKER.sub("it", clause)
        is_reason = len(WORD.findall(clause)) > 1 and not (
            UNEQUAL.search(clause) or any(word_fault(about, p) for p in self._languages)
        )
        is_headed = is_head and is_only and is_reason
        return line._replace(reading=frozenset([first.answer])) if is_headed else line

    def _headed_end(self, named: Sequence[Mention]) -> int:
        """Return the position after a line's first option, including its key and label."""
        end = named[0].end
        for mention in named[1:]:
            if mention.answer != named[0].answer or not JOINT.fullmatch(
                self._text[end : mention.start]
            ):
                break
            end = mention.end
        return end

    def _with_closing_list(self, filled: list[ReplyLine]) -> list[ReplyLine]:
        """Join closing lines that each have one answer into one line with all answers."""
        start = len(filled)
        while start and filled[start - 1].reading and not filled[start - 1].has_lead:
            start -= 1
        closing = filled[start:]
        if len(closing) < 2:  # noqa: PLR2004 -- one answer
            return filled
        reading = frozenset(answer for line in closing for answer in line.reading or ())
        self._bare_answers -= {line.reading for line in closing if line.reading}
        self._bare_answers.add(reading)
        return [
            *filled[:start],
            ReplyLine(closing[0].start, closing[-1].end, reading, has_lead=False),
        ]

    def _continues(self, filled: Sequence[ReplyLine]) -> bool:
        """Return whether the first two lines are part of the same list."""
        first, second = (self._text[line.start : line.end] for line in filled[:2])
        return bool(BULLET.match(first) and BULLET.match(second)) and not filled[0].has_lead

    def _goes_on(self, filled: Sequence[ReplyLine], i: int) -> bool:
        """Return whether a line ends in mid-sentence and the next line continues it."""
        if i == len(filled) - 1 or TERMINAL.search(self._text[filled[i].start : filled[i].end]):
            return False
        later = self._text[filled[i + 1].start : filled[i + 1].end]
        is_reason = any(phrases.reason.match(later.strip()) for phrases in self._languages)
        return bool(CONTINUES.match(later)) and not is_reason and not filled[i + 1].has_lead

    def _claims_of_opening(self, read_line: LineReader) -> Iterator[Statement]:
        """Yield the answer at the beginning of the reply, if it is followed by reasons."""
        first = self._sentences[0] if self._sentences else Sentence(0, 0, is_foreign=False)
        if QUESTION.search(self._bare, first.start, first.end + 2):
            return
        for end, grounds, is_joined in self._openings(first):
            opening = self._bare[first.start : end].strip(MASK + " ")
            answer = read_line(opening) if 0 < len(opening) <= MAX_ANSWER else None
            rest = self._bare[end : first.end]
            if answer is None or (is_joined and not may_join(opening, rest)):
                continue
            others = {
                mention.answer
                for mention in self._own
                if mention.start >= end
                and not mention.is_bare
                and (self._many or not self._is_in_reasons(mention))
            } - answer[0]
            is_number = self._search.is_scale and not any(
                mention.is_word and mention.start < end for mention in self._own
            )
            others |= {
                mention.answer
                for mention in self._own
                if end <= mention.start < first.end
                and (is_number or (mention.is_bare and mention.end - mention.start > 1))
                and not COUNTS.match(self._bare, mention.end)
            } - answer[0]
            is_varied = self._many and len(answer[0]) > 1
            is_negative = NEGATIVE.search(opening) is not None
            if not others and gives_grounds(
                grounds, is_joined=is_joined, is_varied=is_varied, is_negative=is_negative
            ):
                yield Statement(answer[0], first.start, end, "opening")
                return

    def _claims_of_closing(self, read_line: LineReader) -> Iterator[Statement]:
        """Yield the answer at the end of the reply, in a sentence or after a colon or arrow."""
        last = self._sentences[-1] if self._sentences else Sentence(0, 0, is_foreign=True)
        if last.is_foreign or last.start >= self._material or last.end - last.start > MAX_SENTENCE:
            return
        if QUESTION.search(self._bare, last.start, last.end + 2):
            return
        for start, end, grounds, joint in self._closings(last):
            closing = self._bare[start:end].strip(MASK + " ")
            is_counted = closing[:1].isdecimal() or (len(closing) == 1 and closing.islower())
            is_short = 0 < len(closing) <= MAX_ANSWER and not is_counted
            answer = read_line(closing) if is_short else None
            if answer is None or not self._leads_to(grounds, joint):
                continue
            named = [m for m in self._own if m.start < start and last.start <= m.start]
            if all(m.is_bare or m.answer in answer[0] for m in named):
                yield Statement(answer[0], start, end, "line")
                return

    def _closings(self, last: Sentence) -> Iterator[tuple[int, int, str, str]]:
        """Yield possible spans of a closing answer, each with the reasons and sign before it."""
        before = self._sentences[-2] if len(self._sentences) > 1 else None
        if before and "\n" not in self._bare[before.end : last.start]:
            yield last.start, last.end, self._bare[before.start : last.start], ""
        joints = [*CLOSING_JOINT.finditer(self._bare, last.start, last.end)]
        for joint in joints[-1:]:
            sign = ":" if joint[0].strip() in {":", "\uff1a"} else "-"
            yield joint.end(), last.end, self._bare[last.start : joint.start()], sign

    def _leads_to(self, clause: str, joint: str) -> bool:
        """Return whether a clause gives reasons for the next answer without changing it."""
        if len(WORD.findall(clause)) < MIN_REASONS or (UNENDED.search(clause) and not joint):
            return False
        said = NOT_BUT.sub(" ", clause)
        if joint == ":" and (is_foreign(said) or any(p.noun.search(said) for p in self._languages)):
            return False
        if REPLIED.search(clause):
            return False
        kinds = ("conditional", "hedge", "report", *(("negation",) if joint == ":" else ()))
        return not QUESTION.search(clause) and not any(
            word_fault(said, phrases, kinds) for phrases in self._languages
        )

    def _openings(self, first: Sentence) -> Iterator[tuple[int, str, bool]]:
        """Yield possible ends of an opening answer, its reasons, and if one sentence has both."""
        joints = [*REASON_JOINT.finditer(self._bare, first.start, first.end)]
        for joint in reversed(joints):
            yield joint.start(), self._bare[joint.end() : first.end], True
        if len(self._sentences) > 1:
            second = self._sentences[1]
            yield first.end, self._bare[second.start : second.end], False

    def _stands_alone(self, filled: Sequence[ReplyLine], i: int) -> bool:  # noqa: PLR0911 -- rules
        """Return whether a line belongs neither to a list nor to the preceding sentence."""
        if i == 0:
            return True
        line, before = filled[i], filled[i - 1]
        text, earlier = self._text[line.start : line.end], self._text[before.start : before.end]
        if BULLET.match(text) and BULLET.match(earlier) and not line.has_lead:
            return False
        if line.start >= self._material:
            return False
        if HEADING_END.search(earlier):
            return line.has_lead and not is_foreign(earlier)
        if before.reading or TERMINAL.search(earlier) or line.has_lead:
            return True
        is_adjacent = self._text[before.end : line.start].count("\n") == 1
        is_item = bool(BULLET.match(earlier))
        if (is_adjacent or (text.strip().isdecimal() and not is_item)) and len(
            earlier.split()
        ) <= MAX_HEADING:
            return any(phrases.noun.search(earlier) for phrases in self._languages)
        return not speaks_of_others(earlier) and not any(
            phrases.hedge.search(earlier) for phrases in self._languages
        )

    # -- sentences --------------------------------------------------------------------------

    def _claims_of(self, sentence: Sentence) -> Iterator[Statement]:
        if sentence.end - sentence.start > MAX_SENTENCE:
            return
        inside = [m for m in self._mentions if sentence.start <= m.start < sentence.end]
        if (compared := self._compared(sentence, inside)) is not None:
            yield compared
            return
        if (plainly := self._plainly(sentence, inside)) is not None:
            yield plainly
            return
        if self._many and (both := [*self._all_of(sentence, inside), *self._all_options(sentence)]):
            yield from both
            return
        if not self._many:
            yield from self._by_verb(sentence)
            yield from self._by_pronoun(sentence, inside)
        stated = 0
        for i, mention in enumerate(inside):
            if mention.start < stated:
                continue
            _, stated = self._stated(inside[i:])
            is_quoted = mention not in self._own
            if is_quoted and not _is_quoted_alone(self._text, mention):
                continue
            claim = self._claim(sentence, inside[i:], is_quoted=is_quoted)
            is_article = mention.is_bare and mention.end - mention.start == 1
            if claim and not (is_article and claim.fault == UNFIT and not self._search.is_scale):
                yield claim

    def _by_verb(self, sentence: Sentence) -> Iterator[Statement]:
        """Yield the option that a sentence's verb names, as in "The premise entails it"."""
        place = (self._bare, sentence.start, sentence.end)
        said = RELATED.match(*place) or PASSES.search(*place)
        answer = self._search.by_verb(said["verb"].casefold()) if said else None
        if said is None or answer is None or sentence.is_foreign:
            return
        head = self._bare[sentence.start : said.start()]
        for phrases in self._languages[:1]:
            rest = self._bare[said.end() : sentence.end]
            fault = fault_before(head, phrases) or word_fault(
                rest, phrases, ("conditional", "hedge")
            )
            if retracts(rest, phrases):
                fault = "retracted"
            yield Statement(frozenset([answer]), *place[1:], "complement", fault)

    def _by_pronoun(self, sentence: Sentence, inside: Sequence[Mention]) -> Iterator[Statement]:
        """Yield the option that a pronoun refers to, as in "A adds a table, so it is better"."""
        named = [m for m in inside if m in self._own and not m.is_bare]
        reading = frozenset(m.answer for m in named)
        pronoun = PRONOUN.search(self._bare, named[0].end, sentence.end) if named else None
        if pronoun is None or len(reading) != 1 or not self._search.rivals:
            return
        said = (" is" if pronoun["made"] or pronoun["making"] else "") + self._bare[
            pronoun.end() : sentence.end
        ]
        clause = self._bare[sentence.start : pronoun.start()]
        for phrases in self._languages:
            predicate = phrases.predicate.match(said)
            if predicate and not word_fault(clause, phrases, ("conditional", "hedge", "report")):
                rest = said[predicate.end() :]
                fault = self._fault_of(sentence, reading, named[0], named[0].end) or fault_after(
                    rest, phrases, is_complement=False, is_bare=False
                )
                yield Statement(reading, sentence.start, sentence.end, "predicate", fault)

    def _all_of(self, sentence: Sentence, inside: Sequence[Mention]) -> Iterator[Statement]:
        """Yield the set of labels in a sentence such as "It conveys joy and surprise"."""
        but = BUT_NO.search(self._bare, sentence.start, sentence.end)
        end = but.start() if but else sentence.end
        named = [m for m in inside if m.is_word and m.start < end]
        if not named or any(m not in self._own for m in inside) or len(named) < 2 - bool(but):
            return
        head = self._bare[sentence.start : named[0].start]
        text = self._bare[named[0].start : end]
        for phrases in self._languages:
            said = phrases.complement.search(head)
            if said and not (
                fault_before(head[: said.start()], phrases)
                or word_fault(text, phrases)
                or UNEQUAL.search(text)
                or any(OF.search(self._bare, sentence.start, m.start) for m in named[1:])
            ):
                reading = frozenset(m.answer for m in named)
                fault = (
                    self._fault_of(sentence, reading, named[0], named[-1].end, is_marked=True)
                    if not but
                    else ""
                )
                yield Statement(reading, sentence.start, sentence.end, "marker", fault)
                return

    def _all_options(self, sentence: Sentence) -> Iterator[Statement]:
        """Yield the set of all options for a sentence such as "Both are reasonable"."""
        said = ALL_REASONABLE.match(self._bare, sentence.start, sentence.end)
        n_options = self._search.abstention
        if said and not sentence.is_foreign and (said["all"] or n_options == 2):  # noqa: PLR2004 -- both
            fault = fault_after(
                self._bare[said.end() : sentence.end],
                languages()[0],
                is_complement=False,
                is_bare=False,
            )
            reading = frozenset(range(n_options))
            yield Statement(reading, sentence.start, sentence.end, "marker", fault)

    def _abstentions(self, sentence: Sentence) -> Iterator[Statement]:
        """Yield an abstention if a sentence says that it is not possible to assess the text.

        A lack of information can be an option itself.
        """
        if sentence.is_foreign or sentence.start >= self._material:
            return
        so = SO.search(self._bare, sentence.start, sentence.end)
        head = self._bare[so.end() if so else sentence.start : sentence.end]
        for phrases in self._languages:
            said = phrases.abstention.match(head)
            rest = head[said.end() :] if said else ""
            if said and any(
                INFORMATION.search(self._text[m.start : m.end])
                for m in self._mentions
                if sentence.start <= m.start < sentence.end
            ):
                continue
            if said and not fault_after(rest, phrases, is_complement=False, is_bare=False):
                reading = frozenset([self._search.abstention])
                yield Statement(reading, sentence.start, sentence.end, "marker")

    def _claim(
        self, sentence: Sentence, inside: Sequence[Mention], *, is_quoted: bool
    ) -> Statement | None:
        """Return a sentence's statement about its first mentioned option, or None if none."""
        first = inside[0]
        head = self._bare[sentence.start : first.start]
        reading, named_end = self._stated(inside)
        is_view = self._text[first.start : named_end].casefold().endswith("agree")
        claims: list[Statement | None] = [self._bracketed(sentence, reading, first, named_end)]
        for phrases in self._languages:
            claim = self._predicated(sentence, reading, first, named_end, phrases)
            said = phrases.predicate.match(self._bare, named_end, sentence.end)
            end = self._end_of_comparison(
                COMPARED if said else PREFERRED,
                said.end() if said else named_end,
                sentence.end,
                reading,
            )
            if (
                is_view
                and (view := OBJECT_OF_VIEW.match(self._bare, end, sentence.end))
                and not word_fault(view[0], phrases, ("conditional", "hedge", "report"))
            ):
                end = view.end()
            rest = self._bare[end : sentence.end]
            is_count = not self._search.is_scale and self._text[first.start].isdigit()
            for kind, pattern in _markers(
                phrases,
                complement=first.is_word,
                is_quoted=is_quoted,
                is_name=not is_count and (self._search.rivals or not first.is_word),
            ):
                match = pattern.search(head)
                if match is None or (claim and not claim.fault):
                    continue
                is_marked = kind == "marker" or CONCEDED.match(rest) is not None
                fault = (
                    self._fault_of(sentence, reading, first, end, is_marked=is_marked)
                    or fault_before(_lead_of(head, match, phrases), phrases)
                    or fault_after(
                        rest,
                        phrases,
                        is_complement=kind == "complement",
                        is_bare=first.is_bare,
                        is_number=self._text[first.start].isdigit(),
                        is_negative=NEGATIVE.search(self._text[first.start : named_end])
                        is not None,
                    )
                    or (UNFIT if kind == "complement" and self._many else "")
                    or (UNFIT if kind == "conclusion" and not STOP.match(rest) else "")
                )
                claim = Statement(reading, sentence.start, sentence.end, kind, fault)
            if claim:
                claims.append(claim)
                self._spoken.add(phrases)
        return max(filter(None, claims), key=_seriousness, default=None)

    def _plainly(self, sentence: Sentence, inside: Sequence[Mention]) -> Statement | None:
        """Return a sentence's statement if the sentence only names the answer, or else None."""
        named = [m for m in inside if not m.is_bare]
        is_number = not named and self._search.is_scale and len(inside) == 1
        named = list(inside) if is_number else named
        reading = frozenset(mention.answer for mention in named)
        others = [m for m in inside if not self._bare[m.start : m.end].islower()]
        if not named or any(m not in self._own or m.answer not in reading for m in others):
            return None
        if (len(reading) > 1 and not self._many) or self._search.abstention in reading:
            return None
        head = self._without_clause(self._bare[sentence.start : named[0].start])
        spans = zip(named, [*named[1:], None], strict=True)
        end = self._end_without_reasons(named[-1].end, sentence.end)
        rest = " ".join(
            self._bare[mention.end : end if after is None else after.start]
            for mention, after in spans
        )
        words = [mention for mention in named if mention.is_word]
        if any(OF_SOMETHING_ELSE.match(self._bare, m.end, sentence.end) for m in words):
            return None
        fault = self._fault_of(sentence, reading, named[0], named[-1].end)
        for phrases in self._languages:
            if not phrases.deciding:
                continue
            decided = not named[0].is_word and phrases.identity.search(head) is not None
            if not fault and states_only(
                head, rest, phrases, decided=decided, many=self._many, is_number=is_number
            ):
                self._spoken.add(phrases)
                return Statement(reading, sentence.start, sentence.end, "plain")
        return None

    def _end_without_reasons(self, start: int, end: int) -> int:
        """Return where a sentence's final reasons begin, as in ", mostly for its structure"."""
        reasons = REASONS_AFTER.search(self._bare, start, end)
        clause = self._bare[reasons.end() : end] if reasons else ""
        is_doubted = any(
            word_fault(clause, phrases, ("conditional", "hedge", "report"))
            for phrases in self._languages
        )
        return reasons.start() if reasons and clause.strip() and not is_doubted else end

    def _without_clause(self, head: str, kinds: Sequence[str] = KINDS) -> str:
        """Remove an introductory clause such as "After careful thought," before an option."""
        clause, comma, rest = head.partition(",")
        is_clause = comma and any(
            phrases.clause.match(clause) and not word_fault(clause, phrases, kinds)
            for phrases in self._languages
        )
        return rest if is_clause and rest.strip() else head

    def _compared(self, sentence: Sentence, inside: Sequence[Mention]) -> Statement | None:
        """Return the statement of a sentence that says which of two options is better."""
        is_ordered = self._search.rivals and ORDERED.fullmatch(
            self._bare, sentence.start, sentence.end
        )
        named = [
            m
            for m in inside
            if m in self._own and m.answer != self._search.tie
            if m.is_word or not self._text[m.start].isdigit() or is_ordered
        ]
        if len({m.answer for m in named}) < 2 or self._many:  # noqa: PLR2004 -- two options
            return None
        for phrases in self._languages:
            found = comparisons(self._bare, sentence.start, sentence.end, named, phrases)
            if not found:
                continue
            winner = self._search.tie if found[0].winner is None else found[0].winner
            if winner is None or any(other.winner != found[0].winner for other in found):
                continue
            start, end = found[0].start, max(comparison.end for comparison in found)
            head = self._bare[sentence.start : start]
            marked = phrases.label.search(head) or phrases.statement.search(head)
            first = next(m for m in named if m.start >= start)
            is_bracketed = head.endswith("[[") or self._bare.startswith("[[", start)
            fault = (
                self._fault_of(sentence, frozenset([winner]), first, end, is_marked=True)
                or (word_fault(head, phrases, IN_BRACKETS) if is_bracketed else "")
                or (
                    fault_before(head[: marked.start()] if marked else head, phrases)
                    if not is_bracketed
                    else ""
                )
                or fault_after(
                    self._bare[end : sentence.end], phrases, is_complement=False, is_bare=False
                )
            )
            if not fault:
                self._spoken.add(phrases)
                return Statement(frozenset([winner]), sentence.start, sentence.end, "comparison")
        return None

    def _bracketed(
        self, sentence: Sentence, reading: OptionIndices, first: Mention, end: int
    ) -> Statement | None:
        """Return a sentence's statement in double brackets, as in "a tie: [[A=B]]"."""
        last = next((m for m in reversed(self._own) if m.end == end), first)
        is_bracketed = self._bare.endswith("[[", sentence.start, last.start)
        if not (is_bracketed and self._bare.startswith("]]", end)):
            return None
        head = self._without_clause(self._bare[sentence.start : first.start], IN_CLAUSE)
        faults = (word_fault(head, phrases, IN_BRACKETS) for phrases in languages()[:1])
        fault = self._fault_of(sentence, reading, first, end) or next(faults)
        return Statement(reading, sentence.start, sentence.end, "marker", fault)

    def _predicated(
        self,
        sentence: Sentence,
        reading: OptionIndices,
        first: Mention,
        end: int,
        phrases: Phrases,
    ) -> Statement | None:
        """Return the statement of a sentence that begins with an option, as in "A is better"."""
        rest = self._bare[end : sentence.end]
        said = phrases.predicate.match(rest)
        if said is None and self._many:
            said = phrases.set_predicate.match(rest)
        elif said is None and (first.is_word or not self._search.is_scale):
            said = RANKED.match(rest)
        if said is None:
            return None
        end = self._end_of_comparison(COMPARED, end + said.end(), sentence.end, reading)
        head = self._bare[sentence.start : first.start]
        if subject := SUBJECT.search(head):
            if self._search.is_scale and subject["one"]:  # "Answer 3" isn't a number on the scale
                return None
            head = head[: subject.start()]
        fault = (
            self._fault_of(sentence, reading, first, end, is_marked=True)
            or fault_before(head, phrases)
            or (
                word_fault(self._bare[end : sentence.end], phrases)
                if RELATIVE.match(self._bare[end - 3 : sentence.end])
                and not LEAST.search(self._bare, end, sentence.end)
                else fault_after(
                    self._bare[end : sentence.end], phrases, is_complement=False, is_bare=False
                )
            )
        )
        return Statement(reading, sentence.start, sentence.end, "predicate", fault)

    def _end_of_comparison(
        self, joint: re.Pattern[str], start: int, end: int, reading: OptionIndices
    ) -> int:
        """Return the end of the option that an answer is compared with, as in "better than B"."""
        compared = joint.match(self._bare, start, end)
        place = compared.end() if compared else -1
        other = next((m for m in self._own if m.start == place), None)
        return other.end if other and other.answer not in reading else start

    def _stated(self, inside: Sequence[Mention]) -> tuple[OptionIndices, int]:
        """Return the answers listed from the first mention on, and the end of the list."""
        answers, end = {inside[0].answer}, inside[0].end
        is_accepted = self._many and self._are_accepted(inside)
        for mention in inside[1:]:
            between = self._text[end : mention.start]
            if is_accepted and OR.fullmatch(between):
                between = ","
            is_same = mention.answer in answers and JOINT.fullmatch(between)
            if not is_same and not (self._many and SEPARATOR.fullmatch(between)):
                break
            answers.add(mention.answer)
            end = mention.end
        return frozenset(answers), end

    def _are_accepted(self, inside: Sequence[Mention]) -> bool:
        """Return whether options joined by "or" are accepted, as in "3 or 4 is reasonable"."""
        if ACCEPTS.search(self._bare, 0, inside[0].start):
            return True
        return any(
            phrases.set_predicate.match(self._bare, inside[-1].end) for phrases in self._languages
        )

    def _is_outnumbered(self, first: Mention, end: int) -> bool:
        """Return whether another number is next to the option's label, as in "Good (4)"."""
        beside = NUMBER_BESIDE.match(self._text, end) if first.is_word else None
        return beside is not None and self._search.is_scale

    def _fault_of(
        self,
        sentence: Sentence,
        reading: OptionIndices,
        first: Mention,
        end: int,
        *,
        is_marked: bool = False,
    ) -> ReplyFault | Literal[""]:
        """Return why a sentence's answer does not count, considering the whole sentence."""
        if sentence.is_foreign or first.start >= self._material:
            return "reported"
        if self._is_outnumbered(first, end):
            return "several"
        tail = (
            self._bare[sentence.end : sentence.end + 2] + self._bare[sentence.start : sentence.end]
        )
        if QUESTION.search(tail) or INVERTED.search(tail):
            return "question"
        reasons = self._start_of_reasons(end, sentence.end) if is_marked else sentence.end
        grounds = GROUNDS.match(self._bare, end, sentence.end)
        is_comparison = (
            is_marked and grounds and not self._many and compares(self._bare[first.end : end])
        )
        others = [
            mention
            for mention in self._own
            if (first.start if is_marked else sentence.start) <= mention.start < reasons
            and not first.start <= mention.start < end
            and not mention.is_bare
        ]
        if any(
            mention.answer not in reading
            and not (
                is_comparison and mention.start >= end and self._is_described(mention, reading, end)
            )
            for mention in others
        ):
            return "several"
        return ""

    def _start_of_reasons(self, start: int, end: int) -> int:
        """Return where a sentence's reasons begin. Reasons can mention other options."""
        colon = COLON.match(self._bare, start, end)
        if colon and not (self._many and ";" in colon[0]):
            clause = self._bare[colon.end() : end]
            return colon.start() if _gives_reasons(clause) else end
        for phrases in self._languages:
            conceded = CONCEDED.match(self._bare, start, end)
            reason = conceded or phrases.reason.search(self._bare, start, end)
            clause = self._bare[reason.end() : end] if reason else ""
            is_only = bool(conceded) or not phrases.reason.search(clause)
            is_short = bool(conceded) and len(clause.split()) < MIN_GROUNDS
            if reason and is_only and not is_short and _gives_reasons(clause):
                return reason.start()
        return end


def _gives_reasons(clause: str) -> bool:
    """Return whether a clause is long enough for reasons and does not choose an option."""
    is_choice = ":" in clause or CHOOSES.search(clause)
    return len(clause.split()) >= MIN_REASONS and not is_choice


def _markers(
    phrases: Phrases, *, complement: bool, is_quoted: bool, is_name: bool
) -> Iterator[tuple[Literal["marker", "conclusion", "complement"], re.Pattern[str]]]:
    yield "marker", phrases.statement
    yield "marker", phrases.label
    if complement:
        yield "marker", phrases.word_label
    if is_quoted:
        return
    if is_name:
        yield "marker", phrases.identity
    if complement:
        yield "conclusion", phrases.conclusion
        yield "complement", phrases.complement


def _is_attribute(text: str, mention: Mention) -> bool:
    """Return whether a label only describes a fact, as in "the correct answer is Lisbon"."""
    return (
        mention.is_word
        and THE.search(text, 0, mention.start) is not None
        and FACT.match(text, mention.end) is not None
    )


def _lead_of(head: str, marker: re.Match[str], phrases: Phrases) -> str:
    """Return the text before a marker, plus a "so" with which the marker begins."""
    words = marker[0].casefold().split()
    if words[:1] == ["and"]:  # "It adds nothing and is therefore factual"
        return f"{head[: marker.start()].rstrip()}, and"
    is_therefore = bool(words) and phrases.therefore.fullmatch(words[0]) is not None
    return head[: marker.start()] + (words[0] if is_therefore else "")


def _seriousness(claim: Statement) -> int:
    """Return a statement's rank among readings in several languages. Doubts rank highest."""
    return ("unreadable", "").index(claim.fault) if claim.fault in {"", "unreadable"} else 2


def _is_quoted_alone(text: str, mention: Mention) -> bool:
    """Return whether a mention is directly inside quotation marks."""
    before, after = text[: mention.start].rstrip()[-1:], text[mention.end :].lstrip(" .")[:1]
    return before in QUOTES and after in QUOTES and bool(before) and bool(after)

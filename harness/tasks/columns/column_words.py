"""English words in column names and labels that suggest a role, a tie or a remark."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ITEMS = _words(
    "item itemid id ids case caseid example exampleid sample uid uuid unit unitid instance "
    "key doc document qid idx index pair pairid commentid sentenceid textid docid record post"
)
ID_MARKS = _words("id ids uid uuid key idx index no nr num number code")
GROUPS = _words(
    "group document doc article thread conversation question prompt page source cluster "
    "paragraph story dialogue dialog topic"
)
CRITERIA = _words("criterion aspect dimension attribute metric trait")
RATERS = _words(
    "rater raters annotator annotators worker workers workerid coder coders labeler labeller "
    "evaluator assessor reviewer turker crowdworker ann anno grader"
)
_OFTEN_RATERS = "user participant expert author human person respondent student subject"
WEAK_RATERS = _words(f"{_OFTEN_RATERS} judge who name by rated file sheet")
PEOPLE = RATERS | _words(_OFTEN_RATERS)
LABELS = _words(
    "label labels rating ratings value answer score annotation choice judgment judgement "
    "verdict vote class category winner decision preference selected grade code response "
    "relation result"
)
MEASURES = _words("confidence certainty difficulty effort seconds duration time worktime elapsed")
REMARK_COLUMNS = _words(
    "comment comments remark remarks reason reasons reasoning rationale explanation explain "
    "justification note notes feedback"
)
MODELS = _words(  # product names that are no given names
    "gpt gpt2 gpt3 gpt4 gpt5 chatgpt openai anthropic llama llama2 llama3 mistral mixtral qwen "
    "qwen2 deepseek gemini vicuna davinci smollm smollm2 roberta deberta llm llms vader textblob"
)
MODEL_FAMILIES = _words(  # with a version a model's name, without it perhaps a person's
    "claude sonnet opus haiku gemma bard palm phi cohere command grok falcon "
    "olmo bert o1 o3 o4 yi "
    "nova kimi glm"
)
MODEL_MARKS = MODEL_FAMILIES | _words(  # parts of the names that people give their own models
    "judge judges model models ai bot machine classifier auto automatic lexicon mini nano turbo "
    "instruct finetune finetuned ft lora sft dpo rlhf checkpoint "
    "ckpt baseline system prompt flash "
    "pro"
)
SUMMARIES = _words(
    "gold golden majority consensus final adjudicated aggregate aggregated mean median mode "
    "truth reference agreement confidence std entropy average avg overall"
)
TOTAL_ROWS = _words("total totals sum average mean avg median std count")
PROMPTS = _words("prompt question source document instruction context query task input")
SOURCES = _words("source")  # a text, or where it is from
REPLIES = _words("answer response reply output completion")
TEXTS = (
    PROMPTS
    | REPLIES
    | _words(
        "text body content comment message sentence phrase passage article review summary story "
        "statement claim post tweet premise hypothesis conversation dialogue dialog utterance "
        "title headline"
    )
)
METADATA = _words(
    "language lang locale split category topic domain model system type gender age country "
    "region platform channel set batch phase genre license licence version subset partition status"
)
SYSTEMS = METADATA | _words(  # what gave the texts of an item, which is not a rater
    "variant version method approach condition setting config configuration arm temperature "
    "checkpoint run generator pipeline algorithm agent"
)
MARGINS = MEASURES | _words(
    "turn round year month day date timestamp created updated url link lang language "
    "split length len count n num words chars version batch order position page age gender "
    "country hash seed lead status"
)
REMARKS = _words("n/a na n.a. #n/a - -- ? . skip skipped missing unknown unclear undecided") | {
    "don't know", "dont know", "do not know", "i don't know", "idk", "dk", "not sure", "unsure",
    "cannot say", "can't say", "cannot tell", "can't tell", "cannot assess", "not applicable",
    "no answer", "prefer not to say", "no opinion",
    "keine angabe", "k.a.", "weiß nicht", "weiss nicht", "unsicher", "ne sait pas",
    "je ne sais pas", "sans avis", "no sé", "no sabe", "não sei", "sem resposta", "non so",
    "不确定", "不知道", "无法判断",
}  # fmt: skip
TIES = _words("tie tied draw both equal same neither bothbad")
YES = _words(
    "yes true positive pos good ok correct acceptable accept pass relevant consistent helpful safe "
    "agree present supported entailment"
)
NO = _words(
    "no false negative neg bad wrong incorrect unacceptable reject fail irrelevant inconsistent "
    "harmful unsafe disagree absent unsupported contradiction neutral"
)
COUNT_MARKS = _words("n num count counts cnt votes vote nb number")
TOTALS = _words("total sum all raters annotators annotations ratings votes workers judgments")
MONTHS = _words(
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december"
)
DATE_WORDS = MONTHS | _words(
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday "
    "sunday am pm utc gmt z est edt cst cdt mst mdt pst pdt cet cest bst ist at of st nd rd th t"
)

SIDES = (
    *({"a", "b"}, {"1", "2"}, {"left", "right"}, {"first", "second"}),
    {"chosen", "rejected"},
)
FIRST_CJK = "\u3040"  # from here on words have no spaces around them
_ACCENTS = frozenset(map(chr, range(0x300, 0x370)))
_BREAKS = re.compile(r"[\W_]+|(?<=[^\W_A-Z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")


@lru_cache(8192)
def parts(name: str) -> tuple[str, ...]:
    """Split a name into its words and numbers, in lower case.

    Examples
    --------
    >>> parts("annotatorID_2"), parts("gpt-4o-mini")
    (('annotator', 'id', '2'), ('gpt', '4o', 'mini'))
    """
    return tuple(plain(part) for part in _BREAKS.split(name) if part)


def plain(text: str) -> str:
    """Convert a text to lower case without accents.

    Examples
    --------
    >>> plain("Étiquette"), plain("avaliação")
    ('etiquette', 'avaliacao')
    """
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFD", text.casefold())
    return normalize("NFC", "".join(c for c in decomposed if c not in _ACCENTS))


def contains_word(name: str, words: frozenset[str]) -> bool:
    """Return whether a name, or one of its parts, is in ``words``."""
    name_parts = parts(name)
    return not words.isdisjoint(name_parts) or "".join(name_parts) in words


def are_sides(names: Sequence[str], *, tied: bool) -> bool:
    """Return whether labels are two sides, such as A and B, and a tie (required if ``tied``)."""
    sides = [name.casefold() for name in names if not contains_word(name, TIES)]
    if len(sides) != 2 or (tied and len(sides) == len(names)):  # noqa: PLR2004 -- sides come in twos
        return False
    first, second = sorted(sides)
    ends = (first[-1:], second[-1:]) in {("a", "b"), ("1", "2")} and first[:-1] == second[:-1]
    words = {("left", "right"), ("first", "second"), ("chosen", "rejected")}
    return (ends and (tied or len(first) > 1)) or (first, second) in words


def are_pair(name: str, other: str) -> bool:
    """Return whether names differ only in a word for a side, such as ``left`` and ``right``.

    Examples
    --------
    >>> are_pair("completion_a", "completion_b"), are_pair("left chat", "chat right")
    (True, False)
    """
    first, second = parts(name), parts(other)
    if len(first) != len(second):
        return False
    differing = [{a, b} for a, b in zip(first, second, strict=True) if a != b]
    return len(differing) == 1 and differing[0] in (*SIDES, {"0", "1"})


@lru_cache(8192)
def stem(name: str) -> str:
    """Return a name without its numbers, so that ``r05`` and ``r06`` have one stem."""
    return " ".join(part for part in parts(name) if not part.isdecimal())


def is_remark(label: str) -> bool:
    """Return whether a label could mean that the rater gave no answer."""
    text = label.casefold().replace("_", " ").replace("\u2019", "'")
    return text in REMARKS or text.startswith(("n/a", "#n/a"))

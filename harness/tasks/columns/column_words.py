"""Words in column names that suggest a role."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ITEMS = _words(
    "item itemid id ids case caseid example exampleid sample uid uuid unit unitid instance key "
    "qid idx index pair pairid commentid sentenceid textid docid"
)
ID_MARKS = _words("id ids uid uuid key idx index no nr number")
GROUPS = _words(
    "group document doc article thread conversation question prompt page source cluster "
    "paragraph story dialogue dialog topic"
)
CRITERIA = _words("criterion aspect dimension attribute metric trait")
RATERS = _words(
    "rater raters annotator annotators worker workers coder coders labeler labeller user "
    "participant evaluator assessor reviewer expert author human person turker crowdworker "
    "respondent student subject ann anno"
)
LATE_RATERS = _words("judge who name by judged rated")
LABELS = _words(
    "label labels rating ratings value answer score annotation choice judgment judgement verdict "
    "vote class category winner decision preference selected grade code response relation"
)
MODELS = _words(  # product names that are no given names
    "gpt gpt2 gpt3 gpt4 gpt5 chatgpt openai anthropic llama llama2 llama3 mistral mixtral qwen "
    "qwen2 deepseek gemini vicuna davinci smollm smollm2 roberta deberta llm llms vader textblob"
)
MODEL_FAMILIES = _words(  # with a version a model's name, without it perhaps a person's
    "claude sonnet opus haiku gemma bard palm phi cohere command grok falcon olmo bert o1 o3 o4 yi "
    "nova kimi glm"
)
MODEL_MARKS = MODEL_FAMILIES | _words(  # parts of the names that people give their own models
    "judge judges model models ai bot machine classifier auto automatic lexicon mini nano turbo "
    "instruct finetune finetuned ft lora sft dpo rlhf checkpoint ckpt baseline system prompt flash "
    "pro"
)
SUMMARIES = _words(
    "gold majority consensus final adjudicated aggregate aggregated mean median mode truth "
    "reference agreement confidence std entropy"
)
TEXTS = _words(
    "text body content comment message sentence prompt question answer response reply passage "
    "article document review summary story statement claim post tweet premise hypothesis "
    "conversation dialogue dialog output completion explanation utterance input title"
)
MARGINS = _words(
    "turn round year month day date time timestamp created updated url link lang language split "
    "length len count n num words chars version batch order position page age gender country "
    "hash seed duration seconds lead status worktime"
)
REMARKS = _words("n/a na n.a. #n/a - -- ? . skip skipped missing") | {
    "don't know", "dont know", "do not know", "i don't know", "idk", "dk", "not sure", "unsure",
    "cannot say", "can't say", "cannot tell", "can't tell", "cannot assess", "not applicable",
    "no answer", "prefer not to say", "unknown", "unclear", "undecided", "no opinion",
}  # fmt: skip
TIES = _words("tie tied draw both equal same neither bothbad")
YES = _words(
    "yes true positive pos good ok correct acceptable accept pass relevant consistent "
    "helpful safe agree present supported entailment"
)
NO = _words(
    "no false negative neg bad wrong incorrect unacceptable reject fail irrelevant inconsistent "
    "harmful unsafe disagree absent unsupported contradiction neutral"
)
COUNT_MARKS = _words("n num count counts cnt votes vote nb number")
TOTALS = _words("total sum all raters annotators annotations ratings votes workers judgments")

_BREAKS = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")


@lru_cache(8192)
def parts(name: str) -> tuple[str, ...]:
    """Split a name into its words and numbers, in lower case.

    Examples
    --------
    >>> parts("annotatorID_2"), parts("gpt-4o-mini")
    (('annotator', 'id', '2'), ('gpt', '4o', 'mini'))
    """
    return tuple(part.lower() for part in _BREAKS.split(name) if part)


def contains_word(name: str, words: frozenset[str]) -> bool:
    """Whether a part of the name, or the whole name, is in ``words``."""
    name_parts = parts(name)
    return not words.isdisjoint(name_parts) or "".join(name_parts) in words


def are_sides(names: Sequence[str], *, tied: bool) -> bool:
    """Whether labels are two sides that differ in their last letter, and ties between them."""
    sides = [name.casefold() for name in names if not contains_word(name, TIES)]
    if len(sides) != 2 or (tied and len(sides) == len(names)):  # noqa: PLR2004 -- two sides
        return False
    first, second = sorted(sides)
    ends = (first[-1:], second[-1:]) in {("a", "b"), ("1", "2")} and first[:-1] == second[:-1]
    return (ends and (tied or len(first) > 1)) or (first, second) == ("left", "right")


@lru_cache(8192)
def stem(name: str) -> str:
    """Return a name without its numbers, so that ``r05`` and ``r06`` have one stem."""
    return " ".join(part for part in parts(name) if not part.isdecimal())


def is_remark(label: str) -> bool:
    """Whether a label may say that there is no answer."""
    text = label.casefold().replace("_", " ").replace("\u2019", "'")
    return text in REMARKS or text.startswith(("n/a", "#n/a"))

"""Words in column names that suggest a role."""

from __future__ import annotations

import re


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
CRITERIA = _words("criterion aspect dimension attribute quality")
RATERS = _words(
    "rater raters annotator annotators worker workers coder coders labeler labeller user "
    "participant evaluator assessor reviewer expert author human person turker crowdworker "
    "respondent student subject ann anno coder"
)
LATE_RATERS = _words("judge who name by judged rated")
LABELS = _words(
    "label labels rating ratings value answer score annotation choice judgment judgement verdict "
    "vote class category winner decision preference selected grade code response relation"
)
JUDGES = _words(
    "gpt gpt4 gpt5 gpt3 chatgpt openai claude anthropic sonnet opus haiku gemini gemma bard palm "
    "llama llama2 llama3 mistral mixtral qwen deepseek phi cohere command grok davinci vicuna "
    "falcon olmo bert roberta llm llms judge judges model ai bot machine classifier auto "
    "automatic lexicon smollm smollm2 o1 o3 o4 yi nova kimi glm"
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
    "hash seed duration seconds"
)
REMARKS = _words("n/a na n.a. #n/a - -- ? . skip skipped missing")
TIES = _words("tie tied draw both equal same neither bothbad")
YES = _words(
    "yes true positive pos good ok correct acceptable accept pass relevant consistent "
    "helpful safe agree present supported entailment"
)

_BREAKS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])")


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


def stem(name: str) -> str:
    """Return a name without its numbers, so that ``r05`` and ``r06`` have one stem."""
    return " ".join(part for part in parts(name) if not part.isdecimal())

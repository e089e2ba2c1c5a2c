"""Rankings of compared texts. The first text is the answer to a forced choice.

"Ranking: B, A", ``"ranking": ["B", "A"]`` and a numbered list below "From best to worst:" all say
that B is best. A list of options without such a heading could be in any order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.judging.parsing.option_matching import TIES, OptionIndices, OptionNames, mention
from harness.judging.parsing.reply_segments import speaks_of_others

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGN = re.compile(r"rank|order|prefer", re.IGNORECASE)
RANKING = re.compile(
    r"^(?P<intro>[^\n:\[]{0,60}?\b(?:rank(?:ings?|ed|s|\s+order)?|order|order\s+of\s+preference|preference\s+order)\b"
    r"[^\n:\[]{0,60}?)[\"*]*[ \t]*(?:[:=]|[ \t]-)\**[ \t]*"
    r"(?:\[(?P<listed>[^\[\]\n]{3,300})\]|(?P<line>[^\n\[]{3,300})$"
    r"|\n\s*(?P<lines>(?:[ \t]*(?:\d+[.)]|[-*\u2022])[^\n]+(?:\n|\Z))+))",
    re.IGNORECASE | re.MULTILINE,
)
ENDS = re.compile(
    r"\bworst\b|\blast\b|\bdescending\b|\bascending\b|\bnot?\b|n['\u2019]t\b", re.IGNORECASE
)
BEST_FIRST = re.compile(r"\bbest\b.{0,12}\bworst\b|\bdescending\b", re.IGNORECASE)
ITEM = re.compile(r"\s*(?:,|;|\n|>+|(?<!\d)(?=\d[.)]\s)|\band\b|\bthen\b)\s*")
RANKED = re.compile(r"\b(?:rank\w*|order|preference)\b", re.IGNORECASE)
NUMBER = re.compile(r"^[ \t]*\(?(\d+)[.)]\s", re.MULTILINE)
PLACE = re.compile(
    r"\A[\s*\-\u2022]*(?:(?:\d+|1st|2nd|3rd|[4-9]th)\s*[.):]?\s+)?|\s+(?:is\s+)?(?:first|second|third|last|1st|2nd|3rd)\W*\Z",
    re.IGNORECASE,
)
REASONS = re.compile(r"\s*(?::|\s[-\u2013\u2014]|\(|,\s).*\Z", re.DOTALL)


def with_best_of_ranking(body: str, names: OptionNames) -> str:
    """Rewrite a complete ranking such as "Ranking: B > A" as "Answer: B".

    A ranking is complete if it names every option, except a tie, once.
    """
    if not names.rivals or not SIGN.search(body):
        return body
    return RANKING.sub(lambda match: _best_of(match, names), body)


def _best_of(ranking: re.Match[str], names: OptionNames) -> str:
    unchanged = ranking[0]
    if speaks_of_others(RANKED.sub("", ranking["intro"])):
        return unchanged
    if ENDS.search(ranking["intro"]) and not BEST_FIRST.search(ranking["intro"]):
        return unchanged
    text = ranking["listed"] or ranking["line"] or ranking["lines"]
    places = NUMBER.findall(text)
    if len(set(places)) < len(places):  # a tie
        return unchanged
    items = text.strip().split("\n") if ranking["lines"] else ITEM.split(text)
    best = _first_of_all([item for item in items if item.strip(" .")], names)
    if best is None:
        return unchanged
    key = next(key for key, i in names.keys.items() if i == best)
    if ranking["intro"].startswith('"') or ranking["intro"].lstrip(" {").startswith('"'):
        brace = "{" if "{" in ranking["intro"] else ""
        return f'{brace}"winner": "{key}"'
    return f"Answer: {key}\n"


def _first_of_all(items: Sequence[str], names: OptionNames) -> int | None:
    """Return the first of the ranked options, or None if some options are not ranked."""
    tie = names.loose.get(TIES[0], OptionIndices())
    ranked: list[int] = []
    for item in items:
        text = PLACE.sub("", item).strip(" \"'*.`")
        option = mention(text, names, keys_only=False) or mention(
            REASONS.sub("", text), names, keys_only=False
        )
        if len(option) != 1:
            return None
        ranked += option
    is_complete = {*ranked, *tie} == {*range(len(names.folded_keys))}
    return ranked[0] if is_complete and len(set(ranked)) == len(ranked) > 1 else None

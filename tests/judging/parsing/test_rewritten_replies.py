"""Calls of functions, rankings and numerals are read as the answers that they contain."""

from __future__ import annotations

import pytest
from support.option_sets import keyed, labelled

from harness.judging.parsing.grammar import parse
from harness.judging.parsing.tool_calls import with_arguments

PAIR = labelled(A="Assistant A", B="Assistant B", tie="Tie")
SCALE = keyed("1", "2", "3", "4", "5")


def choice(reply: str, options=PAIR) -> str | None:
    return parse(reply, "forced_choice", options, abstain=False)[0].value


@pytest.mark.parametrize("key", ["A", "B", "tie"])
@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>{{"name": "grade", "arguments": {{"winner": "{0}"}}}}</tool_call>',
        '[TOOL_CALLS] [{{"name": "grade", "arguments": {{"winner": "{0}"}}}}]',
        '[TOOL_CALLS]grade[ARGS]{{"winner": "{0}"}}',
        '<function=grade>{{"winner": "{0}"}}</function>',
        'tool_call: grade({{"winner": "{0}"}})',
        "I compared both.\n\nsubmit(winner='{0}', confidence=0.8)",
        'submit_verdict("{0}")',
        '<invoke name="grade">\n<parameter name="winner">{0}</parameter>\n</invoke>',
        '{{"function": {{"name": "grade", "arguments": "{{\\"winner\\": \\"{0}\\"}}"}}}}',
    ],
)
def test_a_call_of_a_function_is_read_by_its_arguments(call, key):
    assert choice(call.format(key)) == key


@pytest.mark.parametrize(
    "text",
    ['print("A")', 'compare(first="A", second="B")', "f(x)", "<tool_call></tool_call>"],
)
def test_other_text_in_brackets_is_no_answer_of_a_call(text):
    assert choice(text) is None


def test_a_reply_without_a_call_is_unchanged():
    text = "B (not A), because `f(x)` fails."
    assert with_arguments(text) is text


@pytest.mark.parametrize(("first", "second"), [("A", "B"), ("B", "A")])
@pytest.mark.parametrize(
    "ranking",
    [
        "Ranking: {0}, {1}",
        "Ranking from best to worst:\n1. Assistant {0}\n2. Assistant {1}",
        "I rank them as follows:\n\n1. Assistant {0} - more precise\n2. Assistant {1} - too long",
        'ranking: ["{0}", "{1}"]',
        '{{"ranking": ["{0}", "{1}"], "why": "{1} is vague"}}',
        "My ranking: {0} first, {1} second.",
    ],
)
def test_the_first_of_a_complete_ranking_is_chosen(ranking, first, second):
    assert choice(ranking.format(first, second)) == first


@pytest.mark.parametrize(
    "ranking",
    [
        "1. Assistant A\n2. Assistant B",
        "Ranking:\n1. Assistant A\n1. Assistant B",
        "Ranking from worst to best: A, B",
        "In no particular order: A, B",
        "The user asked for a ranking: A, B",
    ],
)
def test_other_lists_are_no_rankings(ranking):
    assert choice(ranking) is None


@pytest.mark.parametrize(
    ("reply", "key"),
    [
        ("I would rate it four out of five.", "4"),
        ("The score is three.", "3"),
        ("One out of five.", "1"),
        ("Four of the five claims are right.", None),
        ("It names three causes.", None),
        ("One of the claims is wrong.", None),
    ],
)
def test_numerals_are_numbers_where_a_score_is_stated(reply, key):
    assert choice(reply, SCALE) == key

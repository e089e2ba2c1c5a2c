"""Replies on a text scale: the text as it is, or why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.parsing.grammar import OUTCOMES, Parsed
from harness.judging.parsing.open_answers import parse_text
from harness.tasks.schema import MAX_ANSWER_CHARS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" a red house\n", "a red house"),
        ('"a red house"', "a red house"),
        ('"a" and "b"', '"a" and "b"'),
        ("<think>a ship?</think>a red house", "a red house"),
        ('{"verdict": "a red house"}', "a red house"),
        ("{a set}", "{a set}"),
        ("Answer: 42", "Answer: 42"),
    ],
)
def test_a_text_is_kept_as_it_is(text, value):
    """Spaces, quotation marks and thinking around it are no part of it; words are."""
    assert parse_text(text, abstain=True) == Parsed("answered", value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Parsed("invalid", reason="empty")),
        ("a" * (MAX_ANSWER_CHARS + 1), Parsed("invalid", reason="too_long")),
        ("cannot_assess", Parsed("abstained")),
        ("I'm sorry, but I can't help with that.", Parsed("refused", reason="refusal")),
        ("<think>a house", Parsed("invalid", reason="unreadable")),
    ],
)
def test_what_is_no_answer_is_kept_apart(text, expected):
    """Abstentions and refusals are outcomes of their own."""
    assert parse_text(text, abstain=True) == expected


@given(st.text(max_size=60))
def test_any_text_has_an_outcome(text):
    """An answer is a part of the reply, without spaces around it."""
    parsed = parse_text(text, abstain=False)
    assert parsed.outcome in OUTCOMES
    if parsed.outcome == "answered" and not text.lstrip().startswith("{"):
        assert parsed.value in text
        assert parsed.value == parsed.value.strip()

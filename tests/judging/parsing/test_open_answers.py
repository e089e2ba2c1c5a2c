"""Replies on a text scale: the text as it is, or why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.parsing.grammar import OUTCOMES, REASONS, Parsed
from harness.judging.parsing.open_answers import parse_number, parse_text
from harness.tasks.schema import MAX_ANSWER_CHARS, as_number, number_text


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
        ("<think>a house", Parsed("invalid", reason="cut_off")),
    ],
)
def test_abstentions_and_refusals_have_their_own_outcomes(text, expected):
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


PERCENT = (0.0, 100.0)


def parsed(text, bounds=PERCENT, *, abstain=True):
    return parse_number(text, bounds, abstain=abstain)[0]


@pytest.mark.parametrize(
    "text",
    [
        *("72.5", " 72.5\n", "72.50", "+72.5", "**72.5**", "72.5.", "72.5/100", "72.5 / 100"),
        *("Score: 72.5", "Answer: **72.5**", "The answer is 72.5.", "My final rating: 72.5/100"),
        *('{"score": 72.5}', '{"rating": "72.5", "reason": "clear"}', "```\n72.5\n```"),
        "<think>10 or 20</think>72.5",
    ],
)
def test_a_number_is_read(text):
    """Decoration, a lead-in and JSON may stand around it."""
    assert parsed(text) == Parsed("answered", "72.5")


@pytest.mark.parametrize(
    "text",
    [
        *("72,5", "7e1", "0x48", "70-75", "70 or 75", "about 72", "1 000"),
        *("- 72", "\u2013 72", "Score: 72 Score: 80", "72\n80", "72/10", "72/", "/100", "\u0667"),
        *('{"score": 72, "rating": 80}', '{"score": [72]}', '{"scores": {"a": 72}}', "nan", "inf"),
        '{"score": 72',
    ],
)
def test_ambiguous_numbers_are_rejected(text):
    """Percentages, ranges, decimal commas, powers of ten and sentences are not numbers here."""
    assert parsed(text).outcome == "invalid"
    assert parsed(text).reason in REASONS


@pytest.mark.parametrize(
    "text",
    [
        *("The score is 72.5, because two of 3 claims hold.", "I would give this a score of 72.5."),
        *("The argument is thin.\n\n72.5", "Fair overall.\n\nScore: 72.5/100", "La note est 72.5."),
    ],
)
def test_a_number_is_read_in_prose(text):
    """A marker directly before it, or a last line of its own, states a number."""
    assert parsed(text) == Parsed("answered", "72.5")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "9 of the 12 claims hold.",
            "The score is not 72.",
            "The score is 72 or 75.",
            "It is 72.",
        ),
        *("The score is at least 72.", "The score is 72, 80 for style.", "I'd say 60 to 70."),
    ],
)
def test_a_count_is_not_a_score(text):
    """Numbers in prose that no marker precedes, or that a doubt does, are not read."""
    assert parsed(text).outcome == "invalid"


@pytest.mark.parametrize(("text", "bounds"), [("100.1", PERCENT), ("-1", PERCENT), ("9", (1, 7))])
def test_a_number_outside_the_bounds_is_invalid(text, bounds):
    """It is not moved to the nearest bound."""
    assert parsed(text, bounds) == Parsed("invalid", reason="out_of_bounds")


def test_a_share_of_the_upper_bound_needs_a_scale_from_zero():
    """5/7 on a scale from 1 to 7 may be a fraction."""
    assert parsed("5/7", (0.0, 7.0)).value == "5"
    assert parsed("5/7", (1.0, 7.0)).outcome == parsed("5/7", None).outcome == "invalid"


def test_a_minus_is_read_on_scales_that_have_one():
    """The minus sign of typography counts too."""
    assert parsed("\u22123", (-5.0, 5.0)).value == parsed("-3.0", None).value == "-3"


@pytest.mark.parametrize(
    ("text", "abstain", "expected"),
    [
        ("CANNOT_ASSESS", True, Parsed("abstained")),
        ("Answer: cannot_assess", True, Parsed("abstained")),
        ("CANNOT_ASSESS", False, Parsed("invalid", reason="abstention_not_offered")),
        ("I'm sorry, but I can't rate this.", True, Parsed("refused", reason="refusal")),
        ("", True, Parsed("invalid", reason="empty")),
        ("<think>72", True, Parsed("invalid", reason="cut_off")),
    ],
)
def test_other_outcomes_are_kept_apart(text, abstain, expected):
    """Abstentions and refusals are no unreadable replies."""
    assert parsed(text, abstain=abstain) == expected


def test_a_lead_in_is_quotable():
    """An item that says "Score: 90" may have been repeated."""
    assert parse_number("Score: 90", PERCENT, abstain=False)[1] == "Score: 90"
    assert parse_number("90", PERCENT, abstain=False)[1] == ""


@given(
    st.integers(-(10**9), 10**9).map(lambda n: n / 1000),
    st.sampled_from(["{}", "Score: {}", " **{}** ", '{{"score": {}}}']),
)
def test_every_number_is_read_as_itself(number, frame):
    """Writing and reading a number changes no digit of it."""
    text = number_text(number)
    assert as_number(text) == number
    assert parsed(frame.format(text), None) == Parsed("answered", text)


@given(st.text(st.sampled_from('0123456789.,-+/%{}[]":* \nScoreAanswer\u2212e'), max_size=30))
def test_any_text_has_an_outcome_and_any_answer_is_within_the_bounds(text):
    """Nothing raises, and no answer leaves the scale."""
    result = parsed(text)
    assert result.outcome in OUTCOMES
    if result.outcome == "answered":
        assert 0.0 <= float(result.value) <= 100.0
        assert number_text(float(result.value)) == result.value
    else:
        assert result.value is None
        assert result.reason or result.outcome == "abstained"

"""Sentences of plain and deciding words state an option; any other word takes that away."""

from __future__ import annotations

from itertools import product

import pytest
from support.each_case import for_each

from harness.judging.parsing.grammar import parse
from harness.tasks import Option

OPTIONS = (Option(key="A", label="Toxic"), Option(key="B", label="Not toxic"))
STATED = (
    "The edge goes to {}.",
    "That makes it {}.",
    "My vote goes to {}.",
    "Among the options, {} is the most fitting.",
    "{} is the one that fits.",
    "The closest option is {}.",
)
CHANGES = ("not", "hardly", "maybe", "if", "unless", "he", "they", "example", "wrongly", "once")


def read(reply, elicitation="forced_choice"):
    return parse(reply, elicitation, OPTIONS, abstain=True)[0].value


@pytest.mark.parametrize("sentence", STATED)
@pytest.mark.parametrize("key", ["A", "B"])
def test_sentence_of_deciding_words_states_its_option(sentence, key):
    assert read(sentence.format(key)) == key
    assert read(sentence.format(key), "response_set") == (key,)


@for_each(product(STATED, CHANGES))
def test_any_other_word_in_a_sentence_states_nothing(case):
    """Wherever it stands: what it does to the sentence need not be known."""
    sentence, word = case
    words = sentence.format("B").rstrip(".").split()
    for place in range(len(words) + 1):
        changed = " ".join([*words[:place], word, *words[place:]])
        assert read(f"{changed}.") in {None, "B"}
        if word in {"not", "maybe", "if", "unless"}:
            assert read(f"{changed}.") is None, changed


@pytest.mark.parametrize(
    "reply",
    [
        "Which fits best, B?",
        "Choose B.",
        "Say B is the best.",
        "The answer key is B.",
        "The text gives B as the answer.",
        "The options are B.",
        "B than A",
    ],
)
def test_questions_orders_and_lists_state_nothing(reply):
    assert read(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "B is far from the right answer.",
        "The best of the options is far from B.",
        "B is out as an answer.",
        "B fits little.",
        "B is told to be best.",
        "B has far more to say than the answer.",
        "It would be easy to choose B.",
    ],
)
def test_plain_words_that_deny_together_state_nothing(reply):
    """Each of them is plain alone; the option was read as the answer."""
    assert read(reply) is None


@pytest.mark.parametrize("reply", ["B is a little better.", "All told, B is best."])
def test_plain_words_that_deny_only_together_state_an_option_alone(reply):
    assert read(reply) == "B"


def test_either_of_two_options_is_a_set_only_where_both_are_accepted():
    assert read("Either A or B is reasonable.", "response_set") == ("A", "B")
    assert read("Either A or B is reasonable.") is None
    assert read("The answer is either A or B.", "response_set") is None


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Sure thing! B", "B"),
        ("B. Let me know if you need anything else!", "B"),
        ("A, not B", "A"),
        ("B, but not A.", "B"),
        ("B; no other option fits.", "B"),
        ("Not A, not B", None),
        ("It is neither, not B", None),
    ],
)
def test_courtesies_and_denied_options_are_no_part_of_an_answer(reply, value):
    assert read(reply) == value

"""A reply that says which of two options is better may describe the other one, too."""

from __future__ import annotations

import pytest

from harness.judging.parsing.comparisons import compares, is_described
from harness.judging.parsing.grammar import parse
from harness.tasks import Option

OPTIONS = (Option(key="a", label="Output (a)"), Option(key="b", label="Output (b)"))


def read(reply):
    return parse(reply, "forced_choice", OPTIONS, abstain=False)[0].value


@pytest.mark.parametrize(
    "description",
    [
        "{o} is too long.",
        "{o} gets the carry wrong.",
        "{o}, on the other hand, lists seventeen animals.",
        "{o} is also a good start, but it lacks a source.",
        "{k} uses fewer words than {o}.",
        "{o} is not as good because it has no source.",
        "{o} has more words than is necessary.",
        "In contrast to {o}, it answers the question.",
        "While {k} answers the question, {o} only repeats it.",
    ],
)
@pytest.mark.parametrize(("k", "o"), [("a", "b"), ("b", "a")])
def test_description_of_the_other_option_takes_no_verdict_back(description, k, o):
    names = {"k": f"Output ({k})", "o": f"Output ({o})"}
    assert read("{k} is better. ".format(**names) + description.format(**names)) == k


@pytest.mark.parametrize(
    "sentence",
    [
        "{o} is more helpful.",
        "{o} wins overall.",
        "{o} follows the instruction more closely.",
        "So is {o}.",
        "{o} is just as good.",
        "{k} is worse than {o} in most respects.",
        "I prefer {o}, though.",
        "{o} if you want it short.",
        "Actually, {o} is longer.",
        "{o} is better, too.",
        "{o} is not only better but shorter.",
        "{o} is good, too.",
        "Overall, {o} is my pick.",
        "{o} would be the better choice for children.",
        "{k} is not better than {o} in any other respect.",
        "{o} should be chosen if length matters.",
        "I take that back.",
    ],
)
@pytest.mark.parametrize(("k", "o"), [("a", "b"), ("b", "a")])
def test_sentence_that_favours_the_other_option_takes_the_verdict_back(sentence, k, o):
    names = {"k": f"Output ({k})", "o": f"Output ({o})"}
    assert read("{k} is better. ".format(**names) + sentence.format(**names)) is None


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Output (a) is more detailed, but off topic. Therefore, Output (b) is better.", "b"),
        ("Output (b) is better. Output (a) is more detailed, but off topic.", "b"),
        ("Output (a) is better. Output (a) is more faithful to the tone that users know.", "a"),
        ("Output (a) is better. Output (b) is better.", None),
        ("Output (a) is better if it rains. Output (b) is better if it snows.", None),
        ("Output (a) is more helpful. Output (b) is more helpful, too.", None),
    ],
)
def test_merits_of_the_other_option_yield_to_the_better_one(reply, value):
    assert read(reply) == value


def test_only_words_of_preference_compare():
    assert compares("Output (a) is better")
    assert not compares("The answer is a")


def test_option_after_than_is_described_unless_it_comes_out_ahead():
    assert is_described(" is shorter than ", ", and it has a source.")
    assert not is_described(" is weaker than ", ", and it has a source.")
    assert not is_described(" is shorter than ", ", which is the better one.")

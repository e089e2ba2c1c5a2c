"""Generated traps: what only looks like a verdict is not read as one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.option_sets import OPTIONS
from support.reply_traps import TASKS, TRANSLATED, traps

from harness.judging.parsing.grammar import MAX_REPLY, OUTCOMES, REASONS, parse

SEED = 27
ALL = {**OPTIONS, **TASKS, **TRANSLATED}


@pytest.mark.slow
def test_no_trap_of_10000_is_misread():
    """Nothing is read but the judge's own verdict, where it states one; of those most are read."""
    misread, n_own, n_read = [], 0, 0
    for trap in traps(SEED, 10_000):
        chosen = parse(trap.reply, "forced_choice", trap.options, abstain=True)[0]
        if chosen.value not in {None, trap.own} or chosen.outcome == "abstained":
            misread.append((trap.reply, chosen))
        n_own += trap.own is not None
        n_read += chosen.value is not None
        if not trap.names_two:
            endorsed = parse(trap.reply, "response_set", trap.options, abstain=True)[0]
            if endorsed.value is not None or endorsed.outcome == "abstained":
                misread.append((trap.reply, endorsed))
    assert misread == []
    assert n_read > 0.8 * n_own, "a reader that reads nothing would pass"


@pytest.mark.slow
def test_the_time_of_a_trap_is_linear_in_its_length():
    """Repeated to the longest reply that is read, no trap takes long."""
    for trap in traps(SEED, 60):
        text = (trap.reply + " ") * (MAX_REPLY // (len(trap.reply) + 1))
        start = time.process_time()
        parse(text, "forced_choice", trap.options, abstain=True)
        assert time.process_time() - start < 2


WORDS = [
    *("the answer is", "my choice:", "it is", "not", "toxic", "Toxic", "A", "B", "5", "4", "yes"),
    *("if", "maybe", "because", ", so", ".", "?", "\n", "\n\n", ":", ",", "-", '"', "'", "**", ">"),
    *(
        "\u201c",
        "\u201d",
        "(",
        ")",
        "or",
        "and",
        "Answer:",
        "wait",
        "La r\xe9ponse est",
        "n'est pas",
    ),
    *(
        "\u7b54\u6848\u662f",
        "\u7b54\u3048\u306f",
        "\u3067\u3059",
        "\u3002",
        "not toxic",
        "some say",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "```",
        "</think>",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "$",
        "isn't",
        "CANNOT_ASSESS",
    ),
]
REPLIES = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=80)


@given(REPLIES, st.sampled_from(sorted(ALL)), st.sampled_from(["forced_choice", "response_set"]))
def test_any_prose_has_an_outcome_and_a_known_reason(text, name, elicitation):
    """Nothing raises; an answer is an option of the task, and the lack of one has a reason."""
    for complete in (True, False):
        parsed, quotable = parse(text, elicitation, ALL[name], abstain=True, complete=complete)
        assert parsed.outcome in OUTCOMES[:4]
        assert (parsed.value is None) == (parsed.outcome != "answered")
        assert parsed.reason in {*REASONS, ""}
        assert (parsed.reason == "") == (parsed.outcome in {"answered", "abstained"})
        assert isinstance(quotable, str)
        if parsed.value is not None:
            keys = {option.key for option in ALL[name]}
            assert {parsed.value} <= keys or set(parsed.value) <= keys


@given(st.sampled_from(sorted(ALL)), st.data())
def test_a_second_verdict_makes_prose_unreadable(name, data):
    """Whatever states an option, a statement of another one before or after it leaves none."""
    first, second = data.draw(st.permutations(ALL[name]))[:2]
    frames = ["The answer is {}.", "Answer: {}", "My choice is {}.", "Therefore, I choose {}."]
    texts = [data.draw(st.sampled_from(frames)).format(option.key) for option in (first, second)]
    joint = data.draw(st.sampled_from([" ", "\n", "\n\n"]))
    assert parse(joint.join(texts), "forced_choice", ALL[name], abstain=True)[0].value is None


@given(st.sampled_from(sorted(ALL)), st.data())
def test_a_statement_is_read_as_the_option_that_stands_in_it(name, data):
    """A marker directly followed by a key is that option, whatever the key."""
    option = data.draw(st.sampled_from(ALL[name]))
    frame = data.draw(st.sampled_from(["The answer is {}.", "So my answer is: {}", "I choose {}."]))
    text = f"It was hard to decide.\n\n{frame.format(option.key)}"
    parsed, _ = parse(text, "forced_choice", ALL[name], abstain=True)
    assert parsed.value == option.key

"""Laws of the reader: decoration changes nothing, and options that swap names swap readings."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.option_sets import OPTIONS, keyed, labelled

from harness.judging.parsing.grammar import Parsed, parse

DECORATIONS = [
    *("@", "**@**", "*@*", "`@`", '"@"', "\u201c@\u201d", "(@)", "[@]", "[[@]]"),
    *(
        "@.",
        " @ ",
        "- @",
        "### @",
        "\\boxed{@}",
        "$\\boxed{@}$",
        "\\boxed{\\text{@}}",
    ),
    *("<answer>@</answer>", "<verdict>\n@\n</verdict>", "```\n@\n```", "\u2705 @", "\u2192 @"),
    "@\n---",
    *("Answer: @", "**Final answer:** @", "Last line: @", "Verdict:\n\n@", "Winner: @"),
    *('{"verdict": "@"}', '{"reason": "plain", "answer": "@"}', '["@"]', "@\n\n@"),
]
AROUND = [
    *("@", "**@**", " @\n", "- @", "@<|im_end|>", "<think>Hm.</think>\n@", "<s>@</s>"),
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>@",
]
CASES = [
    (name, option, text)
    for name, options in OPTIONS.items()
    if name != "signed"  # "- 1" may be -1
    for option in options
    for text in {option.key, option.label or option.key}
]


def is_plain(name: str, text: str) -> bool:
    """Whether a name has no characters that frames use, and means one option."""
    return all(c.isalnum() or c == " " for c in text) and text != "Toxic and rude"


def test_a_key_or_label_in_any_decoration_is_its_option():
    """5,000 replies that are nothing but a key or a label, for every option alike."""
    wrong, n = [], 0
    for (name, option, text), inner, outer in product(CASES, DECORATIONS, AROUND):
        if not is_plain(name, text):
            continue
        n += 1
        reply = outer.replace("@", inner.replace("@", text))
        chosen = parse(reply, "forced_choice", OPTIONS[name], abstain=True)[0]
        endorsed = parse(reply, "response_set", OPTIONS[name], abstain=True)[0]
        if (chosen.value, endorsed.value) != (option.key, (option.key,)):
            wrong.append((name, reply, chosen, endorsed))
    assert wrong == []
    assert n >= 5000


MIRRORED = {
    "letters": labelled(B="Response B", C="Response C"),
    "words": keyed("alpha", "gamma"),
    "numbers": keyed("2", "3"),
    "labels": labelled(X="Northern", Y="Southern"),
}
FRAGMENTS = [
    *("{k}", "{o}", "{l}", "{p}", "The answer is", "Answer:", "Therefore,", "It is", "I choose"),
    *(
        "is better",
        "fits best",
        "is reasonable",
        "are reasonable",
        "than",
        "and",
        "or",
        "not",
        "but",
    ),
    *(",", ".", ":", "\n", "\n\n", "(", ")", "**", '"', "- ", "1. ", "?", "because", "if", "maybe"),
    *("the tone decides it", "Both", "Only", "[[", "]]", "<answer>", "</answer>", "```", "/5"),
    *("some say", "wait", "nobody would say", "Reason:", "{", "}", '{"verdict": "{k}"}', "---"),
    *(
        "\u7b54\u6848\uff1a",
        "\ub2f5:",
        "La r\u00e9ponse est",
        "Die Antwort ist",
        "<think>",
        "</think>",
    ),
]


def read(template: str, name: str, kind: str, *, swapped: bool) -> object:
    """Return the reading of a reply, by the order of the options."""
    first, second = MIRRORED[name]
    one, other = (second, first) if swapped else (first, second)
    slots = {
        "{k}": one.key,
        "{o}": other.key,
        "{l}": one.label or one.key,
        "{p}": other.label or other.key,
    }
    for slot, value in slots.items():
        template = template.replace(slot, value)
    parsed: Parsed = parse(template, kind, MIRRORED[name], abstain=True)[0]
    keys = [one.key, other.key]
    value = parsed.value
    places = [keys.index(key) for key in ([value] if isinstance(value, str) else value or ())]
    return parsed.outcome, sorted(places)


@pytest.mark.slow
@settings(max_examples=5000)
@given(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14).map(" ".join),
    st.sampled_from(sorted(MIRRORED)),
    st.sampled_from(["forced_choice", "response_set"]),
)
def test_options_that_swap_names_swap_readings(template, name, kind):
    """Whatever a reply says, it's read for one option as for the other."""
    assert read(template, name, kind, swapped=False) == read(template, name, kind, swapped=True)

"""The grammar of replies: what people and models mean is read, and nothing is guessed."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.each_case import fast_first
from support.option_sets import OPTIONS, WAX

from harness.judging.parsing.grammar import MAX_REPLY, OUTCOMES, REASONS, Parsed, parse, render
from harness.tasks import CANNOT_ASSESS, Option

BINARY = OPTIONS["binary"]


def choice(text: str, options: str = "binary", **more) -> Parsed:
    return parse(text, "forced_choice", OPTIONS[options], **{"abstain": True} | more)[0]


def endorsed(text: str, options: str = "binary", **more) -> Parsed:
    return parse(text, "response_set", OPTIONS[options], **{"abstain": True} | more)[0]


def invalid(reason: str = "unreadable") -> Parsed:
    return Parsed("invalid", reason=reason)


def is_invalid(parsed: Parsed) -> bool:
    """Whether a reply was not read; why is tested where it matters."""
    return parsed.outcome == "invalid" and parsed.value is None and parsed.reason in REASONS


BARE = ["B", "b", " B ", "B\n", "B.", "B)", "B:", "(B).", "- B", "* B", "\u2022 B", "B\u3002"]
MARKED = ["**B**", "*B*", "__B__", "`B`", '"B"', "'B'", "\u201cB\u201d", "**B.**", "\\boxed{B}"]
BRACKETED = ["(B)", "[B]", "[[B]]", "{B}", "```\nB\n```"]
LED = ["Answer: B", "answer: b", "Final answer: **B**", "**Final answer:** B", "**Answer: B**"]
LED += ["**Answer**: B", "The answer is B.", "My final verdict is: B", "Option B", "Rating = B"]
LED += ["Answer: option B", "Final answer: the answer is B"]
LED += ["### Answer\n\nB", "Answer:\n- B", "Label: Not toxic", "The answer is B) Not toxic."]
LABELLED = ["Not toxic", "not toxic", "NOT  TOXIC.", '"Not toxic"', "B: Not toxic", "b) not toxic"]
LABELLED += ["B - Not toxic", "B = Not toxic", "(B) Not toxic", "**B** - Not toxic", "B\nNot toxic"]
LABELLED += ["**B: Not toxic**", "B (Not toxic)", "Not toxic (B)", "B Not toxic"]
LABELLED += ["B: Not toxic - nobody is insulted by it", "Not toxic - nobody is insulted by it"]
JSON = ['{"verdict": "B"}', '{"answer": ["B"]}', '["B"]', '```json\n{"verdict": "B"}\n```']
JSON += ['{"reason": "mild words", "verdict": "B"}', '{"verdict": "b) Not toxic"}']
JSON += ['{"answer": "B", "confidence": 0.85}', '{"confidence": 85, "answer": "B"}']
REPEATED = ["B\nB", "B, B", "B: Not toxic\n\nB", '{"verdict": ["B", "B"]}']
THOUGHT = ["<think>A or B? Mild.</think>\n\nB", "<think></think>Answer: B"]


@pytest.mark.parametrize(
    "text", BARE + MARKED + BRACKETED + LED + LABELLED + JSON + REPEATED + THOUGHT
)
def test_every_spelling_of_an_option_is_read(text):
    """However people and models write option B alone, it is B, and the set of B."""
    assert choice(text) == Parsed("answered", "B")
    assert endorsed(text) == Parsed("answered", ("B",))


@pytest.mark.parametrize(
    "text",
    [
        *("A, B", "A,B", "B, A", "{A,B}", "{A, B}.", "A and B", "A AND B", "A & B", "A+B", "A; B"),
        *("A/B", "AB", "AB\n", "A B", "[A, B]", "(A) and (B)", "**A**, **B**", "**A, B**", "a, b"),
        *("A\nB", "- A\n- B", "* **A**\n* **B**", "Answer: A, B", "Options: A and B", "A, and B"),
        *(
            "Toxic, Not toxic",
            "toxic and not toxic",
            "- Toxic\n- Not toxic",
            "A: Toxic, B: Not toxic",
        ),
        "A: Toxic - rude, hurtful or insulting\nB: Not toxic - nobody is insulted by it",
        *('["A", "B"]', '{"verdict": ["A", "B"]}', '{"set": "A, B"}', "{'A', 'B'}", '{"A", "B"}'),
        *("The answer is A and B.", "A, B, A", "<think>hm</think>A, B"),
    ],
)
def test_every_spelling_of_a_set_is_read(text):
    """However people and models write both options, it is the set of both, in order."""
    assert endorsed(text) == Parsed("answered", ("A", "B"))


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("c) Not tox", "three", "C"),
        ("C: N", "three", "C"),
        ("**c) Not tox", "three", "C"),
        ("Answer: c) Not tox", "three", "C"),
        ("B: Not toxic - nobody is ins", "binary", "B"),
        ("Not toxic - nobody is", "binary", "B"),
        ("B. Tox", "nested", "B"),
        ("A: Toxic - rude, hurt", "binary", "A"),
    ],
)
def test_a_label_that_breaks_off_after_its_key_is_read(text, options, value):
    """The key says which option; what there is of the label must be the beginning of its own."""
    assert choice(text, options) == Parsed("answered", value)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("c) Not tox.", "three"),  # ended, so not cut off
        ("**c) Not tox**", "three"),
        ("c) tox", "three"),  # not where the label begins
        ("c Not tox", "three"),  # nothing between key and label
        ("Not tox", "three"),  # no key
        ("B: Toxic", "nested"),  # all of another option's label
        ("A: As an AI", "swapped"),
        ("A. I'm not sure", "binary"),
        ("Members-of-the-same-Cat", "wax"),
    ],
)
def test_an_abbreviated_label_is_not_one_that_breaks_off(text, options):
    """A label is completed only where what is missing is its end and nothing else fits."""
    assert choice(text, options).outcome == "invalid"


def test_a_set_that_breaks_off_is_not_completed():
    """A set whose last label breaks off may have gone on."""
    assert is_invalid(endorsed("c) Not tox", "three"))
    assert is_invalid(endorsed("A: Toxic, C: Not to", "three"))
    assert is_invalid(endorsed("A,", "three"))


# -- every Parsing line of the pitfalls ---------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["As an AI I cannot", "Because", "A comment", "Be kind", "A difficult case", "Bad"]
)
def test_first_character_does_not_decide(text):
    """A reply that begins with an option's letter is not that option."""
    assert choice(text).value is None
    assert endorsed(text).value is None


def test_answer_prefix_is_not_option_a():
    """ "Answer: B" is B, not the A it begins with."""
    assert choice("Answer: B") == Parsed("answered", "B")
    assert is_invalid(choice("Answer:"))


def test_refusal_is_an_outcome_of_its_own():
    """ "As an AI I cannot" is refused, neither A nor unreadable."""
    assert choice("As an AI I cannot") == Parsed("refused", reason="refusal")


def test_cannot_assess_is_not_option_c():
    """CANNOT_ASSESS is an abstention, not the option whose letter it begins with."""
    assert choice("CANNOT_ASSESS", "three") == Parsed("abstained")


@pytest.mark.parametrize("text", ["A, B", "{A,B}", "AB\n", "A and B", "{A, B}"])
def test_plain_sets_are_not_invalid(text):
    """Sets written in any usual way are sets."""
    assert endorsed(text) == Parsed("answered", ("A", "B"))


def test_bold_letter_is_not_invalid():
    """ "**B**" is B."""
    assert choice("**B**") == Parsed("answered", "B")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("It is not polite", "polite"),
        ("It is not rude, really.", "polite"),
        ("not acceptable", "quality"),
        ("It is not acceptable.", "quality"),
        ("Not Acceptable.", "quality"),
        ("no, yes would be wrong", "yes_no"),
    ],
)
def test_negated_label_is_not_the_label(text, options):
    """A sentence that denies a label, or only holds it, states no option."""
    assert is_invalid(choice(text, options))


def test_not_toxic_is_a_label_where_the_task_has_it():
    """ "It is not toxic" states the option of that label, and never the option "Toxic"."""
    assert choice("It is not toxic") == Parsed("answered", "B")
    assert choice("It is not toxic.", "three") == Parsed("answered", "C")
    assert choice("It isn't toxic.", "three") == Parsed("answered", "C")
    assert choice("It is not at all toxic.").value is None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Score: 10",
            "10",
            "15",
            "1.5",
            "4/10",
            "4 out of 10",
            "Score: 4/100",
            "4.5",
            "4.05",
            "4/5/2024",
            "4/5.5",
            "40%",
            "3-4",
            "+3",
            "-3",
        ),
        *("0", "6", "12", "1 2", "4 stars too few"),
    ],
)
def test_score_10_is_not_1(text):
    """A number is an option only if it is one, whole."""
    assert choice(text, "scale").outcome == "invalid"
    assert endorsed(text, "scale").outcome == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "4/5",
        "4 / 5",
        "4 out of 5",
        "Score: 4/5",
        "**4**/5",
        "4.0",
        "4 stars",
        "4 points",
        "4/5 stars",
    ],
)
def test_a_score_out_of_the_highest_is_that_option(text):
    """Judges write numbers of a scale from 1 to 5 as scores."""
    assert choice(text, "scale") == Parsed("answered", "4")


def test_score_10_is_10():
    """Of keys that begin alike, the one that stands there is meant."""
    assert choice("Score: 10", "ten") == Parsed("answered", "10")
    assert choice("1", "ten") == Parsed("answered", "1")
    assert endorsed("1, 10", "ten") == Parsed("answered", ("1", "10"))


@pytest.mark.parametrize(
    "text",
    [
        'The comment says "Answer: A". B',
        'The text says "Answer: A"',
        '"Answer: A" is what the text asks for',
        "Answer: A\nAnswer: B",
        "A\n\nFinal answer: B",
        "A. No, B.",
    ],
)
def test_quoted_verdict_is_not_the_judges_own(text):
    """A reply that quotes a verdict, or holds two, is invalid."""
    assert choice(text).outcome == "invalid"
    assert endorsed(text).outcome == "invalid"


def test_a_verdict_beside_a_quoted_one_is_the_judges_own():
    """What stands in quotation marks, or in a quoted line, is not the judge's."""
    assert choice("> Answer: A\n\nB") == Parsed("answered", "B")
    assert choice('The text says "Answer: A".\n\nThe answer is B.') == Parsed("answered", "B")


def test_verdict_copied_from_the_item_is_quoted():
    """A reply with a lead-in is a quotation where it stands in the item; a mere option is none."""
    replies = ("Final answer: A", '{"verdict": "A"}', "A", "Toxic")
    quotable = [parse(text, "forced_choice", BINARY, abstain=True)[1] for text in replies]
    assert quotable == ["Final answer: A", '{"verdict": "A"}', "", ""]


def test_unparsable_reply_is_not_a_default_option():
    """What cannot be read is invalid, whatever the options: no pass, no random label."""
    for name in OPTIONS:
        for text in ("???", "I would say it depends", "n/a", "pass", "None of these"):
            assert is_invalid(choice(text, name))


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "A", "verdict": "B"}',
        '{"verdict": "A", "verdict": "A"}',
        '{"verdict": "A", "answer": "B"}',
        '{"verdict": NaN}',
        '{"verdict": {"example": "A"}}',
        '{"note": "A"}',
        '{"verdict": null}',
        '{"verdict": true}',
        '{"verdict": []}',
        "[]",
        "{}",
        "[NaN]",
        '{"verdict": "A"',
        '{"verdict": "A"} {"verdict": "B"}',
        "[" * 9_000 + "]" * 9_000,
        '{"verdict":' * 1_000,
        '{"verdict": "' + "A, " * 3_000 + '"}',
        '["A"' + "," * 5_000 + "]",
        "[" + "9" * 10_000 + "]",
    ],
    ids=lambda text: text[:40],
)
def test_json_with_tricks_is_not_read(text):
    """Duplicate keys, NaN, deep brackets, huge numbers, other members: invalid, and quickly."""
    assert choice(text).outcome == "invalid"
    assert endorsed(text).outcome == "invalid"


# -- refusing to guess --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["A, B", "AB", "A/B", "A and B", "A\nB", '["A", "B"]', "Toxic, B"])
def test_two_verdicts_are_no_forced_choice(text):
    """Two options where one was asked for are ``several``."""
    assert choice(text) == invalid("several")


@pytest.mark.parametrize("text", ["B: Toxic", "A) Not toxic", "A - not toxic"])
def test_key_and_label_that_differ_are_in_conflict(text):
    """A key with another option's label says neither."""
    assert choice(text) == invalid("conflict")
    assert endorsed(text) == invalid("conflict")


@pytest.mark.parametrize(
    "text",
    [
        *("B?", "A or B", "BA", "not B", "neither", "B because"),
        *("B\n\nis rude.", "A: Toxic\n\nis what it says."),
        *("The answer is b", "The answer is a", "option a", "<think>B"),
        *(
            "B</think>",
            "Answer: Answer:",
            "B\u200b",
            "\0B",
            "B\ud800",
        ),
    ],
)
def test_more_or_less_than_a_verdict_is_unreadable(text):
    """Doubt, negation, stray characters and prose after it are not cut away from an option."""
    assert is_invalid(choice(text))
    assert is_invalid(endorsed(text))


@pytest.mark.parametrize("word", ["BAD", "ADD", "CAB", "ABBA"])
def test_a_word_of_key_letters_is_no_set(word):
    """Letters run together are a set only in the order of the options."""
    letters = [Option(key=letter) for letter in "ABCD"]
    assert is_invalid(parse(word, "response_set", letters, abstain=False)[0])
    assert parse("ABD", "response_set", letters, abstain=False)[0].value == ("A", "B", "D")


def test_an_ambiguous_label_is_not_guessed():
    """Where a text is one option's label and also the labels of two others, it is ambiguous."""
    assert endorsed("Toxic and rude", "joined") == invalid("ambiguous")
    assert endorsed("C", "joined") == Parsed("answered", ("C",))
    assert endorsed("Toxic, Rude", "joined") == Parsed("answered", ("A", "B"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Toxic", ("A",)),
        ("Toxic and rude", ("B",)),
        ("toxic AND rude.", ("B",)),
        ("Rude, but not toxic", ("C",)),
        ("Toxic and Rude, but not toxic", ("A", "C")),
        ("Toxic, Toxic and rude, Rude, but not toxic", ("A", "B", "C")),
        ("B: Toxic and rude, C: Rude, but not toxic", ("B", "C")),
        ("- Toxic\n- Rude, but not toxic", ("A", "C")),
    ],
)
def test_labels_that_hold_separators_or_each_other_are_told_apart(text, value):
    """A comma or an "and" inside a label does not cut it."""
    assert endorsed(text, "nested") == Parsed("answered", value)


@pytest.mark.parametrize("key", WAX)
def test_keys_that_are_words_with_dashes_are_read(key):
    """With 17 options whose keys are their labels, each is read in any case and decoration."""
    for text in (
        key,
        key.upper(),
        f"**{key}**",
        f"Answer: {key}",
        f"{key}: {key}",
        f"The answer is {key}.",
    ):
        assert choice(text, "wax") == Parsed("answered", key)
    assert is_invalid(choice(f"It is a matter of {key.lower()}", "wax"))


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("A+", "grades", ("A+",)),
        ("A+, B", "grades", ("A+", "B")),
        ("A+ and B+", "grades", ("A+", "B+")),
        ("-1", "signed", ("-1",)),
        ("-1, 1", "signed", ("-1", "1")),
        ("Score: -1", "signed", ("-1",)),
        ("model_a", "pairwise", ("model_a",)),
        ("MODEL_B and tie", "pairwise", ("model_b", "tie")),
        ("Yes", "yes_no", ("yes",)),
        ("Yes/no", "yes_no", ("yes", "no")),
        ("Result-In & Time", "wax", ("Time", "Result-In")),
    ],
)
def test_unusual_keys_are_read(text, options, value):
    """Keys may hold signs, digits and underscores."""
    assert endorsed(text, options) == Parsed("answered", value)


def test_a_dash_before_a_number_is_no_bullet_where_keys_are_signed():
    """ "- 1" may mean -1 or 1, so it is neither."""
    assert choice("- 1", "signed") == invalid("ambiguous")
    assert choice("- 1", "scale") == Parsed("answered", "1")


def test_only_admissible_sets_are_answers():
    """A set that the task does not list is not mended."""
    sets = [("A",), ("B",), ("A", "B")]
    assert endorsed("B, A", "three", sets=sets) == Parsed("answered", ("A", "B"))
    assert endorsed("A, C", "three", sets=sets) == invalid("not_admissible")


# -- abstaining and refusing --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("CANNOT_ASSESS", "cannot_assess", "Cannot assess.", "**CANNOT_ASSESS**", "CANNOT ASSESS"),
        *(
            "Answer: CANNOT_ASSESS",
            '{"verdict": "CANNOT_ASSESS"}',
            '"CANNOT_ASSESS"',
            "[CANNOT_ASSESS]",
        ),
    ],
)
def test_abstaining_is_read_only_where_it_is_offered(text):
    """CANNOT_ASSESS is an abstention if the task allows it, else invalid."""
    assert choice(text) == endorsed(text) == Parsed("abstained")
    assert choice(text, abstain=False) == invalid("abstention_not_offered")


def test_an_abstention_beside_an_option_is_neither():
    """ "A, CANNOT_ASSESS" is two verdicts; an abstention may be followed by its reasons."""
    assert endorsed("A, CANNOT_ASSESS") == invalid("several")
    assert choice("CANNOT_ASSESS because it is empty").outcome == "abstained"
    assert is_invalid(choice("CANNOT_ASSESS is what it says"))


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, I can\u2019t assist with that request.",
        "I am sorry but I am unable to rate this.",
        "Sorry, I can't help with this.",
        "I cannot assist with that.",
        "I can't comply.",
        "I'm unable to provide a rating.",
        "I will not rate this text.",
        "As an AI language model, I cannot give opinions.",
        "As a large language model I can't do that",
        "I must decline.",
        "I have to respectfully decline this request.",
        "Unfortunately, I cannot evaluate this content.",
    ],
)
def test_refusals_are_refused(text):
    """A reply that declines, from its first word on, is refused."""
    assert choice(text) == endorsed(text) == Parsed("refused", reason="refusal")


@pytest.mark.parametrize(
    "text",
    [
        "As an AI, I think it is B",
        "I'm sorry to say that it is toxic.",
        "I cannot tell.",
        "I can assist with that.",
        "The author is sorry, but I can't read minds",
        "Sorry for the confusion, the answer is B",
    ],
)
def test_other_prose_is_no_refusal(text):
    """Only what declines is a refusal."""
    assert is_invalid(choice(text))


@pytest.mark.parametrize("text", ["", " \n\t", "<think>A</think>", "<think></think>  "])
def test_an_empty_reply_is_empty(text):
    """Nothing, or nothing after thinking, is invalid as ``empty``."""
    assert choice(text) == endorsed(text) == invalid("empty")


# -- laws ---------------------------------------------------------------------------------------

KEY_TEXT = st.one_of(
    st.sampled_from(
        ["A", "B", "C", "a", "I", "1", "10", "1.0", "-1", "and", "A and B", "A/B", "n/a"]
    ),
    st.sampled_from(
        ["Answer: A", "option A", "the answer is A", "<think>", "B.", "- A", "*", "A&B"]
    ),
    st.text(min_size=1, max_size=12),
)


@st.composite
def option_lists(draw) -> list[Option]:
    """Draw any options that a task would admit."""
    options: list[Option] = []
    taken: set[str] = set()
    for key, label in draw(st.lists(st.tuples(KEY_TEXT, KEY_TEXT), min_size=2, max_size=6)):
        try:
            option = Option(key=key, label=label)
        except ValidationError:
            continue
        if taken.isdisjoint({key.casefold(), label.casefold()}):
            taken |= {key.casefold(), label.casefold()}
            options.append(option)
    assume(len(options) > 1)
    return options


@pytest.mark.slow
@given(option_lists(), st.data())
def test_parse_reads_back_what_render_writes(options, data):
    """parse(render(v)) == v for every option, set and abstention, whatever keys look like."""
    keys = [option.key for option in options]
    chosen = data.draw(st.sampled_from(keys))
    members = data.draw(st.sets(st.sampled_from(keys), min_size=1))
    ordered = tuple(key for key in keys if key in members)
    shuffled = data.draw(st.permutations(ordered))
    read, _ = parse(render(chosen, options), "forced_choice", options, abstain=False)
    assert read == Parsed("answered", chosen)
    read, _ = parse(render(shuffled, options), "response_set", options, abstain=False)
    assert read == Parsed("answered", ordered)
    read, _ = parse(render(CANNOT_ASSESS, options), "forced_choice", options, abstain=True)
    assert read == Parsed("abstained")


@pytest.mark.parametrize("value", ["C", (), ("A", "C"), ""])
def test_render_refuses_what_is_no_option(value):
    """Only option keys and CANNOT_ASSESS can be written."""
    with pytest.raises(ValueError, match="can be rendered"):
        render(value, BINARY)


@given(st.text(), st.sampled_from(sorted(OPTIONS)), st.booleans())
def test_random_text_never_crashes(text, name, abstain):
    """Any text has one of four outcomes, and a value exactly when it is answered."""
    keys = {option.key for option in OPTIONS[name]}
    for read in (choice(text, name, abstain=abstain), endorsed(text, name, abstain=abstain)):
        assert read.outcome in OUTCOMES[:4]
        assert (read.value is not None) == (read.outcome == "answered")
        assert (read.reason == "") == (read.outcome in {"answered", "abstained"})
        if read.value is not None:
            assert set(read.value if isinstance(read.value, tuple) else [read.value]) <= keys


PIECES = [
    *"AB,;:.()[]{}*`\"'\n- &+/",
    "and",
    "Toxic",
    "Not toxic",
    "Answer",
    '{"verdict": ',
    "not ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_near_verdicts_never_crash_and_never_contradict(text):
    """A forced choice is read only where the set that was read is that option alone."""
    single, many = choice(text), endorsed(text)
    if single.outcome == many.outcome == "answered":
        assert many.value == (single.value,)


WORDS = st.sampled_from(
    ["it", "seems", "rather", "quite", "because", "people", "say", "so", "here", "that"]
)


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, max_size=6),
    st.sampled_from(sorted(OPTIONS)),
    st.data(),
)
def test_a_mention_inside_a_sentence_is_not_a_verdict(before, after, name, data):
    """No sentence that merely mentions an option becomes that option."""
    assume(before or after)
    option = data.draw(st.sampled_from(OPTIONS[name]))
    mentioned = data.draw(st.sampled_from([option.key, option.label, option.label.lower()]))
    text = " ".join([*before, mentioned, *after])
    assert choice(text, name).outcome == "invalid"
    assert endorsed(text, name).outcome == "invalid"
    assert choice(f"{text.capitalize()}.", name).outcome == "invalid"


@pytest.mark.parametrize(
    "sentence",
    ["{} because you insist", "{} is what it says."],
)
def test_sentences_about_a_label_are_not_verdicts(sentence):
    """Judges that mention an option without stating it are invalid."""
    for option in BINARY:
        for name in (option.key, option.label, option.label.lower()):
            assert is_invalid(choice(sentence.format(name)))


@pytest.mark.parametrize("text", ["B, not A", "B (not A)", "Call it B.", "B; A is not reasonable."])
def test_an_option_that_is_denied_beside_the_answer_is_not_a_second_answer(text):
    """Unless the denial is part of a label, such as "Rude, but not toxic"."""
    assert choice(text) == Parsed("answered", "B")


# -- answers stated in prose --------------------------------------------------------------------


def test_an_answer_with_its_reason_is_not_unreadable():
    """ "The answer is A, because it is toxic." and "La r\xe9ponse est A." are option A."""
    assert choice("The answer is A, because it is toxic.") == Parsed("answered", "A")
    assert choice("La r\xe9ponse est A.") == Parsed("answered", "A")


@pytest.mark.parametrize(
    "text",
    [
        *("The answer is B, because it insults nobody.", "I choose B.", "The answer is not toxic."),
        *("Die Antwort ist B.", "La r\xe9ponse est B.", "La respuesta es B.", "A resposta \xe9 B."),
        *(
            "La risposta \xe8 B.",
            "\u7b54\u6848\u662fB\u3002",
            "\u7b54\u3048\u306fB\u3067\u3059\u3002",
        ),
    ],
)
def test_a_marker_states_an_option_in_eight_languages(text):
    """An answer marker directly followed by an option states it, as the last line does."""
    assert choice(text) == Parsed("answered", "B")
    assert endorsed(text) == Parsed("answered", ("B",))


def test_the_last_line_states_the_answer():
    """What stands before it may name other options."""
    assert choice("It names nobody. Some may find it toxic.\n\n**B**") == Parsed("answered", "B")
    assert endorsed("Some may find it toxic.\n\nA, B") == Parsed("answered", ("A", "B"))


def test_scores_of_several_qualities_are_not_a_score():
    """Which of them was asked for is not guessed."""
    for text in ("Grammar: 4\nStyle score: 3", "Style score: 3\nGrammar: 4", "Style: 3"):
        assert is_invalid(choice(text, "scale"))
    assert is_invalid(choice("Content: not toxic\nTone: toxic"))


def test_a_label_as_subject_complement_states_a_choice_and_no_set():
    """ "It is toxic" says which option fits, and not that no other one is reasonable."""
    assert choice("This comment is toxic.") == Parsed("answered", "A")
    assert is_invalid(endorsed("This comment is toxic."))
    assert is_invalid(choice("It is A text.")), "an article is no key"
    assert is_invalid(choice("It is 5 lines long.", "scale")), "a count is no key"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I like trains.", "no_option"),
        ("Toxic remarks are deleted.", "unreadable"),
        ("The answer is A or B.", "several"),
        ("The answer is A.\n\nAnswer: B", "several"),
        ("The answer is not A.", "negated"),
        ("The answer may be A.", "hedged"),
        ("The answer is A, if it is meant seriously.", "conditional"),
        ("Is the answer A?", "question"),
        ("The author says that the answer is A.", "reported"),
        ("The answer is A. Wait, that is wrong.", "retracted"),
        ("<think>The answer is A.", "cut_off"),
    ],
)
def test_an_unreadable_reply_has_a_reason(text, reason):
    """The reason is one of a fixed set, each with a few words for those who read it."""
    assert choice(text) == invalid(reason)
    assert REASONS[reason]


JUNK = (
    *("x", "[", "```\n", "I'm sorry ", "A and ", "the answer is ", "\u202e", "*", '{"verdict":'),
    *(" ", "A", "A,", "A\n", "(", '["A",', '"', "- ", "<think>", "Answer: ", "\0", "\ud800"),
    *("\u0301", "1 "),
)


@pytest.mark.parametrize("junk", fast_first(9, JUNK), ids=repr)
def test_a_megabyte_of_junk_costs_little(junk):
    """Reading takes bounded time on any text, and a reply that is too long says so."""
    text = "B" + junk * (1_000_000 // len(junk)) + "B"
    start = time.process_time()
    for name in ("binary", "wax"):
        assert choice(text, name) == endorsed(text, name) == invalid("too_long")
        for length in (300, 3_000, MAX_REPLY):
            assert choice(text[:length] + "?", name).outcome == "invalid"
            assert endorsed(text[:length] + "?", name).outcome == "invalid"
    assert time.process_time() - start < 2


def test_option_order_is_that_of_the_task():
    """Sets come back in the order of the options, however they were written."""
    assert endorsed("C, A, B", "three").value == ("A", "B", "C")

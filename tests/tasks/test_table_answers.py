"""Cells of labels as answers of a task."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import OptionError
from harness.tasks.answer_rules import AnswerRules
from harness.tasks.columns.table_answers import AnswerSettings, TableAnswers
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import MAX_ANSWER_CHARS, TaskFile

KEYS = {"yes": "A", "no": "B", "n/a": CANNOT_ASSESS, "draft": "draft"}


def answers_of(scale, keys, **more):
    fields = {"labels": {}, "positive": (), "abstain": True, "ignore": ()}
    return TableAnswers(scale=scale, keys=keys, **fields | more)


READER = answers_of("binary", KEYS)


@pytest.mark.parametrize(
    ("cell", "elicitation", "value"),
    [
        ("YES", "forced_choice", "A"),
        ('["no", "Yes"]', "response_set", ("B", "A")),
        ("N/A", "forced_choice", CANNOT_ASSESS),
        ('["n/a"]', "response_set", CANNOT_ASSESS),
        ("draft", "forced_choice", "draft"),
    ],
)
def test_labels_stand_for_keys(cell, elicitation, value):
    """In any case; a list is a response set."""
    assert READER.read(cell) == (elicitation, value, "")


@pytest.mark.parametrize(
    ("cell", "elicitation", "problem"),
    [
        ("maybe", "", "label 'maybe' is not an option"),
        ("[]", "", "the label is empty"),
        ('["yes", "YES"]', "", "a label occurs twice"),
        ('["yes", "n/a"]', "", "CANNOT_ASSESS is combined with other labels"),
        ('["yes", "no"]', "forced_choice", "found several labels instead of one"),
    ],
)
def test_an_invalid_cell_has_a_reason(cell, elicitation, problem):
    """The value is empty then; of a judge, the label stays, to be counted as invalid."""
    reading = READER.read(cell, elicitation)
    assert (reading.value, reading.problem) == ("", problem)


def test_a_judges_unknown_label_is_kept():
    """It counts as an invalid verdict, which a rejected row would hide."""
    assert READER.read_verdict("Maybe").value == "Maybe"


def test_a_long_text_is_refused_and_not_cut():
    """An import wrote the first 2,000 characters in silence."""
    reading = answers_of("text", {}).read("x" * (MAX_ANSWER_CHARS + 1))
    assert (reading.value, reading.problem[:12]) == ("", "the text has")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"options": ("y", "n"), "ignore": ("Y",)}, "ignore='Y': this label is also in options"),
        ({"options": ("y", "n"), "abstain": ("n",)}, "abstain='n': this label is also in options"),
        ({"ignore": ("?",), "abstain": ("?",)}, "abstain='?': this label is also in ignore"),
        ({"ignore": ("?",), "rename": ("?=y",)}, "rename='?': this label is also in ignore"),
        ({"rename": ("?=y", "?=n")}, "rename='?': this label is also in rename"),
    ],
)
def test_a_label_has_one_meaning(said, message):
    """The last one counted, so that all ratings of an option became abstentions in silence."""
    with pytest.raises(
        OptionError, match=re.escape(f"{message}. Use the label in only one of the two")
    ):
        AnswerSettings(**said)


def test_several_labels_may_have_the_same_meaning():
    """Also another case of an option, which means it anyway."""
    said = {"options": ("y", "n"), "rename": ("yes=y", "YES=Y", "Y=y", "no=n")}
    answers = TableAnswers.of(AnswerSettings(**said, scale="nominal"), "t.csv", abstain=False)
    assert [answers.key(label) for label in ("Yes", "Y", "no", "N")] == ["y", "y", "n", "n"]


def test_steps_are_matched_by_their_value():
    """0.50 is the step 0.5 of an ordinal scale, as where a data set is read in place."""
    settings = AnswerSettings(scale="ordinal", options=("0.5", "1"))
    steps = TableAnswers.of(settings, "table.csv", abstain=False)
    assert [steps.key(label) for label in ("0.50", "1", "0.25", "one")] == ["0.5", "1", None, None]


@given(named=st.lists(st.sampled_from(["yes", "no"]), min_size=1, unique=True), data=st.data())
def test_sets_keep_their_members(named, data):
    """Whatever the case of the labels."""
    written = [data.draw(st.sampled_from([label, label.upper(), label.title()])) for label in named]
    value = READER.read(json.dumps(written)).value
    assert value == tuple(KEYS[label] for label in named)


KINDS = ("forced_choice", "response_set")
SAID = st.fixed_dictionaries(
    {
        "scale": st.sampled_from(["nominal", "ordinal", "continuous", "text"]),
        "ignore": st.sampled_from([(), ("draft",), ("2",)]),
        "abstain": st.sampled_from([(), ("n/a",)]),
        "bounds": st.sampled_from([None, (0.0, 4.5)]),
    }
)
LABELS = st.sampled_from(
    [
        "yes",
        "No",
        "n/a",
        "draft",
        "2",
        "2.0",
        "2.50",
        "-1",
        "CANNOT_ASSESS",
        "a; b",
        "a b",
        " ",
        "5",
    ]
)
CELLS = st.one_of(LABELS, st.lists(LABELS, max_size=3).map(json.dumps), st.text(max_size=9))


@given(said=SAID, cell=CELLS, elicitation=st.sampled_from(["", *KINDS, "paired", "pairwise"]))
def test_answers_read_from_a_table_are_valid_in_its_task(said, cell, elicitation):
    """A value that is read has to be one that the files of the same task may hold."""
    is_open = said["scale"] in {"continuous", "text"}
    if not is_open:
        steps = said["scale"] == "ordinal"
        said["options"] = ("1", "2.5", "5") if steps else ("yes", "no", "a; b")
    if said["scale"] != "continuous":
        said["bounds"] = None
    answers = TableAnswers.of(AnswerSettings(**said), "table.csv", abstain=True)
    reading = answers.read(cell, elicitation)
    if reading.problem:
        assert reading.value == ""
        return
    task = TaskFile(name="t", property="p", **answers.fields())
    value = list(reading.value) if isinstance(reading.value, tuple) else reading.value
    read, _ = AnswerRules.of(task).read(value, reading.elicitation)
    assert {*read} == {*reading.value} if isinstance(read, tuple) else read == reading.value

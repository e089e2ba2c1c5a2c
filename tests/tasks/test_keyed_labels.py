"""Labels that carry their key become options with key and label, in order of the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_tables import plan_of, task_of, text, written

from harness.tasks.options import keyed_labels, split_label

FORMS = ("{k} - {x}", "{k} = {x}", "{k}. {x}", "{k}) {x}", "{k}: {x}", "({k}) {x}", "{x} ({k})")
WORDS = ("awful", "poor", "fair", "good", "superb")


def labelled(tmp_path, names):
    rows = [["id", "text", "ann1", "ann2"]]
    rows += [[i, text(i), names[i % len(names)], names[i * 3 % len(names)]] for i in range(20)]
    return written(tmp_path / "t.csv", rows)


@pytest.mark.parametrize("form", FORMS)
def test_key_and_label_are_split_on_an_ordered_scale(tmp_path, form):
    """The whole cell was the key, and most replies to such options were unreadable."""
    names = [form.format(k=k, x=x) for k, x in enumerate(WORDS, 1)]
    task = task_of(labelled(tmp_path, names))
    assert task.scale == "ordinal"
    assert [(o.key, o.label) for o in task.options] == [(str(k), x) for k, x in enumerate(WORDS, 1)]
    assert len(task.ratings) == 40


def test_a_scale_may_name_its_ends_only(tmp_path):
    task = task_of(labelled(tmp_path, ["1 - bad", "2", "3", "4", "5 - good"]))
    assert [(o.key, o.label) for o in task.options] == [
        *(("1", "bad"), ("2", "2"), ("3", "3"), ("4", "4"), ("5", "good"))
    ]


def test_yes_and_no_behind_letters_keep_their_meaning(tmp_path):
    task = task_of(labelled(tmp_path, ["A) yes", "B) no"]))
    assert (task.scale, task.positive) == ("binary", ("A",))


def test_three_letters_may_be_ordered(tmp_path):
    [question] = plan_of(labelled(tmp_path, ["A) kind", "B) plain", "C) rude"])).questions()
    assert "Pass --scale ordinal" in question
    task = task_of(labelled(tmp_path, ["A) kind", "B) plain", "C) rude"]), scale="ordinal")
    assert [o.key for o in task.options] == ["A", "B", "C"]


def test_spellings_of_one_key_are_one_option(tmp_path):
    task = task_of(labelled(tmp_path, ["1 - bad", "1- BAD", "2 - good", "2 -  good"]))
    assert [o.key for o in task.options] == ["1", "2"]
    assert len(task.ratings) == 40


@given(st.lists(st.floats(-9, 9).map(lambda x: f"{x:.1f}")), st.lists(st.integers().map(str)))
def test_numbers_carry_no_key(decimals, integers):
    assert not keyed_labels(decimals)
    assert not keyed_labels(integers)


@given(st.permutations(range(1, 6)), st.sampled_from(FORMS))
def test_splitting_gives_back_key_and_label(order, form):
    names = [form.format(k=k, x=WORDS[k - 1]) for k in order]
    keyed = keyed_labels(names)
    assert [tuple(keyed[name]) for name in names] == [(str(k), WORDS[k - 1]) for k in order]


@pytest.mark.parametrize("name", ["2-3 days", "a-ok", "U.S. citizen", "3/5", "no", "10:30", "1,5"])
def test_other_labels_have_no_key(name):
    assert split_label(name) is None

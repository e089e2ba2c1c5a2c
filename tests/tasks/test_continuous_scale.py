"""Tasks on a continuous scale: bounds, ratings, and fields that need options."""

from __future__ import annotations

import pytest

from harness.errors import TaskError
from harness.tasks import load_task, write_task

TASK = "name: quality\nproperty: how good it is\nscale: continuous\nbounds: [0, 100]\n"


def folder_of(tmp_path, text=TASK, ratings=("72.50", "72.5", "-0")):
    (tmp_path / "task.yaml").write_text(text)
    rows = [f"i{i},r,{value}" for i, value in enumerate(ratings)]
    (tmp_path / "ratings.csv").write_text("item,rater,value\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_numbers_are_kept_as_their_shortest_text(tmp_path):
    """So that equal numbers are equal ratings, here and after writing the task."""
    task = load_task(folder_of(tmp_path))
    assert [rating.value for rating in task.ratings] == ["72.5", "72.5", "0"]
    write_task(task, tmp_path / "copy", item_text=True)
    assert load_task(tmp_path / "copy").content_hash == task.content_hash


@pytest.mark.parametrize(
    ("value", "reason", "message"),
    [
        (
            "100.5",
            "out_of_bounds",
            "value '100.5' isn't between 0 and 100. Correct the value or the bounds",
        ),
        ("-1", "out_of_bounds", "isn't between 0 and 100"),
        ("good", "non_numeric_value", "value 'good' is not a number. Write a number"),
        ("1e2", "non_numeric_value", "not a number"),
        ("CANNOT_ASSESS", "unknown_label", "write 'abstain: true'"),
        ("", "empty_value", "the value is empty"),
    ],
)
def test_a_wrong_rating_is_named_with_its_line(tmp_path, value, reason, message):
    """Nothing is rounded or cut to the bounds."""
    with pytest.raises(TaskError, match=message) as caught:
        load_task(folder_of(tmp_path, ratings=("5", value)))
    assert caught.value.reason == reason
    assert "ratings.csv: line 3: item 'i1', rater 'r', forced_choice" in str(caught.value)


def test_abstentions_and_ignored_labels_are_read_as_elsewhere(tmp_path):
    """CANNOT_ASSESS where the task allows it; foreign labels are counted."""
    text = TASK + "abstain: true\nignore_labels: [spoiled]\n"
    task = load_task(folder_of(tmp_path, text, ("CANNOT_ASSESS", "spoiled", "5")))
    assert [rating.value for rating in task.ratings] == ["CANNOT_ASSESS", "5"]
    assert task.n_ignored == {"spoiled": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("options: [A, B]", "options: a continuous scale has no options. Leave out this field"),
        ("tau: 0.3", "tau: a continuous scale has no options"),
        ("alt_test: {expert: r}", "alt_test: on a continuous scale, alt_test only accepts eps"),
    ],
)
def test_fields_that_need_options_are_refused(tmp_path, line, message):
    """So that nobody expects them to have an effect."""
    with pytest.raises(TaskError, match=message):
        load_task(folder_of(tmp_path, f"{TASK}{line}\n"))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [("[5, 1]", "found 5 to 1. Write the lower number first"), ("[0, .inf]", "bounds")],
)
def test_bounds_rise(tmp_path, bounds, message):
    """And are finite; a scale without bounds has none."""
    with pytest.raises(TaskError, match=message):
        load_task(folder_of(tmp_path, TASK.replace("[0, 100]", bounds)))


def test_bounds_belong_to_a_continuous_scale(tmp_path):
    """Options have an order instead."""
    text = TASK.replace("continuous", "ordinal\noptions: [1, 2]")
    with pytest.raises(
        TaskError,
        match=r"bounds: the scale is ordinal, but bounds are for a continuous scale\. Leave out",
    ):
        load_task(folder_of(tmp_path, text))

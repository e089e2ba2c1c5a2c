"""Each row of the ratings is checked; a fault names line, value, item and rater."""

from __future__ import annotations

import json

import pytest

from harness.errors import TaskError
from harness.tasks import CANNOT_ASSESS, load_task

BINARY = {"name": "demo", "property": "x", "scale": "binary", "options": ["A", "B"]}
NOMINAL = BINARY | {"scale": "nominal", "options": ["A", "B", "C"]}
ORDINAL = BINARY | {"scale": "ordinal", "options": [1, 2, 3, 4, 5]}


def make(folder, fields, rows, items=None):
    folder.mkdir(exist_ok=True)
    (folder / "task.yaml").write_text(json.dumps(fields))
    if isinstance(rows, str):
        (folder / "ratings.csv").write_text(rows)
    else:
        (folder / "ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if items is not None:
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    return folder


def rating(value, elicitation=None, item="a", rater="h1"):
    row = {"item": item, "rater": rater, "value": value}
    return row if elicitation is None else row | {"elicitation": elicitation}


def fault(folder):
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert "\n" not in str(caught.value)
    return caught.value.reason, str(caught.value)


@pytest.mark.parametrize(
    ("fields", "row", "reason", "mentions"),
    [
        (
            BINARY,
            rating("n/a"),
            "unknown_label",
            "'n/a' is not an option. Write one of A, B, or list the value",
        ),
        (BINARY, rating("a"), "unknown_label", "'a' is not an option"),
        (BINARY, rating("A "), "unknown_label", "'A ' is not an option"),
        (BINARY, rating(True), "unknown_label", "'true' is not an option"),
        (BINARY, rating(["A"]), "unknown_label", """'["A"]' is not an option"""),
        (BINARY, rating(""), "empty_value", "the value is empty. Remove the row"),
        (BINARY, rating(None), "empty_value", "the value is empty"),
        (
            BINARY,
            rating(CANNOT_ASSESS),
            "unknown_label",
            "'CANNOT_ASSESS' is not allowed here. To allow it, write 'abstain",
        ),
        (BINARY, rating(CANNOT_ASSESS, "response_set"), "unknown_label", "write 'abstain: true'"),
        (
            ORDINAL,
            rating("four"),
            "non_numeric_value",
            "'four' is not a number. Write one of 1, 2, 3",
        ),
        (ORDINAL, rating("nan"), "non_numeric_value", "'nan' is not a number"),
        (ORDINAL, rating("1_0"), "non_numeric_value", "'1_0' is not a number"),
        (ORDINAL, rating("1e0"), "non_numeric_value", "'1e0' is not a number"),
        (ORDINAL, rating(6), "unknown_label", "'6' is not an option"),
        (ORDINAL, rating(2.5), "unknown_label", "'2.5' is not an option"),
        (NOMINAL, rating([], "response_set"), "empty_response_set", "the response set is empty"),
        (NOMINAL, rating("", "response_set"), "empty_value", "the value is empty"),
        (
            NOMINAL,
            rating("A", "response_set"),
            "unknown_label",
            "'A' is not a response set. Write a JSON array",
        ),
        (NOMINAL, rating({"A": 1}, "response_set"), "unknown_label", "is not a response set"),
        (NOMINAL, rating(["A", "X"], "response_set"), "unknown_label", "'X' is not an option"),
        (
            NOMINAL,
            rating(["A", "A"], "response_set"),
            "set_not_admissible",
            "lists an option twice",
        ),
        (
            NOMINAL | {"abstain": True},
            rating(["A", CANNOT_ASSESS], "response_set"),
            "set_not_admissible",
            "contains",
        ),
        (
            NOMINAL | {"response_sets": [["A"], ["B", "C"]]},
            rating(["A", "B"], "response_set"),
            "set_not_admissible",
            "is not one of the response_sets",
        ),
        (
            NOMINAL | {"options": list("ABCDEFGHIJK")},
            rating(["A", "B"], "response_set"),
            "set_not_admissible",
            "List the response_sets in task.yaml",
        ),
    ],
)  # fmt: skip -- one case per row
def test_invalid_values_are_rejected(tmp_path, fields, row, reason, mentions):
    """The message names the value, the item and the rater; the reason is a slug."""
    reasons, message = fault(make(tmp_path, fields, [row]))
    assert reasons == reason
    assert message.startswith(f"{tmp_path / 'ratings.jsonl'}: line 1: item 'a', rater 'h1', ")
    assert mentions in message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (rating("A", "ranking"), "line 1: elicitation: found 'ranking'. Write forced_choice or"),
        (rating("A", ["forced_choice"]), "line 1: elicitation: found "),
        (rating("A", item=""), "line 1: item: found ''. Write 1 to 256 printable"),
        (rating("A", item=None), "line 1: item: found ''. Write 1 to 256"),
        (rating("A", rater=" h1"), "line 1: rater: found ' h1'. Write 1 to 256"),
        (rating("A", rater="h\n1"), "line 1: rater: found 'h\\n1'. Write 1 to 256"),
        (rating("A", rater="h" * 300), "line 1: rater: found 'hhh"),
        (
            rating("A") | {"elicitaton": "response_set"},
            "line 1: unknown column 'elicitaton'. Use item,",
        ),
        ({"item": "a", "value": "A"}, "line 1: column 'rater' is missing"),
    ],
)
def test_invalid_rows_are_rejected(tmp_path, row, message):
    """Misspelt columns are not passed over, names are names."""
    assert message in fault(make(tmp_path, BINARY, [row]))[1]


@pytest.mark.parametrize("value", ["A", "B"])
def test_a_second_rating_with_the_same_key_is_an_error_even_when_identical(tmp_path, value):
    """Item, rater and elicitation say which rating it is."""
    slug, message = fault(
        make(tmp_path, BINARY, [rating("A"), rating("B", rater="h2"), rating(value)])
    )
    assert slug == "duplicate_rating"
    assert "line 3: item 'a', rater 'h1', forced_choice: " in message


def test_an_ignored_label_does_not_hide_a_duplicate(tmp_path):
    """A row that is left out still is a row."""
    fields = BINARY | {"ignore_labels": ["n/a"]}
    assert fault(make(tmp_path, fields, [rating("n/a"), rating("A")]))[0] == "duplicate_rating"


def test_a_pair_is_one_rater_in_both_elicitations(tmp_path):
    """The same item and rater may be there once for each; sets come in the order of the options."""
    rows = [rating("B"), rating(["C", "A"], "response_set"), rating("A", "", rater="h2")]
    task = load_task(make(tmp_path, NOMINAL, rows))
    assert [(r.elicitation, r.value) for r in task.ratings] == [
        ("forced_choice", "B"),
        ("response_set", ("A", "C")),
        ("forced_choice", "A"),
    ]


def test_a_choice_outside_the_own_response_set_is_data(tmp_path):
    """People do that; it is not an error."""
    task = load_task(make(tmp_path, BINARY, [rating("A"), rating(["B"], "response_set")]))
    assert len(task.ratings) == 2


def test_csv_holds_response_sets_as_json_arrays(tmp_path):
    """A cell with a JSON array is a response set."""
    rows = 'item,rater,elicitation,value\na,h1,response_set,"[""B"", ""A""]"\na,h1,,A\n'
    task = load_task(make(tmp_path, BINARY, rows))
    assert [r.value for r in task.ratings] == [("A", "B"), "A"]


def test_numbers_are_numbers_on_an_ordinal_scale(tmp_path):
    """4, "4", 4.0 and "4.0" are the option 4."""
    rows = [rating(value, rater=f"h{h}") for h, value in enumerate([4, "4", 4.0, "4.0", "04"])]
    task = load_task(make(tmp_path, ORDINAL, rows))
    assert [r.value for r in task.ratings] == ["4"] * 5


def test_abstaining_is_a_rating_where_the_task_allows_it(tmp_path):
    """CANNOT_ASSESS is kept as it is, in either elicitation."""
    rows = [rating(CANNOT_ASSESS), rating(CANNOT_ASSESS, "response_set")]
    for fields in (BINARY, ORDINAL):
        task = load_task(make(tmp_path, fields | {"abstain": True}, rows))
        assert [r.value for r in task.ratings] == [CANNOT_ASSESS, CANNOT_ASSESS]


def test_listed_foreign_labels_are_counted_and_left_out(tmp_path):
    """Ratings with an ignored label are not ratings, and nothing is dropped silently."""
    rows = [
        rating("A"),
        rating("n/a", rater="h2"),
        rating("9", rater="h3"),
        rating("n/a", "response_set", rater="h4"),
        rating(["A", "n/a"], "response_set", rater="h5"),
    ]
    task = load_task(make(tmp_path, BINARY | {"ignore_labels": ["n/a", 9]}, rows))
    assert task.n_ignored == {"n/a": 3, "9": 1}
    assert [r.rater for r in task.ratings] == ["h1"]


def test_ratings_and_items_must_meet(tmp_path):
    """An item without ratings and a rating without its item are errors."""
    items = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}, {"id": "c", "text": "z"}]
    slug, message = fault(make(tmp_path, BINARY, [rating("A")], items))
    assert (slug, "item 'b' has no ratings (1 more like it)" in message) == ("unrated_item", True)
    slug, message = fault(make(tmp_path, BINARY, [rating("A", item="q")], items))
    assert slug == "unknown_item"
    assert "line 1: item 'q', rater 'h1'" in message


def test_long_values_are_cut_in_messages(tmp_path):
    """A text where a label should be does not fill the screen."""
    assert len(fault(make(tmp_path, BINARY, [rating("x" * 5000)]))[1]) < 600

"""What the item table says of an item, before it is drawn."""

from __future__ import annotations

import pytest
from support.analysis_inputs import INVALID, source_of, task_of, verdict_of

from harness.analysis.item_answers import answered_items
from harness.report.html.item_table import item_block, item_table
from harness.tasks import CANNOT_ASSESS


def table_of(answers, *, raters=None, options=("A", "B")):
    """Return the table of an item that a judge `z` answered and raters rated so."""
    ratings = {name: {"i": value} for name, value in (raters or {"x": "A", "y": "A"}).items()}
    judges = {"z": {"i": list(answers)}, "w": {"i": options[0]}}
    answers = answered_items(source_of(task_of(ratings, options=options), judges))
    return item_table(answers, by_key=True)


def opened_rows(table, judge="z"):
    """Return the texts of a judge's rows where the first item is opened."""
    return [answer.text for answer in table.full[0].judges if answer.name == judge]


def test_ten_equal_replies_filled_ten_rows():
    """They are one row with a count; other replies, and those of other judges, stay apart."""
    assert opened_rows(table_of(["A"] * 10)) == ["A (10 times)"]
    assert opened_rows(table_of(["A"] * 9 + ["B"])) == ["A (9 times)", "B"]
    table = table_of(["A", "B", "A", INVALID, INVALID])
    assert opened_rows(table) == ["A (2 times)", "B", "invalid (2 times)"]
    assert opened_rows(table, "w") == ["A"]


def test_replies_of_other_words_are_rows_of_their_own():
    """A count joins replies of the same text and value alone."""
    task = task_of({"x": {"i": "A"}, "y": {"i": "A"}})
    source = source_of(task, {"z": {"i": "A"}})
    words = ("A", "A", "A: toxic", "A")
    source.verdicts["z"][:] = [
        verdict_of("z", "i", sample, "A", reply=text) for sample, text in enumerate(words)
    ]
    rows = [
        (answer.text, answer.reply) for answer in item_table(answered_items(source)).full[0].judges
    ]
    assert rows == [("A (3 times)", "A"), ("A", "A: toxic")]


def test_numeric_options_read_like_counts():
    """`5 3` said neither which was the option nor which the number of replies."""
    table = table_of(["5"] * 3 + ["1"], raters={"x": "5", "y": "5", "v": "1"}, options=("1", "5"))
    [row] = table.rows
    assert row.raters == '"5" \u00d72 · "1" \u00d71'
    assert row.judges[0].text == '"5" \u00d73 · "1" \u00d71'
    assert opened_rows(table) == ['"5" (3 times)', '"1"']
    assert table_of(["A"] * 3).rows[0].judges[0].text == "A \u00d73"


@pytest.mark.parametrize(
    ("raters", "answer", "n_apart"),
    [
        ({"x": "A", "y": "A"}, "A", 0),
        ({"x": "A", "y": "A"}, "B", 1),
        ({"x": "A", "y": "B"}, "B", 0),  # tied raters: either is one of theirs
        ({"x": "B", "y": "B"}, INVALID, 1),  # the other judge made a choice
        ({"x": CANNOT_ASSESS, "y": CANNOT_ASSESS}, "B", None),
    ],
)
def test_judges_apart_was_zero_where_nobody_can_be(raters, answer, n_apart):
    """Without a choice on either side it is undefined, and the page's data hold null."""
    table = table_of([answer], raters=raters)
    [row] = table.rows
    assert row.n_judges_apart == n_apart
    [cells] = item_block(table)["rows"]
    assert cells[4] == n_apart

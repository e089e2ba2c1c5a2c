"""Names of columns: titles above them, blank ones, repeated ones and none at all."""

from __future__ import annotations

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_tables import plan_of, task_of, text, written

from harness.curation.importing.headings import heading_of, is_data
from harness.errors import TaskError

N = 12
RATERS = ("ann", "bea", "cem")
LONG = [[11000 + i, r, (i * 7 + k) % 3] for i in range(N) for k, r in enumerate(RATERS)]
WIDE = [[f"d{i}", text(i), i % 2, (i + 1) % 2, i % 3 % 2] for i in range(N)]
NAMES = ["id", "text", "ann1", "ann2", "ann3"]


def test_a_first_rating_was_taken_for_the_header(tmp_path):
    """The import lost it without a word; the columns now get positional names."""
    plan = plan_of(written(tmp_path / "t.csv", LONG))
    assert list(plan.table.columns) == ["column 1", "column 2", "column 3"]
    assert plan.table.n_rows == len(LONG)
    assert any("line 1 looks like the lines below" in note for note in plan.notes)


def test_a_wide_table_without_a_header_keeps_its_first_item(tmp_path):
    assert plan_of(written(tmp_path / "t.csv", WIDE)).table.n_rows == N


@pytest.mark.parametrize(
    "names",
    [
        ["item", "rater", "label"],
        ["tweet", "session", "vote"],
        ["doc", "1", "2"],
        ["number", "who", "points"],
    ],
)
def test_ordinary_names_are_a_header(names):
    assert not is_data(names, LONG)


def test_raters_called_by_number_are_names(tmp_path):
    """A header 1, 2, 3 above ratings from 1 to 3 counts the columns."""
    rows = [
        ["item", "text", "1", "2", "3"],
        *([f"d{i}", text(i), *(1 + (i * k) % 3 for k in (1, 2, 4))] for i in range(N)),
    ]
    plan = plan_of(written(tmp_path / "t.csv", rows), {"raters": ["1", "2", "3"]})
    assert list(plan.table.columns) == rows[0]


@given(
    st.lists(st.sampled_from(["id", "who", "label", "text", "score", "q1"]), unique=True),
    st.lists(st.lists(st.integers(0, 9).map(str), min_size=6, max_size=6), min_size=2),
)
def test_a_row_with_a_word_above_numbers_is_never_data(names, rows):
    assert not names or not is_data(names, [row[: len(names)] for row in rows])


@given(st.permutations(range(len(LONG))))
def test_a_long_table_is_without_header_whatever_row_comes_first(order):
    rows = [LONG[k] for k in order]
    assert heading_of(rows, range(1, len(rows) + 1), None).place == -1


def test_the_user_says_which_line_is_the_header(tmp_path):
    rows = [["Study of 2024", "pilot", "of", "all", "teams"], NAMES, *WIDE]
    path = written(tmp_path / "t.csv", rows)
    assert list(plan_of(path, header=2).table.columns) == NAMES
    assert plan_of(written(tmp_path / "u.csv", [NAMES, *WIDE]), header=0).table.n_rows == N + 1
    with pytest.raises(TaskError, match=r"--header: line 900 is blank"):
        plan_of(path, header=900)


def test_lines_that_repeat_the_header_are_no_ratings(tmp_path):
    """Files that were joined by hand have one for each part."""
    plan = plan_of(written(tmp_path / "t.csv", [NAMES, *WIDE[:6], NAMES, *WIDE[6:]]))
    assert plan.table.n_rows == N
    assert "lines that repeat the header are left out" in plan.notes


def unnamed(names, k):
    return [*names[:k], None, *names[k:]]


@pytest.mark.parametrize("place", [1, 5])
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_column_without_a_name_is_kept_under_its_place(tmp_path, place, ending):
    """The message named a wrong cause, and --drop worked for csv only."""
    rows = [unnamed(NAMES, place), *(unnamed(row, place) for row in WIDE)]
    for number, row in enumerate(rows[1:]):
        row[place] = f"x{number % 4}"
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        written(path, rows)
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    name = f"Unnamed: {place}"
    plan = plan_of(path, {"raters": NAMES[2:], "text": ["text"]})
    assert any(
        note.startswith(f"a column without a name is called '{name}'") for note in plan.notes
    )
    assert name in plan.columns.fields
    assert name not in plan_of(path, drop=[name]).table.columns


def test_blank_columns_at_the_end_are_left_out(tmp_path):
    rows = [[*NAMES, "", ""], *([*row, "", ""] for row in WIDE)]
    task = task_of(written(tmp_path / "t.csv", rows))
    assert len(task.ratings) == 3 * N
    assert set(task.items[0].fields) == {"text"}


def test_the_only_sheet_with_a_table_is_read(tmp_path):
    """A note of one column beside it was asked about."""
    book = openpyxl.Workbook()
    book.active.append(["Politeness study, please don't edit"])
    sheet = book.create_sheet("Answers")
    for row in [NAMES, *WIDE]:
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    plan = plan_of(tmp_path / "t.xlsx")
    assert plan.table.n_rows == N
    assert "read from the sheet 'Answers', the only one with a table" in plan.notes

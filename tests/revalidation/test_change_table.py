"""The published table of what is said of each kind of change."""

from __future__ import annotations

import pytest

from benchmarks.changes import CHANGES, PAGE, START, Watch, table

CHECKED = (
    "20 % of answers",
    "5 % of answers",
    "5 % refused, from none",
    "all answers flip, decision",
    "401 (key)",
    "a typo corrected in a text",
    "one more rating",
    "another model in the judges file",
)


@pytest.fixture(scope="module")
def published() -> list[str]:
    return PAGE.read_text("utf-8").partition(START)[2].strip().splitlines()


def test_the_table_has_a_row_for_each_change(published):
    """In the order of the script that writes it."""
    assert [row.split(" | ")[0].removeprefix("| ") for row in published[2:]] == list(CHANGES)


@pytest.mark.slow
def test_published_rows_are_what_happens(tmp_path, stub, published):
    """Look of notice, sentence and exit code of some of them."""
    watch = Watch(tmp_path, stub)
    rows = [watch.after(name, CHANGES[name]) for name in CHECKED]
    assert set(table(rows).splitlines()) <= set(published)

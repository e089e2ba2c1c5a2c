from __future__ import annotations

import pytest
from support.sliced_judges import planted

from harness.report.slice_rows import slice_table, terminal_slice_table
from harness.report.text import render


@pytest.fixture(scope="module")
def sliced():
    """A judge that guesses on German items."""
    return planted()


def test_the_table_lists_every_slice_worst_first(sliced):
    """The slice with the largest difference comes first, with its numbers."""
    title, heads, rows = slice_table(sliced, "planted")
    assert "simultaneous 95% intervals for 5 slices" in title
    assert len(rows) == sliced.slices.n_slices
    assert {len(row) for row in rows} == {len(heads)}
    by_difference = [float(row[3].split()[0]) for row in rows]
    assert by_difference == sorted(by_difference)
    assert "language: de" in [row[0] for row in rows[:2]]


def test_the_table_fits_a_terminal(sliced):
    """It is part of the details, at most 80 columns wide."""
    text = render(sliced, details=True)
    assert "planted by slice, worst first" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "by slice" not in render(sliced)


def test_without_fields_there_is_no_table():
    """No table, no note."""
    plain = planted(60, fields=False)
    assert slice_table(plain, "planted") is None
    assert terminal_slice_table(plain) is None


def test_rare_values_that_are_pooled_are_said():
    """The note counts them by field."""
    title, _, rows = slice_table(planted(n_rare=4), "planted")
    assert "Rare values are combined into one slice: 2 of language." in title
    assert any(row[0] == "language: 2 rare values" for row in rows)

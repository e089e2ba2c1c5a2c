"""The coverage of printed intervals: its page, and its rows anew."""

from __future__ import annotations

import pytest

from benchmarks.intervals import (
    LEAST,
    PAGE,
    cells,
    exact_rows,
    kappa_rows,
    misses,
    read_rows,
    render,
    rows_of,
    share_rows,
    write_rows,
)

N_FEW = 40


def test_the_page_sums_up_the_rows():
    assert render(read_rows()).rstrip() in PAGE.read_text("utf-8")


def test_rows_are_read_as_they_were_written(tmp_path):
    rows = read_rows()[:5]
    write_rows(rows, tmp_path / "rows.csv")
    write_rows(rows[:2], tmp_path / "rows.csv")
    assert [row.share for row in read_rows(tmp_path / "rows.csv")] == [row.share for row in rows]


def test_published_rows_contain_their_target():
    """At least 93 % of each kind of data sets, by two standard errors where it is simulated."""
    rows = [row for row in read_rows() if row.n_defined]
    assert len(rows) > 800
    assert misses(rows) == []
    assert min(row.share for row in rows if not row.error) >= LEAST


def test_enumerated_shares_are_those_that_are_published():
    published = {(row.interval, row.data_sets): row.share for row in read_rows()}
    for row in share_rows():
        assert published[row.interval, row.data_sets] == row.share


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_all_enumerated_rows_are_those_that_are_published():
    published = {(row.interval, row.data_sets): row for row in read_rows()}
    for row in (*exact_rows("exact"), *kappa_rows()):
        known = published[row.interval, row.data_sets]
        assert (row.share, row.width) == pytest.approx((known.share, known.width), abs=1e-4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_simulated_cells_agree_with_the_enumeration():
    """Five ordered options and more items, with few data sets: none far below 93 %."""
    chosen = [cell for cell in cells() if "100 items, 3 raters, right in 90%" in cell.name]
    rows = [row for cell in chosen for row in rows_of(cell, N_FEW)]
    assert {row.interval for row in rows} >= {"value of the first judge", "share of items"}
    for row in rows:
        assert row.is_rare or row.share >= LEAST - 0.13, row

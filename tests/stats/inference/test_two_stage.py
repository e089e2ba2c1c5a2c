"""Intervals that resample items, or items and their criteria, contain what they should."""

from __future__ import annotations

import pytest

from benchmarks.two_stage import LEAST, Design, rows_of


@pytest.mark.slow
def test_both_numbers_of_stages_hold_and_the_second_is_wider():
    """A reduced version of the table in docs/coverage.md."""
    rows = rows_of(Design(30, 2, 1.5), 100)
    widths = {}
    for row in rows:
        allowed = LEAST - 2 * (LEAST * (1 - LEAST) / int(row["n"])) ** 0.5
        assert float(row["coverage"]) >= allowed
        widths[row["metric"], row["stages"]] = float(row["width"])
    for metric in ("hit_rate(h/h)", "cohen_kappa(h/h)"):
        assert widths[metric, 2] >= widths[metric, 1]
    assert widths["hit_rate(h/h)", 2] > 1.1 * widths["hit_rate(h/h)", 1]

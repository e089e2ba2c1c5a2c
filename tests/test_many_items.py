"""Validation of many items: verdicts are counted as they are read, not held as objects."""

from __future__ import annotations

import pytest

from benchmarks.validation import MOST_MB, MOST_TIMES, UNIT, measured


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_100_000_items_take_a_third_of_the_memory_of_objects(tmp_path):
    """Three judges and three raters: time is measured by what parsing the files takes here."""
    used, parsed_s = measured(tmp_path, UNIT)
    assert used.peak_mb <= MOST_MB
    assert used.cpu_s <= MOST_TIMES * parsed_s

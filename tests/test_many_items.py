"""Validation of many items: verdicts are counted as they are read, not held as objects."""

from __future__ import annotations

import pytest

from benchmarks.validation import BASE_MB, MB_OF_ITEM, MOST_TIMES, UNIT, measured


@pytest.fixture(scope="module")
def used_and_parsed_s(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("many"), UNIT)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_100_000_items_take_a_few_times_what_parsing_takes(used_and_parsed_s):
    """Three judges and three raters: time is measured by what parsing the files takes here."""
    used, parsed_s = used_and_parsed_s
    assert used.cpu_s <= MOST_TIMES * parsed_s


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_100_000_items_take_a_third_of_the_memory_of_objects(used_and_parsed_s):
    """The memory that verdicts and ratings took as objects was 1,059 MB."""
    used, _ = used_and_parsed_s
    assert used.peak_mb <= BASE_MB + MB_OF_ITEM * UNIT

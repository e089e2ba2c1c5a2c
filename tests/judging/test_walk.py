"""What one ordinary forced choice passes through, from its item to its line in verdicts.jsonl."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.task_folders import make_task_folder

from benchmarks.walk import N_ITEMS, ROLES, WHOLE, files_of_rows, walk_of

MAX_FILES_OF_ROWS = 19  # of 46 when a folder was written and read on the way
MAX_FILES_OF_WHOLE_ROWS = 15  # where nothing is guessed
MAX_FILES = 12  # of 24 at first
RARE = {
    "budget.py",
    "conversations.py",
    "held_requests.py",
    "retry.py",
}  # for limits, conversations, batches, faults


@pytest.mark.slow
def test_the_walk_of_a_forced_choice(stub, tmp_path):
    """It enters one strategy, and nothing of clusters or rare cases."""
    walk = walk_of(make_task_folder(tmp_path / "small", N_ITEMS), stub.url(), tmp_path)
    files = set(walk.functions)
    assert {"judging/prompts/requests.py", "judging/parsing/reply_reader.py"} <= files
    assert {"files/checksummed_log.py", "judging/judges/endpoint.py"} <= files
    assert [file for file in files if "strategies/" in file] == ["judging/strategies/strategy.py"]
    assert not [file for file in files if "cluster" in file or "lease" in file]
    assert not {Path(file).name for file in files} & RARE


@pytest.mark.slow
def test_the_walk_of_a_forced_choice_is_short(stub, tmp_path):
    """Checks for what servers hide in replies enter a file of their own only if they find it."""
    walk = walk_of(make_task_folder(tmp_path / "small", N_ITEMS), stub.url(), tmp_path)
    assert len(walk.functions) <= MAX_FILES, sorted(walk.functions)


def test_rows_in_memory_become_a_task_without_files():
    """No reader of files, no format and no writer is entered on the way."""
    files = files_of_rows(ROLES)
    assert len(files) <= MAX_FILES_OF_ROWS, sorted(files)
    others = (
        *("curation/formats", "annotation", "files/tables/reader", "files/regular_files"),
        *("tasks/columns/formats", "tasks/write"),
    )
    assert not [file for file in files if file.startswith(others)]


def test_rows_whose_mapping_says_all_are_read_by_the_core():
    """Nothing is guessed, and no edge is entered."""
    files = files_of_rows(ROLES | WHOLE)
    assert len(files) <= MAX_FILES_OF_WHOLE_ROWS, sorted(files)
    assert not [file for file in files if file.startswith("curation")]

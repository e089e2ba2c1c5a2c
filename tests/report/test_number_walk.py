"""How many files one number passes, from the replies of a judge to its cell on the page."""

from __future__ import annotations

import pytest

from benchmarks.number_walk import walk_of

MAX_FILES, MAX_FROM_VERDICTS = 12, 8


@pytest.mark.slow
def test_a_number_passes_few_files_from_reply_to_page(tmp_path):
    """It is made once, in the statistics, and only rendered by the report."""
    stacks = walk_of(tmp_path).stacks
    assert list(stacks) == ["verdict", "counts", "estimate", "cell"]
    files = set().union(*stacks.values())
    assert len(files) <= MAX_FILES, sorted(files)
    after = set().union(*(files for kind, files in stacks.items() if kind != "verdict"))
    assert len(after) <= MAX_FROM_VERDICTS, sorted(after)
    assert stacks["estimate"][-1].startswith("stats/")
    assert not [file for file in stacks["cell"] if file.startswith(("stats/", "analysis/"))]

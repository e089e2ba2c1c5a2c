"""Each table of claims is made by a script that one command runs, and the page names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.coverage import tables

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", tables())
def test_a_table_was_written_by_a_script_that_nobody_named(name):
    """The script exists and writes where it is asked to, and a page says that it does."""
    code = (CHECKOUT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    assert "--write" in code
    pages = [page.read_text(encoding="utf-8") for page in (CHECKOUT / "docs").rglob("*.md")]
    assert any(f"benchmarks/{name}.py" in page for page in pages)


def test_one_command_lists_them_all():
    """It says what each script writes."""
    listed = subprocess.run(
        [sys.executable, "benchmarks/coverage.py", "--list"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [line.partition(".py")[0] for line in listed] == list(tables())
    assert "series.py  docs/coverage.md" in listed

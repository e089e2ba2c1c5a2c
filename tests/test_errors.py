"""Errors say problem and advice, and files and faults are read in one place each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

import harness
from harness.errors import HarnessError, OptionError, TaskError, fault_of
from harness.files import TooLarge, read_file

HARNESS = Path(harness.__file__).resolve().parent


def sources():
    return {path: path.read_text(encoding="utf-8") for path in HARNESS.rglob("*.py")}


def test_a_fault_of_pydantic_becomes_a_line_in_one_place():
    """Eight places did, each with other words and with another rule for what is shown."""
    users = [path.name for path, text in sources().items() if re.search(r"\.errors\(", text)]
    assert users == ["errors.py"]


def test_no_text_of_an_error_is_split_again():
    """Problem and advice are two fields; their text was cut at "; " in several places."""
    pattern = r"""\b(split|partition|rpartition|rsplit)\(['"]; ?['"]"""
    assert [path.name for path, text in sources().items() if re.search(pattern, text)] == []


def test_a_file_is_read_up_to_a_limit_in_one_place():
    """Six places read one byte more than they allow, to see whether there is more."""
    users = [
        path.name
        for path, text in sources().items()
        if re.search(r"\.read\([A-Za-z_.]+ \+ 1\)", text)
    ]
    assert users == ["files.py"]


def test_a_large_file_is_not_held_in_memory(tmp_path):
    """What is exactly as large as allowed is read."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    assert read_file(file, 10) == b"x" * 10
    with pytest.raises(TooLarge, match="larger than 9 bytes"):
        read_file(file, 9)
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(OSError, match="not a regular file"):
        read_file(tmp_path / "link", 10)
    assert read_file(tmp_path / "link", 10, follow_links=True) == b"x" * 10


def test_problem_and_advice_are_kept_apart():
    """They were split again at the first semicolon of the text, wherever that stood."""
    error = TaskError("task: found 'a; b'", "rename it", reason="unknown_label")
    assert str(error) == "task: found 'a; b'; rename it"
    assert (error.problem, error.advice, error.reason) == (
        "task: found 'a; b'",
        "rename it",
        "unknown_label",
    )
    assert str(HarnessError("nothing was written")) == "nothing was written"


def test_an_option_is_worded_for_its_reader():
    """Arguments in Python, flags on the command line."""
    error = OptionError("limit", "it is too small", "see {max_cost}", found=0)
    assert str(error) == "limit=0: it is too small; see max_cost"
    assert error.worded(lambda name: f"--{name}") == (
        "--limit=0: it is too small",
        "see --max_cost",
    )


def test_the_first_fault_is_named_with_its_place():
    """Without the branches of a union, and with the number of those that follow."""

    class Inner(BaseModel):
        key: int

    class Outer(BaseModel):
        options: list[Inner]
        name: str

    with pytest.raises(ValidationError) as raised:
        Outer.model_validate({"options": [{"key": 1}, {"key": "x"}]})
    fault = fault_of(raised.value)
    assert (fault.place, fault.kind, fault.found, fault.n_more) == (
        "options.1.key",
        "int_parsing",
        "x",
        1,
    )

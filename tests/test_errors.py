"""Errors say problem and advice, and files and faults are read in one place each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError
from support.source_trees import nodes_of

import harness
from harness import errors
from harness.errors import HarnessError, OptionError, TaskError, fault_of
from harness.files.regular_files import TooLarge, read_file

HARNESS = Path(harness.__file__).resolve().parent
UNLIKE_ERRORS = {"JudgeUnavailable", "CallFailed", "BudgetSpent"}  # by their names


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


@pytest.mark.parametrize("end", [".", "?", "!"])
def test_a_problem_that_is_a_sentence_gets_no_second_full_stop(end):
    """Problem and advice were tied with a semicolon, whatever came before it."""
    assert str(HarnessError(f"found two{end}", "Keep one.")) == f"found two{end} Keep one."
    error = HarnessError("found --two", "Keep one")
    error.reword(str.upper)
    assert str(error) == "FOUND --TWO. KEEP ONE"


def errors_of(nodes):
    """Return the literal texts of all errors that a module raises: of a kind, in an argument."""
    for call in nodes:
        if isinstance(call, ast.Call):
            kind = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if kind.endswith("Error") or kind in UNLIKE_ERRORS:
                for k, argument in enumerate(call.args):
                    if isinstance(argument, ast.Constant | ast.JoinedStr):
                        yield kind, k, argument


def test_advice_is_a_sentence_of_its_own():
    """What is wrong, full stop, then what to do; `harness.stats` raises no `HarnessError`."""
    wrong = []
    for path in sources():
        if path.is_relative_to(HARNESS / "stats"):
            continue
        for kind, k, argument in errors_of(nodes_of(path)):
            parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
            said = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
            has_advice = issubclass(getattr(errors, kind, object), HarnessError)
            is_advice = has_advice and k == 1 + (kind == "OptionError")
            if "; " in "".join(said) or (is_advice and said and said[0][:1].islower()):
                wrong.append(f"{path.name}:{argument.lineno}: {said}")
    assert not wrong, "\n".join(wrong)


def test_a_file_is_read_up_to_a_limit_in_one_place():
    """Six places read one byte more than they allow, to see whether there is more."""
    users = [
        path.name
        for path, text in sources().items()
        if re.search(r"\.read\([A-Za-z_.]+ \+ 1\)", text)
    ]
    assert users == ["regular_files.py"]


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
    error = TaskError("task: found 'a; b'", "Rename it", reason="unknown_label")
    assert str(error) == "task: found 'a; b'. Rename it"
    assert (error.problem, error.advice, error.reason) == (
        "task: found 'a; b'",
        "Rename it",
        "unknown_label",
    )
    assert str(HarnessError("nothing was written")) == "nothing was written"


def test_an_option_is_worded_for_its_reader():
    """Arguments in Python, flags on the command line."""
    error = OptionError("limit", "it is too small", "See {max_cost}", found=0)
    assert str(error) == "limit=0: it is too small. See max_cost"
    assert error.worded(lambda name: f"--{name}") == (
        "--limit=0: it is too small",
        "See --max_cost",
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

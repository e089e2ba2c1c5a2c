"""Identifiers name what they hold."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
HARNESS = TESTS.parent / "harness"
EMPTY_WORDS = {"one", "found", "told", "known", "given", "mine"}
MOST_PER_THOUSAND = 3


def bindings(folder):
    """Count the names that code binds: assignment targets, arguments and definitions."""
    names = Counter()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    names[name] += 1
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    names[node.name] += 1
    return names


@pytest.mark.parametrize("folder", [HARNESS, TESTS], ids=["harness", "tests"])
def test_identifiers_are_not_empty_words(folder):
    """Words that name nothing stay below 3 of 1,000 bindings."""
    names = bindings(folder)
    total = sum(names.values())
    assert total > 10_000
    empty = {word: names[word] for word in EMPTY_WORDS if names[word]}
    assert 1000 * sum(empty.values()) / total < MOST_PER_THOUSAND, empty


def test_a_basename_stands_once():
    """A file is found by its name; commands may be called like what they run."""
    names = Counter(
        path.name
        for path in HARNESS.rglob("*.py")
        if "cli" not in path.relative_to(HARNESS).parts[:1] and path.name != "__init__.py"
    )
    assert [name for name, n in names.items() if n > 1] == []

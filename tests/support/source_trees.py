"""The syntax trees of the package, parsed once for all tests that read its code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2] / "harness"


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a file of the package; nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file of the package."""
    return tuple(ast.walk(tree_of(path)))


def trees_with(pattern: str) -> dict[Path, ast.Module]:
    """Return the trees of the files whose text matches a regular expression."""
    found = {path: path.read_text(encoding="utf-8") for path in sorted(HARNESS.rglob("*.py"))}
    return {path: tree_of(path) for path, text in found.items() if re.search(pattern, text)}


def source_nodes() -> list[ast.AST]:
    """Return all nodes of the package, file by file."""
    return [node for path in sorted(HARNESS.rglob("*.py")) for node in nodes_of(path)]

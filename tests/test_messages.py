"""What messages of the program are made of."""

from __future__ import annotations

import ast
import re

import pytest
from support.source_trees import source_nodes

PLACEHOLDER = re.compile(r"\{[a-z_]\w*[.(\[]")


@pytest.mark.slow
def test_a_placeholder_is_filled():
    """A part of an f-string that lost its prefix printed its code: "{counted([asked.n_items])}"."""
    parts = [
        part.value
        for node in source_nodes()
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant)
    ]
    assert len(parts) > 1000
    assert [part for part in parts if PLACEHOLDER.search(part)] == []

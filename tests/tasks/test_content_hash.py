"""The text that the hash of a task's content is of."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st
from support.each_case import for_each

from harness.tasks.model import _json_of_texts

TEXTS = st.text(st.characters(), max_size=8)  # halves of surrogate pairs, too


@for_each([*range(0x80), 0xE9, 0x2028, 0xD800, 0xFFFF, 0x1F600])
def test_each_character_is_hashed_as_json_writes_it(code):
    """Quick JSON leaves some characters as they are that the hash escapes."""
    rows = [(f"a{chr(code)}", None, {"b": chr(code), f"a{chr(code)}": ""}, ["x", chr(code)])]
    assert _json_of_texts(rows) == json.dumps(rows, sort_keys=True, separators=(",", ":"))


@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3))))
@example([("\x7f", None, {})])
def test_quick_json_of_texts_is_that_of_json(rows):
    """The hash of a task is the same whichever of the two wrote it."""
    assert _json_of_texts(rows) == json.dumps(rows, sort_keys=True, separators=(",", ":"))

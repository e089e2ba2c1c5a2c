"""Writing ``task.yaml``: what is written is read back the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.strict_yaml import read_yaml
from harness.tasks.write import Field, task_yaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), max_size=40)
NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
VALUES = st.recursive(
    TEXTS, lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3)
)


@pytest.mark.slow
@given(fields=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_any_fields_are_read_back_the_same(fields, tmp_path_factory):
    path = tmp_path_factory.mktemp("yaml") / "task.yaml"
    commented = [Field(name, value, "\nWhat it means: a, b") for name, value in fields.items()]
    examples = [Field("example", ["a", "b"], is_example=True), Field("", comment="The end.")]
    path.write_text(task_yaml([*commented, *examples]), encoding="utf-8", newline="")
    assert read_yaml(path) == fields


def test_a_mapping_of_lists_is_no_line_of_its_own(tmp_path):
    """``sensitivity: B: [A]`` is not YAML."""
    path = tmp_path / "task.yaml"
    path.write_text(task_yaml([Field("sensitivity", {"B": ["A"]})]), encoding="utf-8")
    assert read_yaml(path) == {"sensitivity": {"B": ["A"]}}

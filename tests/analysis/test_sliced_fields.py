from __future__ import annotations

import numpy as np
import pytest
from support.analysis_inputs import task_of

from harness.analysis.sliced_fields import sliced_field, sliced_fields
from harness.tasks import Item


def items_with(values, *, name="language", texts=None):
    """Make an item of each value of a field; None leaves the field out."""
    return tuple(
        Item(f"i{i}", {"text": texts[i] if texts else "a b c"} | ({} if v is None else {name: v}))
        for i, v in enumerate(values)
    )


def counts(field):
    """Return how many items have each value, in the order of the field."""
    return dict(zip(field.values, field.members.sum(axis=1).tolist(), strict=True))


def test_items_are_sliced_by_value():
    """Each value is a slice, the most frequent first; items without one are in none."""
    field = sliced_field("language", items_with(["de"] * 12 + ["en"] * 20 + [None, ""]))
    assert counts(field) == {"en": 20, "de": 12}
    assert field.of_item[-2:].tolist() == [-1, -1]


def test_rare_values_are_pooled():
    """Values of fewer than ten items are one slice, which says how many values it is."""
    field = sliced_field("language", items_with(["en"] * 20 + ["de"] * 9 + ["fr"] * 8))
    assert counts(field) == {"en": 20, "2 rare values": 17}
    assert field.n_pooled == 2


def test_a_field_has_at_most_twelve_values():
    """The eleven most frequent values are slices, the others one together."""
    values = [f"v{k:02}" for k in range(15) for _ in range(30 - k)]
    field = sliced_field("product", items_with(values, name="product"))
    assert len(field.values) == 12
    assert field.values[-1] == "4 rare values"
    assert field.members.sum() == len(values)


def test_twelve_frequent_values_are_not_pooled():
    """Twelve values fit."""
    field = sliced_field("product", items_with([f"v{k}" for k in range(12)] * 10, name="product"))
    assert (len(field.values), field.n_pooled) == (12, 0)


def test_a_pooled_name_is_not_taken_for_a_value():
    """A value that is called like the pooled ones keeps its name."""
    field = sliced_field("f", items_with(["1 rare value"] * 20 + ["x"], name="f"))
    assert field.values == ("1 rare value", "(1 rare value)")


@pytest.mark.parametrize("values", [["en"] * 30, [None] * 30, [f"id {i}" for i in range(300)]])
def test_a_field_that_tells_no_items_apart_has_no_slices(values):
    """One value, no value, and a value for each item allow for no comparison."""
    assert sliced_field("language", items_with(values)) is None


def test_numbers_are_cut_into_thirds():
    """More than three different numbers are a scale."""
    field = sliced_field("price", items_with([str(n / 2) for n in range(30)], name="price"))
    assert field.kind == "thirds"
    assert counts(field) == {"up to 4.5": 10, "above 4.5 to 9.5": 10, "above 9.5": 10}


def test_few_different_numbers_are_values():
    """A version 1, 2 or 3 is a name."""
    field = sliced_field("version", items_with(["1", "2", "3"] * 10, name="version"))
    assert set(field.values) == {"1", "2", "3"}


def test_a_number_that_is_missing_is_in_no_third():
    """Blank cells do not turn numbers into names."""
    field = sliced_field("price", items_with([str(n) for n in range(30)] + [""], name="price"))
    assert field.kind == "thirds"
    assert field.of_item[-1] == -1


def test_the_length_of_texts_is_a_field_if_items_have_any():
    """Words of what judges are shown; without another field, nothing is analysed."""
    texts = ["w " * n for n in range(1, 31)]
    task = task_of({"r": {"i0": "A"}})
    fields = sliced_fields(task, items_with(["de", "en"] * 15, texts=texts))
    assert [(field.name, field.kind) for field in fields] == [
        ("language", "values"),
        ("length in words", "words"),
    ]
    assert counts(fields[1]) == {"up to 10": 10, "above 10 to 20": 10, "above 20": 10}
    assert sliced_fields(task, items_with([None] * 30, texts=texts)) == ()


def test_texts_answers_and_probabilities_are_not_sliced():
    """What judges are shown, the right answer, and how items were drawn describe no slice."""
    task = task_of({"r": {"i0": "A"}}, alt_test={"gold": "key"}, reasons="why")
    fields = {"text": "a", "key": "A", "why": "so", "inclusion_probability": "0.5"}
    items = [Item(f"i{i}", fields | {"source_item": f"i{i % 3}"}) for i in range(40)]
    other = [Item(item.id, item.fields | {"key": "B", "why": "no"}) for item in items]
    assert sliced_fields(task, [*items, *other]) == ()


def test_members_are_of_one_slice_each():
    """No item has two values of a field."""
    field = sliced_field("language", items_with(["de", "en"] * 20))
    assert np.array_equal(field.members.sum(axis=0), np.ones(40))

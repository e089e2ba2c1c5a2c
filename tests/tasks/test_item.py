"""Items: what they store, and that they are values."""

from __future__ import annotations

import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks import Item

FIELDS = st.dictionaries(st.text(), st.text(), max_size=5)


@given(fields=FIELDS)
def test_fields_are_those_that_were_given_in_their_order(fields):
    """They are stored as a tuple, but come back as the same dict."""
    item = Item("a", fields)
    assert list(item.fields.items()) == list(fields.items())
    assert item.field_names == tuple(fields)


@given(fields=FIELDS, group=st.none() | st.text())
def test_copies_are_equal(fields, group):
    """Also if an item was pickled, or one part was replaced and replaced back."""
    item = Item("a", fields, group)
    assert copy.deepcopy(item) == pickle.loads(pickle.dumps(item)) == item
    assert replace(replace(item, fields={"other": ""}), fields=fields) == item
    assert replace(item, criterion="b") != item


def test_items_do_not_change():
    """Neither do their fields, of which a reader gets a new dict."""
    item = Item("a", {"text": "b"})
    item.fields["text"] = "c"
    assert item.fields == {"text": "b"}
    for name in ("id", "fields"):
        with pytest.raises(FrozenInstanceError):
            setattr(item, name, {})


def test_items_with_the_same_fields_share_their_names():
    """A million items would otherwise have a million tuples of names."""
    first, second = (Item(name, {"text": name, "title": name}) for name in "ab")
    assert first.field_names is second.field_names
    assert sys.getsizeof(first) <= 80  # bytes

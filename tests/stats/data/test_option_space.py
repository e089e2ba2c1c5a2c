from __future__ import annotations

import numpy as np
import pytest

from harness import stats
from harness.stats import OptionSpace


def test_powerset_is_ordered_by_size_then_by_options():
    """Sets come smallest first, and among equals in the order of the options."""
    space = OptionSpace.powerset(("b", "a", "c"))
    assert space.sets == (
        ("b",),
        ("a",),
        ("c",),
        ("b", "a"),
        ("b", "c"),
        ("a", "c"),
        ("b", "a", "c"),
    )


def test_listed_sets_are_put_in_the_same_order():
    """How sets were listed changes nothing."""
    listed = OptionSpace(("a", "b"), (("b", "a"), ("b",), ("a",)))
    assert listed.sets == (("a",), ("b",), ("a", "b"))
    assert listed == OptionSpace.powerset(("a", "b"))


def test_membership_says_which_option_is_in_which_set():
    """Lambda has options as rows and sets as columns, and cannot be written to."""
    space = OptionSpace.powerset(("a", "b"))
    np.testing.assert_array_equal(space.membership, [[1, 0, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match="read-only"):
        space.membership[0, 0] = False


def test_parser_and_membership_order_sets_differently():
    """For every set, omega of a judge that always answers it is that set's indicator."""
    space = OptionSpace.powerset(("a", "b", "c", "d"))
    for v, members in enumerate(space.sets):
        always = stats.RatingTable.count(
            space, "z", ["i"], response_set=[("i", tuple(reversed(members)))] * 3
        )
        assert always.response_set[0, v] == 3
        wanted = [float(option in members) for option in space.options]
        np.testing.assert_array_equal(stats.Distributions.of(always).omega[0], wanted)


def test_singletons_are_fully_specified_only_if_the_sets_are_known():
    """Where raters may mean sets that are not listed, O does not determine theta."""
    assert OptionSpace.singletons(("a", "b")).fully_specified
    assert not OptionSpace.singletons(("a", "b"), sets_known=False).fully_specified
    assert not OptionSpace.powerset(("a", "b")).fully_specified


def test_indices_find_options_and_sets_in_any_order():
    """A set is found whatever the order of its options."""
    space = OptionSpace.powerset(("a", "b", "c"))
    assert space.option_index("c") == 2
    assert space.sets[space.set_index(("c", "a"))] == ("a", "c")
    with pytest.raises(ValueError, match="'d'"):
        space.option_index("d")
    with pytest.raises(ValueError, match="not an admissible response set"):
        space.set_index(("a", "d"))
    with pytest.raises(ValueError, match="not an admissible response set"):
        space.set_index(("a", "a"))


def test_meets_is_the_union_over_positive_options():
    """A set is positive when it holds any positive option."""
    space = OptionSpace.powerset(("a", "b", "c"))
    expected = [bool({"a", "b"} & set(response_set)) for response_set in space.sets]
    assert space.meets(("a", "b")).tolist() == expected
    with pytest.raises(ValueError, match="at least one option"):
        space.meets(())
    with pytest.raises(ValueError, match="'z'"):
        space.meets(("z",))


@pytest.mark.parametrize(
    ("options", "sets", "message"),
    [
        ((), (), "options is empty"),
        (("a", "a"), (("a",),), "'a' is listed twice"),
        (("a", ""), (("a",),), "is not a name"),
        (("a", 1), (("a",),), "is not a name"),
        (("a", "b"), (("a",), ()), "is not a response set"),
        (("a", "b"), (("a",), ("b", "b")), "is not a response set"),
        (("a", "b"), ("a", "b"), "is not a response set"),
        (("a", "b"), (("a",), ("b", "z")), "'z'"),
        (("a", "b"), (("a", "b"), ("b", "a")), "listed twice"),
        (("a", "b"), (("a",),), "not in any response set"),
    ],
)
def test_space_that_cannot_be_is_refused(options, sets, message):
    """The message names what is wrong."""
    with pytest.raises(ValueError, match=message):
        OptionSpace(options, sets)


def test_powerset_of_more_than_ten_options_is_refused():
    """2^11 sets are too many to enumerate."""
    assert len(OptionSpace.powerset(map(str, range(10))).sets) == 1023
    with pytest.raises(ValueError, match="11 options"):
        OptionSpace.powerset(map(str, range(11)))


def test_repr_fits_a_line():
    """It tells sizes, and that sets are unknown if they are."""
    assert repr(OptionSpace.powerset("ab")) == "OptionSpace(2 options, 3 response sets)"
    assert "unknown" in repr(OptionSpace.singletons("ab", sets_known=False))

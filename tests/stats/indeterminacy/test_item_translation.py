from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table

from harness.stats import OptionSpace, RatingTable
from harness.stats.indeterminacy.translation import F_hat_by_item

BOTH = ("toxic", "fine")
SPACE = OptionSpace.powerset(BOTH)
V_BOTH = SPACE.set_index(BOTH)


def paired(share, n_pairs, rng):
    """Draw pairs of raters who all endorse both and choose toxic with their item's share."""
    share = np.asarray(share)
    joint = np.zeros((len(share), 2, 3), int)
    joint[:, 0, V_BOTH] = rng.binomial(n_pairs, share)
    joint[:, 1, V_BOTH] = n_pairs - joint[:, 0, V_BOTH]
    return RatingTable(
        space=SPACE,
        name="z",
        items=tuple(map(str, range(len(share)))),
        forced_choice=joint.sum(axis=2),
        response_set=joint.sum(axis=1),
        joint=joint,
        outcomes=np.zeros((len(share), 3, 5), int),
    )


def test_F_by_item_is_counted_on_the_support():  # noqa: N802 -- F is the paper's letter
    """Each item by itself; a choice outside the set is left out."""
    pairs = [[(BOTH, "toxic"), (BOTH, "fine")], [(BOTH, "fine"), (("toxic",), "fine")]]
    by_item = F_hat_by_item(count_table("z", pairs=pairs))
    np.testing.assert_allclose(by_item.F[:, :, V_BOTH], [[0.5, 0.5], [0, 1]])
    assert np.isnan(by_item.F[:, :, 0]).all()
    np.testing.assert_allclose(by_item.F_reverse[1, :, 1], [0, 0, 1])
    assert by_item.n_pairs.tolist() == [2, 1]
    assert by_item.reasons == ("", "")


def test_per_item_F_of_independent_calls_is_not_identified():  # noqa: N802 -- F
    """A true 1.0 would come out as about 0.5: matched calls only return O. Hence NA."""
    pairs = [[(BOTH, "toxic")], [], []]
    table = count_table("z", [[], ["fine", "toxic"], ["fine"]], [[], [BOTH, BOTH], []], pairs)
    by_item = F_hat_by_item(table)
    assert by_item.reasons == ("", "not_identified", "no_pairs")
    assert np.isnan(by_item.F[1:]).all()
    assert F_hat_by_item(count_table("z", [["fine"]], [[BOTH]])).reasons == ("not_identified",)


def test_counts_of_paired_ratings_are_consistent():
    """F of an item has a squared error of p q / m with m pairs, where p q averages 0.2."""
    rng = np.random.default_rng(0)
    share = rng.beta(6, 14, 2000)
    by_item = F_hat_by_item(paired(share, 100, rng))
    squared_error = ((by_item.F[:, 0, V_BOTH] - share) ** 2).mean()
    assert squared_error == pytest.approx(0.2 / 100, rel=0.1)
    assert repr(by_item) == "ItemTranslation(2000 items, 200000 pairs)"

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, random_table

from harness.stats import F_hat, OptionSpace, RatingTable
from harness.stats.indeterminacy.translation import F_hat_by_item, F_hat_shrunk

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
    assert by_item.strength == 0.0


def test_per_item_F_of_independent_calls_is_not_identified():  # noqa: N802 -- F
    """A true 1.0 would come out as about 0.5: matched calls only return O. Hence NA."""
    pairs = [[(BOTH, "toxic")], [], []]
    table = count_table("z", [[], ["fine", "toxic"], ["fine"]], [[], [BOTH, BOTH], []], pairs)
    by_item = F_hat_by_item(table)
    assert by_item.reasons == ("", "not_identified", "no_pairs")
    assert np.isnan(by_item.F[1:]).all()
    assert F_hat_by_item(count_table("z", [["fine"]], [[BOTH]])).reasons == ("not_identified",)


def test_items_that_differ_no_more_than_chance_get_the_pool():
    """All items share one F: the prior is infinitely strong, or nearly so."""
    table = paired(np.full(200, 0.3), 10, np.random.default_rng(0))
    shrunk = F_hat_shrunk(table)
    assert shrunk.strength > 50
    np.testing.assert_allclose(shrunk.F[:, :, V_BOTH].mean(axis=0), F_hat(table).F[:, V_BOTH])
    assert shrunk.F[:, 0, V_BOTH].std() < 0.03


def test_items_that_differ_keep_what_they_show():
    """Half the items always choose toxic, half never: shrinking hardly moves them."""
    share = np.repeat([0.0, 1.0], 100)
    shrunk = F_hat_shrunk(paired(share, 10, np.random.default_rng(0)))
    assert shrunk.strength < 0.01
    np.testing.assert_allclose(shrunk.F[:, 0, V_BOTH], share, atol=0.01)


@pytest.mark.parametrize("n_pairs", [10, 100, 1000])
def test_shrunk_F_is_closer_than_counting_and_consistent(n_pairs):  # noqa: N802 -- F
    """Shares drawn from Beta(6, 14): the strength comes back as 20, the error shrinks.

    The posterior mean has a squared error of p q / (20 + m) on average, counting p q / m, where
    p q averages 0.3 x 0.7 x 20 / 21 = 0.2.
    """
    rng = np.random.default_rng(n_pairs)
    share = rng.beta(6, 14, 2000)
    table = paired(share, n_pairs, rng)
    result, counting = F_hat_shrunk(table), F_hat_by_item(table)

    def squared_error(item_translation):
        return ((item_translation.F[:, 0, V_BOTH] - share) ** 2).mean()

    assert result.strength == pytest.approx(20, rel=0.2)
    assert squared_error(result) == pytest.approx(0.2 / (20 + n_pairs), rel=0.1)
    assert squared_error(counting) == pytest.approx(0.2 / n_pairs, rel=0.1)


def test_shrunk_columns_stay_zero_off_the_support():
    """F[k, v] is 0 where option k is not in set v, and columns sum to 1, also without pairs."""
    independent = random_table("z", 0)
    shrunk = F_hat_shrunk(independent)
    assert (shrunk.F[:, ~independent.space.membership] == 0).all()
    np.testing.assert_allclose(shrunk.F.sum(axis=1), 1.0)
    np.testing.assert_allclose(shrunk.F_reverse.sum(axis=1), 1.0)
    assert set(shrunk.reasons) == {""}


def test_shrinking_without_evidence_is_na():
    """One pair per item says nothing of how much items differ; none says nothing at all."""
    pairs = [(BOTH, "toxic"), (BOTH, "fine"), (("toxic",), "toxic"), (("fine",), "fine")]
    single = F_hat_shrunk(count_table("z", pairs=[[pair] for pair in pairs]))
    assert (single.strength, single.reasons) == (None, ("too_few_pairs",) * 4)
    assert np.isnan(single.F).all()
    nothing = F_hat_shrunk(count_table("z", [["fine"]]))
    assert (nothing.strength_reverse, nothing.reasons) == (None, ("no_pairs",))
    assert repr(nothing) == "ItemTranslation(1 items, 0 pairs)"


def test_columns_of_one_option_need_no_shrinking():
    """Who endorses one option chooses it: F is known, its reverse still wants pairs."""
    shrunk = F_hat_shrunk(count_table("z", pairs=[[(("toxic",), "toxic")], [(("fine",), "fine")]]))
    assert shrunk.strength == 0.0
    np.testing.assert_allclose(shrunk.F[0, :, 0], [1.0, 0.0])
    assert shrunk.reasons == ("", "")

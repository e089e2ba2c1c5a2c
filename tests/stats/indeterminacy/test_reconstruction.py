from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table

from harness.stats import OptionSpace, RatingTable, reconstruct
from harness.stats.indeterminacy.reconstruction import missing_pairs

BOTH = ("toxic", "fine")
SPACE = OptionSpace.powerset(BOTH)


def test_reconstruction_by_hand():
    """Of three who chose fine, one accepted both: omega of toxic is O + (1 - O) / 3."""
    fine, toxic = ("fine",), ("toxic",)
    pairs = [[(fine, "fine"), (fine, "fine"), (BOTH, "fine"), (toxic, "toxic")], []]
    table = count_table("human", [[], ["toxic", "fine"]], pairs=pairs)
    reconstruction = reconstruct(table)
    np.testing.assert_allclose(reconstruction.F_reverse, [[1, 0], [0, 2 / 3], [0, 1 / 3]])
    np.testing.assert_allclose(reconstruction.distributions.theta[1], [0.5, 1 / 3, 1 / 6])
    np.testing.assert_allclose(reconstruction.distributions.omega[1], [2 / 3, 0.5])
    assert (reconstruction.n_pairs, reconstruction.n_paired_items) == (4, 1)
    assert repr(reconstruction) == "Reconstruction(2 of 2 items, 4 pairs)"


def test_pairs_suffice_on_thirty_items_and_five_of_each_option():
    """Items count, not pairs, and an option that nobody ever chose needs none."""
    pair, rare = (("toxic",), "toxic"), (("fine",), "fine")
    few = count_table("human", [], pairs=[[pair] * 9] * 29)
    assert missing_pairs(few) == "there are pairs on 29 items, but 30 are needed"
    assert missing_pairs(count_table("human", [], pairs=[[pair]] * 30)) == ""
    uneven = count_table("human", [], pairs=[[pair]] * 26 + [[rare]] * 4)
    assert missing_pairs(uneven) == "option fine is chosen in pairs on 4 items, but 5 are needed"
    assert missing_pairs(count_table("human", [], pairs=[[pair]] * 25 + [[rare]] * 5)) == ""


def test_options_without_pairs_are_not_reconstructed():
    """NA item by item, with the reason; never a zero."""
    pairs = [[], [(("fine",), "fine")], []]
    table = count_table("human", [["toxic", "fine"], [], []], pairs=pairs)
    reconstruction = reconstruct(table)
    assert reconstruction.reasons == ("option_without_pairs", "", "no_forced_choices")
    assert np.isnan(reconstruction.distributions.omega[[0, 2]]).all()
    np.testing.assert_allclose(reconstruction.distributions.omega[1], [0.0, 1.0])
    unpaired = reconstruct(count_table("human", [["fine"]]))
    assert unpaired.reasons == ("option_without_pairs",)
    assert unpaired.n_pairs == 0


@pytest.mark.parametrize("n_raters", [10, 100, 1000])
def test_omega_is_recovered_from_a_paired_subset(n_raters):
    """100 of 400 items paired; P(set | choice) is the same for all, so omega comes back.

    Who chose fine accepts both with probability 0.4. Omega of toxic is O + 0.4 (1 - O).
    """
    rng = np.random.default_rng(n_raters)
    share = rng.beta(1, 2, 400)
    chosen = rng.binomial(n_raters, share)
    joint = np.zeros((400, 2, 3), int)
    joint[:100, 0, 0] = chosen[:100]
    joint[:100, 1, 2] = rng.binomial(n_raters - chosen[:100], 0.4)
    joint[:100, 1, 1] = n_raters - chosen[:100] - joint[:100, 1, 2]
    table = RatingTable(
        space=SPACE,
        name="human",
        items=tuple(map(str, range(400))),
        forced_choice=np.stack([chosen, n_raters - chosen], axis=1),
        response_set=joint.sum(axis=1),
        joint=joint,
        outcomes=np.zeros((400, 3, 5), int),
    )
    reconstruction = reconstruct(table)
    truth = share + 0.4 * (1 - share)
    error = np.abs(reconstruction.distributions.omega[:, 0] - truth)
    assert error[100:].mean() < 0.6 * 0.5 / n_raters**0.5 + 0.02

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.each_case import fast_first
from support.rating_tables import count_table, evaluate_judges, seeded

from harness.stats import Exclusion, F_and_beta_by_likelihood, OptionSpace, RatingTable, Resampling
from harness.stats.indeterminacy.likelihood import F_by_likelihood
from harness.stats.indeterminacy.translation_intervals import F_intervals

BINARY = OptionSpace.powerset(("toxic", "fine"))
THREE = OptionSpace.powerset(("toxic", "rude", "fine"))
V_BOTH = BINARY.set_index(("toxic", "fine"))


def beta_of(table, positive, resampling):
    """Return the estimate of beta alone."""
    return F_and_beta_by_likelihood(table, positive, resampling=resampling)[1]


def chooses_toxic(share):
    """F of raters who choose toxic with this probability when both are reasonable."""
    return np.array([[1.0, 0.0, share], [0.0, 1.0, 1.0 - share]])


def calls(theta, choice, n_calls, rng, space=BINARY):
    """Draw forced choices and response sets that do not know of each other."""
    return RatingTable(
        space=space,
        name="z",
        items=tuple(map(str, range(len(theta)))),
        forced_choice=rng.multinomial(n_calls, theta @ choice.T),
        response_set=rng.multinomial(n_calls, theta),
        joint=None,
        outcomes=np.zeros((len(theta), 3, 5), int),
    )


def matched_by_index(theta, choice, n_calls, rng):
    """F[toxic | both] as read off calls that are paired all with all, pooled."""
    table = calls(theta, choice, n_calls, rng)
    joint = np.einsum("nk,nv->kv", table.forced_choice, table.response_set)
    return joint[0, V_BOTH] / joint[:, V_BOTH].sum()


@pytest.mark.parametrize("n_calls", [10, 100, 1000])
def test_likelihood_recovers_F_where_matching_calls_does_not(n_calls):  # noqa: N802 -- F
    """True F[toxic | both] = 0.30: matched calls give 0.40, however many there are.

    That is (E[theta_toxic theta_both] + 0.3 E[theta_both^2]) / E[theta_both].
    """
    rng = np.random.default_rng(n_calls)
    theta = rng.dirichlet((1, 1, 1), 300)
    table = calls(theta, chooses_toxic(0.3), n_calls, rng)
    fit = F_by_likelihood(table, resampling=Resampling(rng=rng))
    within = {10: 0.06, 100: 0.02, 1000: 0.01}[n_calls]
    assert fit.F[0, V_BOTH] == pytest.approx(0.3, abs=within)
    assert matched_by_index(theta, chooses_toxic(0.3), n_calls, rng) == pytest.approx(0.4, abs=0.04)
    assert fit.reasons == ("", "", "")
    assert (fit.n_items, fit.n_forced, fit.n_sets) == (300, 300 * n_calls, 300 * n_calls)
    assert fit.converged


@pytest.mark.parametrize("n_calls", [10, 100])
def test_likelihood_recovers_F_of_three_options(n_calls):  # noqa: N802 -- F
    """Five free entries; root mean squared error below 0.06 and 0.02, and none off the support."""
    rng = np.random.default_rng(3)
    choice = THREE.membership * rng.random(THREE.membership.shape)
    choice /= choice.sum(axis=0)
    theta = rng.dirichlet(np.ones(7), 300)
    fit = F_by_likelihood(calls(theta, choice, n_calls, rng, THREE), resampling=Resampling(rng=rng))
    error = np.sqrt(np.mean((fit.F - choice) ** 2))
    assert error < {10: 0.06, 100: 0.02}[n_calls]
    np.testing.assert_allclose(fit.F.sum(axis=0), 1.0)
    assert (fit.F[~THREE.membership] == 0).all()


def test_cross_call_beta_turns_a_beta_of_0035_into_035():
    """A true beta of 0.035 is seen as 0.35 across calls, and as itself by likelihood.

    Theta from Dirichlet(a, a, a): the cross-call share is 2 a / (3 a + 1) = 0.35 for a = 0.368, and
    beta f / (1 + f) for raters who choose fine with probability f when both are reasonable.
    """
    rng = np.random.default_rng(0)
    f = 0.035 / 0.965
    theta = rng.dirichlet(np.full(3, 0.368), 1000)
    table = calls(theta, chooses_toxic(1 - f), 10, rng)
    crossed = evaluate_judges(table, table).translations["z"].cross_call_beta.value
    beta = beta_of(table, ("toxic",), resampling=Resampling(rng=rng))
    truth = f * theta[:, 2].sum() / (theta[:, 1] + f * theta[:, 2]).sum()
    assert truth == pytest.approx(0.035, abs=0.005)
    assert crossed == pytest.approx(0.35, abs=0.03)
    assert beta.value == pytest.approx(truth, abs=0.02)
    assert beta.counts == {"forced_calls": 10000.0, "set_calls": 10000.0}


def test_interval_of_beta_is_at_least_as_wide_as_beta_varies():
    """Half the width over 1.96 is not below the standard deviation over data sets; groups count as
    one.

    0.060 is that of 400 data sets such as these (seeds 0 to 399). Wilson's interval of 60 items,
    which the interval is never narrower than, makes it 0.069.
    """
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table = calls(rng.dirichlet((1, 1, 1), 60), chooses_toxic(0.3), 5, rng)
        beta = beta_of(table, ("toxic",), resampling=Resampling(rng=rng))
        errors.append((beta.interval.high - beta.interval.low) / 2 / 1.96)
    assert 0.060 < np.mean(errors) < 0.075
    assert (beta.interval.method, beta.interval.level, beta.n_resamples) == (
        "profile likelihood",
        0.95,
        0,
    )
    twice = RatingTable(
        space=table.space,
        name="z",
        items=tuple(map(str, range(120))),
        forced_choice=np.repeat(table.forced_choice, 2, axis=0),
        response_set=np.repeat(table.response_set, 2, axis=0),
        joint=None,
        outcomes=np.zeros((120, 3, 5), int),
    )
    groups = [str(i // 2) for i in range(120)]
    beta_of_groups = beta_of(twice, ("toxic",), resampling=Resampling(rng=rng, groups=groups))
    error = (beta_of_groups.interval.high - beta_of_groups.interval.low) / 2 / 1.96
    assert error == pytest.approx(errors[-1], rel=0.05)
    assert beta_of_groups.interval.unit == "group"


def test_interval_of_a_beta_of_zero_has_zero_width():
    """Nobody accepted a set that hides the positive option: the exact interval of none in
    20 items.

    The jackknife saw nothing move, and gave none; or [0, 0] where F said that it is never hidden.
    """
    table = calls(
        np.tile([[0.3, 0.7, 0.0], [0.8, 0.2, 0.0]], (10, 1)),
        chooses_toxic(0.5),
        9,
        np.random.default_rng(0),
    )
    beta = beta_of(table, ("toxic",), resampling=seeded())
    assert (beta.value, beta.interval.low) == (0.0, 0.0)
    assert beta.interval.high == pytest.approx(0.20, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("small_beta", "n_calls"), [(0.009, 5), (0.009, 10), (0.03, 10)])
def test_intervals_of_a_small_beta_exclude_it(small_beta, n_calls):
    """48 to 82 % held it; now at least 92 % do. docs/coverage.md has the whole table.

    40 data sets of 120 items; fewer than 34 of 40 would be a chance of 1 % at 92 %.
    """
    f, n_held = small_beta / (1 - small_beta), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = calls(rng.dirichlet((1, 1, 1), 120), chooses_toxic(1 - f), n_calls, rng)
        interval = beta_of(table, ("toxic",), resampling=Resampling(rng=rng)).interval
        assert interval.low < interval.high
        n_held += interval.low <= small_beta <= interval.high
    assert n_held >= 34


@pytest.mark.parametrize("share", fast_first(1, [0.3, 0.05, 0.95]))
def test_entries_of_f_had_no_interval(share):
    """Now they have one, which holds the entry in at least 92 % of data sets, and has a width.

    40 data sets of 60 items with 5 calls; fewer than 34 of 40 would be a chance of 1 % at 92 %.
    """
    n_held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = calls(rng.dirichlet((1, 1, 1), 60), chooses_toxic(share), 5, rng)
        fit = F_by_likelihood(table, resampling=Resampling(rng=rng))
        low, high = fit.low[0, V_BOTH], fit.high[0, V_BOTH]
        assert low < high
        assert np.isnan(fit.low[:, :V_BOTH]).all()
        n_held += low <= share <= high
    assert n_held >= 34


def test_entries_of_f_of_few_items_have_no_interval():
    """As beta: below 20 items or groups."""
    rng = np.random.default_rng(0)
    table = calls(rng.dirichlet((1, 1, 1), 40), chooses_toxic(0.3), 10, rng)
    groups = [f"g{i // 3}" for i in range(40)]
    few = F_by_likelihood(table, resampling=Resampling(rng=rng, groups=groups))
    assert np.isnan(few.low).all()
    assert not np.isnan(few.F[0, V_BOTH])


def test_interval_of_f_from_pairs_holds_it_however_alike_the_pairs_of_an_item_are():
    """All pairs of an item choose alike: the items are what is counted, and singletons have none.

    100 data sets of 40 items with 5 pairs; fewer than 86 of 100 would be a chance of 2 % at 92 %.
    """
    n_held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        toxic = rng.random(40) < 0.3
        joint = np.zeros((40, 2, 3), int)
        joint[:, 0, V_BOTH], joint[:, 1, V_BOTH] = 5 * toxic, 5 * ~toxic
        joint[:, 0, 0] = 2
        table = replace(calls(np.full((40, 3), 1 / 3), chooses_toxic(0.3), 5, rng), joint=joint)
        low, high = F_intervals(table, seeded().units(40), level=0.95)
        n_held += low[0, V_BOTH] <= 0.3 <= high[0, V_BOTH]
        assert np.isnan(low[:, :V_BOTH]).all()
    assert n_held >= 86


def test_interval_of_beta_of_three_options_holds_it():
    """Three sets may hide the positive option, and each has a chance of its own."""
    rng = np.random.default_rng(3)
    choice = THREE.membership * rng.random(THREE.membership.shape)
    choice /= choice.sum(axis=0)
    table = calls(rng.dirichlet(np.ones(7), 300), choice, 10, rng, THREE)
    beta = beta_of(table, ("toxic",), resampling=Resampling(rng=rng))
    negative = ~THREE.option_mask(("toxic",))
    chosen = choice[negative].sum(axis=0)
    truth = chosen[THREE.meets(("toxic",))].sum() / chosen.sum()
    assert beta.interval.low < truth < beta.interval.high
    assert beta.interval.high - beta.interval.low < 0.15


def test_beta_of_few_items_has_no_interval():
    """Fewer than 20 items or groups: NA, with the reason."""
    rng = np.random.default_rng(0)
    table = calls(rng.dirichlet((1, 1, 1), 19), chooses_toxic(0.3), 10, rng)
    beta = beta_of(table, ("toxic",), resampling=seeded())
    assert beta.value is not None
    assert (beta.interval, beta.interval_reason) == (None, "too_few_items")


@pytest.mark.slow
def test_items_that_do_not_differ_identify_no_common_F():  # noqa: N802 -- F
    """One theta for all items gives two equations for five unknowns: NA, whatever the calls."""
    rng = np.random.default_rng(0)
    choice = THREE.membership / THREE.membership.sum(axis=0)
    theta = np.repeat(rng.dirichlet(np.ones(7), 1), 200, axis=0)
    table = calls(theta, choice, 30, rng, THREE)
    fit = F_by_likelihood(table, resampling=Resampling(rng=rng))
    sizes = THREE.membership.sum(axis=0)
    assert [r for r, s in zip(fit.reasons, sizes, strict=True) if s > 1] == ["not_identified"] * 4
    assert np.isnan(fit.F[:, sizes > 1]).all()
    np.testing.assert_allclose(fit.F[:, sizes == 1], np.eye(3))
    beta = beta_of(table, ("toxic",), resampling=Resampling(rng=rng))
    assert (beta.value, beta.reason) == (None, "not_identified")


def test_one_item_does_not_identify_F():  # noqa: N802 -- F
    """There is no second item from which to learn how much they differ."""
    table = count_table("z", [["toxic"] * 5], [[("toxic", "fine")] * 5])
    fit = F_by_likelihood(table, resampling=Resampling(rng=np.random.default_rng(0)))
    assert fit.reasons == ("never_endorsed", "never_endorsed", "not_identified")


def test_calls_of_pairs_are_no_independent_calls():
    """Items that only have pairs are not used."""
    pairs = [[(("toxic", "fine"), "fine")]] * 3
    rng = np.random.default_rng(0)
    fit = F_by_likelihood(count_table("z", pairs=pairs), resampling=Resampling(rng=rng))
    assert fit.reasons == ("no_calls",) * 3
    assert np.isnan(fit.F).all()
    beta = beta_of(count_table("z", pairs=pairs), ("toxic",), resampling=Resampling(rng=rng))
    assert (beta.value, beta.reason, beta.n_excluded) == (None, "no_calls", 3)
    assert beta.excluded == (Exclusion("no_calls", 3),)


def test_pairs_beside_calls_are_left_out():
    """A table that counts its pairs among the choices and sets gives what one without them does."""
    choices = [["fine", "toxic", "toxic"], ["fine"] * 3] * 20
    sets = [[("toxic", "fine"), ("toxic",)], [("fine",), ("toxic", "fine")]] * 20
    with_pairs = count_table("z", choices, sets, [[(("toxic",), "toxic")] * 5] * 40)
    without_pairs, with_pairs = (
        F_by_likelihood(table, resampling=Resampling(rng=np.random.default_rng(0)))
        for table in (with_pairs, count_table("z", choices, sets))
    )
    assert (without_pairs.n_forced, without_pairs.n_sets) == (120, 80)
    np.testing.assert_array_equal(without_pairs.F, with_pairs.F)


def test_choices_that_no_endorsed_set_explains_are_met():
    """Nobody accepted a set with fine, yet it was chosen: the fit does not break."""
    table = count_table("z", [["fine"], ["fine", "toxic"]], [[("toxic",)], [("toxic",)] * 2])
    fit = F_by_likelihood(table, resampling=Resampling(rng=np.random.default_rng(0)))
    np.testing.assert_allclose(fit.F[:, 0], [1.0, 0.0])
    assert fit.reasons == ("", "never_endorsed", "never_endorsed")
    assert repr(fit) == "CommonF(2 items, 3 forced and 3 set calls)"


def test_beta_without_a_negative_choice_is_na():
    """Never 0."""
    table = count_table("z", [["toxic"] * 4] * 6, [[("toxic",)] * 4] * 6)
    beta = beta_of(table, ("toxic", "fine"), resampling=seeded())
    assert (beta.value, beta.reason) == (None, "no_negative_choice")


def test_same_seed_same_fit():
    """Draws come from the generator alone."""
    theta = np.random.default_rng(0).dirichlet((1, 1, 1), 40)
    table = calls(theta, chooses_toxic(0.5), 8, np.random.default_rng(1))
    first, second = (
        F_by_likelihood(table, resampling=Resampling(rng=np.random.default_rng(2))).F
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)

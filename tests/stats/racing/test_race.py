"""Races of judges: the bets, who is asked next, and how often a race errs."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each_case import fast_first

from benchmarks.racing import (
    DATA_SETS,
    LARGEST_SHARE,
    boundary_pool,
    error_shares,
    median_share,
    null_rate,
    race,
    replayed,
    seeded,
    tied_pool,
    winner_coverage,
)
from harness.stats.racing.betting import Draws, draw_order, log_growth
from harness.stats.racing.losses import hit_loss, loss_table, random_rater_loss, squared_loss
from harness.stats.racing.race import RaceDesign, Standing, advance, start

ALPHA = 0.05


def slow_growth(leader, challenger, ranges, within, lean=0.0):
    """Bet item by item, as the definition reads."""
    n = len(ranges)
    drawn, sum_y, sum_squares, growth = 0.0, lean, 1.0, []
    for t, (a, k) in enumerate(zip(leader, challenger, strict=True)):
        off = (within * (n - t) + drawn) / ranges[t:].sum()
        y = (k - a) / ranges[t]
        mean = sum_y / (t + 10)
        variance = sum_squares / (t + 10) - mean**2
        edge = mean + off
        bet = min(max(edge / (variance + edge**2), 0.0), 0.75 / max(1.0 - off, 1e-9))
        growth.append(inf if off > 1.0 + 1e-9 else log(1.0 + bet * (y + off)))
        drawn += k - a + within
        sum_y, sum_squares = sum_y + y, sum_squares + y**2
    return growth


def random_pool(seed, n=60, n_judges=4):
    rng = np.random.default_rng(seed)
    ranges = rng.uniform(0.05, 1.0, n)
    return rng.uniform(0.0, 1.0, (n_judges, n)) * ranges, ranges


def finish(design, losses, standing=None):
    standing = standing or start(design)
    while standing.ending is None:
        known = np.where(np.arange(losses.shape[1]) < standing.n_asked[:, None], losses, np.nan)
        standing = advance(design, standing, known)
    return standing


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.02, 0.3]))
def test_bets_follow_the_definition(seed, within):
    """Vectorised bets equal bets made item by item."""
    losses, ranges = random_pool(seed)
    draws = Draws(ranges, np.ones(len(ranges)))
    growth = log_growth(losses[0], losses[1], draws, within=within, lean=0.2)
    np.testing.assert_allclose(
        growth, slow_growth(losses[0], losses[1], ranges, within, lean=0.2), atol=1e-9
    )


@given(st.integers(0, 1000))
def test_wealth_never_turns_negative(seed):
    """No bet loses everything, so that every factor is positive."""
    losses, ranges = random_pool(seed)
    growth = log_growth(losses[0], losses[1], Draws(ranges, np.ones(60)), within=0.05)
    assert not np.isnan(growth).any()
    assert (growth > -inf).all()


def test_bets_have_mean_one_at_the_limit():
    """Over all orders of a pool at the limit of the hypothesis, the first factors average 1."""
    rng = np.random.default_rng(1)
    pool = boundary_pool(100, 2, 0.05, rng)
    wealth = []
    for _ in range(4000):
        order = draw_order(pool.ranges, rng)
        draws = Draws(pool.ranges[order], pool.sizes[order])
        growth = log_growth(
            pool.losses[0, order][:30], pool.losses[1, order][:30], draws, within=0.05
        )
        wealth.append(np.exp(growth.sum()))
    assert np.mean(wealth) == pytest.approx(1.0, abs=4 * np.std(wealth) / np.sqrt(len(wealth)))


@pytest.mark.parametrize("within", [0.05, 0.0])
def test_interrupted_race_goes_on_as_it_would_have(within):
    """A race that starts again from a standing in the middle ends as one that was not stopped."""
    losses, ranges = random_pool(3, n=200)
    design = RaceDesign(Draws(ranges, np.ones(200)), 4, within=within)
    whole = finish(design, losses)
    middle = start(design)
    for _ in range(3):
        middle = advance(design, middle, losses)
    resumed = finish(design, losses, replace(middle))
    assert resumed.ending == whole.ending
    assert resumed.leader == whole.leader
    assert resumed.n_asked.tolist() == whole.n_asked.tolist()


def test_losses_that_were_not_asked_for_are_not_read():
    """Nothing but the losses of units that a judge was asked about changes a race."""
    losses, ranges = random_pool(4, n=200)
    losses[2:] += 0.3 * ranges * (1 - losses[2:] / ranges)
    design = RaceDesign(Draws(ranges, np.ones(200)), 4, within=0.05)
    ended = finish(design, losses)
    assert ended.n_asked.min() < 200
    other = np.where(np.arange(200) < ended.n_asked[:, None], losses, 0.0)
    assert finish(design, other).n_asked.tolist() == ended.n_asked.tolist()


def test_missing_loss_is_refused():
    """A loss that the standing asks for must be known."""
    losses, ranges = random_pool(5)
    losses[1, 0] = np.nan
    design = RaceDesign(Draws(ranges, np.ones(60)), 4, within=0.05)
    with pytest.raises(ValueError, match="judge 1 lacks losses"):
        advance(design, start(design), losses)


def test_exhausted_pool_ends_with_the_lowest_plain_mean():
    """Where nobody can be put out, the judge of the lowest unweighted mean is returned."""
    rng = np.random.default_rng(0)
    losses = np.array([[0.5, 0.5] * 20, [0.49, 0.5] * 20])
    order = rng.permutation(40)
    design = RaceDesign(Draws(np.ones(40), np.ones(40)), 2, within=0.001)
    ended = finish(design, losses[:, order])
    assert ended.ending == "pool_exhausted"
    assert ended.leader == 1
    assert ended.n_asked.tolist() == [40, 40]


def test_groups_are_drawn_whole():
    """A batch counts items, and ends with the group that fills it."""
    design = RaceDesign(Draws(np.full(10, 8.0), np.full(10, 8.0)), 2, within=0.05, batch=20)
    assert start(design).n_asked.tolist() == [3, 3]
    assert design.after_batch(3) == 6
    assert design.after_batch(9) == 10


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("n_judges", 1, "at least two judges"),
        ("within", 1.0, "must be in"),
        ("alpha", 0.0, "alpha"),
        ("batch", 0, "at least one item"),
    ],
)
def test_impossible_designs_are_refused(field, value, message):
    """A race of one judge, or with an impossible margin, error rate or batch, is refused."""
    choices = {"n_judges": 2, "within": 0.05} | {field: value}
    with pytest.raises(ValueError, match=message):
        RaceDesign(Draws(np.ones(3), np.ones(3)), **choices)


def test_units_are_drawn_in_proportion_to_their_ranges():
    """The first unit drawn is each with a probability proportional to its range."""
    rng = np.random.default_rng(2)
    ranges = np.array([1.0, 2.0, 5.0])
    first = [draw_order(ranges, rng)[0] for _ in range(8000)]
    shares = np.bincount(first, minlength=3) / 8000
    np.testing.assert_allclose(shares, ranges / 8.0, atol=0.02)


def test_losses_of_an_item_by_hand():
    """Three of four raters say a: losses of a, b and c under each definition."""
    counts = np.array([[3, 1, 0]])
    np.testing.assert_allclose(random_rater_loss(counts), [[0.25, 0.75, 1.0]])
    np.testing.assert_allclose(hit_loss(counts), [[0.0, 1.0, 1.0]])
    np.testing.assert_allclose(hit_loss(np.array([[2, 2, 0]])), [[0.5, 0.5, 1.0]])
    # (1/4)^2 + (1/4)^2 over 2, and so on.
    np.testing.assert_allclose(squared_loss(counts), [[0.0625, 0.5625, 0.8125]])


def test_squared_loss_of_sets_is_the_metric_of_one_reply():
    """The loss of a set is the squared distance of its indicator from Omega, over K."""
    membership = np.array([[1, 0, 1], [0, 1, 1]])  # {a}, {b}, {a, b}
    table = loss_table("squared", np.array([[1, 0, 1]]), membership)
    omega = np.array([1.0, 0.5])
    expected = [((membership[:, v] - omega) ** 2).mean() for v in range(3)]
    np.testing.assert_allclose(table.values, [expected])
    assert table.ranges == pytest.approx([1.0 - min(expected)])


def test_unrated_items_have_no_loss():
    """An item that nobody rated is nan under every loss."""
    for name in ("random_rater", "hit", "squared"):
        assert np.isnan(loss_table(name, np.array([[0, 0], [1, 0]])).values[0]).all()


def test_unknown_loss_is_refused():
    """The message names the losses there are."""
    with pytest.raises(ValueError, match="wanted one of random_rater, hit, squared"):
        loss_table("regret", np.ones((1, 2)))


@pytest.mark.parametrize(("n_judges", "within"), fast_first(1, [(2, 0.05), (6, 0.05), (6, 0.02)]))
def test_wrong_judge_is_rarely_returned_at_the_limit(n_judges, within):
    """A judge worse than the best by exactly the margin is returned in at most 5 % of races."""
    n_orders = 200
    rate = null_rate(250, n_judges, within, n_orders)
    assert rate <= ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / n_orders)


def test_tied_judges_are_found_to_be_tied_early():
    """Six tied judges on 2,000 items end within 0.05 after at most 18 % of the calls."""
    rng = seeded("test of tied judges")
    shares = [
        race(tied_pool(2000, 6, 0.85, rng, correlated=True), 0.05, rng).share for _ in range(5)
    ]
    assert np.median(shares) <= 0.18


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_judges"), [(50, 12), (100, 6)])
def test_interval_of_the_returned_judge_allows_for_its_choice(n, n_judges):
    """Tied judges: it holds in 95 %, where one that ignores the choice holds in less than 93 %."""
    n_pools = 400
    found = winner_coverage(n, n_judges, 0.0, n_pools)
    assert found.coverage >= 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / n_pools)
    assert found.uncorrected < 0.93


@pytest.mark.slow
@pytest.mark.usefixtures("truth")
@pytest.mark.parametrize(("within", "bound"), LARGEST_SHARE.items())
def test_races_of_stored_answers_cost_what_is_claimed(within, bound):
    """Median over six data sets of the median share of calls, 20 orders each; wrong in 5 %."""
    n_orders = 20
    races = {name: replayed(name, within, n_orders) for name in DATA_SETS}
    assert np.median([median_share(outcomes) for outcomes in races.values()]) <= bound
    most = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / n_orders)
    assert max(max(error_shares(outcomes, within)) for outcomes in races.values()) <= most


def test_one_rating_is_the_whole_distribution():
    """The squared loss is 0 for the only rater's answer and 1 for the other."""
    np.testing.assert_array_equal(squared_loss(np.array([[1, 0], [0, 1]])), [[0, 1], [1, 0]])


def test_a_standing_says_how_many_judges_run_or_why_the_race_ended():
    """In one line, with the leader and the units drawn."""
    facts = {"n_asked": np.array([40, 10]), "suspended": np.array([False, True]), "leaders": (0,)}
    assert repr(Standing(**facts)) == "Standing(1 running, leader 0, 40 units drawn)"
    ended = Standing(**facts, ending="unique")
    assert repr(ended) == "Standing(unique, leader 0, 40 units drawn)"

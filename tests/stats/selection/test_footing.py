"""Judges on common footing: recorded cases in which the usual comparison misleads."""

from __future__ import annotations

import numpy as np
import pytest
from support.each_case import for_each
from support.rating_tables import table_of_counts as table

from harness.stats.data.option_space import OptionSpace
from harness.stats.inference.bootstrap import Resampling
from harness.stats.inference.metric import find_metric, mean
from harness.stats.metrics.ordinal import RANKED_PROBABILITY_SCORE
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.footing import ComparisonRules, common_footing
from harness.stats.selection.replies import samples_per_item


def draws(rng, shares, m):
    """(n, 2) counts of m binary answers with P(yes) = shares."""
    yes = rng.binomial(m, shares)
    return np.column_stack([yes, m - yes])


def footing(human, judges, metric="js_divergence(s/s)", n_replies=None, **options):
    return common_footing(
        human,
        judges,
        find_metric(metric, METRICS) if isinstance(metric, str) else metric,
        tau=0.5,
        positive=("yes",),
        resampling=Resampling(rng=np.random.default_rng(0), n_resamples=400),
        rules=ComparisonRules(n_replies=n_replies),
        **options,
    )


def test_judges_are_compared_on_the_items_that_all_answered():
    """A copy of a judge that abstains on its losses has the same value as the judge."""
    rng = np.random.default_rng(0)
    human = draws(rng, rng.beta(0.5, 0.5, 100), 5)
    judge = draws(rng, human[:, 0] / 5 * 0.8 + 0.1, 1)
    wrong = np.flatnonzero((judge[:, 0] > 0) != (human[:, 0] > 2.5))[:8]
    silent = judge.copy()
    silent[wrong] = 0
    result = footing(table("human", human), [table("judge", judge), table("silent", silent)])
    assert result.judges == ("judge", "silent")
    assert result.values[0] == result.values[1]
    assert result.items.shared.sum() == 92
    assert result.ranks.ranks == ((1, 2), (1, 2))


def test_items_alike_are_drawn_together_without_changing_values_or_spread():
    """A fourth decimal of weight makes every item differ: same values, same standard errors."""
    rng = np.random.default_rng(4)
    n = 3000
    human = draws(rng, rng.beta(0.5, 0.5, n), 2)
    judges = [table(name, draws(rng, human[:, 0] / 4 + 0.25, 1)) for name in ("first", "second")]
    judges[0] = judges[0].masked(np.arange(n) > 100)
    together = footing(table("human", human), judges)
    apart = footing(table("human", human), judges, weights=1.0 + 1e-9 * np.arange(n))
    assert together.values == pytest.approx(apart.values, abs=1e-6)
    of_kinds, of_items = (
        np.std(np.vstack([result.replicates, *result.baseline_replicates.values()]), axis=1)
        for result in (together, apart)
    )
    assert of_kinds == pytest.approx(of_items, rel=0.2, abs=1e-12)
    differences = [np.diff(result.replicates, axis=0).std() for result in (together, apart)]
    assert differences[0] == pytest.approx(differences[1], rel=0.2)


def test_a_judge_that_answered_too_little_is_not_ranked():
    """It does not take items from the others either."""
    rng = np.random.default_rng(1)
    human, judge = draws(rng, np.full(50, 0.5), 5), draws(rng, np.full(50, 0.5), 1)
    few = judge.copy()
    few[:10] = 0
    result = footing(table("human", human), [table("few", few), table("judge", judge)])
    assert result.judges == ("judge",)
    assert result.items.answered_fraction.tolist() == [0.8, 1.0]
    assert result.items.shared.all()


@pytest.mark.slow
def test_number_of_samples_does_not_rank():
    """The same judge asked once and ten times is separated in at most 5 % of data sets."""
    separated = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        human, propensity = draws(rng, rng.beta(0.6, 0.6, 80), 5), rng.beta(0.6, 0.6, 80)
        result = footing(
            table("human", human),
            [table("once", draws(rng, propensity, 1)), table("ten", draws(rng, propensity, 10))],
            metric="mse(s/s)",
        )
        assert result.n_replies == 1
        separated += result.ranks.ranks != ((1, 2), (1, 2))
    assert separated <= 5


@pytest.mark.slow
def test_coins_do_not_beat_the_baselines():
    """Five fair coins: one of them beats every baseline in at most 5 % of 100 data sets."""
    beaten = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        human = draws(rng, np.full(100, 0.5), 5)
        coins = [table(f"coin {j}", draws(rng, np.full(100, 0.5), 1)) for j in range(5)]
        beaten += footing(table("human", human), coins, metric="mse(s/s)").beats.all(axis=1).any()
    assert beaten <= 7


def test_a_good_judge_beats_the_baselines_and_one_human():
    """Accuracy .9 beside raters with accuracy .8."""
    rng = np.random.default_rng(2)
    truth = rng.random(150) < 0.5
    human = draws(rng, np.where(truth, 0.8, 0.2), 5)
    judge = draws(rng, np.where(truth, 0.9, 0.1), 1)
    result = footing(table("human", human), [table("good", judge)], metric="mse(s/s)")
    assert result.beats.all()
    [reference] = result.references
    assert reference.judge < reference.human
    assert reference.high < 0.05
    assert reference.n_ratings == 750


def test_most_replies_that_leave_a_judge_ranked():
    """A few items with a reply less do not bring the number of replies down."""
    assert samples_per_item(np.array([10.0] * 9 + [3.0])) == 10
    assert samples_per_item(np.array([10.0] * 8 + [3.0, 3.0])) == 3
    assert samples_per_item(np.array([0.0, 0.0])) == 1
    assert samples_per_item(np.array([np.inf])) == np.inf


@pytest.mark.parametrize("n_replies", [1, 3, np.inf])
def test_response_sets_are_compared_at_any_number_of_replies(n_replies):
    """The metric of sets has a closed form, and so have its baselines."""
    rng = np.random.default_rng(3)
    sets = rng.multinomial(5, [0.3, 0.3, 0.4], 40)
    choices = draws(rng, np.full(40, 0.5), 5)
    result = footing(
        table("human", choices, sets),
        [table("judge", choices, rng.multinomial(4, [0.3, 0.3, 0.4], 40))],
        metric="mse(srs/srs)",
        n_replies=n_replies,
    )
    assert np.isfinite(result.values).all()
    assert set(result.baselines) == {"uniform", "prior", "most_frequent", "best_constant"}
    assert np.isfinite(list(result.baselines.values())).all()


def test_ordered_scales_rank_by_the_ranked_probability_score():
    """It is a squared distance of cumulative shares, so any number of replies will do."""
    rng = np.random.default_rng(4)
    human = draws(rng, np.full(30, 0.5), 5)
    result = footing(
        table("human", human),
        [table("judge", draws(rng, np.full(30, 0.5), 6))],
        metric=RANKED_PROBABILITY_SCORE,
        n_replies=2,
    )
    assert 0 < result.values[0] < 1


def test_unanswered_items_can_count_as_losses():
    """A judge that is silent on every tenth item loses what it could have lost there."""
    human = np.tile([5, 0], (20, 1))
    judge = np.tile([1, 0], (20, 1))
    silent = judge.copy()
    silent[::10] = 0
    result = footing(table("human", human), [table("judge", judge), table("silent", silent)])
    assert result.values.tolist() == [0.0, 0.0]
    assert result.values_with_losses.tolist() == [0.0, 0.1]


@pytest.mark.parametrize("n_replies", [1, 3])
@pytest.mark.parametrize("metric", ["js_divergence(s/s)", "mse(s/s)", "hit_rate(h/h)"])
def test_an_unanswered_item_is_lost_like_one_with_the_worst_answer(metric, n_replies):
    """With losses, a judge fares on items without an answer as if it had given the worst one."""
    rng = np.random.default_rng(6)
    human = draws(rng, rng.beta(0.5, 0.5, 60), 5)
    human[human[:, 0] == human[:, 1]] = [3, 2]
    judge = draws(rng, human[:, 0] / 5 * 0.8 + 0.1, 3)
    silent, worst, unanswered = judge.copy(), judge.copy(), [3, 17, 40]
    silent[unanswered] = 0
    worst[unanswered] = np.where(human[unanswered, :1] > human[unanswered, 1:], [0, 3], [3, 0])
    judges = [table("judge", judge), table("silent", silent), table("worst", worst)]
    options = {"metric": metric, "n_replies": n_replies}
    result = footing(table("human", human), judges, **options)
    assert result.items.answered_fraction.tolist() == [1.0, 0.95, 1.0]
    of_judge, of_silent, of_worst = result.values_with_losses
    assert of_silent == pytest.approx(of_worst)
    assert of_silent != pytest.approx(of_judge)
    [alone] = footing(table("human", human), [table("worst", worst)], **options).values
    assert of_worst == pytest.approx(alone)


@for_each(m.name for m in METRICS)
def test_any_metric_can_be_put_on_common_footing(metric):
    """Only a mean over items has a human reference; others have none, and no made-up number."""
    rng = np.random.default_rng(5)
    human = draws(rng, rng.beta(0.5, 0.5, 40), 5)
    judge = draws(rng, human[:, 0] / 5 * 0.8 + 0.1, 1)
    result = footing(table("human", human), [table("judge", judge)], metric=metric)
    if result.metric.value is not mean:
        assert all(reference.difference is None for reference in result.references)
    assert len(result.values) == len(result.judges) == len(result.references)


def test_a_constant_at_the_median_is_no_better_than_a_baseline():
    """Of an ordinal scale the mode is at an end and the median in the middle: always giving the
    median beats the most common answer, and not the best constant, on every data set."""
    rng = np.random.default_rng(8)
    space = OptionSpace.singletons(("1", "2", "3", "4", "5"))
    n = 100
    counts = rng.multinomial(5, [0.32, 0.14, 0.2, 0.14, 0.2], n)
    always = np.tile(np.eye(5, dtype=int)[2], (n, 1))
    human, judge = (
        table(name, choices, space=space)
        for name, choices in (("raters", counts), ("constant", always))
    )
    result = common_footing(
        human,
        [judge],
        RANKED_PROBABILITY_SCORE,
        tau=0.5,
        positive=("1",),
        resampling=Resampling(rng=np.random.default_rng(0), n_resamples=500),
    )
    beaten = dict(zip(result.baselines, result.beats[0].tolist(), strict=True))
    assert result.values[0] == pytest.approx(result.baselines["best_constant"])
    assert beaten["most_frequent"]
    assert not beaten["best_constant"]


def test_the_best_constant_set_holds_the_options_that_half_of_the_raters_endorse():
    """Under squared distance, per option: mean omega of at least one half."""
    rng = np.random.default_rng(9)
    shares = {("A",): 0.3, ("B",): 0.3, ("A", "B"): 0.4}
    space = OptionSpace.powerset(("A", "B"))
    sets = rng.multinomial(6, [shares[tuple(members)] for members in space.sets], 200)
    result = footing(
        table("human", np.zeros((200, 2), int), sets),
        [table("judge", np.zeros((200, 2), int), sets)],
        metric="mse(srs/srs)",
        n_replies=1,
    )
    omega = (sets / 6) @ space.membership.T
    both = ((omega - 1.0) ** 2).sum(axis=1).mean()
    assert result.baselines["best_constant"] == pytest.approx(both)


def test_interval_beside_a_value_whose_best_is_0_is_not_that_of_its_size():
    """The first judge undercounts: its interval lies around the value, not around the distance."""
    rng = np.random.default_rng(3)
    shares = rng.beta(0.5, 0.5, 200)

    def of_sets(name, positive, m):
        counts = draws(rng, positive, m)
        return table(name, counts, np.column_stack([counts, np.zeros(200, dtype=int)]))

    human = of_sets("human", shares, 5)
    judges = [of_sets("fewer", shares * 0.8, 3), of_sets("least", shares * 0.4, 3)]
    result = footing(human, judges, metric="prevalence_bias")
    value = result.values[result.winner.winner]
    assert result.judges[result.winner.winner] == "fewer"
    assert value < 0
    assert result.winner.low < value < result.winner.high
    assert result.winner.low < 0
    single = footing(human, judges[:1], metric="prevalence_bias")
    interval, _ = single.interval("fewer")
    ends = (interval.low, interval.high)
    assert (single.winner.low, single.winner.high) == pytest.approx(ends, abs=0.02)

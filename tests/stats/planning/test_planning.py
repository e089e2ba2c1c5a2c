"""Plans: variances against simulation, and planned power against the tests that it is about."""

from __future__ import annotations

from collections import Counter
from math import isnan, sqrt

import numpy as np
import pytest
from support.each_case import fast_first

from harness.stats import AltTestDesign, OptionSpace, RatingTable, Resampling
from harness.stats.alt_test.margin_tests import score_test
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.metric import find_metric
from harness.stats.metrics.registry import METRICS
from harness.stats.planning.annotator_power import (
    planted_panel,
    power_from_panel,
    power_from_planted,
)
from harness.stats.planning.planted import PlantedJudge, PlantedRaters, planted_moments
from harness.stats.planning.rater_power import items_for_power, power_against_rater
from harness.stats.planning.sample_size import (
    agreement_moments,
    difference_beside_raters,
    power_for_difference,
    sample_size_for_difference,
    sd_to_plan_with,
)
from harness.stats.selection.footing import common_footing

RATERS, CONSISTENCY = PlantedRaters((0.5, 0.5), 0.8), 0.9
DECIDED = PlantedRaters((0.5, 0.5), 0.75)
DESIGN = AltTestDesign(score="accuracy", eps=0.1)


def counts(answers):
    """Count (n, r) answers of 0 and 1 per option: (n, 2)."""
    return np.stack([(answers == k).sum(axis=1) for k in (0, 1)], axis=1)


def judge(agreement, raters=RATERS, self_consistency=CONSISTENCY):
    return PlantedJudge.that_agrees(raters, agreement, self_consistency=self_consistency)


JUDGE = judge(0.8, DECIDED, 1.0)


def moments_of(*agreements, raters=RATERS):
    return planted_moments(raters, *(judge(agreement, raters) for agreement in agreements))


def draw(n, n_raters, n_replies, agreements, seed, *, raters=RATERS):
    """Draw ratings and the replies of judges to n items."""
    rng = np.random.default_rng(seed)
    chances = raters.chances(n, rng)
    ratings = raters.choose(np.repeat(chances, n_raters, axis=0), rng).reshape(n, n_raters)
    shares = np.array(raters.shares)
    return ratings, [judge(a, raters).replies(chances, shares, n_replies, rng) for a in agreements]


def item_scores(ratings, replies):
    """Return each item's mean agreement of a rating with a reply: (n,)."""
    return (ratings[:, :, None] == replies[:, None, :]).mean(axis=(1, 2))


@pytest.mark.parametrize("raters", [RATERS, PlantedRaters((0.2, 0.3, 0.5), 0.75)])
@pytest.mark.parametrize(("n_raters", "n_replies"), fast_first(2, [(1, 1), (4, 3), (4, 1), (1, 3)]))
def test_planted_variances_are_those_of_draws(n_raters, n_replies, raters):
    """Of a judge's agreement, and of the difference of two, at every number of answers."""
    ratings, (first, second) = draw(100_000, n_raters, n_replies, (0.7, 0.65), 1, raters=raters)
    scores, others = item_scores(ratings, first), item_scores(ratings, second)
    alone, paired = moments_of(0.7, raters=raters), moments_of(0.7, 0.65, raters=raters)
    assert alone.mean == pytest.approx(0.7, abs=0.001)
    assert scores.mean() == pytest.approx(alone.mean, abs=0.005)
    assert scores.var() == pytest.approx(alone.variance(n_raters, n_replies), rel=0.02)
    assert (scores - others).mean() == pytest.approx(paired.mean, abs=0.005)
    assert (scores - others).var() == pytest.approx(paired.variance(n_raters, n_replies), rel=0.02)


@pytest.mark.parametrize("agreements", [(0.7,), (0.7, 0.65)])
def test_moments_of_counts_extrapolate_to_other_numbers_of_answers(agreements):
    """Three ratings and two replies of each item tell the variance with five and four."""
    ratings, replies = draw(50_000, 3, 2, agreements, seed=2)
    moments = agreement_moments(counts(ratings), *map(counts, replies))
    assumed = moments_of(*agreements)
    for design in ((1, 1), (3, 2), (5, 4)):
        assert moments.variance(*design) == pytest.approx(assumed.variance(*design), rel=0.03)
    assert moments.n_items == 50_000


def test_moments_at_the_observed_design_are_the_variance_of_the_items():
    """The products add up to the plain variance over items."""
    ratings, replies = draw(60, 4, 2, (0.7, 0.65), seed=3)
    moments = agreement_moments(counts(ratings), *map(counts, replies))
    difference = item_scores(ratings, replies[0]) - item_scores(ratings, replies[1])
    assert moments.mean == pytest.approx(difference.mean())
    assert moments.variance(4, 2) == pytest.approx(difference.var())


def test_single_answers_leave_other_designs_undefined():
    """One rating, or reply, per item says nothing about two."""
    ratings, replies = draw(50, 1, 1, (0.7,), seed=4)
    moments = agreement_moments(counts(ratings), *map(counts, replies))
    assert moments.variance(1, 1) > 0
    assert isnan(moments.variance(2, 1))
    assert isnan(moments.variance(1, 2))


def test_items_without_an_answer_are_left_out():
    """An item counts where a rater and every judge answered; fewer than two are refused."""
    human = np.array([[2, 0], [1, 1], [0, 0], [2, 0]])
    judge = np.array([[1, 0], [0, 1], [1, 0], [0, 0]])
    assert agreement_moments(human, judge).n_items == 2
    with pytest.raises(ValueError, match="fewer than 2 items"):
        agreement_moments(human[2:], judge[2:])


def test_alike_items_in_a_group_raise_the_design_effect():
    """Four copies of each item are worth one."""
    ratings, replies = draw(200, 3, 1, (0.7,), seed=5)
    copies = [np.repeat(counts(answers), 4, axis=0) for answers in (ratings, *replies)]
    moments = agreement_moments(*copies, groups=np.repeat(np.arange(200), 4))
    assert moments.design_effect == pytest.approx(4.0, rel=0.02)


def test_powers_invert_the_sample_sizes():
    """The planned number of items reaches the goal."""
    n = sample_size_for_difference(0.4, 0.05, power=0.9, design_effect=2.0)
    assert power_for_difference(0.4, 0.05, n, design_effect=2.0) == pytest.approx(0.9, abs=0.002)


def test_power_grows_with_items_and_the_advantage_does_not():
    """Calderon et al. 2025, figure 2: items raise the winning rate and narrow the advantage."""
    few, many = power_from_planted(
        DECIDED, JUDGE, DESIGN, n_raters=3, n_items=(30, 150), rng=np.random.default_rng(0),
        n_draws=60,
    )  # fmt: skip
    assert many.power > few.power + 0.2
    assert many.winning_rate > few.winning_rate
    assert many.advantage == pytest.approx(few.advantage, abs=0.03)
    assert few.advantage_high - few.advantage_low > many.advantage_high - many.advantage_low
    assert few.power_interval.low < few.power < few.power_interval.high


@pytest.mark.slow
def test_recommendations_are_rarer_than_passes_and_contenders_divide_alpha():
    """50 items were planned where the test alone passes in 87 %, and the decision in 13 %."""
    options = {"n_raters": 3, "n_items": (60,), "n_draws": 40}
    rows = [
        power_from_planted(
            DECIDED, JUDGE, DESIGN, rng=np.random.default_rng(0), n_contenders=n, **options
        )[0]
        for n in (None, 1, 20)
    ]
    assert rows[0].use is None
    assert [row.power for row in rows] == [rows[0].power] * 3
    assert rows[2].use < rows[1].use < rows[1].power
    assert rows[1].use_interval.low <= rows[1].use <= rows[1].use_interval.high


def test_copy_of_a_rater_is_not_planned_to_be_recommended():
    """It passes the test alone on every draw in which its rater is."""
    rng = np.random.default_rng(3)
    panel, _ = planted_panel(RATERS, judge(0.75), 150, 3, rng)
    own = panel.of_rater == 0
    copied = {panel.items[i]: k for i, k in zip(panel.of_item[own], panel.code[own], strict=True)}
    (row,) = power_from_panel(
        panel, copied, DESIGN, n_raters=3, n_items=(150,), rng=rng, n_draws=20, n_contenders=1
    )
    assert row.power > 0.9
    assert row.use == 0.0


def test_raters_with_few_items_make_no_test():
    """A draw of fewer than 10 items is no pass, and is counted."""
    panel, verdicts = planted_panel(RATERS, judge(0.75), 40, 3, np.random.default_rng(0))
    (row,) = power_from_panel(
        panel, verdicts, DESIGN, n_raters=3, n_items=(5,), rng=np.random.default_rng(1), n_draws=10
    )
    assert (row.power, row.winning_rate, row.n_testable, row.n_draws) == (0.0, None, 0, 10)
    with pytest.raises(ValueError, match="n_raters is 4; wanted 2 to 3"):
        power_from_panel(
            panel, verdicts, DESIGN, n_raters=4, n_items=(20,), rng=np.random.default_rng(1)
        )


def test_draws_of_a_large_panel_have_the_power_of_new_panels():
    """Subsamples of a task plan what new raters and items of the same kind would show."""
    rng = np.random.default_rng(7)
    panel, verdicts = planted_panel(DECIDED, JUDGE, 4000, 6, rng)
    options = {"n_raters": 3, "n_items": (50,), "rng": rng, "n_draws": 300}
    (drawn,) = power_from_panel(panel, verdicts, DESIGN, **options)
    (new,) = power_from_planted(DECIDED, JUDGE, DESIGN, **options)
    error = sqrt((drawn.power * (1 - drawn.power) + new.power * (1 - new.power)) / 300)
    assert 0.1 < new.power < 0.95
    assert abs(drawn.power - new.power) < 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize(("n_raters", "n_replies"), [(1, 1), (5, 3)])
def test_planned_power_is_that_of_the_cluster_robust_test(power, n_raters, n_replies):
    """The two-sided t-test of item differences rejects as often as planned, within 4 %."""
    sd = sqrt(moments_of(0.75, 0.65).variance(n_raters, n_replies))
    n = sample_size_for_difference(sd, 0.1, power=power)
    rejected = []
    for seed in range(1000):
        ratings, replies = draw(n, n_raters, n_replies, (0.75, 0.65), seed)
        difference = item_scores(ratings, replies[0]) - item_scores(ratings, replies[1])
        low, high = cluster_mean(difference, np.arange(n)).interval(0.95)
        rejected.append(low > 0 or high < 0)
    assert np.mean(rejected) == pytest.approx(power, abs=0.04)


@pytest.mark.slow
def test_planned_power_is_that_of_the_ranking():
    """A ranking by the hit rate separates two judges as often as planned, within 6 %."""
    n = sample_size_for_difference(sqrt(moments_of(0.75, 0.65).variance(1, 1)), 0.1)
    space = OptionSpace.singletons(("0", "1"))
    separated = []
    for seed in range(300):
        ratings, replies = draw(n, 1, 1, (0.75, 0.65), seed)
        items = list(map(str, range(n)))
        human, *judges = (
            RatingTable.count(
                space, name, items, forced_choice=zip(items, map(str, answers[:, 0]), strict=True)
            )
            for name, answers in zip(("humans", "a", "b"), (ratings, *replies), strict=True)
        )
        resampling = Resampling(rng=np.random.default_rng(seed), n_resamples=2000)
        footing = common_footing(
            human,
            judges,
            find_metric("hit_rate(h/h)", METRICS),
            tau=0.5,
            positive=(),
            resampling=resampling,
        )
        separated.append(footing.ranks.better[0, 1])
    assert np.mean(separated) == pytest.approx(0.8, abs=0.06)


def test_items_are_planned_at_the_critical_value_of_the_comparison():
    """Ten judges, critical value 3.3: at 1.96 a power of 24 % would be said to be 80 %."""
    rng, sd, delta, critical = np.random.default_rng(5), 0.4, 0.1, 3.3
    n = sample_size_for_difference(sd, delta, critical=critical)
    assert n == 275 > sample_size_for_difference(sd, delta) == 126
    found = rng.normal(delta, sd / sqrt(n), 20_000) > critical * sd / sqrt(n)
    assert found.mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("n_pilot", [12, 30, 150])
def test_items_planned_from_a_pilot_reach_the_power_over_pilots(n_pilot):
    """From the pilot's own deviation, studies of 12 items plan a power of 74 %."""
    rng, sd, delta = np.random.default_rng(8), 0.4, 0.1
    pilots = rng.normal(0.0, sd, (2000, n_pilot)).std(axis=1, ddof=1)
    powers = [
        [
            power_for_difference(sd, delta, sample_size_for_difference(planned, delta))
            for planned in (sd_to_plan_with(estimate, n_pilot), estimate)
        ]
        for estimate in pilots
    ]
    planned, naive = np.mean(powers, axis=0)
    assert 0.8 <= planned < 0.9
    assert naive < 0.8


def test_rater_variance_does_not_shrink_with_items():
    """With a variance of the raters, more items are needed; with too large a one, more raters."""
    rng, sd, delta, by_raters = np.random.default_rng(6), 0.4, 0.1, 0.0005
    n = sample_size_for_difference(sd, difference_beside_raters(delta, by_raters))
    error = sqrt(sd**2 / n + by_raters)
    assert (rng.normal(delta, error, 20_000) > 1.96 * error).mean() == pytest.approx(0.8, abs=0.01)
    assert difference_beside_raters(delta, 0.002) == 0.0


@pytest.mark.parametrize(
    ("n", "discordance", "eps"),
    [(50, 0.3, 0.1), (40, 0.5, 0.2), (12, 1, 0.3), (50, 0.02, 0.1), (30, 0.01, 0.2), (50, 0, 0.1)],
)
def test_power_against_a_rater_is_that_of_simulated_ratings(n, discordance, eps):
    """Four thousand draws pass as often, but for noise, also if the two hardly ever differ."""
    power = power_against_rater(n, discordance, eps)
    rng = np.random.default_rng(0)
    tables = rng.multinomial(n, [discordance / 2, discordance / 2, 1 - discordance], 4000)
    results = Counter(map(tuple, tables[:, :2].tolist()))
    passed = sum(k for (won, lost), k in results.items() if score_test(n, won, lost, eps).p <= 0.05)
    assert passed / 4000 == pytest.approx(power, abs=3 * (power * (1 - power) / 4000) ** 0.5 + 1e-3)


def test_items_for_power_were_named_by_a_normal_approximation():
    """The number has the power that it promises, and one item fewer doesn't."""
    needed = items_for_power(0.8, 0.3, 0.1)
    assert power_against_rater(needed, 0.3, 0.1) >= 0.8 > power_against_rater(needed - 1, 0.3, 0.1)
    assert items_for_power(0.8, 0.9, 0.001) is None

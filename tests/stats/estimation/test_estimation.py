"""Means over a population: intervals from labels and a judge, and what is planned with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

from benchmarks.estimation import (
    REPLAYED,
    Cell,
    StoredAnswers,
    draw,
    identified,
    intervals,
    replayed,
)
from benchmarks.estimation_designs import Design, PairedDesign, simulate, simulate_paired
from harness.stats.estimation.effective_counts import Labelled, dispersion, effective_counts
from harness.stats.estimation.identified_set import (
    PairedBeta,
    identified_interval,
    partial_critical,
    share_above,
)
from harness.stats.estimation.labelling import (
    confidence_sequence,
    draw_probabilities,
    label_spreads,
)
from harness.stats.estimation.population import (
    population_score,
    population_share,
)
from harness.stats.estimation.prediction_powered import JudgedMean, powered_mean
from harness.stats.estimation.rogan_gladen import corrected_share
from harness.stats.estimation.stratified import PopulationStratum
from harness.stats.estimation.transfer import MIN_EXPECTED, Grouped, jointly, pooled, transfer
from harness.stats.estimation.two_phase import (
    TwoPhaseCounts,
    _at_share,
    judge_interval,
    share_interval,
    squared_critical,
    two_phase_interval,
)

SIMULATED = 1000
ERROR = 3.0 * np.sqrt(0.93 * 0.07 / SIMULATED)


def counts_of(*cells):
    return TwoPhaseCounts(*(np.array([float(cell)]) for cell in cells))


def population(seed, n=200, n_unlabelled=5000, prevalence=0.3, accuracy=0.9):
    rng = np.random.default_rng(seed)
    truth = rng.random(n + n_unlabelled) < prevalence
    verdicts = np.where(rng.random(n + n_unlabelled) < accuracy, truth, ~truth).astype(float)
    labelled = Labelled(truth[:n].astype(float), verdicts[:n])
    return labelled, JudgedMean.of(verdicts[n:])


@pytest.mark.parametrize("cells", [(20, 5, 7, 68, 300, 700), (2, 1, 3, 44, 90, 910)])
@pytest.mark.parametrize("share", [0.02, 0.25, 0.7])
def test_likelihood_at_a_share_is_its_maximum(cells, share):
    """Newton's method finds what a general optimiser finds."""
    counts = counts_of(*cells)
    numbers = [float(cell[0]) for cell in counts.cells]

    def negative(x):
        a, b = share / (1 + np.exp(-x[0])), (1 - share) / (1 + np.exp(-x[1]))
        chances = (a, share - a, b, 1 - share - b, a + b, 1 - a - b)
        return -sum(n * np.log(p) for n, p in zip(numbers, chances, strict=True))

    found = minimize(negative, (0.0, 0.0), method="Nelder-Mead", options={"fatol": 1e-9})
    value, _ = _at_share(counts, np.array([share]))
    assert value[0] == pytest.approx(-found.fun, abs=1e-4)


def test_judge_that_always_says_no_adds_nothing():
    """Verdicts that are all alike leave the interval of the labels alone."""
    critical = squared_critical(0.95)
    both = two_phase_interval(counts_of(0, 12, 0, 88, 0, 5000), critical)
    alone = share_interval(np.array([12.0]), np.array([100.0]), critical)
    np.testing.assert_allclose(both, alone, atol=2e-3)


def test_no_positive_label_leaves_the_lower_end_at_zero():
    """With no positive label among 50 the interval starts at 0 and reaches a few percent."""
    low, high = share_interval(np.array([0.0]), np.array([50.0]), squared_critical(0.95))
    assert low[0] == pytest.approx(0.0, abs=1e-6)
    assert 0.03 < high[0] < 0.08


@pytest.mark.parametrize("n", [50, 100, 300])
@pytest.mark.parametrize("p", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5])
def test_labels_alone_cover_exactly_as_often_as_they_should(n, p):
    """Summed over all numbers of positive labels, the coverage is at least 93 %."""
    x = np.arange(n + 1.0)
    low, high = share_interval(x, np.full_like(x, n), squared_critical(0.95))
    assert binom.pmf(x, n, p)[(low <= p) & (p <= high)].sum() >= 0.93


@pytest.mark.parametrize(
    ("n", "prevalence", "kind", "n_judges"),
    [
        (50, 0.02, "near-perfect", 1),
        (50, 0.1, "weak", 1),
        (100, 0.02, "good", 10),
        (100, 0.05, "useless", 1),
        (300, 0.02, "near-perfect", 10),
        (300, 0.5, "good", 5),
    ],
)
def test_intervals_hold_the_share_although_the_judge_was_chosen(n, prevalence, kind, n_judges):
    """Coverage is at least 93 %, and the width at most 1.05 of the labels' score interval."""
    cell = Cell(n, 2000, prevalence, kind, n_judges)
    found = intervals(draw(cell, SIMULATED), n_judges)
    assert found.coverage(prevalence) >= 0.93 - ERROR
    assert found.ratio <= 1.05


@pytest.mark.slow
@pytest.mark.usefixtures("truth")
@pytest.mark.parametrize("name", REPLAYED)
@pytest.mark.parametrize("n", [50, 300])
def test_intervals_hold_the_share_of_stored_answers(name, n):
    """The raters' share over all items is covered at least 93 %, judge named or chosen of six."""
    answers = StoredAnswers.read(name, REPLAYED[name])
    for judges in (answers.best, answers):
        covered, ratio = replayed(judges, n, SIMULATED)
        assert covered >= 0.93 - ERROR
        assert ratio <= 1.05


def test_interval_of_one_judge_misses_where_it_was_chosen_among_ten():
    """The simulation sees the choice: without the allowance for it, coverage falls below 93 %."""
    cell = Cell(300, 2000, 0.02, "near-perfect", 10)
    assert intervals(draw(cell, SIMULATED), 1).coverage(0.02) < 0.93


@pytest.mark.parametrize(
    "betas",
    [(0.05, 0.15), *(pytest.param(b, marks=pytest.mark.slow) for b in ((0.0, 0.0), (0.1, 0.5)))],
)
def test_every_point_of_the_identified_set_is_covered(betas):
    """With beta anywhere in its interval, the share is covered at least 93 % of the time."""
    assert min(identified(Cell(100, 2000, 0.1, "weak"), SIMULATED, betas)) >= 0.93 - ERROR


def test_critical_value_goes_from_two_sided_to_one_sided():
    """A point is covered two-sided, a wide set at each end one-sided (Imbens and Manski, Eq. 7)."""
    assert partial_critical(0.0, 0.95) == pytest.approx(1.959964, abs=1e-5)
    assert partial_critical(50.0, 0.95) == pytest.approx(1.644854, abs=1e-5)
    widths = np.linspace(0, 5, 20)
    assert (np.diff([partial_critical(width, 0.95) for width in widths]) < 0).all()


def test_interval_of_beta_must_be_ordered():
    """Ends in the wrong order are refused."""
    with pytest.raises(ValueError, match="two ordered values"):
        identified_interval(lambda _: (0.1, 0.2), (0.4, 0.2), 0.95)


def test_share_is_that_of_labels_and_judge():
    """A good judge narrows the interval; the labels alone, and the judge alone, stand beside it."""
    labelled, judged = population(0)
    result = population_share([PopulationStratum(labelled, judged)])
    assert result.method == "labels_and_judge"
    assert result.estimate.low < 0.3 < result.estimate.high
    assert result.worth > 1.5
    assert result.labels_alone.value == pytest.approx(labelled.labels.mean())
    assert result.judge_alone == pytest.approx(judged.mean)
    assert result.judge_alone > 0.32  # 0.3 x 0.9 + 0.7 x 0.1 = 0.34: the judge's own share is off
    assert result.corrected.value == pytest.approx(0.3, abs=0.06)
    assert result.powered.value == pytest.approx(result.estimate.value, abs=0.01)


def test_a_useless_judge_that_was_selected_leaves_only_the_labels():
    """Where ten judges were tried and none helps, the labels' own interval is reported."""
    labelled, judged = population(1, accuracy=0.5)
    result = population_share([PopulationStratum(labelled, judged)], n_judges=10)
    assert result.method == "labels_alone"
    assert result.estimate == result.labels_alone


def test_share_under_unknown_beta_has_no_single_value():
    """With beta in an interval there is an interval and no value; with one beta there is both."""
    labelled, judged = population(2)
    choices = population_share([PopulationStratum(labelled, judged)])
    unknown = population_share([PopulationStratum(labelled, judged)], betas=(0.1, 0.3))
    known = population_share([PopulationStratum(labelled, judged)], betas=(0.2, 0.2))
    assert unknown.estimate.value is None
    assert unknown.estimate.low < known.estimate.low
    assert known.estimate.value == pytest.approx(0.2 + 0.8 * choices.estimate.value)
    assert known.estimate.low == pytest.approx(0.2 + 0.8 * choices.estimate.low)


def test_few_positive_labels_have_no_t_interval():
    """Below ten labels of either kind PPI++ is not shown for shares."""
    labelled, judged = population(3, n=50, prevalence=0.05)
    result = population_share([PopulationStratum(labelled, judged)])
    assert result.powered is None
    assert result.estimate is not None


def test_independent_labels_have_no_dispersion():
    """It is exactly 1 for labels of 0 and 1, below 1 for shares, above 1 for groups that agree."""
    rng = np.random.default_rng(4)
    labels = (rng.random(400) < 0.3).astype(float)
    fitted = np.full(400, labels.mean())
    assert dispersion(Labelled(labels, labels), fitted) == pytest.approx(1.0)
    shares = rng.binomial(5, 0.3, 400) / 5
    assert dispersion(Labelled(shares, shares), np.full(400, shares.mean())) < 0.4
    alike = np.repeat(labels[:80], 5)
    groups = np.repeat(np.arange(80), 5)
    assert dispersion(Labelled(alike, alike, groups), np.full(400, alike.mean())) > 3.0


def test_powered_mean_by_hand():
    """With a weight of 1 it is the mean verdict plus the mean error of the verdicts."""
    labels = np.array([1.0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1])
    verdicts = np.array([1.0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1])
    judged = JudgedMean.of(np.array([1.0] * 30 + [0.0] * 70))
    result = powered_mean(labels, verdicts, judged, bounds=(0.0, 1.0), weight=1.0)
    errors = labels - verdicts
    assert result.value == pytest.approx(0.3 + errors.mean())
    variance = errors.var() / 11 + judged.variance / 100
    assert result.standard_error == pytest.approx(np.sqrt(variance))
    assert result.freedom == 11


def test_spread_of_verdicts_adds_up_over_parts():
    """Sums of parts give the mean and variance of the whole."""
    values = np.random.default_rng(5).random(1000)
    whole = JudgedMean.of(values[:300]).plus(JudgedMean.of(values[300:]))
    assert whole.mean == pytest.approx(values.mean())
    assert whole.variance == pytest.approx(values.var(ddof=1))


@pytest.mark.parametrize("centre", [0.0, 1e8, -1e12])
def test_variance_of_verdicts_does_not_depend_on_where_they_are(centre):
    """Around 1e8, the variance of 0 and 1 was 0: it was the difference of two sums of squares."""
    values = centre + np.arange(100.0) % 2
    whole = JudgedMean.of(values[:30]).plus(JudgedMean.of(values[30:]))
    empty = JudgedMean.of(values[:0])
    assert JudgedMean.of(values).variance == pytest.approx(25 / 99, rel=1e-6)
    assert whole.variance == pytest.approx(25 / 99, rel=1e-6)
    assert empty.plus(whole) == whole.plus(empty) == whole


def test_powered_mean_needs_ten_items():
    """With nine labels there is none, and the mean score says why."""
    scores = np.arange(9.0)
    judged = JudgedMean.of(np.arange(100.0) % 9)
    assert powered_mean(scores, scores, judged, bounds=(0.0, 8.0)) is None
    assert population_score(
        [PopulationStratum(Labelled(scores, scores), judged)], bounds=(0, 8)
    ).reason == ("too_few_labels")


def test_labels_that_are_all_alike_keep_a_width():
    """The variance is not below that of one further label at the far end."""
    ones, judged = np.ones(40), JudgedMean.of(np.ones(1000))
    result = powered_mean(ones, ones, judged, bounds=(0.0, 1.0))
    low, high = result.interval(0.95)
    assert high - low > 0.05


@pytest.mark.slow
def test_mean_score_holds_its_level():
    """Intervals of mean scores hold the population's mean in at least 93 % of data sets."""
    rng, held = np.random.default_rng(6), []
    for _ in range(400):
        truth = rng.normal(3.0, 1.0, 1100)
        verdicts = truth + rng.normal(0.5, 0.5, 1100)
        labelled = Labelled(truth[:100], verdicts[:100])
        stratum = PopulationStratum(labelled, JudgedMean.of(verdicts[100:]))
        result = population_score([stratum], bounds=(-2.0, 8.0))
        held.append(result.estimate.low <= 3.0 <= result.estimate.high)
        assert result.worth > 1.0
    assert np.mean(held) >= 0.93 - 3.0 * np.sqrt(0.93 * 0.07 / 400)


def test_corrected_share_by_hand():
    """Sensitivity 0.8, specificity 0.9, said yes 0.31: (0.31 - 0.1) / 0.7 = 0.3."""
    result = corrected_share(counts_of(40, 10, 10, 90, 310, 690))
    assert (result.sensitivity, result.specificity) == (0.8, 0.9)
    assert result.value == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("n", "share", "sensitivity", "specificity"),
    [(50, 0.1, 0.8, 0.8), (300, 0.5, 0.95, 0.95), (50, 0.02, 0.9, 0.9), (100, 0.3, 0.5, 0.5)],
)
def test_profile_interval_of_a_corrected_share_holds_it(n, share, sensitivity, specificity):
    """In at least 93 %, also where the delta method holds in 91 % or where a judge guesses."""
    rng, n_data_sets = np.random.default_rng(n), 1000
    yes = rng.random((n_data_sets, n)) < share
    said = rng.random(yes.shape) < np.where(yes, sensitivity, 1.0 - specificity)
    said_yes = share * sensitivity + (1.0 - share) * (1.0 - specificity)
    judged = rng.binomial(2000, said_yes, n_data_sets).astype(float)
    cells = [(yes & said), (yes & ~said), (~yes & said), (~yes & ~said)]
    kept = yes.any(axis=1) & ~yes.all(axis=1)
    labelled = [cell.sum(axis=1)[kept].astype(float) for cell in cells]
    counts = TwoPhaseCounts(*labelled, judged[kept], 2000.0 - judged[kept])
    low, high = judge_interval(counts, squared_critical(0.95))
    assert ((low <= share) & (share <= high)).mean() >= 0.93 - ERROR
    if sensitivity + specificity == 1.0:
        assert np.median(high - low) > 0.99


@pytest.mark.parametrize(
    ("cells", "reason"),
    [((0, 0, 5, 45, 10, 90), "one_label"), ((10, 10, 40, 40, 50, 50), "judge_uninformative")],
)
def test_share_that_cannot_be_corrected_has_a_reason(cells, reason):
    """Labels of one kind, or a judge that does not tell them apart, give none."""
    result = corrected_share(counts_of(*cells))
    assert result.value is None
    assert result.reason == reason


def test_items_that_look_different_are_named():
    """Other verdicts, or longer texts, are found; the same ones rarely are."""
    rng = np.random.default_rng(7)
    short, long = rng.exponential(100, 150), rng.exponential(300, 5000)
    found = transfer(np.array([50, 100]), np.array([1700, 3300]), short, long)
    assert found.differs == ("lengths",)
    found = transfer(np.array([120, 30]), np.array([1700, 3300]), short, short.repeat(5))
    assert found.differs == ("verdicts",)
    wrong = []
    for _ in range(300):
        drawn = rng.multinomial(150, [0.3, 0.7]), rng.multinomial(5000, [0.3, 0.7])
        lengths = rng.exponential(100, 150), rng.exponential(100, 5000)
        wrong.append(bool(transfer(*drawn, *lengths).differs))
    assert np.mean(wrong) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 300)


def test_rare_answers_are_pooled_by_hand():
    """Of 10 and 90 items, answers seen less than 50 times go together, the rarest first."""
    table = np.array([[0, 1, 4, 0, 5], [1, 2, 26, 0, 61]])
    assert pooled(table).tolist() == [[10], [90]]  # 4 + 30 in all are too few; with the rest, one
    table = np.array([[8, 2, 0, 10], [52, 18, 30, 80]])
    assert pooled(table).tolist() == [[2, 8, 10], [48, 52, 80]]
    assert pooled(np.array([[0, 0], [3, 4]])).shape[1] == 1
    assert pooled(np.array([[0, 0], [0, 0]])).shape[1] <= 1


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4000)), min_size=1, max_size=12).map(
        lambda cells: np.array(cells).T
    )
)
def test_pooled_answers_are_expected_often_enough(table):
    """No item is lost, and with two answers or more none is expected less than five times."""
    found = pooled(table)
    assert found.sum(axis=1).tolist() == table.sum(axis=1).tolist()
    if found.shape[1] > 1:
        expected = np.outer(found.sum(axis=1), found.sum(axis=0)) / found.sum()
        assert expected.min() >= MIN_EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "chances"),
    [
        (12, [0.5, 0.5]),
        (30, [0.97, 0.01, 0.01, 0.01]),
        (30, [0.05] * 20),
        (100, [0.9, 0.05] + [0.05 / 8] * 8),
        (300, [0.6, 0.35] + [0.05 / 40] * 40),
    ],
)
def test_sparse_answers_keep_the_level(n, chances):
    """Where items are alike, 5 % of data sets are said to differ at most, rare answers or not."""
    rng = np.random.default_rng(n + len(chances))
    wrong = []
    for _ in range(4000):
        drawn = rng.multinomial(n, chances), rng.multinomial(5000, chances)
        wrong.append(bool(transfer(*drawn, [], []).differs))
    assert np.mean(wrong) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 4000)


def grouped_items(rng, n):
    """Verdicts and lengths of n items in groups of five that share most of both."""
    chances, lengths = rng.beta(0.6, 1.4, n // 5), rng.exponential(100, n // 5)
    verdicts = rng.random(n) < chances.repeat(5)
    return verdicts.astype(float), lengths.repeat(5) + rng.normal(0, 10, n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 300])
def test_groups_made_items_look_different(n):
    """Items in groups were said to differ in most data sets where nothing does."""
    rng = np.random.default_rng(n)
    wrong, unaware = [], []
    for _ in range(300):
        (said, lengths), (others, other_lengths) = (grouped_items(rng, size) for size in (n, 3000))
        counts = [np.array([x.sum(), len(x) - x.sum()]).astype(int) for x in (said, others)]
        found = Grouped.of(said, lengths, np.arange(n) // 5)
        wrong.append(bool(transfer(*counts, lengths, other_lengths, grouped=found).differs))
        unaware.append(bool(transfer(*counts, lengths, other_lengths).differs))
    assert np.mean(wrong) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(unaware) > 0.3


def test_groups_that_differ_are_still_seen():
    """Twice the length is found with 60 groups."""
    rng = np.random.default_rng(3)
    (said, lengths), (others, other_lengths) = (grouped_items(rng, n) for n in (300, 3000))
    counts = [np.array([x.sum(), len(x) - x.sum()]).astype(int) for x in (said, others)]
    found = Grouped.of(said, 2 * lengths, np.arange(300) // 5)
    assert "lengths" in transfer(*counts, 2 * lengths, other_lengths, grouped=found).differs


@pytest.mark.slow
def test_strata_that_look_alike_are_rarely_said_to_differ():
    """Tests within five strata together keep the level; one stratum that differs is found."""
    rng = np.random.default_rng(5)

    def tested(length):
        counts = rng.multinomial(30, [0.3, 0.7]), rng.multinomial(500, [0.3, 0.7])
        return transfer(*counts, rng.exponential(length, 30), rng.exponential(100, 500))

    wrong = [bool(jointly([tested(100) for _ in range(5)]).differs) for _ in range(300)]
    assert np.mean(wrong) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 300)
    assert jointly([tested(100), tested(400), tested(100)]).differs == ("lengths",)
    assert jointly([]).differs == ()


def test_powered_mean_took_grouped_verdicts_as_independent():
    """With a perfect judge the error is that of the mean verdict of 2,000 items in 400 groups."""
    rng = np.random.default_rng(9)
    values, covered = [], []
    for _ in range(400):
        yes, others = (rng.random(n) < rng.beta(0.6, 1.4, n // 5).repeat(5) for n in (300, 2000))
        labels, groups = yes.astype(float), np.arange(300) // 5
        judged = JudgedMean.of(others.astype(float))
        found = powered_mean(labels, labels, judged, bounds=(0.0, 1.0), groups=groups)
        low, high = found.interval(0.95)
        covered.append(low <= 0.3 <= high)
        values.append(found.value)
    assert np.mean(values) == pytest.approx(0.3, abs=4 * np.std(values) / 20)
    assert np.mean(covered) >= 0.93 - 3.0 * np.sqrt(0.93 * 0.07 / 400)


def test_active_draws_are_unbiased_and_narrower():
    """Labels weighted by one over their chance average to the truth, with less spread."""
    rng = np.random.default_rng(8)
    chance = np.where(rng.random(4000) < 0.8, 0.02, 0.5)
    truth = rng.random(4000) < chance
    active = draw_probabilities(np.sqrt(chance * (1.0 - chance)), 400)
    assert active.sum() == pytest.approx(400)
    assert active.max() <= 1.0
    estimates = []
    for _ in range(400):
        drawn = rng.random(4000) < active
        adjusted = (truth - chance)[drawn] / active[drawn]
        estimates.append(chance.mean() + adjusted.sum() / 4000)
    error = np.std(estimates) / np.sqrt(400)
    assert np.mean(estimates) == pytest.approx(truth.mean(), abs=4 * error)

    def variance(probabilities):  # of independent draws, over items drawn and labels
        return (chance * (1 - chance) * (1 / probabilities - 1)).sum()

    assert variance(active) < 0.8 * variance(np.full(4000, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design("active", 50, 0.3, "weak"),
        Design("active", 300, 0.1, "near-perfect"),
        Design("groups", 100, 0.1, "weak", n_judges=5),
        Design("groups", 300, 0.5, "near-perfect"),
        Design("strata", 50, 0.0, "good", n_judges=5),
        Design("weighted", 50, 0.0, "good"),
        Design("weighted", 300, 0.0, "near-perfect"),
        Design("raters", 50, 0.1, "near-perfect", 3),
    ],
    ids=repr,
)
def test_intervals_hold_where_labels_are_weighted_grouped_or_shared(design):
    """Coverage is at least 93 % for active draws, groups, strata and several raters per item."""
    assert simulate(design, SIMULATED).coverage >= 0.93 - ERROR


def test_judge_known_from_groups_is_known_less_well():
    """Verdicts on 2,000 items in groups counted as if independent: coverage was 82 %."""
    [stratum] = Design("groups", 100, 0.3, "near-perfect").draw(np.random.default_rng(1))
    counts = effective_counts(stratum.labelled, stratum.judged)
    assert 0 < counts.judged_yes[0] + counts.judged_no[0] < 0.8 * stratum.judged.n


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("beta", [0.0, 0.4])
def test_intervals_hold_where_beta_is_estimated_from_pairs(beta):
    """Coverage is at least 93 % with pairs on half of 50 items of two raters each."""
    found = simulate_paired(PairedDesign(50, 25, 0.5, beta, "good"), 300)
    assert found.coverage >= 0.93 - 3.0 * np.sqrt(0.93 * 0.07 / 300)


def test_pairs_without_end_are_a_known_beta():
    """With a million pairs the interval is that at the true beta; with ten it is wider."""
    labelled, judged = population(4)
    known = population_share([PopulationStratum(labelled, judged)], betas=(0.3, 0.3)).estimate
    many, few = (
        population_share(
            [PopulationStratum(labelled, judged)], betas=PairedBeta(0.3, n, int(n))
        ).estimate
        for n in (1e6, 10.0)
    )
    assert (many.low, many.high) == pytest.approx((known.low, known.high), abs=2e-3)
    assert few.width > 1.2 * known.width


@pytest.mark.slow
@pytest.mark.parametrize("prevalence", [0.05, 0.3])
def test_share_from_active_labels_is_unbiased(prevalence):
    """Weighted by one over their probabilities, labels on the judge's doubtful items are fair."""
    rng = np.random.default_rng(12)
    design = Design("active", 100, prevalence, "weak")
    values, unweighted = [], []
    for _ in range(SIMULATED):
        [stratum] = design.draw(rng)
        labelled = stratum.labelled
        values.append(effective_counts(labelled, stratum.judged).estimate[0])
        unweighted.append(labelled.labels.mean())
    error = np.std(values) / np.sqrt(SIMULATED)
    assert np.mean(values) == pytest.approx(prevalence, abs=4 * error)
    assert abs(np.mean(unweighted) - prevalence) > 4 * error  # the draw does prefer some items


def test_verdict_with_few_labels_has_the_spread_of_all():
    """A verdict that no labelled item has is as uncertain as any, and a sure one nearly certain."""
    labels, verdicts = np.array([0.0] * 50 + [1.0, 0.0] * 25), np.array([0.0] * 50 + [1.0] * 50)
    spreads = label_spreads(labels, verdicts, np.array([0.0, 1.0, 2.0]))
    assert spreads[0] < 0.1
    assert spreads[1] > 0.45
    assert spreads[2] == pytest.approx(labels.std())


def test_items_that_are_certain_leave_labels_to_the_others():
    """No chance exceeds 1, and they still add up."""
    probabilities = draw_probabilities(np.array([0.5] + [0.0] * 9), 5)
    assert probabilities.max() == 1.0
    assert probabilities.sum() == pytest.approx(5)
    with pytest.raises(ValueError, match="20 labels are requested, but there are only 10 items"):
        draw_probabilities(np.full(10, 0.5), 20)


@pytest.mark.slow
def test_intervals_hold_whenever_labelling_stops():
    """The share lies in all intervals of a sequence in at least 95 % of data sets."""
    left = []
    for seed in range(100):
        labelled, judged = population(seed, prevalence=0.2)
        sequence = confidence_sequence(labelled.labels, labelled.verdicts, judged.mean, judged.n)
        left.append(((sequence.low > 0.2) | (sequence.high < 0.2)).any())
        assert (np.diff(sequence.high - sequence.low) <= 1e-12).all()
    assert np.mean(left) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 100)


def test_lengths_that_differ_are_refused():
    """As many verdicts as labels are needed."""
    with pytest.raises(ValueError, match="2 verdicts for 3 labels"):
        Labelled(np.ones(3), np.ones(2))


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.floats(0.01, 1.0, exclude_min=True)
)
def test_share_of_items_above_tau_is_within_its_bounds(shares, tau):
    """Whatever the shares of the items are."""
    mean = float(np.mean(shares))
    low, high = share_above(tau, mean, mean)
    above = np.mean(np.array(shares) >= tau)
    assert low - 1e-9 <= above <= high + 1e-9

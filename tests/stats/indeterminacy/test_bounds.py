from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.each_case import fast_first
from support.rating_tables import count_table, random_table, split_options

from harness import stats
from harness.stats import OptionSpace, common_bounds, free_bounds
from harness.stats.data.forms import reaches
from harness.stats.data.rating_table import multilabel
from harness.stats.indeterminacy.bounds import EndorsementLimit, meets_bounds
from harness.stats.indeterminacy.translation import reconstruct_theta
from harness.stats.inference.bootstrap import Resamples, Units

BOTH = ("toxic", "fine")
THREE = OptionSpace.powerset(("toxic", "rude", "fine"))


def common(human, judges, limits, **options):
    """Bounds at tau 0.5 on the option "toxic", seeded."""
    defaults = {"tau": 0.5, "positive": ("toxic",), "n_resamples": 100}
    resampling, chosen = split_options(options, **defaults)
    return common_bounds(human, judges, limits, resampling=resampling, **chosen)


def free(human, *judges, **options):
    """Bounds over any F', the same way."""
    defaults = {"tau": 0.5, "positive": ("toxic",), "n_resamples": 100}
    resampling, chosen = split_options(options, **defaults)
    return free_bounds(human, judges, resampling=resampling, **chosen)


def omega_bounds(choices, space):
    """Bound the chance of each option to be in the set: (n, K) twice."""
    ends = [meets_bounds(choices, space, (option,)) for option in space.options]
    return np.stack([low for low, _ in ends], 1), np.stack([high for _, high in ends], 1)


def test_omega_bounds_in_closed_form():
    """O_k <= Omega_k <= the sum of O_j over the j that share an admissible set with k."""
    space = OptionSpace(("a", "b", "c"), [("a",), ("b",), ("c",), ("a", "b")])
    low, high = omega_bounds(np.array([[0.2, 0.3, 0.5], [np.nan] * 3]), space)
    np.testing.assert_allclose(low, [[0.2, 0.3, 0.5], [np.nan] * 3])
    np.testing.assert_allclose(high, [[0.5, 0.5, 0.5], [np.nan] * 3])


def test_lower_end_counts_options_that_are_only_admissible_together():
    """Who chooses b accepts {a, b}, there being no other set with b."""
    space = OptionSpace(("a", "b"), [("a",), ("a", "b")])
    low, high = omega_bounds(np.array([[0.4, 0.6]]), space)
    np.testing.assert_allclose(low, [[1.0, 0.6]])
    np.testing.assert_allclose(high, [[1.0, 1.0]])


def test_fully_specified_tasks_leave_nothing_open():
    """Both ends are O."""
    low, high = omega_bounds(np.array([[0.4, 0.6]]), OptionSpace.singletons(BOTH))
    np.testing.assert_allclose(low, high)
    np.testing.assert_allclose(low, [[0.4, 0.6]])


def test_every_admissible_reverse_translation_stays_within_the_bounds():
    """A thousand random F' per item, and the two extreme ones that attain the ends."""
    rng = np.random.default_rng(0)
    chosen = rng.dirichlet(np.ones(3), 5)
    low, high = omega_bounds(chosen, THREE)
    inside = THREE.membership.T.astype(float)
    for _ in range(1000):
        family = rng.dirichlet(np.full(7, 0.3), 3).T * inside + 1e-12 * inside
        omega = multilabel(reconstruct_theta(chosen, family / family.sum(axis=0)), THREE)
        assert (omega >= low - 1e-9).all()
        assert (omega <= high + 1e-9).all()
    meets_low, meets_high = meets_bounds(chosen, THREE, ("toxic", "rude"))
    np.testing.assert_allclose(meets_low, chosen[:, :2].sum(axis=1))
    np.testing.assert_allclose(meets_high, 1.0)


def test_consistency_and_bias_are_bounded_item_by_item():
    """Item 1 is surely positive; 2 and 3 may be either; the judge says yes, yes, no.

    Consistent for certain on item 1 alone, possibly on all; humans have 1 to 3 positives of 3, the
    judge 2.
    """
    human = count_table("human", [["toxic", "toxic"], ["fine"], ["fine"]])
    judge = count_table("z", sets=[[BOTH], [BOTH], [("fine",)]])
    result = free(human, judge)["z"]
    consistency, bias = result["decision_consistency"], result["prevalence_bias"]
    assert consistency.kind == "free_per_item"
    assert (consistency.low.value, consistency.high.value) == (pytest.approx(1 / 3), 1.0)
    assert (bias.low.value, bias.high.value) == (pytest.approx(-1 / 3), pytest.approx(1 / 3))
    assert consistency.low.interval_reason == "too_few_items"


def test_bounds_without_a_side_are_na():
    """The reason says which; items that lack one are counted."""
    human = count_table("human", [["fine"], ["fine"], []])
    judge = count_table("z", sets=[[BOTH], [], [BOTH]])
    result = free(human, judge)["z"]["decision_consistency"].low
    assert (result.n_used, result.n_excluded) == (1, 2)
    assert result.excluded == (
        stats.Exclusion("human_no_forced_choices", 1),
        stats.Exclusion("judge_no_response_sets", 1),
    )
    chose = count_table("y", [["fine"]] * 3)
    assert free(human, chose)["y"]["prevalence_bias"].high.reason == "no_response_sets"
    apart = count_table("human", [[], ["fine"], []])
    assert free(apart, judge)["z"]["prevalence_bias"].high.reason == "no_overlap"
    mute = count_table("human", sets=[[BOTH]] * 3)
    limits = [EndorsementLimit("fine", ("toxic",), 0.0, 0.5)]
    for result in (free(mute, judge), common(mute, [judge], limits)):
        assert result["z"]["prevalence_bias"].low.reason == "no_forced_choices"
        assert result["z"]["prevalence_bias"].low.value is None


def by_grid(human, judge, low, high):
    """Least and greatest consistency and bias over a fine grid of beta."""
    dist, space = stats.Distributions.of(human), human.space
    decision = stats.aggregate(
        stats.Distributions.of(judge), "decision", tau=0.5, positive=("toxic",)
    )
    rows = [
        stats.find_metric(n, stats.METRICS) for n in ("decision_consistency", "prevalence_bias")
    ]
    values = []
    for beta in np.linspace(low, high, 2001):
        family = stats.sensitivity_family(space, beta, {"fine": ("toxic",)})
        omega = multilabel(reconstruct_theta(dist.O, family), space)
        decided = reaches(omega[:, [space.option_index("toxic")]], 0.5)
        values.append([row.value(row.contributions(decided, decision).sum(axis=0)) for row in rows])
    return np.min(values, axis=0), np.max(values, axis=0)


@pytest.mark.parametrize(("low", "high"), fast_first(1, [(0.1, 0.35), (0.0, 1.0), (0.3, 0.3)]))
def test_common_bounds_are_exact_over_the_break_points(low, high):
    """A grid of 2,001 betas finds the same ends."""
    human, judge = random_table("human", 0), random_table("z", 1)
    result = common(human, [judge], [EndorsementLimit("fine", ("toxic",), low, high)])["z"]
    least, greatest = by_grid(human, judge, low, high)
    for i, name in enumerate(("decision_consistency", "prevalence_bias")):
        assert result[name].kind == "common"
        assert result[name].low.value == pytest.approx(least[i])
        assert result[name].high.value == pytest.approx(greatest[i])
        assert result[name].low.interval.low <= result[name].low.value
        assert result[name].low.n_resamples == 100


def test_common_bounds_lie_within_the_free_ones():
    """One F' for all items is one of the F' per item."""
    human, judge = random_table("human", 0), random_table("z", 1)
    wide = free(human, judge)["z"]
    narrow = common(human, [judge], [EndorsementLimit("fine", ("toxic",), 0.0, 1.0)])["z"]
    for name, bound in narrow.items():
        assert wide[name].low.value <= bound.low.value <= bound.high.value <= wide[name].high.value


def test_two_open_limits_are_not_computed():
    """NA says so; a closed limit is no free parameter."""
    human, judge = random_table("human", 0), random_table("z", 1)
    limits = [
        EndorsementLimit("fine", ("toxic",), 0.0, 0.5),
        EndorsementLimit("rude", ("toxic",), 0.0, 0.5),
    ]
    result = common(human, [judge], limits)["z"]["decision_consistency"]
    assert (result.low.value, result.low.reason, result.kind) == (None, "not_computed", "common")
    closed = [limits[0], EndorsementLimit("rude", ("toxic",), 0.25, 0.25)]
    assert common(human, [judge], closed)["z"]["decision_consistency"].low.value is not None


def test_limits_that_cannot_be_are_refused():
    """The message names the limit."""
    human = random_table("human", 0)
    with pytest.raises(ValueError, match="limits: an option is limited twice"):
        common(human, [], [EndorsementLimit("fine", ("toxic",), 0.0, 0.5)] * 2)
    with pytest.raises(ValueError, match="is not a range of probabilities"):
        common(human, [], [EndorsementLimit("fine", ("toxic",), 0.5, 0.4)])


def test_resampled_ends_are_those_of_the_resampled_items():
    """Each replicate's ends are what the bounds of its items, repeated, would be."""
    human, judge = random_table("human", 0, n=12), random_table("z", 1, n=12)
    limit = [EndorsementLimit("fine", ("toxic",), 0.0, 0.6)]
    result = common(human, [judge], limit, n_resamples=3)["z"]["decision_consistency"].low
    seed = Resamples.draw(Units.of(12, None), 3, np.random.default_rng(0))
    [weights] = seed.weights()
    lows = []
    for row in weights.astype(int):
        chosen = list(itertools.chain.from_iterable([i] * w for i, w in enumerate(row)))
        resampled = [pick(side, chosen) for side in (human, judge)]
        lows.append(common(resampled[0], resampled[1:], limit, n_resamples=0)["z"])
    values = [bounds_of_judge["decision_consistency"].low.value for bounds_of_judge in lows]
    assert result.interval.low == pytest.approx(np.quantile(values, 0.025))


def pick(distribution, rows):
    """Return a table of these rows, under new item ids."""
    return stats.RatingTable(
        space=distribution.space,
        name=distribution.name,
        items=tuple(map(str, range(len(rows)))),
        forced_choice=distribution.forced_choice[rows],
        response_set=distribution.response_set[rows],
        joint=None,
        outcomes=distribution.outcomes[rows],
    )

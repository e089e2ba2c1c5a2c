"""Weights of sampled items: known answers, and coverage of weighted intervals."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import seeded, table_of_counts

from harness.stats import OptionSpace, evaluate, find_metric
from harness.stats.inference.cluster_robust import (
    effective_number,
    inverse_probability_weights,
    linearized,
)
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.footing import common_footing

SPACE = OptionSpace.powerset(("toxic", "fine"))
NAMES = ("hit_rate(h/h)", "cohen_kappa(h/h)", "js_divergence(s/s)", "mse(s/s)")
N_RATERS = 10
SETTINGS = {"tau": 0.5, "positive": ("toxic",)}


def table(name, toxic, n_ratings):
    return table_of_counts(name, np.stack([toxic, n_ratings - toxic], axis=1), space=SPACE)


def tables(toxic, replies):
    return table("human", toxic, N_RATERS), table("judge", replies, 3)


def draw(rng, n):
    share = rng.beta(0.4, 1.2, n)
    replies = rng.binomial(3, np.clip(0.8 * share + 0.1 * rng.random(n), 0, 1))
    return rng.binomial(N_RATERS, share), replies


def estimates(human, judge, weights, n_resamples=0):
    resampling = seeded(n_resamples=n_resamples)
    return evaluate(
        human, [judge], resampling=resampling, metrics=NAMES, weights=weights, **SETTINGS
    ).estimates["judge"]


def test_weights_are_inverse_probabilities_of_mean_one():
    """Their ratio is that of the inverses; equal probabilities need none."""
    weights = inverse_probability_weights(np.array([1.0, 0.5, 0.25]))
    assert weights == pytest.approx([3 / 7, 6 / 7, 12 / 7])
    assert effective_number(weights) == pytest.approx(49 / 21)
    assert inverse_probability_weights(np.full(3, 0.2)) is None
    assert inverse_probability_weights(np.empty(0)) is None
    for wrong in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            inverse_probability_weights(np.array([wrong]))


def test_linearized_values_have_the_weighted_mean():
    """And are the values themselves where weights are equal."""
    values, weights = np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 4.0])
    assert linearized(values, weights).mean() == pytest.approx(27 / 6)
    assert linearized(values, np.full(3, 0.5)) == pytest.approx(values)


def test_item_of_double_weight_counts_as_two_items():
    """Metrics and the comparison on common footing are those of tables with the item repeated."""
    toxic, replies = draw(np.random.default_rng(3), 12)
    weights = np.where(np.arange(12) < 5, 2.0, 1.0)
    twice = np.repeat(np.arange(12), weights.astype(int))
    weighted = estimates(*tables(toxic, replies), weights)
    repeated = estimates(*tables(toxic[twice], replies[twice]), None)
    for name in NAMES:
        assert weighted[name].value == pytest.approx(repeated[name].value)
        assert (weighted[name].n_used, repeated[name].n_used) == (12, 17)
    footings = [
        common_footing(
            human,
            [judge],
            find_metric("mse(s/s)", METRICS),
            resampling=seeded(n_resamples=0),
            weights=counted,
            **SETTINGS,
        )
        for (human, judge), counted in (
            (tables(toxic, replies), weights),
            (tables(toxic[twice], replies[twice]), None),
        )
    ]
    assert footings[0].values == pytest.approx(footings[1].values)
    assert footings[0].baselines == pytest.approx(footings[1].baselines)
    [first], [second] = (footing.references for footing in footings)
    for field in ("human", "judge", "judge_by_all", "difference"):
        assert getattr(first, field) == pytest.approx(getattr(second, field))


@pytest.mark.slow
def test_weighted_intervals_cover_all_items_and_plain_ones_do_not():
    """Equal numbers of each level of 3,000 items, 110 in all, 200 samples: 93 to 100 %."""
    truth = estimates(*tables(*draw(np.random.default_rng(99), 200_000)), None)
    held = dict.fromkeys(NAMES, 0)
    plain = dict.fromkeys(NAMES, 0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        toxic, replies = draw(rng, 3000)
        items, probabilities = sample(rng, toxic, 110)
        both = tables(toxic[items], replies[items])
        for counts, weights in ((plain, None), (held, inverse_probability_weights(probabilities))):
            for name, estimate in estimates(*both, weights, 200).items():
                low, high = estimate.interval.low, estimate.interval.high
                counts[name] += low <= truth[name].value <= high
    assert all(n / 200 >= 0.93 for n in held.values()), held
    assert plain["hit_rate(h/h)"] / 200 < 0.5


def sample(rng, toxic, n):
    strata = [np.flatnonzero(toxic == k) for k in np.unique(toxic)]
    items, probabilities = [], []
    for members in strata:
        size = min(n // len(strata), len(members))
        items += rng.choice(members, size, replace=False).tolist()
        probabilities += [size / len(members)] * size
    return np.array(items), np.array(probabilities)

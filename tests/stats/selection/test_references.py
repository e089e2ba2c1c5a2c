"""Baselines at r replies: what is sampled agrees with what is enumerated."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from support.each_case import fast_first

from harness.stats.metrics.registry import metrics_named
from harness.stats.selection import references
from harness.stats.selection.references import BASELINES, _sampled_draws, baseline_values
from harness.stats.selection.replies import MAX_DRAWS


def same(shares, n_ratings=None):
    del n_ratings
    return shares


def rated(n, n_answers, seed=0):
    """Return (n, W) counts of three ratings each, and (B, n) weights of resamples."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(3, rng.dirichlet(np.ones(n_answers)), size=n)
    weights = rng.multinomial(n, np.ones(n) / n, size=200).astype(float)
    return counts, np.vstack([np.ones(n), weights])


def values(metric, counts, weights, n_replies):
    human = counts / counts.sum(axis=1, keepdims=True)
    return baseline_values(metric, human, counts, n_replies, vectors=same, weights=weights)


@pytest.mark.parametrize(("n_answers", "n_replies"), fast_first(1, [(4, 8), (6, 4), (3, 12)]))
def test_sampled_draws_agree_with_all_draws(monkeypatch, n_answers, n_replies):
    """The error in every resample is within four times the standard error that is stated."""
    [metric] = metrics_named(["js_divergence(s/s)"])
    counts, weights = rated(40, n_answers)
    enumerated = values(metric, counts, weights, n_replies)
    monkeypatch.setattr(references, "comb", lambda *_: MAX_DRAWS + 1)
    sampled = values(metric, counts, weights, n_replies)
    for name in BASELINES:
        assert sampled[name] == pytest.approx(enumerated[name], abs=4 * 0.5 / sqrt(MAX_DRAWS))
        assert sampled[name].std() == pytest.approx(enumerated[name].std(), rel=0.1)


def test_weights_of_draws_are_finite_where_distributions_share_none():
    """Each distribution has draws of its own, though most draws of the others are impossible."""
    drawn, weight = _sampled_draws(np.eye(30), 50)
    assert weight.sum(axis=1) == pytest.approx(np.ones(30))
    assert weight @ drawn == pytest.approx(50 * np.eye(30))

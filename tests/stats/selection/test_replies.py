"""Metrics at r replies: laws of the expectation over draws of replies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.data.arrays import ratio
from harness.stats.data.forms import hard
from harness.stats.inference.metric import SquaredDistance, mean
from harness.stats.metrics.confusion import hit_rate
from harness.stats.metrics.distributional import js_divergence
from harness.stats.metrics.multi_label import mse
from harness.stats.selection import replies as at_replies
from harness.stats.selection.replies import (
    Replies,
    contributions_at_replies,
    drawn_replies,
    samples_per_item,
)


def same(shares):
    return shares


def rating_shares(counts):
    return ratio(np.asarray(counts, float), np.sum(counts, axis=1, keepdims=True).astype(float))


counts = st.lists(
    st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=5
)


@given(counts, counts, st.integers(1, 3))
def test_closed_form_is_the_expectation(human, judge, n_replies):
    """The closed form of a squared distance equals the enumeration of all draws."""
    n = min(len(human), len(judge))
    raters, replies = rating_shares(human[:n]), Replies.of_counts(np.array(judge[:n]))
    options = {"vectors": same}
    enumerated = contributions_at_replies(mse, raters, replies, n_replies, **options)
    closed = contributions_at_replies(
        mse, raters, replies, n_replies, squared=SquaredDistance(same), **options
    )
    assert closed == pytest.approx(enumerated, abs=1e-12, nan_ok=True)


@given(counts, counts)
def test_as_many_replies_as_samples_change_nothing(human, judge):
    """At r = s the metric is that of the shares of all samples."""
    n = min(len(human), len(judge))
    raters, judge = rating_shares(human[:n]), np.array(judge[:n])
    n_replies = int(judge.sum(axis=1)[0])
    same_s = judge.sum(axis=1) == n_replies
    sums = contributions_at_replies(
        hit_rate, hard(raters), Replies.of_counts(judge), n_replies, vectors=hard
    )
    plain = hit_rate(hard(raters), hard(rating_shares(judge)))
    assert sums[same_s] == pytest.approx(plain[same_s])


def test_probabilities_of_draws_sum_to_one():
    """Counted samples and distributions alike."""
    counted = Replies.of_counts(np.array([[3, 1, 2], [0, 6, 0]]))
    given_shares = Replies.of_distribution(np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
    for replies in (counted, given_shares):
        draws = at_replies._enumerated(replies, 3, np.arange(3))
        assert sum(probability for _, probability in draws) == pytest.approx(np.ones(2))


def test_sampled_draws_are_close_to_enumerated_ones(monkeypatch):
    """Where there are too many draws to enumerate they are sampled, with a seed."""
    rng = np.random.default_rng(0)
    human = rating_shares(rng.multinomial(5, [0.5, 0.3, 0.2], 300))
    replies = Replies.of_counts(rng.multinomial(10, [0.4, 0.3, 0.3], 300))
    exact = contributions_at_replies(js_divergence, human, replies, 4, vectors=same)
    monkeypatch.setattr(at_replies, "MAX_DRAWS", 1)
    sampled = contributions_at_replies(js_divergence, human, replies, 4, vectors=same)
    again = contributions_at_replies(js_divergence, human, replies, 4, vectors=same)
    assert mean(sampled.sum(axis=0)) == pytest.approx(mean(exact.sum(axis=0)), abs=0.002)
    assert (sampled == again).all()


def test_too_few_samples_are_unanswered():
    """An item with s < r leaves the mean; reply noise needs two samples to be seen."""
    replies = Replies.of_counts(np.array([[1, 0], [1, 1], [0, 0]]))
    assert replies.answered(2).tolist() == [False, True, False]
    assert replies.answered(math.inf).tolist() == [False, True, False]
    sums = contributions_at_replies(mse, np.full((3, 2), 0.5), replies, 2, vectors=same)
    assert np.isnan(sums[[0, 2]]).all()
    assert not np.isnan(sums[1]).any()


def test_reply_noise_of_other_metrics_cannot_be_removed():
    """Without replies only quadratic metrics have an estimate."""
    replies = Replies.of_counts(np.array([[1, 1]]))
    with pytest.raises(ValueError, match="reply noise"):
        contributions_at_replies(
            js_divergence, np.array([[0.5, 0.5]]), replies, math.inf, vectors=same
        )


def test_number_of_samples_does_not_rank():
    """A judge asked once or ten times has the same expected value at one reply."""
    rng = np.random.default_rng(1)
    human = rating_shares(rng.multinomial(5, [0.6, 0.4], 4000))
    means = []
    for n_samples in (1, 10):
        replies = Replies.of_counts(rng.multinomial(n_samples, [0.5, 0.5], 4000))
        sums = contributions_at_replies(
            mse, human, replies, 1, vectors=same, squared=SquaredDistance(same)
        )
        means.append(float(mean(sums.sum(axis=0))))
    assert means[0] == pytest.approx(means[1], abs=0.02)


@given(counts, st.integers(1, 4))
def test_drawn_replies_are_as_many_and_of_those_given(judge, n_replies):
    """r of the replies to each item that has so many; all of them where it has just r."""
    given_counts = np.array(judge)
    drawn = drawn_replies(Replies.of_counts(given_counts), n_replies, np.random.default_rng)
    n_given = given_counts.sum(axis=1)
    assert drawn.sum(axis=1).tolist() == np.where(n_given >= n_replies, n_replies, 0).tolist()
    assert (drawn <= given_counts).all()
    assert (drawn == np.rint(drawn)).all()
    assert (drawn[n_given == n_replies] == given_counts[n_given == n_replies]).all()


def test_no_items_mean_one_reply_and_zero_replies_are_rejected():
    """Judges of no items are compared at one reply; zero replies are refused."""
    assert samples_per_item(np.empty(0)) == 1
    replies = Replies(np.array([[1.0, 0.0]]), np.array([1.0]))
    with pytest.raises(ValueError, match="n_replies is 0; wanted 1 or more"):
        contributions_at_replies(mse, np.array([[1.0, 0.0]]), replies, 0, vectors=lambda s: s)

"""The evidence of a stream over its looks."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from harness.stats.drift.reply_counts import ReplyCounts, Window, windows_of
from harness.stats.drift.stream_path import StreamPath, item_evidence, stream_path

CATEGORIES = ("yes", "no", "invalid")


def draw_counts(*, n=60, looks=12, noise=0.1, changed=0, first_look=1, seed=0, missing=0.0):
    """Two baseline replies and one per look; items change their usual answer for good."""
    rng = np.random.default_rng(seed)
    usual = rng.integers(0, 2, n)
    off = np.minimum(rng.exponential(noise, n), 0.5)
    rows = []
    for look in range(looks + 1):
        if look == first_look:
            usual[:changed] = 1 - usual[:changed]
        chance = np.zeros((n, 3))
        chance[np.arange(n), usual] = 1 - off
        chance[np.arange(n), 1 - usual] = 0.9 * off
        chance[:, 2] = 0.1 * off
        rows.append(rng.multinomial(1 if look else 2, chance))
    counts = np.array(rows)
    counts[rng.random(counts.shape[:2]) < missing] = 0
    return ReplyCounts(CATEGORIES, counts)


def test_weights_sum_to_1():
    """The windows of the first T looks hold 1 - 1 / (T + 1) of the error rate."""
    total = sum(window.weight for look in range(1, 501) for window in windows_of(look))
    assert total == pytest.approx(1 - 1 / 501, abs=1e-12)


def test_windows_of_a_look_differ_and_fit():
    """All looks, and the last 1, 2, 4, ..., 64 where that is fewer."""
    assert [window.length for window in windows_of(1)] == [1]
    assert [window.length for window in windows_of(64)] == [64, 1, 2, 4, 8, 16, 32]
    assert [window.length for window in windows_of(300)] == [300, 1, 2, 4, 8, 16, 32, 64]
    assert Window(10, 4).first_look == 7


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("changed", [0, 10])
def test_the_path_is_monotone(missing, changed):
    """W never falls; Q and the p-value never rise."""
    path = stream_path(draw_counts(missing=missing, changed=changed, first_look=4))
    sums = [look.log_e_sum for look in path.looks]
    assert sums == sorted(sums)
    for name in ("p_bound", "p_value"):
        values = [getattr(look, name) for look in path.looks]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_look_is_replayed_bit_for_bit(missing):
    """Looks added to an earlier path give what all looks at once give."""
    counts = draw_counts(missing=missing)
    path = stream_path(counts)
    assert path == stream_path(counts)
    earlier = StreamPath(path.looks[:-1])
    assert stream_path(counts, earlier=earlier) == path
    with pytest.raises(ValueError, match="earlier has 12 looks; counts has 11"):
        stream_path(ReplyCounts(CATEGORIES, counts.counts[:-1]), earlier=path)


def statistics(path):
    return [(look.log_e_sum, log(look.p_bound)) for look in path.looks]


def test_the_order_of_items_does_not_matter():
    """Items in another order give the same evidence."""
    counts = draw_counts(missing=0.1)
    order = np.random.default_rng(3).permutation(counts.counts.shape[1])
    shuffled = ReplyCounts(CATEGORIES, counts.counts[:, order])
    expected = statistics(stream_path(counts))
    assert np.allclose(statistics(stream_path(shuffled)), expected, atol=1e-9)


def test_category_labels_do_not_matter_but_for_ties():
    """Categories in another order give the same evidence where no item's categories tie."""
    counts = draw_counts(looks=1, missing=0.0).counts  # three replies tie only if all differ
    tied = (counts.sum(axis=0) == 1).all(axis=1)
    counts = counts[:, ~tied]
    paths = [
        stream_path(ReplyCounts(tuple(CATEGORIES[k] for k in order), counts[:, :, list(order)]))
        for order in ((0, 1, 2), (2, 0, 1), (1, 0, 2))
    ]
    for path in paths[1:]:
        assert np.allclose(statistics(path), statistics(paths[0]), atol=1e-9)


def test_a_category_that_does_not_occur_changes_nothing():
    """A category that is appended for a later look leaves earlier looks as they are."""
    counts = draw_counts()
    wider = np.concatenate([counts.counts, np.zeros_like(counts.counts[:, :, :1])], axis=2)
    path = stream_path(ReplyCounts((*CATEGORIES, "refused"), wider))
    assert np.allclose(statistics(path), statistics(stream_path(counts)), atol=1e-12)


def test_items_without_replies_on_both_sides_add_nothing():
    """An item that was never asked, or only in the baseline, leaves the evidence as it is."""
    counts = draw_counts().counts
    silent = np.zeros_like(counts[:, :1])
    baseline_only = silent.copy()
    baseline_only[0, 0, 0] = 2
    wider = np.concatenate([counts, silent, baseline_only], axis=1)
    path = stream_path(ReplyCounts(CATEGORIES, wider))
    expected = statistics(stream_path(ReplyCounts(CATEGORIES, counts)))
    assert np.allclose(statistics(path), expected, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_change_is_dated_and_named(missing):
    """10 of 200 items that change at look 16 are found, since about then, and by item."""
    counts = draw_counts(n=200, looks=20, changed=10, first_look=16, missing=missing, seed=2)
    alarm = stream_path(counts).first_look_at(0.01)
    assert alarm.look in {17, 18, 19}
    window = alarm.strongest.window
    assert abs(window.first_look - 16) <= 1
    assert alarm.strongest.largest.kind == "few_items"
    largest = np.argsort(-item_evidence(counts, window))[:5]
    assert (largest < 10).all()


def test_a_rate_that_rises_is_named():
    """Invalid replies that go from 5 to 20 % are the largest component."""
    rng = np.random.default_rng(0)
    rows = []
    for look in range(5):
        invalid = rng.binomial(1 if look else 2, 0.2 if look >= 2 else 0.05, 300)
        rows.append(np.stack([(1 if look else 2) - invalid, 0 * invalid, invalid], axis=1))
    path = stream_path(ReplyCounts(CATEGORIES, np.array(rows)))
    largest = path.first_look_at(0.05).strongest.largest
    assert (largest.kind, largest.category, largest.direction) == ("category", "invalid", "up")


@pytest.mark.parametrize(("before", "after", "direction"), [(0.1, 0.2, "down"), (0.3, 0.1, "up")])
def test_a_noisier_and_a_steadier_judge_are_named(before, after, direction):
    """Replies off the usual answer, in either direction, that become more or less frequent."""
    rng = np.random.default_rng(1)
    usual = rng.integers(0, 2, 400)
    rows = []
    for look in range(6):
        size = 1 if look else 5
        off = rng.binomial(size, after if look >= 2 else before, 400)
        rows.append(
            np.stack([np.where(usual, off, size - off), np.where(usual, size - off, off)], 1)
        )
    path = stream_path(ReplyCounts(("yes", "no"), np.array(rows)))
    largest = path.first_look_at(0.05).strongest.largest
    assert (largest.kind, largest.category, largest.direction) == ("usual_answer", None, direction)


def test_a_deterministic_judge_never_alarms():
    """Replies that never differ give the p-value 1."""
    counts = draw_counts(noise=0.0, looks=5)
    assert stream_path(counts).p_value == 1.0


def test_no_look_gives_no_evidence():
    """A baseline alone has the p-value 1."""
    path = stream_path(draw_counts(looks=0))
    assert (path.p_value, path.looks, path.first_look_at(0.05)) == (1.0, (), None)


@pytest.mark.parametrize(
    ("categories", "counts", "message"),
    [
        (("a", "a"), np.zeros((1, 2, 2), int), "repeated"),
        (("a", "b"), np.zeros((1, 2, 3), int), "wanted"),
        (("a", "b"), np.zeros((0, 2, 2), int), "baseline first"),
        (("a", "b"), np.full((1, 2, 2), -1), "negative"),
        (("a", "b"), np.zeros((1, 2, 2)), "non-integers"),
    ],
)
def test_counts_that_cannot_be_are_refused(categories, counts, message):
    """A wrong shape, type or sign is an error that names it."""
    with pytest.raises(ValueError, match=message):
        ReplyCounts(categories, counts)


@pytest.mark.parametrize("n_looks", [0, 20])
def test_a_rise_of_refusals_from_none_is_noticed_at_once(n_looks):
    """12 refusals in 150 replies, after none in the baseline and all looks, raise an alarm."""
    before = [np.tile([5, 0, 0], (150, 1)), *[np.tile([1, 0, 0], (150, 1))] * n_looks]
    look = np.array([[0, 0, 1] if i % 13 == 0 else [1, 0, 0] for i in range(150)])
    counts = ReplyCounts(("yes", "no", "(refused)"), np.array([*before, look]), {"(refused)"})
    assert stream_path(counts).p_value < 0.001

"""Agreement on subsets by the share of items on which all raters agree."""

from __future__ import annotations

import numpy as np
import pytest
from support.each_case import fast_first
from support.known_answers import counts_of as counts
from support.known_answers import judge_labels, load_dataset, units_of

from harness import stats
from harness.stats.data.labels import medians
from harness.stats.subsets.certainty_mix import (
    HELD_OUT,
    RANDOM,
    RATERS,
    certainty_mix,
)


def counts_of(labels, n_options):
    """Count (n, m) labels: (n, options)."""
    return np.stack([(labels == k).sum(axis=1) for k in range(n_options)], axis=1)


def rated(rng, n=60, m=3):
    """Draw labels of raters who agree on half of the items, and of a judge."""
    truth = rng.integers(0, 3, n)
    labels = np.where(rng.random((n, m)) < 0.5, rng.integers(0, 3, (n, m)), truth[:, None])
    labels[: n // 2] = truth[: n // 2, None]
    judge = np.where(rng.random(n) < 0.8, truth, rng.integers(0, 3, n))
    return labels, judge


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alpha_of_a_subset_is_that_of_its_items_written_out(level):
    """Every item drawn exactly as often as it is: raters, and judge with the raters' label."""
    rng = np.random.default_rng(3)
    labels, judge = rated(rng, n=40)
    labels[20:] = [0, 1, 1]  # 20 equal items without full agreement: each drawing is the same
    labels[:20] = 2
    judge[:20], judge[20:] = 2, 0
    mix = certainty_mix(
        counts_of(labels, 3), {"judge": counts_of(judge[:, None], 3)}, level=level,
        rng=np.random.default_rng(0), shares=(0.25,), n_items=20, n_draws=3,
    )  # fmt: skip
    subset = np.repeat([0, 20], [5, 15])
    among = stats.krippendorff_alpha((labels[subset] + 1).tolist(), level=level).value
    middle = medians(counts_of(labels, 3))[subset]  # of three, the mode too
    pairs = [[a, b] for a, b in zip(middle.tolist(), (judge[subset] + 1).tolist(), strict=True)]
    with_judge = stats.krippendorff_alpha(pairs, level=level).value
    assert mix.alpha[RATERS] == (pytest.approx(among),)
    assert mix.alpha["judge"] == (pytest.approx(with_judge),)
    assert mix.error["judge"] == (pytest.approx(0.0, abs=1e-12),)


def test_raters_agree_more_and_random_raters_no_more_as_certainty_grows():
    """At 1 raters agree fully; the judge's alpha stays below (Elangovan et al. 2025, figure 1)."""
    labels, judge = rated(np.random.default_rng(1), n=400)
    mix = certainty_mix(
        counts_of(labels, 3),
        {"judge": counts_of(judge[:, None], 3)},
        level="nominal",
        rng=np.random.default_rng(2),
    )
    assert mix.shares == tuple(k / 10 for k in range(11))
    for name in (RATERS, HELD_OUT):
        assert np.all(np.diff(mix.alpha[name]) > 0)
        assert mix.alpha[name][-1] == pytest.approx(1.0)
    assert np.abs(mix.alpha[RANDOM]).max() < 0.1
    assert mix.alpha["judge"][0] > mix.alpha[RATERS][0]
    assert mix.alpha["judge"][-1] < mix.alpha[RATERS][-1]
    assert all(0 < error < 0.15 for error in mix.error["judge"])


def test_the_rater_held_out_has_no_part_in_the_label():
    """Two raters who never agree, nor do they with each other's label: alpha is far below 0."""
    labels = np.repeat([[0, 1], [0, 0], [1, 1]], [10, 5, 5], axis=0)
    mix = certainty_mix(
        counts_of(labels, 2), {}, level="nominal", rng=np.random.default_rng(0), shares=(0.0,)
    )
    assert mix.alpha[HELD_OUT][0] == pytest.approx(-1.0, abs=0.02)


def test_too_few_items_of_a_kind_are_refused_with_their_numbers():
    """Subsets drawn from a handful of items would say nothing."""
    labels = np.repeat([[0, 1], [0, 0]], [30, 9], axis=0)
    with pytest.raises(ValueError, match="agree on 9 items and disagree on 30; subsets need 10"):
        certainty_mix(counts_of(labels, 2), {}, level="nominal", rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "criterion", fast_first(1, ["coherence", "consistency", "fluency", "relevance"])
)
@pytest.mark.usefixtures("truth")
def test_judges_fall_behind_the_raters_of_summeval_as_certainty_grows(criterion):
    """Elangovan et al. 2025, figure 5: the gap to the raters is widest where raters agree."""
    data, scale = load_dataset("summeval", criterion), (1, 2, 3, 4, 5)
    judge = counts(judge_labels(data, "gpt-4o"), scale)
    mix = certainty_mix(
        counts(units_of(data), scale), {"gpt-4o": judge}, level="ordinal", scale=scale,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    gaps = np.subtract(mix.alpha[RATERS], mix.alpha["gpt-4o"])
    assert gaps.argmax() == len(gaps) - 1
    assert gaps[-1] > 0.4
    assert mix.alpha[RATERS][-1] == pytest.approx(1.0)

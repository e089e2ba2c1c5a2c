from __future__ import annotations

import numpy as np
import pytest

from harness.stats.inference.bootstrap import Resampling
from harness.stats.subsets.held_out_raters import held_out_strata
from harness.stats.subsets.strata import Stratum, default_strata, stratify

STRATA = default_strata(2, ordinal=False)
ALPHA = "krippendorff_alpha_nominal"


def results(human, judge, *, strata=STRATA, rng=None, n_resamples=0, groups=None):
    """Compare one judge with held-out raters; give the results by name of the stratum."""
    rng = rng or np.random.default_rng(0)
    resampling = Resampling(rng=rng, n_resamples=n_resamples, groups=groups)
    [rows] = held_out_strata(
        np.array(human), {"z": np.array(judge)}, strata=strata, resampling=resampling
    ).values()
    return {row.stratum: row for row in rows}


def drawn(rng, n=150, m=6):
    """Draw m raters and a judge with one reply, all of them from the same chances per item."""
    chances = rng.beta(0.6, 0.6, n)
    return (
        np.column_stack([yes, total - yes])
        for total in (m, 1)
        for yes in [rng.binomial(total, chances)]
    )


def test_against_ratings_spelt_out():
    """Every rating is left out in turn; the others define the stratum and are compared with."""
    human, judge = [[2, 1], [3, 0], [0, 2]], [[1, 0], [1, 3], [1, 0]]
    split = results(human, judge)
    agreeing = split["PA = 1"]
    # AAB without B: A, A against B and against the judge's A; AAA: A and A against A/4 three times
    assert (agreeing.n_items, agreeing.n_ratings) == (2, 4)
    assert agreeing.hh.value == pytest.approx((0 + 3) / 4)
    assert agreeing.hm.value == pytest.approx((1 + 3 / 4) / 4)
    assert agreeing.difference.value == pytest.approx((3 - 1.75) / 4)
    # AAB without an A: A and B against A, and against the judge's A, twice
    disagreeing = split["PA < 0.6"]
    assert (disagreeing.n_items, disagreeing.n_ratings) == (1, 2)
    assert (disagreeing.hh.value, disagreeing.hm.value) == (0.5, 0.5)


@pytest.mark.slow
def test_a_judge_like_a_random_rater_has_no_difference():
    """HH - HM is centred at 0 in each stratum; the change of alpha in strata by all is not."""
    rng, old, new = np.random.default_rng(1), {}, {}
    for _ in range(120):
        human, judge = drawn(rng)
        for name, row in results(human, judge, rng=rng).items():
            new.setdefault(name, []).append(row.difference.value)
        resampling = Resampling(rng=rng, n_resamples=0)
        [rows] = stratify(
            human, {"z": judge}, strata=STRATA, level="nominal", resampling=resampling
        ).values()
        for row in rows:
            old.setdefault(row.stratum.name, []).append(row.delta[ALPHA].value)
    names = ("all", "PA = 1", "0.8 <= PA < 1", "0.6 <= PA < 0.8", "unique = 1", "unique = 2")
    for name in names:
        values = np.array(new[name])
        assert abs(values.mean()) < 3.5 * values.std() / np.sqrt(len(values)), name
    for name in ("0.8 <= PA < 1", "0.6 <= PA < 0.8", "unique = 2"):
        values = np.array(old[name])
        assert abs(values.mean()) > 10 * values.std() / np.sqrt(len(values)), name


def test_intervals_of_a_judge_like_a_random_rater_hold_zero():
    """95 % intervals of HH - HM exclude 0 in about 5 % of data sets, in each stratum."""
    rng, missed = np.random.default_rng(2), {}
    for _ in range(150):
        human, judge = drawn(rng)
        for name, row in results(human, judge, rng=rng, n_resamples=200).items():
            interval = row.difference.interval
            if interval is not None:
                missed.setdefault(name, []).append(not interval.low <= 0 <= interval.high)
    assert {"all", "PA = 1", "unique = 1", "unique = 2"} <= missed.keys()
    for name, misses in missed.items():
        assert np.mean(misses) < 0.12, name  # 0.05 and four standard errors


def test_a_worse_judge_differs_where_raters_agree():
    """A judge that tosses a coin is below a held-out rater where the others are certain."""
    rng = np.random.default_rng(3)
    human, _ = drawn(rng, n=300)
    tossed = rng.integers(0, 2, 300)
    split = results(human, np.eye(2)[tossed], n_resamples=300)
    assert split["PA = 1"].difference.interval.low > 0.2
    assert split["unique = 2"].difference.interval.high < 0.2


@pytest.mark.parametrize(
    ("human", "judge", "reason"),
    [
        ([[2, 0], [1, 1]], [[1, 0], [1, 0]], "too_few_raters"),
        ([[3, 0], [2, 1]], [[0, 0], [0, 0]], "no_overlap"),
        ([[3, 0], [0, 3]], [[1, 0], [1, 0]], "empty_stratum"),
    ],
)
def test_undefined_strata_have_their_reason(human, judge, reason):
    """Fewer than three ratings, no verdict, or no rating in the stratum."""
    row = results(human, judge)["unique = 2"]
    for estimate in (row.hh, row.hm, row.difference):
        assert (estimate.value, estimate.reason, estimate.n_used) == (None, reason, 0)
    assert (row.n_items, row.n_ratings) == (0, 0)


def test_unanswered_items_are_counted():
    """An item of the stratum without a verdict is excluded, with its number."""
    row = results([[3, 0], [3, 0], [1, 1]], [[1, 0], [0, 0], [1, 0]])["all"]
    assert (row.n_items, row.n_ratings, row.difference.n_excluded) == (1, 3, 1)
    assert [(e.reason, e.n_items) for e in row.difference.excluded] == [("no_overlap", 1)]
    assert repr(row) == "HeldOutStratum('all', 3 ratings)"


def test_medians_of_the_remaining_raters_define_strata_on_scales():
    """Without the 1, the raters of 1, 3, 3 are certain; without a 3 they are not."""
    strata = [Stratum("certain", "median_share", 1.0), Stratum("other", "median_share", 0, 1.0)]
    split = results([[1, 0, 2]], [[0, 0, 1]], strata=strata)
    assert [split[name].n_ratings for name in ("certain", "other")] == [1, 2]


def test_groups_are_resampled_as_wholes():
    """Items of a group travel together, which widens the interval of identical items."""
    rng = np.random.default_rng(4)
    human, judge = (np.repeat(table, 5, axis=0) for table in drawn(rng, n=30))
    by_item = results(human, judge, n_resamples=500)["all"].difference.interval
    groups = [f"g{i // 5}" for i in range(150)]
    by_group = results(human, judge, n_resamples=500, groups=groups)["all"].difference.interval
    assert by_group.unit == "group"
    assert by_group.high - by_group.low > 1.5 * (by_item.high - by_item.low)

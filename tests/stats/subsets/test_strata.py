from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.rating_tables import seeded, split_options

from harness.stats.data.labels import (
    label_counts,
    majority_shares,
    median_shares,
    medians,
    n_distinct,
)
from harness.stats.inference.bootstrap import Resamples, Units
from harness.stats.inference.interval_methods import Sampled, score_ends
from harness.stats.subsets.strata import Stratum, default_strata, stratify

counts_of_items = arrays.arrays(np.int64, (6, 4), elements=st.integers(0, 3))


def results(human, judge=None, *, strata, scale_level="nominal", **chosen):
    """Stratify without intervals, unless asked otherwise; give the results by name."""
    resampling, arguments = split_options(chosen, n_resamples=0)
    human = np.array(human)
    judges = {"": np.zeros_like(human) if judge is None else judge}
    [rows] = stratify(
        human, judges, strata=strata, level=scale_level, resampling=resampling, **arguments
    ).values()
    return {row.stratum.name: row for row in rows}


@settings(deadline=None)
@given(counts=counts_of_items)
def test_labels_of_an_item_against_numpy(counts):
    """Median, shares and number of labels are those of the labels spelt out."""
    scale = np.array([1.0, 2.0, 4.0, 7.0])
    result = [medians(counts, scale), median_shares(counts, scale)]
    result += [majority_shares(counts), n_distinct(counts)]
    for row, (middle, at_middle, at_mode, different) in zip(
        counts, np.transpose(result), strict=True
    ):
        labels = np.repeat(scale, row)
        if not labels.size:
            assert np.isnan([middle, at_middle, at_mode, different]).all()
            continue
        assert middle == np.median(labels)
        assert at_middle == pytest.approx((labels == np.median(labels)).mean())
        assert at_mode == pytest.approx(row.max() / row.sum())
        assert different == len(set(labels))


def test_raw_labels_are_counted():
    """Codes with nan for missing, or integers."""
    wanted = [[1, 0, 1], [0, 2, 0]]
    np.testing.assert_array_equal(label_counts([[0, 2, np.nan], [1, 1, np.nan]], 3), wanted)
    np.testing.assert_array_equal(label_counts(np.array([[0, 2], [1, 1]]), 3), wanted)
    for bad in ([[3]], [[-1]], [[0.5]]):
        with pytest.raises(ValueError, match="not an option index from 0 to 2"):
            label_counts(bad, 3)
    with pytest.raises(ValueError, match=r"labels has shape \(2,\)"):
        label_counts([1, 2], 3)
    with pytest.raises(ValueError, match="2 increasing numbers"):
        medians(np.ones((1, 2)), [2, 1])


def test_items_with_full_agreement_are_in_the_top_stratum():
    """Its upper end is closed, so a share of 1 is never lost."""
    human = [[3, 0], [2, 1], [0, 3]]
    strata = (Stratum("top", "majority_share", 0.8), Stratum("rest", "majority_share", 0, 0.8))
    result = results(human, strata=strata)
    assert (result["top"].n_items, result["rest"].n_items) == (2, 1)
    assert result["top"].hh["pairwise_agreement"].value == 1


def test_true_zero_is_not_lost():
    """No pair agrees: pairwise agreement is 0.0, which is a value and not NA."""
    strata = results([[1, 1], [1, 1]], strata=[Stratum("all", "n_labels")])["all"]
    assert strata.hh["pairwise_agreement"].value == 0.0
    assert strata.hh["pairwise_agreement"].reason == ""


def test_single_rater_is_in_no_stratum():
    """One label agrees with itself by construction; that is neither certainty nor 1.0."""
    strata = results([[1, 0], [2, 0]], strata=[Stratum("PA = 1", "majority_share", 1)])
    assert strata["PA = 1"].n_items == 1
    assert strata["PA = 1"].share_of_items == 0.5


def test_empty_stratum_keeps_its_row():
    """NA with the reason everywhere, and no items."""
    strata = results([[2, 0]], np.array([[1, 0]]), strata=default_strata(2, ordinal=False))
    assert strata["PA < 0.6"].n_items == 0
    for part in ("hh", "mm", "hw_mw", "h_mw", "random", "random_h", "delta", "js_b"):
        reasons = {estimate.reason for estimate in getattr(strata["PA < 0.6"], part).values()}
        assert reasons == {"empty_stratum"}
    assert repr(strata["PA < 0.6"]) == "StratumResult('PA < 0.6', 0 items)"


def test_stratum_of_one_label_is_na_with_counts():
    """Published code prints alpha 1.00 for it."""
    strata = results([[3, 0], [3, 0]], strata=[Stratum("all", "majority_share")])["all"]
    alpha = strata.hh["krippendorff_alpha_nominal"]
    assert (alpha.value, alpha.reason, alpha.n_used) == (None, "constant_labels", 2)
    assert strata.n_labels_seen == 1


def test_strata_partition_the_items():
    """Percentage strata and numbers of labels each hold every item with two ratings once."""
    rng = np.random.default_rng(0)
    human = rng.multinomial(5, [0.5, 0.3, 0.2], 80)
    strata = results(human, strata=default_strata(3, ordinal=False))
    sizes = {name: stratum.n_items for name, stratum in strata.items()}
    assert sum(n for name, n in sizes.items() if "PA" in name) == sizes["all"] == 80
    assert sum(n for name, n in sizes.items() if "unique" in name) == 80


def test_random_rater_looks_as_good_where_humans_disagree():
    """A.11 of elangovan2025: 1/K everywhere, so above the humans or below them by the stratum."""
    human = [[2, 0]] * 50 + [[0, 2]] * 50 + [[1, 1]] * 100
    strata = (Stratum("agree", "n_labels", 1, 2), Stratum("disagree", "n_labels", 2))
    result = results(human, strata=strata)
    for name, pairwise in (("agree", 1.0), ("disagree", 0.0)):
        assert result[name].random_h["agreement"].value == pytest.approx(0.5)
        assert result[name].hh["pairwise_agreement"].value == pairwise


def test_delta_is_the_difference_of_what_is_shown():
    """HH - HwMw of the same coefficient; Fleiss of two raters is Scott's pi; no percentages."""
    rng = np.random.default_rng(0)
    human, judge = rng.multinomial(3, [0.6, 0.3, 0.1], 90), rng.multinomial(5, [0.5, 0.4, 0.1], 90)
    groups = [f"g{i // 3}" for i in range(90)]
    strata = default_strata(3, ordinal=False)
    for stratum in results(human, judge, strata=strata, n_resamples=100, groups=groups).values():
        for name, other in (
            ("krippendorff_alpha_nominal", "krippendorff_alpha_nominal"),
            ("fleiss_kappa", "scott_pi"),
            ("randolph_kappa", "randolph_kappa"),
        ):
            hh, hw_mw, delta = (
                stratum.hh[name].value,
                stratum.hw_mw[other].value,
                stratum.delta[name],
            )
            if hh is None or hw_mw is None:
                assert delta.value is None
                assert delta.reason
            else:
                assert delta.value == pytest.approx(hh - hw_mw)
                assert delta.interval.unit == "group"
        assert set(stratum.delta) == {
            "krippendorff_alpha_nominal",
            "fleiss_kappa",
            "randolph_kappa",
            "gwet_ac1",
        }


def test_silence_on_hard_items_does_not_move_delta():
    """Raters were compared on all items and the judge on easy ones, which made it look better."""
    rng = np.random.default_rng(2)
    share = np.concatenate([np.repeat([0.95, 0.05], 30), np.full(60, 0.5)])
    shares = np.column_stack([share, 1 - share])
    human, answers = rng.multinomial(3, shares), rng.multinomial(1, shares)
    silent = np.where(np.arange(120)[:, None] < 60, answers, 0)
    strata = [Stratum("all", "n_labels")]
    whole = results(human, silent, strata=strata)["all"]
    part = results(human[:60], answers[:60], strata=strata)["all"]
    for name, delta in whole.delta.items():
        assert delta.value == pytest.approx(part.delta[name].value)
    name = "krippendorff_alpha_nominal"
    assert whole.hh[name].value < part.hh[name].value - 0.1  # of all items, as before


def test_one_human_is_an_expectation_not_a_draw():
    """H'M of [2, 1] against A: two thirds, whoever is drawn."""
    strata = results([[2, 1]], np.array([[1, 0]]), strata=[Stratum("all", "n_labels")])["all"]
    assert strata.h_mw["agreement"].value == pytest.approx(2 / 3)
    assert strata.hw_mw["agreement"].value == 1
    assert strata.mm["pairwise_agreement"].reason == "too_few_raters"


def test_ordered_scales_compare_medians():
    """Half points are labels of their own, and rank correlations stand beside alpha."""
    human = [[1, 1, 0], [0, 1, 1], [2, 0, 0], [0, 0, 2]]
    judge = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    strata = [Stratum("all", "median_share"), Stratum("published", "median_share_floor", 0.5)]
    result = results(human, judge, strata=strata, scale_level="ordinal")
    every = result["all"]
    assert every.hw_mw["agreement"].value == 0.5  # medians 1.5, 2.5, 1, 3 against 1, 2, 1, 3
    assert every.hw_mw["spearman"].value == pytest.approx(0.9486832980505138)
    assert every.hw_mw["krippendorff_alpha_ordinal"].value is not None
    assert every.random_h["agreement"].value == pytest.approx(1 / 3)
    assert result["published"].n_items == 4
    np.testing.assert_allclose(median_shares(human), [0, 0, 1, 1])
    np.testing.assert_allclose(median_shares(human, floor=True), [0.5, 0.5, 1, 1])


def test_a_stratum_sees_the_resamples_of_all_items():
    """The stratum of everything has the interval that the whole data set has."""
    rng = np.random.default_rng(0)
    human = rng.multinomial(3, [0.6, 0.4], 60)
    strata = (Stratum("all", "n_labels"), Stratum("some", "n_labels", 2))
    result = results(human, strata=strata, n_resamples=500)
    alone = results(human, strata=strata[:1], n_resamples=500)
    assert result["all"].hh["pairwise_agreement"] == alone["all"].hh["pairwise_agreement"]
    assert result["some"].random["agreement"].interval is not None


@pytest.mark.parametrize("grouped", [False, True])
def test_strata_against_a_loop_over_resamples(grouped):
    """Each stratum's replicates are those of its own items under the weights of all."""
    rng = np.random.default_rng(0)
    n, n_resamples = 60, 40
    human, judge = rng.multinomial(3, [0.6, 0.4], n), rng.multinomial(2, [0.5, 0.5], n)
    groups = [f"g{i % 20}" for i in range(n)] if grouped else None
    units = Units.of(n, groups)
    weights = np.concatenate(
        list(Resamples.draw(units, n_resamples, np.random.default_rng(5)).weights())
    )
    stratum = Stratum("split", "n_labels", 2)
    chosen = {"n_resamples": n_resamples, "rng": np.random.default_rng(5), "groups": groups}
    strata = results(human, judge, strata=[stratum], level=0.5, **chosen)["split"]
    inside = stratum.members(human)
    modes = judge == judge.max(axis=1, keepdims=True)
    share = (human / 3 * modes / modes.sum(axis=1, keepdims=True)).sum(axis=1)
    by_item = weights[:, units.of_item] * inside
    wanted = score_ends(
        Sampled(
            value=share[inside].mean(),
            replicates=(by_item @ share) / by_item.sum(axis=1),
            n_units=units.n_entering(inside),
            n_items=int(inside.sum()),
            bounds=(0.0, 1.0),
            is_share=True,
        ),
        0.5,
    )
    interval = strata.h_mw["agreement"].interval
    assert (interval.low, interval.high) == pytest.approx(wanted)


def test_judges_have_the_same_numbers_together_and_separately():
    """One walk for several judges changes no number of any, where items are drawn one by one."""
    rng = np.random.default_rng(0)
    human = rng.multinomial(3, [0.5, 0.3, 0.2], 50)
    judges = {name: rng.multinomial(4, [0.4, 0.4, 0.2], 50) for name in "xyz"}
    common = {"strata": default_strata(3, ordinal=True), "level": "ordinal"}
    together = stratify(
        human,
        judges,
        resampling=seeded(1, n_resamples=100),
        **common,
    )
    for name, judge in judges.items():
        [alone] = stratify(
            human, {name: judge}, resampling=seeded(1, n_resamples=100), **common
        ).values()
        for row, other in zip(together[name], alone, strict=True):
            for part in ("hh", "mm", "hw_mw", "h_mw", "random", "delta", "js_b"):
                assert getattr(row, part) == getattr(other, part)


def test_items_that_are_alike_are_drawn_together(monkeypatch):
    """Where many items are of few kinds, intervals are those of items drawn one by one."""
    human = np.tile([[3, 0], [2, 1], [2, 1], [0, 3]], (100, 1))
    judge = np.tile([[2, 0], [1, 1], [0, 2], [0, 2]], (100, 1))
    chosen = {"strata": [Stratum("split", "n_labels", 2)], "n_resamples": 4000}

    def ends():
        strata = results(human, judge, **chosen)["split"]
        both_estimates = (strata.h_mw["agreement"], strata.delta["krippendorff_alpha_nominal"])
        assert [estimate.n_resamples for estimate in both_estimates] == [4000, 4000]
        return [
            end
            for estimate in both_estimates
            for end in (estimate.interval.low, estimate.interval.high)
        ]

    together = ends()
    monkeypatch.setattr("harness.stats.inference.bootstrap.ALIKE", 400)
    assert together == pytest.approx(ends(), abs=0.02)
    assert together != ends()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Stratum("x", "mood"), "stratum 'x': by is 'mood'"),
        (lambda: Stratum("x", "n_labels", 2, 2), r"stratum 'x': \[2, 2\) is empty"),
        (lambda: results([[1, 1]], strata=[]), "strata is empty"),
        (
            lambda: results([[1, 1]], np.ones((2, 2)), strata=default_strata(2, ordinal=True)),
            r"human has shape \(1, 2\) and judge \(2, 2\)",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("copies", [1, 200])  # items are drawn one by one, or by kind
def test_some_measures_are_those_of_all(copies):
    """The coefficients that are asked for are those of an estimation of all, to the last bit."""
    human = np.tile([[3, 0, 0], [2, 1, 0], [0, 2, 1], [0, 0, 3]], (copies, 1))
    judge = np.tile([[2, 0, 0], [1, 1, 0], [0, 2, 0], [0, 1, 1]], (copies, 1))
    chosen = {"strata": default_strata(3, ordinal=True), "n_resamples": 200}
    every = results(human, judge, scale_level="ordinal", **chosen)
    names = ("krippendorff_alpha_ordinal", "agreement")
    measures = dict.fromkeys(("hh", "mm", "hw_mw", "h_mw", "random", "random_h", "js_b"), names)
    some = results(human, judge, scale_level="ordinal", measures=measures, **chosen)
    for name, stratum in some.items():
        for part in ("hh", "mm", "hw_mw", "h_mw", "random", "random_h", "delta", "js_b"):
            asked_for = {key: e for key, e in getattr(every[name], part).items() if key in names}
            assert getattr(stratum, part) == asked_for
    assert set(some["all"].hw_mw) == set(names)

"""The alternative annotator test: what it finds, refuses and warns of."""

from __future__ import annotations

import doctest
import math
from importlib import import_module

import numpy as np
import pytest
from support.rating_tables import seeded

from harness import stats
from harness.stats.alt_test.procedure import smallest_eps
from harness.stats.alt_test.scoring import SimilarityTable


def panel_of(**ratings):
    """Make a panel from the values of each rater, item by item; None is not a rating."""
    return stats.Panel.of(
        (f"i{i:03}", rater, value)
        for rater, values in ratings.items()
        for i, value in enumerate(values)
        if value is not None
    )


def verdicts_of(values):
    return {f"i{i:03}": value for i, value in enumerate(values) if value is not None}


def judged(panel, verdicts, **design):
    """Test one judge; by default on labels at a margin of 0.1."""
    chosen = stats.AltTestDesign(**({"score": "accuracy", "eps": 0.1} | design))
    values = verdicts if isinstance(verdicts, dict) else verdicts_of(verdicts)
    return stats.annotator_test(panel, values, chosen)


def coins(seed, n, *sides):
    return np.random.default_rng(seed).choice(sides, n).tolist()


def test_silence_where_it_is_wrong_does_not_lift_the_winning_rate():
    """Left out, 60 wrong items lift the winning rate from 0 to 1; as losses they do not."""
    right = ["a", "b"] * 50
    panel = panel_of(x=right, y=right, z=right)
    wrong = [*right[:40], *("c" for _ in right[40:])]
    silent = [*right[:40], *(None for _ in right[40:])]
    assert judged(panel, wrong).winning_rate.value == 0.0
    assert judged(panel, silent, unanswered="exclude").winning_rate.value == 1.0
    result = judged(panel, silent)
    assert result.unanswered == "loss"
    assert result.winning_rate.value == 0.0
    assert result.advantage.value == pytest.approx(0.4)
    assert result.answered_fraction == pytest.approx(0.4)
    assert result.counts["n_items_without_verdict"] == 60


def test_a_verdict_of_none_is_a_silence():
    """A mapping may hold None for an item that was not answered."""
    panel = panel_of(x=["a"] * 40, y=["a"] * 40)
    result = judged(panel, dict.fromkeys(panel.items))
    assert result.answered_fraction == 0.0
    assert result.advantage.value == 0.0


def test_coin_flip_judge_among_coin_flip_humans_is_called_out():
    """Humans who toss coins are beaten by a coin; the controls say so beside the result."""
    panel = panel_of(**{name: coins(k, 400, "a", "b") for k, name in enumerate("xyz")})
    design = stats.AltTestDesign(score="accuracy", eps=0.2)
    result = judged(panel, coins(9, 400, "a", "b"), eps=0.2)
    assert result.winning_rate.value == 1.0
    controls = stats.annotator_controls(panel, design, resampling=seeded(n_resamples=50))
    assert controls.random.passes_share > 0.8
    assert any(w.startswith("random_judge_passes") for w in controls.warnings)
    agreement = controls.human_agreement
    assert agreement["pairwise_agreement"].value == pytest.approx(0.5, abs=0.05)
    assert agreement["krippendorff_alpha_nominal"].value == pytest.approx(0.0, abs=0.1)
    assert agreement["pairwise_agreement"].interval is not None


def test_majority_judge_passes_on_imbalanced_labels_and_ipw_stops_it():
    """One label for all passes where 9 of 10 items have it; inverse weights undo that."""
    rng = np.random.default_rng(1)
    truth = rng.choice(["5", "1"], 400, p=[0.9, 0.1])
    raters = {
        name: np.where(rng.random(400) < 0.9, truth, rng.choice(["1", "5"], 400)).tolist()
        for name in "wxyz"
    }
    panel, design = panel_of(**raters), stats.AltTestDesign(score="accuracy", eps=0.1)
    weighted = stats.AltTestDesign(score="accuracy", eps=0.1, weighting="ipw")
    plain, fair = (
        stats.annotator_controls(panel, design_of_control, resampling=seeded(n_resamples=0))
        for design_of_control in (design, weighted)
    )
    assert plain.majority.passes
    assert any(w.startswith("majority_judge_passes") for w in plain.warnings)
    assert not fair.majority.passes


def test_no_annotator_has_enough_items_is_na_not_a_division_by_zero():
    """Skipping all raters leaves NA with its reason; the default tests them by ranks."""
    values = ["a", "b"] * 6
    panel = panel_of(x=values, y=values, z=values)
    result = judged(panel, values, small_n="skip")
    assert (result.winning_rate.value, result.advantage.value, result.passes) == (None, None, None)
    assert result.winning_rate.reason == "too_few_items"
    assert result.counts["n_raters_skipped"] == 3
    assert [row.reason for row in result.skipped] == ["too_few_items"] * 3
    default = judged(panel, values)
    assert default.passes
    assert {row.test for row in default.per_rater} == {"wilcoxon"}


def test_a_pass_on_fewer_than_30_items_carries_a_warning():
    """Whatever the test; on 30 items it does not."""
    for n, small_n, warned in ((29, "wilcoxon", 1), (29, "t", 1), (30, "wilcoxon", 0)):
        values = ["a"] * n
        result = judged(panel_of(x=values, y=values), values, small_n=small_n)
        assert result.passes
        assert sum(w.startswith("few_items") for w in result.warnings) == warned


@pytest.mark.parametrize("value", [math.nan, None])
def test_nan_ratings_are_refused_not_ties(value):
    """A rating without a value is not a rating."""
    with pytest.raises(ValueError, match="leave the item out"):
        stats.Panel.of([("i", "x", 1.0), ("i", "y", value)])
    with pytest.raises(ValueError, match="leave the item out"):
        judged(panel_of(x=[1.0], y=[2.0]), [math.nan], score="neg_rmse")


def test_eps_off_a_grid_is_as_good_as_any():
    """The margin is a number, not a place in a table."""
    values = ["a", "b"] * 40
    result = judged(panel_of(x=values, y=values), values, eps=0.123456789)
    assert result.winning_rate.value == 1.0


@pytest.mark.parametrize("eps", [-0.1, 1.0, math.nan, math.inf])
def test_eps_out_of_range_is_an_error(eps):
    """A margin lies in [0, 1)."""
    with pytest.raises(ValueError, match="eps_out_of_range: eps is"):
        stats.AltTestDesign(score="accuracy", eps=eps)


def test_positional_raters_are_refused_with_the_reason():
    """A place within the item is nobody whose place a judge could take."""
    panel = stats.Panel.of([("i", "1", "a"), ("i", "2", "a")], rater_ids="positional")
    with pytest.raises(ValueError, match="positional_raters: the raters' names are positions"):
        judged(panel, ["a"])


@pytest.mark.parametrize(
    ("ratings", "verdicts", "reason"),
    [
        ({}, [], "no_items"),
        ({"x": ["a", "b"]}, ["a", "b"], "too_few_raters"),
        ({"x": ["a", None], "y": [None, "b"]}, ["a", "b"], "no_overlap"),
        ({"x": ["a"], "y": ["b"]}, [None], "no_items"),
    ],
)
def test_na_says_why(ratings, verdicts, reason):
    """Where no rater can be tested, no number is made up."""
    result = judged(panel_of(**ratings), verdicts, unanswered="exclude")
    for estimate in (result.winning_rate, result.advantage):
        assert (estimate.value, estimate.reason, estimate.interval) == (None, reason, None)
    assert result.passes is None
    assert smallest_eps(result) is None


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"score": "f1"}, "score is 'f1'"),
        ({"small_n": "bootstrap"}, "small_n is 'bootstrap'"),
        ({"unanswered": "win"}, "unanswered is 'win'"),
        ({"weighting": "idf"}, "weighting is 'idf'"),
        ({"q": 0.0}, "q is 0.0"),
        ({"threshold": 0.0}, "threshold is 0.0"),
        ({"min_raters_per_item": 1}, "min_raters_per_item is 1"),
        ({"expert": "x", "gold": {}}, "expert and gold are both set"),
        ({"expert": "q"}, "rater 'q' is not in the panel"),
        ({"quality": {"x": 1.0}}, "quality has no number for raters"),
        ({"quality": {"x": 1.0, "y": 0.0}}, "not positive"),
        ({"score": "neg_rmse"}, "non_numeric_value"),
        ({"score": max, "weighting": "ipw"}, "needs a fixed set of labels"),
    ],
)
def test_a_design_that_makes_no_sense_is_refused(design, message):
    """The message names the argument and what it was."""
    with pytest.raises(ValueError, match=message):
        judged(panel_of(x=["a", "b"], y=["a", "b"]), ["a", "b"], **design)


def test_a_panel_refuses_what_it_cannot_keep_apart():
    """Two ratings of an item by one rater, and items nobody listed."""
    with pytest.raises(ValueError, match="duplicate_rating: rater 'x' rated item 'i' twice"):
        stats.Panel.of([("i", "x", "a"), ("i", "x", "a")])
    with pytest.raises(ValueError, match="item 'j' is not among the 1 items"):
        stats.Panel.of([("j", "x", "a")], items=["i"])


def test_gold_values_unknown_to_the_panel_stay_apart_from_verdicts():
    """A gold value nobody gave and a verdict nobody gave are not the same value."""
    values = ["a", "b"] * 20
    panel = panel_of(x=values, y=values)
    gold = verdicts_of(["gold only"] * 40)
    result = judged(panel, ["verdict only"] * 40, gold=gold, eps=0.0)
    assert [row.n_tied for row in result.per_rater] == [40, 40]
    hit = judged(panel, ["gold only"] * 40, gold=gold, eps=0.0)
    assert [row.n_judge_closer for row in hit.per_rater] == [40, 40]


def test_verdicts_coded_for_one_design_serve_another():
    """Coding is by value, whatever the labels of the design come first."""
    values = coins(2, 60, "a", "b", "c")
    panel = panel_of(x=coins(0, 60, "a", "b"), y=coins(1, 60, "a", "b"))
    coded = panel.coded(verdicts_of(values))
    gold = verdicts_of(["c", "d", "a"] * 20)
    for design in ({}, {"gold": gold}):
        plain = judged(panel, values, **design)
        chosen = stats.AltTestDesign(score="accuracy", eps=0.1, **design)
        from_codes = stats.annotator_test(panel, coded, chosen)
        assert from_codes.per_rater == plain.per_rater
    with pytest.raises(ValueError, match="coded for 1 items; the panel has 60"):
        stats.annotator_test(panel, stats.Panel.of([("i", "x", "a")]).coded({"i": "a"}), chosen)


def test_quality_of_ten_outvotes_nine():
    """A rater of quality 10 is worth ten in the winning rate; the advantage does not change."""
    right = ["a", "b"] * 40
    odd = ["b", "a"] * 40
    panel = panel_of(w=right, x=right, y=right, z=odd)
    judge = odd
    plain = judged(panel, judge)
    weighed = judged(panel, judge, quality={"w": 1.0, "x": 1.0, "y": 1.0, "z": 10.0})
    assert plain.winning_rate.value == pytest.approx(1 / 4)
    assert weighed.winning_rate.value == 1.0  # z's opinion now decides every score
    assert [row.quality for row in weighed.per_rater] == [1.0, 1.0, 1.0, 10.0]


def test_tied_majority_is_split_evenly_by_ipw():
    """Two others who disagree give half an item to each label; by hand."""
    panel = panel_of(x=["a", "a", "b"], y=["a", "a", "b"], z=["a", "b", "b"])
    result = judged(panel, ["a", "a", "b"], weighting="ipw", small_n="t", min_items_per_rater=2)
    # For x the others say a, a|b, b: 1.5 items each, so every item weighs 2: n_effective is 3.
    # For z they say a, a, b: weights 1.5, 1.5, 3, so n_effective is 36 / 13.5.
    assert [row.n_effective for row in result.per_rater] == pytest.approx([3.0, 3.0, 36 / 13.5])


def test_small_n_with_weights_is_skipped_and_says_so():
    """There is no weighted rank test here; the t-test has to be asked for."""
    values = ["a", "b"] * 5
    result = judged(panel_of(x=values, y=values), values, weighting="ipw")
    assert result.winning_rate.reason == "too_few_items"
    assert {row.reason for row in result.skipped} == {"no_weighted_rank_test"}
    assert judged(panel_of(x=values, y=values), values, weighting="ipw", small_n="t").n_tested == 2


def test_ranks_forgive_a_judge_who_is_always_lower():
    """A judge one point below everybody loses on scores and wins on ranks."""
    values = [1, 2, 3, 4] * 15
    panel = panel_of(x=values, y=values, z=values)
    low = [v - 1 for v in values]
    assert judged(panel, low, score="neg_rmse").advantage.value == 0.0
    assert judged(panel, low, score="rank_neg_rmse").advantage.value == 1.0


def test_a_similarity_table_and_its_function_agree():
    """A table looks up what a function computes; identity is accuracy."""
    labels = ("a", "b", "c")
    panel = panel_of(**{r: coins(k, 50, *labels) for k, r in enumerate("xyz")})
    judge = coins(7, 50, *labels)
    table = SimilarityTable(labels, np.eye(3))
    by_table, by_function, plain = (
        judged(panel, judge, score=score)
        for score in (table, lambda x, y: float(x == y), "accuracy")
    )
    assert by_table.per_rater == by_function.per_rater == plain.per_rater
    with pytest.raises(ValueError, match="unknown_label"):
        judged(panel, ["d"] * 50, score=table)
    with pytest.raises(ValueError, match="similarity has shape"):
        SimilarityTable(labels, np.eye(2))
    with pytest.raises(ValueError, match="not finite"):
        judged(panel, judge, score=lambda x, y: math.inf)


@pytest.mark.parametrize(
    "name", ["alt_test.procedure", "alt_test.margin_tests", "inference.multiple_testing"]
)
def test_examples_in_docstrings_run(name):
    """What a docstring shows is what happens."""
    doctests = doctest.testmod(import_module(f"harness.stats.{name}"))
    assert doctests.attempted
    assert not doctests.failed

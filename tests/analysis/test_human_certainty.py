from __future__ import annotations

import numpy as np
import pytest
from support.analysis_inputs import INVALID, source_of, task_of, truth_source, verdict_of

from harness.analysis import human_certainty
from harness.analysis.estimates import prepare
from harness.judging.parsing.verdict import CANNOT_ASSESS
from harness.stats import Resampling
from harness.stats.metrics.association import correlations
from harness.stats.metrics.binned_divergence import binned_divergence

RATERS = ("r0", "r1", "r2")


def ratings_of(rows):
    """Turn ``["AAB", ...]``, one letter per rater, into ratings by rater."""
    return {
        rater: {f"i{i}": row[j] for i, row in enumerate(rows) if row[j] != "."}
        for j, rater in enumerate(RATERS)
        if any(len(row) > j for row in rows)
    }


def section_of(rows, judges, *, options="AB", source=None, **more):
    """Compute the section for rows of ratings and judges given as strings of options."""
    task = task_of(ratings_of(rows), options=tuple(options), **more)
    answers = {
        name: {f"i{i}": value for i, value in enumerate(values) if value != "."}
        for name, values in judges.items()
    }
    return human_certainty.section(prepare(source_of(task, answers, **(source or {}))))


ROWS = ["AAA", "BBB", "AAB", "ABB", "BBB", "AAA", "ABA", "BAB"]


def test_strata_sum_to_the_whole():
    """Percentage strata and numbers of labels each hold every item with two ratings once."""
    found = section_of([*ROWS, "A.."], {"z": "ABABBAAB."})
    sizes = {row.stratum.name: row.n_items for row in found.strata}
    assert sizes["all"] == 8
    assert sum(n for name, n in sizes.items() if "PA" in name) == 8
    assert sum(n for name, n in sizes.items() if "unique" in name) == 8
    assert found.strata[0].share_of_items == pytest.approx(8 / 9)
    [judge] = found.judges
    assert [row.stratum.name for row in judge.strata] == list(sizes)
    used = [one.hw_mw["agreement"].n_used for one in judge.strata if "unique" in one.stratum.name]
    assert sum(used) == judge.strata[0].hw_mw["agreement"].n_used == 8


def test_every_stratum_has_its_random_rater():
    """One human against a rater at random is 1 / K wherever there is an item."""
    found = section_of(ROWS, {"z": "ABABBAAB"})
    for one in found.strata:
        value = one.random_h["agreement"].value
        assert value == (pytest.approx(0.5) if one.n_items else None)


def test_an_empty_stratum_keeps_its_row_and_its_reason():
    """NA, empty_stratum, for humans and judges alike."""
    found = section_of(ROWS, {"z": "ABABBAAB"})
    rows = {row.stratum.name: row for row in found.strata}
    assert rows["PA < 0.6"].n_items == 0
    assert {one.reason for one in rows["PA < 0.6"].hh.values()} == {"empty_stratum"}
    mine = {row.stratum.name: row for row in found.judges[0].strata}["PA < 0.6"]
    for part in (mine.mm, mine.hw_mw, mine.h_mw, mine.delta, mine.js_b):
        assert {one.reason for one in part.values()} == {"empty_stratum"}


def test_a_judge_that_gives_the_majority_agrees_in_every_stratum():
    """HwMw is 1, and delta is what the humans lack."""
    found = section_of(ROWS, {"z": "ABABBAAB"})
    for row, mine in zip(found.strata, found.judges[0].strata, strict=True):
        if row.n_items:
            assert mine.hw_mw["agreement"].value == 1.0
        alpha = "krippendorff_alpha_nominal"
        if mine.delta[alpha].value is not None:
            assert mine.delta[alpha].value == pytest.approx(row.hh[alpha].value - 1.0)


def test_a_judge_without_answers_is_na_with_counts():
    """All items are excluded, and the reason is there."""
    found = section_of(["AAB", "BBB"], {"z": [CANNOT_ASSESS, INVALID]})
    mine = found.judges[0]
    one = mine.strata[0].hw_mw["agreement"]
    assert (one.value, one.reason, one.n_used, one.n_excluded) == (None, "no_overlap", 0, 2)
    assert mine.binned["js_divergence_bits"].reason == "no_overlap"
    assert mine.bins == ()
    assert mine.risk_coverage_reason == "no_confidence"


def test_a_judge_without_answers_on_a_scale_does_not_end_the_validation():
    """Nothing answered is nothing to correlate: NA with its counts."""
    judges = {"z": [INVALID, CANNOT_ASSESS]}
    found = section_of(["112", "222"], judges, options="12", scale="ordinal")
    [judge] = found.judges
    assert judge.correlation.keys() == {"median", "mean"}
    for one in judge.correlation["median"].values():
        assert (one.value, one.reason, one.n_used, one.n_excluded) == (None, "no_overlap", 0, 2)


def test_sections_share_the_resamples_of_the_run():
    """Agreement of the humans has the interval here that it has beside the metrics."""
    task = task_of(ratings_of(ROWS))
    p = prepare(source_of(task, {"z": {f"i{i}": "A" for i in range(8)}}))
    there = p.evaluation.human_agreement["pairwise_agreement"]
    here = human_certainty.section(p).strata[0].hh["pairwise_agreement"]
    assert (here.value, here.interval.low, here.interval.high) == pytest.approx(
        (there.value, there.interval.low, there.interval.high)
    )


def test_perception_chart_bins_every_rated_item_once():
    """Dials sum to 1, labels of a bin to 1, and tied modes are split."""
    found = section_of(["AAA", "AAB", "AB.", "BBB"], {"z": "AABB"})
    assert found.bins_by == "majority"
    assert {one.label: one.n_items for one in found.bins} == {"A": 2.5, "B": 1.5}
    assert sum(one.share_of_items for one in found.bins) == pytest.approx(1)
    for one in (*found.bins, *found.judges[0].bins):
        assert sum(one.labels.values()) == pytest.approx(1)
    assert found.bins[0].labels == pytest.approx({"A": 5.5 / 7, "B": 1.5 / 7})


ORDINAL = {"options": "1234", "scale": "ordinal", "positive": ()}


def test_an_ordered_scale_is_binned_by_medians_and_correlated_on_both():
    """Half points are bins of their own; the values are those of the statistics by themselves."""
    rows = ["12.", "11.", "34.", "444", "223", "133"]
    found = section_of(rows, {"z": "113422"}, **ORDINAL)
    assert (found.level, found.bins_by) == ("ordinal", "median")
    assert [one.label for one in found.bins] == ["1", "1.5", "2", "3", "3.5", "4"]
    mine = found.judges[0]
    human = [[int(c) for c in row if c != "."] for row in rows]
    judge = np.array([1.0, 1, 3, 4, 2, 2])
    for key, middle in (("median", np.median), ("mean", np.mean)):
        wanted = correlations(np.array([middle(row) for row in human]), judge)
        for name, one in wanted.items():
            assert mine.correlation[key][name].value == pytest.approx(one.value)
            assert mine.correlation[key][name].interval is not None
            assert mine.correlation[key][name].n_used == 6
    assert mine.win_rates == {}


def test_options_that_fall_are_turned_round():
    """Whether a task lists its scale up or down changes no number."""
    up = section_of(["124", "223", "443"], {"z": "123"}, **ORDINAL)
    down = section_of(["124", "223", "443"], {"z": "123"}, **ORDINAL | {"options": "4321"})
    assert up == down


def test_pairwise_scales_have_win_rates():
    """Per option by humans, by the judge, and the difference."""
    found = section_of(
        ["AAA", "BBB", "TTT", "AAB"], {"z": "AATB"}, options="ABT", scale="pairwise", positive=()
    )
    rates = {name: one.value for name, one in found.judges[0].win_rates.items()}
    assert (rates["human_win_rate[A]"], rates["judge_win_rate[A]"]) == (0.5, 0.5)
    assert rates["win_rate_difference[B]"] == 0
    assert found.judges[0].correlation == {}


def risk_of(verdicts):
    """Trace the curves of one judge on four items that humans call A, A, B, B."""
    task = task_of(ratings_of(["AAA", "AAA", "BBB", "BBB"]))
    source = source_of(task, {"z": {}})
    source.verdicts["z"].extend(verdicts)
    [judge] = human_certainty.section(prepare(source)).judges
    return {one.score: one for one in judge.risk_coverage}


def test_said_confidence_is_read_from_replies():
    """The surest verdict is right, the least sure one wrong; unanswered items stay in the count."""
    said = [("i0", "A", 0.9), ("i1", "B", 0.2), ("i2", "B", 0.6)]
    found = risk_of(
        verdict_of("z", item, 0, value, reply=f'{{"answer": "{value}", "confidence": {sure}}}')
        for item, value, sure in said
    )["verbal_confidence"]
    assert found.threshold == (0.9, 0.6, 0.2)
    assert found.answered_fraction == (0.25, 0.5, 0.75)
    assert found.risk == pytest.approx((0, 0, 1 / 3))
    assert (found.n_used, found.n_excluded, found.n_thresholds) == (4, 0, 3)


@pytest.mark.parametrize(
    ("reply", "logprobs"),
    [
        ('{"confidence": true}', None),
        ('"confidence" {', None),
        ('{"confidence": "high"}', {"content": [{"logprob": "x"}]}),
        ("A", {"content": []}),
        ("A", [1]),
    ],
)
def test_what_is_no_confidence_is_left_alone(reply, logprobs):
    """Nothing is guessed from a reply that says no number."""
    assert risk_of([verdict_of("z", "i0", 0, "A", reply=reply, logprobs=logprobs)]) == {}


def test_log_probabilities_and_samples_are_scores_too():
    """The log probability of a reply is that of its tokens together."""
    tokens = {"content": [{"logprob": -0.5}, {"logprob": -0.25}]}
    legacy = {"token_logprobs": [-2.0]}
    verdicts = [
        verdict_of("z", "i0", 0, "A", logprobs=tokens),
        verdict_of("z", "i0", 1, "B"),
        verdict_of("z", "i1", 0, "A", logprobs=legacy),
    ]
    found = risk_of(verdicts)
    assert found["logprob"].threshold == (-0.75, -2.0)
    assert found["sample_agreement"].threshold == (0.5,)


def test_one_sample_agrees_with_nobody():
    """An item with one sample has no sample agreement, not the greatest."""
    verdicts = [verdict_of("z", item, 0, "A") for item in ("i0", "i1", "i2")]
    verdicts += [verdict_of("z", "i0", 1, "A"), verdict_of("z", "i1", 1, "B")]
    found = risk_of(verdicts)["sample_agreement"]
    assert found.threshold == (1.0, 0.5)
    assert found.answered_fraction == (0.25, 0.5)


def test_unanswered_items_without_a_label_are_in_no_risk_curve():
    """They are left out and counted as such, like answered ones without a label."""
    task = task_of({"r": {"i0": "A", "i1": "B", "i2": CANNOT_ASSESS, "i3": CANNOT_ASSESS}})
    source = source_of(task, {"z": {}})
    log = {"token_logprobs": [-1.0]}
    source.verdicts["z"].extend(verdict_of("z", i, 0, "A", logprobs=log) for i in ("i0", "i2"))
    [curve] = human_certainty.section(prepare(source)).judges[0].risk_coverage
    assert (curve.n_used, curve.n_excluded) == (2, 2)
    assert curve.answered_fraction == (0.5,)


def test_correlations_of_large_tables_count_what_they_leave_out(monkeypatch):
    """Too many values for a table: an interval by jackknife, and the items without a judge."""
    monkeypatch.setattr(human_certainty, "MAX_TABLE", 1)
    rows, judge = ["123", "112", "333", "132"], "12.3"
    [found] = section_of(rows, {"z": judge}, options="123", scale="ordinal", positive=()).judges
    one = found.correlation["mean"]["spearman"]
    assert (one.n_used, one.n_excluded) == (3, 1)
    assert (one.interval.method, one.interval.unit) == ("jackknife", "item")
    assert -1.0 <= one.interval.low < one.value
    assert [(e.reason, e.n_items) for e in one.excluded] == [("no_overlap", 1)]


def test_long_curves_are_thinned_and_keep_their_ends():
    """101 points of 400, and the area is that of the whole curve."""
    n = 400
    task = task_of({"r": {f"i{i}": "A" for i in range(n)}})
    source = source_of(task, {"z": {}}, n_resamples=0)
    source.verdicts["z"].extend(
        verdict_of("z", f"i{i}", 0, "AB"[i % 2], logprobs={"token_logprobs": [-float(i)]})
        for i in range(n)
    )
    [curve] = human_certainty.section(prepare(source)).judges[0].risk_coverage
    assert (len(curve.threshold), curve.n_thresholds) == (101, n)
    assert (curve.threshold[0], curve.threshold[-1]) == (0.0, -399.0)
    assert curve.risk[-1] == 0.5


def test_without_judges_the_humans_are_still_stratified():
    """The section describes the ratings."""
    found = section_of(ROWS, {})
    assert found.judges == ()
    assert found.strata[0].hh["pairwise_agreement"].value is not None


@pytest.mark.parametrize(("name", "criterion"), [("mtbench", None), ("summeval", "coherence")])
def test_real_data_gives_what_the_statistics_give(truth, tmp_path, name, criterion):
    """Binned divergence by itself and in the section; strata partition; shares sum to 1."""
    source = truth_source(truth, name, tmp_path, criterion=criterion, judges=2)
    p = prepare(source)
    found = human_certainty.section(p)
    sizes = {row.stratum.name: row.n_items for row in found.strata}
    assert sum(n for key, n in sizes.items() if "PA" in key) == sizes["all"]
    assert sum(n for key, n in sizes.items() if "unique" in key) == sizes["all"]
    assert sum(one.share_of_items for one in found.bins) == pytest.approx(1)
    for table, mine in zip(p.judges, found.judges, strict=True):
        alone = binned_divergence(
            p.human.forced_choice,
            table.forced_choice,
            by=found.bins_by,
            options=found.options,
            resampling=Resampling(rng=p.rng(), n_resamples=0),
        )
        assert mine.binned["js_divergence_bits"].value == pytest.approx(
            alone.js_divergence_bits.value
        )
        wanted = [one.divergence_bits for one in alone.bins]
        assert [one.divergence_bits for one in mine.bins] == pytest.approx(wanted)

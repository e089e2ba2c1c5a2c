from __future__ import annotations

import pytest
from support.analysis_inputs import INVALID, source_of, task_of, truth_source, verdict_of

from harness.analysis import error_analysis, human_certainty
from harness.analysis.estimates import prepare
from harness.stats import Resampling
from harness.stats.metrics.binned_divergence import binned_divergence
from harness.tasks import CANNOT_ASSESS

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
    result = section_of([*ROWS, "A.."], {"z": "ABABBAAB."}, source={"min_answered": 0.8})
    sizes = {row.stratum.name: row.n_items for row in result.strata}
    assert sizes["all"] == 8
    assert sum(n for name, n in sizes.items() if "PA" in name) == 8
    assert sum(n for name, n in sizes.items() if "unique" in name) == 8
    assert result.strata[0].share_of_items == pytest.approx(8 / 9)
    [judge] = result.judges
    assert [row.stratum.name for row in judge.strata] == list(sizes)
    used = [
        entry.hw_mw["agreement"].n_used for entry in judge.strata if "unique" in entry.stratum.name
    ]
    assert sum(used) == judge.strata[0].hw_mw["agreement"].n_used == 8


def test_a_random_rater_and_binned_divergence_are_in_every_stratum():
    """Both were left empty: a human agrees with a guess half of the time, a copy diverges by 0."""
    result = section_of([*ROWS], {"copy": "ABAABABB", "other": "BAABAABA"})
    for row in result.strata:
        if row.n_items:
            assert row.random_h["agreement"].value == pytest.approx(0.5)
    copy, other = result.judges
    whole = copy.strata[0]
    assert whole.js_b["js_divergence_bits"].value < other.strata[0].js_b["js_divergence_bits"].value
    assert whole.js_b["js_distance_nat"].n_used == len(ROWS)


def test_strata_of_a_judge_that_is_not_ranked_were_of_its_own_items():
    """A judge that answered too little is NA there for that reason, as in every metric."""
    result = section_of(ROWS, {"few": "AB......", "all": "ABABBAAB"})
    few, every = result.judges
    assert {e.reason for part in few.strata for e in part.hw_mw.values()} == {"too_few_answered"}
    assert {e.value for part in few.strata for e in part.hw_mw.values()} == {None}
    assert every.strata[0].hw_mw["agreement"].n_used == len(ROWS)


def test_every_stratum_has_its_random_rater():
    """The raters' mode against a rater at random agrees in 1 / K wherever there is an item."""
    result = section_of(ROWS, {"z": "ABABBAAB"})
    for entry in result.strata:
        value = entry.random["agreement"].value
        assert value == (pytest.approx(0.5) if entry.n_items else None)


def test_an_empty_stratum_keeps_its_row_and_its_reason():
    """NA, empty_stratum, for humans and judges alike."""
    result = section_of(ROWS, {"z": "ABABBAAB"})
    rows = {row.stratum.name: row for row in result.strata}
    assert rows["PA < 0.6"].n_items == 0
    assert {entry.reason for entry in rows["PA < 0.6"].hh.values()} == {"empty_stratum"}
    judge_result = {row.stratum.name: row for row in result.judges[0].strata}["PA < 0.6"]
    for part in (
        judge_result.mm,
        judge_result.hw_mw,
        judge_result.h_mw,
        judge_result.delta,
    ):
        assert {entry.reason for entry in part.values()} == {"empty_stratum"}


def test_a_judge_that_gives_the_majority_agrees_in_every_stratum():
    """HwMw is 1, and delta is what the humans lack."""
    result = section_of(ROWS, {"z": "ABABBAAB"})
    for row, judge_result in zip(result.strata, result.judges[0].strata, strict=True):
        if row.n_items:
            assert judge_result.hw_mw["agreement"].value == 1.0
        alpha = "krippendorff_alpha_nominal"
        if judge_result.delta[alpha].value is not None:
            assert judge_result.delta[alpha].value == pytest.approx(row.hh[alpha].value - 1.0)


def test_a_judge_without_answers_is_na_with_counts():
    """All items are excluded, and the reason is there."""
    result = section_of(["AAB", "BBB"], {"z": [CANNOT_ASSESS, INVALID]})
    judge_result = result.judges[0]
    entry = judge_result.strata[0].hw_mw["agreement"]
    assert (entry.value, entry.reason, entry.n_used, entry.n_excluded) == (None, "no_overlap", 0, 2)
    assert judge_result.binned["js_divergence_bits"].reason == "no_overlap"
    assert judge_result.bins == ()
    assert judge_result.risk_coverage_reason == "no_confidence"


def test_sections_share_the_resamples_of_the_run():
    """Agreement of the humans has the interval here that it has beside the metrics."""
    task = task_of(ratings_of(ROWS))
    p = prepare(source_of(task, {"z": {f"i{i}": "A" for i in range(8)}}))
    _, agreement = error_analysis.section(p)
    remote = agreement["krippendorff_alpha_nominal"]
    local = human_certainty.section(p).strata[0].hh["krippendorff_alpha_nominal"]
    assert (local.value, local.interval.low, local.interval.high) == pytest.approx(
        (remote.value, remote.interval.low, remote.interval.high)
    )


def test_perception_chart_bins_every_rated_item_once():
    """Dials sum to 1, labels of a bin to 1, and tied modes are split."""
    result = section_of(["AAA", "AAB", "AB.", "BBB"], {"z": "AABB"})
    assert result.bins_by == "majority"
    assert {entry.label: entry.n_items for entry in result.bins} == {"A": 2.5, "B": 1.5}
    assert sum(entry.share_of_items for entry in result.bins) == pytest.approx(1)
    for entry in (*result.bins, *result.judges[0].bins):
        assert sum(entry.labels.values()) == pytest.approx(1)
    assert result.bins[0].labels == pytest.approx({"A": 5.5 / 7, "B": 1.5 / 7})


ORDINAL = {"options": "1234", "scale": "ordinal", "positive": ()}


def test_an_ordered_scale_is_binned_by_medians():
    """Half points are bins of their own."""
    rows = ["12.", "11.", "34.", "444", "223", "133"]
    result = section_of(rows, {"z": "113422"}, **ORDINAL)
    assert (result.level, result.bins_by) == ("ordinal", "median")
    assert [entry.label for entry in result.bins] == ["1", "1.5", "2", "3", "3.5", "4"]


def test_options_that_fall_are_turned_round():
    """Whether a task lists its scale up or down changes no number."""
    up = section_of(["124", "223", "443"], {"z": "123"}, **ORDINAL)
    down = section_of(["124", "223", "443"], {"z": "123"}, **ORDINAL | {"options": "4321"})
    assert up == down


def risk_of(verdicts):
    """Trace the curves of one judge on four items that humans call A, A, B, B."""
    task = task_of(ratings_of(["AAA", "AAA", "BBB", "BBB"]))
    source = source_of(task, {"z": {}})
    source.verdicts["z"].extend(verdicts)
    [judge] = human_certainty.section(prepare(source)).judges
    return judge.risk_coverage


def test_said_confidence_is_read_from_replies():
    """The surest verdict is right, the least sure one wrong; unanswered items stay in the count."""
    statement = [("i0", "A", 0.9), ("i1", "B", 0.2), ("i2", "B", 0.6)]
    result = risk_of(
        verdict_of("z", item, 0, value, reply=f'{{"answer": "{value}", "confidence": {sure}}}')
        for item, value, sure in statement
    )["verbal_confidence"]
    assert result.threshold.tolist() == [0.9, 0.6, 0.2]
    assert result.answered_fraction.tolist() == [0.25, 0.5, 0.75]
    assert result.risk == pytest.approx((0, 0, 1 / 3), abs=1e-4)
    assert (result.n_used, result.n_excluded) == (4, 0)


def test_a_stated_confidence_is_compared_with_the_raters():
    """As a probability: percentages are divided by 100; what raters say is the event."""
    for scale in (1, 100):
        task = task_of(ratings_of(["AAA", "AAB", "BBB", "BBB"]))
        source = source_of(task, {"z": {}})
        for item, value, sure in (("i0", "A", 0.9), ("i1", "A", 0.6), ("i2", "A", 0.3)):
            reply = f'{{"answer": "{value}", "confidence": {sure * scale}}}'
            source.verdicts["z"].append(verdict_of("z", item, 0, value, reply=reply))
        [curve] = human_certainty.section(prepare(source)).judges[0].calibration
        assert curve.score == "verbal_confidence"
        assert curve.confidence == pytest.approx((0.3, 0.6, 0.9))
        assert curve.agreement == pytest.approx((0, 2 / 3, 1))
        by_hand = (0.09 + (2 / 3 - 0.6) ** 2 + 2 / 9 + 0.01) / 3
        assert curve.brier == pytest.approx(by_hand)
        assert (curve.brier_low, curve.brier_high) == (None, None)  # no level is reached by 3 items
        assert (curve.n_used, curve.n_excluded) == (3, 1)


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
def test_replies_without_a_number_have_no_confidence(reply, logprobs):
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
    result = risk_of(verdicts)
    assert result["logprob"].threshold.tolist() == [-0.75, -2.0]
    assert result["sample_agreement"].threshold.tolist() == [0.5]


def test_one_sample_agrees_with_nobody():
    """An item with one sample has no sample agreement, not the greatest."""
    verdicts = [verdict_of("z", item, 0, "A") for item in ("i0", "i1", "i2")]
    verdicts += [verdict_of("z", "i0", 1, "A"), verdict_of("z", "i1", 1, "B")]
    result = risk_of(verdicts)["sample_agreement"]
    assert result.threshold.tolist() == [1.0, 0.5]
    assert result.answered_fraction.tolist() == [0.25, 0.5]


def test_unanswered_items_without_a_label_are_in_no_risk_curve():
    """They are left out and counted as such, like answered ones without a label."""
    task = task_of({"r": {"i0": "A", "i1": "B", "i2": CANNOT_ASSESS, "i3": CANNOT_ASSESS}})
    source = source_of(task, {"z": {}})
    log = {"token_logprobs": [-1.0]}
    source.verdicts["z"].extend(verdict_of("z", i, 0, "A", logprobs=log) for i in ("i0", "i2"))
    [curve] = human_certainty.section(prepare(source)).judges[0].risk_coverage.values()
    assert (curve.n_used, curve.n_excluded) == (2, 2)
    assert curve.answered_fraction.tolist() == [0.5]


def test_long_curves_are_thinned_and_keep_their_ends():
    """101 points of 400, and the area is that of the whole curve."""
    n = 400
    task = task_of({"r": {f"i{i}": "A" for i in range(n)}})
    source = source_of(task, {"z": {}}, n_resamples=0)
    source.verdicts["z"].extend(
        verdict_of("z", f"i{i}", 0, "AB"[i % 2], logprobs={"token_logprobs": [-float(i)]})
        for i in range(n)
    )
    [curve] = human_certainty.section(prepare(source)).judges[0].risk_coverage.values()
    assert len(curve.threshold) == len(curve.risk) == 101
    assert (curve.threshold[0], curve.threshold[-1]) == (0.0, -399.0)
    assert curve.risk[-1] == 0.5


def test_without_judges_the_humans_are_still_stratified():
    """The section describes the ratings."""
    result = section_of(ROWS, {})
    assert result.judges == ()
    assert result.strata[0].hh["krippendorff_alpha_nominal"].value is not None


@pytest.mark.parametrize(
    ("name", "criterion"),
    [("mtbench", None), pytest.param("summeval", "coherence", marks=pytest.mark.slow)],
)
def test_real_data_gives_what_the_statistics_give(truth, tmp_path, name, criterion):
    """Binned divergence by itself and in the section; strata partition; shares sum to 1."""
    source = truth_source(truth, name, tmp_path, criterion=criterion, judges=2)
    p = prepare(source)
    result = human_certainty.section(p)
    sizes = {row.stratum.name: row.n_items for row in result.strata}
    assert sum(n for key, n in sizes.items() if "PA" in key) == sizes["all"]
    assert sum(n for key, n in sizes.items() if "unique" in key) == sizes["all"]
    assert sum(entry.share_of_items for entry in result.bins) == pytest.approx(1)
    for table, judge_result in zip(p.judges, result.judges, strict=True):
        alone = binned_divergence(
            p.human.forced_choice,
            table.forced_choice,
            by=result.bins_by,
            options=result.options,
            resampling=Resampling(rng=p.rng(), n_resamples=0),
        )
        assert judge_result.binned["js_divergence_bits"].value == pytest.approx(
            alone.js_divergence_bits.value
        )
        expected = [entry.divergence_bits for entry in alone.bins]
        assert [entry.divergence_bits for entry in judge_result.bins] == pytest.approx(expected)

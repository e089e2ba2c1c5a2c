from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import INVALID, source_of, task_of, truth_source

from harness.analysis import rater_replacement, validate
from harness.analysis.estimates import prepare
from harness.report import page
from harness.stats.alt_test.design import AltTestDesign
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.procedure import (
    annotator_test,
    combined_annotator_test,
    eps_sweep,
    smallest_eps,
)
from harness.stats.alt_test.scoring import SimilarityTable
from harness.tasks import AltTestFields


def panel_of(n=40, raters=3, seed=0, noise=0.2):
    """Make ratings of n items by raters who err at random around one label, and that label."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["A", "B"], n)
    ratings = {
        f"r{j}": {
            f"i{i}": str(rng.choice(["A", "B"]) if rng.random() < 2 * noise else truth[i])
            for i in range(n)
        }
        for j in range(raters)
    }
    return ratings, {f"i{i}": str(label) for i, label in enumerate(truth)}


def section_of(ratings, judges, *, source=None, **more):
    """Compute the section."""
    return rater_replacement.section(
        prepare(source_of(task_of(ratings, **more), judges, **(source or {})))
    )


def test_positional_raters_are_refused_with_the_reason_not_an_error():
    """The section is NA and says why; the run goes on."""
    ratings, truth = panel_of()
    result = section_of(ratings, {"z": truth}, rater_ids="positional")
    assert (result.reason, result.judges, result.controls) == ("positional_raters", (), None)


def test_winning_rate_was_of_other_replies_than_the_test_that_decides():
    """Both are of the same comparisons, and the table says at how many replies per item.

    The deciding test drew one reply of the judge asked nine times beside one that is asked once;
    winning rate and advantage probability were of the mode of all nine.
    """
    ratings, truth = panel_of(60)
    rng = np.random.default_rng(1)
    other = {"A": "B", "B": "A"}
    often = {
        item: [answer if rng.random() < 0.6 else other[answer] for _ in range(9)]
        for item, answer in truth.items()
    }
    few = {item: answer for item, answer in truth.items() if item < "i3"}
    validation = validate(source_of(task_of(ratings), {"often": often, "once": truth, "few": few}))
    published = {test.judge: test for test in validation.replacement.judges}
    assert {name: test.n_replies for name, test in published.items()} == {
        "often": 1,
        "once": 1,
        "few": None,  # not ranked
    }
    for name in ("often", "once"):
        deciding = validation.evidence_of(name).annotator_test
        for row in published[name].test.per_rater:
            test = deciding.raters[row.rater]
            assert (row.n, row.n_judge_closer, row.n_rater_closer) == (
                test.n,
                test.wins,
                test.losses,
            )
    assert '<tr><th scope="row">often</th><td class="n">1</td>' in page(validation)
    assert '<tr><th scope="row">few</th><td class="n">all</td>' in page(validation)


def variants_of(judge):
    """Results of the variants, by their names."""
    return {variant.name: variant.result for variant in judge.variants}


def test_named_variants_stand_beside_the_result():
    """t-test, skipping, weighting and leaving out unanswered items, as `stats` does each alone."""
    ratings, truth = panel_of(20, noise=0.3)
    statement = dict(list(truth.items())[3:])
    [judge] = section_of(ratings, {"z": statement}).judges
    panel = Panel.of((i, r, v) for r, rated in ratings.items() for i, v in rated.items())
    fields = {
        "small_n=t": {"small_n": "t"},
        "small_n=skip": {"small_n": "skip"},
        "unanswered=exclude": {"unanswered": "exclude"},
        "weighting=ipw": {"weighting": "ipw"},
    }
    assert set(variants_of(judge)) == set(fields)
    for name, field in fields.items():
        design = AltTestDesign(score="accuracy", eps=0.1, **field)
        expected = annotator_test(panel, statement, design)
        result = variants_of(judge)[name]
        assert (result.winning_rate.value, result.passes) == (
            expected.winning_rate.value,
            expected.passes,
        )
        assert (result.wins, result.n_tested) == (expected.wins, expected.n_tested)
        assert result.advantage.value == pytest.approx(expected.advantage.value)
    assert variants_of(judge)["small_n=skip"].winning_rate.reason == "too_few_items"
    assert variants_of(judge)["small_n=skip"].n_skipped == 3
    assert variants_of(judge)["unanswered=exclude"].advantage.value > judge.test.advantage.value
    steps = section_of(
        {r: {f"i{i}": str(1 + (i + k) % 3) for i in range(9)} for k, r in enumerate("xyz")},
        {"z": {"i0": "1", "i1": "2"}},
        options="123",
        scale="ordinal",
        positive=(),
    )
    assert "score=rank_neg_rmse" in variants_of(steps.judges[0])


def found_by(panel, statement, **fields):
    """Do the test alone, without intervals."""
    design = AltTestDesign(**{"score": "accuracy", "eps": 0.1} | fields)
    return annotator_test(panel, statement, design)


def same_result(result, expected):
    """Whether a variant says what the test says alone."""
    assert (result.winning_rate.value, result.passes, result.wins) == (
        expected.winning_rate.value,
        expected.passes,
        expected.wins,
    )
    assert result.advantage.value == pytest.approx(expected.advantage.value)


def test_variants_that_a_task_names_stand_beside_the_result():
    """One expert, right answers at margin 0, quality of raters, weights as a similarity."""
    ratings, truth = panel_of(40, noise=0.3)
    costs = ((0.0, 1.0, 0.5), (1.0, 0.0, 0.5), (0.5, 0.5, 0.0))
    quality = {"r0": 3.0, "r1": 1.0, "r2": 0.5}
    task = task_of(
        ratings,
        weights=costs,
        alt_test=AltTestFields(eps=0.2, expert="r1", gold="answer", quality=quality),
    )
    first, *others = task.items
    answered = [replace(entry, fields={"text": "x", "answer": truth[entry.id]}) for entry in others]
    answered.insert(0, replace(first, fields={"text": "x"}))
    task = task.model_copy(update={"items": tuple(answered)})
    flipped = {item: "A" if i % 3 == 0 else label for i, (item, label) in enumerate(truth.items())}
    section = rater_replacement.section(prepare(source_of(task, {"z": flipped})))
    assert section.eps == 0.2
    [judge] = section.judges
    panel = Panel.of((i, r, v) for r, rated in ratings.items() for i, v in rated.items())
    gold = dict(list(truth.items())[1:])
    table = SimilarityTable(("A", "B"), -np.array(costs)[:2, :2])
    same_result(variants_of(judge)["expert=r1"], found_by(panel, flipped, eps=0.2, expert="r1"))
    same_result(variants_of(judge)["gold=answer"], found_by(panel, flipped, eps=0, gold=gold))
    same_result(variants_of(judge)["quality"], found_by(panel, flipped, eps=0.2, quality=quality))
    same_result(variants_of(judge)["score=weights"], found_by(panel, flipped, eps=0.2, score=table))
    assert variants_of(judge)["gold=answer"].advantage.n_used == 39


def test_an_expert_without_ratings_here_is_na_with_the_reason():
    """As when items are limited to those of others; so it is with raters to be combined."""
    ratings, truth = panel_of(10)
    statement = AltTestFields(expert="dr", combine=(("r0",), ("dr",)))
    task = task_of(ratings, alt_test=statement)
    [judge] = rater_replacement.section(prepare(source_of(task, {"z": truth}))).judges
    result = variants_of(judge)["expert=dr"]
    assert (result.winning_rate.value, result.winning_rate.reason) == (None, "no_expert_ratings")
    assert (judge.combined.n_pairings, judge.combined.reason) == (0, "no_ratings_of_one_set")


def test_a_criterion_of_one_item_ends_no_validation():
    """`--limit` may leave one item of a criterion, which cannot be resampled: a traceback."""
    statement = {"i0": "A", "i1": "B", "i2": "A"}
    criteria = {item: {"criterion": entry} for item, entry in zip(statement, "aab", strict=True)}
    task = task_of({"r": statement, "s": statement, "t": statement}, items=criteria)
    result = validate(source_of(task, {"z": statement}))
    [judge] = result.replacement.judges
    assert set(judge.criteria) == {"a", "b"}
    assert judge.criteria["b"].winning_rate.n_used == 1


def test_one_item_on_an_ordered_scale_ends_no_validation():
    """`harness run --limit 1` on an ordinal task ended with a traceback."""
    ratings = {"r": {"i0": "1"}, "s": {"i0": "2"}, "t": {"i0": "3"}}
    task = task_of(ratings, options=("1", "2", "3"), scale="ordinal", positive=())
    [judge] = validate(source_of(task, {"z": {"i0": "2"}})).replacement.judges
    assert judge.test.winning_rate.n_used == 1


def test_each_criterion_is_tested_by_itself():
    """The winning rate of a criterion is that of a test on its items alone."""
    ratings, truth = panel_of(60, noise=0.3)
    items = {item: {"criterion": "ab"[i % 2]} for i, item in enumerate(truth)}
    task = task_of(ratings, items=items)
    [judge] = rater_replacement.section(prepare(source_of(task, {"z": truth}))).judges
    assert set(judge.criteria) == {"a", "b"}
    for name, result in judge.criteria.items():
        local = [item for item in truth if items[item]["criterion"] == name]
        panel = Panel.of((i, r, rated[i]) for i in local for r, rated in ratings.items())
        same_result(result, found_by(panel, truth))
    [alone] = section_of(ratings, {"z": truth}).judges
    assert alone.criteria == {}


def test_raters_of_different_items_are_combined_as_the_task_says():
    """Means over the ways to join one of each set, each way a test."""
    ratings, truth = panel_of(40, raters=4)
    first = set(list(truth)[:20])
    halves = {
        r: {i: v for i, v in rated.items() if (i in first) == (r in {"r0", "r1"})}
        for r, rated in ratings.items()
    }
    sets = (("r0", "r1"), ("r2", "r3"))
    criteria = {item: {"criterion": "ab"[item in first]} for item in truth}
    task = task_of(halves, alt_test=AltTestFields(combine=sets), items=criteria)
    result = validate(source_of(task, {"z": truth}))
    [judge] = result.replacement.judges
    panel = Panel.of((i, r, v) for r, rated in halves.items() for i, v in rated.items())
    design = AltTestDesign(score="accuracy", eps=0.1)
    expected = combined_annotator_test(panel, truth, design, sets, rng=np.random.default_rng(0))
    mean = judge.combined
    assert (mean.n_pairings, mean.winning_rate) == (2, expected.winning_rate)
    assert (mean.advantage, mean.passes_share) == (expected.advantage, expected.passes_share)
    html = page(result)
    assert "raters combined, mean of 2 pairings" in html
    assert "2 of 2 criteria" in html


@pytest.mark.parametrize(("kind", "eps"), [("expert", 0.2), ("skilled", 0.15), ("crowd", 0.1)])
def test_the_margin_follows_the_kind_of_raters(kind, eps):
    """0.2, 0.15 and 0.1, as the paper has it."""
    ratings, truth = panel_of(10)
    assert section_of(ratings, {"z": truth}, raters=kind).eps == eps


def test_a_good_judge_passes_with_every_control_beside_it():
    """Per-rater table, sweep, smallest margin, random and majority judge, human agreement."""
    ratings, truth = panel_of(120)
    result = section_of(ratings, {"z": truth})
    [judge] = result.judges
    assert judge.test.passes is True
    assert judge.test.winning_rate.value == 1.0
    assert 0.5 < judge.test.advantage.value <= 1.0
    assert [row.rater for row in judge.test.per_rater] == ["r0", "r1", "r2"]
    assert all(
        row.rejected and row.n == 120 and row.p_adjusted >= row.p for row in judge.test.per_rater
    )
    controls = result.controls
    assert controls.random.n_draws == 20
    assert controls.random.passes_share <= 0.05
    assert controls.majority.winning_rate.value is not None
    assert set(controls.human_agreement) == {"pairwise_agreement", "krippendorff_alpha_nominal"}


def test_the_sweep_holds_the_margin_of_every_kind_and_only_rises():
    """A wider margin never costs a win, and the smallest one that passes passes."""
    ratings, truth = panel_of(seed=3, noise=0.1)
    worse = {item: "A" if i % 5 == 0 else label for i, (item, label) in enumerate(truth.items())}
    [judge] = section_of(ratings, {"z": worse}).judges
    grid = [point.eps for point in judge.sweep]
    assert {0.0, 0.1, 0.15, 0.2, 0.5} <= set(grid)
    rates = [point.winning_rate for point in judge.sweep]
    assert rates == sorted(rates)
    assert 0 < judge.smallest_eps < 0.5
    assert all(point.passes == (point.eps >= judge.smallest_eps) for point in judge.sweep)


def test_silence_does_not_lift_the_winning_rate():
    """A judge that answers only what it has right loses the rest, but in the published variant."""
    ratings, truth = panel_of(60)
    silent = {item: label if i % 2 else INVALID for i, (item, label) in enumerate(truth.items())}
    [loss] = section_of(ratings, {"z": silent}).judges
    exclude = variants_of(loss)["unanswered=exclude"]
    assert (loss.test.winning_rate.value, exclude.winning_rate.value) == (0.0, 1.0)
    assert loss.test.answered_fraction == 0.5


def test_coin_flip_humans_pass_a_coin_with_a_warning():
    """Where raters toss coins, judges that answer at random pass, and that is said."""
    rng = np.random.default_rng(0)
    ratings = {f"r{j}": {f"i{i}": str(rng.choice(["A", "B"])) for i in range(200)} for j in "012"}
    coin = {f"i{i}": str(rng.choice(["A", "B"])) for i in range(200)}
    result = section_of(ratings, {"z": coin}, raters="expert")
    assert result.controls.random.passes_share > 0.5
    assert any(entry.startswith("random_judge_passes") for entry in result.controls.warnings)
    assert result.controls.human_agreement["krippendorff_alpha_nominal"].value < 0.2


def test_a_pass_on_fewer_than_30_items_carries_a_warning():
    """The raters concerned are named."""
    ratings, truth = panel_of(20, noise=0.3, seed=1)
    [judge] = section_of(ratings, {"z": truth}).judges
    assert judge.test.passes
    assert judge.test.per_rater[0].test == "wilcoxon"
    assert any(
        entry.startswith("few_items: the judge passes with fewer") for entry in judge.test.warnings
    )


@pytest.mark.parametrize(
    ("ratings", "answers", "reason"),
    [
        ({"r0": {"i0": "A", "i1": "B"}}, {"i0": "A"}, "too_few_raters"),
        ({"r0": {"i0": "A"}, "r1": {"i1": "B"}}, {"i0": "A"}, "no_overlap"),
        ({"r0": {"i0": "CANNOT_ASSESS"}}, {"i0": "A"}, "no_items"),
    ],
)
def test_too_little_to_test_is_na_with_the_reason(ratings, answers, reason):
    """No division by zero, no pass, no rate."""
    [judge] = section_of(ratings, {"z": answers}).judges
    assert (judge.test.winning_rate.value, judge.test.winning_rate.reason) == (None, reason)
    assert (judge.test.passes, judge.smallest_eps, judge.test.n_tested) == (None, None, 0)


def test_tied_samples_are_drawn_and_counted():
    """One verdict is needed; the number of those drawn stands beside the result."""
    ratings, truth = panel_of()
    tied = {
        item: ["A", "B"] if i < 7 else [label] * 2 for i, (item, label) in enumerate(truth.items())
    }
    [judge] = section_of(ratings, {"z": tied}).judges
    assert judge.n_tied_verdicts == 7
    assert judge.test.answered_fraction == 1.0


def test_ordered_scales_are_scored_by_rmse_of_medians():
    """The judge's samples count as their median, which no tie is drawn for."""
    rng = np.random.default_rng(0)
    levels = rng.integers(1, 6, 40)
    ratings = {
        f"r{j}": {
            f"i{i}": str(np.clip(x + rng.integers(-1, 2), 1, 5)) for i, x in enumerate(levels)
        }
        for j in range(3)
    }
    judge = {f"i{i}": [str(x), str(min(x + 1, 5))] for i, x in enumerate(levels)}
    judges = {"z": judge, "flat": {item: ["3", "3"] for item in judge}}
    result = section_of(ratings, judges, options="12345", scale="ordinal", positive=())
    assert (result.score, result.judges[0].n_tied_verdicts) == ("neg_rmse", 0)
    panel = Panel.of((i, r, float(v)) for r, rated in ratings.items() for i, v in rated.items())
    verdicts = {f"i{i}": (x + min(x + 1, 5)) / 2 for i, x in enumerate(levels.tolist())}
    design = AltTestDesign(score="neg_rmse", eps=0.1)
    alone = annotator_test(panel, verdicts, design)
    assert result.judges[0].test.advantage.value == pytest.approx(alone.advantage.value)
    assert result.judges[0].smallest_eps == smallest_eps(alone)
    judged = list(verdicts.values())
    columns = [
        np.corrcoef([float(v) for v in rated.values()], judged)[0, 1] for rated in ratings.values()
    ]
    assert result.judges[0].pearson_mean_over_raters.value == pytest.approx(np.mean(columns))
    assert result.judges[1].pearson_mean_over_raters.reason == "constant_labels"


def test_without_judges_there_is_nothing_to_test():
    """The reason says so."""
    ratings, _ = panel_of(5)
    assert section_of(ratings, {}).reason == "no_judges"


@pytest.mark.parametrize("name", ["wax", "mtbench"])
def test_real_data_gives_what_the_statistics_give(truth, tmp_path, name):
    """The judges of the truth folder, tested one at a time, give the same rates and rows."""
    source = truth_source(truth, name, tmp_path, judges=3)
    result = rater_replacement.section(prepare(source))
    panel = Panel.of(
        ((entry.item, entry.rater, entry.value) for entry in source.task.ratings),
        items=[item.id for item in source.items],
    )
    design = AltTestDesign(score="accuracy", eps=result.eps)
    for judge in result.judges:
        verdicts = {entry.item: entry.value for entry in source.verdicts[judge.judge]}
        alone = annotator_test(panel, verdicts, design)
        assert judge.test.winning_rate.value == pytest.approx(alone.winning_rate.value)
        assert judge.test.advantage.value == pytest.approx(alone.advantage.value)
        assert [row.p for row in judge.test.per_rater] == [row.p for row in alone.per_rater]
        points = eps_sweep(alone, [point.eps for point in judge.sweep])
        assert [point.passes for point in judge.sweep] == [point.passes for point in points]

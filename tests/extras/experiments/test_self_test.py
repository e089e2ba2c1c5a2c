"""`harness lab selftest`: planted designs are what they say, and a broken analysis is found out."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from support.analysis_inputs import (
    indeterminate_source,
    indeterminate_task,
    source_of,
    task_of,
)
from support.html_pages import assert_headings_are_numbered_as_listed
from support.processes import call_harness, invoke

import harness
from harness.analysis import validate
from harness.errors import HarnessError
from harness.extras.experiments.planted_design import design_of, given_design
from harness.extras.experiments.self_test import NEXT, REPLACE, USE
from harness.extras.experiments.selftest_options import SelftestOptions
from harness.runs.sources import source_of_verdicts
from harness.stats.planning.planted import PlantedJudge, PlantedRaters

HALF = 0.6729  # the level at which a 95 % normal interval is half as wide


def with_half_the_width(source):
    """Analyse wrongly: with intervals of half the width."""
    return validate(source.with_settings(confidence=HALF))


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.05, 0.95), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("agreement", [0.91, 0.95, 1.0])
def test_raters_agree_as_often_as_planted(shares, agreement):
    """Shares of options and agreement of two raters, on 200,000 items."""
    raters, rng = PlantedRaters(shares, agreement), np.random.default_rng(1)
    chances = raters.chances(200_000, rng)
    first, second = raters.choose(chances, rng), raters.choose(chances, rng)
    assert (first == second).mean() == pytest.approx(agreement, abs=0.004)
    observed = np.bincount(first, minlength=len(shares)) / len(first)
    assert observed == pytest.approx(np.array(shares), abs=0.005)


@pytest.mark.parametrize(("agreement", "consistency"), [(0.5, 0.8), (0.65, 0.9), (0.75, 1.0)])
def test_judges_agree_as_often_as_planted(agreement, consistency):
    """With a rater and with themselves, and they abstain as often."""
    raters, rng = PlantedRaters((0.5, 0.5), 0.8), np.random.default_rng(2)
    judge = PlantedJudge.that_agrees(
        raters, agreement, self_consistency=consistency, abstention=0.1
    )
    chances = raters.chances(200_000, rng)
    replies = judge.replies(chances, np.array(raters.shares), 2, rng)
    answered = (replies >= 0).all(axis=1)
    assert (replies < 0).mean() == pytest.approx(0.1, abs=0.003)
    chosen = raters.choose(chances, rng)
    assert (replies[:, 0] == chosen)[answered].mean() == pytest.approx(agreement, abs=0.005)
    same = (replies[:, 0] == replies[:, 1])[answered].mean()
    assert same == pytest.approx(consistency, abs=0.005)


def test_rates_out_of_reach_are_refused(tmp_path):
    """With what is in reach, from the options and on the command line."""
    with pytest.raises(HarnessError, match=r"from 0.500 to 1. Change rater_agreement"):
        harness.selftest(rater_agreement=0.4)
    with pytest.raises(HarnessError, match=r"a judge.s agreement .* 0.990.* Change agreement"):
        harness.selftest(agreement=0.99)
    refused = call_harness("lab", "selftest", "--agreement", "0.99", cwd=tmp_path)
    assert refused.returncode == 2
    assert "Change --agreement, --gap or --n-judges" in refused.stderr


def test_a_design_is_estimated_from_a_task_and_its_verdicts():
    """Items, who rates what, shares, agreement, abstention, replies: as they were planted."""
    given = SelftestOptions(
        n_items=3000, n_raters=4, n_judges=2, samples=3, self_consistency=0.9, prevalence=0.3,
        abstention=0.1, agreement=0.7,
    )  # fmt: skip
    planted = given_design(given)
    found = design_of(planted.draw((7,)), SelftestOptions())
    assert (found.n_items, len(found.of_item)) == (3000, 12_000)
    assert found.raters.agreement == pytest.approx(0.8, abs=0.02)
    assert found.raters.shares[0] == pytest.approx(0.3, abs=0.02)
    assert found.abstention == pytest.approx(0.1, abs=0.01)
    for judge, wanted in zip(found.judges, planted.judges, strict=True):
        assert judge.n_replies == 3
        assert judge.planted.insight == pytest.approx(wanted.planted.insight, abs=0.06)
        assert judge.planted.fidelity == pytest.approx(wanted.planted.fidelity, abs=0.02)
        assert judge.planted.abstention == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("name", ["diagnoses", "coherence", "helpfulness", "toxicity"])
def test_a_task_without_verdicts_has_judges_within_reach_of_its_raters(name):
    """Regression: `harness lab selftest diagnoses`, an example of its help, was refused."""
    design = design_of(source_of_verdicts(name, None), SelftestOptions())
    raters = design.raters
    best = design.judges[0].planted
    agreement = raters.by_chance + best.insight * (raters.certainty - raters.by_chance)
    assert agreement == pytest.approx(raters.agreement)
    assert "there are no verdicts, so the judges' agreement is assumed" in design.notes


def test_a_task_without_two_choices_of_an_item_tells_no_design():
    """Nothing tells how often raters agree."""
    task = task_of({"r1": {f"i{i}": "A" for i in range(12)}})
    with pytest.raises(HarnessError, match="no item has two ratings"):
        harness.selftest(source_of(task, {}))


def test_design_of_a_task_that_ranks_by_response_sets_plants_them():
    """They were replaced by forced choices, so what was tested wasn't what ranks."""
    task = indeterminate_task(40, raters=5, paired=40)
    source = indeterminate_source(task, judges=("strict", "lenient"))
    design = design_of(source, SelftestOptions())
    assert (design.elicitation, design.answers) == ("response_set", (("A",), ("B",), ("A", "B")))
    assert (
        "forced choices are not drawn, because judges are ranked by response sets" in design.notes
    )
    drawn = design.draw((1,), n_resamples=100)
    result = validate(drawn)
    assert result.ranking_metric == "mse(srs/srs)"
    assert {rating.elicitation for rating in drawn.task.ratings} == {"response_set"}
    sets = [
        frozenset(rating.value) for rating in drawn.task.ratings if rating.value != "CANNOT_ASSESS"
    ]
    both = sum(rating.value == ("A", "B") for rating in task.ratings) / (40 * 5)
    assert sum(len(answer) == 2 for answer in sets) / len(sets) == pytest.approx(both, abs=0.1)


@pytest.mark.slow
def test_self_test_of_response_sets_says_what_is_planted():
    """Each share is of sets, and the annotator test, which doesn't compare them, is NA."""
    task = indeterminate_task(30, raters=5, paired=30)
    source = indeterminate_source(task, judges=("strict", "lenient"))
    result = harness.selftest(source, data_sets=2, processes=1)
    assert set(result.shares_of_answers) == {"{A}", "{B}", "{A, B}"}
    assert result.metric == "mse(srs/srs)"
    [row] = [row for row in result.shares if (row.kind, row.name) == ("size", REPLACE)]
    assert (row.share, row.reason) == (None, "no annotator test")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result_in_one_process_or_two():
    """And another seed another one."""
    results = [
        harness.selftest(n_items=20, data_sets=3, seed=seed, processes=n)
        for seed, n in ((0, 1), (0, 2), (1, 1))
    ]
    assert results[0] == results[1]
    assert results[0] != results[2]


@pytest.mark.slow
def test_every_share_has_its_n_and_interval(tmp_path, monkeypatch):
    """In JSON, and with a price the cost."""
    monkeypatch.chdir(tmp_path)
    arguments = ("--items", "20", "--data-sets", "3", "--reply-cost", "0.01", "--processes", "1")
    result = json.loads(
        invoke("lab", "selftest", *arguments, "--json", "--page", "tested/small.html").stdout
    )
    assert {row["kind"] for row in result["shares"]} == {"choice", "power", "size", "coverage"}
    for row in result["shares"]:
        assert (row["n"] == 0) == (row["share"] is None)
        assert row["n"] == 0 or row["interval"]["low"] <= row["share"] <= row["interval"]["high"]
    assert result["n_calls"] == 60
    page = (tmp_path / "tested" / "small.html").read_text(encoding="utf-8")
    assert_headings_are_numbered_as_listed(page)
    for row in result["shares"]:
        if row["kind"] in {"choice", "power", "size"}:
            assert row["name"] in page
        else:
            main = ("metric of ", "difference of ", "differences ", "fleiss_kappa")
            is_main = row["name"].startswith(main) and "unequal_raters" not in row["name"]
            assert (row["name"] in page) == is_main, row["name"]
    for kind in {row["kind"] for row in result["shares"]}:
        assert f'id="chart-shares-{kind}"' in page
    assert result["cost_usd"] == pytest.approx(0.6)


@pytest.mark.slow
def test_self_test_of_a_run_is_a_section_of_its_report(tmp_path, monkeypatch):
    """With the numbers that the command prints; without a self-test there is no such section."""
    monkeypatch.chdir(tmp_path)
    assert invoke("run", "--task", "toxicity", "--judges", "lexicon,random", "--limit", "30", "-q")
    [folder] = (tmp_path / "runs").iterdir()
    section = "Does the analysis work on this design?"
    page = folder / "report.html"
    assert section not in page.read_text(encoding="utf-8")
    words = ("lab", "selftest", "--run", folder, "--data-sets", "2", "--processes", "1")
    printed = json.loads(invoke(*words, "--json").stdout)
    assert json.loads((folder / "selftest.json").read_bytes()) == printed
    assert (printed["n_items"], {row["judge"] for row in printed["truths"]}) == (
        30,
        {"lexicon", "random"},
    )
    for _ in range(2):
        text = page.read_text(encoding="utf-8")
        assert f"<h2>{section}</h2>" in text
        assert "2 data sets of each kind, seed 0" in text
        for kind in {row["kind"] for row in printed["shares"]}:
            assert f'id="chart-shares-{kind}"' in text
        assert invoke("report", folder).exit_code == 0
    (folder / "selftest.json").write_text("{}", encoding="utf-8")
    broken = call_harness("report", folder, cwd=tmp_path)
    assert broken.returncode == 2
    assert "selftest.json: not the result of a self-test" in broken.stderr
    monkeypatch.setattr("harness.report.html.details.has_edge", lambda _: False)
    assert invoke("report", folder).exit_code == 0
    assert section not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("toxicity", "--run", "x"), "a run already includes its task and verdicts"),
        (("--run", "x", "--verdicts", "v.csv"), "Leave out --verdicts"),
        (("--run", "x"), "not a run folder"),
    ],
)
def test_self_test_of_no_run_is_refused(tmp_path, words, message):
    """A run beside a task or verdicts, and one that is not there."""
    refused = call_harness("lab", "selftest", *words, cwd=tmp_path)
    assert refused.returncode == 2
    assert message in refused.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_intervals_of_half_the_width_are_found_out():
    """Coverage falls to what it must be, far below that of the analysis itself."""
    options = {"n_items": 40, "n_judges": 2, "data_sets": 60, "processes": 1}
    right = harness.selftest(**options)
    wrong = harness.selftest(**options, analyse=with_half_the_width)
    for name in ("metric of judge 2", "fleiss_kappa of the raters"):
        covered, missed = (result.share("coverage", name) for result in (right, wrong))
        assert covered.interval.high > 0.95
        assert missed.interval.high < 0.85
        assert missed.share < covered.share - 0.15
    sizes = [of.share("size", NEXT, "judges that are equally good").share for of in (right, wrong)]
    assert sizes[1] > sizes[0]


DESIGNS = {
    "balanced": {"n_items": 100, "n_raters": 5},
    "rare": {"n_items": 200, "n_raters": 4, "prevalence": 0.15, "rater_agreement": 0.85,
             "agreement": 0.85, "gap": 0.03},
    "abstaining": {"n_items": 80, "n_raters": 6, "abstention": 0.05, "samples": 3,
                   "self_consistency": 0.9, "agreement": 0.7},
}  # fmt: skip


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    "n",
    [pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.hour)],
)
def test_sizes_and_coverage_hold_on_three_designs(name, n):
    """Claims that are false at most in 5 %, intervals in 95 %, within three standard errors."""
    result = harness.selftest(**DESIGNS[name], n_judges=2, data_sets=n, seed=3, processes=1)
    slack = 3.0 * sqrt(0.05 * 0.95 / n)
    for row in result.shares:
        if row.kind == "size" and row.n:
            assert row.share <= 0.05 + slack, row
    assert result.share("size", USE, "judges that guess").n == n
    assert result.share("size", NEXT, "judges that are equally good").n == n
    assert result.share("size", REPLACE, "judges at the margin").n == n
    for judge in result.truths:
        covered = result.share("coverage", f"metric of {judge.judge}")
        assert covered.share >= 0.95 - slack, covered


@pytest.mark.slow
def test_a_claim_that_is_false_of_the_design_itself_counts_as_size():
    """Judges that guess: what they would be credited with is no power."""
    result = harness.selftest(
        n_items=20, n_judges=2, agreement=0.5, gap=0.0, data_sets=2, processes=1
    )
    own = {(row.kind, row.name) for row in result.shares if row.world == "your design"}
    assert ("size", USE) in own
    assert ("size", REPLACE) in own
    assert not {("power", USE), ("power", REPLACE)} & own

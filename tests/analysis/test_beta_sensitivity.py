"""What forced choices hide, and at which beta the answer would be another."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from msgspec import structs
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.rating_tables import seeded

from harness.analysis import beta_sensitivity, validate
from harness.analysis.estimates import prepare
from harness.report import page
from harness.stats import F_hat, beta_sweep, reconstruct
from harness.stats.indeterminacy.likelihood import F_by_likelihood
from harness.stats.indeterminacy.reconstruction import implied_in_resamples
from harness.stats.selection.footing import common_footing

GOALS = ("decision_consistency", "prevalence_bias")


@pytest.fixture(scope="module")
def source():
    """Judges on a task without response sets of the humans."""
    return indeterminate_source(indeterminate_task())


@pytest.fixture(scope="module")
def result(source):
    """Its sensitivity section."""
    return validate(source).sensitivity


def test_grid_has_the_steps_and_every_break_point(result):
    """beta 0 to 1 by .05, tau .1 to .9 by .1, and each beta at which a winner changes."""
    grid = result.grid
    steps = {step / 20 for step in range(21)}
    assert steps <= set(grid.betas)
    assert grid.taus == tuple(step / 10 for step in range(1, 10))
    breaks = {
        beta
        for rows in result.regions.values()
        for row in rows
        for beta in row.betas
        if min(abs(beta - step) for step in steps) > 1e-9
    }
    assert breaks
    assert set(grid.betas) == steps | breaks
    assert grid.n_left_out == 0


def test_winner_by_the_grid_is_the_winner_of_the_region(result):
    """Exact pieces and the sampled surface agree, at break points too."""
    grid = result.grid
    for t, region in enumerate(result.regions["decision_consistency"]):
        for b, beta in enumerate(grid.betas):
            best = max(surface.consistency[t][b] for surface in grid.judges.values())
            first = {n for n, s in grid.judges.items() if s.consistency[t][b] >= best - 1e-9}
            assert first == set(region.winners(beta)), (grid.taus[t], beta)


def test_best_judge_at_the_raters_beta_and_how_firm_it_is():
    """The winner of that piece, and the share of resamples of groups in which it loses."""
    task = indeterminate_task(paired=60)
    source = indeterminate_source(task, judges=("strict", "lenient"), min_answered=0.8)
    p, result = prepare(source), validate(source)
    beta = result.humans.beta.value
    section = result.sensitivity
    assert set(section.best_at_beta) == set(GOALS)
    for goal, best in section.best_at_beta.items():
        assert best.beta == beta
        assert best.judges == section.break_evens[goal].winners(beta)
    choices = p.human.forced_choice / p.human.forced_choice.sum(axis=1, keepdims=True)
    positive = choices[:, 0] + beta * choices[:, 1] >= p.tau
    sums = []
    for table in p.judges:
        answered = table.response_set.any(axis=1)
        alike = (table.forced_choice[:, 0] > 0) == positive
        sums.append(np.stack([alike & answered, answered]).reshape(2, 30, 2).sum(axis=2))
    weights = np.random.default_rng(1).multinomial(30, np.full(30, 1 / 30), 4000)
    shares = np.array([weights @ same / (weights @ n) for same, n in sums])
    best = section.best_at_beta["decision_consistency"]
    winner = [table.name for table in p.judges].index(best.judges[0])
    expected = (shares[1 - winner] > shares[winner] + 1e-12).mean()
    assert 0 < expected < 1
    assert best.differs_share == pytest.approx(expected, abs=0.06)


def test_metric_keeps_its_choice_over_beta(source, result):
    """Each metric is evaluated anew at each beta, as Guerdan et al. do in tables 3 and 4.

    The choice was that on the data at every beta, so that MSE of response sets had hit rate's
    curve. Metrics of forced choices select the same judge at every beta; those of sets do not.
    """
    p = prepare(source)
    judges = p.ranked_tables()
    for metric in ("mse(srs/srs)", "hit_rate(h/h)"):
        points = beta_sweep(
            p.compared.human,
            judges,
            betas=beta_sensitivity.CURVE_BETAS,
            adds=p.task.sensitivity,
            tau=p.tau,
            positive=p.compared.positive,
            resampling=seeded(n_resamples=0),
            metrics=(metric, "decision_consistency"),
            common=p.common,
        )
        best = min if metric == "mse(srs/srs)" else max
        selection = result.selections[metric]
        for b, point in enumerate(points):
            values = {name: point.estimates[name][metric].value for name in point.judges}
            first = tuple(n for n, value in values.items() if value == best(values.values()))
            assert selection.judges[b] == first
            shares = {n: e["decision_consistency"].value for n, e in point.estimates.items()}
            value = np.mean([shares[n] for n in first])
            assert selection.values["decision_consistency"][b] == pytest.approx(value, abs=1e-3)
            loss = max(shares.values()) - value
            assert selection.losses["decision_consistency"][b] == pytest.approx(loss, abs=1e-3)
    assert len(set(result.selections["hit_rate(h/h)"].judges)) == 1
    assert len(set(result.selections["mse(srs/srs)"].judges)) > 1


def test_bias_of_the_selected_judge_was_below_zero(result):
    """What a metric selects has the bias that the page announces: without its sign."""
    selected = [s.values["prevalence_bias"] for s in result.selections.values()]
    biases = [bias for row in selected for bias in row if bias is not None]
    assert max(biases) > 0.0
    assert min(biases) >= 0.0


def test_sweep_and_strata_shared_items_by_a_rule_of_their_own():
    """An item with fewer replies than judges are compared at is in neither, as in no metric.

    Both took every item with any answer of all judges.
    """
    source = indeterminate_source(indeterminate_task(paired=60), judges=("lenient", "random"))
    seldom = {  # asked once, where all else is asked twice
        ("lenient", "forced_choice"): {"i0", "i1"},
        ("random", "response_set"): {"i2", "i3", "i4"},
    }
    verdicts = {
        name: [
            structs.replace(verdict, sample=sample)
            for verdict in rows
            for sample in range(
                1 + (verdict.item not in seldom.get((name, verdict.elicitation), ()))
            )
        ]
        for name, rows in source.verdicts.items()
    }
    planned = {name: dict.fromkeys(of, 120) for name, of in source.planned.items()}
    result = validate(
        replace(source, verdicts=verdicts, planned=planned).with_settings(n_resamples=10)
    )
    assert result.evidence.n_items == 57
    for judge, part in zip(result.judges, result.certainty.judges, strict=True):
        swept = result.sensitivity.grid.judges[judge.name]
        assert swept.n_items == judge.metrics["decision_consistency"].n_used == 57
        assert part.strata[0].hw_mw["agreement"].n_used == judge.metrics["hit_rate(h/h)"].n_used
        assert judge.metrics["hit_rate(h/h)"].n_used == 58


def asked_more_often(source, *, judge, n, seed=0):
    """Ask one judge ``n`` times, with other answers to a third of the questions."""
    rng = np.random.default_rng(seed)
    verdicts = dict(source.verdicts)
    asked = []
    for verdict in verdicts[judge]:
        others = [v for v in verdicts[judge] if v.elicitation == verdict.elicitation]
        for sample in range(n):
            drawn = others[rng.integers(len(others))] if rng.random() < 1 / 3 else verdict
            asked.append(structs.replace(drawn, item=verdict.item, sample=sample))
    verdicts[judge] = asked
    planned = {name: dict(of) for name, of in source.planned.items()}
    planned[judge] = {elicitation: n * count for elicitation, count in planned[judge].items()}
    return replace(source, verdicts=verdicts, planned=planned)


def test_sweep_used_all_replies_of_a_judge_that_was_asked_more_often():
    """Where sets are the choices, the sweep at beta 0 has the values of the ranking.

    A judge that was asked ten times decided by the majority of ten beside one asked once.
    """
    task = indeterminate_task(paired=60)
    chosen = {(r.item, r.rater): r.value for r in task.ratings if r.elicitation == "forced_choice"}
    ratings = tuple(
        r if r.elicitation == "forced_choice" else replace(r, value=(chosen[r.item, r.rater],))
        for r in task.ratings
    )
    task = task.model_copy(update={"ratings": ratings})
    source = indeterminate_source(task, judges=("lenient", "random"), n_resamples=10)
    source = asked_more_often(replace(source, task=task), judge="random", n=10)
    result = validate(source)
    grid, selections = result.sensitivity.grid, result.sensitivity.selections
    place = grid.taus.index(0.5), grid.betas.index(0.0)
    assert result.evidence.n_replies == 1
    for judge in result.judges:
        surface = grid.judges[judge.name]
        for goal, swept in zip(GOALS, (surface.consistency, surface.bias), strict=True):
            assert swept[place[0]][place[1]] == pytest.approx(judge.metrics[goal].value, abs=1e-6)
            first = selections[goal].judges[0]
            if judge.name in first:
                value = abs(judge.metrics[goal].value)
                assert selections[goal].values[goal][0] == pytest.approx(value, abs=1e-6)


def test_without_pairs_of_raters_no_beta_is_theirs(result):
    """The share of resamples is that at a beta that was estimated; there is none."""
    assert result.best_at_beta == {}


def test_bounds_hold_whatever_beta_is(result):
    """Where humans only chose: free per item is wider than one beta for all, and both hold."""
    at = result.grid.taus.index(0.5)
    for name, surface in result.grid.judges.items():
        for goal, row in zip(GOALS, (surface.consistency[at], surface.bias[at]), strict=True):
            free, common = result.bounds[name][goal], result.common_bounds[name][goal]
            assert (free.kind, common.kind) == ("free_per_item", "common")
            assert free.low.value <= common.low.value + 1e-9
            assert common.low.value == pytest.approx(min(row), abs=1e-6)
            assert common.high.value == pytest.approx(max(row), abs=1e-6)
            assert common.high.value <= free.high.value + 1e-9


def test_underspecified_task_is_advised_to_add_an_option(result):
    """A yes-or-no task: a Maybe, or response sets."""
    assert not result.identifiability.identified
    assert "Maybe" in result.identifiability.advice


@pytest.mark.slow
def test_paired_subset_gives_every_item_its_response_sets():
    """F' from the first half of the items carries the goals to all of them."""
    source = indeterminate_source(indeterminate_task(n=200, paired=100))
    implied = reconstruct(prepare(source).human)
    assert (implied.n_pairs, implied.n_paired_items, len(implied.reasons)) == (700, 100, 200)
    assert not any(implied.reasons)
    assert implied.F_reverse[2, 1] == pytest.approx(0.5, abs=0.06)  # {A, B} where B was chosen
    assert implied.F_reverse[0, 1] == 0.0
    every = validate(source.with_settings(humans="reconstructed"))
    assert every.judge("lenient").metrics["decision_consistency"].n_used == 200
    rated = validate(source)
    assert rated.judge("lenient").metrics["decision_consistency"].n_used == 100
    assert rated.sensitivity.bounds == {}


@pytest.mark.slow
def test_reconstructed_response_sets_rank_on_all_items():
    """The metric that ranks is on every item, with the noise of F' in its interval."""
    task = indeterminate_task(n=200, paired=25)
    source = indeterminate_source(task, judges=("lenient", "random"), humans="reconstructed")
    p, validation = prepare(source), validate(source)
    assert validation.ranking_metric == "mse(srs/srs)"
    assert (validation.evidence.n_items, validation.evidence.n_rated) == (200, 200)
    rows = {row.judge: row for row in validation.evidence.judges}
    for name, row in rows.items():
        assert row.value == pytest.approx(validation.judge(name).metrics["mse(srs/srs)"].value)
    [note] = [note for note in validation.notes if "reconstructed" in note]
    assert "on 200 of 200 items are reconstructed from their forced choices" in note
    assert "using F' from 175 pairs on 25 items" in note
    fixed, implied = reconstruct(p.human).distributions, implied_in_resamples(p.human)
    assert implied(np.ones(200)).theta == pytest.approx(fixed.theta)
    options = {"tau": 0.5, "positive": ("A",), "implied": fixed}
    spread = [
        common_footing(
            p.human,
            p.judges,
            p.row,
            resampling=p.resampling(groups=p.groups),
            implied_in=implied_in,
            **options,
        ).replicates.std(axis=1)
        for implied_in in (None, lambda times: fixed, implied)
    ]
    assert spread[0] == pytest.approx(spread[1])
    assert (spread[2] > spread[0]).all()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"positive": (), "sensitivity": {}}, "no_positive_option"),
        ({"sensitivity": {}}, "no_sensitivity"),
        ({"response_sets": (("A",), ("B",)), "sensitivity": {}}, "fully_specified"),
    ],
)
def test_without_a_family_there_is_no_sweep_and_it_says_why(fields, reason):
    """NA with a reason, never an empty chart."""
    task = indeterminate_task(12, **fields)
    judges = () if reason == "fully_specified" else ("strict",)  # BOTH is no set there
    result = validate(indeterminate_source(task, judges=judges)).sensitivity
    assert (result.reason, result.grid, result.break_evens) == (reason, None, {})


def test_F_of_pairs_has_the_pairs_behind_each_column():  # noqa: N802 -- F
    """Those of the raters; the judge's calls are independent, and make none."""
    source = indeterminate_source(indeterminate_task(40, paired=30), n_resamples=50)
    validation = validate(source)
    pool = F_hat(prepare(source).human)
    assert validation.humans.n_endorsed == tuple(pool.n_endorsed.tolist())
    assert (sum(validation.humans.n_endorsed), validation.humans.n_outside) == (210, 0)
    judge = validation.judge("strict")
    assert (judge.F, judge.n_endorsed, judge.n_outside) == (None, (), 0)


def test_without_positive_options_there_are_no_bounds():
    """Neither per item nor for one beta, and no beta of the judges."""
    fields = {"positive": (), "sensitivity": {}}
    task = indeterminate_task(12, **fields)
    bounded = validate(indeterminate_source(task, judges=("strict",), n_resamples=20)).sensitivity
    assert (bounded.bounds, bounded.common_bounds, bounded.judge_betas) == ({}, {}, {})


def test_judge_beta_from_independent_calls_is_not_read_off_matched_calls():
    """One call of each kind per item identifies no F: NA, where cross_call_beta is a number."""
    validation = validate(indeterminate_source(indeterminate_task(24)))
    result = validation.sensitivity.judge_betas
    assert set(result) == {"strict", "lenient", "random"}
    assert (result["lenient"].value, result["lenient"].reason) == (None, "not_identified")
    assert result["strict"].value == 0.0  # it never accepts both
    assert validation.judge("lenient").cross_call_beta.value is not None


def test_likelihood_of_a_large_task_is_left_out_and_says_so(monkeypatch):
    """Seconds per judge are not spent unasked: NA, not_computed, and `stats` offers it."""
    monkeypatch.setattr(beta_sensitivity, "MAX_CELLS", 35)
    result = validate(indeterminate_source(indeterminate_task(n=12), n_resamples=10)).sensitivity
    assert {entry.reason for entry in result.judge_betas.values()} == {"not_computed"}
    assert {entry.reasons for entry in result.judge_translations.values()} == {
        ("not_computed",) * 3
    }


def test_translation_of_independent_calls_is_that_of_the_likelihood(source, result):
    """One F for all items, judge by judge, with its calls; unknown columns say why."""
    p = prepare(source)
    assert set(result.judge_translations) == {"strict", "lenient", "random"}
    for table, n in zip(p.judges, (53, 60), strict=False):
        expected = F_by_likelihood(table, resampling=p.resampling(groups=p.groups))
        matrix = result.judge_translations[table.name]
        assert (matrix.n_items, matrix.n_forced, matrix.n_sets) == (n, n, n)
        assert matrix.reasons == expected.reasons
        np.testing.assert_array_equal(matrix.F, expected.F)
    assert result.judge_translations["strict"].reasons == ("", "", "never_endorsed")
    assert result.human_translation is None  # they gave forced choices alone


@pytest.mark.slow
def test_bounds_that_are_not_there_say_why():
    """Response sets were given, and the report says over what the others hold."""
    inputs = prepare(indeterminate_source(indeterminate_task(12, paired=12), n_resamples=10))
    section = beta_sensitivity.section(inputs)
    assert (section.bounds_reason, section.bounds) == ("response_sets_given", {})
    validation = validate(indeterminate_source(indeterminate_task(12), n_resamples=10))
    html = page(validation)
    assert validation.sensitivity.bounds_reason == ""
    assert "free per item</td>" in html
    assert "one beta</td>" in html


@pytest.mark.slow
def test_ten_judges_and_two_hundred_items_stay_below_two_megabytes():
    """What a report holds in itself."""
    names = ("strict", "lenient", *(f"judge {k}" for k in range(8)))
    source = indeterminate_source(indeterminate_task(n=200), judges=names, n_resamples=100)
    source = source.with_settings(min_answered=0.8)
    text = msgspec.json.format(validate(source).to_json(), indent=-1)
    assert len(text) < 2_000_000
    assert set(json.loads(text)["sensitivity"]["grid"]["judges"]) == set(names)

"""Where the response sets of the raters come from unless the user says so."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.pair_sources import pair_source

from harness.analysis import evidence, validate
from harness.analysis.choice_checks import check_choices
from harness.analysis.estimates import prepare
from harness.errors import TaskError
from harness.options.concerns import Choices
from harness.report import page
from harness.report.export import metric_table, ranking_csv
from harness.report.judge_card import judge_card
from harness.report.text import render
from harness.stats import reconstruct
from harness.stats.indeterminacy.reconstruction import reconstructed_metrics

N_PAIRED = 40


def source_of(task, **choices):
    return indeterminate_source(task, judges=("lenient",), n_resamples=20, **choices)


@pytest.fixture(scope="module")
def task():
    return indeterminate_task(100, 3, paired=N_PAIRED)


@pytest.fixture(scope="module")
def validation(task):
    return validate(source_of(task, beta=0.9))


def note_of(validation):
    [note] = [n for n in validation.notes if "beta" in n]
    return note


def test_pairs_replace_an_assumed_beta(task, validation):
    """All numbers are those of the estimated F', and none those of beta 0.9."""
    reconstructed, assumed = (
        prepare(source_of(task, **choices)).evaluation.estimates["lenient"]
        for choices in (
            {"humans": "reconstructed", "ranks_by": "forced_choice"},
            {"beta": 0.9, "humans": "rated"},
        )
    )
    name, ranks = "mse(srs/srs)", validation.ranking_metric
    metrics = validation.judge("lenient").metrics
    assert metrics == {**reconstructed, ranks: metrics[ranks]}
    assert metrics[name].value == reconstructed[name].value
    assert validation.settings.beta is None
    assert reconstructed[name].value != pytest.approx(assumed[name].value, abs=1e-3)


def test_terminal_card_and_json_say_so(validation):
    """With the number of pairs, the estimate of beta and its interval."""
    sets, beta = validation.humans.sets, validation.humans.beta
    assert (sets.origin, sets.by_default, sets.missing_pairs) == ("reconstructed", True, "")
    assert (sets.n_pairs, sets.n_paired_items, sets.n_paired_raters) == (120, N_PAIRED, 3)
    interval = f"{beta.value:.2f} [{beta.interval.low:.2f}, {beta.interval.high:.2f}]"
    said = note_of(validation)
    assert "on 100 of 100 items are reconstructed from their forced choices, using F' from" in said
    assert f"The estimate of the raters' beta from 120 pairs is {interval}" in said
    assert said.endswith("the assumed beta 0.9 isn't used (to use it, pass --humans rated)")
    assert "isn't used (to use it, pass --humans rated)" in " ".join(render(validation).split())
    assert "reconstructed using F' from 120 pairs on 40 items, beta" in judge_card(validation)
    assert json.loads(validation.to_json())["humans"]["sets"]["origin"] == "reconstructed"


def test_pairs_of_some_stand_for_the_choices_without_a_set(task):
    """Without a beta too, where most choices have no set."""
    p = prepare(source_of(task))
    assert p.sets.origin == "reconstructed"
    estimate = p.evaluation.estimates["lenient"]["mse(srs/srs)"]
    assert estimate.n_used == 100
    rated = validate(source_of(task, humans="rated"))
    assert rated.judge("lenient").metrics["mse(srs/srs)"].n_used == N_PAIRED
    assert note_of(rated).endswith(
        "To use the pairs to reconstruct sets for choices without a set, pass --humans "
        "reconstructed"
    )
    assert reconstruct(p.human).distributions.theta == pytest.approx(p.implied.theta)


def test_sets_of_most_choices_are_used_as_they_are():
    """Response sets that were rated are better evidence than an F' common to all items."""
    p = prepare(source_of(indeterminate_task(60, 2, paired=40)))
    assert (p.sets.origin, p.implied) == ("rated", None)


def test_too_few_pairs_leave_the_assumption():
    """And the note says what is missing; asked for, they are used all the same."""
    task = indeterminate_task(60, 2, paired=20)
    assumed = validate(source_of(task, beta=0.2))
    assert (assumed.humans.sets.origin, assumed.settings.beta) == ("assumed", 0.2)
    assert any("there are pairs on 20 items, but 30 are needed" in note for note in assumed.notes)
    assert "Their response sets follow from an assumed beta of 0.2." in judge_card(assumed)
    asked = prepare(source_of(task, humans="reconstructed"))
    assert (asked.sets.origin, asked.sets.by_default) == ("reconstructed", False)


def test_intervals_of_single_metrics_hold_the_noise_of_few_pairs(task):
    """F' is estimated anew in each resample; rows that compare choices do not change."""
    p, name = prepare(source_of(task)), "mse(srs/srs)"
    estimates = p.evaluation.estimates["lenient"]
    anew = reconstructed_metrics(
        p.human,
        p.judges,
        tau=p.tau,
        positive=("A",),
        resampling=p.affordable_resampling(),
        metrics=[name],
    )
    assert estimates[name] == replace(anew["lenient"][name], n_replies=1)
    rated = prepare(source_of(task, humans="rated")).evaluation.estimates["lenient"]
    assert estimates["js_divergence(s/s)"] == rated["js_divergence(s/s)"]


def test_metric_of_choices_keeps_its_human_reference(task):
    """Where response sets do not enter the ranking, pairs change nothing in it."""
    metric = "hit_rate(h/h)"
    rated, default = (
        prepare(source_of(task, metric=metric, **more)) for more in ({"humans": "rated"}, {})
    )
    assert default.sets.origin == "reconstructed"
    section = evidence.section(default)
    assert section == evidence.section(rated)
    assert section.judges[0].human.difference is not None


def test_first_lines_say_how_many_items_have_sets():
    """Ranked by response sets that some items have, the run does not look like one of all items."""
    ranked = validate(pair_source(60, n_paired=40, metric="mse(srs/srs)"))
    first, second = render(ranked).splitlines()[:2]
    assert first.startswith("small  60 items  ")
    assert second.startswith(
        "Compared by response sets (all options that a rater accepts) on 40 of"
    )
    whole = " ".join(render(ranked, details=True).split())
    assert "on 40 of 60 rated items (20 without" in whole
    every = validate(pair_source(60, n_paired=60, metric="mse(srs/srs)"))
    assert render(every).startswith("small  60 items  ")


@pytest.mark.slow
def test_decisions_are_not_identified_by_one_pair_per_item():
    """Metrics at a cut-off are NA; bounds stand in their place, and say what they settle."""
    v = validate(pair_source(200))
    for name in ("decision_consistency", "prevalence_bias", "coverage(hrs/hrs)"):
        estimate = v.judge("wide").metrics[name]
        assert (estimate.value, estimate.reason, estimate.n_used) == (None, "not_identified", 200)
    assert v.judge("wide").metrics["mse(srs/srs)"].value is not None
    [difference] = v.sensitivity.differences
    assert (difference.settled, v.sensitivity.bounds_reason) == ("not_identified", "")
    assert v.sensitivity.bounds["narrow"]["prevalence_bias"].kind == "pairs"
    said = " ".join(render(v).split())
    assert "decisions at the cut-off can only be bounded" in said
    assert (
        "these data can't show whether wide or narrow matches the raters' decisions more often"
        in said
    )
    assert "(width 0." in said


def test_a_ranking_that_is_not_identified_is_refused():
    """Before anything is asked, with what to do."""
    choices = {"metric": "decision_consistency", "humans": "reconstructed"}
    source = pair_source(60, n_paired=40, **choices)
    with pytest.raises(TaskError, match=r"don't determine the decisions at a cut-off\. Leave out"):
        validate(source)
    with pytest.raises(TaskError, match="decisions at a cut-off"):
        check_choices(source.task, source.items, Choices(**choices))


@pytest.mark.slow
@pytest.mark.parametrize(("n_pairs", "named"), [(1, "a Dirichlet distribution"), (2, "40 items")])
def test_a_model_of_the_sets_is_named_in_every_view(n_pairs, named):
    """Decisions at the cut-off have a value; what it rests on depends on second pairs."""
    v = validate(pair_source(100, n_paired=40, n_pairs=n_pairs, humans="modelled"))
    consistency = v.judge("wide").metrics["decision_consistency"]
    assert consistency.value is not None
    assert consistency.interval.estimand == "population value"
    assert v.judge("wide").metrics["coverage(hrs/hrs)"].reason == "not_identified"
    assert v.sensitivity.modelled.basis == ("dirichlet", "second_pairs")[n_pairs - 1]
    [assumed] = [note for note in v.notes if note.startswith("the model behind decisions")]
    assert named in assumed
    assert named in " ".join(render(v).split())
    assert named in judge_card(v)
    assert named in page(v)
    assert json.loads(v.to_json())["humans"]["sets"]["origin"] == "modelled"
    assert {row["humans"] for row in csv.DictReader(StringIO(ranking_csv(v)))} == {"modelled"}
    assert {row["humans"] for row in metric_table(v)} == {"modelled"}
    assert any(note.startswith("under this model, ") for note in v.notes)


def test_a_model_needs_decisions_on_single_items():
    """Level macro averages criteria: refused, with what to use."""
    choices = {"humans": "modelled", "level": "macro"}
    source = source_of(indeterminate_task(40, 3, paired=10), **choices)
    with pytest.raises(TaskError, match=r"needs level micro .*humans reconstructed"):
        check_choices(source.task, source.items, Choices(**choices))


@pytest.mark.slow
def test_a_ranking_by_one_translation_says_how_it_can_mislead():
    """In expectation, F' ranks the worse of these judges first; the items with sets do not."""
    v = validate(pair_source(100, n_paired=40, humans="reconstructed"))
    assert v.ranking_metric == "mse(srs/srs)"
    assert "can rank too low (--humans rated compares judges on the items with sets)" in note_of(v)
    by_choices = validate(pair_source(100, n_paired=40))
    assert "can rank too low" not in note_of(by_choices)

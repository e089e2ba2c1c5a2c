"""What ranks: a property of the task, whatever else was collected."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import compares_response_sets, validate
from harness.options.concerns import Choices
from harness.report.text import render
from harness.tasks import CANNOT_ASSESS, Rating


def text_of(validation) -> str:
    return " ".join(render(validation).split())


def without_sets(source):
    """Return a source whose judges were asked for forced choices alone."""
    verdicts = {
        name: [verdict for verdict in of_judge if verdict.elicitation == "forced_choice"]
        for name, of_judge in source.verdicts.items()
    }
    planned = {name: {"forced_choice": n["forced_choice"]} for name, n in source.planned.items()}
    return replace(source, verdicts=verdicts, planned=planned)


@pytest.mark.slow
def test_response_sets_of_some_items_change_neither_metric_nor_items_nor_verdict():
    """Rating 12 of 60 items by sets turned the ranking to those 12 and the verdict with it."""
    before = validate(indeterminate_source(indeterminate_task(paired=0)))
    since = validate(indeterminate_source(indeterminate_task(paired=12)))
    assert since.humans.n_response_sets > before.humans.n_response_sets == 0
    for validation in (before, since):
        assert validation.ranking_metric == "js_divergence(s/s)"
        assert validation.evidence.n_items == before.evidence.n_items
        assert validation.decision.verdict == before.decision.verdict
    assert "Compared by forced choices on" in text_of(since)


@pytest.mark.slow
def test_metric_and_option_change_what_ranks():
    """The user's metric, then --ranks-by, then reconstruction if it is named, then the task."""
    task = indeterminate_task(paired=12)
    chosen = {
        "mse(srs/srs)": [{"ranks_by": "response_set"}, {"humans": "reconstructed"}],
        "js_divergence(s/s)": [{}, {"humans": "reconstructed", "ranks_by": "forced_choice"}],
        "hit_rate(h/h)": [{"metric": "hit_rate(h/h)", "ranks_by": "response_set"}],
    }
    for metric, choices in chosen.items():
        for choice in choices:
            assert validate(indeterminate_source(task, **choice)).ranking_metric == metric
            assert compares_response_sets(task, Choices(**choice)) == (metric == "mse(srs/srs)")


def test_items_that_the_ranking_cannot_use_are_counted_in_the_first_lines():
    """Every item with a rating is compared, or counted with the reason why it is not."""
    task = indeterminate_task(paired=40, ranks_by="response_set")
    sets = [r for r in task.ratings if (r.item, r.elicitation) == ("i0", "response_set")]
    abstained = tuple(replace(r, value=CANNOT_ASSESS) if r in sets else r for r in task.ratings)
    unrated = tuple(r for r in abstained if r.item != "i59")
    source = indeterminate_source(task.model_copy(update={"ratings": unrated}))
    validation = validate(source)
    evidence = validation.evidence
    counts = {part.reason: part.n_items for part in evidence.left_out}
    assert counts["human_not_asked"] == 19
    assert counts["human_abstained"] == 1
    assert evidence.n_items + sum(counts.values()) == 59
    first = " ".join(render(validation, details=True).split())
    of_sets = "Compared by response sets (all options that a rater accepts)"
    assert f"{of_sets} on {evidence.n_items} of 59 rated items" in first
    assert f"1 rated {CANNOT_ASSESS} by all, 19 without a response set" in first


@pytest.mark.slow
def test_sets_are_reconstructed_for_the_ranking_only_when_that_is_named():
    """By default a ranking by response sets uses those that raters gave."""
    task = indeterminate_task(n=120, paired=100, ranks_by="response_set")
    rated = validate(indeterminate_source(task))
    assert rated.humans.sets.origin == "rated"
    assert sum(part.n_items for part in rated.evidence.left_out) >= 20
    named = validate(indeterminate_source(task, humans="reconstructed"))
    assert named.humans.sets.origin == "reconstructed"


@pytest.mark.slow
def test_switch_is_offered_once_nearly_all_items_have_sets():
    """At 90 % of the rated items a line offers to rank by sets, and not below."""
    offer = "To rank by response sets, pass --ranks-by response_set"
    for paired, offered in ((53, False), (54, True)):
        task = indeterminate_task(paired=paired, ranks_by="forced_choice")
        assert (offer in text_of(validate(indeterminate_source(task)))) == offered
    assert offer not in text_of(validate(indeterminate_source(indeterminate_task(paired=60))))


@pytest.mark.parametrize("choices", [{}, {"ranks_by": "response_set"}])
def test_ranking_by_what_judges_were_not_asked_is_na_and_names_the_flags(choices):
    """No other metric takes its place without a word."""
    task = indeterminate_task(paired=60)
    source = without_sets(indeterminate_source(task, **choices))
    asked = tuple(judge.model_copy(update={"kind": "litellm"}) for judge in source.judges)
    validation = validate(replace(source, judges=asked))
    assert validation.ranking_metric == "mse(srs/srs)"
    assert (validation.decision.verdict, validation.decision.reason) == ("none", "metric_undefined")
    for judge in validation.judges:
        estimate = judge.metrics["mse(srs/srs)"]
        assert (estimate.value, estimate.reason) == (None, "response_set_not_asked")
    text = " ".join(text_of(validation).split())
    assert (
        "Next: Rank by forced choices: `--ranks-by forced_choice`. Or run the judges on both"
        in text
    )
    assert "`--elicitation forced_choice,response_set`" in text


def test_a_file_of_numbers_was_told_to_ask_for_both_forms():
    """Nobody is asked for the verdicts of a file: what can be done is to rank by the others."""
    source = without_sets(indeterminate_source(indeterminate_task(paired=60)))
    assert {judge.kind for judge in source.judges} == {"external"}
    text = " ".join(text_of(validate(source)).split())
    assert text.count("--elicitation") == 0
    assert "Next: Rank by forced choices: `--ranks-by forced_choice`." in text


@pytest.mark.slow
def test_a_judge_that_was_not_asked_was_said_to_have_answered_none():
    """Beside one that was, "less than 90% was answered: lenient 0.0%" was no answer of its."""
    source = indeterminate_source(indeterminate_task(paired=60), judges=("strict", "lenient"))
    choices = without_sets(source)
    mixed = replace(
        source,
        verdicts={**source.verdicts, "lenient": choices.verdicts["lenient"]},
        planned={**source.planned, "lenient": choices.planned["lenient"]},
    )
    validation = validate(mixed.with_settings(min_answered=0.8))
    row = validation.evidence_of("lenient")
    assert (row.answered_fraction, row.usable_replies, row.ranked) == (None, 1.0, False)
    text = text_of(validation)
    assert "lenient has no rank: its disagreement with raters is NA (not asked for" in text
    assert "Not ranked, because less than" not in text
    none = text_of(validate(mixed))  # strict abstained too often
    assert "none answered 90% of 60 items: strict 88.3%" in none
    assert "lenient NA (not asked for response sets" in none


def test_a_named_metric_that_cannot_rank_was_to_be_ranked_by_choices_again():
    """``--ranks-by`` changes nothing beside ``--metric``, which is to be left out."""
    choices = {"metric": "prevalence_bias", "ranks_by": "forced_choice"}
    source = without_sets(indeterminate_source(indeterminate_task(paired=60), **choices))
    text = text_of(validate(source))
    assert "ranks by forced choices" not in text
    assert "Next: Leave out --metric to rank by the ratings that the judges gave." in text


def test_judges_asked_once_were_said_to_have_answered_none_of_three_times():
    """At three replies, the sentence says how often an item must be answered."""
    source = indeterminate_source(indeterminate_task(n=20), judges=("strict", "lenient"))
    text = text_of(validate(source.with_settings(replies=9)))
    assert "none answered 90% of 20 items 9 times: strict 0.0%" in text


@pytest.mark.slow
def test_ratings_of_other_items_do_not_count_as_sets_collected():
    """Only items of the validation count towards the share."""
    task = indeterminate_task(paired=30)
    source = replace(indeterminate_source(task), items=task.items[:30])
    assert "--ranks-by response_set" in text_of(validate(source))
    more = task.model_copy(
        update={"ratings": (*task.ratings, Rating("i40", "x", "forced_choice", "A"))}
    )
    assert "--ranks-by response_set" not in text_of(validate(indeterminate_source(more)))

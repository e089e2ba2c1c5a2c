"""What a user may choose about the numbers, and what each choice changes."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import Settings, check_choices, validate
from harness.analysis.estimates import prepare
from harness.errors import TaskError
from harness.options.concerns import Choices
from harness.report import render

GOALS = ("decision_consistency", "prevalence_bias")


@pytest.mark.slow
def test_beta_makes_the_downstream_numbers_those_of_the_sweep():
    """``--beta`` gives, at every step, the values and the ranking that the grid holds."""
    task = indeterminate_task(paired=30)
    grid = validate(indeterminate_source(task, min_answered=0.8)).sensitivity.grid
    for beta, tau in ((0.0, 0.5), (0.25, 0.3), (0.6, 0.7), (1.0, 0.5)):
        result = validate(
            indeterminate_source(
                task,
                beta=beta,
                tau=tau,
                metric="decision_consistency",
                humans="rated",
                min_answered=0.8,
            )
        )
        t, b = grid.taus.index(tau), grid.betas.index(beta)
        for judge in result.judges:
            surface = grid.judges[judge.name]
            values = [judge.metrics[goal].value for goal in GOALS]
            assert values == pytest.approx(
                [surface.consistency[t][b], surface.bias[t][b]], abs=1e-6
            )
        assert result.settings.beta == beta
        assert any("is assumed" in note for note in result.notes)


@pytest.mark.slow
def test_beta_makes_consistency_defined_without_response_sets():
    """Where the humans only chose, the goals are NA until a beta is assumed."""
    task = indeterminate_task()
    plain = validate(indeterminate_source(task)).judge("lenient").metrics["decision_consistency"]
    assert (plain.value, plain.reason) == (None, "no_response_sets")
    assumed = validate(indeterminate_source(task, beta=0.3)).judge("lenient")
    assert assumed.metrics["decision_consistency"].value is not None
    noise = assumed.metrics["mse_without_rater_noise(srs/srs)"]
    assert (noise.value, noise.reason) == (None, "not_computed")


@pytest.mark.slow
def test_recode_counts_abstentions_as_the_negative_option():
    """The items on which strict abstained enter, as B."""
    task = indeterminate_task()
    out, recoded = (
        validate(indeterminate_source(task, mode=mode, min_answered=0.8)).judge("strict")
        for mode in ("exclude", "recode")
    )
    assert out.metrics["hit_rate(h/h)"].n_used == 53
    assert recoded.metrics["hit_rate(h/h)"].n_used == 60
    assert recoded.metrics["precision(h/h)"].value == pytest.approx(
        out.metrics["precision(h/h)"].value
    )
    assert recoded.metrics["recall(h/h)"].value < out.metrics["recall(h/h)"].value
    assert [c.abstained for c in recoded.outcomes] == [c.abstained for c in out.outcomes] == [7, 7]


def test_third_class_keeps_abstentions_apart():
    """The confusion matrix gains a row and a column, and the hit rate counts them as misses."""
    task = indeterminate_task()
    source = indeterminate_source(task, mode="third_class", min_answered=0.8)
    result = validate(source).judge("strict").metrics["cohen_kappa(h/h)"]
    assert len(result.counts) == 9
    assert sum(n for cell, n in result.counts.items() if cell.endswith("CANNOT_ASSESS")) == 7
    assert prepare(source).human.space == task.space  # the counts themselves stay


@pytest.mark.slow
def test_macro_averages_criteria_and_resamples_them():
    """The unweighted mean of the two criteria's own values."""
    task = indeterminate_task()
    macro = validate(indeterminate_source(task, level="macro", min_answered=1.0))
    result = macro.judge("lenient").metrics["hit_rate(h/h)"]
    parts = []
    for criterion in "ab":
        items = tuple(item for item in task.items if item.criterion == criterion)
        subset = task.model_copy(
            update={
                "items": items,
                "ratings": tuple(r for r in task.ratings if r.item in {i.id for i in items}),
            }
        )
        judged = indeterminate_source(task)
        local = {item.id for item in items}
        verdicts = {n: [v for v in vs if v.item in local] for n, vs in judged.verdicts.items()}
        planned = {n: dict.fromkeys(p, len(items)) for n, p in judged.planned.items()}
        source = indeterminate_source(subset)
        source = type(source)(
            task=subset,
            items=items,
            judges=source.judges,
            verdicts=verdicts,
            planned=planned,
            settings=Settings(n_resamples=10, min_answered=1.0),
        )
        parts.append(validate(source).judge("lenient").metrics["hit_rate(h/h)"].value)
    assert result.value == pytest.approx(sum(parts) / 2)
    assert result.counts == {"criteria": 2.0, "undefined_criteria": 0.0}
    assert (result.n_used, result.interval_reason) == (2, "too_few_criteria")
    assert macro.sensitivity.reason == "only_at_level_micro"


def test_item_level_asks_for_every_criterion_of_a_group():
    """One verdict per document, met where both criteria are."""
    task = indeterminate_task()
    result = validate(indeterminate_source(task, level="item"))
    kappa = result.judge("lenient").metrics["cohen_kappa(h/h)"]
    assert kappa.n_used == 30
    assert set(kappa.counts) == {"met | met", "met | unmet", "unmet | met", "unmet | unmet"}
    by_item: dict[str, list[bool]] = {}
    for rating in task.ratings:
        by_item.setdefault(rating.item, []).append(rating.value == "A")
    modes = [sum(votes) > len(votes) / 2 for votes in by_item.values()]
    met = sum(a and b for a, b in zip(modes[::2], modes[1::2], strict=True))
    assert kappa.counts["met | met"] + kappa.counts["met | unmet"] == met


def test_confidence_is_the_one_asked_for():
    """In every estimate that has an interval, and in the settings."""
    result = validate(indeterminate_source(indeterminate_task(20), confidence=0.8))
    spans = [e.interval for judge in result.judges for e in judge.metrics.values() if e.interval]
    assert {span.method for span in spans} - {"simultaneous"} == {"crossed"}
    assert {span.level for span in spans} == {0.8}
    assert result.settings.confidence == 0.8


def test_all_sections_have_one_kind_of_interval():
    """By certainty, of the raters' agreement beside the annotator test and of the errors."""
    source = indeterminate_source(indeterminate_task(20))
    result = validate(source)
    methods: dict[str, set[str]] = {}
    for section in (result.certainty, result.replacement, result.errors):
        for place, method in methods_in(asdict(section)):
            methods.setdefault(method, set()).add(place)
    agreement = result.humans.agreement.values()
    for method in {estimate.interval.method for estimate in agreement if estimate.interval}:
        methods.setdefault(method, set()).add("agreement")
    assert set(methods) == {"score", "crossed"}


def methods_in(value, place=""):
    """Give every interval's method with the innermost named field it stands in."""
    if isinstance(value, dict):
        if "method" in value:
            yield place, value["method"]
        for name, columns in value.items():
            yield from methods_in(columns, place if name == "interval" else name)
    elif isinstance(value, list | tuple):
        for columns in value:
            yield from methods_in(columns, place)


@pytest.mark.parametrize(
    ("choices", "task", "words"),
    [
        ({"tau": 0.0}, {}, "tau"),
        ({"confidence": 1.0}, {}, "confidence level"),
        ({"metric": "accuracy"}, {}, "no metric is named 'accuracy'"),
        ({"metric": "bce(hrs/hrs)", "worth": 0.1}, {}, "this metric has no upper bound"),
        ({"beta": 0.3}, {"sensitivity": {}}, "sensitivity"),
        ({"mode": "recode"}, {"positive": ()}, "2"),
        ({"humans": "reconstructed"}, {}, "humans reconstructed needs pairs: raters who gave both"),
        ({"humans": "reconstructed", "beta": 0.2}, {}, "Leave out one of the two options"),
        ({"humans": "reconstructed", "level": "item"}, {}, "at level item"),
    ],
)
def test_choices_that_do_not_fit_are_refused_before_anything_is_asked(choices, task, words):
    """The same words before a run and in a validation."""
    built = indeterminate_task(6, **task)
    with pytest.raises(TaskError, match=words):
        check_choices(built, built.items, Choices(**choices))
    with pytest.raises(TaskError, match=words):
        validate(indeterminate_source(built, **choices))


def test_levels_need_criteria_and_groups():
    """The message names what is missing and what to do."""
    task = indeterminate_task(6)
    bare = [item.__class__(item.id, item.fields) for item in task.items]
    plain = task.model_copy(update={"items": tuple(bare)})
    with pytest.raises(TaskError, match="Give each item its criterion, or use level micro"):
        validate(indeterminate_source(plain, level="macro"))
    with pytest.raises(TaskError, match="beta cannot be assumed at level item"):
        validate(indeterminate_source(task, level="item", beta=0.2))


@pytest.mark.parametrize(
    ("bare", "choices", "words"),
    [
        (True, {"level": "macro"}, "Give each item its criterion, or use level micro"),
        (True, {"level": "item"}, "Give each item its criterion, or use level micro"),
        (False, {"level": "item", "beta": 0.2}, "beta cannot be assumed at level item"),
        (False, {"level": "item", "metric": "phi"}, "Did you mean phi"),
    ],
)
def test_levels_are_checked_before_anything_is_asked(bare, choices, words):
    """What does not fit was found out when the judges had been paid, and no result was written."""
    task = indeterminate_task(6)
    items = tuple(i.__class__(i.id, i.fields) for i in task.items) if bare else task.items
    with pytest.raises(TaskError, match=words):
        check_choices(task, items, Choices(**choices))


def test_every_metric_says_how_to_read_it():
    """The definition of each, as the statistics have it: direction, estimand, other names."""
    result = validate(indeterminate_source(indeterminate_task(12)))
    rows = {name: result.metric(name) for name in result.judge("strict").metrics}
    assert all(row is not None and row.name == name for name, row in rows.items())
    assert rows["mse_without_rater_noise(srs/srs)"].estimand == "population value"
    assert "accuracy(h/h)" in rows["hit_rate(h/h)"].also
    assert result.metric("no metric") is None
    for judge in result.judges:
        for name, estimate in judge.metrics.items():
            assert estimate.interval is None or estimate.interval.estimand == rows[name].estimand


def evidence_under(**choices):
    evidence = validate(indeterminate_source(indeterminate_task(20), **choices)).evidence
    assert evidence is not None
    return evidence


@pytest.mark.slow
def test_replies_min_answered_and_worth_reach_the_evidence():
    """They had fixed values, whatever the user knew about the judges."""
    default = evidence_under(metric="mse(s/s)")
    wider = evidence_under(metric="mse(s/s)", min_answered=0.5, worth=0.1, replies=1)
    assert (default.min_answered, wider.min_answered) == (0.9, 0.5)
    assert wider.margin == pytest.approx(2 * default.margin)
    assert wider.n_replies == 1
    assert evidence_under(metric="mse(s/s)", replies="inf").n_replies is None


def test_margin_of_a_metric_without_range_is_na():
    """5 % of the number of options: judges were "equivalent within 0.200" nats."""
    metric = "kl_dirichlet_0.5(s/s, human->judge)"
    result = validate(indeterminate_source(indeterminate_task(60), metric=metric))
    assert result.evidence.margin is None
    check = result.decision.checks["one_human"]
    assert (check.passed, check.reason, check.threshold) == (None, "no_range", None)
    assert (result.decision.next_step.worth, result.decision.next_step.equivalent) == (None, ())
    assert "equivalent within" not in render(result)


def test_infinitely_many_replies_survive_the_manifest():
    """JSON has no infinity; it would have come back as the default."""
    choices = Choices(replies=math.inf)
    assert choices.replies == "inf"
    assert Choices.model_validate_json(choices.model_dump_json()) == choices

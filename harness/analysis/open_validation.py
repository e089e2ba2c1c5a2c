"""Validate judges whose answers are numbers or texts."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

from harness.analysis import open_slices, score_measures
from harness.analysis.annotator_panel import why_no_test
from harness.analysis.evidence import evidence_of, n_with_rating, with_copies_tested
from harness.analysis.inputs import (
    OF_OPTIONS,
    HumanSets,
    Settings,
    check_open_choices,
    common_metrics,
    margin_in,
    metrics_of,
    on_sampling,
    sampling_weights,
)
from harness.analysis.judge_result import (
    JudgeResult,
    Sampling,
    human_result,
    judge_result,
    task_facts,
)
from harness.analysis.open_scale import OpenScaleSetup, design_of_open, open_scale, with_open_wins
from harness.analysis.prepared import order_of
from harness.analysis.rater_replacement import (
    AnnotatorTests,
    judge_tests,
    replacement_of,
    why_not_tested,
)
from harness.analysis.result import Validation, make_validation
from harness.analysis.second_questions import second_questions
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.stats import Estimate, annotator_controls, annotator_tests
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Exclusion, exclusions
from harness.stats.inference.metric import find_metric
from harness.stats.open_scales.open_footing import estimate_on, open_footing
from harness.stats.open_scales.open_metrics import numeric_metrics
from harness.stats.selection.footing import ComparisonRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.inputs import JudgeFacts, Source
    from harness.analysis.judge_result import HumanResult
    from harness.analysis.rater_replacement import Replacement
    from harness.stats import Metric
    from harness.stats.data.arrays import BoolArray
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.reasons import NAReason
    from harness.stats.selection.footing import Footing

NO_OPTIONS = Estimate(value=None, reason="no_options", n_used=0)  # beta and F need them


def validate_open(source: Source) -> Validation:
    """Validate judges on an open scale. See `harness.analysis.validation.validate`."""
    check_open_choices(source.task, _changed(source))
    scale, metrics = with_open_wins(open_scale(source)), metrics_of(source.task)
    metric = find_metric(source.settings.metric or metrics[0].name, metrics)
    engine = _engine(scale)
    evidence, judges, asked_again, slices = None, tuple[JudgeResult, ...](), None, None
    if source.judges:
        footing = _footing(scale, metric)
        order = order_of(source, footing)
        estimates = {
            facts.name: _estimates(scale, facts.name, footing, engine) for facts in source.judges
        }
        about = {name: of_judge[metric.name] for name, of_judge in estimates.items()}
        for name, ranking in footing.estimates(about, order).items():
            estimates[name][metric.name] = ranking
        tests = _annotator_tests(scale, footing)
        evidence = with_copies_tested(
            source,
            _evidence(scale, footing, estimates, order, tests),
            tests,
            partial(_footing_without, scale, metric),
        )
        judges = tuple(
            _judge(scale, facts, estimates[facts.name], metric, engine) for facts in source.judges
        )
        slices = open_slices.section(scale, footing)
        if source.asks_again:
            without = _footing(with_open_wins(open_scale(_without_reasked(source))), metric)
            asked_again = second_questions(source, evidence, without)
    sampling = on_sampling(source.items, is_weighted=True)
    return make_validation(
        source,
        metric,
        _humans(scale),
        judges,
        task=task_facts(source),
        sampling=Sampling(
            unit=engine.units.kind,
            weighted=sampling_weights(source.items) is not None,
            fixed_raters_reason="not_computed",
        ),
        notes=filter(None, (sampling, scale.note)),
        evidence=evidence,
        replacement=_replacement(scale),
        second_questions=asked_again,
        slices=slices,
        scores=score_measures.section(source) if source.scores else None,
    )


def _without_reasked(source: Source) -> Source:
    """Return a copy of a source without verdicts from second questions and without resampling."""
    verdicts = {
        judge: verdicts_at(of_judge, ~columns_of(of_judge).of_kinds(lambda kind: kind.is_reasked))
        for judge, of_judge in source.verdicts.items()
    }
    return replace(source.with_settings(n_resamples=0), verdicts=verdicts)


def _changed(source: Source) -> dict[str, object]:
    """Return the source's settings that differ from the defaults."""
    names = {*OF_OPTIONS, "replies", "metric"}
    defaults = {f.name: f.default for f in fields(Settings) if f.name in names}
    current = {name: getattr(source.settings, name) for name in defaults}
    return {name: value for name, value in current.items() if value != defaults[name]}


def _footing(scale: OpenScaleSetup, metric: Metric) -> Footing:
    source = scale.source
    return open_footing(
        metric,
        [scale.judge(judge.name, metric) for judge in source.judges],
        scale.baselines(metric),
        scale.rated,
        resampling=scale.resampling(),
        rules=ComparisonRules(
            min_answered=source.settings.min_answered,
            margin=_margin(scale, metric),
            baseline_level=source.baseline_level,
        ),
        weights=sampling_weights(source.items),
    )


def _footing_without(
    scale: OpenScaleSetup, metric: Metric, rater: str, judge: str, *, beside_human: bool
) -> Footing:
    del beside_human  # a human rater is always compared
    source = scale.source
    ratings = tuple(rating for rating in source.task.ratings if rating.rater != rater)
    fewer = replace(
        source.with_settings(n_resamples=0),
        task=source.task.model_copy(update={"ratings": ratings}),
        judges=tuple(facts for facts in source.judges if facts.name == judge),
    )
    return _footing(with_open_wins(open_scale(fewer)), metric)


def _evidence(
    scale: OpenScaleSetup,
    footing: Footing,
    estimates: Mapping[str, Mapping[str, Estimate]],
    order: Sequence[str],
    tests: AnnotatorTests,
) -> Evidence:
    source, metric = scale.source, footing.metric
    return evidence_of(
        source,
        footing,
        {name: of_judge[metric.name] for name, of_judge in estimates.items()},
        order=order,
        margin=_margin(scale, metric),
        annotator_tests=tests,
        unusable=exclusions([("human_abstained", n_with_rating(source) - int(scale.rated.sum()))]),
    )


def _engine(scale: OpenScaleSetup) -> Engine:
    weights, n_items = sampling_weights(scale.source.items), len(scale.source.items)
    resampling = scale.resampling()
    units = resampling.units(n_items)
    return Engine.draw(units, resampling, weights)


def _margin(scale: OpenScaleSetup, metric: Metric) -> Margin | None:
    """Return the margin. On an unbounded scale, the margin depends on the range of the ratings."""
    rows = {row.name: row for row in numeric_metrics(scale.range)}
    return margin_in(rows.get(metric.name, metric).loss_range(), scale.source.settings)


def _annotator_tests(scale: OpenScaleSetup, footing: Footing) -> AnnotatorTests:
    if reason := why_not_tested(scale.source.task, scale.panel.raters):
        return AnnotatorTests(reason)
    verdicts = {name: scale.verdicts(name) for name in footing.judges}
    return AnnotatorTests("", scale.panel, verdicts, design_of_open(scale), scale.resampling())


def _replacement(scale: OpenScaleSetup) -> Replacement:
    source, design = scale.source, design_of_open(scale)
    if reason := why_no_test(source.task, source.judges):
        return replacement_of(source.task, design, reason=reason)
    verdicts = {judge.name: scale.verdicts(judge.name) for judge in source.judges}
    tests = annotator_tests(scale.panel, verdicts, design)
    controls = annotator_controls(scale.panel, design, resampling=scale.resampling())
    judges = tuple(judge_tests(test, judge=name, n_tied=0) for name, test in tests.items())
    return replacement_of(source.task, design, judges, controls)


def _estimates(
    scale: OpenScaleSetup, name: str, footing: Footing, engine: Engine
) -> dict[str, Estimate]:
    """Estimate every metric for a judge on the shared items. Unranked judges get NA."""
    metrics, shared = _metrics(scale, footing.metric), footing.items.shared
    if name not in footing.judges:
        n = len(shared)
        reason: NAReason = "too_few_answered"
        excluded = (Exclusion(reason, n),)
        unranked = Estimate(value=None, reason=reason, n_used=0, n_excluded=n, excluded=excluded)
        return {metric.name: unranked for metric in metrics}
    return {metric.name: _estimate(scale, name, metric, engine, shared) for metric in metrics}


def _metrics(scale: OpenScaleSetup, metric: Metric) -> tuple[Metric, ...]:
    """Return the metrics of all tasks on the scale, plus the ranking metric."""
    rows = common_metrics(scale.source.task)
    return rows if metric in rows else (*rows, metric)


def _estimate(
    scale: OpenScaleSetup,
    name: str,
    metric: Metric,
    engine: Engine,
    shared: BoolArray | None = None,
) -> Estimate:
    """Estimate a judge's metric on the items that the judge answered, or only on ``shared``."""
    judge = scale.judge(name, metric)
    used = judge.answered if shared is None else judge.answered & shared
    return estimate_on(
        used,
        metric,
        judge.valued(used),
        engine,
        excluded=exclusions(
            (
                ("no_ratings", int((~scale.rated).sum())),
                ("judge_unanswered", int((scale.rated & ~judge.answered).sum())),
                ("not_shared", int((judge.answered & ~used).sum())),
            )
        ),
        n_ratings=scale.n_ratings,
        n_replies=None if shared is None else 1.0,
    )


def _judge(
    scale: OpenScaleSetup,
    facts: JudgeFacts,
    metrics: dict[str, Estimate],
    metric: Metric,
    engine: Engine,
) -> JudgeResult:
    return judge_result(
        scale.source,
        facts,
        metrics=metrics,
        own=_estimate(scale, facts.name, metric, engine),
        beta=NO_OPTIONS,
        cross_call_beta=NO_OPTIONS,
        F=None,
    )


def _humans(scale: OpenScaleSetup) -> HumanResult:
    return human_result(
        scale.source,
        n_forced_choice=int(scale.n_ratings.sum()),
        n_response_sets=0,
        n_pairs=0,
        sets=HumanSets(
            origin="rated",
            by_default=True,
            missing_pairs="",
            n_pairs=0,
            n_paired_items=0,
            n_paired_raters=0,
        ),
        agreement=scale.agreement(),
        beta=NO_OPTIONS,
        F=None,
    )

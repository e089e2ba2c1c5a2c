"""Build the rating tables of a validation, and estimate metrics from them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.inputs import (
    Source,
    human_sets,
    margin_in,
)
from harness.analysis.prepared import (
    Compared,
    Prepared,
    affordable_resampling,
    groups_of,
    on_common_items,
    order_of,
    resampling_of,
    resolved_and_weighted,
)
from harness.analysis.ratings import human_table, judge_table, rater_panel, without_rater
from harness.errors import TaskError
from harness.stats import (
    Estimate,
    Metric,
    evaluate,
    find_metric,
    primary_metric,
)
from harness.stats.data.forms import ELICITATION_OF, FORMS
from harness.stats.data.rating_table import Form
from harness.stats.indeterminacy.modelled import modelled_decisions
from harness.stats.indeterminacy.reconstruction import (
    implied_in_resamples,
    reconstruct,
    reconstructed_metrics,
)
from harness.stats.indeterminacy.sensitivity import distributions_at_beta
from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.selection.footing import ComparisonRules, common_footing
from harness.stats.selection.replies import (
    CommonItems,
    common_items,
    counts_of,
    replies_in_common,
    replies_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.inputs import HumanSets
    from harness.options.concerns import AggregationLevel
    from harness.stats import Distributions, Evaluation, RatingTable
    from harness.stats.indeterminacy.modelled import ModelledDecisions
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.selection.evaluate import Beside
    from harness.stats.selection.footing import Footing
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.tasks import Task

FROM_PAIRS = frozenset({"reconstructed", "modelled"})
ON_OWN_ITEMS: tuple[Beside, ...] = ("translations",)  # beta and F
FORM_OF: dict[str, Form] = {"forced_choice": "s", "response_set": "srs"}  # counts of replies


def prepare(
    source: Source,
    *,
    ranking_only: bool = False,
    with_intervals: bool = True,
    with_comparisons: bool = True,
) -> Prepared:
    """Count ratings and verdicts, apply the abstention mode, and evaluate the metrics.

    Parameters
    ----------
    source : Source
        Task, verdicts and settings.
    ranking_only : bool
        Evaluate only the metric that ranks, which is enough for
        `harness.analysis.evidence.section`.
    with_intervals : bool, optional
        Whether the evaluation computes intervals. The comparison of judges always has them.
    with_comparisons : bool, optional
        Whether judges are compared with one another, with baselines and with a rater. If False,
        `Prepared.footing` has the judges, their items and values, and `Prepared.own` no intervals.

    Raises
    ------
    VerdictError
        If a verdict is not an option or response set of the task.
    TaskError
        If a setting does not fit the task.
    """
    task = source.task
    human = human_table(task, source.items)
    judges = tuple(
        judge_table(task, source.items, j.name, source.verdicts[j.name]) for j in source.judges
    )
    groups = groups_of(source)
    try:
        compared = resolved_and_weighted(source, human, judges, groups)
        row = ranking_metric(source, compared.rows)
        check_ranking(source, row)
        sets = human_sets(source, compared.human, sets_rank=compares_sets(row))
        implied = _implied(source, compared.human, sets)
        panel = _panel(source, compared)
        if ranking_only:
            compared = replace(compared, rows=(row,))
        values_alone = source.with_settings(n_resamples=0)
        drawn = source if with_intervals else values_alone
        evaluated = partial(_evaluated, compared=compared, sets=sets, implied=implied)
        footing = _footing(
            source if with_comparisons else values_alone,
            compared,
            row,
            sets=sets,
            implied=implied,
            panel=panel if with_comparisons else None,
            values_alone=not with_comparisons,
        )
        common = _common_items(source, compared, row, footing) if footing else {}
        ranked = [table for table in compared.judges if footing and table.name in footing.judges]
        others = [table for table in compared.judges if table not in ranked]
        widening = panel if with_intervals and source.settings.n_resamples else None
        evaluation = evaluated(drawn, judges=ranked, common=common, panel=widening)
        estimates = dict(evaluation.estimates)
        if others:
            estimates |= evaluated(drawn, judges=others, common=common, panel=widening).estimates
        modelled = _modelled(drawn, compared, common, sets)
        if modelled is not None:
            estimates = {
                name: {**by_metric, **modelled.estimates[name]}
                for name, by_metric in estimates.items()
            }
        order = order_of(source, footing) if footing and with_comparisons else ()
        if footing and with_comparisons:
            about = {name: by_metric[row.name] for name, by_metric in estimates.items()}
            ranking = footing.estimates(about, order)
            estimates = {
                name: {**by_metric, row.name: ranking[name]}
                for name, by_metric in estimates.items()
            }
        own = evaluated(
            drawn if with_comparisons else values_alone,
            judges=compared.judges,
            rows=(row,),
            panel=panel if with_intervals and with_comparisons else None,
        )
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None
    return Prepared(
        source=source,
        human=human,
        judges=judges,
        compared=compared,
        metric=row.name,
        footing=footing,
        order=order,
        common=common,
        evaluation=evaluation,
        estimates=estimates,
        own=own,
        groups=groups,
        sets=sets,
        implied=implied,
        panel=panel,
        modelled=modelled,
    )


def _modelled(
    source: Source, compared: Compared, common: Mapping[str, CommonItems], sets: HumanSets
) -> ModelledDecisions | None:
    """Estimate decisions at the cut-off with a model of the raters' sets, if requested."""
    if sets.origin != "modelled" or not compared.judges:
        return None
    items = common.get("response_set")
    return modelled_decisions(
        compared.human,
        [on_common_items(table, common) for table in compared.judges],
        tau=source.cutoff,
        positive=compared.positive,
        resampling=resampling_of(source, compared.groups),
        n_replies=None if items is None else items.n_replies,
        weights=compared.weights,
    )


def footing_without(p: Prepared, rater: str, judge: str, *, beside_human: bool) -> Footing | None:
    """Compare one judge with the baselines, without one rater's ratings and without resampling."""
    judges = tuple(facts for facts in p.source.judges if facts.name == judge)
    source = replace(p.source.with_settings(n_resamples=0), judges=judges)
    if p.metric == ADVANTAGE.name:  # reads single ratings; other metrics read only counts
        others = tuple(rating for rating in p.task.ratings if rating.rater != rater)
        source = replace(source, task=p.task.model_copy(update={"ratings": others}))
    human = without_rater(p.human, p.task, source.items, rater)
    tables = tuple(table for table in p.judges if table.name == judge)
    compared = resolved_and_weighted(source, human, tables, p.groups)
    row = find_metric(p.metric, compared.rows)
    sets = human_sets(source, compared.human, sets_rank=compares_sets(row))
    implied = _implied(source, compared.human, sets)
    return _footing(
        source, compared, row, sets=sets, implied=implied, panel=None, values_alone=not beside_human
    )


def margin_of(source: Source, compared: Compared, metric: Metric) -> Margin | None:
    """Return the margin by which a judge can be worse than a human rater. See `margin_in`."""
    return margin_in(metric.loss_range(len(compared.human.space.options)), source.settings)


def footing_without_reasked(p: Prepared) -> Footing | None:
    """Compare the judges without verdicts from second questions, and without resampling."""
    source = p.source.with_settings(n_resamples=0)
    tables = tuple(
        judge_table(p.task, source.items, j.name, source.verdicts[j.name], with_reasked=False)
        for j in source.judges
    )
    compared = resolved_and_weighted(source, p.human, tables, p.groups)
    row = find_metric(p.metric, compared.rows)
    return _footing(
        source, compared, row, sets=p.sets, implied=p.implied, panel=None, values_alone=True
    )


def _footing(
    source: Source,
    compared: Compared,
    metric: Metric,
    *,
    sets: HumanSets,
    implied: Distributions | None,
    panel: RaterPanel | None,
    values_alone: bool = False,
) -> Footing | None:
    """Compare the judges by the ranking metric. Return None without judges."""
    if not compared.judges:
        return None
    supposed = compares_sets(metric)
    reconstructed = supposed and sets.from_pairs
    return common_footing(
        compared.human,
        compared.judges,
        metric,
        tau=source.cutoff,
        positive=compared.positive,
        resampling=resampling_of(source, compared.criteria or compared.groups),
        rules=ComparisonRules(
            n_replies=None if source.settings.replies is None else float(source.settings.replies),
            min_answered=source.settings.min_answered,
            margin=margin_of(source, compared, metric),
            baseline_level=source.baseline_level,
            n_judges=source.n_raced,
            values_alone=values_alone,
        ),
        implied=implied if supposed else None,
        implied_in=implied_in_resamples(compared.human) if reconstructed else None,
        weights=compared.weights,
        criteria=compared.criteria,
        panel=panel,
    )


def _common_items(
    source: Source, compared: Compared, metric: Metric, footing: Footing
) -> dict[str, CommonItems]:
    """Return the items on which judges are compared, for each elicitation."""
    ranks, judges = ELICITATION_OF[metric.judge_form], frozenset(footing.judges)
    common: dict[str, CommonItems] = {
        ranks: CommonItems(footing.n_replies, judges, footing.items.shared)
    }
    human, least = compared.human, source.settings.min_answered
    rated = np.asarray(np.hstack([human.forced_choice, human.response_set]).any(axis=1))
    for elicitation, form in FORM_OF.items():
        asked = [table for table in compared.judges if counts_of(table, form).any()]
        if elicitation in common or not asked:
            continue
        replies = [replies_of(table, form) for table in asked]
        n_replies = replies_in_common(replies, rated, least)
        if source.settings.replies is not None:
            n_replies = min(n_replies, float(source.settings.replies))
        _, items = common_items(replies, rated, n_replies=n_replies, min_answered=least)
        names = (table.name for table in compress(asked, items.ranked.tolist()))
        common[elicitation] = CommonItems(n_replies, frozenset(names), items.shared)
    return common


def _panel(source: Source, compared: Compared) -> RaterPanel | None:
    as_rated = (
        source.settings.mode == "exclude"
        and source.settings.level == "micro"
        and compared.weights is None
    )
    return rater_panel(source.task, source.items) if as_rated else None


def _with_estimated_translation(
    source: Source,
    compared: Compared,
    evaluation: Evaluation,
    judges: Sequence[RatingTable],
) -> Evaluation:
    """Return the evaluation with intervals that account for estimating F' from few pairs."""
    rows = [row for row in evaluation.metrics if compares_sets(row)]
    anew = reconstructed_metrics(
        compared.human,
        judges,
        tau=source.cutoff,
        positive=compared.positive,
        resampling=affordable_resampling(source, compared),
        metrics=rows,
        weights=compared.weights,
    )
    estimates = {name: dict(of_judge) for name, of_judge in evaluation.estimates.items()}
    for name, of_judge in estimates.items():
        for row in rows:
            new = anew[name][row.name]
            of_judge[row.name] = replace(
                of_judge[row.name],
                interval=new.interval,
                interval_reason=new.interval_reason,
                undefined_share=new.undefined_share,
                n_resamples=new.n_resamples,
            )
    return replace(evaluation, estimates=estimates)


def compares_sets(metric: Metric) -> bool:
    """Return whether a metric needs the raters' response sets."""
    return ELICITATION_OF[metric.human_form] == "response_set"


def _evaluated(
    source: Source,
    compared: Compared,
    judges: Sequence[RatingTable],
    *,
    sets: HumanSets,
    implied: Distributions | None,
    panel: RaterPanel | None,
    rows: Sequence[Metric] | None = None,
    common: Mapping[str, CommonItems] | None = None,
) -> Evaluation:
    """Evaluate each judge on the items on which judges are compared.

    By default, it evaluates them on their own items, and estimates beta and F.
    """
    evaluation = evaluate(
        compared.human,
        judges,
        tau=source.cutoff,
        positive=compared.positive,
        resampling=resampling_of(source, compared.groups),
        metrics=compared.rows if rows is None else rows,
        implied=implied,
        criteria=compared.criteria,
        weights=compared.weights,
        common=common,
        panel=panel,
        beside=ON_OWN_ITEMS if common is None else (),
    )
    if not sets.from_pairs or source.settings.level != "micro" or not judges:
        return _only_identified(evaluation, sets)
    masked = [on_common_items(table, common or {}) for table in judges]
    anew = _with_estimated_translation(source, compared, evaluation, masked)
    return _only_identified(anew, sets)


def is_identified(metric: Metric, sets: HumanSets) -> bool:
    """Return whether the ratings determine a metric.

    A single F' doesn't identify metrics at a cut-off.
    """
    return not (sets.from_pairs and FORMS[metric.human_form].is_cut)


def _only_identified(evaluation: Evaluation, sets: HumanSets) -> Evaluation:
    """Return a copy in which metrics that the ratings do not determine are NA."""
    hidden = {row.name for row in evaluation.metrics if not is_identified(row, sets)}
    estimates = {
        judge: {
            name: Estimate(
                value=None,
                reason="not_identified",
                n_used=estimate.n_used,
                n_excluded=estimate.n_excluded,
                excluded=estimate.excluded,
                n_replies=estimate.n_replies,
            )
            if name in hidden and estimate.value is not None
            else estimate
            for name, estimate in of_judge.items()
        }
        for judge, of_judge in evaluation.estimates.items()
    }
    return replace(evaluation, estimates=estimates)


def check_ranking(source: Source, metric: Metric) -> None:
    """Reject a metric that cannot rank judges with this data and these settings."""
    if FORMS[metric.judge_form].needs_pairs and not FORMS[metric.judge_form].names_raters:
        raise ValueError(
            f"{metric.name} can't rank judges, because it needs the noise in each judge's own "
            "replies, and a ranking compares all judges at the same number of replies. Rank by "
            f"mse({metric.judge_form.removeprefix('noisy_')}/"
            f"{metric.human_form.removeprefix('noisy_')})"
        )
    if source.settings.humans in FROM_PAIRS and FORMS[metric.human_form].is_cut:
        raise ValueError(
            f"{metric.name} can't rank judges if only some items have pairs, because choices and "
            "one pair per item don't determine the decisions at a cut-off. Leave out --humans "
            "to compare judges on the items with response sets"
        )
    if source.settings.replies == "inf" and metric.squared is None:
        raise ValueError(
            "replies inf can remove reply noise only from squared distances. Replace "
            f"{metric.name} with a squared distance such as mse(s/s), or pass a number of replies"
        )


def _implied(source: Source, human: RatingTable, sets: HumanSets) -> Distributions | None:
    if source.settings.humans in FROM_PAIRS:
        check_reconstruction(human, source)
    if sets.from_pairs:
        return reconstruct(human).distributions
    return None if source.settings.beta is None else assumed_sets(source, human)


def assumed_sets(source: Source, human: RatingTable) -> Distributions:
    """Return the response sets implied by forced choices and an assumed beta."""
    assert source.settings.beta is not None
    if source.settings.level == "item":
        raise ValueError("beta cannot be assumed at level item. Use level micro or macro")
    if not source.task.sensitivity:
        raise ValueError(
            "beta is how often raters accept other options along with a negative one, but "
            "task.yaml doesn't name these options. Add them, e.g. sensitivity: {NEGATIVE: "
            "[POSITIVE]}"
        )
    return distributions_at_beta(human, source.settings.beta, source.task.sensitivity)


def check_reconstruction(human: RatingTable, source: Source) -> None:
    """Reject ratings and settings from which response sets cannot be reconstructed."""
    humans = source.settings.humans
    if source.settings.beta is not None:
        raise ValueError(
            f"humans {humans} estimates the value that beta assumes. Leave out one of the two "
            "options"
        )
    if source.settings.level == "item":
        raise ValueError(f"humans cannot be {humans} at level item. Use level micro or macro")
    if humans == "modelled" and (source.settings.level != "micro" or not source.task.positive):
        raise ValueError(
            "humans modelled estimates decisions on individual items, so it needs level micro and "
            "a task with positive options. Otherwise, use humans reconstructed"
        )
    if not pairs_by_item(human).any():
        raise ValueError(
            f"humans {humans} needs pairs: raters who gave both a forced choice and a response "
            "set for an item, on about 100 items. Collect these pairs, or leave out humans"
        )


def is_ordinal(task: Task, level: AggregationLevel | None) -> bool:
    """Return whether the options are ordered.

    Verdicts on whole items are yes or no, which have no order.
    """
    return task.scale == "ordinal" and level != "item"


def ranking_metric(source: Source, rows: Sequence[Metric]) -> Metric:
    """Return the ranking metric: the user's choice, or the default for the ratings that rank."""
    ordinal = is_ordinal(source.task, source.settings.level)
    primary = primary_metric(source.ranking_elicitation, ordinal=ordinal)
    return find_metric(source.settings.metric or primary, rows)

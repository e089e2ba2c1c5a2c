"""Rating tables of a validation, and the metrics estimated from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.analysis.inputs import (
    Settings,
    Source,
    check_open_choices,
    human_sets,
    margin_in,
    metrics_of,
    ranking_elicitation,
    sampling_weights,
)
from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
from harness.analysis.rater_wins import with_rater_wins
from harness.errors import TaskError
from harness.ratings import human_table, judge_table, rater_panel, without_rater
from harness.stats import (
    Metric,
    OptionSpace,
    Resampling,
    evaluate,
    find_metric,
    metrics_for,
    primary_metric,
)
from harness.stats.data.rating_table import ELICITATION_OF, FORMS, Form, check_tau
from harness.stats.data.resolved_tables import (
    ITEM_SPACE,
    MET,
    one_verdict_per_group,
    resolve_abstentions,
)
from harness.stats.indeterminacy.reconstruction import (
    implied_in_resamples,
    reconstruct,
    reconstructed_metrics,
)
from harness.stats.indeterminacy.sensitivity import distributions_at_beta
from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.inference.interval_methods import check_level
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.selection.footing import ComparisonRules, common_footing
from harness.stats.selection.replies import (
    CommonItems,
    common_items,
    counts_of,
    replies_in_common,
    replies_of,
)
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis.inputs import HumanSets
    from harness.command_options import AggregationLevel, Choices
    from harness.stats import Distributions, Estimate, Evaluation, RatingTable
    from harness.stats.data.arrays import FloatArray
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.selection.footing import Footing
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.tasks import Item, Task
    from harness.tasks.schema import ClosedScale

REPEATED_CELLS = 8_000_000  # items times judges times resamples that repeat an estimation
REPEATED_RESAMPLES = (100, 400)  # at least and at most
FORM_OF: dict[str, Form] = {"forced_choice": "s", "response_set": "srs"}  # counts of replies


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Compared:
    """Tables that the metrics compare: as counted, with mode and level applied.

    Attributes
    ----------
    human : RatingTable
        The raters.
    judges : tuple of RatingTable
        Over the same items.
    positive : tuple of str
        The positive options of these tables.
    rows : tuple of Metric
        The metrics.
    groups : list of str or None, or None
        The cluster of each item; None where items are resampled one by one.
    criteria : list of str or None
        The criterion of each item where metrics are averages over criteria.
    weights : (n,) array or None
        How often each item counts, where items were sampled with unequal probabilities.
    """

    human: RatingTable
    judges: tuple[RatingTable, ...]
    positive: tuple[str, ...]
    rows: tuple[Metric, ...]
    groups: list[str | None] | None
    criteria: list[str] | None
    weights: FloatArray | None

    def __repr__(self) -> str:
        return f"Compared({self.human!r}, {len(self.judges)} judges, {len(self.rows)} metrics)"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Prepared:
    """Ratings and verdicts as counts, evaluated.

    Attributes
    ----------
    source : Source
        Task, verdicts and settings.
    human : RatingTable
        What the raters answered; its items are those of ``source``, in their order.
    judges : tuple of RatingTable
        What each judge answered, in the order of ``source.judges``.
    compared : Compared
        What the evaluation compares in their place.
    metric : str
        The metric that ranks.
    footing : Footing or None
        The judges compared by it; None without judges.
    common : dict of str to CommonItems
        By elicitation, the items and the replies per item at which judges are compared.
    evaluation : Evaluation
        Every metric of the ranked judges there, and the bootstrap they share.
    estimates : dict of str to dict of str to Estimate
        Every metric of every judge there, by judge and metric.
    own : Evaluation
        The metric that ranks, of each judge on its own items and at its own replies; beta and F;
        the raters' agreement.
    groups : list of str or None, or None
        The cluster of each item; None where items are resampled one by one.
    sets : HumanSets
        Where the response sets of the raters come from.
    implied : Distributions or None
        What they are supposed to be, where they are reconstructed or beta is assumed.
    panel : RaterPanel or None
        Who gave which rating; None where raters are not named, and where abstentions are recoded,
        criteria averaged, or items weighted.
    """

    source: Source
    human: RatingTable
    judges: tuple[RatingTable, ...]
    compared: Compared
    metric: str
    footing: Footing | None
    common: dict[str, CommonItems]
    evaluation: Evaluation
    estimates: Mapping[str, Mapping[str, Estimate]]
    own: Evaluation
    groups: list[str | None] | None
    sets: HumanSets
    implied: Distributions | None
    panel: RaterPanel | None

    def __repr__(self) -> str:
        return f"Prepared({self.human!r}, {len(self.judges)} judges)"

    @property
    def task(self) -> Task:
        """The task that was rated."""
        return self.source.task

    @property
    def settings(self) -> Settings:
        """The settings of the source."""
        return self.source.settings

    @property
    def tau(self) -> float:
        """The cut-off."""
        return self.source.cutoff

    @property
    def row(self) -> Metric:
        """The metric that ranks."""
        return find_metric(self.metric, self.compared.rows)

    def on_common_items(self, tables: Iterable[RatingTable]) -> tuple[RatingTable, ...]:
        """Leave in tables of judges, over the items of the source, what judges are compared by.

        One that is not compared keeps nothing.
        """
        common = self.common
        if self.source.settings.level == "item":
            place = {item: i for i, item in enumerate(self.compared.human.items)}
            rows = [place[item.group or ""] for item in self.source.items]
            common = {
                name: replace(items, shared=items.shared[rows]) for name, items in common.items()
            }
        return tuple(_on_common_items(table, common) for table in tables)

    def ranked_tables(self) -> tuple[RatingTable, ...]:
        """Return the tables of the ranked judges, on the items on which they are compared."""
        ranked = self.footing.judges if self.footing else ()
        tables = (table for table in self.compared.judges if table.name in ranked)
        return tuple(_on_common_items(table, self.common) for table in tables)

    def rng(self) -> np.random.Generator:
        """Return a new generator with the run's seed."""
        return np.random.default_rng(self.source.settings.seed)

    def resampling(self, *, groups: Sequence[str | None] | None = None) -> Resampling:
        """Return how intervals are made, of groups where there are any, from the run's seed."""
        return resampling_of(self.source, groups)

    def affordable_resampling(self) -> Resampling:
        """Return fewer resamples than asked for where each repeats a whole estimation."""
        return affordable_resampling(self.source, self.compared)


def affordable_resampling(source: Source, compared: Compared) -> Resampling:
    """Return fewer resamples than asked for where each repeats a whole estimation."""
    cells = max(len(compared.human.items) * len(compared.judges), 1)
    most = int(np.clip(REPEATED_CELLS // cells, *REPEATED_RESAMPLES))
    resampling = resampling_of(source, groups_of(source))
    return replace(resampling, n_resamples=min(source.settings.n_resamples, most))


def resampling_of(source: Source, groups: Sequence[str | None] | None) -> Resampling:
    """Return how intervals are made, from the seed of a run."""
    return Resampling(
        rng=np.random.default_rng(source.settings.seed),
        groups=groups,
        n_resamples=source.settings.n_resamples,
        level=source.settings.confidence,
    )


def prepare(
    source: Source,
    *,
    ranking_only: bool = False,
    with_intervals: bool = True,
    with_comparisons: bool = True,
) -> Prepared:
    """Count, resolve and evaluate.

    Parameters
    ----------
    source : Source
        Task, verdicts and settings.
    ranking_only : bool
        Evaluate only the metric that ranks. Enough for `harness.analysis.evidence.section`.
    with_intervals : bool, optional
        Whether the evaluation draws intervals. Those of the comparison of judges are made anyway.
    with_comparisons : bool, optional
        Whether judges are compared with one another, with baselines and with one human. Without,
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
        compared = _compared(source, human, judges, groups)
        row = _ranking_metric(source, compared.rows)
        _check_ranking(source, row)
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
        common=common,
        evaluation=evaluation,
        estimates=estimates,
        own=own,
        groups=groups,
        sets=sets,
        implied=implied,
        panel=panel,
    )


def footing_without(p: Prepared, rater: str, judge: str, *, beside_human: bool) -> Footing | None:
    """Compare a judge by itself with the baselines without a rater, and without resamples."""
    judges = tuple(facts for facts in p.source.judges if facts.name == judge)
    source = replace(p.source.with_settings(n_resamples=0), judges=judges)
    if p.metric == ADVANTAGE.name:  # reads single ratings; the others, the table of counts alone
        others = tuple(rating for rating in p.task.ratings if rating.rater != rater)
        source = replace(source, task=p.task.model_copy(update={"ratings": others}))
    human = without_rater(p.human, p.task, source.items, rater)
    tables = tuple(table for table in p.judges if table.name == judge)
    compared = _compared(source, human, tables, p.groups)
    row = find_metric(p.metric, compared.rows)
    sets = human_sets(source, compared.human, sets_rank=compares_sets(row))
    implied = _implied(source, compared.human, sets)
    return _footing(
        source, compared, row, sets=sets, implied=implied, panel=None, values_alone=not beside_human
    )


def margin_of(source: Source, compared: Compared, metric: Metric) -> Margin | None:
    """Return how much worse than one human a judge may be; see `margin_in`."""
    return margin_in(metric.loss_range(len(compared.human.space.options)), source.settings)


def footing_without_reasked(p: Prepared) -> Footing | None:
    """Compare the judges without verdicts that follow a second question, without resamples."""
    source = p.source.with_settings(n_resamples=0)
    tables = tuple(
        judge_table(p.task, source.items, j.name, source.verdicts[j.name], with_reasked=False)
        for j in source.judges
    )
    compared = _compared(source, p.human, tables, p.groups)
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
    """Compare the judges by the metric that ranks; None without judges."""
    if not compared.judges:
        return None
    supposed = compares_sets(metric)
    reconstructed = supposed and sets.origin == "reconstructed"
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
    """Return where judges are compared, by elicitation; those of the ranking are its own."""
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
    """Return the evaluation with intervals that allow for the few pairs behind F'."""
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
    """Return whether a metric depends on the response sets of the raters."""
    return ELICITATION_OF[metric.human_form] == "response_set"


def compared_tables(source: Source) -> Compared:
    """Return the tables that metrics compare, without evaluating any."""
    task, items = source.task, source.items
    tables = [judge_table(task, items, j.name, source.verdicts[j.name]) for j in source.judges]
    try:
        return _compared(source, human_table(task, items), tuple(tables), groups_of(source))
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


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
    """Evaluate some judges where they are compared; by default on their own items."""
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
    )
    if sets.origin != "reconstructed" or source.settings.level != "micro" or not judges:
        return evaluation
    masked = [_on_common_items(table, common or {}) for table in judges]
    return _with_estimated_translation(source, compared, evaluation, masked)


def _on_common_items(table: RatingTable, common: Mapping[str, CommonItems]) -> RatingTable:
    """Leave out a judge's response sets and choices on items on which it is not compared."""
    kept = {name: items.items_of(table.name)[:, None] for name, items in common.items()}
    return replace(
        table,
        forced_choice=table.forced_choice * kept.get("forced_choice", True),
        response_set=table.response_set * kept.get("response_set", True),
    )


def check_choices(task: Task, items: Sequence[Item], choices: Choices) -> None:
    """Refuse choices under which `prepare` would fail.

    Raises
    ------
    TaskError
        If one does not fit the task.
    """
    if task.is_open:
        check_open_choices(task, choices.explicit())
        return
    source = Source(
        task=task,
        items=tuple(items),
        judges=(),
        verdicts={},
        planned={},
        settings=Settings(**choices.explicit()),
    )
    compared = compared_tables(source)
    try:
        check_tau(source.cutoff)
        check_level(source.settings.confidence)
        metric = _ranking_metric(source, compared.rows)
        _check_ranking(source, metric)
        margin_of(source, compared, metric)
        if source.settings.humans == "reconstructed":
            _check_reconstruction(compared.human, source)
        if source.settings.beta is not None:
            _assumed(source, compared.human)
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def _check_ranking(source: Source, metric: Metric) -> None:
    """Refuse a metric that cannot rank, at these replies or at all."""
    if FORMS[metric.judge_form].needs_pairs and not FORMS[metric.judge_form].names_raters:
        raise ValueError(
            f"{metric.name} can't rank judges: it needs the noise of each judge's own replies, and "
            f"a ranking compares all judges at the same number of replies. Rank by "
            f"mse({metric.judge_form.removeprefix('noisy_')}/"
            f"{metric.human_form.removeprefix('noisy_')})"
        )
    if source.settings.replies == "inf" and metric.squared is None:
        raise ValueError(
            f"replies inf removes the reply noise of squared distances alone. Compare by one, such "
            f"as mse(s/s), in place of {metric.name}, or at a number of replies"
        )


def compares_response_sets(task: Task, choices: Choices) -> bool:
    """Return whether the metric that ranks compares the response sets of judges.

    Raises
    ------
    ValueError
        If the task has no such metric; see `check_choices`.
    """
    if choices.metric is None:
        return ranking_elicitation(task, choices.ranks_by, choices.humans) == "response_set"
    row = find_metric(choices.metric, _rows_of_choices(task, choices))
    return ELICITATION_OF[row.judge_form] == "response_set"


def check_metric(task: Task, choices: Choices, name: str) -> None:
    """Refuse a metric that a validation of the task does not have.

    Raises
    ------
    TaskError
        If there is none of that name; the message lists similar names.
    """
    try:
        find_metric(name, metrics_of(task) if task.is_open else _rows_of_choices(task, choices))
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def _rows_of_choices(task: Task, choices: Choices) -> tuple[Metric, ...]:
    space, positive = task.space, task.positive
    if choices.level == "item":
        space, positive = ITEM_SPACE, (MET,)
    return _rows(task, space, positive, choices.metric)


def _compared(
    source: Source,
    human: RatingTable,
    judges: tuple[RatingTable, ...],
    groups: list[str | None] | None,
) -> Compared:
    task, positive = source.task, source.task.positive
    weights = sampling_weights(source.items)
    tables, criteria = [with_rater_wins(source, human), *judges], None
    if source.settings.mode != "exclude":
        option = _recoded_to(task) if source.settings.mode == "recode" else CANNOT_ASSESS
        tables = [
            resolve_abstentions(table, source.settings.mode, option=option) for table in tables
        ]
    if source.settings.level != "micro":
        criteria = _criteria(source.items, source.settings.level)
    if source.settings.level == "item":
        tables = item_tables(task, source.items, tables)
        positive, groups, criteria, weights = (MET,), None, None, None
    return Compared(
        human=tables[0],
        judges=tuple(tables[1:]),
        positive=positive,
        rows=_rows(task, tables[0].space, positive, source.settings.metric),
        groups=groups,
        criteria=criteria,
        weights=weights,
    )


def _rows(
    task: Task, space: OptionSpace, positive: Sequence[str], metric: str | None
) -> tuple[Metric, ...]:
    """Return the metrics of a task, and the one that ranks where it is none that all have."""
    scale = cast("ClosedScale", task.scale)
    rows = metrics_for(space, scale=scale, positive=positive)
    if metric == ADVANTAGE.name:
        return (*rows, ADVANTAGE)
    if metric is None or any(row.name == metric for row in rows):
        return rows
    return (*rows, plugin_metric(metric)) if metric in plugin_metric_names() else rows


def groups_of(source: Source) -> list[str | None] | None:
    """Return the group of each item; None where there is none."""
    groups = [item.group for item in source.items]
    return groups if any(group is not None for group in groups) else None


def _criteria(items: Sequence[Item], level: AggregationLevel) -> list[str]:
    criteria = [item.criterion or "" for item in items]
    if "" in criteria:
        raise ValueError(
            f"level {level} averages over criteria, and some items have none. Give each "
            "item its criterion, or use level micro"
        )
    return criteria


def _whole(task: Task, items: Sequence[Item]) -> list[str]:
    """Return the group that each decision is about."""
    if not task.positive:
        raise ValueError("level item needs positive options. Name them in task.yaml")
    groups = [item.group or "" for item in items]
    if "" in groups:
        raise ValueError(
            "level item puts the criteria of one group together, and some items have no group"
        )
    return groups


def item_tables(
    task: Task, items: Sequence[Item], tables: Iterable[RatingTable]
) -> list[RatingTable]:
    """Reduce the criteria of each group of items to one verdict, by the rubric if there is one.

    Raises
    ------
    ValueError
        If the task has no positive options, or an item has no group.
    """
    whole, rubric = _whole(task, items), task.rubric
    weights = None
    if rubric is not None:
        n_of_group = Counter(whole)
        weights = np.array(
            [
                rubric.criteria[item.criterion or ""].weight
                if n_of_group[group] == len(rubric.criteria)
                else np.nan
                for item, group in zip(items, whole, strict=True)
            ]
        )
    return [
        one_verdict_per_group(
            table,
            whole,
            positive=task.positive,
            threshold=rubric.threshold if rubric else 1.0,
            weights=weights,
        )
        for table in tables
    ]


def _recoded_to(task: Task) -> str:
    negative = [option.key for option in task.options if option.key not in task.positive]
    if len(negative) != 1:
        raise ValueError(
            f"mode recode takes CANNOT_ASSESS for the one negative option, but there are "
            f"{len(negative)}. Use mode exclude or third_class"
        )
    return negative[0]


def _implied(source: Source, human: RatingTable, sets: HumanSets) -> Distributions | None:
    if source.settings.humans == "reconstructed":
        _check_reconstruction(human, source)
    if sets.origin == "reconstructed":
        return reconstruct(human).distributions
    return None if source.settings.beta is None else _assumed(source, human)


def _assumed(source: Source, human: RatingTable) -> Distributions:
    """Return the response sets that forced choices and the assumed beta imply."""
    assert source.settings.beta is not None
    if source.settings.level == "item":
        raise ValueError("beta cannot be assumed at level item. Use level micro or macro")
    if not source.task.sensitivity:
        raise ValueError(
            "beta says how often options are endorsed along with a negative one, and task.yaml "
            "names none. Add e.g. sensitivity: {NEGATIVE: [POSITIVE]}"
        )
    return distributions_at_beta(human, source.settings.beta, source.task.sensitivity)


def _check_reconstruction(human: RatingTable, source: Source) -> None:
    if source.settings.beta is not None:
        raise ValueError("humans reconstructed estimates what beta assumes. Leave one of them out")
    if source.settings.level == "item":
        raise ValueError("humans cannot be reconstructed at level item. Use level micro or macro")
    if not pairs_by_item(human).any():
        raise ValueError(
            "humans reconstructed needs pairs: raters who gave both a forced choice and a response "
            "set of an item, about 100 items. Collect them, or leave it out"
        )


def is_ordinal(task: Task, level: AggregationLevel | None) -> bool:
    """Return whether options are ordered; a verdict on a whole item is a yes or a no."""
    return task.scale == "ordinal" and level != "item"


def _ranking_metric(source: Source, rows: Sequence[Metric]) -> Metric:
    """Return the metric that ranks: the user's, or that of the ratings that rank."""
    ordinal = is_ordinal(source.task, source.settings.level)
    primary = primary_metric(source.ranking_elicitation, ordinal=ordinal)
    return find_metric(source.settings.metric or primary, rows)

"""Rating tables of a validation, and the metrics estimated from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.analysis.inputs import (
    Source,
    check_open_choices,
    human_sets,
    metrics_of,
    sampling_weights,
)
from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
from harness.errors import TaskError
from harness.ratings import human_table, judge_table, rater_panel
from harness.stats import (
    Metric,
    OptionSpace,
    Resampling,
    evaluate,
    find_metric,
    metrics_for,
    primary_metric,
)
from harness.stats.data.rating_table import ELICITATION_OF, check_tau
from harness.stats.data.resolved_tables import (
    ITEM_SPACE,
    MET,
    one_verdict_per_group,
    resolve_abstentions,
)
from harness.stats.indeterminacy.reconstruction import reconstruct, reconstructed_metrics
from harness.stats.indeterminacy.sensitivity import distributions_at_beta
from harness.stats.indeterminacy.translation import pairs_by_item
from harness.stats.inference.interval_methods import check_level
from harness.stats.selection.evaluation import (
    RANKS_ON_ORDERED_SCALES,
    RANKS_WITH_SETS,
    RANKS_WITHOUT_SETS,
)
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis.inputs import AggregationLevel, Choices, HumanSets
    from harness.stats import Distributions, Evaluation, RatingTable
    from harness.stats.data.arrays import FloatArray
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.tasks import Item, Task
    from harness.tasks.schema import ClosedScale

REPEATED_CELLS = 8_000_000  # items times judges times resamples that repeat an estimation
REPEATED_RESAMPLES = (100, 400)  # at least and at most


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
    evaluation : Evaluation
        Every metric of every judge, and the bootstrap they share.
    metric : str
        The metric that ranks.
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
    evaluation: Evaluation
    metric: str
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
    def tau(self) -> float:
        """The cut-off."""
        return self.evaluation.tau

    def on_shared_items(self, candidates: Sequence[str]) -> tuple[RatingTable, ...]:
        """Return the tables of some judges on the items that all of them answered."""
        tables = on_shared_items(self.compared.judges, candidates)
        return tuple(table for table in tables if table.name in candidates)

    def evaluated(
        self, judges: Sequence[RatingTable], n_replies: Mapping[str, float]
    ) -> Evaluation:
        """Evaluate some judges at so many replies per item of each elicitation."""
        every = self.compared.judges
        same = len(judges) == len(every) and all(map(is_, judges, every))
        fewer = any(_has_more(table, n_replies) for table in judges)
        if same and not fewer:
            return self.evaluation
        evaluation = _evaluated(
            self.source, self.compared, judges, self.implied, panel=self.panel, n_replies=n_replies
        )
        return evaluation if fewer else _with_estimated_translation(self, evaluation, judges)

    def rng(self) -> np.random.Generator:
        """Return a new generator with the run's seed."""
        return np.random.default_rng(self.source.seed)

    def resampling(self, *, groups: Sequence[str | None] | None = None) -> Resampling:
        """Return how intervals are made, of groups where there are any, from the run's seed."""
        return resampling_of(self.source, groups)

    def affordable_resampling(self) -> Resampling:
        """Return fewer resamples than asked for where each repeats a whole estimation."""
        cells = max(len(self.compared.human.items) * len(self.compared.judges), 1)
        most = int(np.clip(REPEATED_CELLS // cells, *REPEATED_RESAMPLES))
        resampling = self.resampling(groups=self.groups)
        return replace(resampling, n_resamples=min(self.source.n_resamples, most))


def resampling_of(source: Source, groups: Sequence[str | None] | None) -> Resampling:
    """Return how intervals are made, from the seed of a run."""
    return Resampling(
        rng=np.random.default_rng(source.seed),
        groups=groups,
        n_resamples=source.n_resamples,
        level=source.confidence,
        method=source.interval,
    )


def prepare(source: Source, *, ranking_only: bool = False) -> Prepared:
    """Count, resolve and evaluate.

    Parameters
    ----------
    source : Source
        Task, verdicts and settings.
    ranking_only : bool
        Evaluate only the metrics that may rank, with intervals for these raters. Enough for
        `harness.analysis.evidence.section`, which makes its own intervals.

    Raises
    ------
    VerdictError
        If a verdict is no option or response set of the task.
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
        sets = human_sets(source, compared.human)
        implied = _implied(source, compared.human, sets)
        panel = _panel(source, compared)
        if ranking_only:
            compared = replace(compared, rows=_rows_that_rank(source, compared))
        evaluation = _evaluated(
            source, compared, compared.judges, implied, panel=None if ranking_only else panel
        )
        metric = source.metric or _ranking_metric(source, compared.human, evaluation)
        _check_ranking(source, evaluation.row(metric))
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None
    p = Prepared(
        source=source,
        human=human,
        judges=judges,
        compared=compared,
        evaluation=evaluation,
        metric=metric,
        groups=groups,
        sets=sets,
        implied=implied,
        panel=panel,
    )
    if ranking_only:
        return p
    return replace(p, evaluation=_with_estimated_translation(p, evaluation, compared.judges))


def _rows_that_rank(source: Source, compared: Compared) -> tuple[Metric, ...]:
    names = {RANKS_ON_ORDERED_SCALES, RANKS_WITHOUT_SETS, RANKS_WITH_SETS}
    if source.metric is not None:
        names = {find_metric(source.metric, compared.rows).name}
    return tuple(row for row in compared.rows if row.name in names)


def _panel(source: Source, compared: Compared) -> RaterPanel | None:
    as_rated = source.mode == "exclude" and source.level == "micro" and compared.weights is None
    return rater_panel(source.task, source.items) if as_rated else None


def _with_estimated_translation(
    p: Prepared, evaluation: Evaluation, judges: Sequence[RatingTable]
) -> Evaluation:
    """Return the evaluation with intervals that allow for the few pairs behind F'."""
    if p.sets.origin != "reconstructed" or p.source.level != "micro":
        return evaluation
    anew = reconstructed_metrics(
        p.compared.human,
        judges,
        tau=p.tau,
        positive=p.compared.positive,
        resampling=p.affordable_resampling(),
        metrics=[row for row in evaluation.metrics if compares_sets(row)],
        weights=p.compared.weights,
    )
    estimates = {name: {**old, **anew[name]} for name, old in evaluation.estimates.items()}
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


def on_shared_items(
    judges: Sequence[RatingTable], candidates: Sequence[str]
) -> tuple[RatingTable, ...]:
    """Leave out what candidates answered on items that not all of them answered.

    An item is answered if it is in every elicitation in which the judge was asked. Tables of other
    judges stay as they are.
    """
    answered = [
        counts.any(axis=1)
        for table in judges
        if table.name in candidates
        for counts in (table.forced_choice, table.response_set)
        if counts.any()
    ]
    if not answered:
        return tuple(judges)
    shared = np.all(answered, axis=0)
    if all(shared[rows].all() for rows in answered):
        return tuple(judges)
    return tuple(table.masked(shared) if table.name in candidates else table for table in judges)


def _has_more(table: RatingTable, n_replies: Mapping[str, float]) -> bool:
    counts = (table.forced_choice, table.response_set)
    most = zip(counts, (n_replies["forced_choice"], n_replies["response_set"]), strict=True)
    return any(bool((of_items.sum(axis=1) > n).any()) for of_items, n in most)


def _evaluated(
    source: Source,
    compared: Compared,
    judges: Sequence[RatingTable],
    implied: Distributions | None,
    *,
    panel: RaterPanel | None,
    n_replies: Mapping[str, float] | None = None,
) -> Evaluation:
    return evaluate(
        compared.human,
        judges,
        tau=source.cutoff,
        positive=compared.positive,
        resampling=resampling_of(source, compared.groups),
        metrics=compared.rows,
        implied=implied,
        criteria=compared.criteria,
        weights=compared.weights,
        n_replies=n_replies,
        panel=panel,
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
        task=task, items=tuple(items), judges=(), verdicts={}, planned={}, **choices.explicit()
    )
    compared = compared_tables(source)
    try:
        check_tau(source.cutoff)
        check_level(source.confidence)
        primary = primary_metric(compared.human, ordinal=is_ordinal(task, source.level))
        _check_ranking(source, find_metric(source.metric or primary, compared.rows))
        if source.humans == "reconstructed":
            _check_reconstruction(compared.human, source)
        if source.beta is not None:
            _assumed(source, compared.human)
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def _check_ranking(source: Source, metric: Metric) -> None:
    """Refuse a metric that cannot rank at these replies."""
    if source.replies == "inf" and metric.squared is None:
        raise ValueError(
            f"replies inf removes the reply noise of squared distances alone; compare by one, such "
            f"as mse(s/s), in place of {metric.name}, or at a number of replies"
        )


def compares_response_sets(task: Task, choices: Choices) -> bool:
    """Return whether the metric that was chosen compares the response sets of judges.

    Raises
    ------
    ValueError
        If the task has no such metric; see `check_choices`.
    """
    if choices.metric is None:
        return False
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
    tables, criteria = [human, *judges], None
    if source.mode != "exclude":
        option = _recoded_to(task) if source.mode == "recode" else CANNOT_ASSESS
        tables = [resolve_abstentions(table, source.mode, option=option) for table in tables]
    if source.level != "micro":
        criteria = _criteria(source.items, source.level)
    if source.level == "item":
        tables = item_tables(task, source.items, tables)
        positive, groups, criteria, weights = (MET,), None, None, None
    return Compared(
        human=tables[0],
        judges=tuple(tables[1:]),
        positive=positive,
        rows=_rows(task, tables[0].space, positive, source.metric),
        groups=groups,
        criteria=criteria,
        weights=weights,
    )


def _rows(
    task: Task, space: OptionSpace, positive: Sequence[str], metric: str | None
) -> tuple[Metric, ...]:
    """Return the metrics of a task, and the ranking metric if it comes from a plug-in."""
    scale = cast("ClosedScale", task.scale)
    rows = metrics_for(space, scale=scale, positive=positive)
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
            f"level {level} averages over criteria, and some items have none; give each "
            "item its criterion, or use level micro"
        )
    return criteria


def _whole(task: Task, items: Sequence[Item]) -> list[str]:
    """Return the group that each decision is about."""
    if not task.positive:
        raise ValueError("level item needs positive options; name them in task.yaml")
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
            f"{len(negative)}; use mode exclude or third_class"
        )
    return negative[0]


def _implied(source: Source, human: RatingTable, sets: HumanSets) -> Distributions | None:
    if source.humans == "reconstructed":
        _check_reconstruction(human, source)
    if sets.origin == "reconstructed":
        return reconstruct(human).distributions
    return None if source.beta is None else _assumed(source, human)


def _assumed(source: Source, human: RatingTable) -> Distributions:
    """Return the response sets that forced choices and the assumed beta imply."""
    assert source.beta is not None
    if source.level == "item":
        raise ValueError("beta cannot be assumed at level item; use level micro or macro")
    if not source.task.sensitivity:
        raise ValueError(
            "beta says how often options are endorsed along with a negative one, and task.yaml "
            "names none; add e.g. sensitivity: {NEGATIVE: [POSITIVE]}"
        )
    return distributions_at_beta(human, source.beta, source.task.sensitivity)


def _check_reconstruction(human: RatingTable, source: Source) -> None:
    if source.beta is not None:
        raise ValueError("humans reconstructed estimates what beta assumes; leave one of them out")
    if source.level == "item":
        raise ValueError("humans cannot be reconstructed at level item; use level micro or macro")
    if not pairs_by_item(human).any():
        raise ValueError(
            "humans reconstructed needs pairs: raters who gave both a forced choice and a response "
            "set of an item, about 100 items; collect them, or leave it out"
        )


def is_ordinal(task: Task, level: AggregationLevel | None) -> bool:
    """Return whether options are ordered; a verdict on a whole item is a yes or a no."""
    return task.scale == "ordinal" and level != "item"


def _ranking_metric(source: Source, human: RatingTable, evaluation: Evaluation) -> str:
    """Return the metric that ranks by default: for what the raters gave, if any judge gave it."""
    ordinal = is_ordinal(source.task, source.level)
    primary = primary_metric(human, ordinal=ordinal)
    defined = any(e[primary].n_used for e in evaluation.estimates.values())
    if defined or not evaluation.judges:
        return primary
    return RANKS_ON_ORDERED_SCALES if ordinal else RANKS_WITHOUT_SETS

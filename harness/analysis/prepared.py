"""Tables, items and resamples that all estimates of a source share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.analysis.annotator_panel import with_rater_wins
from harness.analysis.inputs import Settings, Source, ranking_elicitation, sampling_weights
from harness.analysis.judge_result import cost_of
from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
from harness.analysis.ratings import human_table, judge_table
from harness.errors import TaskError
from harness.stats import Metric, OptionSpace, Resampling, find_metric, metrics_for
from harness.stats.data.forms import ELICITATION_OF
from harness.stats.data.resolved_tables import (
    ITEM_SPACE,
    MET,
    one_verdict_per_group,
    resolve_abstentions,
)
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.selection.replies import CommonItems
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.analysis.inputs import HumanSets
    from harness.options.concerns import AggregationLevel, Choices
    from harness.stats import Distributions, Estimate, Evaluation, RatingTable
    from harness.stats.data.arrays import FloatArray
    from harness.stats.indeterminacy.modelled import ModelledDecisions
    from harness.stats.selection.footing import Footing
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.tasks import Item, Task
    from harness.tasks.item import ClosedScale


EQUAL_DIGITS = 12  # losses that agree to this many decimals are equal
REPEATED_CELLS = 8_000_000  # items times judges times resamples that repeat an estimation


REPEATED_RESAMPLES = (100, 400)  # minimum and maximum


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Compared:
    """Tables for the metrics, after the abstention mode and the level are applied.

    Attributes
    ----------
    human : RatingTable
        The raters' table.
    judges : tuple of RatingTable
        The judges' tables, over the same items.
    positive : tuple of str
        The positive options of these tables.
    rows : tuple of Metric
        The metrics.
    groups : list of str or None, or None
        The cluster of each item; None if items are resampled one by one.
    criteria : list of str or None
        The criterion of each item, if metrics are averages over criteria.
    weights : (n,) array or None
        Weight of each item, if items were sampled with unequal probabilities.
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
    """Tables of ratings and verdicts, with the evaluated metrics.

    Attributes
    ----------
    source : Source
        Task, verdicts and settings.
    human : RatingTable
        The raters' answers; its items are those of ``source``, in the same order.
    judges : tuple of RatingTable
        Each judge's answers, in the order of ``source.judges``.
    compared : Compared
        The tables that the evaluation compares instead of these.
    metric : str
        The metric that ranks.
    footing : Footing or None
        The judges compared by this metric; None without judges.
    order : tuple of str
        The ranked judges, best first; empty if they are not compared with one another.
    common : dict of str to CommonItems
        The items, and the replies per item, at which judges are compared, by elicitation.
    evaluation : Evaluation
        Every metric for the ranked judges on those items, and their shared bootstrap.
    estimates : dict of str to dict of str to Estimate
        Every metric for every judge on those items, by judge and metric. If judges are compared
        with one another, the value that ranks is the one in ``footing``.
    own : Evaluation
        The metric that ranks, for each judge on its own items and replies. Also beta and F.
    groups : list of str or None, or None
        The cluster of each item; None if items are resampled one by one.
    sets : HumanSets
        Source of the raters' response sets.
    implied : Distributions or None
        The sets' estimated distributions, if sets are reconstructed or beta is assumed.
    panel : RaterPanel or None
        Each rating's rater. None if raters are not named, abstentions are recoded, criteria are
        averaged, or items are weighted.
    modelled : ModelledDecisions or None
        Decisions at the cut-off by a model of the raters' sets, if requested.
    """

    source: Source
    human: RatingTable
    judges: tuple[RatingTable, ...]
    compared: Compared
    metric: str
    footing: Footing | None
    order: tuple[str, ...]
    common: dict[str, CommonItems]
    evaluation: Evaluation
    estimates: Mapping[str, Mapping[str, Estimate]]
    own: Evaluation
    groups: list[str | None] | None
    sets: HumanSets
    implied: Distributions | None
    panel: RaterPanel | None
    modelled: ModelledDecisions | None = None

    def __repr__(self) -> str:
        return f"Prepared({self.human!r}, {len(self.judges)} judges)"

    @property
    def task(self) -> Task:
        """The rated task."""
        return self.source.task

    @property
    def settings(self) -> Settings:
        """The source's settings."""
        return self.source.settings

    @property
    def tau(self) -> float:
        """The cut-off tau."""
        return self.source.cutoff

    @property
    def row(self) -> Metric:
        """The ranking metric."""
        return find_metric(self.metric, self.compared.rows)

    def on_common_items(self, tables: Iterable[RatingTable]) -> tuple[RatingTable, ...]:
        """Limit judges' tables to the items and replies on which judges are compared.

        The tables are over the source's items. A judge that is not compared keeps nothing.
        """
        common = self.common
        if self.source.settings.level == "item":
            place = {item: i for i, item in enumerate(self.compared.human.items)}
            rows = [place[item.group or ""] for item in self.source.items]
            common = {
                name: replace(items, shared=items.shared[rows]) for name, items in common.items()
            }
        return tuple(on_common_items(table, common) for table in tables)

    def ranked_tables(self) -> tuple[RatingTable, ...]:
        """Return the ranked judges' tables, limited to the items on which judges are compared."""
        ranked = self.footing.judges if self.footing else ()
        tables = (table for table in self.compared.judges if table.name in ranked)
        return tuple(on_common_items(table, self.common) for table in tables)

    def rng(self) -> np.random.Generator:
        """Return a new random generator with the run's seed."""
        return np.random.default_rng(self.source.settings.seed)

    def resampling(self, *, groups: Sequence[str | None] | None = None) -> Resampling:
        """Return resampling settings with the run's seed and, if there are any, groups of items."""
        return resampling_of(self.source, groups)

    def affordable_resampling(self) -> Resampling:
        """Return settings with fewer resamples, for estimates repeated in each resample."""
        return affordable_resampling(self.source, self.compared)


def order_of(source: Source, footing: Footing) -> tuple[str, ...]:
    """Order the ranked judges by metric, then by share of items answered, then by price."""
    losses = dict(zip(footing.judges, footing.metric.losses(footing.values).tolist(), strict=True))
    fractions = footing.items.answered_fraction.tolist()
    answered = dict(zip((judge.name for judge in source.judges), fractions, strict=True))
    verdicts, replies = source.verdicts, source.replies_voted_on

    def price(name: str) -> float:
        usd = cost_of(verdicts[name], replies.get(name)).usd_per_answered
        return inf if usd is None else usd

    keys = {
        name: (
            not isfinite(loss),
            round(loss, EQUAL_DIGITS) if isfinite(loss) else 0.0,
            -answered[name],
        )
        for name, loss in losses.items()
    }
    times = Counter(keys.values())
    prices = {name: price(name) if times[key] > 1 else 0.0 for name, key in keys.items()}
    return tuple(sorted(footing.judges, key=lambda name: (keys[name], prices[name])))


def affordable_resampling(source: Source, compared: Compared) -> Resampling:
    """Return settings with fewer resamples, for estimates that are repeated in each resample."""
    cells = max(len(compared.human.items) * len(compared.judges), 1)
    most = int(np.clip(REPEATED_CELLS // cells, *REPEATED_RESAMPLES))
    resampling = resampling_of(source, groups_of(source))
    return replace(resampling, n_resamples=min(source.settings.n_resamples, most))


def resampling_of(source: Source, groups: Sequence[str | None] | None) -> Resampling:
    """Return the resampling settings for a run's intervals, including the run's seed."""
    return Resampling(
        rng=np.random.default_rng(source.settings.seed),
        groups=groups,
        n_resamples=source.settings.n_resamples,
        level=source.settings.confidence,
    )


def on_common_items(table: RatingTable, common: Mapping[str, CommonItems]) -> RatingTable:
    """Drop a judge's choices and response sets on items on which the judge is not compared."""
    kept = {name: items.items_of(table.name)[:, None] for name, items in common.items()}
    if all(rows.all() for rows in kept.values()):
        return table
    return replace(
        table,
        forced_choice=table.forced_choice * kept.get("forced_choice", True),
        response_set=table.response_set * kept.get("response_set", True),
    )


def groups_of(source: Source) -> list[str | None] | None:
    """Return each item's group, or None if no item has a group."""
    groups = [item.group for item in source.items]
    return groups if any(group is not None for group in groups) else None


def compared_tables(source: Source) -> Compared:
    """Return the tables for the metrics, without evaluating any metric."""
    task, items = source.task, source.items
    tables = [judge_table(task, items, j.name, source.verdicts[j.name]) for j in source.judges]
    try:
        return resolved_and_weighted(
            source, human_table(task, items), tuple(tables), groups_of(source)
        )
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def resolved_and_weighted(
    source: Source,
    human: RatingTable,
    judges: tuple[RatingTable, ...],
    groups: list[str | None] | None,
) -> Compared:
    """Apply the abstention mode, weight sampled items, and find the task's metrics."""
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
        rows=metrics_that_rank(task, tables[0].space, positive, source.settings.metric),
        groups=groups,
        criteria=criteria,
        weights=weights,
    )


def metrics_that_rank(
    task: Task, space: OptionSpace, positive: Sequence[str], metric: str | None
) -> tuple[Metric, ...]:
    """Return a task's metrics, with the ranking metric added if it is not among them."""
    scale = cast("ClosedScale", task.scale)
    rows = metrics_for(space, scale=scale, positive=positive)
    if metric == ADVANTAGE.name:
        return (*rows, ADVANTAGE)
    if metric is None or any(row.name == metric for row in rows):
        return rows
    return (*rows, plugin_metric(metric)) if metric in plugin_metric_names() else rows


def metrics_of_choices(task: Task, choices: Choices) -> tuple[Metric, ...]:
    """Return a task's metrics under the user's choices, with the ranking metric added."""
    space, positive = task.space, task.positive
    if choices.level == "item":
        space, positive = ITEM_SPACE, (MET,)
    return metrics_that_rank(task, space, positive, choices.metric)


def compares_response_sets(task: Task, choices: Choices) -> bool:
    """Return whether the ranking metric compares judges' response sets.

    Raises
    ------
    ValueError
        If the task has no such metric; see `check_choices`.
    """
    if choices.metric is None:
        return ranking_elicitation(task, choices.ranks_by, choices.humans) == "response_set"
    row = find_metric(choices.metric, metrics_of_choices(task, choices))
    return ELICITATION_OF[row.judge_form] == "response_set"


def _criteria(items: Sequence[Item], level: AggregationLevel) -> list[str]:
    criteria = [item.criterion or "" for item in items]
    if "" in criteria:
        raise ValueError(
            f"level {level} averages over criteria, but some items have no criterion. Give each "
            "item its criterion, or use level micro"
        )
    return criteria


def _whole(task: Task, items: Sequence[Item]) -> list[str]:
    """Return each item's group. Raise an error if an item has no group."""
    if not task.positive:
        raise ValueError("level item needs positive options. List them in task.yaml")
    groups = [item.group or "" for item in items]
    if "" in groups:
        raise ValueError(
            "level item combines the criteria of a group, but some items have no group"
        )
    return groups


def item_tables(
    task: Task, items: Sequence[Item], tables: Iterable[RatingTable]
) -> list[RatingTable]:
    """Combine each group's criteria into one verdict, by the rubric if there is one.

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
            "mode recode counts CANNOT_ASSESS as the only negative option, but the task has "
            f"{len(negative)} negative options. Use mode exclude or third_class"
        )
    return negative[0]

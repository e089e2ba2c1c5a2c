"""Tables of raters and judges that are compared: resolved, weighted and by criterion."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

import numpy as np

from harness.analysis.annotator_panel import with_rater_wins
from harness.analysis.inputs import Source, sampling_weights
from harness.analysis.plugin_metrics import plugin_metric, plugin_metric_names
from harness.analysis.prepared import Compared, groups_of
from harness.analysis.ratings import human_table, judge_table
from harness.errors import TaskError
from harness.stats import Metric, OptionSpace, metrics_for
from harness.stats.data.resolved_tables import MET, one_verdict_per_group, resolve_abstentions
from harness.stats.metrics.advantage import ADVANTAGE
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.options.concerns import AggregationLevel
    from harness.stats import RatingTable
    from harness.tasks import Item, Task
    from harness.tasks.item import ClosedScale


def compared_tables(source: Source) -> Compared:
    """Return the tables that metrics compare, without evaluating any."""
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
    """Resolve abstentions, weigh sampled items, and find the metrics of the task."""
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
    """Return the metrics of a task, and the one that ranks where it is none that all have."""
    scale = cast("ClosedScale", task.scale)
    rows = metrics_for(space, scale=scale, positive=positive)
    if metric == ADVANTAGE.name:
        return (*rows, ADVANTAGE)
    if metric is None or any(row.name == metric for row in rows):
        return rows
    return (*rows, plugin_metric(metric)) if metric in plugin_metric_names() else rows


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

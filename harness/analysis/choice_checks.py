"""Checks of the user's choices: metric, cut-off, beta and level must fit the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.analysis.estimates import (
    FROM_PAIRS,
    assumed_sets,
    check_ranking,
    check_reconstruction,
    margin_of,
    ranking_metric,
)
from harness.analysis.inputs import (
    Settings,
    Source,
    check_open_choices,
    metrics_of,
    ranking_elicitation,
)
from harness.analysis.prepared import compared_tables, metrics_that_rank
from harness.errors import TaskError
from harness.stats import Metric, find_metric
from harness.stats.data.forms import ELICITATION_OF, check_tau
from harness.stats.data.resolved_tables import ITEM_SPACE, MET
from harness.stats.inference.interval_methods import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.options.concerns import Choices
    from harness.tasks import Item, Task


def check_choices(task: Task, items: Sequence[Item], choices: Choices) -> None:
    """Reject choices under which `prepare` would fail.

    Raises
    ------
    TaskError
        If a choice does not fit the task.
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
        metric = ranking_metric(source, compared.rows)
        check_ranking(source, metric)
        margin_of(source, compared, metric)
        if source.settings.humans in FROM_PAIRS:
            check_reconstruction(compared.human, source)
        if source.settings.beta is not None:
            assumed_sets(source, compared.human)
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def compares_response_sets(task: Task, choices: Choices) -> bool:
    """Return whether the ranking metric compares judges' response sets.

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
    """Reject a metric that a validation of the task does not have.

    Raises
    ------
    TaskError
        If there is no metric of that name; the message lists similar names.
    """
    try:
        find_metric(name, metrics_of(task) if task.is_open else _rows_of_choices(task, choices))
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None


def _rows_of_choices(task: Task, choices: Choices) -> tuple[Metric, ...]:
    space, positive = task.space, task.positive
    if choices.level == "item":
        space, positive = ITEM_SPACE, (MET,)
    return metrics_that_rank(task, space, positive, choices.metric)

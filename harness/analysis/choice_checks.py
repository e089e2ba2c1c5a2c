"""Checks that the user's choices of metric, cut-off, beta and level fit the task."""

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
)
from harness.analysis.prepared import compared_tables, metrics_of_choices
from harness.errors import TaskError
from harness.stats import find_metric
from harness.stats.data.forms import check_tau
from harness.stats.inference.interval_methods import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.options.concerns import Choices
    from harness.tasks import Item, Task


def check_choices(task: Task, items: Sequence[Item], choices: Choices) -> None:
    """Reject choices for which `prepare` would fail.

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


def check_metric(task: Task, choices: Choices, name: str) -> None:
    """Reject a metric that is not computed for the task.

    Raises
    ------
    TaskError
        If there is no metric of that name; the message lists similar names.
    """
    try:
        find_metric(name, metrics_of(task) if task.is_open else metrics_of_choices(task, choices))
    except ValueError as error:
        raise TaskError(f"task {task.name}: {error}") from None

"""Checks of a user's choices for tasks without options."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.stats.open_scales.numeric_metrics import numeric_metrics
from harness.stats.open_scales.text_answers import SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats import Metric
    from harness.tasks import Task

METHODS = ("score", "percentile")
OF_OPTIONS = ("tau", "beta", "family", "mode", "level", "humans", "abstention")


def check_open_choices(task: Task, choices: Mapping[str, object]) -> None:
    """Refuse choices that mean something among options alone, and metrics of other scales.

    Parameters
    ----------
    task : Task
        On an open scale.
    choices : mapping of str to value
        Fields of `Choices` that a user has set.

    Raises
    ------
    TaskError
        Naming the choice and what to do.
    """
    where, scale = f"task {task.name}", f"a {task.scale} scale"
    for name in OF_OPTIONS:
        if name in choices:
            raise TaskError(f"{where}: --{name} has no meaning on {scale}; leave it out.")
    if choices.get("replies", 1) != 1:
        raise TaskError(f"{where}: judges are compared at one reply on {scale}; drop --replies.")
    if choices.get("interval", "score") not in METHODS:
        raise TaskError(f"{where}: --interval: use score or percentile on {scale}.")
    metric, names = choices.get("metric"), [row.name for row in metrics_of(task)]
    if metric is not None and metric not in names:
        raise TaskError(f"{where}: {metric!r} is no metric of {scale}; use {', '.join(names)}.")


def metrics_of(task: Task) -> tuple[Metric, ...]:
    """Return the metrics of a task on an open scale."""
    if task.scale == "text":
        return (SIMILARITY,)
    width = inf if task.bounds is None else task.bounds[1] - task.bounds[0]
    return numeric_metrics(width)

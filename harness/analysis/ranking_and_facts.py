"""Parts of a validation that do not depend on the scale: ranking, task, metrics and notes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.result import MetricFacts, TaskFacts
from harness.stats.selection.ranking import Ranked, Ranking, loss, ranks_of
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from harness.analysis.evidence import Evidence
    from harness.analysis.inputs import Source
    from harness.analysis.result import HumanResult
    from harness.stats import Metric

POPULATION_ROWS = {
    "mse(s/s)": "mse_without_rater_noise(s/s)",
    "mse(srs/srs)": "mse_without_rater_noise(srs/srs)",
}


def ranking_of(evidence: Evidence, metric: Metric) -> Ranking:
    """Return the places of the judges on common footing."""
    values = [np.nan if row.value is None else row.value for row in evidence.judges]
    ranks = ranks_of(loss(np.array(values, dtype=np.float64), metric.better))
    return Ranking(
        metric=metric.name,
        better=metric.better,
        unit=metric.unit,
        rows=tuple(
            Ranked(row.judge, rank, row.difference)
            for row, rank in zip(evidence.judges, ranks, strict=True)
        ),
    )


def task_facts(source: Source, response_sets: tuple[tuple[str, ...], ...] = ()) -> TaskFacts:
    """Return what the numbers need of a task; an open scale has no options and no sets."""
    task = source.task
    return TaskFacts(
        name=task.name,
        scale=task.scale,
        property=task.property,
        notice=task.notice,
        content_hash=task.content_hash,
        options={option.key: option.label for option in task.options},
        response_sets=response_sets,
        positive=task.positive,
        n_items=len(source.items),
        n_items_in_task=len(task.items),
    )


def metric_facts(row: Metric) -> MetricFacts:
    """Return how to read a metric."""
    return MetricFacts(
        name=row.name,
        display_name=row.display_name,
        family=row.family,
        human_form=row.human_form,
        judge_form=row.judge_form,
        better=row.better,
        low=row.bounds[0] if math.isfinite(row.bounds[0]) else None,
        high=row.bounds[1] if math.isfinite(row.bounds[1]) else None,
        unit=row.unit,
        symmetric=row.symmetric,
        also=row.also,
        estimand=row.estimand,
        population=POPULATION_ROWS.get(row.name),
        paper=row.paper,
    )


def notes_on_ratings(humans: HumanResult) -> list[str]:
    """Return notes on ratings that are no choices."""
    notes = []
    if humans.n_abstained:
        notes.append(f"ratings that are {CANNOT_ASSESS}: {humans.n_abstained}")
    if humans.ignored_labels:
        labels = ", ".join(f"{label!r} {n}" for label, n in humans.ignored_labels.items())
        total = sum(humans.ignored_labels.values())
        notes.append(f"ratings with labels that the task ignores: {total} ({labels})")
    return notes

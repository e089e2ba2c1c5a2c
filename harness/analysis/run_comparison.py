"""Compare two runs on the items that both contain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.inputs import JudgeFacts, sampling_weights, shared_items
from harness.analysis.prepared import compared_tables
from harness.analysis.serialize import shared_fields
from harness.errors import TaskError
from harness.stats import Resampling
from harness.stats.inference.metric import Better
from harness.stats.inference.multiple_testing import holm
from harness.stats.selection.paired_runs import PairedRuns, paired_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.inputs import Source
    from harness.analysis.prepared import Compared
    from harness.stats import Metric, RatingTable
    from harness.tasks import Item

USUAL = ("hit_rate(h/h)", "cohen_kappa(h/h)", "decision_consistency", "prevalence_bias")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedMetric:
    """One judge's metric in both runs.

    Attributes
    ----------
    result : PairedRuns
        Values, difference, interval and test on the shared items.
    p_adjusted : float or None
        The p-value adjusted for all tests of the comparison (Holm); None without a test.
    """

    judge: str
    metric: str
    display_name: str
    better: Better
    result: PairedRuns
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Paired differences for the judges in both runs.

    Attributes
    ----------
    n_items : tuple of int
        Items of the first and of the second run.
    n_shared : int
        Items with the same id and text in both.
    metrics : tuple of PairedMetric
        Results by judge, then metric, for the metrics that rank either run and the usual ones.
    confidence : float
        Confidence level of the intervals.
    sampled : bool
        Whether the shared items were sampled with unequal probabilities, so that the unweighted
        comparison describes only these items.
    """

    n_items: tuple[int, int]
    n_shared: int
    metrics: tuple[PairedMetric, ...]
    confidence: float
    sampled: bool = False


def compare_runs(first: Source, second: Source, metrics: Sequence[str] = ()) -> RunComparison:
    """Compare each judge's two runs by paired differences on the items that both runs contain.

    Parameters
    ----------
    first, second : Source
        The runs, for tasks with the same options. Both are scored with the ratings and settings of
        the second.
    metrics : sequence of str, optional
        Metrics to compare besides hit rate, kappa, decision consistency and prevalence bias.

    Raises
    ------
    TaskError
        If the tasks have different options, or a setting does not fit them.
    """
    _check_options(first, second)
    items = shared_items(first.items, second.items)
    rows = list(_paired_metrics(first, second, items, metrics)) if items else []
    return RunComparison(
        n_items=(len(first.items), len(second.items)),
        n_shared=len(items),
        metrics=tuple(_adjusted(rows)),
        confidence=second.settings.confidence,
        sampled=sampling_weights(items) is not None,
    )


def _check_options(first: Source, second: Source) -> None:
    for source in (first, second):
        source.task.require_options("a comparison of runs")
    ours, theirs = (", ".join(source.task.space.options) for source in (first, second))
    if ours != theirs:
        raise TaskError(
            f"the first run has the options {ours} (task {first.task.name}) and the second the "
            f"options {theirs} (task {second.task.name}). Compare two runs of one task."
        )


def _paired_metrics(
    first: Source, second: Source, items: tuple[Item, ...], metrics: Sequence[str]
) -> Iterator[PairedMetric]:
    earlier = {judge.name for judge in first.judges}
    names = [judge.name for judge in second.judges if judge.name in earlier]
    sides = [
        compared_tables(
            replace(
                second,
                items=items,
                judges=tuple(JudgeFacts(name=name) for name in names),
                verdicts=source.verdicts,
            )
        )
        for source in (first, second)
    ]
    compared = sides[1]
    rows = {row.name: row for row in compared.rows}
    for j, name in enumerate(names):
        for metric in dict.fromkeys((*metrics, *USUAL)):
            if metric in rows:
                runs = sides[0].judges[j], compared.judges[j]
                result = _paired(second, compared, runs, rows[metric])
                if result.reason != "no_items":
                    yield _described(name, rows[metric], result)


def _paired(
    source: Source, compared: Compared, runs: tuple[RatingTable, RatingTable], metric: Metric
) -> PairedRuns:
    return paired_runs(
        compared.human,
        runs,
        metric,
        tau=source.cutoff,
        positive=compared.positive,
        resampling=Resampling(
            rng=np.random.default_rng(source.settings.seed),
            groups=compared.criteria or compared.groups,
            n_resamples=source.settings.n_resamples,
            level=source.settings.confidence,
        ),
    )


def _described(judge: str, metric: Metric, result: PairedRuns) -> PairedMetric:
    facts = shared_fields(PairedMetric, metric)
    return PairedMetric(**facts, judge=judge, metric=metric.name, result=result)


def _adjusted(rows: Sequence[PairedMetric]) -> Iterator[PairedMetric]:
    """Adjust the p-values for multiple testing."""
    adjusted = iter(holm([row.result.p for row in rows if row.result.p is not None]).tolist())
    for row in rows:
        yield row if row.result.p is None else replace(row, p_adjusted=next(adjusted))

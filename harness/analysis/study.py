"""Combine results of several tasks: decisions, judges' beta, and regret by metric."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.beta_sensitivity import CURVE_BETAS, SelectionOverBeta
from harness.analysis.decision import DecisionVerdict
from harness.analysis.evidence_rows import JudgeEvidence
from harness.analysis.serialize import Numbers, schema_of
from harness.errors import RunError
from harness.stats import Estimate
from harness.stats.data.arrays import TOLERANCE
from harness.stats.selection.ranking import GOALS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from harness.analysis.result import Validation
    from harness.files.json_values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedTask:
    """Decision and evidence for one task.

    Attributes
    ----------
    judge : str or None
        The recommended or best judge; None if the verdict is "none".
    metric : str
        The metric that ranks the judges.
    leader : JudgeEvidence or None
        Evidence on the first judge in the comparison; None without a ranked judge.
    n_rated : int
        Rated items, the denominator of its ``answered_fraction``.
    beta : Estimate
        The raters' beta.
    raced : bool
        Whether judges raced and none was run on all items, so that none is compared.
    """

    task: str
    run: str
    n_items: int
    n_raters: int
    verdict: DecisionVerdict
    judge: str | None
    metric: str
    leader: JudgeEvidence | None = None
    n_rated: int = 0
    beta: Estimate
    raced: bool = False


@dataclass(frozen=True, slots=True)
class JudgeBeta:
    """A judge's beta in one task.

    Attributes
    ----------
    by_likelihood : bool
        Whether it is estimated from independent replies for lack of pairs.
    """

    judge: str
    task: str
    beta: Estimate
    by_likelihood: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRegret:
    """Regret of selecting by a metric, averaged over tasks.

    Attributes
    ----------
    metric, goal : str
        The metric used for selection, and the goal of the selection.
    by_task : dict of str to float
        Regret in each task in which it is defined.
    mean : float or None
        Mean over these tasks; None if it is defined in no task.
    n_not_best : int
        Tasks in which the metric selects a judge that is not the best.
    """

    metric: str
    goal: str
    by_task: dict[str, float]
    mean: float | None
    n_not_best: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretCurve:
    """Regret at each of the raters' betas, averaged over tasks.

    Attributes
    ----------
    betas : tuple of float
        Values of the raters' beta.
    regret : tuple of float or None
        Mean over ``tasks`` of the loss of the judge that the metric selects at that beta, minus the
        best judge's loss there.
    """

    metric: str
    goal: str
    betas: tuple[float, ...]
    regret: Numbers
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevalence:
    """Share of a task's items that count as positive, for each beta of the raters and each cut-off.

    Attributes
    ----------
    betas, taus : tuple of float
        The grids.
    shares : tuple of tuple of float
        Rows by tau, columns by beta; None if NA.
    """

    betas: tuple[float, ...]
    taus: tuple[float, ...]
    shares: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Results of several tasks together.

    Attributes
    ----------
    curves : tuple of RegretCurve
        Figure 7 of Guerdan et al. (2025), for these tasks.
    selections : dict of str to dict of str to SelectionOverBeta
        Selections at each beta of the curves, by task, then by metric: tables 3 and 4 of the same
        paper. Only tasks with a sweep over beta are included.
    prevalence : dict of str to Prevalence
        Figure 8 of the same paper, by task.
    """

    tasks: tuple[StudiedTask, ...]
    betas: tuple[JudgeBeta, ...]
    regrets: tuple[MeanRegret, ...]
    curves: tuple[RegretCurve, ...]
    selections: dict[str, dict[str, SelectionOverBeta]]
    prevalence: dict[str, Prevalence]

    @classmethod
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of ``harness lab study --json``."""
        return schema_of(cls)


def study(validations: Mapping[str, Validation]) -> Study:
    """Combine the results of several tasks.

    Parameters
    ----------
    validations : mapping of str to Validation
        Validations by run name, each for a different task.

    Raises
    ------
    RunError
        If two validations are for the same task.
    """
    tasks = [validation.task.name for validation in validations.values()]
    if repeated := sorted({task for task in tasks if tasks.count(task) > 1}):
        first, second, *_ = (
            quote(v.location.run or run)
            for run, v in validations.items()
            if v.task.name == repeated[0]
        )
        raise RunError(
            f"{len(tasks)} runs, including several of task {', '.join(repeated)}. Name one run "
            f"of each task. To compare two runs of a task: harness report {first} {second}"
        )
    by_task = dict(zip(tasks, validations.values(), strict=True))
    metrics = _metrics(validations.values())
    pairs = [(metric, goal) for goal in GOALS for metric in metrics]
    return Study(
        tasks=tuple(_studied(run, validation) for run, validation in validations.items()),
        betas=tuple(
            JudgeBeta(judge.name, task, *validation.beta_hat(judge.name))
            for task, validation in by_task.items()
            for judge in validation.judges
        ),
        regrets=tuple(_mean_regret(metric, goal, by_task) for metric, goal in pairs),
        curves=tuple(
            curve
            for goal in GOALS
            for metric in dict.fromkeys(name for v in by_task.values() for name in _selections(v))
            if metric not in GOALS and (curve := _curve(metric, goal, by_task)) is not None
        ),
        selections={
            task: selections for task, v in by_task.items() if (selections := _selections(v))
        },
        prevalence={
            task: prevalence for task, v in by_task.items() if (prevalence := _prevalence(v))
        },
    )


def _studied(run: str, validation: Validation) -> StudiedTask:
    decision, evidence = validation.decision, validation.evidence
    leader = decision.leader if evidence else None
    return StudiedTask(
        task=validation.task.name,
        run=run,
        n_items=validation.task.n_items,
        n_raters=validation.humans.n_raters,
        verdict=decision.verdict,
        judge=decision.judge,
        metric=validation.ranking_metric,
        leader=None if leader is None else validation.evidence_of(leader),
        n_rated=evidence.n_rated if evidence else 0,
        beta=validation.humans.beta,
        raced=decision.reason == "raced",
    )


def _metrics(validations: Collection[Validation]) -> tuple[str, ...]:
    """Return the usual selection metrics, followed by these validations' ranking metrics."""
    usual = [name for v in validations if v.choosing for name in v.choosing.usual]
    return tuple(dict.fromkeys([*usual, *(v.ranking_metric for v in validations)]))


def _mean_regret(metric: str, goal: str, by_task: Mapping[str, Validation]) -> MeanRegret:
    regrets = {
        task: regret
        for task, validation in by_task.items()
        if (regret := _regret(metric, goal, validation)) is not None
    }
    return MeanRegret(
        metric=metric,
        goal=goal,
        by_task=regrets,
        mean=mean(regrets.values()) if regrets else None,
        n_not_best=sum(regret > TOLERANCE for regret in regrets.values()),
    )


def _regret(metric: str, goal: str, validation: Validation) -> float | None:
    choosing = validation.choosing
    regrets = choosing.regret.get(metric, {}) if choosing else {}
    return regrets[goal].value if goal in regrets else None


def _curve(metric: str, goal: str, by_task: Mapping[str, Validation]) -> RegretCurve | None:
    """Average the regret at each beta over the tasks with a value at every beta.

    Return None without such tasks.
    """
    curves = {}
    for task, validation in by_task.items():
        selection = _selections(validation).get(metric)
        if selection is not None and None not in selection.losses[goal]:
            curves[task] = np.array(selection.losses[goal], dtype=np.float64)
    if not curves:
        return None
    return RegretCurve(
        metric=metric,
        goal=goal,
        betas=CURVE_BETAS,
        regret=tuple(np.mean(list(curves.values()), axis=0).tolist()),
        tasks=tuple(curves),
    )


def _selections(validation: Validation) -> dict[str, SelectionOverBeta]:
    return validation.sensitivity.selections if validation.sensitivity else {}


def _prevalence(validation: Validation) -> Prevalence | None:
    grid = validation.sensitivity.grid if validation.sensitivity else None
    if grid is None:
        return None
    columns = [grid.betas.index(beta) for beta in CURVE_BETAS]
    return Prevalence(
        betas=CURVE_BETAS,
        taus=grid.taus,
        shares=tuple(tuple(row[column] for column in columns) for row in grid.prevalence),
    )

"""Downstream performance of the judges that each metric selects in simulated populations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.extras.experiments.simulation import (
    TAUS,
    ExperimentRow,
    Scenario,
    draw_sample,
    gamma_for,
    repeat,
)
from harness.stats import METRICS, Distributions, aggregate
from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.data.forms import FORMS
from harness.stats.metrics import downstream
from harness.stats.selection.ranking import chosen_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.extras.experiments.simulation import Population, Values
    from harness.stats import Metric, OptionSpace
    from harness.stats.data.rating_table import Form

SELECTED = ("consistency", "absolute_bias")
CORRELATED = ("consistency_spearman", "absolute_bias_spearman")
QUANTITIES = (*SELECTED, *CORRELATED)
CONSISTENCY, BIAS = downstream.METRICS
CUT_FORMS = frozenset(form for form, aggregation in FORMS.items() if aggregation.is_cut)


@dataclass(frozen=True, slots=True, repr=False)
class Cell:
    """Estimated metrics and true downstream performance of the judges in one population.

    Attributes
    ----------
    values : (T, M, J) array
        Estimated metrics per cut-off.
    consistency, bias : (T, J) arrays
        The judges' decision consistency and prevalence bias in the population, compared with
        raters without error.
    """

    values: FloatArray
    consistency: FloatArray
    bias: FloatArray

    def __repr__(self) -> str:
        T, M, J = self.values.shape
        return f"Cell({M} metrics, {J} judges, {T} cut-offs)"


def standard_scenarios(
    space: OptionSpace,
    full: OptionSpace,
    *,
    Gammas: tuple[float, float] = (0.5, 2.0),
    epsilon: float = 0.3,
    eta: float = 1.0,
) -> dict[str, Scenario]:
    """Return the settings of the main experiment (Guerdan et al. 2025, figure 4).

    The settings are: fully specified, symmetric selection effects, asymmetric selection effects
    (raters have the second of ``Gammas``, judges the first), and the asymmetric effects with random
    or additive rater error.

    Raises
    ------
    ValueError
        If ``space`` does not allow a Gamma. Three options or more allow 2.
    """
    least, most = Gammas
    up, down = gamma_for(space, most), gamma_for(space, least)
    asymmetric = Scenario(space=space, gamma_human=up, gamma_judge=down)
    return {
        "fully specified": Scenario(space=full),
        "symmetric": Scenario(space=space, gamma_human=up, gamma_judge=up),
        "asymmetric": asymmetric,
        "random error": replace(asymmetric, epsilon=epsilon),
        "additive error": replace(asymmetric, epsilon=epsilon, eta=eta),
    }


def judge_values(
    human: Distributions,
    judges: Distributions,
    rows: Sequence[Metric],
    *,
    tau: float,
    positive: Sequence[str],
) -> FloatArray:
    """Evaluate all metrics for all judges. Returns an (M, J) array.

    ``judges`` has J * n rows, judge by judge, for the n items of ``human``.
    """
    J = len(judges.O) // len(human.O)
    of_human = {
        form: np.tile(aggregate(human, form, tau=tau, positive=positive), (J, 1))
        for form in {row.human_form for row in rows}
    }
    of_judges = {
        form: aggregate(judges, form, tau=tau, positive=positive)
        for form in {row.judge_form for row in rows}
    }
    sums: dict[tuple[object, Form, Form], FloatArray] = {}
    values = []
    for row in rows:
        key = (row.contributions, row.human_form, row.judge_form)
        if key not in sums:
            added = row.contributions(of_human[row.human_form], of_judges[row.judge_form])
            by_judge = added.reshape(J, -1, added.shape[1])
            sums[key] = np.ones(by_judge.shape[1]) @ by_judge
        values.append(row.value(sums[key]))
    return np.array(values).reshape(len(rows), J)


def run_cell(
    population: Population,
    n_ratings: int | None,
    rng: np.random.Generator,
    *,
    taus: Sequence[float] = TAUS,
    rows: Sequence[Metric] = METRICS,
) -> Cell:
    """Estimate every metric from a sample, and compute the true downstream performance.

    ``n_ratings`` is None for the population itself. Metrics that do not depend on the cut-off are
    computed once.
    """
    human, judges = population.human, population.judges
    if n_ratings is not None:
        sample = draw_sample(population, n_ratings, rng)
        human, judges = sample.human, sample.judges
    positive, J = (population.scenario.option,), population.scenario.n_judges
    cut = np.array([bool({row.human_form, row.judge_form} & CUT_FORMS) for row in rows])
    cut_rows = [row for row, depends in zip(rows, cut, strict=True) if depends]
    uncut_rows = [row for row, depends in zip(rows, cut, strict=True) if not depends]
    values = np.empty((len(taus), len(rows), J))
    true = np.empty((len(taus), len(downstream.METRICS), J))
    values[:, ~cut] = judge_values(human, judges, uncut_rows, tau=taus[0], positive=positive)
    for t, tau in enumerate(taus):
        cut_values = partial(judge_values, tau=tau, positive=positive)
        values[t, cut] = cut_values(human, judges, cut_rows)
        true[t] = cut_values(population.stable, population.judges, downstream.METRICS)
    return Cell(frozen(values), frozen(true[:, 0]), frozen(true[:, 1]))


def selection_experiment(
    scenarios: Mapping[str, Scenario],
    ratings: Sequence[int | None],
    *,
    rows: Sequence[Metric] = METRICS,
    **settings: Any,  # noqa: ANN401 -- of `repeat`
) -> list[ExperimentRow]:
    """Select judges with each metric in many populations, and measure their performance.

    For each metric, rows have the "consistency" and "absolute_bias" of the selected judge, and the
    rank correlation between the metric and each goal over judges (Guerdan et al. 2025, figures 4,
    5, 10, 13 and 14). See `repeat` for the settings.
    """

    def measure(
        population: Population,
        n_ratings: int | None,
        rng: np.random.Generator,
        taus: Sequence[float],
    ) -> list[Values]:
        cell = run_cell(population, n_ratings, rng, taus=taus, rows=rows)
        return [
            {
                (quantity, row.name): value
                for m, row in enumerate(rows)
                for quantity, value in _outcome(cell, t, m, row).items()
            }
            for t in range(len(taus))
        ]

    return repeat(measure, scenarios, ratings, **settings)


def _outcome(cell: Cell, t: int, m: int, row: Metric) -> dict[str, float]:
    """Measure the performance of the judge that a metric selects, or nan if it selects none."""
    losses = row.losses(cell.values[t, m])
    chosen = chosen_by(losses)
    if not chosen.any():
        return dict.fromkeys(QUANTITIES, np.nan)
    consistency, distance = cell.consistency[t], BIAS.unsigned(cell.bias[t])
    outcomes = (
        float(consistency[chosen].mean()),
        float(distance[chosen].mean()),
        spearman(losses, -consistency),
        spearman(losses, distance),
    )
    return dict(zip(QUANTITIES, outcomes, strict=True))


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return the rank correlation of two (J,) arrays, or nan if either is constant.

    Ties get their mean rank. Entries that are nan on either side are left out.
    """
    from scipy.stats import rankdata  # noqa: PLC0415 -- takes a while to load

    defined = ~(np.isnan(first) | np.isnan(second))
    a, b = (rankdata(side[defined]) - (defined.sum() + 1) / 2 for side in (first, second))
    spread = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum() / spread) if spread > 0 else float("nan")

"""Downstream performance of judges chosen by each metric, in simulated populations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.experiments.simulation import (
    Population,
    Scenario,
    draw_population,
    draw_sample,
    gamma_for,
)
from harness.stats import METRICS, Distributions, aggregate
from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.metrics import downstream
from harness.stats.selection.ranking import loss
from harness.stats.selection.regret import chosen_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.stats import Metric, OptionSpace
    from harness.stats.data.rating_table import Form

TAUS = (0.3, 0.5, 0.7)
CUT_FORMS: frozenset[Form] = frozenset({"hrs", "decision"})


@dataclass(frozen=True, slots=True, repr=False)
class Cell:
    """Metrics of every judge in one population, and their true downstream performance.

    Attributes
    ----------
    metrics : M names
        Of the rows, in order.
    values : (T, M, J) array
        The metrics as estimated, per cut-off.
    consistency, bias : (T, J) arrays
        The judges' decision consistency and prevalence bias in the population, against the raters
        without error.
    """

    metrics: tuple[str, ...]
    values: FloatArray
    consistency: FloatArray
    bias: FloatArray

    def __repr__(self) -> str:
        T, M, J = self.values.shape
        return f"Cell({M} metrics, {J} judges, {T} cut-offs)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRow:
    """One line of a table: judges chosen by one metric in one setting, over repeated populations.

    Attributes
    ----------
    scenario, metric : str
        Their names.
    n_ratings : int or None
        Human ratings per item; None for infinitely many.
    tau : float
        Cut-off.
    Gamma_human, Gamma_judge : float
        Selection effects.
    consistency, absolute_bias : float or None
        Of the chosen judge, mean over the populations. None where the metric never chose.
    consistency_se, absolute_bias_se : float or None
        Standard errors of these means; None with fewer than two populations.
    consistency_regret : float or None
        Consistency of the best judge less that of the chosen one, mean.
    consistency_spearman, absolute_bias_spearman : float or None
        Mean rank correlation of the judges by the metric and by the goal.
    n_populations : int
        Populations in which the metric chose a judge.
    """

    scenario: str
    metric: str
    n_ratings: int | None
    tau: float
    Gamma_human: float
    Gamma_judge: float
    consistency: float | None
    consistency_se: float | None
    absolute_bias: float | None
    absolute_bias_se: float | None
    consistency_regret: float | None
    consistency_spearman: float | None
    absolute_bias_spearman: float | None
    n_populations: int


def standard_scenarios(space: OptionSpace, full: OptionSpace) -> dict[str, Scenario]:
    """Return the settings of the main experiment.

    Parameters
    ----------
    space : OptionSpace
        Underspecified, of three options or more: the raters' Gamma of 2 needs them.
    full : OptionSpace
        Fully specified.

    Notes
    -----
    Guerdan et al. 2025, figure 4: fully specified; symmetric and asymmetric selection effects;
    random and additive rater error on top of the asymmetric ones.
    """
    up, down = gamma_for(space, min(2.0, _greatest(space))), gamma_for(space, 0.5)
    asymmetric = Scenario(space=space, gamma_human=up, gamma_judge=down)
    return {
        "fully specified": Scenario(space=full),
        "symmetric": Scenario(space=space, gamma_human=up, gamma_judge=up),
        "asymmetric": asymmetric,
        "random error": replace(asymmetric, epsilon=0.3),
        "additive error": replace(asymmetric, epsilon=0.3, eta=1.0),
    }


def judge_values(
    human: Distributions,
    judges: Distributions,
    rows: Sequence[Metric],
    *,
    tau: float,
    positive: Sequence[str],
) -> FloatArray:
    """Evaluate metrics of all judges at once: (M, J).

    Parameters
    ----------
    human : Distributions
        Of n items.
    judges : Distributions
        J * n rows, judge by judge.
    rows : sequence of Metric
        M metrics.
    tau, positive
        Cut-off and positive options.
    """
    vectors = _vectors((human, judges), _forms(rows), tau, positive)
    return _values(vectors, rows, len(judges.O) // len(human.O))


def _values(
    vectors: tuple[dict[Form, FloatArray], dict[Form, FloatArray]],
    rows: Sequence[Metric],
    J: int,
) -> FloatArray:
    of_human, of_judges = vectors
    sums: dict[tuple[object, Form, Form], FloatArray] = {}
    for row in rows:
        key = (row.contributions, row.human_form, row.judge_form)
        if key not in sums:
            added = row.contributions(of_human[row.human_form], of_judges[row.judge_form])
            by_judge = added.reshape(J, -1, added.shape[1])
            sums[key] = np.ones(by_judge.shape[1]) @ by_judge
    keys = [(row.contributions, row.human_form, row.judge_form) for row in rows]
    values = [row.value(sums[key]) for row, key in zip(rows, keys, strict=True)]
    return np.array(values).reshape(len(rows), J)


def _forms(rows: Sequence[Metric]) -> set[Form]:
    return {form for row in rows for form in (row.human_form, row.judge_form)}


def _vectors(
    sides: tuple[Distributions, Distributions],
    forms: set[Form],
    tau: float,
    positive: Sequence[str],
) -> tuple[dict[Form, FloatArray], dict[Form, FloatArray]]:
    """Make rating vectors of humans and judges; the humans' once for each judge."""
    human, judges = sides
    J = len(judges.O) // len(human.O)
    of_human, of_judges = (
        {form: aggregate(side, form, tau=tau, positive=positive) for form in forms}
        for side in sides
    )
    return {form: np.tile(vectors, (J, 1)) for form, vectors in of_human.items()}, of_judges


def run_cell(
    population: Population,
    n_ratings: int | None,
    rng: np.random.Generator,
    *,
    taus: Sequence[float] = TAUS,
    rows: Sequence[Metric] = METRICS,
    n_samples: int = 10,
    n_calibration: int = 100,
) -> Cell:
    """Estimate every metric from a sample of a population, beside the true downstream performance.

    Parameters
    ----------
    population : Population
        Raters and judges.
    n_ratings : int or None
        Human ratings per item; None shows the population itself.
    rng, n_samples, n_calibration
        As in `draw_sample`.
    taus : sequence of float, optional
        Cut-offs.
    rows : sequence of Metric, optional
        Default: the metric table.

    Returns
    -------
    Cell
        Rows that do not depend on the cut-off are worked out once.
    """
    human, judges = population.human, population.judges
    if n_ratings is not None:
        sample = draw_sample(
            population, n_ratings, rng, n_samples=n_samples, n_calibration=n_calibration
        )
        human, judges = sample.human, sample.judges
    positive, J = (population.scenario.option,), population.scenario.n_judges
    stable = (population.stable, population.judges)
    cut = np.array([bool({row.human_form, row.judge_form} & CUT_FORMS) for row in rows])
    cut_rows = [row for row, depends in zip(rows, cut, strict=True) if depends]
    uncut_rows = [row for row, depends in zip(rows, cut, strict=True) if not depends]
    values, true = (
        np.empty((len(taus), len(rows), J)),
        np.empty((len(taus), len(downstream.METRICS), J)),
    )
    of_human, of_judges = _vectors((human, judges), _forms(rows) - CUT_FORMS, TAUS[0], positive)
    values[:, ~cut] = _values((of_human, of_judges), uncut_rows, J)
    for t, tau in enumerate(taus):
        humans, judged = _vectors((human, judges), _forms(cut_rows) & CUT_FORMS, tau, positive)
        values[t, cut] = _values((of_human | humans, of_judges | judged), cut_rows, J)
        true[t] = judge_values(*stable, downstream.METRICS, tau=tau, positive=positive)
    names = tuple(row.name for row in rows)
    return Cell(names, frozen(values), frozen(true[:, 0]), frozen(true[:, 1]))


def selection_experiment(
    scenarios: Mapping[str, Scenario],
    ratings: Sequence[int | None],
    *,
    seed: int,
    n_populations: int = 20,
    taus: Sequence[float] = TAUS,
    rows: Sequence[Metric] = METRICS,
) -> list[SelectionRow]:
    """Choose judges by each metric in many populations and measure how they perform.

    Parameters
    ----------
    scenarios : mapping
        Name to `Scenario`.
    ratings : sequence of int or None
        Human ratings per item; None for infinitely many.
    seed : int
        Determines everything: each scenario and population has its own stream, so that adding one
        changes no other.
    n_populations : int, optional
        Per scenario; the same ones for every number of ratings.
    taus, rows
        As in `run_cell`.

    Returns
    -------
    list of SelectionRow
        By scenario, number of ratings, cut-off and metric.

    Notes
    -----
    Guerdan et al. 2025, figures 4, 5, 10, 13 and 14.
    """
    table = []
    for s, (name, scenario) in enumerate(scenarios.items()):
        seeds = [np.random.SeedSequence([seed, s, p]).spawn(2) for p in range(n_populations)]
        drawn = [draw_population(scenario, np.random.default_rng(seed)) for seed, _ in seeds]
        for n_ratings in ratings:
            cells = [
                run_cell(
                    population, n_ratings, np.random.default_rng(sample_seed), taus=taus, rows=rows
                )
                for population, (_, sample_seed) in zip(drawn, seeds, strict=True)
            ]
            setting = (name, n_ratings, drawn[0]) if drawn else (name, n_ratings, None)
            table += _summarise(setting, cells, taus, rows)
    return table


def _summarise(
    setting: tuple[str, int | None, Population | None],
    cells: Sequence[Cell],
    taus: Sequence[float],
    rows: Sequence[Metric],
) -> list[SelectionRow]:
    name, n_ratings, population = setting
    if population is None:
        return []
    table = []
    for t, tau in enumerate(taus):
        for m, row in enumerate(rows):
            outcomes = np.array([_outcome(cell, t, m, row) for cell in cells])
            mean, error, n = mean_and_error(outcomes)
            table.append(
                SelectionRow(
                    scenario=name,
                    metric=row.name,
                    n_ratings=n_ratings,
                    tau=tau,
                    Gamma_human=population.Gamma_human,
                    Gamma_judge=population.Gamma_judge,
                    consistency=mean[0],
                    consistency_se=error[0],
                    absolute_bias=mean[1],
                    absolute_bias_se=error[1],
                    consistency_regret=mean[2],
                    consistency_spearman=mean[3],
                    absolute_bias_spearman=mean[4],
                    n_populations=n,
                )
            )
    return table


def _outcome(cell: Cell, t: int, m: int, row: Metric) -> list[float]:
    """Consistency, |bias| and regret of the chosen judge, and rank correlations with both goals."""
    losses = loss(cell.values[t, m], row.better)
    chosen = chosen_by(losses)
    if not chosen.any():
        return [np.nan] * 5
    consistency, distance = cell.consistency[t], np.abs(cell.bias[t])
    reached = float(consistency[chosen].mean())
    return [
        reached,
        float(distance[chosen].mean()),
        float(consistency.max() - reached),
        spearman(losses, -consistency),
        spearman(losses, distance),
    ]


def mean_and_error(
    outcomes: FloatArray,
) -> tuple[list[float | None], list[float | None], int]:
    """Return per column the mean, its standard error, and how many rows have a first column."""
    means: list[float | None] = []
    errors: list[float | None] = []
    for column in outcomes.T:
        defined = column[~np.isnan(column)]
        means.append(float(defined.mean()) if defined.size else None)
        errors.append(float(defined.std(ddof=1) / defined.size**0.5) if defined.size > 1 else None)
    return means, errors, int((~np.isnan(outcomes[:, 0])).sum())


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Rank correlation of two (J,) arrays, ties at their mean rank; nan where either is constant.

    Entries that are nan on either side are left out.
    """
    defined = ~(np.isnan(first) | np.isnan(second))
    a, b = (_mean_ranks(values[defined]) for values in (first, second))
    spread = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum() / spread) if spread > 0 else float("nan")


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Return ranks less their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = ends - (counts - 1) / 2.0
    return np.asarray(ranks[place] - (len(values) + 1) / 2.0, dtype=np.float64)


def _greatest(space: OptionSpace) -> float:
    sizes = space.membership.sum(axis=0)[space.membership[0]]
    return float(sizes.mean()) - 1e-6

"""Effects of few ratings, forced choices and rater error on decisions and prevalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.experiments.judge_selection import TAUS, judge_values, mean_and_error, spearman
from harness.experiments.simulation import Population, Scenario, draw_population, draw_sample
from harness.stats import METRICS, Distributions, aggregate
from harness.stats.data.rating_table import reaches
from harness.stats.selection.ranking import loss

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.stats import Metric
    from harness.stats.data.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterEffect:
    """One line of a table about the raters of one setting, over repeated populations.

    Attributes
    ----------
    scenario : str
        Its name.
    quantity : str
        What is measured.
    n_ratings : int or None
        Ratings per item; None for infinitely many.
    tau : float
        Cut-off.
    Gamma, epsilon, eta : float
        Selection effect and error of the raters.
    value : float or None
        Mean over the populations. None where it is defined in none.
    standard_error : float or None
        Of the mean; None with fewer than two populations.
    n_populations : int
        Populations in which it is defined.
    """

    scenario: str
    quantity: str
    n_ratings: int | None
    tau: float
    Gamma: float
    epsilon: float
    eta: float
    value: float | None
    standard_error: float | None
    n_populations: int


def sampling_experiment(
    scenarios: Mapping[str, Scenario],
    ratings: Sequence[int],
    *,
    seed: int,
    n_populations: int = 20,
    taus: Sequence[float] = TAUS,
) -> list[RaterEffect]:
    """Compare decisions and prevalence from a few ratings with those of the whole population.

    Parameters
    ----------
    scenarios, seed, n_populations, taus
        As in `selection_experiment`.
    ratings : sequence of int
        Ratings per item.

    Returns
    -------
    list of RaterEffect
        "consistency" of decisions and "prevalence_difference", sample less population, on the
        multi-label vectors of the raters as observed.

    Notes
    -----
    Guerdan et al. 2025, figures 6 (left) and 15.
    """
    table = []
    for n_ratings in ratings:

        def measure(
            population: Population, rng: np.random.Generator, tau: float, n: int = n_ratings
        ) -> dict[str, float]:
            sample = draw_sample(population, n, rng)
            decided, true = (_decide(dist, tau) for dist in (sample.human, population.human))
            defined = ~np.isnan(decided)
            if not defined.any():
                return {"consistency": np.nan, "prevalence_difference": np.nan}
            return {
                "consistency": float((decided == true)[defined].mean()),
                "prevalence_difference": float((decided - true)[defined].mean()),
            }

        table += _repeat(scenarios, n_ratings, measure, (seed, n_populations, taus))
    return table


def prevalence_experiment(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int,
    n_populations: int = 20,
    taus: Sequence[float] = TAUS,
) -> list[RaterEffect]:
    """Compare the prevalence that forced choices show with that of response sets without error.

    Parameters
    ----------
    scenarios, seed, n_populations, taus
        As in `selection_experiment`.

    Returns
    -------
    list of RaterEffect
        "prevalence_bias": share of items with O >= tau less share with Omega* >= tau. No ratings
        are drawn.

    Notes
    -----
    Guerdan et al. 2025, figures 6 (right) and 12.
    """

    def measure(
        population: Population,
        rng: np.random.Generator,  # noqa: ARG001 -- the shape of a measurement
        tau: float,
    ) -> dict[str, float]:
        chosen = reaches(population.human.O[:, :1], tau)
        endorsed = reaches(population.stable.omega[:, :1], tau)
        return {"prevalence_bias": float(chosen.mean() - endorsed.mean())}

    return _repeat(scenarios, None, measure, (seed, n_populations, taus))


def error_experiment(
    scenarios: Mapping[str, Scenario],
    *,
    seed: int,
    n_populations: int = 20,
    taus: Sequence[float] = TAUS,
    rows: Sequence[Metric] = METRICS,
) -> list[RaterEffect]:
    """Compare the ranking of judges against raters with error and against the same without.

    Parameters
    ----------
    scenarios, seed, n_populations, taus, rows
        As in `selection_experiment`.

    Returns
    -------
    list of RaterEffect
        Per metric, by name, the rank correlation of the judges. No ratings are drawn.

    Notes
    -----
    Guerdan et al. 2025, figure 11.
    """

    def measure(
        population: Population,
        rng: np.random.Generator,  # noqa: ARG001 -- the shape of a measurement
        tau: float,
    ) -> dict[str, float]:
        positive = (population.scenario.option,)
        observed, stable = (
            judge_values(raters, population.judges, rows, tau=tau, positive=positive)
            for raters in (population.human, population.stable)
        )
        return {
            row.name: spearman(loss(with_error, row.better), loss(without, row.better))
            for row, with_error, without in zip(rows, observed, stable, strict=True)
        }

    return _repeat(scenarios, None, measure, (seed, n_populations, taus))


def _decide(dist: Distributions, tau: float) -> FloatArray:
    return aggregate(dist, "decision", tau=tau, positive=dist.space.options[:1])[:, 0]


def _repeat(
    scenarios: Mapping[str, Scenario],
    n_ratings: int | None,
    measure: Callable[[Population, np.random.Generator, float], dict[str, float]],
    settings: tuple[int, int, Sequence[float]],
) -> list[RaterEffect]:
    """Measure each scenario's populations, which are those of `selection_experiment`."""
    seed, n_populations, taus = settings
    table = []
    for s, (name, scenario) in enumerate(scenarios.items()):
        seeds = [np.random.SeedSequence([seed, s, p]).spawn(2) for p in range(n_populations)]
        drawn = [draw_population(scenario, np.random.default_rng(seed)) for seed, _ in seeds]
        for tau in taus:
            effects = [
                measure(population, np.random.default_rng(sample_seed), tau)
                for population, (_, sample_seed) in zip(drawn, seeds, strict=True)
            ]
            for quantity in effects[0] if effects else ():
                values = np.array([[effect[quantity]] for effect in effects])
                means, errors, n = mean_and_error(values)
                table.append(
                    RaterEffect(
                        scenario=name,
                        quantity=quantity,
                        n_ratings=n_ratings,
                        tau=tau,
                        Gamma=drawn[0].Gamma_human,
                        epsilon=scenario.epsilon,
                        eta=scenario.eta,
                        value=means[0],
                        standard_error=errors[0],
                        n_populations=n,
                    )
                )
    return table

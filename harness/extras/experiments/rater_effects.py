"""Effects of few ratings, forced choices and rater error on decisions and prevalence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.extras.experiments.judge_selection import judge_values, spearman
from harness.extras.experiments.simulation import draw_sample, repeat
from harness.stats import METRICS, Distributions, aggregate
from harness.stats.data.forms import reaches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.extras.experiments.simulation import ExperimentRow, Population, Scenario, Values
    from harness.stats import Metric
    from harness.stats.data.arrays import FloatArray


def sampling_experiment(
    scenarios: Mapping[str, Scenario],
    ratings: Sequence[int],
    **settings: Any,  # noqa: ANN401 -- of `repeat`
) -> list[ExperimentRow]:
    """Compare decisions and prevalence from a few ratings with those in the population.

    Rows have the "consistency" of decisions and the "prevalence_difference" (sample minus
    population) for the observed raters' multi-label vectors, ordered by number of ratings (Guerdan
    et al. 2025, figures 6, left, and 15). See `repeat` for the settings.
    """
    rows = repeat(_compare_sample, scenarios, ratings, **settings)
    return sorted(rows, key=lambda row: row.n_ratings or 0)


def _compare_sample(
    population: Population,
    n_ratings: int | None,
    rng: np.random.Generator,
    taus: Sequence[float],
) -> list[Values]:
    sample = draw_sample(population, n_ratings or 1, rng)
    measured: list[Values] = []
    for tau in taus:
        decided, true = (_decide(dist, tau) for dist in (sample.human, population.human))
        defined = ~np.isnan(decided)
        agreed, gap = (decided == true)[defined], (decided - true)[defined]
        measured.append(
            {
                ("consistency", ""): float(agreed.mean()) if agreed.size else np.nan,
                ("prevalence_difference", ""): float(gap.mean()) if gap.size else np.nan,
            }
        )
    return measured


def prevalence_experiment(
    scenarios: Mapping[str, Scenario],
    **settings: Any,  # noqa: ANN401 -- of `repeat`
) -> list[ExperimentRow]:
    """Compare prevalence in forced choices with prevalence in error-free response sets.

    "prevalence_bias" is the share of items with O >= tau minus the share with Omega* >= tau
    (Guerdan et al. 2025, figures 6, right, and 12). No ratings are drawn. See `repeat` for the
    settings.
    """

    def measure(
        population: Population,
        n_ratings: int | None,  # noqa: ARG001 -- the shape of a measurement
        rng: np.random.Generator,  # noqa: ARG001 -- the same
        taus: Sequence[float],
    ) -> list[Values]:
        chosen, endorsed = population.human.O[:, :1], population.stable.omega[:, :1]
        shares = [(reaches(chosen, tau).mean(), reaches(endorsed, tau).mean()) for tau in taus]
        return [{("prevalence_bias", ""): float(shown - true)} for shown, true in shares]

    return repeat(measure, scenarios, [None], **settings)


def error_experiment(
    scenarios: Mapping[str, Scenario],
    *,
    rows: Sequence[Metric] = METRICS,
    **settings: Any,  # noqa: ANN401 -- of `repeat`
) -> list[ExperimentRow]:
    """Compare the rankings of judges against the same raters with and without rater error.

    "spearman" is the rank correlation of the judges for each metric (Guerdan et al. 2025, figure
    11). No ratings are drawn. See `repeat` for the settings.
    """

    def measure(
        population: Population,
        n_ratings: int | None,  # noqa: ARG001 -- the shape of a measurement
        rng: np.random.Generator,  # noqa: ARG001 -- the same
        taus: Sequence[float],
    ) -> list[Values]:
        positive = (population.scenario.option,)
        measured: list[Values] = []
        for tau in taus:
            observed, stable = (
                judge_values(raters, population.judges, rows, tau=tau, positive=positive)
                for raters in (population.human, population.stable)
            )
            measured.append(
                {
                    ("spearman", row.name): spearman(row.losses(with_error), row.losses(without))
                    for row, with_error, without in zip(rows, observed, stable, strict=True)
                }
            )
        return measured

    return repeat(measure, scenarios, [None], **settings)


def _decide(dist: Distributions, tau: float) -> FloatArray:
    return aggregate(dist, "decision", tau=tau, positive=dist.space.options[:1])[:, 0]

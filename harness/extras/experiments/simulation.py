"""Populations of raters and judges from the rating model, and samples of their ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.stats import Distributions, OptionSpace
from harness.stats.data.arrays import TOLERANCE, FloatArray, frozen, ratio
from harness.stats.indeterminacy.rater_error import error_matrix, selection_effect

TAUS = (0.3, 0.5, 0.7)
MANY = 1e9  # ratings per item for a population, so many that additions to counts vanish
STEEPEST = 50.0  # largest gamma in the search: exp(-50) is practically never


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One setting of the experiment. The space's first option is the positive one.

    Attributes
    ----------
    space : OptionSpace
        Options and response sets, fully specified or not.
    epsilon, eta : float
        Rater error and its skew. See `error_matrix`.
    gamma_human, gamma_judge : float
        Strength of forced-choice selection effects. See `selection_matrix`.
    n_items, n_judges : int
        Numbers of items and judges to draw.
    sigma : (float, float)
        Smallest and largest deviation of a judge from the raters.
    """

    space: OptionSpace
    epsilon: float = 0.0
    eta: float = 0.0
    gamma_human: float = 0.0
    gamma_judge: float = 0.0
    n_items: int = 100
    n_judges: int = 50
    sigma: tuple[float, float] = (0.02, 0.4)

    @property
    def option(self) -> str:
        """The positive option, on which decisions about items are based."""
        return self.space.options[0]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Population:
    """Rating distributions in the limit of infinitely many ratings.

    Attributes
    ----------
    scenario : Scenario
        Scenario of the population.
    E : (V, V) array
        Rater error.
    F_human : (K, V) array
        Translation from the raters' sets to choices.
    stable : Distributions
        Distributions of raters without error: theta*, and theta* translated by F.
    human : Distributions
        Distributions of the observed raters.
    judges : Distributions
        J * n rows, with the items of the first judge, then of the second, and so on.
    """

    scenario: Scenario
    E: FloatArray
    F_human: FloatArray
    stable: Distributions
    human: Distributions
    judges: Distributions

    def __repr__(self) -> str:
        scenario = self.scenario
        size = f"{scenario.n_items} items, {scenario.n_judges} judges"
        return f"Population({size}, {scenario.space!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Sample:
    """Estimates from a finite number of ratings, with rows as in `Population`."""

    human: Distributions
    judges: Distributions

    def __repr__(self) -> str:
        return f"Sample({self.human!r})"


def selection_matrix(space: OptionSpace, gamma: float) -> FloatArray:
    """Return the (K, V) matrix F for raters who choose a set's earlier options more often.

    F[k, v] is proportional to exp(-gamma r). Here r is the rank of option k in set v, which is 0
    for the first option (Guerdan et al. 2025, section 6). With a positive gamma, raters choose
    earlier options more often. With 0, they choose all options equally often.
    """
    ranks = space.membership.cumsum(axis=0) - 1
    last = space.membership.sum(axis=0) - 1
    exponent = -gamma * ranks - max(0.0, -gamma) * last  # at most 0, so that it cannot overflow
    weights = np.where(space.membership, np.exp(np.minimum(exponent, 0.0)), 0.0)
    return np.asarray(weights / weights.sum(axis=0), dtype=np.float64)


def gamma_for(space: OptionSpace, Gamma: float) -> float:
    """Find the strength at which the first option is chosen Gamma times as often as chance.

    Raises
    ------
    ValueError
        If no strength does. The message names the possible Gammas. Two options reach at most
    1.5.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 -- takes a while to load

    def gap(gamma: float) -> float:
        F = selection_matrix(space, gamma)
        return float(selection_effect(F, space, option=space.options[0])) - Gamma

    least, most = gap(-STEEPEST) + Gamma, gap(STEEPEST) + Gamma
    for end, steepest in ((most, STEEPEST), (least, -STEEPEST)):
        if abs(Gamma - end) <= TOLERANCE:
            return steepest
    if not least < Gamma < most:
        raise ValueError(f"Gamma is {Gamma!r}, and {space!r} allows {least:.3g} to {most:.3g}")
    return float(brentq(gap, -STEEPEST, STEEPEST))


def project(points: FloatArray) -> FloatArray:
    """Project each row of a (..., V) array onto the nearest probability distribution.

    This is the Euclidean projection onto the simplex. It keeps the amounts above a common level,
    for which these amounts sum to 1.
    """
    V = points.shape[-1]
    falling = -np.sort(-points, axis=-1)
    excess = (falling.cumsum(axis=-1) - 1.0) / np.arange(1, V + 1)
    n_kept = (falling > excess).sum(axis=-1, keepdims=True)
    level = np.take_along_axis(excess, n_kept - 1, axis=-1)
    kept = np.maximum(points - level, 0.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True), dtype=np.float64)


def draw_population(scenario: Scenario, rng: np.random.Generator) -> Population:
    """Draw raters and judges (Guerdan et al. 2025, section 6 and appendix D.1).

    theta* is uniform on the simplex. A judge's theta is theta* with normal noise, projected back.
    Judges make no errors.
    """
    space, n, J = scenario.space, scenario.n_items, scenario.n_judges
    V = len(space.sets)
    E = error_matrix(space, scenario.epsilon, eta=scenario.eta, option=scenario.option)
    F_human = selection_matrix(space, scenario.gamma_human)
    F_judge = selection_matrix(space, scenario.gamma_judge)
    theta = rng.dirichlet(np.ones(V), n)
    sigma = rng.uniform(*scenario.sigma, J)
    noise = rng.normal(size=(J, n, V)) * sigma[:, None, None]
    judged = project(theta + noise).reshape(J * n, V)
    return Population(
        scenario=scenario,
        E=frozen(E),
        F_human=frozen(F_human),
        stable=_distributions(space, theta @ F_human.T, theta, MANY),
        human=_distributions(space, theta @ E.T @ F_human.T, theta @ E.T, MANY),
        judges=_distributions(space, judged @ F_judge.T, judged, MANY),
    )


def draw_sample(
    population: Population,
    n_ratings: int,
    rng: np.random.Generator,
    *,
    n_samples: int = 10,
    n_calibration: int = 100,
) -> Sample:
    """Draw a few ratings of every item, and estimate the distributions from these ratings.

    ``n_ratings`` is the number of human forced choices per item, and of pairs per calibration item.
    ``n_samples`` is the number of calls for each elicitation, judge and item. ``n_calibration`` is
    the number of additional items on which humans gave both a set and a choice.

    O and the judges' theta are counted. The humans' theta is F' O, with F' counted on the
    calibration items, so the true F, E and theta are never used. Values are nan if an item has an
    option without any calibration pair. This is the estimator of Guerdan et al. 2025, appendix D.1,
    with an estimated F'. Single ratings do not identify E, so omega is for the observed raters.
    """
    space, human, judges = population.scenario.space, population.human, population.judges
    fresh = rng.dirichlet(np.ones(len(space.sets)), n_calibration) @ population.E.T
    cells = population.F_human[None] * fresh[:, None, :]
    pairs = rng.multinomial(n_ratings, _safe(cells.reshape(n_calibration, -1))).sum(axis=0)
    joint = pairs.reshape(space.membership.shape)
    F_reverse = ratio(joint, joint.sum(axis=1, keepdims=True)).T
    chosen = rng.multinomial(n_ratings, _safe(human.O))
    O = chosen / n_ratings
    unpaired = np.isnan(F_reverse).any(axis=0)
    theta = O @ np.nan_to_num(F_reverse).T
    theta[chosen[:, unpaired].any(axis=1)] = np.nan
    called = rng.multinomial(n_samples, _safe(judges.O))
    endorsed = rng.multinomial(n_samples, _safe(judges.theta))
    return Sample(
        _distributions(space, O, theta, n_ratings),
        _distributions(space, called / n_samples, endorsed / n_samples, n_samples),
    )


def _distributions(space: OptionSpace, O: FloatArray, theta: FloatArray, n: float) -> Distributions:
    ratings = np.full(len(O), float(n))
    omega = np.minimum(theta @ space.membership.T, 1.0)
    return Distributions(
        space=space, O=O, theta=theta, omega=omega, n_forced=ratings, n_sets=ratings
    )


def _safe(rows: FloatArray) -> FloatArray:
    """Scale rows to sum to 1 despite rounding, as the multinomial draw requires."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRow:
    """Mean of one measured quantity over the populations of one setting.

    Attributes
    ----------
    quantity : str
        Measured quantity.
    scenario : str
        The setting.
    metric : str
        Metric that selected or ranked the judges, or "" without judges.
    n_ratings : int or None
        Human ratings per item, or None for infinitely many.
    tau : float
        Cut-off.
    value, standard_error : float or None
        Mean over the populations and its standard error, or None if undefined.
    n_populations : int
        Populations in which the value is defined.
    """

    quantity: str
    scenario: str
    metric: str
    n_ratings: int | None
    tau: float
    value: float | None
    standard_error: float | None
    n_populations: int


Values: TypeAlias = dict[tuple[str, str], float]  # by quantity and metric, nan if undefined
Measure: TypeAlias = Callable[
    [Population, int | None, np.random.Generator, Sequence[float]], list[Values]
]


def repeat(
    measure: Measure,
    scenarios: Mapping[str, Scenario],
    ratings: Sequence[int | None],
    *,
    seed: int,
    n_populations: int = 20,
    taus: Sequence[float] = TAUS,
) -> list[ExperimentRow]:
    """Measure each scenario in populations that are the same for every number of ratings.

    ``measure`` takes a population, the number of ratings (None for infinitely many), an rng for the
    ratings, and the cut-offs. It returns the values at each cut-off. The seed determines
    everything. Each scenario and population has a separate stream, so adding one does not change
    the rest. Rows are sorted by scenario, number of ratings and cut-off, then by order of
    measurement.
    """
    table = []
    for s, (name, scenario) in enumerate(scenarios.items()):
        seeds = [np.random.SeedSequence([seed, s, p]).spawn(2) for p in range(n_populations)]
        drawn = [draw_population(scenario, np.random.default_rng(seed)) for seed, _ in seeds]
        for n_ratings in ratings:
            measured = [
                measure(population, n_ratings, np.random.default_rng(sample_seed), taus)
                for population, (_, sample_seed) in zip(drawn, seeds, strict=True)
            ]
            for t, tau in enumerate(taus):
                for quantity, metric in measured[0][t]:
                    values = np.array([by_tau[t][quantity, metric] for by_tau in measured])
                    defined = values[~np.isnan(values)]
                    n = defined.size
                    table.append(
                        ExperimentRow(
                            quantity=quantity,
                            scenario=name,
                            metric=metric,
                            n_ratings=n_ratings,
                            tau=tau,
                            value=float(defined.mean()) if n else None,
                            standard_error=float(defined.std(ddof=1) / n**0.5) if n > 1 else None,
                            n_populations=n,
                        )
                    )
    return table


def over_cutoffs(rows: Sequence[ExperimentRow]) -> tuple[float | None, float | None]:
    """Return the mean over cut-offs and its standard error, or None if undefined.

    The error is at most the mean of the cut-offs' errors, as if all cut-offs of a population had
    the same error.
    """
    values = [row.value for row in rows if row.value is not None]
    errors = [row.standard_error for row in rows if row.standard_error is not None]
    if not values:
        return None, None
    known = len(errors) == len(values)
    return sum(values) / len(values), sum(errors) / len(errors) if known else None

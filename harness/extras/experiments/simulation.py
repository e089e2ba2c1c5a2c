"""Populations of raters and judges drawn from the rating model, and samples of their ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.stats import Distributions, OptionSpace
from harness.stats.data.arrays import TOLERANCE, FloatArray, frozen, ratio
from harness.stats.indeterminacy.rater_error import error_matrix, selection_effect

TAUS = (0.3, 0.5, 0.7)
MANY = 1e9  # ratings per item that stand for a population: what is added to counts vanishes
STEEPEST = 50.0  # greatest gamma looked for: exp(-50) is as good as never


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One setting of the experiment. Items are decided by the first option of the space.

    Attributes
    ----------
    space : OptionSpace
        Options and response sets; fully specified or not.
    epsilon, eta : float
        Rater error and its skew; see `error_matrix`.
    gamma_human, gamma_judge : float
        Strength of forced-choice selection effects; see `selection_matrix`.
    n_items, n_judges : int
        How many are drawn.
    sigma : (float, float)
        Least and greatest deviation of a judge from the raters.
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
        """The option by which items are decided."""
        return self.space.options[0]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Population:
    """Distributions in the limit of infinitely many ratings.

    Attributes
    ----------
    scenario : Scenario
        From which it was drawn.
    E : (V, V) array
        Rater error.
    F_human : (K, V) array
        How the raters' sets become choices.
    stable : Distributions
        Of the raters without error: theta*, and what F would make of it.
    human : Distributions
        Of the raters as observed.
    judges : Distributions
        J * n rows: the items of the first judge, then of the second, and so on.
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
    """Estimates from a finite number of ratings, rows as in `Population`."""

    human: Distributions
    judges: Distributions

    def __repr__(self) -> str:
        return f"Sample({self.human!r})"


def selection_matrix(space: OptionSpace, gamma: float) -> FloatArray:
    """Return F (K, V) for raters whose choice from a set decays in the options' order.

    F[k, v] is proportional to exp(-gamma r), r the rank of option k in set v, 0 for the option that
    is named first (Guerdan et al. 2025, section 6). Positive gamma: options that come first are
    chosen more often; 0: all alike.
    """
    ranks = space.membership.cumsum(axis=0) - 1
    last = space.membership.sum(axis=0) - 1
    exponent = -gamma * ranks - max(0.0, -gamma) * last  # at most 0: no overflow
    weights = np.where(space.membership, np.exp(np.minimum(exponent, 0.0)), 0.0)
    return np.asarray(weights / weights.sum(axis=0), dtype=np.float64)


def gamma_for(space: OptionSpace, Gamma: float) -> float:
    """Find the strength at which the first option is chosen Gamma times as often as chance.

    Raises
    ------
    ValueError
        If no strength does; the message says which Gamma can be had. Two options reach 1.5 at most.
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
    """Move each row to the nearest probability distribution: (..., V) to (..., V).

    Euclidean projection onto the simplex: what is above a common level is kept, the level being
    such that it sums to 1.
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

    theta* is uniform on the simplex; a judge's theta is theta* with normal noise, projected back.
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
    """Draw a few ratings of every item and estimate the distributions from them.

    ``n_ratings`` counts human forced choices per item, and pairs per calibration item;
    ``n_samples`` calls of each elicitation per judge and item; ``n_calibration`` further items on
    which humans gave both a set and a choice.

    O is counted, and so is the judges' theta. The humans' theta is F' O, F' counted on the
    calibration items: nothing of the true F, E or theta is used. nan where an item was given an
    option that no calibration pair holds. This is the estimator of Guerdan et al. 2025, appendix
    D.1, with F' estimated rather than known. E is not identified from single ratings, so omega is
    that of the raters as observed.
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
    """Scale rows to sum to 1 whatever rounding left, as the multinomial draw insists on."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRow:
    """One value of an experiment.

    Attributes
    ----------
    quantity : str
        What is measured.
    scenario : str
        The setting.
    metric : str
        By which judges were selected or ranked; "" if no judge is.
    n_ratings : int or None
        Human ratings per item; None for infinitely many.
    tau : float
        Cut-off.
    value, standard_error : float or None
        Mean over the populations and its error; None if undefined.
    n_populations : int
        Populations in which it is defined.
    """

    quantity: str
    scenario: str
    metric: str
    n_ratings: int | None
    tau: float
    value: float | None
    standard_error: float | None
    n_populations: int


Values: TypeAlias = dict[tuple[str, str], float]  # by quantity and metric; nan where undefined
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
    """Measure populations of each scenario, the same ones for every number of ratings.

    ``measure`` takes a population, the number of ratings (None for infinitely many), an rng for
    them and the cut-offs; it returns the values at each cut-off. The seed determines everything:
    each scenario and population has its own stream, so that adding one changes no other. Rows come
    by scenario, number of ratings, cut-off, and quantity and metric as they are measured.
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
    """Return the mean over cut-offs and its standard error; None if undefined.

    The error is at most the mean of theirs, as if the cut-offs of a population erred alike.
    """
    values = [row.value for row in rows if row.value is not None]
    errors = [row.standard_error for row in rows if row.standard_error is not None]
    if not values:
        return None, None
    known = len(errors) == len(values)
    return sum(values) / len(values), sum(errors) / len(errors) if known else None

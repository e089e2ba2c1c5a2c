"""Populations of raters and judges drawn from the rating model, and samples of their ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats import (
    Distributions,
    OptionSpace,
)
from harness.stats.data.arrays import FloatArray, IntArray, frozen, ratio
from harness.stats.indeterminacy.rater_error import error_matrix, selection_effect

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

    def __post_init__(self) -> None:
        if self.n_items < 1 or self.n_judges < 1:
            raise ValueError(f"{self.n_items} items, {self.n_judges} judges; wanted 1 or more each")
        if not 0.0 <= self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma is {self.sigma}; wanted 0 <= least <= greatest")

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
    F_human, F_judge : (K, V) arrays
        How sets become choices.
    Gamma_human, Gamma_judge : float
        The selection effects as `selection_effect` measures them.
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
    F_judge: FloatArray
    Gamma_human: float
    Gamma_judge: float
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
    """Return F for raters whose choice from a set decays exponentially in the options' order.

    Parameters
    ----------
    space : OptionSpace
        The option named first in a set has rank 0 there.
    gamma : float
        Positive: options that come first are chosen more often; negative: less; 0: all alike.

    Returns
    -------
    F : (K, V) array
        F[k, v] proportional to exp(-gamma r), r the rank of option k in set v.

    Notes
    -----
    Guerdan et al. 2025, section 6.
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
    if not least < Gamma < most:
        raise ValueError(f"Gamma is {Gamma!r}; {space!r} allows {least:.3g} to {most:.3g}")
    return float(brentq(gap, -STEEPEST, STEEPEST))


def project(points: FloatArray) -> FloatArray:
    """Move each row to the nearest probability distribution: (..., V) to (..., V).

    Notes
    -----
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
    """Draw raters and judges.

    Parameters
    ----------
    scenario : Scenario
        The setting.
    rng : numpy Generator
        Draws theta*, the judges' deviations and their perturbations.

    Returns
    -------
    Population
        theta* is uniform on the simplex; a judge's theta is theta* with normal noise, projected
        back. Judges make no errors.

    Notes
    -----
    Guerdan et al. 2025, section 6 and appendix D.1.
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
        F_judge=frozen(F_judge),
        Gamma_human=float(selection_effect(F_human, space, option=scenario.option)),
        Gamma_judge=float(selection_effect(F_judge, space, option=scenario.option)),
        stable=_population_distributions(space, theta, F_human),
        human=_population_distributions(space, theta @ E.T, F_human),
        judges=_population_distributions(space, judged, F_judge),
    )


def _population_distributions(
    space: OptionSpace, theta: FloatArray, F: FloatArray
) -> Distributions:
    n_ratings = np.full(len(theta), MANY)
    omega = np.minimum(theta @ space.membership.T, 1.0)
    return Distributions(
        space=space, O=theta @ F.T, theta=theta, omega=omega, n_forced=n_ratings, n_sets=n_ratings
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

    Parameters
    ----------
    population : Population
        Who rates.
    n_ratings : int
        Human forced choices per item, and pairs per calibration item.
    rng : numpy Generator
        Draws the ratings.
    n_samples : int, optional
        Calls of each elicitation per judge and item.
    n_calibration : int, optional
        Further items on which humans gave both a set and a choice.

    Returns
    -------
    Sample
        O by counting. The judges' theta by counting their response sets. The humans' theta as F' O,
        F' counted on the calibration items: nothing of the true F, E or theta is used. nan where an
        item was given an option that no calibration pair holds.

    Notes
    -----
    The estimator of Guerdan et al. 2025, appendix D.1, with F' estimated rather than known. E is
    not identified from single ratings, so omega is that of the raters as observed.
    """
    if n_ratings < 1 or n_samples < 1 or n_calibration < 1:
        raise ValueError("n_ratings, n_samples and n_calibration must each be 1 or more")
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
        _estimated(space, O, theta, n_ratings),
        _counted(space, called, endorsed, n_samples),
    )


def _counted(space: OptionSpace, called: IntArray, endorsed: IntArray, n: int) -> Distributions:
    return _estimated(space, called / n, endorsed / n, n)


def _estimated(space: OptionSpace, O: FloatArray, theta: FloatArray, n: int) -> Distributions:
    ratings = np.full(len(O), float(n))
    omega = np.minimum(theta @ space.membership.T, 1.0)
    return Distributions(
        space=space, O=O, theta=theta, omega=omega, n_forced=ratings, n_sets=ratings
    )


def _safe(rows: FloatArray) -> FloatArray:
    """Scale rows to sum to 1 whatever rounding left, as the multinomial draw insists on."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)

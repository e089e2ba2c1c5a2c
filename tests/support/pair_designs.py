"""Raters with one F for all and response sets that differ by item (Guerdan et al. 2025).

Two options, T (positive) and N; sets {T}, {N} and {T, N}. A rater with {T, N} chooses T with the
chance `CHOICE`. `draw` makes rating tables of them, with pairs on some items, and of two judges:
``wide`` answers with the raters' sets and noise, ``narrow`` names one option in three quarters of
the cases in which a rater accepts both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.stats import binom

from harness import stats
from harness.stats.data.forms import Cut

if TYPE_CHECKING:
    from collections.abc import Callable

Judging: TypeAlias = "Callable[[np.random.Generator, np.ndarray], dict[str, np.ndarray]]"
SPACE = stats.OptionSpace.powerset(("T", "N"))
SPREAD = np.array([0.6, 1.2, 0.8])  # of the Dirichlet distribution of an item's sets
CHOICE = 0.25  # chance that a rater who accepts both chooses T
F = np.array([[1.0, 0.0, CHOICE], [0.0, 1.0, 1.0 - CHOICE]])
CUT = Cut(0.5, ("T",))
NAMED_BY_NEAR = 0.37
NAMED = 0.75  # share of {T, N} in which `narrow` names one option
N_CHOICES = N_REPLIES = 5


def draw_theta(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw (n, 3) distributions of response sets."""
    return rng.dirichlet(SPREAD, n)


def judged(rng: np.random.Generator, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the (n, 3) distributions of the sets that each judge answers with."""
    return {"wide": _noisy(rng, theta), "narrow": _naming(theta, NAMED)}


def judged_alike(rng: np.random.Generator, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the same of ``wide`` and of a judge ``near``: .05 fewer of its decisions are right."""
    return {"wide": _noisy(rng, theta), "near": _noisy(rng, _naming(theta, NAMED_BY_NEAR))}


def judged_the_same(rng: np.random.Generator, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the same of ``wide`` and of a judge ``equal`` with noise of its own."""
    return {"wide": _noisy(rng, theta), "equal": _noisy(rng, theta)}


def _noisy(rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
    noisy = rng.gamma(10.4 * theta + 0.2)
    return noisy / noisy.sum(axis=1, keepdims=True)


def _naming(theta: np.ndarray, share: float) -> np.ndarray:
    named = theta[:, 2:] * share
    return theta + np.hstack([CHOICE * named, (1 - CHOICE) * named, -named])


@dataclass(frozen=True)
class Figures:
    """How good a judge is.

    Attributes
    ----------
    mse : float
        Of endlessly many raters and replies.
    bias : float
        Of the prevalence, of the same.
    consistency : float
        Share of decisions alike, of five raters' sets and five replies.
    by_choices : float
        The same where the raters' sets are those of one F', at the true beta, from five choices.
    mse_by_choices : float
        Of the Omega that one F' makes of endlessly many choices.
    population : float
        Share of decisions alike, of endlessly many raters and five replies.
    """

    mse: float
    bias: float
    consistency: float
    by_choices: float
    mse_by_choices: float
    population: float


def figures(n: int, seed: int = 0, judging: Judging = judged) -> dict[str, Figures]:
    """Return what holds of n items, which stand for all."""
    rng = np.random.default_rng(seed)
    theta = draw_theta(rng, n)
    omega, numbers = theta @ SPACE.membership.T, np.arange(N_CHOICES + 1)
    joint = (F * theta.mean(axis=0)).T  # (3, 2): of sets and choices, over all items
    implied_omega = theta @ F.T @ (joint / joint.sum(axis=0)).T @ SPACE.membership.T
    truth, rated = omega[:, 0] >= CUT.tau, decided(omega[:, 0])
    pooled = 0.75 * SPREAD[2] / (SPREAD[1] + 0.75 * SPREAD[2])  # the true beta
    implied = numbers / N_CHOICES + pooled * (1 - numbers / N_CHOICES) >= CUT.tau
    translated = implied @ binom.pmf(numbers[:, None], N_CHOICES, (theta @ F.T)[:, 0])
    by_judge = {}
    for name, of_judge in judging(rng, theta).items():
        shares = of_judge @ SPACE.membership.T
        answers = decided(shares[:, 0])
        by_judge[name] = Figures(
            mse=float(((shares - omega) ** 2).sum(axis=1).mean()),
            bias=float(np.mean(shares[:, 0] >= CUT.tau) - truth.mean()),
            consistency=alike(answers, rated),
            by_choices=alike(answers, translated),
            mse_by_choices=float(((shares - implied_omega) ** 2).sum(axis=1).mean()),
            population=alike(answers, truth),
        )
    return by_judge


def decided(shares: np.ndarray, n: int = N_REPLIES) -> np.ndarray:
    """Return (n,): the chance that so many answers reach the cut-off."""
    return binom.sf(np.ceil(CUT.tau * n - 1e-9) - 1, n, shares)


def alike(first: np.ndarray, second: np.ndarray) -> float:
    """Return the chance that two independent decisions are the same, averaged over items."""
    return float(np.mean(first * second + (1 - first) * (1 - second)))


def raters(
    rng: np.random.Generator,
    theta: np.ndarray,
    *,
    n_paired: int = 100,
    n_pairs: int = 1,
    n_choices: int = N_CHOICES,
) -> stats.RatingTable:
    """Draw choices of each item, and pairs of the first raters of some: the first items."""
    n = len(theta)
    pairs = np.zeros((n, 2, 3), int)
    cells = (F[None] * theta[:n_paired, None, :]).reshape(-1, 6)
    pairs[:n_paired] = rng.multinomial(n_pairs, cells).reshape(-1, 2, 3)
    others = n_choices - pairs.sum(axis=(1, 2))
    return table("human", pairs.sum(axis=2) + rng.multinomial(others, theta @ F.T), pairs)


def table(
    name: str,
    choices: np.ndarray,
    pairs: np.ndarray | None = None,
    sets: np.ndarray | None = None,
) -> stats.RatingTable:
    """Make a table of (n, 2) choices, (n, 2, 3) pairs among them, and (n, 3) sets."""
    n = len(choices)
    empty = np.zeros((n, 3), int) if pairs is None else pairs.sum(axis=1)
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(f"i{i}" for i in range(n)),
        forced_choice=choices,
        response_set=empty if sets is None else sets,
        joint=pairs,
        outcomes=np.zeros((n, 3, 5), int),
    )


def judge_tables(
    rng: np.random.Generator, theta: np.ndarray, judging: Judging = judged
) -> dict[str, stats.RatingTable]:
    """Draw the replies of the judges: response sets alone."""
    none = np.zeros((len(theta), 2), int)
    return {
        name: table(name, none, sets=rng.multinomial(N_REPLIES, of_judge))
        for name, of_judge in judging(rng, theta).items()
    }


# Two populations with the same law of choices and pairs. P(Omega >= .8) is 1/7 and 2/7.


def narrow_spread(t: np.ndarray) -> np.ndarray:
    """Return sets, (n, 3), of items with (n,) t in [.2, .55]: .3 of the raters accept both."""
    return np.stack([t, 0.7 - t, np.full_like(t, 0.3)], axis=1)


def wide_spread(t: np.ndarray) -> np.ndarray:
    """Return sets, (2 n, 3), half of the items with .1 and half with .5 who accept both.

    The chance to choose T is that of `narrow_spread`, and so is the mean of the sets given it.
    """
    both = np.repeat([0.1, 0.5], len(t))
    only = np.tile(t, 2) + CHOICE * (0.3 - both)
    return np.stack([only, 1.0 - only - both, both], axis=1)


def law_of_data(theta: np.ndarray, weights: np.ndarray, n_choices: int) -> np.ndarray:
    """Return (2, 3, n_choices): the chance of a pair and of how many others choose T.

    Weights are those of the (n, 3) items.
    """
    k = np.arange(n_choices)
    others = binom.pmf(k, n_choices - 1, (theta @ F.T)[:, :1])
    return np.einsum("n,kv,nv,nx->kvx", weights / weights.sum(), F, theta, others)

"""Sharp bounds on shares at a cut-off from moments of choices and pairs, by linear programming.

For an item, O is the probability of a positive choice, and h the probability of a negative choice
by a rater who would also accept a positive option, so that Omega is O + h. Over items, (O, h) has
an unknown distribution on the triangle O, h >= 0, O + h <= 1. Choices show how often k of m are
positive, which is the mean of the Bernstein polynomial B(k, m) at O. Pairs show the mean of h B(k,
m - 1). If a polynomial phi of these is nowhere below w 1[O + h >= tau], its mean bounds the mean of
that indicator times w, without a model or an F. The smallest such mean is the bound. By duality, it
is attained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.inference.special_functions import binom

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

N_NODES, N_CHECKED = 100, 1_000  # values of O in the program, and for checking phi
LARGEST = 50.0  # largest coefficient, apart from the constant


@dataclass(frozen=True, slots=True, repr=False)
class Majorant:
    """A polynomial phi(O, h) that is at least w 1[O + h >= tau] everywhere.

    Attributes
    ----------
    of_choices : (m + 1,) array
        Contribution of an item with k of m positive choices.
    of_pairs : (m,) array
        Contribution of a pair whose choice hides a positive option, if k of m - 1 other choices are
        positive.
    """

    of_choices: FloatArray
    of_pairs: FloatArray

    def __repr__(self) -> str:
        return f"Majorant(degree {len(self.of_pairs)})"

    def at(self, O: ArrayLike, h: ArrayLike) -> FloatArray:
        """Evaluate the polynomial at (p,) points."""
        coefficients = np.concatenate([self.of_choices, self.of_pairs])
        chances, hidden = np.asarray(O, dtype=np.float64), np.asarray(h, dtype=np.float64)
        return np.asarray(_polynomials(chances, hidden, len(self.of_pairs)) @ coefficients)


@dataclass(frozen=True, slots=True, repr=False)
class PolynomialMeans:
    """Means over items of polynomials in choices and pairs, with their standard errors.

    Attributes
    ----------
    choices, pairs : (m + 1,) and (m,) arrays
        Means of B(k, m) at O, and of h times B(k, m - 1).
    choice_errors, pair_errors : arrays of the same shapes
        Standard errors of the values that phi is evaluated with.
    """

    choices: FloatArray
    pairs: FloatArray
    choice_errors: FloatArray
    pair_errors: FloatArray

    def __repr__(self) -> str:
        return f"PolynomialMeans(degree {len(self.pairs)})"


def bernstein(chances: FloatArray, m: int) -> FloatArray:
    """Return (p, m + 1) probabilities of k positive choices out of m, given p probabilities."""
    k = np.arange(m + 1)
    powers = chances[:, None] ** k * (1.0 - chances[:, None]) ** (m - k)
    return np.asarray(binom(m, k) * powers)


def _polynomials(chances: FloatArray, hidden: FloatArray, m: int) -> FloatArray:
    """Evaluate the polynomials for choices and for pairs. The result is (p, 2 m + 1)."""
    return np.hstack([bernstein(chances, m), hidden[:, None] * bernstein(chances, m - 1)])


def least_majorant(
    moments: PolynomialMeans, *, weight: float, tau: float, caution: float
) -> Majorant:
    """Return the polynomial whose mean is the smallest upper bound for w P(Omega >= tau).

    Parameters
    ----------
    moments : PolynomialMeans
        Moments of all items with one weight. They need not be feasible exactly, only up to
        ``caution``.
    weight : float
        w, of either sign. The lower bound is the negated upper bound for -w.
    tau : float in (0, 1]
        The cut-off.
    caution : float, at least 0
        Number of standard errors by which each moment may be wrong, which is the cost of a
        coefficient. At 0, with the moments of all items, the mean of phi is the sharp bound.

    Notes
    -----
    phi is linear in h, so for each O it suffices to check the smallest and largest h on both sides
    of the cut-off. If phi falls short between the nodes of the program, its constant is raised by
    the maximum shortfall.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 -- takes a while to load

    m = len(moments.pairs)
    wanted, at_nodes = _wanted(tau, weight, N_NODES), _at_nodes(m, tau, N_NODES)
    means = np.concatenate([moments.choices, moments.pairs])
    cost = caution * np.concatenate([moments.choice_errors, moments.pair_errors])
    solution = linprog(
        np.concatenate([[1.0], means + cost, cost - means]),
        A_ub=-np.hstack([np.ones((len(wanted), 1)), at_nodes, -at_nodes]),
        b_ub=-wanted,
        bounds=[(None, None), *[(0.0, LARGEST)] * (2 * len(means))],
    )
    if solution.x is None:
        return no_majorant(m, weight)
    coefficients = solution.x[1 : 1 + len(means)] - solution.x[1 + len(means) :]
    coefficients[: m + 1] += solution.x[0]
    short = (_wanted(tau, weight, N_CHECKED) - _at_nodes(m, tau, N_CHECKED) @ coefficients).max()
    coefficients[: m + 1] += max(float(short), 0.0)
    return Majorant(frozen(coefficients[: m + 1]), frozen(coefficients[m + 1 :]))


def no_majorant(m: int, weight: float) -> Majorant:
    """Return the bound that holds without any data: w, or 0 if w is negative."""
    return Majorant(np.full(m + 1, max(weight, 0.0)), np.zeros(m))


@lru_cache(maxsize=32)
def _at_nodes(m: int, tau: float, n_nodes: int) -> FloatArray:
    chances, hidden, _ = _nodes(tau, n_nodes)
    return frozen(_polynomials(chances, hidden, m))


def _wanted(tau: float, weight: float, n_nodes: int) -> FloatArray:
    """Return w 1[Omega >= tau] at (p,) points. At the cut-off, use the larger of the two sides."""
    side = _nodes(tau, n_nodes)[2]
    return np.where(side == 0, max(weight, 0.0), np.where(side > 0, weight, 0.0))


@lru_cache(maxsize=32)
def _nodes(tau: float, n_nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return O, h and the side of the cut-off (-1, 0 or 1) for (p,) extreme points of h."""
    chances = np.unique(np.append(np.linspace(0.0, 1.0, n_nodes + 1), tau))
    below = chances[chances <= tau]
    none = np.sign(chances - tau)
    ends = [
        (chances, np.zeros_like(chances), none),
        (below, tau - below, np.zeros_like(below)),
        (chances, 1.0 - chances, np.full_like(chances, np.sign(1.0 - tau))),
    ]
    chances, hidden, side = (frozen(np.concatenate(parts)) for parts in zip(*ends, strict=True))
    return chances, hidden, side

"""Tests that the error among accepted verdicts is at most a given bound.

The null hypothesis is that the mean error of accepted verdicts in the population is above the
bound. Errors of 0 or 1 on independent items are tested with an exact binomial test (Angelopoulos,
Bates, Candès, Jordan and Lei, Learn then Test, 2021, whose p-values need only be valid under the
null). Other errors are tested by betting: the capital of a bettor who stakes a share of it on each
error being below the bound is a nonnegative supermartingale under the null (Waudby-Smith and
Ramdas, Estimating means of bounded random variables by betting, Journal of the Royal Statistical
Society B, 2024), here with a mixture of fixed bets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from harness.stats.inference.special_functions import bdtr

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

RiskMethod: TypeAlias = Literal["binomial", "betting"]
MOST_ROUNDED = 0.2  # share of the bound that rounding may add to the mean error
BETS = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])  # shares of the largest bet


@dataclass(frozen=True, slots=True)
class RiskTest:
    """Tests of whether the mean error of accepted items is within a bound.

    Attributes
    ----------
    errors : (n,) array in [0, 1]
        Error of the verdict on each item.
    units : (n,) array of int
        The group of each item, or a separate number. Bets follow the order of these numbers, which
        must not depend on the errors.
    bound : float in (0, 1)
        Bound on the mean error.
    method : {"binomial", "betting"}
        The test: exact for errors of 0 or 1 on independent items.
    """

    errors: FloatArray
    units: IntArray
    bound: float
    method: RiskMethod

    @classmethod
    def of(cls, errors: FloatArray, units: IntArray, bound: float) -> Self:
        """Return the test that suits the errors and the units.

        A few errors between 0 and 1, for example from tied raters, are rounded up for the exact
        test if that increases the mean error by at most a fifth of the bound.
        """
        rounded = np.ceil(errors)
        grouped = len(np.unique(units)) < len(units)
        if grouped or (rounded - errors).sum() > MOST_ROUNDED * bound * len(errors):
            return cls(errors, units, bound, "betting")
        return cls(errors, units, bound, "binomial")

    def p_value(self, accepted: BoolArray) -> float:
        """Test the null that accepted items have a mean error above the bound.

        Return the p-value.
        """
        errors = self.errors[accepted]
        if self.method == "binomial":
            return binomial_p(int(np.ceil(errors).sum()), len(errors), self.bound)
        return betting_p(errors, self.units[accepted], self.bound)

    def least_p_value(self, accepted: BoolArray) -> float:
        """Return the p-value that would result if no accepted item had an error."""
        if self.method == "binomial":
            return binomial_p(0, int(accepted.sum()), self.bound)
        units = self.units[accepted]
        return betting_p(np.zeros(len(units)), units, self.bound)

    def mean(self, accepted: BoolArray) -> float | None:
        """Return the mean error of accepted items, or None if there are none."""
        return float(self.errors[accepted].mean()) if accepted.any() else None


def binomial_p(n_errors: int, n: int, bound: float) -> float:
    """Return the probability of at most this many errors in n trials at the bound's error rate.

    Parameters
    ----------
    n_errors, n : int
        Number of errors and of trials; the result is 1.0 without trials.
    bound : float in (0, 1)
        Error rate.
    """
    return float(bdtr(n_errors, n, bound)) if n else 1.0


def betting_p(errors: FloatArray, units: IntArray, bound: float) -> float:
    """Return the p-value for a mean error above the bound, by betting on groups of items.

    A unit's excess is the sum of error minus bound over its items, so that the mean is over items
    whatever the sizes of units. The p-value is the inverse of the maximum capital (Ville's
    inequality).

    Parameters
    ----------
    errors : (n,) array in [0, 1]
        Errors of accepted items.
    units : (n,) array of int
        Groups of the items, numbered in the order of the bets.
    bound : float in (0, 1)
        Bound on the mean error.
    """
    if not len(errors):
        return 1.0
    _, place = np.unique(units, return_inverse=True)
    excess = np.bincount(place, weights=errors - bound)
    largest = np.bincount(place).max() * (1.0 - bound)
    capital = np.exp(np.log1p(-np.outer(excess / largest, BETS)).cumsum(axis=0)).mean(axis=1)
    return float(min(1.0, 1.0 / capital.max()))

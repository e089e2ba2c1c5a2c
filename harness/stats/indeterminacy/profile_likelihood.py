"""Profile likelihood for the share of hidden sets among negative choices."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray

PRECISION = 1e-4  # of an interval's end


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ShareProfile:
    """The likelihood of beta = A / (A + B), with A = exposure @ chances.

    Attributes
    ----------
    height : callable
        ``chances (H,) -> (log-likelihood, its slopes (H,))``.
    chances : (H,) array in [0, 1]
        Maximum of the log-likelihood: P(a negative option is chosen) given each hidden set.
    exposure : (H,) array
        Number of times each of these sets occurs.
    others : float
        B: negative choices by those who accepted no positive option.
    inflation : float
        Variance of beta, divided by the variance from the curvature along ``chances``; at least 1.
    """

    height: Callable[[FloatArray], tuple[float, FloatArray]]
    chances: FloatArray
    exposure: FloatArray
    others: float
    inflation: float

    def ends(self, level: float) -> tuple[float, float]:
        """Return the smallest and largest beta that the likelihood does not reject.

        Notes
        -----
        Twice the difference of log-likelihoods, each the greatest at its beta, is compared with the
        quantile of a chi-squared variable with one degree of freedom times ``inflation``.
        """
        from scipy.optimize import brentq  # noqa: PLC0415 -- takes a while to load

        A = float(self.exposure @ self.chances)
        value, top = self._share(A), self._share(float(self.exposure.sum()))
        limit = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2 * self.inflation
        best = self.height(self.chances)[0]

        def excess(beta: float) -> float:
            return 2.0 * (best - self._greatest(beta)) - limit

        low, high = TOLERANCE, top - TOLERANCE
        if value <= low or excess(low) <= 0:
            low = 0.0
        else:
            low = float(brentq(excess, low, value, xtol=PRECISION))
        if value >= high or excess(high) <= 0:
            high = top
        else:
            high = float(brentq(excess, value, high, xtol=PRECISION))
        return low, high

    def _share(self, A: float) -> float:
        return A / (A + self.others)

    def _greatest(self, beta: float) -> float:
        """Return the maximum log-likelihood at this beta."""
        from scipy.optimize import (  # noqa: PLC0415 -- takes a while to load
            LinearConstraint,
            minimize,
        )

        wanted, A = self.others * beta / (1.0 - beta), float(self.exposure @ self.chances)
        if len(self.chances) == 1:
            return self.height(np.minimum(wanted / self.exposure, 1.0))[0]

        def depth(chances: FloatArray) -> tuple[float, FloatArray]:
            height, slopes = self.height(chances)
            return -height, -slopes

        alike = np.full(len(self.exposure), wanted / self.exposure.sum())
        start = self.chances * (wanted / A) if A > TOLERANCE else alike
        bounds = [(0.0, 1.0)] * len(start)
        optimum = minimize(
            depth,
            np.clip(start, 0.0, 1.0),
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=LinearConstraint(self.exposure, wanted, wanted),
        )
        return -float(optimum.fun)

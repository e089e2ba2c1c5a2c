"""The lowest confidence at which verdicts can be accepted, from tests in a fixed sequence.

Angelopoulos, Bates, Candès, Jordan and Lei, Learn then Test: Calibrating predictive algorithms to
achieve risk control (2021): thresholds are tested from a strict one to looser ones, and the first
one that is not significant ends the sequence. Several starts can share alpha. Each start then
passes its share from one threshold to the next, as long as all are significant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.trust.risk_tests import RiskTest

N_STEPS = 20  # at most this many thresholds, each accepting a twentieth more items
HALF = 0.5  # share of the items that the second start accepts


def candidate_thresholds(confidence: FloatArray) -> FloatArray:
    """Return (t,) thresholds, strictest first, in steps of a twentieth of the items.

    Parameters
    ----------
    confidence : (n,) array
        Confidence of each verdict; nan if there is none. Errors are not used.
    """
    ordered = -np.sort(-confidence[~np.isnan(confidence)])
    if not len(ordered):
        return ordered
    places = np.ceil(len(ordered) * np.arange(1, N_STEPS + 1) / N_STEPS).astype(np.int64) - 1
    return np.asarray(np.unique(ordered[places])[::-1])


@dataclass(frozen=True, slots=True)
class ThresholdTests:
    """Tests of confidence thresholds on rated items.

    Attributes
    ----------
    confidence : (n,) array
        Confidence of each verdict; nan if there is none, which is never accepted.
    thresholds : (t,) array
        Thresholds, strictest first. They must not depend on the errors of these items.
    test : RiskTest
        Test on the same items.
    """

    confidence: FloatArray
    thresholds: FloatArray
    test: RiskTest

    def accepted(self, place: int) -> BoolArray:
        """Return an (n,) mask of the items that a threshold accepts."""
        return np.asarray(self.confidence >= self.thresholds[place])

    def first_testable(self, alpha: float) -> int | None:
        """Return the strictest threshold that would be significant without accepted errors.

        For independent errors of 0 or 1, it is the first with ln(alpha) / ln(1 - bound) items.
        """
        for place in range(len(self.thresholds)):
            if self.test.least_p_value(self.accepted(place)) <= alpha:
                return place
        return None

    def two_starts(self, alpha: float) -> dict[int, float]:
        """Return alpha by start: the first testable threshold, and one that accepts half.

        If the second is not later than the first, there is only one start.
        """
        answered = (~np.isnan(self.confidence)).sum()
        shares = [self.accepted(place).sum() / answered for place in range(len(self.thresholds))]
        half = next((place for place, share in enumerate(shares) if share >= HALF), None)
        first = self.first_testable(alpha / 2.0)
        if half is None or first is None or half <= first:
            first = self.first_testable(alpha)
            return {} if first is None else {first: alpha}
        return {first: alpha / 2.0, half: alpha / 2.0}

    def loosest(self, alphas: Mapping[int, float]) -> int | None:
        """Return the index of the loosest significant threshold, or None if there is none.

        Parameters
        ----------
        alphas : mapping of int to float
            The alpha of each start, by its index. Their sum bounds the probability that the error
            at the returned threshold exceeds the bound.
        """
        carried, loosest = 0.0, None
        for place in range(min(alphas, default=0), len(self.thresholds)):
            alpha = carried + alphas.get(place, 0.0)
            significant = alpha > 0.0 and self.test.p_value(self.accepted(place)) <= alpha
            carried, loosest = (alpha, place) if significant else (0.0, loosest)
            if not carried and place >= max(alphas, default=0):
                break
        return loosest

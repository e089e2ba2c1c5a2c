"""Selection of verdicts that people need not check, using the best confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from harness.stats.trust.combined_confidence import CombinedConfidence
from harness.stats.trust.fixed_sequence import ThresholdTests, candidate_thresholds
from harness.stats.trust.risk_tests import RiskMethod, RiskTest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

NothingAccepted: TypeAlias = Literal["", "too_few_items", "error_not_shown"]
COMBINED = "combined"
ALIKE = "all_alike"  # name of the confidence if verdicts have none


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TrustedVerdicts:
    """Accepted verdicts, with the evidence.

    Attributes
    ----------
    accepted : (n,) bool array
        Whether each verdict is accepted, in the order of the items; none without evidence.
    confidence : (n,) array
        Confidence to compare with the threshold; nan if there is none.
    signal : str
        Name of the confidence: one of the arguments, ``combined``, or ``all_alike`` without any.
    threshold : float or None
        The lowest confidence of an accepted verdict; None if none is accepted.
    n_tested, n_tested_accepted : int
        Number of rated items in the deciding tests, and of those that the threshold accepts.
    error : float or None
        Mean error of the accepted rated items; None if there are none.
    method : {"binomial", "betting"}
        The test.
    reason : str
        Reason if no verdict is accepted: ``too_few_items`` or ``error_not_shown``; "" otherwise.
    chosen_on : int
        Number of rated items for selecting the confidence; 0 if there was only one.
    combined : CombinedConfidence or None
        The combination, if that is the confidence.
    """

    accepted: BoolArray
    confidence: FloatArray
    signal: str
    threshold: float | None
    n_tested: int
    n_tested_accepted: int
    error: float | None
    method: RiskMethod
    reason: NothingAccepted
    chosen_on: int
    combined: CombinedConfidence | None

    def __repr__(self) -> str:
        n, of = int(self.accepted.sum()), len(self.accepted)
        return f"TrustedVerdicts({n} of {of} accepted by {self.signal})"

    def confidence_of(self, signals: Mapping[str, FloatArray], n: int) -> FloatArray:
        """Return (n,) confidences of other verdicts from their signals, or nan without signals."""
        if self.signal == ALIKE:
            return np.zeros(n)
        missing = np.full(n, np.nan)
        if self.combined is not None:
            return self.combined.of(dict.fromkeys(self.combined.weights, missing) | {**signals})
        return signals.get(self.signal, missing)

    def accepts(self, confidence: FloatArray) -> BoolArray:
        """Return an (n,) mask of the verdicts that are accepted with these confidences."""
        lowest = np.inf if self.threshold is None else self.threshold
        return np.asarray(confidence >= lowest, dtype=np.bool_)


def trust_verdicts(
    signals: Mapping[str, FloatArray],
    errors: FloatArray,
    groups: IntArray | None = None,
    *,
    bound: float,
    level: float = 0.95,
    rng: np.random.Generator,
) -> TrustedVerdicts:
    """Select verdicts for which there is evidence that their mean error is within a bound.

    With one confidence, thresholds are tested on all rated items, from two starts. With several,
    half of the rated items (or groups) determine which of them, or which monotone combination,
    accepts most verdicts, and where the sequence starts. The other half is tested.

    Parameters
    ----------
    signals : mapping of str to (n,) array
        Confidences by name, with higher values for more certain verdicts; nan if a verdict has
        none. Without confidences, either all verdicts are accepted or none.
    errors : (n,) array in [0, 1]
        Error of each verdict; nan if nobody rated the item or the judge has no answer.
    groups : (n,) array of int, optional
        The group of each item; items are independent by default.
    bound : float in (0, 1)
        Bound on the mean error of accepted verdicts.
    level : float in (0, 1)
        Probability that the mean error in the population is within the bound, if any verdicts are
        accepted.
    rng : numpy.random.Generator
        Splits the items, and orders the bets.

    Raises
    ------
    ValueError
        If an error, the bound or the level is out of range.
    """
    if not (0.0 < bound < 1.0 and 0.0 < level < 1.0):
        raise ValueError(f"bound {bound} and level {level} must be between 0 and 1")
    if (errors < 0.0).any() or (errors > 1.0).any():
        raise ValueError("an error is outside [0, 1]")
    signals = signals or {ALIKE: np.zeros(len(errors))}
    units = _shuffled_units(np.arange(len(errors)) if groups is None else groups, rng)
    rule = _Rule(bound, 1.0 - level)
    if len(signals) > 1:
        return _by_halves(signals, errors, units, rule)
    [(name, confidence)] = signals.items()
    rated = np.flatnonzero(~np.isnan(errors))
    test = RiskTest.of(errors[rated], units[rated], bound)
    tests = ThresholdTests(confidence[rated], candidate_thresholds(confidence[rated]), test)
    return _result(name, confidence, tests, tests.two_starts(rule.alpha))


class _Rule(NamedTuple):
    """The claim to test: a bound on the mean error, and the probability of a false claim."""

    bound: float
    alpha: float


def _shuffled_units(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Return each item's group number, with the groups numbered in random order."""
    names, place = np.unique(groups, return_inverse=True)
    return np.asarray(rng.permutation(len(names))[place])


def _by_halves(
    signals: Mapping[str, FloatArray], errors: FloatArray, units: IntArray, rule: _Rule
) -> TrustedVerdicts:
    """Select a confidence on half of the units, and test it on the other half."""
    rated = np.flatnonzero(~np.isnan(errors))
    numbers = np.unique(units[rated])
    is_chosen_on = np.isin(units[rated], numbers[: len(numbers) // 2])
    half, other = rated[is_chosen_on], rated[~is_chosen_on]
    of_half = {name: signal[half] for name, signal in signals.items()}
    combined = CombinedConfidence.fit(of_half, 1.0 - errors[half])
    candidates = {**signals, COMBINED: combined.of(signals)}
    on_half = {
        name: ThresholdTests(
            confidence[half],
            candidate_thresholds(confidence[half]),
            RiskTest.of(errors[half], units[half], rule.bound),
        )
        for name, confidence in candidates.items()
    }
    name = max(on_half, key=lambda candidate: _acceptance(on_half[candidate], rule.alpha))
    tests = ThresholdTests(
        candidates[name][other],
        on_half[name].thresholds,
        RiskTest.of(errors[other], units[other], rule.bound),
    )
    least = tests.first_testable(rule.alpha)
    starts = {} if least is None else {_likeliest(on_half[name], least): rule.alpha}
    return _result(
        name,
        candidates[name],
        tests,
        starts,
        chosen_on=len(half),
        combined=combined if name == COMBINED else None,
    )


def _acceptance(tests: ThresholdTests, alpha: float) -> tuple[float, float]:
    """Return the share that a confidence accepts, and a measure of how well it orders errors."""
    confidence = tests.confidence
    place = tests.loosest(tests.two_starts(alpha))
    share = 0.0 if place is None else float((confidence >= tests.thresholds[place]).mean())
    means = [tests.test.mean(confidence >= threshold) for threshold in tests.thresholds]
    defined = [mean for mean in means if mean is not None]
    return share, -float(np.mean(defined)) if defined else -1.0


def _likeliest(tests: ThresholdTests, least: int) -> int:
    """Return the index of the threshold with the strongest evidence, from ``least`` on."""
    p_values = [
        tests.test.p_value(tests.accepted(place)) for place in range(least, len(tests.thresholds))
    ]
    return least + int(np.argmin(p_values))


def _result(
    name: str,
    confidence: FloatArray,
    tests: ThresholdTests,
    starts: Mapping[int, float],
    *,
    chosen_on: int = 0,
    combined: CombinedConfidence | None = None,
) -> TrustedVerdicts:
    place = tests.loosest(starts)
    threshold = None if place is None else float(tests.thresholds[place])
    lowest = np.inf if threshold is None else threshold
    tested = tests.confidence >= lowest
    return TrustedVerdicts(
        accepted=confidence >= lowest,
        confidence=confidence,
        signal=name,
        threshold=threshold,
        n_tested=len(tests.confidence),
        n_tested_accepted=int(tested.sum()),
        error=tests.test.mean(tested),
        method=tests.test.method,
        reason="" if threshold is not None else "error_not_shown" if starts else "too_few_items",
        chosen_on=chosen_on,
        combined=combined,
    )

"""When a judge abstains: what it gains by it, and whether it depends on what it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.stats.arrays import TOLERANCE, FloatArray, frozen, ratio
from harness.stats.resampling import Units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.arrays import BoolArray, IntArray

N_DRAWS = 9999
_MIN_UNITS = 2  # one unit has no other order


@dataclass(frozen=True, slots=True, repr=False)
class RiskCoverage:
    """Risk of a judge that answers only where its score is high enough.

    Attributes
    ----------
    threshold, answered_fraction, risk : (t,) arrays
        For each different score, from the highest down: share of items that reach it, and share
        of those that are wrong. Equal scores are never split.
    area : float or None
        Mean risk over the answered items, each as the last one admitted (smaller is better); None
        without items.
    reason : str
        "all_abstained" or "no_items" where there is no curve.
    n_used, n_excluded : int
        Items with a label, whether or not they have a score; items without a label.
    """

    threshold: FloatArray
    answered_fraction: FloatArray
    risk: FloatArray
    area: float | None
    reason: str
    n_used: int
    n_excluded: int

    def __repr__(self) -> str:
        return f"RiskCoverage({len(self.threshold)} thresholds, area {self.area})"


def risk_coverage(score: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Trace risk against coverage.

    Parameters
    ----------
    score : (n,) array
        Confidence of each verdict (said, agreement of samples, or log probability): higher is
        surer; nan where the judge did not answer.
    correct : (n,) array in [0, 1]
        Whether, or how probably, the verdict is right; nan where there is no label.

    Raises
    ------
    ValueError
        If the shapes differ or ``correct`` leaves [0, 1].

    Notes
    -----
    Selective prediction as in Rao and Callison-Burch 2026, section 6.3.
    """
    s, right = np.asarray(score, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if s.ndim != 1 or s.shape != right.shape:
        raise ValueError(f"score has shape {s.shape} and correct {right.shape}; wanted (n,)")
    if (right < -TOLERANCE).any() or (right > 1.0 + TOLERANCE).any():
        raise ValueError("correct holds a number outside [0, 1]")
    answered = ~np.isnan(s)
    labelled = ~np.isnan(right) | ~answered
    n_used = int(labelled.sum())
    kept = answered & labelled
    thresholds, place = np.unique(-s[kept], return_inverse=True)
    admitted = np.bincount(place.ravel(), minlength=len(thresholds))
    wrong = np.bincount(place.ravel(), weights=1.0 - right[kept], minlength=len(thresholds))
    n = np.cumsum(admitted)
    risk = ratio(np.cumsum(wrong), n)
    empty = "" if kept.any() else ("all_abstained" if n_used else "no_items")
    return RiskCoverage(
        threshold=frozen(-thresholds),
        answered_fraction=frozen(ratio(n, np.full(len(n), n_used))),
        risk=frozen(risk),
        area=None if empty else float((risk * admitted).sum() / n[-1]),
        reason=empty,
        n_used=n_used,
        n_excluded=len(s) - n_used,
    )


@dataclass(frozen=True, slots=True, repr=False)
class AbstentionTest:
    """Whether abstention depends on a factor.

    Attributes
    ----------
    statistic : float or None
        |Pearson correlation| of abstention with a numeric factor; share of the variance of
        abstention between the values of another one. None where undefined.
    p : float or None
        Share of permutations at least as extreme, the data counted as one of them.
    reason : str
        Why there is no result: "no_items", "constant_abstention", "constant_factor" or
        "nothing_to_permute".
    permuted : {"items", "groups", "items within groups"}
        What was exchanged.
    rates : mapping of str to float
        Abstention rate per value of a factor that is not numeric.
    n_draws, n_used, n_excluded : int
        Permutations; items that entered, and that lack abstention or factor.
    """

    statistic: float | None
    p: float | None
    reason: str
    permuted: Literal["items", "groups", "items within groups"]
    rates: dict[str, float]
    n_draws: int
    n_used: int
    n_excluded: int

    def __repr__(self) -> str:
        return f"AbstentionTest(p {self.p}, permuted {self.permuted})"


def abstention_test(
    abstained: ArrayLike,
    factor: Sequence[str | None] | FloatArray,
    *,
    rng: np.random.Generator,
    groups: Sequence[str | None] | None = None,
    n_draws: int = N_DRAWS,
) -> AbstentionTest:
    """Permutation test of independence between abstaining and a factor.

    Parameters
    ----------
    abstained : (n,) array
        1 where the judge abstained, 0 where not, or the share of its samples that did; nan where
        it was not asked.
    factor : n numbers or n names
        Numbers (an item's difficulty, e.g. the disagreement of its raters): a trend is tested.
        Names (criterion, judge): differences are tested. nan or None where unknown.
    rng : numpy Generator
        Draws the permutations.
    groups : sequence of str or None, optional
        Clusters. A factor that is constant within every group is permuted between whole groups;
        one that varies is permuted within groups. For judges, stack one row per item and judge
        with the item as group.
    n_draws : int, optional
        Permutations.

    Raises
    ------
    ValueError
        If lengths differ or there are no draws.

    Notes
    -----
    What Rao and Callison-Burch 2026 ask for (checklist, 8) before excluded items are taken as
    missing at random.
    """
    y = np.asarray(abstained, dtype=np.float64)
    codes, names, known = _coded(factor, len(y))
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws}; wanted 1 or more")
    units = Units.of(len(y), groups)
    used = ~np.isnan(y) & known
    y, x, of = y[used], codes[used], np.unique(units.of_item[used], return_inverse=True)[1].ravel()
    kind, permuted = _permutation(x, of, groups is not None)
    value = _trend(y) if names is None else _between(y, len(names))
    reason = _why_no_test(y, x, kind, of)
    statistic, p = None, None
    if not reason:
        statistic = value(x)
        drawn = np.array([value(permuted(rng)) for _ in range(n_draws)])
        p = float((1 + (drawn >= statistic - TOLERANCE).sum()) / (1 + n_draws))
    rates = (
        {}
        if names is None
        else {name: float(y[x == k].mean()) for k, name in enumerate(names) if (x == k).any()}
    )
    return AbstentionTest(statistic, p, reason, kind, rates, n_draws, len(y), int((~used).sum()))


def _coded(
    factor: Sequence[str | None] | FloatArray, n: int
) -> tuple[FloatArray, tuple[str, ...] | None, BoolArray]:
    array = np.asarray(factor)
    if array.shape != (n,):
        raise ValueError(f"factor has shape {array.shape} for {n} items; wanted ({n},)")
    if array.dtype.kind in "buif":
        numbers = array.astype(np.float64)
        return numbers, None, np.asarray(~np.isnan(numbers), dtype=np.bool_)
    known = np.array([one is not None for one in array], dtype=np.bool_)
    names, codes = np.unique(array[known].astype(str), return_inverse=True)
    filled = np.zeros(n)
    filled[known] = codes.ravel()
    return filled, tuple(names.tolist()), known


def _why_no_test(y: FloatArray, x: FloatArray, kind: str, of: IntArray) -> str:
    if not y.size:
        return "no_items"
    if np.ptp(y) <= TOLERANCE:
        return "constant_abstention"
    if np.ptp(x) <= TOLERANCE:
        return "constant_factor"
    sizes = np.bincount(of)
    few = len(sizes) < _MIN_UNITS if kind == "groups" else False
    return "nothing_to_permute" if few else ""


def _trend(y: FloatArray) -> Callable[[FloatArray], float]:
    y = y - y.mean() if y.size else y
    scale = float(np.sqrt((y**2).sum()))

    def value(x: FloatArray) -> float:
        x = x - x.mean()
        return abs(float(y @ x) / (scale * float(np.sqrt((x**2).sum()))))

    return value


def _between(y: FloatArray, n_names: int) -> Callable[[FloatArray], float]:
    y = y - y.mean() if y.size else y
    total = float((y**2).sum())

    def value(x: FloatArray) -> float:
        codes = x.astype(np.int64)
        sums = np.bincount(codes, weights=y, minlength=n_names)
        sizes = np.bincount(codes, minlength=n_names)
        return float(np.nansum(ratio(sums**2, sizes))) / total

    return value


def _permutation(
    x: FloatArray,
    of: IntArray,
    grouped: bool,  # noqa: FBT001 -- private
) -> tuple[
    Literal["items", "groups", "items within groups"], Callable[[np.random.Generator], FloatArray]
]:
    if not grouped:
        return "items", lambda rng: rng.permutation(x)
    first = np.zeros(int(of.max(initial=-1)) + 1)
    first[of] = x
    if (first[of] == x).all():
        return "groups", lambda rng: rng.permutation(first)[of]
    order = np.argsort(of, kind="stable")

    def within(rng: np.random.Generator) -> FloatArray:
        shuffled = np.lexsort((rng.random(len(of)), of))
        drawn = np.empty_like(x)
        drawn[order] = x[shuffled]
        return drawn

    return "items within groups", within

"""Selective prediction: risk and coverage of a judge that abstains, and tests of dependence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, IntArray, frozen, ratio
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.cluster_robust import ClusterMean, cluster_mean
from harness.stats.inference.permutation import sums_between, sums_within, tabled_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, IntArray


Permuted: TypeAlias = Literal["items", "groups", "items within groups"]
N_DRAWS = 9999
ROUNDING = 1e-9  # a permutation that gives the same statistic may differ in its last digits
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
    permuted: Permuted
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
    codes, names, present = _coded(factor, len(y))
    if n_draws < 1:
        raise ValueError(f"n_draws is {n_draws}; wanted 1 or more")
    units = Units.of(len(y), groups)
    used = ~np.isnan(y) & present
    y, x, of = y[used], codes[used], np.unique(units.of_item[used], return_inverse=True)[1].ravel()
    kind = _exchangeable(x, of) if groups is not None else "items"
    reason = _why_no_test(y, x, kind, of)
    statistic, p = None, None
    if not reason:
        trial = _Trial.of(y, x, of, numeric=names is None)
        statistic = float(trial.of_the_data()[0])
        drawn = trial.permuted(kind, n_draws, rng)
        p = float((1 + (drawn >= statistic * (1.0 - ROUNDING) - TOLERANCE).sum()) / (1 + n_draws))
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
    present = np.array([value is not None for value in array], dtype=np.bool_)
    names, codes = np.unique(array[present].astype(str), return_inverse=True)
    filled = np.zeros(n)
    filled[present] = codes.ravel()
    return filled, tuple(names.tolist()), present


def _why_no_test(y: FloatArray, x: FloatArray, kind: str, of: IntArray) -> str:
    if not y.size:
        return "no_items"
    if np.ptp(y) <= TOLERANCE:
        return "constant_abstention"
    if np.ptp(x) <= TOLERANCE:
        return "constant_factor"
    sizes = np.bincount(of)
    too_few = len(sizes) < _MIN_UNITS if kind == "groups" else False
    return "nothing_to_permute" if too_few else ""


def _exchangeable(x: FloatArray, of: IntArray) -> Permuted:
    """Whole groups where the factor is theirs, items of a group where it varies inside of it."""
    first = np.zeros(int(of.max(initial=-1)) + 1)
    first[of] = x
    return "groups" if (first[of] == x).all() else "items within groups"


@dataclass(frozen=True, slots=True, repr=False)
class _Trial:
    """What a permutation test compares: centred y, and the place of x among its C values."""

    y: FloatArray
    codes: IntArray
    levels: FloatArray
    of_group: IntArray
    numeric: bool

    @classmethod
    def of(cls, y: FloatArray, x: FloatArray, of: IntArray, *, numeric: bool) -> Self:
        levels, codes = np.unique(x, return_inverse=True)
        return cls(y - y.mean(), codes.ravel(), levels, of, numeric)

    def of_the_data(self) -> FloatArray:
        """Return the statistic of the data as they are: (1,)."""
        return self._of_sums((self.y @ self._held(self.codes))[None])

    def permuted(self, kind: Permuted, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Return the statistic of each permutation: (n_draws,)."""
        if kind == "groups":
            return self._between(n_draws, rng)
        if kind == "items":
            sizes = np.bincount(self.codes, minlength=len(self.levels))
            tabled = tabled_sums(self.y, sizes, n_draws=n_draws, rng=rng)
            if tabled is not None:
                return self._of_sums(tabled @ self.levels[:, None] if self.numeric else tabled)
        of = self.of_group if kind == "items within groups" else np.zeros_like(self.of_group)
        held = self._held(self.codes)
        return self._of_sums(sums_within(self.y, held, of, n_draws=n_draws, rng=rng))

    def _held(self, codes: IntArray) -> FloatArray:
        """Return what y is added up with: the number itself, or a column per name."""
        return self.levels[codes][:, None] if self.numeric else np.eye(len(self.levels))[codes]

    def _of_sums(self, sums: FloatArray) -> FloatArray:
        """Value sums of products with y, where the factor stays in place."""
        sizes = np.bincount(self.codes, minlength=len(self.levels)).astype(np.float64)
        return self._value(sums, sizes @ self._moments() if self.numeric else sizes)

    def _moments(self) -> FloatArray:
        return np.stack([self.levels, self.levels**2], axis=1)

    def _between(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        G = int(self.of_group.max()) + 1
        code = np.zeros(G, dtype=np.int64)
        code[self.of_group] = self.codes
        columns = [
            np.bincount(self.of_group, weights, G) for weights in (self.y, np.ones_like(self.y))
        ]
        held = self._moments()[code] if self.numeric else self._held(code)
        both = sums_between(np.stack(columns, axis=1), held, n_draws=n_draws, rng=rng)
        return self._value(both[:, 0], both[:, 1])

    def _value(self, sums: FloatArray, sizes: FloatArray) -> FloatArray:
        """Turn sums of y, (b, C) by name or (b, 1 or more) times the number, into (b,) values.

        ``sizes`` are the items of each name, or the sums of the number and of its square.
        """
        total = (self.y**2).sum()
        if not self.numeric:
            return np.asarray(np.nan_to_num(ratio(sums**2, sizes)).sum(axis=-1) / total)
        spread = sizes[..., 1] - sizes[..., 0] ** 2 / len(self.y)
        return np.asarray(np.abs(sums[..., 0]) / np.sqrt(total * spread))


N_BINS = 10
NOT_A_PROBABILITY = "not_a_probability"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCurve:
    """Confidence of a judge beside the share of raters who agree with it.

    Attributes
    ----------
    score : str
        What the confidence was read from.
    confidence, agreement : tuple of float
        Means over the items of a bin, from the lowest confidence up.
    n_items : tuple of int
        Items of each bin.
    brier, brier_low, brier_high : float or None
        The squared difference between the confidence and whether a rater agrees, with its interval;
        None without items. 0 is best; a confidence of one half always gives 1/4.
    log_loss : float or None
        The negative log of the confidence in what a rater says; None without items, or where a
        judge is certain and a rater disagrees.
    reason : str
        "no_items" or "not_a_probability" where there is no curve.
    n_used, n_excluded : int
        Items with confidence and agreement; the others.
    """

    score: str
    confidence: tuple[float, ...]
    agreement: tuple[float, ...]
    n_items: tuple[int, ...]
    brier: float | None
    brier_low: float | None
    brier_high: float | None
    log_loss: float | None
    reason: str
    n_used: int
    n_excluded: int


def calibration_curve(
    confidence: ArrayLike,
    agreement: ArrayLike,
    clusters: ArrayLike,
    *,
    score: str = "",
    level: float = 0.95,
    n_bins: int = N_BINS,
) -> CalibrationCurve:
    """Compare confidences with how often raters agree.

    Parameters
    ----------
    confidence : (n,) array in [0, 1]
        Probability that the judge gives its verdict; nan where it gives none.
    agreement : (n,) array in [0, 1]
        Share of the item's raters who agree with the verdict; nan where it has none.
    clusters : (n,) int array
        The group of each item, for the standard errors.
    score : str
        What the confidence was read from.
    level : float
        Of the interval.
    n_bins : int
        Most bins; each holds about as many items as another, and equal confidences share one.

    Returns
    -------
    CalibrationCurve
        Without a curve where a confidence leaves [0, 1].

    Notes
    -----
    The Brier score and the logarithmic score are proper: what a judge believes scores best
    (Gneiting and Raftery 2007). The event is that a rater, drawn at random, agrees: an item adds
    ``(c - a)^2 + a (1 - a)`` and ``-a log c - (1 - a) log(1 - c)``.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(agreement, dtype=np.float64)
    used = ~np.isnan(c) & ~np.isnan(a)
    n_used, n_excluded = int(used.sum()), int((~used).sum())
    c, a, groups = c[used], a[used], np.asarray(clusters)[used]
    outside = bool(((c < -TOLERANCE) | (c > 1.0 + TOLERANCE)).any())
    if outside or not n_used:
        reason = NOT_A_PROBABILITY if outside else "no_items"
        return CalibrationCurve(
            score=score,
            confidence=(),
            agreement=(),
            n_items=(),
            brier=None,
            brier_low=None,
            brier_high=None,
            log_loss=None,
            reason=reason,
            n_used=n_used,
            n_excluded=n_excluded,
        )
    bins = _bins(c, n_bins)
    n_items = np.bincount(bins)
    brier, log_loss = cluster_mean((c - a) ** 2 + a * (1.0 - a), groups), _log_loss(c, a, groups)
    low, high = brier.interval(level) or (None, None)
    return CalibrationCurve(
        score=score,
        confidence=tuple(ratio(np.bincount(bins, weights=c), n_items).tolist()),
        agreement=tuple(ratio(np.bincount(bins, weights=a), n_items).tolist()),
        n_items=tuple(n_items.tolist()),
        brier=brier.mean,
        brier_low=low,
        brier_high=high,
        log_loss=None if log_loss is None else log_loss.mean,
        reason="",
        n_used=n_used,
        n_excluded=n_excluded,
    )


def _bins(confidence: FloatArray, n_bins: int) -> IntArray:
    """Number bins of about equally many items from 0; equal values are never split."""
    _, place, n = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = (np.cumsum(n) - n / 2.0) / len(confidence)
    wanted = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
    _, number = np.unique(wanted, return_inverse=True)
    return np.asarray(number[place.ravel()])


def _log_loss(c: FloatArray, a: FloatArray, clusters: IntArray) -> ClusterMean | None:
    certain_and_wrong = ((c <= 0.0) & (a > 0.0)) | ((c >= 1.0) & (a < 1.0))
    if certain_and_wrong.any():
        return None
    inside = np.clip(c, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)
    losses = -a * np.log(inside) - (1.0 - a) * np.log1p(-inside)
    return cluster_mean(losses, clusters)

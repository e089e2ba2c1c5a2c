"""Simultaneous comparison of judges: rank sets, and an interval for the best judge's value."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log2
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.inference.interval_methods import MIN_UNITS, NO_SPREAD, score_roots
from harness.stats.inference.special_functions import ndtr, ndtri, stdtrit
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.inference.interval_methods import FurtherItem

DIGITS = 12  # decimals to which equal values agree
MAX_SKEWNESS, NO_SKEWNESS = 1.0 / 3.0, 1e-6
MIN_UNITS_OF_DIFFERENCES = 20  # with fewer, skewed differences are significant too often
MIN_UNITS_OF_WINNER = 30  # with fewer, the lowest of several skewed losses is too low too often


@dataclass(frozen=True, slots=True, repr=False)
class RankSets:
    """Possible ranks of each judge, simultaneously valid at the nominal level.

    Attributes
    ----------
    ranks : tuple of (int, int)
        Best and worst possible rank of each judge, 1 for the best judge.
    better : (J, J) bool array
        Whether judge j is significantly better than judge k.
    reaches : (J, J) array
        The smallest significant gain of judge j over judge k, infinite with too few units; 0 for
        pairs that tie.
    critical_value : float or None
        Critical value of the largest standardised difference; None if no two judges differ in any
        resample.
    n_pairs_equal : int
        Number of pairs without any difference, which tie.
    """

    ranks: tuple[tuple[int, int], ...]
    better: BoolArray
    reaches: FloatArray
    critical_value: float | None
    n_pairs_equal: int

    def __repr__(self) -> str:
        return f"RankSets({self.ranks})"


@dataclass(frozen=True, slots=True)
class SimultaneousInterval:
    """Interval for the best of several judges, which accounts for its selection.

    Attributes
    ----------
    winner : int
        Index of the judge with the best estimate.
    low, high : float or None
        Ends; None if the winner's estimate is the same in all resamples, or with fewer than 30
        units (five if no other judge could have won).
    critical_value : float or None
        Critical value of the largest absolute standardised deviation over the judges.
    level : float
        Level of each judge's separate interval for simultaneous validity (Bonferroni). Judges that
        are the same in all resamples count once.
    """

    winner: int
    low: Annotated[float | None, MadeBy("simultaneous")]
    high: Annotated[float | None, MadeBy("simultaneous")]
    critical_value: float | None
    level: float


def rank_sets(
    losses: FloatArray,
    replicates: FloatArray,
    *,
    level: float = 0.95,
    n_units: int | None = None,
    freedom: FloatArray | None = None,
    n_discordant: IntArray | None = None,
) -> RankSets:
    """Return the possible ranks of judges, using a sup-t test over all ordered pairs.

    Parameters
    ----------
    losses, replicates : (J,), (J, B) arrays
        Estimates, lower is better, and their values in each resample, all defined.
    level : float, optional
        Probability that all rank sets contain the true ranks simultaneously.
    n_units : int, optional
        Number of units. With few units, the critical value is larger (see `small_sample` and
        `skewed_values`), and below 20 no difference is significant. Default: no correction.
    freedom : (J, J) array, optional
        Degrees of freedom of each difference's standard error. Default: the number of units minus
        one.
    n_discordant : (J, J) int array, optional
        Number of units on which two judges differ. If they are too few even for a sign test to
        reject, the difference is not significant; see `least_discordant`. Default: any number is
        enough.

    References
    ----------
    M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries, Review of Economic
    Studies 91 (2024).
    """
    J = len(losses)
    gains = losses[None, :] - losses[:, None]  # gain of row j over column k
    drawn = replicates[None, :, :] - replicates[:, None, :]
    errors = _standard_errors(drawn)
    kept = errors > NO_SPREAD
    if n_discordant is not None:
        kept &= n_discordant > 0
    n_pairs_equal = int((~kept[np.triu_indices(J, 1)]).sum())
    better, reaches = np.zeros((J, J), dtype=np.bool_), np.zeros((J, J))
    critical_value = None
    if kept.any():
        off = (drawn[kept] - gains[kept][:, None]) / errors[kept][:, None]
        critical_value, values = _critical_values(
            off, level, n_units, None if freedom is None else freedom[kept]
        )
        too_few = n_units is not None and n_units < MIN_UNITS_OF_DIFFERENCES
        reaches[kept] = inf if too_few else values * errors[kept]
        if n_discordant is not None:
            reaches[kept & (n_discordant < least_discordant(level))] = inf
        better[kept] = gains[kept] > reaches[kept]
    ranks = tuple((1 + int(better[:, j].sum()), J - int(better[j].sum())) for j in range(J))
    return RankSets(ranks, better, reaches, critical_value, n_pairs_equal)


def winner_interval(
    values: FloatArray,
    replicates: FloatArray,
    *,
    winner: int | None = None,
    level: float = 0.95,
    n_judges: int | None = None,
    n_units: int | None = None,
    freedom: FloatArray | None = None,
    bounds: tuple[float, float] = (-inf, inf),
    further: FurtherItem | None = None,
) -> SimultaneousInterval:
    """Return an interval for the best judge that accounts for selecting it by its estimate.

    Parameters
    ----------
    values, replicates : (J,), (J, B) arrays
        Values of the judges, as losses or in the metric's own direction, which is also the
        interval's.
    winner : int, optional
        Index of the best judge. Default: the judge with the smallest value.
    level, n_units
        As in `rank_sets`; there is no correction for skewness.
    n_judges : int, optional
        Number of judges from which the best was selected, if some have no values. Each gets an
        equal part of the error probability, so that the interval is valid however it was selected
        (Bonferroni). Default: those with values.
    freedom : (J,) array, optional
        Degrees of freedom of each value's standard error. Default: the number of units minus one.
    bounds : (low, high), optional
        Smallest and largest possible value. The interval is then a score interval within them,
        because a judge selected for a low loss also has a low standard error. Default: symmetric.
    further : FurtherItem, optional
        As in `Sampled`.
    """
    winner = int(np.argmin(values)) if winner is None else winner
    J = len(values)
    n_judges = J if n_judges is None else n_judges
    n_distinct = len(np.unique(np.column_stack([values, replicates]).round(DIGITS), axis=0))
    by_itself = 1.0 - (1.0 - level) / (n_judges - J + n_distinct)
    level = 1.0 - (1.0 - level) * J / n_judges
    errors = _standard_errors(replicates)
    kept = errors > NO_SPREAD
    if not kept.any():
        return SimultaneousInterval(winner, None, None, None, by_itself)
    off = np.abs(replicates[kept] - values[kept, None]) / errors[kept, None]
    of_winner = None if freedom is None else freedom[winner]
    normal_value = _upper_quantile(off.max(axis=0), level)
    critical_value = float(small_sample(normal_value, n_units, of_winner))
    least = MIN_UNITS_OF_WINNER if n_judges > 1 else MIN_UNITS
    too_few = n_units is not None and n_units < least
    if not kept[winner] or too_few:
        return SimultaneousInterval(winner, None, None, critical_value, by_itself)
    value, error = float(values[winner]), float(errors[winner])
    inside = bounds[0] < value < bounds[1]
    if further is not None and n_units is not None and inside:
        error = further.widened(error, value, n_units, bounds)
    reach = critical_value * error
    ends = score_roots(value, reach, bounds if inside else (-inf, inf))
    return SimultaneousInterval(winner, *ends, critical_value, by_itself)


def better_than(
    losses: FloatArray,
    replicates: FloatArray,
    rival_losses: FloatArray,
    rival_replicates: FloatArray,
    *,
    level: float,
    n_units: int,
    freedom: FloatArray,
) -> BoolArray:
    """Return a (J, C) mask of judges better than rivals, by a one-sided sup-t over all pairs.

    Parameters
    ----------
    losses, replicates : (J,), (J, B) arrays
        Values of the judges; lower is better.
    rival_losses, rival_replicates : (C,), (C, B) arrays
        Values of the rivals, in the same resamples. If a pair has the same difference in all
        resamples, the judge is better only if it differs at all.
    level, n_units
        As in `rank_sets`; the level is the probability that no judge is wrongly called better than
        a rival.
    freedom : (J, C) array
        Degrees of freedom of each difference's standard error.
    """
    gains = rival_losses[None, :] - losses[:, None]
    drawn = rival_replicates[None, :, :] - replicates[:, None, :]
    errors = _standard_errors(drawn)
    kept = errors > NO_SPREAD
    better = np.asarray(~kept & (gains > NO_SPREAD), dtype=np.bool_)
    if kept.any():
        off = (drawn[kept] - gains[kept][:, None]) / errors[kept][:, None]
        normal_value = _upper_quantile(off.max(axis=0), level, len(off))
        better[kept] = (
            gains[kept] > small_sample(normal_value, n_units, freedom[kept]) * errors[kept]
        )
    return better


def least_discordant(level: float) -> int:
    """Return how many units must differ for a two-sided sign test to reject: 6 at 95 %."""
    return ceil(log2(2.0 / (1.0 - level)))


def small_sample(
    critical_value: float, n_units: int | None, freedom: FloatArray | float | None = None
) -> FloatArray:
    """Adjust the bootstrap's critical value for few units.

    The bootstrap's standard error uses a plug-in variance, and its quantiles are nearly normal. So
    the normal quantile is replaced by a quantile of Student's t with n - 1 degrees of freedom, or
    with (...) ``freedom``, and the value is multiplied by sqrt(n / (n - 1)).
    """
    if n_units is None or n_units <= 1 or critical_value <= 0:
        return np.asarray(critical_value)
    tail = float(ndtr(-critical_value))
    factor = float(np.sqrt(n_units / (n_units - 1.0)))
    return factor * -np.asarray(stdtrit(n_units - 1.0 if freedom is None else freedom, tail))


def skewed_values(critical_value: float | FloatArray, skewness: FloatArray) -> FloatArray:
    """Raise (P,) critical values for differences whose replicates are skewed.

    If the (P,) ``skewness``, which is the skewness of single items divided by sqrt(n), is negative,
    the estimate is low when its standard error is high, so a large difference comes with a small
    error. Skewness is limited to 1/3 in either direction, because the approximation is for small
    skewness.

    References
    ----------
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical Society
    B 54 (1992), 221-228.
    """
    k = np.clip(skewness, -MAX_SKEWNESS, MAX_SKEWNESS)
    k = np.where(np.abs(k) > NO_SKEWNESS, k, NO_SKEWNESS)
    values = 3.0 / k * (np.cbrt(1.0 + k * (critical_value - k / 6.0)) - 1.0)
    return np.asarray(np.maximum(values, critical_value), dtype=np.float64)


def _critical_values(
    off: FloatArray, level: float, n_units: int | None, freedom: FloatArray | None
) -> tuple[float, FloatArray]:
    """Return the critical value for the largest of (P, B) deviations, and for each deviation."""
    normal_value = _upper_quantile(off.max(axis=0), level, len(off))
    critical_value = float(small_sample(normal_value, n_units))
    values = np.broadcast_to(small_sample(normal_value, n_units, freedom), len(off))
    if n_units is None or n_units < MIN_UNITS_OF_DIFFERENCES:
        return critical_value, values
    unbiased = n_units / (n_units - 2.0)
    return critical_value, skewed_values(values, unbiased * (off**3).mean(axis=1))


def _standard_errors(replicates: FloatArray) -> FloatArray:
    return np.asarray(replicates.std(axis=-1, ddof=1), dtype=np.float64)


def _upper_quantile(values: FloatArray, level: float, n: int = 1) -> float:
    """Return a quantile of the largest of n values. If B is too small, at least Bonferroni's.

    With B resamples, the returned order statistic is exceeded with probability at most ``1 -
    level`` plus 1 / (B + 1), so resamples cannot resolve levels beyond ``1 - 1 / B``.
    """
    quantile = float(np.quantile(values, level, method="higher"))
    if (1.0 - level) * len(values) >= 1.0:
        return quantile
    return max(quantile, float(ndtri(1.0 - (1.0 - level) / n)))

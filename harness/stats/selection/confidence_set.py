"""Rank intervals, chance of being best, and the model confidence set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, frozen
from harness.stats.inference.interval_methods import check_level
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_REPLICATES = 2  # a standard error needs two


@dataclass(frozen=True, slots=True)
class RankSpread:
    """Where one judge ranks in the replicates.

    Attributes
    ----------
    judge : str
        Its name.
    low, high : int or None
        Interval of its rank, 1 being best; None where the judge has no defined replicate.
    p_best : float or None
        Share of the replicates in which it comes first, a shared first place being split.
    level : float
        Confidence level of the interval, for this judge alone.
    """

    judge: str
    low: Annotated[int | None, MadeBy("percentile")]
    high: Annotated[int | None, MadeBy("percentile")]
    p_best: float | None
    level: float


def rank_spread(
    judges: Sequence[str], replicates: FloatArray, *, level: float = 0.95
) -> tuple[RankSpread, ...]:
    """Rank the judges in every replicate.

    Parameters
    ----------
    judges : J names
        In the order of the rows of ``replicates``.
    replicates : (J, B) array
        Losses, lower better, column ``b`` from the same items for all; see `loss`. A judge that is
        nan in a replicate is not ranked in it.
    level : float, optional
        Of the intervals.

    Returns
    -------
    J spreads
        Quantiles of the ranks that occurred; equal losses share the better rank.

    Raises
    ------
    ValueError
        If there is not one row per judge, or the level is no probability.
    """
    losses = _check_losses(judges, replicates)
    check_level(level)
    ranks, best = _ranks(losses), _firsts(losses)
    spreads = []
    for judge, judge_ranks, first in zip(judges, ranks, best, strict=True):
        defined = judge_ranks[~np.isnan(judge_ranks)]
        if not defined.size:
            spreads.append(RankSpread(judge, None, None, None, level))
            continue
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        low, high = np.quantile(defined, tails, method="inverted_cdf")
        spreads.append(RankSpread(judge, int(low), int(high), float(first.mean()), level))
    return tuple(spreads)


def _ranks(losses: FloatArray) -> FloatArray:
    """Return (J, B) ranks: 1 and the number of judges that are better; nan for nan."""
    better = losses[None, :, :] < losses[:, None, :] - TOLERANCE
    return np.where(np.isnan(losses), np.nan, 1.0 + better.sum(axis=1))


def _firsts(losses: FloatArray) -> FloatArray:
    """Return (J, B) shares in the first place; nan-free, zero where nobody has one."""
    first = _ranks(losses) == 1.0
    return np.asarray(first / np.maximum(first.sum(axis=0), 1), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class ConfidenceSet:
    """Judges that include the best one at a confidence level.

    Attributes
    ----------
    judges : tuple of str
        Those in the set, best first; empty where ``reason`` says why.
    p_values : (J,) array
        Of every judge, in the order given: the highest level of significance at which it would
        still be in the set. nan for a judge that could not be compared.
    level : float
        Chance that the set holds the best judge, as the items grow in number.
    reason : str
        "" or why there is no set: "undefined" without two judges' worth of values or replicates.
    n_replicates : int
        Replicates in which all compared judges are defined.
    """

    judges: tuple[str, ...]
    p_values: FloatArray
    level: float
    reason: Reason
    n_replicates: int

    def __repr__(self) -> str:
        return f"ConfidenceSet({self.level:.0%}: {', '.join(self.judges) or self.reason})"


def model_confidence_set(
    judges: Sequence[str], losses: FloatArray, replicates: FloatArray, *, level: float = 0.95
) -> ConfidenceSet:
    """Remove the worst judge until those left are not significantly different.

    Parameters
    ----------
    judges : J names
        In the order of ``losses``.
    losses : (J,) array
        Lower is better; see `loss`. A judge that is nan is left out.
    replicates : (J, B) array
        The losses in each resample, column ``b`` from the same items for all.
    level : float, optional
        Chance that the set holds the best judge.

    Returns
    -------
    ConfidenceSet
        NA, "undefined", where no judge has a value or no two replicates are defined for all.

    Raises
    ------
    ValueError
        If shapes do not fit, or the level is no probability.

    Notes
    -----
    Hansen, Lunde and Nason 2011, section 3.1.2: T_max = max_i t_i, where t_i is a judge's loss less
    the mean of those left, over the bootstrap standard error of that difference. Its distribution
    is that of the replicates, centred; the judge with the greatest t_i leaves while the hypothesis
    of equal losses is rejected. A judge's p-value is the greatest met until it leaves.
    """
    drawn = _check_losses(judges, replicates)
    values = np.asarray(losses, dtype=np.float64)
    if values.shape != (len(judges),):
        raise ValueError(f"losses has shape {values.shape}; wanted ({len(judges)},)")
    check_level(level)
    compared = np.flatnonzero(~np.isnan(values))
    drawn = drawn[:, ~np.isnan(drawn[compared]).any(axis=0)]
    p_values = np.full(len(judges), np.nan)
    if not compared.size or (compared.size > 1 and drawn.shape[1] < MIN_REPLICATES):
        return ConfidenceSet((), frozen(p_values), level, "undefined", drawn.shape[1])
    left, greatest = list(compared), 0.0
    while len(left) > 1:
        worst, p = _test(values[left], drawn[left])
        greatest = max(greatest, p)
        p_values[left[worst]] = greatest
        del left[worst]
    p_values[left] = 1.0
    inside = compared[np.argsort(values[compared], kind="stable")]
    kept = tuple(judges[j] for j in inside if p_values[j] >= 1.0 - level - TOLERANCE)
    return ConfidenceSet(kept, frozen(p_values), level, "", drawn.shape[1])


def _test(losses: FloatArray, drawn: FloatArray) -> tuple[int, float]:
    """Test whether (m,) losses are equal: the judge that fits worst, and the p-value."""
    m = len(losses)
    over = (losses - losses.mean()) * m / (m - 1)
    recentred = (drawn - drawn.mean(axis=0)) * m / (m - 1) - over[:, None]
    error = np.sqrt((recentred**2).mean(axis=1))
    certain = error <= TOLERANCE  # the same in all replicates: apart or equal for certain
    t = np.where(certain, _apart(over), over / np.where(certain, 1.0, error))
    t_again = np.where(certain[:, None], 0.0, recentred / np.where(certain, 1.0, error)[:, None])
    worst = int(np.argmax(t))
    return worst, float((t_again.max(axis=0) >= t[worst] - TOLERANCE).mean())


def _apart(over: FloatArray) -> FloatArray:
    distant: BoolArray = np.abs(over) > TOLERANCE
    return np.where(distant, np.copysign(np.inf, over), 0.0)


def _check_losses(judges: Sequence[str], replicates: FloatArray) -> FloatArray:
    array = np.asarray(replicates, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(judges):  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"replicates has shape {array.shape}; wanted ({len(judges)}, B)")
    return array

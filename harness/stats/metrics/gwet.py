"""Gwet's AC1 and AC2, which measure agreement beyond chance if most labels are the same.

Kappa falls to 0 if nearly all labels are one option, however well raters agree. AC1 assumes that
raters only guess on difficult items, so its chance term is small on such labels. AC2 gives partial
credit for near misses on an ordered scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.inference.metric import Metric, no_counts, unless_empty
from harness.stats.metrics.chance import MIN_FOR_AGREEMENT, chance_corrected, margins, square
from harness.stats.metrics.confusion import label_metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import Counts
    from harness.stats.reasons import Reason

AC2_INTERVAL_FROM = 50  # items; with 30, coverage was 91% (far misses are rare and heavy)
PAPER = "Gwet 2008, Br. J. Math. Stat. Psychol. 61"


def quadratic_credit(numbers: ArrayLike) -> FloatArray:
    """Return (K, K) credits: 1 for the same option, 0 for opposite ends of the scale.

    The credit is 1 - (x_k - x_l)^2 / (max - min)^2 of (K,) numbers, as Gwet 2014 defines quadratic
    weights.
    """
    x = np.asarray(numbers, dtype=np.float64)
    width = float(np.ptp(x)) or 1.0
    return np.asarray(1.0 - np.subtract.outer(x, x) ** 2 / width**2, dtype=np.float64)


def item_shares(counts: Counts, credit: FloatArray | None = None) -> FloatArray:
    """Return (n, 3 + K) columns: pair agreement, has pairs, is rated, and K option shares.

    Parameters
    ----------
    counts : (n, K) array
        Number of times each option was chosen. An item with one rating counts only in the shares.
    credit : (K, K) array, optional
        Credit of each pair of options; by default 1 for the same option and 0 otherwise.
    """
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    credited = c if credit is None else c @ credit
    agreement = ratio((c * (credited - 1.0)).sum(axis=1), m * (m - 1.0))
    paired = m >= MIN_FOR_AGREEMENT
    sums = [np.where(paired, agreement, 0.0), paired, m > 0, ratio(c, m[:, None])]
    return np.asarray(np.nan_to_num(np.column_stack(sums)), dtype=np.float64)


def observed_and_shares(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the (...) mean agreement over items, and the (..., K) mean share of each option."""
    return ratio(totals[..., 0], totals[..., 1]), ratio(totals[..., 3:], totals[..., 2, None])


def gwet_coefficient(
    observed: FloatArray, shares: FloatArray, credit: FloatArray | None = None
) -> FloatArray:
    """Return AC1, or AC2 with (K, K) credits, from (...) agreement and (..., K) shares.

    Chance agreement is sum w / (K (K - 1)) times the sum of p_k (1 - p_k). The result is nan with
    one option.
    """
    K = shares.shape[-1]
    total = K if credit is None else float(credit.sum())
    spread = (shares * (1.0 - shares)).sum(axis=-1)
    return chance_corrected(observed, spread * ratio(np.array(total), np.array(K * (K - 1))))


def of_raters(credit: FloatArray | None = None) -> Callable[[FloatArray], FloatArray]:
    """Return a function that computes AC1, or AC2 with (K, K) credits, from `item_shares`."""
    return lambda totals: gwet_coefficient(*observed_and_shares(totals), credit)


def gwet_ac1(totals: FloatArray) -> FloatArray:
    """Return AC1 for (..., K * K) cells, human by judge."""
    n, hits, human, judge = margins(totals)
    return gwet_coefficient(ratio(hits, n), ratio(human + judge, 2.0 * n[..., None]))


def gwet_ac2(totals: FloatArray, credit: FloatArray) -> FloatArray:
    """Return AC2 with (K, K) credits for (..., K * K) cells, human by judge."""
    n, _, human, judge = margins(totals)
    observed = ratio((square(totals) * credit).sum(axis=(-2, -1)), n)
    return gwet_coefficient(observed, ratio(human + judge, 2.0 * n[..., None]), credit)


def least_ac2(credit: FloatArray) -> float:
    """Return a lower bound for AC2: no agreement, at the highest possible chance agreement."""
    chance = float(credit.mean())
    return -chance / (1.0 - chance) if chance < 1.0 else -1.0


def ac2_of_raters(numbers: ArrayLike) -> Metric:
    """Return AC2 among the raters on an ordered scale with (K,) numbers."""
    credit = quadratic_credit(numbers)
    return Metric(
        name="gwet_ac2",
        display_name="rater agreement beyond chance, partial credit for near misses (Gwet's AC2)",
        family="agreement among raters",
        symmetric=True,
        bounds=(least_ac2(credit), 1.0),
        interval_from=AC2_INTERVAL_FROM,
        contributions=lambda counts: item_shares(counts, credit),
        value=of_raters(credit),
        reason=why_undefined,
        paper=f"{PAPER}, quadratic weights",
    )


def why_undefined(totals: FloatArray) -> Reason:
    """Return the reason that coefficients are undefined for summed `item_shares`."""
    if not totals[2]:
        return "no_items"
    return "single_option" if totals[1] else "too_few_raters"


METRICS: tuple[Metric, ...] = (
    label_metric(
        "gwet_ac1",
        "agreement beyond chance (Gwet's AC1)",
        gwet_ac1,
        f"{PAPER}, two raters",
        reason=unless_empty("single_option"),
        counts=no_counts,
    ),
)

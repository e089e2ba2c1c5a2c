"""Items, raters and replies needed to detect a difference between judges."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.special_functions import gammaincinv

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray


Z_SIZE = 1.96  # a two-sided test at 5 %


def sample_size_for_difference(
    sd: float,
    delta: float,
    *,
    design_effect: float = 1.0,
    power: float = 0.8,
    critical: float = Z_SIZE,
) -> int | None:
    """Return the number of items needed to detect a mean paired difference.

    Parameters
    ----------
    sd : float
        Standard deviation over items of the paired difference.
    delta : float
        The difference to detect, set by the user. Never use the observed difference, which would
        result in a power of about one half.
    design_effect : float, optional
        Variance of the mean under the design, divided by the variance for the same number of
        independent items.
    power : float in (0, 1), optional
        Wanted power. Its normal quantile is rounded to two digits, 0.84 for a power of 80 %.
    critical : float, optional
        Critical value for the difference in standard errors: 1.96 for a single two-sided test at 5
        %, more if several judges are compared at once.

    Returns
    -------
    int or None
        Number of items for that test with this power; None if ``sd`` is 0, because the judges do
        not differ on any item.

    Raises
    ------
    ValueError
        If an argument is negative or ``delta`` is 0.

    Examples
    --------
    >>> sample_size_for_difference(0.432, 0.05)
    586
    """
    if sd < 0 or delta <= 0 or design_effect <= 0:
        raise ValueError(
            f"no sample size is defined for sd {sd}, delta {delta} and design_effect "
            f"{design_effect}"
        )
    if sd == 0:
        return None
    return ceil(design_effect * (critical + _z_power(power)) ** 2 * sd**2 / delta**2)


def sd_to_plan_with(sd: float, n: int, *, confidence: float = 0.8) -> float:
    """Return the upper confidence limit for a standard deviation estimated from a pilot.

    Parameters
    ----------
    sd : float
        Estimate from the n items of the pilot.
    n : int
        Number of items, at least 2.
    confidence : float, optional
        Confidence of the limit. Studies planned with it have the wanted power on average over
        pilots. With the estimate itself, half of the studies would have too few items.

    References
    ----------
    R. H. Browne, On the use of a pilot sample for sample size determination, Statistics in Medicine
    14 (1995), 1933-1940.

    Examples
    --------
    >>> round(sd_to_plan_with(0.4, 150), 3), round(sd_to_plan_with(0.4, 12), 3)
    (0.421, 0.502)
    """
    freedom = n - 1.0
    lowest = 2.0 * float(gammaincinv(freedom / 2.0, 1.0 - confidence))  # quantile of chi-squared
    return sd * sqrt(freedom / lowest)


def difference_beside_raters(
    delta: float, rater_variance: float, *, power: float = 0.8, critical: float = Z_SIZE
) -> float:
    """Return the difference that the items must detect, because raters add variance too.

    Parameters
    ----------
    delta : float
        The difference to detect.
    rater_variance : float
        Variance that raters add to the estimated difference, regardless of the number of items.
    power, critical
        As in `sample_size_for_difference`, to which you can pass the result as ``delta``.

    Returns
    -------
    float
        ``sqrt(delta^2 - (critical + z)^2 rater_variance)``; 0 if no number of items suffices.
    """
    return sqrt(max(delta**2 - (critical + _z_power(power)) ** 2 * rater_variance, 0.0))


def _z_power(power: float) -> float:
    return round(NormalDist().inv_cdf(power), 2)


PAIR = 2  # ratings or replies of an item needed to estimate their variance
MIN_ITEMS = 2


@dataclass(frozen=True, slots=True)
class AgreementMoments:
    """Moments over items of the agreement between one rating and one reply.

    With two judges, they refer to the first judge's agreement minus the second's. Agreement is 1 if
    a reply equals a rating, else 0.

    Attributes
    ----------
    mean : float
        Expected agreement, or difference of agreements.
    same : float
        Expected square.
    other_rater, other_reply, other_both : float
        Expected product of two agreements on the same item that differ in the rater, the reply, or
        both; nan if items have a single rating or reply.
    n_items : int or None
        Number of items they are estimated from; None if they are assumed.
    design_effect : float
        Variance of the mean over clusters of items, divided by the variance for the same number of
        independent items; at least 1.
    """

    mean: float
    same: float
    other_rater: float
    other_reply: float
    other_both: float
    n_items: int | None = None
    design_effect: float = 1.0

    def variance(self, n_raters: int, n_replies: int) -> float:
        """Return the variance over items of the mean over raters and replies.

        Returns
        -------
        float
            The variance; nan if the data contain no second rating or reply to extrapolate from.
        """
        products = [(self.same, 1)]
        if n_raters > 1:
            products.append((self.other_rater, n_raters - 1))
        if n_replies > 1:
            products.append((self.other_reply, n_replies - 1))
        if n_raters > 1 and n_replies > 1:
            products.append((self.other_both, (n_raters - 1) * (n_replies - 1)))
        square = sum(product * n for product, n in products) / (n_raters * n_replies)
        return float(np.maximum(square - self.mean**2, 0.0))  # keeps nan


def agreement_moments(
    human: IntArray,
    judge: IntArray,
    other: IntArray | None = None,
    *,
    groups: IntArray | None = None,
) -> AgreementMoments:
    """Estimate the moments of agreement from counts.

    Parameters
    ----------
    human : (n, K) int array
        Ratings per item and option.
    judge, other : (n, K) int arrays
        Replies of the judge and, for a difference, of a second one.
    groups : (n,) int array, optional
        The cluster of each item. Default: items are independent.

    Returns
    -------
    AgreementMoments
        Estimates from items that every judge answered. Items with a single rating are left out if
        at least two items have more. Estimates are unbiased except for the square of the mean,
        because products of a rating or reply with itself are kept separate. Replies of different
        judges are independent on an item.

    Raises
    ------
    ValueError
        If fewer than two items can be used.
    """
    judges = [judge] if other is None else [judge, other]
    used = _used(human, judges)
    if used.sum() < MIN_ITEMS:
        raise ValueError("fewer than 2 items have a rating and a reply from every judge")
    human, judges = human[used], [counts[used] for counts in judges]
    raters = _same(human), _different(human)
    replies = _reply_products(judges)
    same, other_rater, other_reply, other_both = (
        float(np.einsum("nkl,nkl->n", raters[i], replies[j]).mean())
        for j, i in ((0, 0), (0, 1), (1, 0), (1, 1))
    )
    signs = (1.0, -1.0)
    replied = sum(sign * _shares(counts) for sign, counts in zip(signs, judges, strict=False))
    scores = np.asarray((_shares(human) * replied).sum(axis=1))
    return AgreementMoments(
        mean=float(scores.mean()),
        same=same,
        other_rater=other_rater,
        other_reply=other_reply,
        other_both=other_both,
        n_items=len(scores),
        design_effect=1.0 if groups is None else _design_effect(scores, groups[used]),
    )


def _used(human: IntArray, judges: list[IntArray]) -> BoolArray:
    answered: BoolArray = np.all([counts.sum(axis=1) > 0 for counts in judges], axis=0)
    n_ratings = human.sum(axis=1)
    repeated = answered & (n_ratings >= PAIR)
    return np.asarray(repeated if repeated.sum() >= MIN_ITEMS else answered & (n_ratings > 0))


def _shares(counts: IntArray) -> FloatArray:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)


def _same(counts: IntArray) -> FloatArray:
    """Return the (n, K, K) mean product of an answer's indicators with themselves."""
    return _shares(counts)[:, :, None] * np.eye(counts.shape[1])


def _different(counts: IntArray) -> FloatArray:
    """Return the (n, K, K) mean product of two answers' indicators, or nan with one answer."""
    n = counts.sum(axis=1)[:, None, None].astype(np.float64)
    products = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(
        counts.shape[1]
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(products / (n * (n - 1.0)), dtype=np.float64)


def _reply_products(judges: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """Return mean products for the same reply and for two replies, of one judge or a difference."""
    same = np.sum([_same(counts) for counts in judges], axis=0)
    different = np.sum([_different(counts) for counts in judges], axis=0)
    if len(judges) == PAIR:
        first, second = map(_shares, judges)
        cross = first[:, :, None] * second[:, None, :]
        both = cross + cross.transpose(0, 2, 1)
        same, different = same - both, different - both
    return same, different


def _design_effect(scores: FloatArray, groups: IntArray) -> float:
    independent = cluster_mean(scores, np.arange(len(scores))).standard_error
    clustered = cluster_mean(scores, groups).standard_error
    if not independent > 0 or np.isnan(clustered):
        return 1.0
    return max(1.0, float((clustered / independent) ** 2))


def power_for_difference(sd: float, delta: float, n: float, *, design_effect: float = 1.0) -> float:
    """Return the power of a two-sided 5 % test for a mean paired difference on n items.

    Parameters
    ----------
    sd : float
        Standard deviation of the difference over items, above 0.
    delta : float
        The true mean.
    design_effect : float, optional
        As in `sample_size_for_difference`, whose sample sizes have their nominal power here.
    """
    z = abs(delta) * sqrt(n / design_effect) / sd
    normal = NormalDist()
    return normal.cdf(z - Z_SIZE) + normal.cdf(-z - Z_SIZE)

"""Agreement among raters, and between a judge and each rater."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, Counts, FloatArray, ratio
from harness.stats.inference.metric import SHARE, Metric, always, mean
from harness.stats.metrics.chance import (
    MIN_FOR_AGREEMENT,
    above_uniform,
    chance_corrected,
    nominal_alpha,
)
from harness.stats.metrics.gwet import PAPER as GWET
from harness.stats.metrics.gwet import (
    item_shares,
    observed_and_shares,
    of_raters,
    why_undefined,
)

if TYPE_CHECKING:
    from harness.stats.reasons import Reason

MIN_ITEMS = 2  # one pair of values has no correlation


def pairwise_agreement(counts: Counts) -> FloatArray:
    """Return (n, 2) columns per item: agreeing pairs of ratings, and all pairs."""
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    return np.stack([(c * (c - 1)).sum(axis=1) / 2, m * (m - 1) / 2], axis=1)


def fleiss(counts: Counts) -> FloatArray:
    """Return (n, 4 + K) columns per rated item: agreement P_i, 1, m, m squared, and K counts."""
    c = np.asarray(counts, dtype=np.float64)
    m = c @ np.ones(c.shape[1])  # a product is faster than sums along short rows
    alike, pairs = np.einsum("nk,nk->n", c, c) - m, m * (m - 1.0)
    sums = np.zeros((4 + c.shape[1], len(c)))  # one row per sum, which is faster to fill
    np.divide(alike, pairs, out=sums[0], where=pairs > 0)
    sums[1], sums[2], sums[3], sums[4:] = m > 0, m, m * m, c.T
    return sums.T


def nominal_coincidences(counts: Counts) -> FloatArray:
    """Return (n, 1 + K) columns: the coincidences on the diagonal, and K counts.

    Items with fewer than two ratings add nothing.
    """
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1, keepdims=True)
    pairable = m >= MIN_FOR_AGREEMENT
    alike = np.nan_to_num(ratio((c * (c - 1)).sum(axis=1, keepdims=True), m - 1))
    return np.where(pairable, np.hstack([alike, c]), 0.0)


def majority_share(counts: Counts) -> FloatArray:
    """Return (n, 2) columns: the most common option's share, and whether the item is rated.

    Notes
    -----
    Eq. 3 of Elangovan et al. 2025 counts an item as 0 if its ratings all differ. Here its share
    remains 1 / m, which is also the value used for stratification.
    """
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    share = np.nan_to_num(ratio(c.max(axis=1, initial=0.0), m))
    return _of_several(np.stack([share, (m > 0).astype(np.float64)], axis=1), m)


def two_rater_agreement(counts: Counts) -> FloatArray:
    """Return (n, 2) columns: whether an item's two ratings agree, and whether it has two."""
    m = np.asarray(counts).sum(axis=1)
    return np.where((m == MIN_FOR_AGREEMENT)[:, None], pairwise_agreement(counts), 0.0)


def fleiss_of_pooled_pairs(counts: Counts) -> FloatArray:
    """Return (n, 2 + K) columns for items with several ratings: agreeing pairs, pairs, counts."""
    c = np.asarray(counts, dtype=np.float64)
    return _of_several(np.hstack([pairwise_agreement(c), c]), c.sum(axis=1))


def fleiss_of_item_means(counts: Counts) -> FloatArray:
    """Return (n, 2 + K) columns for items with several ratings: agreement P_i, 1, counts."""
    c = np.asarray(counts, dtype=np.float64)
    pairs = pairwise_agreement(c)
    P = np.nan_to_num(ratio(pairs[:, 0], pairs[:, 1]))
    return _of_several(np.column_stack([P, np.ones(len(c)), c]), c.sum(axis=1))


def _of_several(sums: FloatArray, m: FloatArray) -> FloatArray:
    return np.where((m >= MIN_FOR_AGREEMENT)[:, None], sums, 0.0)


def _generalised_value(totals: FloatArray) -> FloatArray:
    shares = ratio(totals[..., 2:], totals[..., 2:].sum(axis=-1)[..., None])
    return chance_corrected(mean(totals), (shares**2).sum(axis=-1))


def _reason_not_generalised(totals: FloatArray) -> Reason:
    return "constant_labels" if totals[1] > 0 else "too_few_raters"


def _randolph_value(totals: FloatArray) -> FloatArray:
    n, squares = totals[..., 1], totals[..., 3]
    kappa = above_uniform(ratio(totals[..., 0], n), totals.shape[-1] - 4)
    return np.where(_unequal(totals) | (squares <= n), np.nan, kappa)


def _reason_no_randolph(totals: FloatArray) -> Reason:
    reason = _reason_no_fleiss(totals)
    return "single_option" if reason == "constant_labels" else reason


def _fleiss_value(totals: FloatArray) -> FloatArray:
    n, m, squares = totals[..., 1], totals[..., 2], totals[..., 3]
    shares = ratio(totals[..., 4:], m[..., None])
    kappa = chance_corrected(ratio(totals[..., 0], n), (shares**2).sum(axis=-1))
    return np.where(_unequal(totals) | (squares <= n), np.nan, kappa)


def _unequal(totals: FloatArray) -> BoolArray:
    n, m, squares = totals[..., 1], totals[..., 2], totals[..., 3]
    variance = n * squares - m**2  # times n^2, so an integer
    return np.asarray(variance >= 1.0 - TOLERANCE, dtype=np.bool_)


def _reason_no_fleiss(totals: FloatArray) -> Reason:
    if totals[1] == 0:
        return "no_items"
    if _unequal(totals):
        return "unequal_raters"
    return "too_few_raters" if totals[3] <= totals[1] else "constant_labels"


def _fleiss_of_shares(totals: FloatArray) -> FloatArray:
    observed, shares = observed_and_shares(totals)
    return chance_corrected(observed, (shares**2).sum(axis=-1))


def _randolph_of_shares(totals: FloatArray) -> FloatArray:
    observed, shares = observed_and_shares(totals)
    return above_uniform(observed, shares.shape[-1])


def _reason_no_fleiss_of_shares(totals: FloatArray) -> Reason:
    reason = why_undefined(totals)
    return "constant_labels" if reason == "single_option" else reason


def _alpha_value(totals: FloatArray) -> FloatArray:
    return nominal_alpha(totals[..., 1:], totals[..., 0])


def _reason_no_alpha(totals: FloatArray) -> Reason:
    return "constant_labels" if totals[1:].sum() > 0 else "too_few_raters"


_of_raters = partial(
    Metric, family="agreement among raters", symmetric=True, min_ratings=MIN_FOR_AGREEMENT
)
_share = partial(_of_raters, bounds=SHARE, value=mean, reason=always("too_few_raters"))
HUMAN_AGREEMENT: tuple[Metric, ...] = (
    _share(
        name="pairwise_agreement",
        display_name="share of rating pairs that agree",
        contributions=pairwise_agreement,
        paper="Fleiss 1971; agreeing pairs / pairs",
    ),
    _of_raters(
        name="fleiss_kappa",
        display_name="rater agreement beyond chance (Fleiss' kappa)",
        contributions=fleiss,
        value=_fleiss_value,
        reason=_reason_no_fleiss,
        min_ratings=1,
        paper="Fleiss 1971, strict: equally many ratings per item",
    ),
    _of_raters(
        name="krippendorff_alpha_nominal",
        display_name="rater agreement beyond chance (Krippendorff's alpha)",
        contributions=nominal_coincidences,
        value=_alpha_value,
        reason=_reason_no_alpha,
        paper="Krippendorff 2011, coincidence form",
    ),
    _of_raters(
        name="fleiss_kappa_pooled_pairs",
        display_name="rater agreement beyond chance, pairs weighted equally (Fleiss' kappa)",
        contributions=fleiss_of_pooled_pairs,
        value=_generalised_value,
        reason=_reason_not_generalised,
        paper="Fleiss 1971, generalised: all pairs of ratings have equal weight",
    ),
    _of_raters(
        name="fleiss_kappa_item_agreements",
        display_name="rater agreement beyond chance, items weighted equally (Fleiss' kappa)",
        contributions=fleiss_of_item_means,
        value=_generalised_value,
        reason=_reason_not_generalised,
        paper="Fleiss 1971, generalised: mean agreement over items, chance agreement over all "
        "ratings",
    ),
    _of_raters(
        name="randolph_kappa",
        display_name="rater agreement beyond uniform guessing (Randolph's kappa)",
        contributions=fleiss,
        value=_randolph_value,
        reason=_reason_no_randolph,
        min_ratings=1,
        paper="Randolph 2005: chance is 1 / K, K the declared options; equally many ratings",
    ),
    _of_raters(
        name="fleiss_kappa_unequal_raters",
        display_name="rater agreement beyond chance, any number of ratings (Fleiss' kappa)",
        contributions=item_shares,
        value=_fleiss_of_shares,
        reason=_reason_no_fleiss_of_shares,
        min_ratings=1,
        paper="Fleiss 1971, extended by Gwet 2014: agreement and shares are means over items",
    ),
    _of_raters(
        name="randolph_kappa_unequal_raters",
        display_name=(
            "rater agreement beyond uniform guessing, any number of ratings (Randolph's kappa)"
        ),
        contributions=item_shares,
        value=_randolph_of_shares,
        reason=why_undefined,
        min_ratings=1,
        paper="Randolph 2005, extended by Gwet 2014 as Brennan and Prediger's coefficient",
    ),
    _of_raters(
        name="gwet_ac1",
        display_name="rater agreement beyond chance (Gwet's AC1)",
        contributions=item_shares,
        value=of_raters(),
        reason=why_undefined,
        min_ratings=1,
        paper=GWET,
    ),
    _share(
        name="majority_share",
        display_name="share of ratings that match the majority",
        contributions=majority_share,
        paper="Elangovan et al. 2025, '% Agreement' of three or more raters; see hit_rate(h/h)",
    ),
    _share(
        name="two_rater_agreement",
        display_name="share of items whose two raters agree",
        contributions=two_rater_agreement,
        max_ratings=MIN_FOR_AGREEMENT,
        paper="Elangovan et al. 2025, '% Agreement' of two raters; see hit_rate(h/h)",
    ),
)

SAME_FOR_EQUAL_RATERS = {  # coefficients that equal the strict one if it has a value
    "fleiss_kappa": (
        "fleiss_kappa_pooled_pairs",
        "fleiss_kappa_item_agreements",
        "fleiss_kappa_unequal_raters",
    ),
    "randolph_kappa": ("randolph_kappa_unequal_raters",),
}


def pearson_by_rater(ratings: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 6 m) columns: 1, x, y, x^2, y^2 and x y per rater, for items that both rated.

    x is the judge and y the rater. ``ratings`` are (n, m) and ``judge`` (n,) numbers, nan if there
    is none; ValueError if the numbers of items differ.
    """
    y = np.asarray(ratings, dtype=np.float64)
    x = np.asarray(judge, dtype=np.float64)
    if y.ndim != 2 or x.shape != y.shape[:1]:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"ratings has shape {y.shape} and judge {x.shape}; wanted (n, m) and (n,)")
    x = np.broadcast_to(x[:, None], y.shape)
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = np.where(both, x, 0.0), np.where(both, y, 0.0)
    return np.stack([both, x, y, x * x, y * y, x * y], axis=-1).reshape(len(x), -1)


def pearsons(totals: FloatArray) -> FloatArray:
    """Return the judge's Pearson correlation with each rater, from (..., 6 m) sums.

    A correlation is nan if a rater shares fewer than two items with the judge, or either is
    constant on them.
    """
    of_raters = totals.reshape(*totals.shape[:-1], totals.shape[-1] // 6, 6)
    n, x, y, xx, yy, xy = np.moveaxis(of_raters, -1, 0)
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    constant = (spread_x <= TOLERANCE * n * xx) | (spread_y <= TOLERANCE * n * yy)
    usable = (n >= MIN_ITEMS) & ~constant
    spread = np.where(usable, spread_x * spread_y, np.nan)
    return np.clip(ratio(n * xy - x * y, np.sqrt(spread)), -1.0, 1.0)


def pearson_mean_over_raters(totals: FloatArray) -> FloatArray:
    """Average the defined `pearsons` over raters without weights, or return nan for none.

    Notes
    -----
    This is "Pears" in Calderon et al. 2025, table 2. It is not the correlation with the mean
    rating.
    """
    correlations = pearsons(totals)
    defined = ~np.isnan(correlations)
    return ratio(np.where(defined, correlations, 0.0).sum(axis=-1), defined.sum(axis=-1))


def _reason_no_pearson(totals: FloatArray) -> Reason:
    return "constant_labels" if (totals[::6] >= MIN_ITEMS).any() else "no_overlap"


PEARSON_OVER_RATERS = Metric(
    name="pearson_mean_over_raters",
    display_name="mean correlation with individual raters",
    family="association",
    symmetric=True,
    contributions=pearson_by_rater,
    value=pearson_mean_over_raters,
    reason=_reason_no_pearson,
    paper="Calderon et al. 2025, table 2 (Pears)",
)

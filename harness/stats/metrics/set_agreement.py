"""Agreement between the response sets of an item's raters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.inference.metric import SHARE, Metric, always, mean
from harness.stats.metrics.chance import MIN_FOR_AGREEMENT, alpha

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, Counts
    from harness.stats.reasons import Reason

SUBSET, OVERLAP = 2.0 / 3.0, 1.0 / 3.0  # monotonicity of MASI


def jaccard(membership: FloatArray | BoolArray) -> FloatArray:
    """Return (V, V) Jaccard similarities: options in both sets divided by options in either.

    Two empty sets are equal, so the result is 1.
    """
    inside = np.asarray(membership, dtype=np.float64)
    both, size = inside.T @ inside, inside.sum(axis=0)
    either = size[:, None] + size - both
    return np.where(either > 0, np.nan_to_num(ratio(both, either)), 1.0)


def masi(membership: FloatArray | BoolArray) -> FloatArray:
    """Return (V, V) MASI: Jaccard times 1 if equal, 2/3 if subset, 1/3 if overlapping, else 0.

    Passonneau 2006, Measuring agreement on set-valued items.
    """
    inside = np.asarray(membership, dtype=np.float64)
    both, size = inside.T @ inside, inside.sum(axis=0)
    smaller, larger = np.minimum(size[:, None], size), np.maximum(size[:, None], size)
    kind = np.select([both >= larger, both >= smaller, both > 0], [1.0, SUBSET, OVERLAP], 0.0)
    return np.asarray(kind * jaccard(inside), dtype=np.float64)


def overlapping_pairs(counts: Counts, similarity: FloatArray) -> FloatArray:
    """Return (n, 2) columns: summed similarity over pairs of an item's sets, and the pairs."""
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    alike = np.vecdot(c @ similarity, c) - m
    return np.stack([alike / 2.0, m * (m - 1.0) / 2.0], axis=1)


def distant_pairs(counts: Counts, distance: FloatArray) -> FloatArray:
    """Return (n, 1 + V) columns: distance within the item over its ratings - 1, and its sets.

    Items with one set contribute nothing.
    """
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    within = np.vecdot(c @ distance, c) / np.maximum(m - 1.0, 1.0)
    return np.where((m >= MIN_FOR_AGREEMENT)[:, None], np.column_stack([within, c]), 0.0)


def set_alpha(totals: FloatArray, distance: FloatArray) -> FloatArray:
    """Return alpha for summed `distant_pairs`."""
    sets = totals[..., 1:]
    n = sets.sum(axis=-1)
    expected = np.vecdot(sets @ distance, sets)
    return alpha(n, totals[..., 0], np.where(expected > TOLERANCE * n * n, expected, 0.0))


def _why_no_alpha(totals: FloatArray) -> Reason:
    return "constant_labels" if totals[1:].sum() > 0 else "too_few_raters"


def set_agreement_metrics(membership: FloatArray | BoolArray) -> tuple[Metric, ...]:
    """Return coefficients of agreement on response sets, computed from (n, V) counts of sets.

    Parameters
    ----------
    membership : (K, V) array
        Whether each option is in each set.
    """
    among = partial(
        Metric, family="agreement among raters", symmetric=True, min_ratings=MIN_FOR_AGREEMENT
    )
    distance = 1.0 - masi(membership)
    return (
        among(
            name="jaccard_agreement",
            display_name="overlap of two raters' response sets (Jaccard)",
            contributions=partial(overlapping_pairs, similarity=jaccard(membership)),
            value=mean,
            reason=always("too_few_raters"),
            bounds=SHARE,
            paper="Jaccard 1912; mean over pairs of sets",
        ),
        among(
            name="krippendorff_alpha_masi",
            display_name="agreement on response sets beyond chance (Krippendorff's alpha, MASI)",
            contributions=partial(distant_pairs, distance=distance),
            value=partial(set_alpha, distance=distance),
            reason=_why_no_alpha,
            paper="Passonneau 2006; Krippendorff 2011, coincidence form",
        ),
    )

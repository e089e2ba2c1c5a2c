"""Binned Jensen-Shannon divergence between judge and human labels.

Items are binned by their median or most common human label, and the labels in a bin are pooled on
each side (Elangovan et al. 2025, Eq. 1 and 2). A median halfway between two options has a separate
bin. An item with tied modes enters each of their bins in equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, remembered, row_sums
from harness.stats.data.forms import tied_modes
from harness.stats.data.labels import medians, modes
from harness.stats.inference.estimate import ItemSums, exclusions
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.metric import Metric, no_items
from harness.stats.inference.special_functions import rel_entr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import Counts
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.estimate import Estimate

BinBy: TypeAlias = Literal["median", "majority"]


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of items.

    Attributes
    ----------
    label : str or float
        The option, or the median.
    n_items : float
        Number of items in it, fractional if modes are tied.
    weight : float
        Its share of all items.
    divergence_bits, distance_nat : float
        Jensen-Shannon divergence in bits, and its square root in nats.
    """

    label: str | float
    n_items: float
    weight: float
    divergence_bits: float
    distance_nat: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class BinnedDivergence:
    """Divergence between human and judge labels, bin by bin.

    Attributes
    ----------
    js_divergence_bits : Estimate
        Eq. 2 as written: weighted mean over bins, in bits, 0 to 1.
    js_distance_nat : Estimate
        Weighted mean of the square roots in nats, as in the paper's tables.
    bins : tuple of Bin
        Nonempty bins, in order.
    n_tied : int
        Number of items whose most common label is tied (majority bins only).
    """

    js_divergence_bits: Estimate
    js_distance_nat: Estimate
    bins: tuple[Bin, ...]
    n_tied: int

    def __repr__(self) -> str:
        return f"BinnedDivergence({len(self.bins)} bins, {self.js_divergence_bits.value} bits)"


def bins_of(
    human: Counts, by: BinBy, *, options: Sequence[str], scale: ArrayLike | None = None
) -> tuple[FloatArray, tuple[str | float, ...]]:
    """Return each item's share in each bin as an (n, B) array, and the bins' labels.

    Parameters
    ----------
    human : (n, K) array
        Number of times each option was chosen.
    by, options, scale
        As in `binned_divergence`.

    Raises
    ------
    ValueError
        If ``by`` is unknown.
    """
    if by == "majority":
        return np.nan_to_num(modes(human)), tuple(options)
    if by != "median":
        raise ValueError(f"by is {by!r}; wanted median or majority")
    middle = medians(human, scale)
    labels = np.unique(middle[~np.isnan(middle)])
    return (middle[:, None] == labels).astype(np.float64), tuple(labels.tolist())


def binned_sums(bins: FloatArray, human: Counts, judge: Counts) -> FloatArray:
    """Return (n, B (1 + 2 K)) columns per bin: item share, human counts and judge counts.

    Items without labels on either side contribute nothing.
    """
    h, j = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if h.shape != j.shape or len(bins) != len(h):
        raise ValueError(f"human has shape {h.shape} and judge {j.shape}; wanted (n, K) for both")
    both = _labelled(h, j)
    per_item = np.hstack([both, h * both, j * both])
    width = bins.shape[1] * per_item.shape[1]
    return np.asarray(np.einsum("nb,nd->nbd", bins, per_item).reshape(len(h), width))


def _labelled(human: FloatArray, judge: FloatArray) -> FloatArray:
    both = (row_sums(human) != 0) & (row_sums(judge) != 0)
    return np.asarray(both, dtype=np.float64)[:, None]


def binned_metrics(K: int) -> tuple[Metric, Metric]:
    """Return two metrics of `binned_sums` over K options: divergence in bits, and distance."""
    per_bin = remembered(lambda totals: _per_bin(totals, K))
    return (
        _measure(
            name="js_divergence_bits",
            value=lambda t: _mean_over_bins(*per_bin(t)),
            bounds=(0.0, 1.0),
        ),
        _measure(
            name="js_distance_nat",
            value=lambda t: _mean_over_bins(per_bin(t)[0], _distance(per_bin(t)[1])),
            bounds=(0.0, float(np.sqrt(np.log(2.0)))),
        ),
    )


_measure = partial(
    Metric, reason=no_items, paper="Elangovan et al. 2025, Eq. 1 and 2", better="lower"
)


def _per_bin(totals: FloatArray, K: int) -> tuple[FloatArray, FloatArray]:
    """Return each bin's number of items, and its divergence in bits. Both are (..., B)."""
    width = 1 + 2 * K
    table = totals.reshape(*totals.shape[:-1], totals.shape[-1] // width, width)
    n, h, j = table[..., 0], table[..., 1 : 1 + K], table[..., 1 + K :]
    bits = np.zeros(n.shape)
    every = tuple(range(n.ndim - 1))
    bins = np.flatnonzero(n.any(axis=every))  # other bins never have labels
    used = np.flatnonzero(h.any(axis=(*every, -2)) | j.any(axis=(*every, -2)))
    p, q = (_shares(side[..., bins, :][..., used]) for side in (h, j))
    middle = (p + q) / 2.0
    divergences = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2.0 * np.log(2.0))
    bits[..., bins] = np.maximum(divergences, 0.0)
    return n, bits


def _shares(labels: FloatArray) -> FloatArray:
    """Divide the labels in each bin by their number. Empty bins get 0."""
    n = labels.sum(axis=-1, keepdims=True)
    return np.asarray(labels / np.where(n > 0, n, 1.0), dtype=np.float64)


def _distance(bits: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(bits * np.log(2.0)), dtype=np.float64)


def _mean_over_bins(n: FloatArray, per_bin: FloatArray) -> FloatArray:
    return ratio((n * per_bin).sum(axis=-1), n.sum(axis=-1))


def binned_divergence(
    human: Counts,
    judge: Counts,
    *,
    by: BinBy,
    options: Sequence[str],
    resampling: Resampling,
    scale: ArrayLike | None = None,
) -> BinnedDivergence:
    """Compare a judge's labels with the raters', by bin (Elangovan et al. 2025, section 3.2).

    Parameters
    ----------
    human, judge : (n, K) array
        Number of times each option was chosen.
    by : {"median", "majority"}
        Statistic that defines the bins: the median human label on an ordinal scale, or the most
        common label.
    options : K names
        Names of the columns.
    resampling : Resampling
        Settings for intervals.
    scale : (K,) numbers, optional
        Increasing numbers for the options; by default 1 to K.

    Raises
    ------
    ValueError
        If shapes differ, ``by`` is unknown or the scale does not increase.
    """
    counts = np.asarray(human, dtype=np.float64)
    members, labels = bins_of(counts, by, options=options, scale=scale)
    sums = binned_sums(members, counts, judge)
    used = np.asarray(sums.any(axis=1), dtype=np.bool_)
    unrated = np.asarray(~counts.any(axis=1), dtype=np.bool_)
    batch = ItemSums(
        contributions=sums,
        metrics=binned_metrics(counts.shape[1]),
        used=used,
        excluded=exclusions(
            [
                ("human_no_ratings", unrated.sum()),
                ("judge_no_ratings", (~used & ~unrated).sum()),
            ]
        ),
        nothing="no_overlap" if len(counts) else "no_items",
    )
    estimates = estimate_sums({"": batch}, resampling=resampling)[""]
    n, bits = _per_bin(sums.sum(axis=0), counts.shape[1])
    share, distance = ratio(n, n.sum()), _distance(bits)
    return BinnedDivergence(
        js_divergence_bits=estimates["js_divergence_bits"],
        js_distance_nat=estimates["js_distance_nat"],
        bins=tuple(
            Bin(labels[b], *(float(per_bin[b]) for per_bin in (n, share, bits, distance)))
            for b in np.flatnonzero(n)
        ),
        n_tied=int((tied_modes(members) & used).sum()) if by == "majority" else 0,
    )

"""Losses, between 0 and 1, for every possible answer to an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, Counts, FloatArray, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

UNANSWERED = 1.0  # worst loss, for an item without a usable answer
LEAST_RANGE = 0.05  # items on which all answers have equal losses are drawn too, but rarely


@dataclass(frozen=True, slots=True)
class LossTable:
    """The loss for every answer to every item.

    Attributes
    ----------
    name : str
        Name of the loss; see `LOSSES`.
    values : (n, A) array in [0, 1]
        One row per item and one column per answer, which is an option or a response set. Rows are
        nan if nobody rated the item.
    """

    name: str
    values: FloatArray

    @property
    def ranges(self) -> FloatArray:
        """Range of each item's loss over all answers, at least 0.05, in an (n,) array.

        The answers include a missing one. The range bounds the difference between two judges on the
        item, and is known before any judge runs.
        """
        return np.asarray(np.maximum(UNANSWERED - self.values.min(axis=1), LEAST_RANGE))


def random_rater_loss(counts: Counts) -> FloatArray:
    """Return the share of an item's raters with a different answer, from (n, K) counts."""
    return 1.0 - _shares(counts)


def hit_loss(counts: Counts) -> FloatArray:
    """Return 0 for the raters' most common answer, else 1. Tied answers share the hit evenly."""
    totals = counts.sum(axis=1, keepdims=True)
    modes = (counts == counts.max(axis=1, keepdims=True)) & (totals > 0)
    hits = modes / np.maximum(modes.sum(axis=1, keepdims=True), 1)
    return np.where(totals > 0, 1.0 - hits, np.nan)


def squared_loss(counts: Counts, membership: FloatArray | None = None) -> FloatArray:
    """Return half the squared distance between one answer and the raters' distribution.

    Parameters
    ----------
    counts : (n, A) array
        Number of raters with each answer.
    membership : (K, A) array of 0 and 1, optional
        Whether each response set contains each of K options (Lambda), if answers are sets. The
        distance is then between the set's indicator and Omega, divided by K.

    Returns
    -------
    loss : (n, A) array in [0, 1]
        `mse(s/s)` of one reply divided by 2, or `mse(srs/srs)` of one reply divided by K.
    """
    shares = _shares(counts)
    if membership is None:
        return np.asarray((1.0 - 2.0 * shares + (shares**2).sum(axis=1, keepdims=True)) / 2.0)
    omega = shares @ membership.T  # (n, K)
    distances = omega[:, None, :] - membership.T[None, :, :]
    return np.asarray((distances**2).mean(axis=2))


def _shares(counts: Counts) -> FloatArray:
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.maximum(totals, 1), np.nan)


LOSSES: dict[str, Callable[..., FloatArray]] = {
    "random_rater": random_rater_loss,
    "hit": hit_loss,
    "squared": squared_loss,
}


def loss_table(name: str, counts: Counts, membership: FloatArray | None = None) -> LossTable:
    """Return the loss for every answer to every item.

    Parameters
    ----------
    name : str
        A key of `LOSSES`.
    counts : (n, A) array
        Ratings of each item by answer.
    membership : (K, A) array, optional
        Options of each response set, if the answers are sets and the loss is ``squared``.

    Raises
    ------
    ValueError
        If the loss is unknown, or a loss lies outside [0, 1].
    """
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; wanted one of {', '.join(LOSSES)}")
    squared_sets = name == "squared" and membership is not None
    values = squared_loss(counts, membership) if squared_sets else LOSSES[name](counts)
    rated = values[~np.isnan(values)]
    if ((rated < -TOLERANCE) | (rated > 1.0 + TOLERANCE)).any():
        raise ValueError(f"loss {name!r} has values outside [0, 1]")
    return LossTable(name, frozen(np.clip(values, 0.0, 1.0)))

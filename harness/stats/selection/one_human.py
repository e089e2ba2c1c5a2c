"""One human as the reference: judge and rater scored on the same remaining ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.selection.replies import Contributions, Vectors

MIN_RATINGS = 2  # one is left out, one remains


@dataclass(frozen=True, slots=True, repr=False)
class OneHuman:
    """What each item adds to a metric's mean of one human, and of the judge in that human's place.

    Attributes
    ----------
    human, judge : (n, 2) arrays
        Mean over the item's ratings, and the item's weight; zeros where the item does not enter.
    used : (n,) bool array
        Items with a verdict and at least two ratings.
    n_ratings : int
        Ratings left out in turn.
    """

    human: FloatArray
    judge: FloatArray
    used: BoolArray
    n_ratings: int

    def __repr__(self) -> str:
        return f"OneHuman({self.used.sum()} items, {self.n_ratings} ratings left out)"

    @property
    def difference(self) -> FloatArray:
        """(n, 2): judge minus human, and the item's weight."""
        return np.column_stack([self.judge[:, 0] - self.human[:, 0], self.human[:, 1]])


def one_human(
    contributions: Contributions,
    counts: IntArray | FloatArray,
    judge_shares: FloatArray,
    *,
    human_vectors: Vectors,
    judge_vectors: Vectors,
) -> OneHuman:
    """Score a rater and the judge on the same other ratings of each item, as one reply each.

    Every rating is left out in turn. The value that was left out, and one reply of the judge, are
    both compared with the shares of the m - 1 ratings that remain. Scoring the human by m - 1
    ratings and the judge by m would favour the judge.

    Parameters
    ----------
    contributions : callable
        ``(human, judge) -> (n, 2)`` of a `Metric` that is a mean over items.
    counts : (n, W) array
        How often each answer was given by raters; who gave it does not matter.
    judge_shares : (n, W) array
        Shares of the judge's answers: the chance of each as one reply; nan where it gave none.
    human_vectors, judge_vectors : callable
        ``(n, W) shares -> (n, D)``: rating vectors in the raters' and in the judge's form.

    Returns
    -------
    OneHuman
        Contributions of items; means over them are the two values and their paired difference.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n, W = counts.shape
    m = counts.sum(axis=1)
    used = (m >= MIN_RATINGS) & ~np.isnan(judge_shares).any(axis=1)
    human_sums, judge_sums = np.zeros(n), np.zeros(n)
    answers = np.flatnonzero(
        (counts > 0).any(axis=0) | (np.nan_to_num(judge_shares) > 0).any(axis=0)
    )
    for k in np.flatnonzero((counts > 0).any(axis=0)):
        left_out = used & (counts[:, k] > 0)
        remaining = human_vectors(ratio(counts[left_out] - np.eye(W)[k], m[left_out, None] - 1.0))
        share = counts[left_out, k] / m[left_out]
        for answer in answers:
            reply = judge_vectors(np.eye(W)[answer : answer + 1])
            rows = np.broadcast_to(reply, (len(remaining), reply.shape[1]))
            score = contributions(remaining, rows)[:, 0]
            judge_sums[left_out] += share * judge_shares[left_out, answer] * score
            if answer == k:
                human_sums[left_out] += share * score
    weight = used.astype(np.float64)
    return OneHuman(
        human=np.column_stack([human_sums, weight]),
        judge=np.column_stack([judge_sums, weight]),
        used=used,
        n_ratings=int(m[used].sum()),
    )

"""Values compared two by two: equal, near, or similar by a table or a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.panel import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray

    Similarity: TypeAlias = Callable[[Hashable, Hashable], float]
    Pairing: TypeAlias = Callable[[Sequence[Hashable], IntArray, IntArray], FloatArray]

NamedScore: TypeAlias = Literal["accuracy", "neg_rmse", "rank_neg_rmse"]
NAMED_SCORES: tuple[NamedScore, ...] = ("accuracy", "neg_rmse", "rank_neg_rmse")
Score: TypeAlias = "NamedScore | Similarity | SimilarityTable"


@dataclass(frozen=True, slots=True, repr=False)
class SimilarityTable:
    """How similar any two of K labels are.

    Attributes
    ----------
    labels : K values
        Every value a rater or judge may give.
    values : (K, K) array
        Row: the value scored; column: the value it is compared with. Higher is more similar.
    """

    labels: Sequence[Hashable]
    values: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        if shape != (len(self.labels),) * 2 or not np.isfinite(self.values).all():
            raise ValueError(
                f"similarity has shape {shape} for {len(self.labels)} labels; "
                "wanted one finite number per pair of labels"
            )

    def __repr__(self) -> str:
        return f"SimilarityTable({len(self.labels)} labels)"


def similarities(score: Score, labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
    """Compare values two by two: 1 or 0, minus the absolute difference, or the similarity.

    Parameters
    ----------
    score : str, callable or SimilarityTable
        As in `aligner`; ranks are compared as numbers.
    labels : sequence
        The distinct values.
    x, y : (N,) int arrays
        Places in ``labels``.
    """
    if score == "accuracy":
        return same(labels, x, y)
    if isinstance(score, SimilarityTable):
        return looked_up(score)(labels, x, y)
    if callable(score):
        return called(score)(labels, x, y)
    number = numbers(labels, "ratings")
    return -np.abs(number[x] - number[y])


def same(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:  # noqa: ARG001 -- the shape of a pairing
    """Return 1 where two values are equal, else 0."""
    return np.asarray(x == y, dtype=np.float64)


def looked_up(table: SimilarityTable) -> Pairing:
    """Return the pairing of a table; ValueError for a value it does not hold."""
    place = {label: k for k, label in enumerate(table.labels)}

    def pairing(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
        known = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        if (known[x] < 0).any() or (known[y] < 0).any():
            raise ValueError("unknown_label: a value has no row in the similarity table")
        return np.asarray(table.values, dtype=np.float64)[known[x], known[y]]

    return pairing


def called(similarity: Similarity) -> Pairing:
    """Return the pairing of a function, called once per distinct pair; ValueError if not finite."""

    def pairing(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
        pairs, place = np.unique(x * len(labels) + y, return_inverse=True)
        left, right = np.divmod(pairs, max(len(labels), 1))
        values = np.array(
            [
                float(similarity(labels[i], labels[j]))
                for i, j in zip(left.tolist(), right.tolist(), strict=True)
            ]
        )
        if not np.isfinite(values).all():
            raise ValueError("similarity gave a number that is not finite")
        return values[place]

    return pairing

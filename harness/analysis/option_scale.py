"""Convert a task's options to a scale, and a judge's replies to one label per item."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import FloatArray, IntArray, frozen, ratio
from harness.stats.data.labels import modes
from harness.stats.metrics.human_agreement import pairwise_agreement
from harness.stats.modes import Ordering
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats import RatingTable
    from harness.tasks import Task


@dataclass(frozen=True, slots=True, repr=False)
class OptionScale:
    """Options of a task in increasing order, if they are ordered.

    Attributes
    ----------
    level : {"nominal", "ordinal"}
        Whether modes ("nominal") or medians ("ordinal") represent an item.
    options : K names
        Options in the order of `counts`.
    numbers : (K,) array or None
        The options' numbers: their keys if these are numbers, else 1 to K. None without order.
    order : (K,) int array
        Each option's column in a rating table.
    """

    level: Ordering
    options: tuple[str, ...]
    numbers: FloatArray | None
    order: IntArray

    @classmethod
    def of(cls, task: Task) -> Self:
        """Read a task's scale. If the options are in decreasing order, reverse them."""
        keys = task.space.options
        order = np.arange(len(keys))
        if task.scale != "ordinal":
            return cls("nominal", keys, None, order)
        numbers = np.array(list(numeric_keys(keys)) or order + 1.0, dtype=np.float64)
        if numbers[0] > numbers[-1]:
            order = order[::-1]
        return cls("ordinal", tuple(keys[k] for k in order), frozen(numbers[order]), order)

    def __repr__(self) -> str:
        return f"Scale({self.level}, {', '.join(self.options)})"

    def counts(self, table: RatingTable) -> FloatArray:
        """Return an (n, K) array that counts how often each option was chosen for each item."""
        return np.asarray(table.forced_choice[:, self.order], dtype=np.float64)


def drawn_modes(
    counts: FloatArray, items: Sequence[str], *, judge: str, seed: int
) -> tuple[FloatArray, int]:
    """Return an (n,) array with the column of each row's mode, and the number of tied rows.

    Comparisons with single raters or judges need one label, so ties are broken at random. Each mode
    is equally likely, and a hash of seed, judge and item decides, independently of the other items.
    The place is nan if the row is empty.
    """
    shares_of_modes = modes(counts)
    tied = np.flatnonzero((shares_of_modes > 0).sum(axis=1) > 1)
    drawn = shares_of_modes.argmax(axis=1).astype(np.float64)
    for i in tied.tolist():
        places = np.flatnonzero(shares_of_modes[i] > 0)
        drawn[i] = places[item_hash(seed, judge, items[i]) % len(places)]
    return np.where(counts.any(axis=1), drawn, np.nan), len(tied)


def item_hash(seed: int, judge: str, item: str) -> int:
    """Return a seed for random draws that concern one judge and item."""
    digest = blake2b(f"{seed} {judge} {item}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def disagreement(counts: FloatArray | IntArray) -> FloatArray:
    """Return an (n,) array with the share of differing pairs of ratings, or nan below two ratings.

    Parameters
    ----------
    counts : (n, K) array
        Number of times each option was chosen; abstentions are not counted.
    """
    agreeing, pairs = pairwise_agreement(counts).T
    return 1.0 - ratio(agreeing, pairs)

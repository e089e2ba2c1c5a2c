"""A task's options as a scale, and a judge's replies to an item as one label."""

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
    """Options in increasing order where they have one.

    Attributes
    ----------
    level : {"nominal", "ordinal"}
        Whether modes or medians stand for an item.
    options : K names
        In the order of `counts`.
    numbers : (K,) array or None
        What they stand for: their keys where these are numbers, else 1 to K. None without order.
    order : (K,) int array
        The column of each in a rating table.
    """

    level: Ordering
    options: tuple[str, ...]
    numbers: FloatArray | None
    order: IntArray

    @classmethod
    def of(cls, task: Task) -> Self:
        """Read a task's scale; options that fall are turned round."""
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
        """Return (n, K): how often each option was chosen."""
        return np.asarray(table.forced_choice[:, self.order], dtype=np.float64)


def drawn_modes(
    counts: FloatArray, items: Sequence[str], *, judge: str, seed: int
) -> tuple[FloatArray, int]:
    """Return the place of each row's mode, (n,), and how many were tied.

    One label is needed where a judge is held against single raters or judges: a tie is drawn, each
    mode as likely as another, by a hash of seed, judge and item, whatever the other items are. nan
    where the row is empty.
    """
    shares_of_modes = modes(counts)
    tied = np.flatnonzero((shares_of_modes > 0).sum(axis=1) > 1)
    drawn = shares_of_modes.argmax(axis=1).astype(np.float64)
    for i in tied.tolist():
        places = np.flatnonzero(shares_of_modes[i] > 0)
        drawn[i] = places[item_hash(seed, judge, items[i]) % len(places)]
    return np.where(counts.any(axis=1), drawn, np.nan), len(tied)


def item_hash(seed: int, judge: str, item: str) -> int:
    """Return a number from which what is random about a judge's reply to an item is drawn."""
    digest = blake2b(f"{seed} {judge} {item}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def disagreement(counts: FloatArray | IntArray) -> FloatArray:
    """Return (n,): share of the pairs of an item's ratings that differ; nan below two ratings.

    Parameters
    ----------
    counts : (n, K) array
        How often each option was chosen; abstentions are not counted.
    """
    agreeing, pairs = pairwise_agreement(counts).T
    return 1.0 - ratio(agreeing, pairs)

"""Windows of looks, and counts of a judge's replies per look, item and category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.stats.data.arrays import IntArray, frozen

LENGTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The last looks, set against everything before them.

    Attributes
    ----------
    look : int
        The last look of the window, from 1 on.
    length : int
        How many looks it holds, at most ``look``.
    """

    look: int
    length: int

    @property
    def first_look(self) -> int:
        """Return the first look of the window."""
        return self.look - self.length + 1

    @property
    def weight(self) -> float:
        """Return its share of the error rate; all windows of all looks add up to 1."""
        look = self.look
        if look == 1:
            return 0.5
        n_short = sum(length < look for length in LENGTHS)
        share = 0.5 if self.length == look else 0.5 / n_short
        return share / (look * (look + 1))

    def overlaps(self, other: Window) -> bool:
        """Return whether the windows have a look in common."""
        return self.first_look <= other.look and other.first_look <= self.look


@lru_cache(maxsize=4096)
def windows_of(look: int) -> tuple[Window, ...]:
    """Return the windows of a look: all looks since the baseline, and the last 1, 2, 4, ..., 64.

    Examples
    --------
    >>> [window.length for window in windows_of(5)]
    [5, 1, 2, 4]
    """
    return (Window(look, look), *(Window(look, m) for m in LENGTHS if m < look))


N_AXES = 3


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReplyCounts:
    """Replies of one stream, which is one judge and one elicitation.

    Attributes
    ----------
    categories : tuple of str
        The C categories in a fixed order, which decides ties: verdicts, response sets (the set is
        the category), and outcomes such as ``invalid``, ``refused`` and ``abstained``. A category
        that first occurs in a later look is appended at the end, which changes no earlier result.
    counts : (T + 1, n, C) int array
        How often each of n items got each category: row 0 in the baseline, row t in look t.

    Raises
    ------
    ValueError
        If a category is repeated, the shape does not fit, or a count is negative or no integer.

    Notes
    -----
    Missing replies follow the rule of *available replies*: a reply that never arrived (a transport
    error) is left out, and each item enters each window with the replies that it has. An item
    without a reply in the window, or without one before it, adds nothing there. This is valid where
    whether a reply arrives does not depend on what it says.

    Examples
    --------
    >>> baseline, look = [[2, 0], [1, 1]], [[1, 0], [0, 1]]
    >>> ReplyCounts(("yes", "no"), np.array([baseline, look]))
    ReplyCounts(2 items, 2 categories, 1 looks)
    """

    categories: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        counts = np.asarray(self.counts)
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"categories {self.categories}: one is repeated; they must differ")
        if counts.ndim != N_AXES or counts.shape[2] != len(self.categories) or not len(counts):
            raise ValueError(
                f"counts has shape {counts.shape}; wanted (looks + 1, items, "
                f"{len(self.categories)}), with the baseline first"
            )
        if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ValueError("counts holds a negative number or no integers; wanted how often")
        object.__setattr__(self, "counts", frozen(counts.astype(np.int64)))

    def __repr__(self) -> str:
        looks, n, C = self.counts.shape
        return f"ReplyCounts({n} items, {C} categories, {looks - 1} looks)"

    @property
    def n_looks(self) -> int:
        """Return T, the number of looks since the baseline."""
        return len(self.counts) - 1

    def before(self, window: Window) -> IntArray:
        """Return the (n, C) counts of all replies earlier than a window, baseline included."""
        return np.asarray(self.counts[: window.first_look].sum(axis=0))

    def inside(self, window: Window) -> IntArray:
        """Return the (n, C) counts of the replies in a window."""
        return np.asarray(self.counts[window.first_look : window.look + 1].sum(axis=0))

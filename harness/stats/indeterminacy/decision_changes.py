"""Decisions that flip as one parameter of F' grows: the break points, and any metric along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, IntArray, frozen, ratio
from harness.stats.data.rating_table import reaches

if TYPE_CHECKING:
    from harness.stats.inference.metric import Metric


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Flips:
    """Thresholded shares of n items while a parameter t goes from 0 to 1.

    Attributes
    ----------
    start : (n, C) array
        1.0 where a share is at least tau at t = 0, else 0.0; nan rows where nothing is known.
    at : (E,) array
        The t at which one entry turns from 0 to 1, ascending. It is 1 from there on.
    item : (E,) int array
        Whose entry turns.
    before, after : (E, C) arrays
        The item's row on either side.
    """

    start: FloatArray
    at: FloatArray
    item: IntArray
    before: FloatArray
    after: FloatArray

    @classmethod
    def of(cls, first: FloatArray, last: FloatArray, tau: float) -> Self:
        """Find the break points of shares that go linearly from ``first`` to ``last``, (n, C) each.

        Raises
        ------
        ValueError
            If a share falls, or tau is not in (0, 1].
        """
        if (last < first - TOLERANCE).any():
            raise ValueError("a share falls as the parameter grows; wanted shares that only grow")
        start = reaches(first, tau)
        turns = (start == 0.0) & (reaches(last, tau) == 1.0)
        at = np.clip(np.where(turns, ratio(tau - first, last - first), np.inf), 0.0, None)
        item, column = np.nonzero(turns)
        order = np.argsort(at[item, column], kind="stable")
        item, column = item[order], column[order]
        mine = at[item, column]
        earlier = (at[item] < mine[:, None]) | (
            (at[item] == mine[:, None]) & (np.arange(start.shape[1]) < column[:, None])
        )
        before = np.where(earlier, 1.0, start[item])
        after = before.copy()
        after[np.arange(len(item)), column] = 1.0
        return cls(
            start=frozen(start),
            at=frozen(np.minimum(mine, 1.0)),
            item=frozen(item),
            before=frozen(before),
            after=frozen(after),
        )

    def __repr__(self) -> str:
        return f"Flips({len(self.start)} items, {len(self.at)} break points)"

    def gains(self, row: Metric, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a metric's (n, d) contributions at the start, and what each flip adds, (E, d)."""
        mine = judge[self.item]
        added = row.contributions(self.after, mine) - row.contributions(self.before, mine)
        return row.contributions(self.start, judge), added

    def ends(self) -> BoolArray:
        """Return (E,) bool: whether a flip is the last at its t, so that values exist after it."""
        return np.asarray(np.diff(self.at, append=np.inf) > TOLERANCE, dtype=np.bool_)

    def path(self, row: Metric, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Follow a metric exactly: (P,) starts of the pieces, the first 0, and its (P,) values."""
        base, added = self.gains(row, judge)
        totals = base.sum(axis=0) + np.cumsum(added, axis=0)[self.ends()]
        values = row.value(np.vstack([base.sum(axis=0)[None], totals]))
        return np.concatenate([[0.0], self.at[self.ends()]]), values

"""Two runs of a judge on the same items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """Hits of two runs on the same items, and whether their rates differ.

    Attributes
    ----------
    both, only_first, only_second, neither : int
        Items that both runs, the first or the second alone, or none got right.
    p : float or None
        Exact two-sided p-value; None without items.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p: float | None

    @property
    def n_items(self) -> int:
        """Items that were compared."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def rates(self) -> tuple[float, float] | None:
        """Hit rates of the first and of the second run; None without items."""
        if not self.n_items:
            return None
        first, second = self.both + self.only_first, self.both + self.only_second
        return first / self.n_items, second / self.n_items

    @property
    def difference(self) -> float | None:
        """Hit rate of the second run minus that of the first; None without items."""
        return (self.only_second - self.only_first) / self.n_items if self.n_items else None


def mcnemar(first: BoolArray, second: BoolArray) -> McNemarTest:
    """Compare the hits of two runs on the same items by the exact McNemar test.

    Parameters
    ----------
    first, second : (n,) bool arrays
        Whether each run was right about an item that both of them answered.

    Returns
    -------
    McNemarTest
        With p = min(1, 2 P(X <= min(b, c))) for X binomial of b + c discordant items at one half,
        and 1 where there are none.

    References
    ----------
    Q. McNemar, Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12 (1947), 153-157.
    """
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    p = min(1.0, 2.0 * float(binom.cdf(min(b, c), b + c, 0.5))) if b + c else 1.0
    return McNemarTest(
        both=int((first & second).sum()),
        only_first=b,
        only_second=c,
        neither=int((~first & ~second).sum()),
        p=p if len(np.asarray(first)) else None,
    )

"""Windows of looks, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

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

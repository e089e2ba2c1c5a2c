"""How estimates get their intervals: what is resampled, how often, and at which level."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- readers of a field's type need it
from dataclasses import dataclass

import numpy as np  # noqa: TC002 -- readers of a field's type need it

from harness.stats.inference.bootstrap import OneWalk, Units
from harness.stats.inference.interval_methods import IntervalMethod, check_level, check_method

N_RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Resampling:
    """How to resample items and make intervals; every estimating function takes it.

    Attributes
    ----------
    rng : numpy Generator
        Gives the seed of the resamples, so that two functions called with one generator draw
        different resamples, and a repeated script draws the same.
    groups : sequence of str or None, optional
        The cluster of each item, resampled as a whole; an item with None is a cluster by itself.
        Default: items are resampled.
    n_resamples : int
        Bootstrap replicates; 0 for none, and then no percentile intervals.
    level : float in (0, 1)
        Confidence level of the intervals.
    method : {"percentile", "bca", "jackknife"}
        How intervals are made. Differences between judges keep the percentiles of their
        replicates whatever the method.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> Resampling(rng=np.random.default_rng(0), n_resamples=500)
    Resampling(500 resamples of items, 95 % percentile intervals)
    """

    rng: np.random.Generator
    groups: Sequence[str | None] | None = None
    n_resamples: int = N_RESAMPLES
    level: float = LEVEL
    method: IntervalMethod = "percentile"

    def __post_init__(self) -> None:
        check_level(self.level)
        check_method(self.method)
        if self.n_resamples < 0:
            raise ValueError(f"n_resamples is {self.n_resamples}; wanted 0 or more")

    def __repr__(self) -> str:
        unit = "items" if self.groups is None else "groups"
        how = f"{100 * self.level:g} % {self.method} intervals"
        return f"Resampling({self.n_resamples} resamples of {unit}, {how})"

    def units(self, n_items: int) -> Units:
        """Return what is resampled among n items; ValueError if ``groups`` has another length."""
        return Units.of(n_items, self.groups)

    def draw(self, units: Units) -> OneWalk:
        """Take one seed from the generator for resamples of these units."""
        return OneWalk.of(units, self.n_resamples, self.rng)

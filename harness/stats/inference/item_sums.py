"""Contributions of items to metrics, and which items enter."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- readers of a result's fields need their types
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.stats.data.arrays import how_many, reduced
from harness.stats.reasons import (
    ExclusionReason,  # noqa: TC001 -- as above
    NAReason,  # noqa: TC001 -- as above
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Summands
    from harness.stats.inference.crossed_raters import RaterVariance
    from harness.stats.inference.metric import Metric


EMPTY: Final = "empty_stratum"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Number of items excluded from an estimate for one reason.

    Attributes
    ----------
    reason : str
        E.g. "judge_invalid": the judge's replies on these items could not be read.
    n_items : int
        How many.
    """

    reason: ExclusionReason
    n_items: int


def exclusions(counted: Iterable[tuple[ExclusionReason, int]]) -> tuple[Exclusion, ...]:
    """Return the reasons that excluded any items, with their numbers."""
    return tuple(Exclusion(reason, int(n_items)) for reason, n_items in counted if n_items)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ItemSums:
    """Contributions of n items to sums, and the metrics of these sums.

    Attributes
    ----------
    contributions : (n, d) array or Rows
        Contribution of each item; zeros if it doesn't enter.
    metrics : tuple of Metric
        Metrics to evaluate.
    used : (n,) bool array or None
        Which items enter; None for those with any contribution.
    inside : (n,) bool array or None
        Items of the stratum; None for all. Others are not counted as excluded.
    excluded : tuple of Exclusion
        Why other items don't enter.
    nothing : str
        The reason when no item enters.
    n_tied : int
        Used items with a tied mode.
    n_ratings : (n,) array or None
        Number of human ratings of each item.
    n_replies : float or None
        As in `Estimate`.
    n_samples : float
        Replies of the judge to each item; infinite without reply noise.
    options : tuple of str
        Names for the counts reported with a value.
    raters : dict of str to RaterVariance
        The raters' contribution to the variance, by metric, if they are a sample.
    """

    contributions: Summands
    metrics: tuple[Metric, ...]
    used: BoolArray | None = None
    inside: BoolArray | None = None
    excluded: tuple[Exclusion, ...] = ()
    nothing: NAReason = "no_items"
    n_tied: int = 0
    n_ratings: FloatArray | None = None
    n_replies: float | None = None
    n_samples: float = inf
    options: tuple[str, ...] = ()
    raters: Mapping[str, RaterVariance] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ItemSums({len(self.contributions)} items, {len(self.metrics)} metrics)"

    @property
    def entered(self) -> BoolArray:
        """Whether each item enters: (n,)."""
        if self.used is not None:
            return self.used
        return reduced(np.logical_or, np.asarray(self.contributions))

    def only(self, rows: BoolArray) -> ItemSums:
        """Keep some items, (n,) bool."""
        return replace(
            self,
            contributions=np.asarray(self.contributions)[rows],
            used=self.entered[rows],
            inside=None if self.inside is None else self.inside[rows],
            n_ratings=None if self.n_ratings is None else self.n_ratings[rows],
        )

    def within(self, inside: BoolArray, times: IntArray | None = None) -> ItemSums:
        """Return the contributions of a stratum's items, (n,) bool, counted ``times`` or once."""
        used, contributions = self.entered & inside, self.contributions
        n_unusable = how_many(inside & ~used, times)
        if not inside.all():
            contributions = np.where(inside[:, None], np.asarray(contributions), 0.0)
        return replace(
            self,
            contributions=contributions,
            used=used,
            inside=inside,
            excluded=exclusions([(self.nothing, n_unusable)]),
            nothing=self.nothing if inside.any() else EMPTY,
        )

    def weighted(self, weights: FloatArray) -> ItemSums:
        """Return the contributions multiplied by the (n,) weights of the items."""
        contributions = np.asarray(self.contributions) * weights[:, None]
        return replace(self, contributions=contributions, used=self.entered)

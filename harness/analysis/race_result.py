"""How a race of judges ended: what was asked, who left when, and what may be said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.stats.racing.race import Ending

Unfit: TypeAlias = Literal["", "control", "not assessed", "incomplete"]
RACED = "its judges raced, so they didn't see the same items"  # of a run
NAMES = {  # of losses
    "random_rater": "disagreement with a random rater",
    "hit": "share of items on which it misses the raters' most common answer",
    "squared": "squared distance of one reply from the raters, scaled to at most 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RacedJudge:
    """What one judge of a race was asked.

    Attributes
    ----------
    n_items : int
        Items of the pool that it was asked about in the race.
    n_calls, n_calls_full : int
        Replies that the race asked it for, and those to all items; none of an ensemble.
    usd, usd_full : float or None
        What those replies cost when they were bought, and what all would at that price; None if
        a price is not known, or nothing was asked.
    left_at_items, left_at_calls : int or None
        Items drawn, and replies of all judges together, when it was shown to be no better than the
        leader; None if it was not.
    """

    judge: str
    n_items: int
    n_calls: int
    n_calls_full: int
    usd: float | None
    usd_full: float | None
    left_at_items: int | None
    left_at_calls: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceResult:
    """How a race of judges ended.

    Attributes
    ----------
    ending : str or None
        "within": ``judge`` is within the margin of the best; "unique": it is the one best;
        "pool_exhausted": all items were asked before the others had left, and it has the lowest
        loss of those left; None if asking ended before the race.
    judge : str or None
        The judge that the race returned; None, too, where the one with the lowest loss is a
        control, or gave too few answers.
    leader : str or None
        The judge with the lowest loss when the race ended.
    unfit : str
        Why ``leader`` isn't returned: "control", "not assessed" or "incomplete"; "" if it is.
    within : float
        Difference of mean losses that does not matter; 0 in a race for the one best judge.
    alpha : float
        Chance that what ``ending`` says is wrong.
    loss : str
        What judges lose on an item: "random_rater", "hit" or "squared".
    n_items, n_unrated : int
        Items of the pool, and those left out of it since nobody rated them.
    n_groups : int or None
        Groups of items, which are drawn whole; None if items are drawn.
    n_drawn : int
        Items drawn.
    judges : tuple of RacedJudge
        The one returned, then the others, the last to leave first.
    over_budget : bool
        Whether the limit of cost ended the race.
    completed : bool
        Whether ``judge`` was asked about all other items afterwards.
    n_replies : int
        Most replies of a judge to an item: their losses are averaged, so that judges are compared
        by what one reply loses.
    dropped : dict of str to str
        Judges that stopped for a reason of their own, explained: what ``ending`` says is about the
        others.
    """

    ending: Ending | None
    judge: str | None
    leader: str | None = None
    unfit: Unfit = ""
    within: float
    alpha: float
    loss: str
    n_items: int
    n_unrated: int
    n_groups: int | None
    n_drawn: int
    judges: tuple[RacedJudge, ...]
    over_budget: bool
    completed: bool
    n_replies: int = 1
    dropped: dict[str, str] = field(default_factory=dict)

    @property
    def n_calls(self) -> int:
        """Replies that the race asked for."""
        return sum(row.n_calls for row in self.judges)

    @property
    def n_calls_full(self) -> int:
        """Replies of all judges to all items."""
        return sum(row.n_calls_full for row in self.judges)

    @property
    def usd(self) -> float | None:
        """What the race's replies cost when they were bought."""
        return _total([row.usd for row in self.judges if row.n_calls])

    @property
    def usd_full(self) -> float | None:
        """What all replies of all judges would cost at these prices."""
        return _total([row.usd_full for row in self.judges if row.n_calls_full])


def _total(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None

"""Result of a race between judges, with each judge's requests and when it was dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.stats.racing.race import Ending

Unfit: TypeAlias = Literal["", "control", "not assessed", "incomplete"]
RACED = "the judges took part in a race, so they didn't see the same items"  # about a run
NAMES = {  # of losses
    "random_rater": "disagreement with a random rater",
    "hit": "share of items on which the judge misses the raters' most common answer",
    "squared": "squared distance between one reply and the ratings, scaled to at most 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RacedJudge:
    """One judge's items, requests and cost in a race.

    Attributes
    ----------
    n_items : int
        Items in the pool that it was run on during the race.
    n_calls, n_calls_full : int
        Replies that the race requested from it, and those needed for all items; 0 for an ensemble.
    usd, usd_full : float or None
        Original cost of those replies, and the cost of all at that price. None if a price is
        unknown or nothing was requested.
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
    """Result of a race between judges.

    Attributes
    ----------
    ending : str or None
        "within" (``judge`` is within the margin of the best), "unique" (it is the only best judge),
        or "pool_exhausted" (all items were used before the other judges dropped out, and it has the
        lowest loss among those left). None if requests ended before the race.
    judge : str or None
        The judge that the race returned. Also None if the judge with the lowest loss is a control,
        or gave too few answers.
    leader : str or None
        The judge with the lowest loss when the race ended.
    unfit : str
        Why ``leader`` isn't returned: "control", "not assessed" or "incomplete"; "" if it is.
    within : float
        Difference in mean losses that does not matter; 0 in a race for the only best judge.
    alpha : float
        Probability that the conclusion in ``ending`` is wrong.
    loss : str
        Loss of a judge on an item: "random_rater", "hit" or "squared".
    n_items, n_unrated : int
        Items in the pool, and items left out because nobody rated them.
    n_groups : int or None
        Groups of items, which are drawn as a whole; None if single items are drawn.
    n_drawn : int
        Items drawn.
    judges : tuple of RacedJudge
        The returned judge, then the other judges, from the last to drop out to the first.
    over_budget : bool
        Whether the cost limit ended the race.
    completed : bool
        Whether ``judge`` was run on all other items afterwards.
    n_replies : int
        Most replies of a judge to an item. Their losses are averaged, so judges are compared by the
        loss of one reply.
    dropped : dict of str to str
        Judges that stopped for a separate reason, with its explanation. ``ending`` is about the
        remaining judges.
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
        """Number of replies that the race requested."""
        return sum(row.n_calls for row in self.judges)

    @property
    def n_calls_full(self) -> int:
        """Number of replies that all judges would need for all items."""
        return sum(row.n_calls_full for row in self.judges)

    @property
    def usd(self) -> float | None:
        """Original cost of the race's replies in USD, or None if unknown."""
        return _total([row.usd for row in self.judges if row.n_calls])

    @property
    def usd_full(self) -> float | None:
        """Cost in USD of running all judges on all items at these prices, or None if unknown."""
        return _total([row.usd_full for row in self.judges if row.n_calls_full])


def _total(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None

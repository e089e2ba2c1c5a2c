"""Race between judges: which items each judge runs on next, and when the race ends.

Judges rate the units of a pool in random order, a batch at a time. If there is evidence that a
judge is not better than the leader by more than ``within``, it is suspended and gets no more
requests unless another judge takes the lead. Everything is a pure function of the losses known so
far, so an interrupted race continues as if it had not been interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.stats.data.arrays import BoolArray, FloatArray, frozen
from harness.stats.racing.betting import LEAN, Draws, log_growth

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ending = Literal["within", "unique", "pool_exhausted"]
BATCH = 20  # items


@dataclass(frozen=True, slots=True)
class RaceDesign:
    """Settings that are fixed before a race.

    Attributes
    ----------
    draws : Draws
        The pool of n units in the order of drawing.
    n_judges : int
        J, two or more.
    within : float
        Difference in mean losses that does not matter, in [0, 1). With 0 the race is strict and
        ends with the only best judge.
    alpha : float
        Probability that the returned judge is worse than the best by ``within`` or more; in a
        strict race, that the best is eliminated.
    batch : int
        Number of items between decisions.
    """

    draws: Draws
    n_judges: int
    within: float
    alpha: float = 0.05
    batch: int = BATCH

    def __post_init__(self) -> None:
        if self.n_judges < 2:  # noqa: PLR2004 -- a race has two or more runners
            raise ValueError(f"a race needs at least two judges, not {self.n_judges}")
        if not 0.0 <= self.within < 1.0:
            raise ValueError(f"within is {self.within}; it must be in [0, 1)")
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha is {self.alpha}; it must be between 0 and 1")
        if self.batch < 1:
            raise ValueError(f"a batch must have at least one item, not {self.batch}")

    @property
    def strict(self) -> bool:
        """Return whether the race searches for the single best judge."""
        return self.within == 0.0

    def after_batch(self, n_units: int) -> int:
        """Return the total number of units drawn after the batch that follows ``n_units``."""
        items = np.cumsum(self.draws.sizes)
        before = items[n_units - 1] if n_units else 0.0
        return min(int(np.searchsorted(items, before + self.batch)) + 1, len(items))


@dataclass(frozen=True, slots=True)
class Standing:
    """Current state of a race.

    Attributes
    ----------
    n_asked : (J,) array of int
        Number of units, from the first, for which each judge's losses are needed before `advance`.
    suspended : (J,) array of bool
        Judges that get no more requests unless another judge takes the lead.
    leaders : tuple of int
        The leader after each decision so far.
    left_at : tuple of int or None
        Number of units drawn when each judge was last suspended; None if it was not.
    ending : str or None
        "within" (the leader's mean loss is within the margin of the best judge's), "unique" (all
        other judges were eliminated), or "pool_exhausted" (the leader has the lowest mean loss on
        the pool among the remaining judges); None while the race continues.
    """

    n_asked: NDArray[np.int64]
    suspended: BoolArray
    leaders: tuple[int, ...] = ()
    left_at: tuple[int | None, ...] = ()
    ending: Ending | None = None

    @property
    def leader(self) -> int:
        """The leading judge, which is the first judge before there are any losses."""
        return self.leaders[-1] if self.leaders else 0

    def __repr__(self) -> str:
        state = self.ending or f"{int((~self.suspended).sum())} running"
        return f"Standing({state}, leader {self.leader}, {int(self.n_asked.max())} units drawn)"


def start(design: RaceDesign) -> Standing:
    """Return the initial state, in which every judge needs the first batch."""
    return Standing(
        n_asked=np.full(design.n_judges, design.after_batch(0)),
        suspended=np.zeros(design.n_judges, dtype=bool),
        left_at=(None,) * design.n_judges,
    )


def advance(design: RaceDesign, standing: Standing, losses: FloatArray) -> Standing:
    """Return the next state of a race.

    Parameters
    ----------
    design : RaceDesign
        Settings of the race.
    standing : Standing
        Current state; the race must not have ended.
    losses : (J, n) array
        Losses in the order of the draws, in [0, size of the unit]; for judge j, the first
        ``standing.n_asked[j]`` are known.

    Returns
    -------
    next : Standing
        The next state, either ended or with more units for some judges.

    Raises
    ------
    ValueError
        If the race has ended, or a needed loss is nan.
    """
    if standing.ending is not None:
        raise ValueError("the race has ended")
    for judge, count in enumerate(standing.n_asked):
        if np.isnan(losses[judge, :count]).any():
            raise ValueError(f"judge {judge} lacks losses among the first {count} units")
    return (
        _eliminate(design, standing, losses)
        if design.strict
        else _suspend(design, standing, losses)
    )


def _suspend(design: RaceDesign, standing: Standing, losses: FloatArray) -> Standing:
    """Suspend judges that demonstrably do not beat the leader, and let others return."""
    n_drawn = int(standing.n_asked.max())
    leader = _lowest(design, losses, ~standing.suspended, n_drawn)
    # Judge j needs as many units as show that it isn't better than this leader.
    threshold = np.log((design.n_judges - 1) / design.alpha)
    n_asked = standing.n_asked.copy()
    suspended = np.zeros(design.n_judges, dtype=bool)
    behind = False
    for judge in range(design.n_judges):
        if judge == leader:
            continue
        count = n_asked[judge]
        growth = log_growth(
            losses[leader, :count], losses[judge, :count], design.draws, within=design.within
        )
        if (np.cumsum(growth) >= threshold).any():
            suspended[judge] = True
        elif count < n_drawn:
            suspended[judge] = behind = True
            n_asked[judge] = min(design.after_batch(int(count)), n_drawn)
    after = _recorded(standing, suspended, leader, n_drawn)
    if behind:
        return replace(after, n_asked=n_asked)
    if suspended.sum() == design.n_judges - 1:
        return replace(after, ending="within")
    return _drawn_on(design, after, losses)


def _eliminate(design: RaceDesign, standing: Standing, losses: FloatArray) -> Standing:
    """Eliminate judges that demonstrably are not the best one."""
    n_drawn = int(standing.n_asked.max())
    led_by = _leader_of_units(design, standing, n_drawn)
    out = standing.suspended.copy()
    for judge in np.flatnonzero(~out):
        growth = np.zeros(n_drawn)
        for leader in set(led_by.tolist()) - {int(judge)}:
            units = led_by == leader
            against = log_growth(
                losses[leader, :n_drawn],
                losses[judge, :n_drawn],
                design.draws,
                within=0.0,
                lean=LEAN,
            )
            growth[units] = against[units]
        out[judge] = bool((np.cumsum(growth) >= np.log(1.0 / design.alpha)).any())
    if out.all():  # no judge can be best: the data contradict all hypotheses
        out = standing.suspended.copy()
    leader = _lowest(design, losses, ~out, n_drawn)
    after = _recorded(standing, out, leader, n_drawn)
    if out.sum() == design.n_judges - 1:
        return replace(after, ending="unique")
    return _drawn_on(design, after, losses)


def _leader_of_units(design: RaceDesign, standing: Standing, n_drawn: int) -> NDArray[np.int64]:
    """Return who led when each drawn unit was requested."""
    led_by = np.zeros(n_drawn, dtype=np.int64)
    begin = design.after_batch(0)
    for leader in standing.leaders:
        led_by[begin:] = leader
        begin = design.after_batch(begin)
    return led_by


def _recorded(standing: Standing, suspended: BoolArray, leader: int, n_drawn: int) -> Standing:
    left_at = tuple(
        None if not now else (before if was else n_drawn)
        for now, was, before in zip(
            suspended.tolist(), standing.suspended.tolist(), standing.left_at, strict=True
        )
    )
    return replace(
        standing,
        suspended=frozen(suspended),
        leaders=(*standing.leaders, leader),
        left_at=left_at,
    )


def _drawn_on(design: RaceDesign, standing: Standing, losses: FloatArray) -> Standing:
    """Draw another batch. If the pool is exhausted, end with the lowest mean loss."""
    n_drawn = int(standing.n_asked.max())
    n_units = len(design.draws.sizes)
    running = ~standing.suspended
    if n_drawn == n_units:
        means = np.where(running, losses.sum(axis=1), np.inf)
        leaders = (*standing.leaders[:-1], int(np.argmin(means)))
        return replace(standing, leaders=leaders, ending="pool_exhausted")
    n_asked = np.where(running, design.after_batch(n_drawn), standing.n_asked)
    return replace(standing, n_asked=n_asked)


def _lowest(design: RaceDesign, losses: FloatArray, running: BoolArray, n_drawn: int) -> int:
    """Return the running judge with the lowest mean loss. Units are weighted by 1 / range."""
    weighted = losses[running, :n_drawn] / design.draws.ranges[:n_drawn]
    return int(np.flatnonzero(running)[np.argmin(weighted.sum(axis=1))])

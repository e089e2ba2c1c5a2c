"""The smallest change that a schedule of rounds detects."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, log
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.drift.changed_judges import ALPHA
from harness.stats.drift.reply_counts import MIN_REPLIES, retest_flip_rate, windows_of
from harness.stats.drift.stream_path import anytime_p_values, stacked_paths
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.drift.reply_counts import ReplyCounts

BLOCK = 50  # number of schedules simulated at once
POWER = 0.8
N_SCHEDULES = 100
SIZE_STEP = 1.1  # ratio between the numbers of items in the search


@dataclass(frozen=True, slots=True, kw_only=True)
class LookSchedule:
    """Number and size of the rounds in which judges are tested.

    Attributes
    ----------
    n_looks : int
        Number of rounds within which a change should be detected.
    n_judges, n_elicitations : int
        Number of judges and elicitations that share alpha.
    replies_per_look : int
        New replies per item in each round.
    alpha : float in (0, 1)
        Probability of any false alarm.
    """

    n_looks: int
    n_judges: int = 1
    n_elicitations: int = 1
    replies_per_look: int = 1
    alpha: float = ALPHA

    @property
    def threshold(self) -> float:
        """Return the p-value at or below which a stream counts as changed."""
        return self.alpha / (self.n_judges * self.n_elicitations)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableChange:
    """The smallest change that a schedule detects.

    Attributes
    ----------
    n_items : int
        Number of items in each round.
    floor : int
        Minimum number of changed items that can be detected, whatever the noise.
    n_changed : int or None
        The smallest number of items whose change, from round 1 on, is detected in at least 80 % of
        the simulated schedules; None with a reason.
    power : float or None
        Share of the simulated schedules that detected it.
    n_looks, n_schedules : int
        Rounds per schedule, and schedules simulated for each number of items.
    reason : str
        "one_baseline_reply": the noise is unknown. "floor_above_items": there are fewer items than
        the floor. "not_even_all_items": even a change of all items is detected too rarely.
    """

    n_items: int
    floor: int
    n_changed: int | None
    power: float | None
    n_looks: int
    n_schedules: int
    reason: Reason = ""

    @property
    def share(self) -> float | None:
        """Return the smallest detectable share of changed items, or None if it is unknown."""
        return None if self.n_changed is None else self.n_changed / self.n_items


def fewest_changed_items(n_baseline: int, schedule: LookSchedule) -> int:
    """Return the minimum number of changed items that any schedule can detect.

    An item that changed after s0 equal baseline replies and has r new ones has a p-value of at
    least ``1 / C(s0 + r, r)``. Together, k of them must reach their window's share of alpha.

    Examples
    --------
    >>> fewest_changed_items(2, LookSchedule(n_looks=1)), fewest_changed_items(
    ...     5, LookSchedule(n_looks=1, n_judges=10)
    ... )
    (4, 4)
    """
    floors = []
    for look in range(1, schedule.n_looks + 1):
        n_new = look * schedule.replies_per_look
        wanted = schedule.threshold / 2.0 * windows_of(look)[0].weight
        floors.append(ceil(-log(wanted) / log(comb(n_baseline + n_new, n_new))))
    return min(floors)


def smallest_detectable(
    counts: ReplyCounts,
    *,
    schedule: LookSchedule,
    rng: np.random.Generator,
    n_schedules: int = N_SCHEDULES,
) -> DetectableChange:
    """Find the smallest number of changed items that a schedule detects with 80 % power.

    Parameters
    ----------
    counts : ReplyCounts
        Counts, of which only the baseline is used.
    schedule : LookSchedule
        Future rounds.
    rng : numpy Generator
        Draws the schedules. The same schedules are used for every number of changed items.
    n_schedules : int
        Number of schedules simulated for each number of changed items.

    Notes
    -----
    An item's replies are drawn from the posterior of its distribution, given its baseline replies
    and a Dirichlet prior whose mean is the share of each category and whose concentration matches
    the retest flip rate. In an item that changes, the usual answer is swapped with a different one,
    drawn in proportion to its share.
    """
    n_items = counts.counts.shape[1]
    n_baseline = int(counts.counts[0].sum(axis=1).max(initial=0))
    floor = fewest_changed_items(max(n_baseline, 1), schedule)

    def result(
        n_changed: int | None = None, power: float | None = None, reason: Reason = ""
    ) -> DetectableChange:
        return DetectableChange(
            n_items=n_items,
            floor=floor,
            n_changed=n_changed,
            power=power,
            n_looks=schedule.n_looks,
            n_schedules=n_schedules,
            reason=reason,
        )

    if n_baseline < MIN_REPLIES:
        return result(reason="one_baseline_reply")
    if floor > n_items:
        return result(reason="floor_above_items")
    simulation = _Simulation(counts, schedule, n_schedules, int(rng.integers(1 << 62)))
    n_changed = _smallest(range(floor, n_items + 1), lambda k: simulation.power(n_items, k))
    if n_changed is None:
        return result(reason="not_even_all_items")
    return result(n_changed, simulation.power(n_items, n_changed))


def anchor_size(
    counts: ReplyCounts,
    share: float,
    *,
    schedule: LookSchedule,
    rng: np.random.Generator,
    max_items: int,
    n_schedules: int = N_SCHEDULES,
) -> int | None:
    """Return how many items are needed to detect a change in a share of them with 80 % power.

    Parameters
    ----------
    counts : ReplyCounts
        Counts whose baseline items represent all items.
    share : float in (0, 1]
        Share of items that change.
    schedule, rng, n_schedules
        As in `smallest_detectable`.
    max_items : int
        Number of available items.

    Returns
    -------
    int or None
        Number of items, in steps of 10 %; None if ``max_items`` are too few or the noise is
        unknown.

    Raises
    ------
    ValueError
        If the share is out of range.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}; wanted a number above 0 and at most 1")
    n_baseline = int(counts.counts[0].sum(axis=1).max(initial=0))
    if n_baseline < MIN_REPLIES:
        return None
    floor = fewest_changed_items(n_baseline, schedule)
    simulation = _Simulation(counts, schedule, n_schedules, int(rng.integers(1 << 62)))
    sizes = [ceil(floor / share)]
    while sizes[-1] < max_items:
        sizes.append(min(max_items, ceil(sizes[-1] * SIZE_STEP)))
    place = _smallest(
        range(len(sizes) if sizes[0] <= max_items else 0),
        lambda at: simulation.power(sizes[at], round(share * sizes[at])),
    )
    return None if place is None else sizes[place]


def _smallest(candidates: range, power: Callable[[int], float]) -> int | None:
    """Find the first candidate with enough power, using exponential search and then bisection."""
    low, step = -1, 1  # the last place known to have too little power
    high = 0
    while high < len(candidates) and power(candidates[high]) < POWER:
        low, high, step = high, high + step, 2 * step
    if high >= len(candidates):
        high = len(candidates) - 1
        if high <= low or power(candidates[high]) < POWER:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(candidates[middle]) >= POWER else (middle, high)
    return candidates[high]


@dataclass(frozen=True, slots=True, repr=False)
class _Simulation:
    """Simulated schedules for a stream that changes in round 1."""

    counts: ReplyCounts
    schedule: LookSchedule
    n_schedules: int
    seed: int

    def power(self, n_items: int, n_changed: int) -> float:
        """Return the share of schedules that detect the change."""
        n_noticed = 0
        _, is_outcome = _with_an_alternative(self.counts)
        for first in range(0, self.n_schedules, BLOCK):
            rng = np.random.default_rng([self.seed, first])
            size = min(BLOCK, self.n_schedules - first)
            drawn = self._draw(size, n_items, n_changed, rng)
            paths = stacked_paths(drawn, is_outcome, stop_at=self.schedule.threshold)
            n_noticed += int((anytime_p_values(*paths)[:, -1] <= self.schedule.threshold).sum())
        return n_noticed / self.n_schedules

    def _draw(self, size: int, n_items: int, n_changed: int, rng: np.random.Generator) -> IntArray:
        """Draw counts as a (size, looks + 1, n_items, C) array."""
        own, _ = _with_an_alternative(self.counts)
        shares = own.sum(axis=0) / own.sum()
        chosen = np.tile(np.arange(len(own)), (size, 1))
        if n_items != len(own):
            chosen = rng.integers(len(own), size=(size, n_items))
        baseline = own[chosen]
        prior = shares * _concentration(retest_flip_rate(self.counts).value or 0.0, shares)
        chance = _normalised(rng.standard_gamma(baseline + prior), shares)
        changed = np.argsort(np.argsort(rng.random((size, n_items)), axis=1), axis=1) < n_changed
        chance = _swapped(chance, np.argmax(baseline, axis=2), shares, changed, rng)
        looks = [
            rng.multinomial(self.schedule.replies_per_look, chance)
            for _ in range(self.schedule.n_looks)
        ]
        return np.stack([baseline, *looks], axis=1)


def _with_an_alternative(counts: ReplyCounts) -> tuple[IntArray, BoolArray]:
    """Drop categories that never occur. Return the (n, C) baseline and a (C,) mask of outcomes.

    An empty category is added if all replies are the same.
    """
    baseline = counts.counts[0]
    occurs = baseline.any(axis=0)
    n_added = max(2 - int(occurs.sum()), 0)
    added = ((0, 0), (0, n_added))
    return np.pad(baseline[:, occurs], added), np.pad(counts.is_outcome[occurs], (0, n_added))


def _concentration(flip_rate: float, shares: FloatArray) -> float:
    """Return the concentration of the Dirichlet prior that matches a flip rate."""
    unlike = 1.0 - float((shares**2).sum())  # probability that replies to different items differ
    noise = min(flip_rate / unlike, 0.99) if unlike > 0 else 0.0
    return noise / (1.0 - noise)


def _normalised(weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Normalise weights over the last axis. Items without replies get the overall shares."""
    sums = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), shares))


def _swapped(
    chance: FloatArray,
    usual: IntArray,
    shares: FloatArray,
    changed: BoolArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Swap the probabilities of the usual answer and a different answer for the changed items."""
    tiny = np.finfo(np.float64).tiny  # allows an empty category if there is no other
    score = np.log(np.maximum(shares, tiny)) + rng.gumbel(size=chance.shape)
    np.put_along_axis(score, usual[..., None], -np.inf, axis=2)
    order = np.tile(np.arange(len(shares)), (*usual.shape, 1))
    other = np.argmax(score, axis=2)
    np.put_along_axis(order, usual[..., None], other[..., None], axis=2)
    np.put_along_axis(order, other[..., None], usual[..., None], axis=2)
    return np.where(changed[..., None], np.take_along_axis(chance, order, axis=2), chance)

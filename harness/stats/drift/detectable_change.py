"""Smallest change that a schedule of looks detects."""

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

BLOCK = 50  # schedules simulated at once
POWER = 0.8
N_SCHEDULES = 100
SIZE_STEP = 1.1  # ratio of the numbers of items that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class LookSchedule:
    """How often judges are looked at.

    Attributes
    ----------
    n_looks : int
        Within which a change shall be noticed.
    n_judges, n_elicitations : int
        How many share alpha.
    replies_per_look : int
        New replies of an item in each look.
    alpha : float in (0, 1)
        Chance of any false alarm.
    """

    n_looks: int
    n_judges: int = 1
    n_elicitations: int = 1
    replies_per_look: int = 1
    alpha: float = ALPHA

    @property
    def threshold(self) -> float:
        """Return what the p-value of a stream is held against."""
        return self.alpha / (self.n_judges * self.n_elicitations)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableChange:
    """The smallest change that a schedule notices.

    Attributes
    ----------
    n_items : int
        Items asked in each look.
    floor : int
        No change of fewer items can be noticed, whatever the noise.
    n_changed : int or None
        The smallest number of items whose change, from look 1 on, is noticed in at least 80 % of
        the simulated schedules; None with a reason.
    power : float or None
        The share of simulated schedules that noticed it.
    n_looks, n_schedules : int
        Looks per schedule, and schedules simulated for each number of items.
    reason : str
        "one_baseline_reply": the noise is unknown. "floor_above_items": there are fewer items than
        the floor. "not_even_all_items": a change of all items is noticed too rarely.
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
        """Return the share of items that must change; None if unknown."""
        return None if self.n_changed is None else self.n_changed / self.n_items


def fewest_changed_items(n_baseline: int, schedule: LookSchedule) -> int:
    """Return the floor: how many items must change before any schedule can notice it.

    An item that changed after s0 equal baseline replies and has r new ones has at best the p-value
    ``1 / C(s0 + r, r)``; k of them must reach the share of alpha of their window.

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
    """Find the smallest number of changed items that a schedule notices with 80 %.

    Parameters
    ----------
    counts : ReplyCounts
        Of which the baseline is used.
    schedule : LookSchedule
        The looks to come.
    rng : numpy Generator
        Draws the schedules. The same ones serve every number of changed items.
    n_schedules : int
        Simulated for each number of changed items.

    Notes
    -----
    An item's replies are drawn from the posterior of its distribution, given its baseline replies
    and a Dirichlet prior whose mean is the share of each category and whose concentration agrees
    with the retest flip rate. In an item that changes, the usual answer and another one, drawn by
    its share, change places.
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
    """Return how many items would notice a change of a share of them with 80 %.

    Parameters
    ----------
    counts : ReplyCounts
        Whose baseline items stand for all items.
    share : float in (0, 1]
        Of items that change.
    schedule, rng, n_schedules
        As in `smallest_detectable`.
    max_items : int
        How many there are to ask.

    Returns
    -------
    int or None
        In steps of 10 %; None where ``max_items`` are too few or the noise is unknown.

    Raises
    ------
    ValueError
        If the share is out of range.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}; wanted a number above 0, at most 1")
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
    """Return the first candidate with enough power, which grows: by doubling steps, then halves."""
    low, step = -1, 1  # the last place that is known to have too little
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
    """Simulated schedules of a stream that changes at look 1."""

    counts: ReplyCounts
    schedule: LookSchedule
    n_schedules: int
    seed: int

    def power(self, n_items: int, n_changed: int) -> float:
        """Return the share of schedules that notice the change."""
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
        """Draw counts: (size, looks + 1, n_items, C)."""
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
    """Return the (n, C) baseline and its outcomes, (C,), without categories that do not occur.

    An empty category is added where all replies are alike.
    """
    baseline = counts.counts[0]
    occurs = baseline.any(axis=0)
    n_added = max(2 - int(occurs.sum()), 0)
    added = ((0, 0), (0, n_added))
    return np.pad(baseline[:, occurs], added), np.pad(counts.is_outcome[occurs], (0, n_added))


def _concentration(flip_rate: float, shares: FloatArray) -> float:
    """Return the concentration of the Dirichlet prior under which replies flip at this rate."""
    unlike = 1.0 - float((shares**2).sum())  # chance that replies to different items differ
    noise = min(flip_rate / unlike, 0.99) if unlike > 0 else 0.0
    return noise / (1.0 - noise)


def _normalised(weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Divide by the sums over the last axis; an item without replies gets the shares."""
    sums = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), shares))


def _swapped(
    chance: FloatArray,
    usual: IntArray,
    shares: FloatArray,
    changed: BoolArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Let the usual answer of some items and another answer change places."""
    tiny = np.finfo(np.float64).tiny  # so that an empty category is drawn if there is no other
    score = np.log(np.maximum(shares, tiny)) + rng.gumbel(size=chance.shape)
    np.put_along_axis(score, usual[..., None], -np.inf, axis=2)
    order = np.tile(np.arange(len(shares)), (*usual.shape, 1))
    other = np.argmax(score, axis=2)
    np.put_along_axis(order, usual[..., None], other[..., None], axis=2)
    np.put_along_axis(order, other[..., None], usual[..., None], axis=2)
    return np.where(changed[..., None], np.take_along_axis(chance, order, axis=2), chance)

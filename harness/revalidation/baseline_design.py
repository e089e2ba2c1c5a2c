"""Choose a baseline's items, and compute the smallest change that rounds can detect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from harness.analysis.ratings import human_table
from harness.errors import RunError
from harness.revalidation.reply_categories import by_judge, counts_of
from harness.stats.drift.detectable_change import LookSchedule, anchor_size, smallest_detectable
from harness.stats.reasons import Reason
from harness.stats.subsets.strata import default_strata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.revalidation.reply_categories import StreamReplies
    from harness.stats.data.arrays import IntArray
    from harness.tasks import Item, Task


STRATA = default_strata(0, ordinal=False)[1:]  # by rater agreement, without "all items"
N_LOOKS = 4  # rounds within which a change should be detected
WANTED_SHARE = 0.2  # share of the items; `underpowered` if a change of so many can't be detected


def draw_anchor(
    task: Task, items: Sequence[Item], n_items: int | None, *, seed: int
) -> tuple[Item, ...]:
    """Draw the items of an anchor, stratified by rater agreement. By default, use all items.

    Each stratum gets its share of the items, rounded to a whole number, so that means over the
    anchor estimate means over all items, with at most a simple random sample's variance. Items keep
    their order. Raises `RunError` if there are too few.
    """
    if n_items is None or n_items == len(items):
        return tuple(items)
    if n_items > len(items):
        raise RunError(
            f"--anchor {n_items}: the run has only {len(items)} items. Pass at most that number."
        )
    strata = _strata(task, items)
    sizes = np.bincount(strata)
    rng = np.random.default_rng(seed)
    chosen = [
        rng.choice(np.flatnonzero(strata == s), size=n, replace=False)
        for s, n in enumerate(proportional_sizes(sizes, n_items))
    ]
    return tuple(items[i] for i in np.sort(np.concatenate(chosen)).tolist())


def proportional_sizes(sizes: IntArray, n: int) -> list[int]:
    """Divide ``n`` items among strata in proportion to stratum size, by largest remainders."""
    exact = np.asarray(sizes) * n / np.sum(sizes)
    shares = np.floor(exact).astype(np.int64)
    largest = np.argsort(shares - exact, kind="stable")[: n - int(shares.sum())]
    shares[largest] += 1
    return [int(share) for share in shares]


def _strata(task: Task, items: Sequence[Item]) -> IntArray:
    """Return an (n,) array of stratum numbers. Items with fewer than two ratings form one stratum.

    If raters made no choices, their response sets are counted.
    """
    human = human_table(task, items)
    counts = human.forced_choice if human.forced_choice.any() else human.response_set
    strata = np.full(len(items), len(STRATA), dtype=np.int64)
    for number, stratum in enumerate(STRATA):
        strata[stratum.members(counts)] = number
    return strata


class DetectionPower(Struct, frozen=True, kw_only=True):
    """Smallest change of a judge that `N_LOOKS` rounds detect with 80 % power.

    Attributes
    ----------
    share : float or None
        Share of the anchor's items, in the judge's first elicitation.
    reason : str
        Reason if the share is None; see `harness.stats.drift.detectable_change.DetectableChange`.
    n_items_needed : int or None
        Number of anchor items that would detect a change of `WANTED_SHARE`, if this anchor doesn't.
        None if all of the run's items aren't enough.
    """

    share: float | None
    reason: Reason = ""
    n_items_needed: int | None = None

    @property
    def is_enough(self) -> bool:
        """Whether the rounds detect a change of `WANTED_SHARE` of the items with 80 % power."""
        return self.share is not None and self.share <= WANTED_SHARE


def power_by_judge(
    streams: Sequence[StreamReplies], *, n_items: int, samples: int, alpha: float, seed: int
) -> dict[str, DetectionPower]:
    """Simulate rounds from a baseline's replies."""
    judges = by_judge(streams)
    return {
        judge: _power(
            own[0],
            LookSchedule(
                n_looks=N_LOOKS,
                n_judges=len(judges),
                n_elicitations=len(own),
                replies_per_look=samples,
                alpha=alpha,
            ),
            n_items,
            seed,
        )
        for judge, own in judges.items()
    }


def _power(
    stream: StreamReplies, schedule: LookSchedule, n_items: int, seed: int
) -> DetectionPower:
    counts = counts_of([stream])
    smallest = smallest_detectable(counts, schedule=schedule, rng=np.random.default_rng(seed))
    power = DetectionPower(share=smallest.share, reason=smallest.reason)
    if power.is_enough or smallest.reason == "one_baseline_reply":
        return power
    needed = anchor_size(
        counts,
        WANTED_SHARE,
        schedule=schedule,
        rng=np.random.default_rng(seed),
        max_items=n_items,
    )
    return DetectionPower(share=smallest.share, reason=smallest.reason, n_items_needed=needed)

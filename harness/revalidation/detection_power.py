"""Detection power of later looks: the smallest detectable change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from harness.revalidation.reply_categories import by_judge, counts_of
from harness.stats.drift.detectable_change import LookSchedule, anchor_size, smallest_detectable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.revalidation.reply_categories import StreamReplies

N_LOOKS = 4  # within which a change shall be found
WANTED_SHARE = 0.2  # of the items; a change of so many that cannot be found makes `underpowered`


class DetectionPower(Struct, frozen=True, kw_only=True):
    """The smallest change of a judge that `N_LOOKS` looks find with 80 %.

    Attributes
    ----------
    share : float or None
        Of the items of the anchor, in the judge's first elicitation.
    reason : str
        Why it is None; see `harness.stats.drift.detectable_change.DetectableChange`.
    n_items_needed : int or None
        Items of an anchor that find a change of `WANTED_SHARE`, where this one does not; None
        where all items of the run would not do.
    """

    share: float | None
    reason: str = ""
    n_items_needed: int | None = None

    @property
    def is_enough(self) -> bool:
        """Whether a change of `WANTED_SHARE` of the items is found with 80 %."""
        return self.share is not None and self.share <= WANTED_SHARE


def power_by_judge(
    streams: Sequence[StreamReplies], *, n_items: int, samples: int, alpha: float, seed: int
) -> dict[str, DetectionPower]:
    """Simulate looks from the replies of a baseline.

    Parameters
    ----------
    streams : sequence of StreamReplies
        Of the baseline.
    n_items : int
        Items of the run, of which a larger anchor could be drawn.
    samples : int
        Replies per item in a look.
    alpha : float
        Of all judges together.
    seed : int
        Of the simulation.
    """
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

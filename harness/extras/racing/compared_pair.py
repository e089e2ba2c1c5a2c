"""Comparison of two ways to query a judge, by gain and cost on the same items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from harness.extras.racing.race_pool import pool_of
from harness.judging.running.budget import paid_replies
from harness.runs.sources import only
from harness.stats.inference.alpha_spending import share_after_gain
from harness.stats.selection.paired_gain import paired_gain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis import Source
    from harness.judging.parsing.verdict import Verdict
    from harness.runs.run_folder import RunFolder
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.selection.paired_gain import PairedGain


def compared_source(folder: RunFolder, source: Source) -> Source:
    """Return a source with only the confirmed judge and its share of the error rate.

    The gain over the other judge is tested first. The other judge ran only for this test.

    Parameters
    ----------
    folder : RunFolder
        Confirmation with the confirmed judge and the judge to compare it with.
    source : Source
        Source of all verdicts.
    """
    before = folder.manifest.config.compared_with
    [after] = [name for name in source.planned if name != before]
    pair = pair_of(folder, before, after)
    is_shown = pair is not None and pair.gain().is_shown
    share = share_after_gain(is_shown=is_shown)
    tried = msgspec.structs.replace(source.tried_judges, share=share)
    return replace(only(source, {after}), tried=tried)


class Pair(NamedTuple):
    """Two judges' losses on their common items, and the cost of their replies."""

    before: FloatArray
    after: FloatArray
    groups: IntArray
    cost_ratio: float | None

    def gain(self) -> PairedGain:
        """Return the gain of the second judge over the first."""
        return paired_gain(self.before, self.after, self.groups)


def pair_of(folder: RunFolder, first: str, second: str) -> Pair | None:
    """Compare two judges in a run folder. Return None if they have no common items.

    Items with a failed call are left out, because such a call shows nothing about either judge.
    """
    task = folder.load_task()
    specs = folder.manifest.judges
    replies: dict[str, list[Verdict]] = {spec.name: [] for spec in specs}
    for verdict in folder.read_verdicts().final.values():
        if verdict.outcome != "failed" and verdict.judge in replies:
            replies[verdict.judge].append(verdict)
    pool = pool_of(task, specs, folder.manifest.config)
    losses = pool.losses_on(slice(None), replies)
    row = {spec.name: j for j, spec in enumerate(specs)}
    before, after = losses[row[first]], losses[row[second]]
    replied = ~np.isnan(before) & ~np.isnan(after)
    if not replied.any():
        return None
    names = [f"g{item.group}" if item.group is not None else f"i{item.id}" for item in pool.items]
    _, groups = np.unique(names, return_inverse=True)
    usd = [_usd_per_item(replies[name]) for name in (first, second)]
    ratio = usd[1] / usd[0] if all(usd) else None
    return Pair(before[replied], after[replied], groups[replied], ratio)


def _usd_per_item(verdicts: Sequence[Verdict]) -> float:
    """Return the mean cost per item of a judge's replies in USD, or 0 if a price is unknown."""
    costs = [reply.cost_usd for _, bought in paid_replies(verdicts) for reply in bought]
    items = {verdict.item for verdict in verdicts}
    return sum(cost or 0.0 for cost in costs) / max(len(items), 1) if None not in costs else 0.0

"""Checks of sample size: interval widths and power of the annotator test."""

from __future__ import annotations

from collections import Counter
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_panel import eps_of
from harness.analysis.decision import n_items_needed
from harness.curation.audit.finding import Finding
from harness.stats.data.arrays import ratio
from harness.stats.indeterminacy.rater_error import identifiability
from harness.stats.inference.estimate import share_interval
from harness.stats.planning.rater_power import items_for_power, power_against_rater

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.evidence_rows import Evidence
    from harness.curation.audit.rating_checks import RatedChoices
    from harness.tasks import Task

POWER = 0.8
LEVEL = 0.05
WIDE = 0.05  # half width above which an interval is wide


def sufficiency_findings(
    task: Task, rated: RatedChoices, evidence: Evidence | None
) -> Iterator[Finding]:
    """Find results of a validation that rest on too few data."""
    yield from _specification(task)
    yield from _annotator_power(task, rated)
    yield from _interval_width(rated)
    if evidence and (needed := n_items_needed(evidence)):
        n_missing = needed - evidence.n_items
        yield Finding(
            kind="too_few_items",
            what=(
                f"{evidence.n_items:,} items, but {needed:,} are needed to detect a difference "
                f"of {evidence.margin:g} between the two best judges in 80 % of data sets"
            ),
            why="With fewer items, you often can't prove which of two judges is better.",
            action=f"Rate {n_missing:,} more items, or pass a larger --worth to "
            "`harness validate`.",
            n=n_missing,
        )


def _specification(task: Task) -> Iterator[Finding]:
    result = identifiability(task.space)
    if result.fully_specified or any(r.elicitation == "response_set" for r in task.ratings):
        return
    yield Finding(
        kind="not_fully_specified",
        what="raters may find several options reasonable, but gave only forced choices",
        why="Forced choices don't show which options raters would accept, so the best judge can "
        "depend on an assumed beta.",
        action=result.advice,
        n=len(task.items),
    )


def _annotator_power(task: Task, rated: RatedChoices) -> Iterator[Finding]:
    """Yield a finding if the annotator test has low power for a judge that rates like raters."""
    choices = rated.choices
    if task.rater_ids != "real" or not len(choices.item):
        return
    counts = choices.counts()
    m = counts.sum(axis=1)
    several = m > 1
    differing = 1.0 - ratio((counts * (counts - 1)).sum(axis=1), m * (m - 1))[several]
    if not several.any():
        return
    per_rater = Counter(choices.rater[several[choices.item]].tolist())
    n = int(median(per_rater.values()))
    eps = eps_of(task)
    discordance = float(differing.mean())
    if eps <= 0 or (power := power_against_rater(n, discordance, eps, level=LEVEL)) >= POWER:
        return
    needed = items_for_power(POWER, discordance, eps, level=LEVEL)
    action = f"With {needed or 0:,} items per rater, the power is 80 % without this adjustment."
    yield Finding(
        kind="low_annotator_power",
        what=(
            "a judge that rates like the raters passes the annotator test with a probability of "
            f"{power:.0%} "
            f"against a rater with {n:,} items (the median)"
        ),
        why=f"At a margin of {eps:g}, the annotator test often fails to show that such a judge can "
        "replace a rater. Adjusting for several raters lowers the power further.",
        action=action if needed else "Set a larger eps, if you can accept one.",
        n=max((needed or n) - n, 0),
    )


def _interval_width(rated: RatedChoices) -> Iterator[Finding]:
    n = len(np.unique(rated.choices.unit))
    half = _half_width(n)
    if half > WIDE:
        yield Finding(
            kind="wide_intervals",
            what=f"with {n:,} items or groups, the 95 % interval for a share can extend {half:.2f} "
            "to each side",
            why="Smaller differences between judges can rarely be proven.",
            action=(
                f"Rate more items: {items_for_width(WIDE):,} independent items narrow this to "
                f"{WIDE:g}."
            ),
            n=n,
        )


@cache
def items_for_width(half: float) -> int:
    """Return the smallest number of items at which no share's interval has a larger half-width."""
    n = 1
    while _half_width(n) > half:
        n += 1
    return n


def _half_width(n: int) -> float:
    interval = share_interval(0.5, n)
    return (interval.high - interval.low) / 2

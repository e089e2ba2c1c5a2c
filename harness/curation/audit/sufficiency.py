"""Checks of sample size: interval widths and power of the annotator test."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist, median
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_panel import eps_of
from harness.analysis.decision import n_items_needed
from harness.curation.audit.finding import Finding
from harness.stats.alt_test.margin_tests import score_test
from harness.stats.data.arrays import ratio
from harness.stats.indeterminacy.rater_error import identifiability
from harness.stats.inference.estimate import share_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.evidence_rows import Evidence
    from harness.curation.audit.rating_checks import RatedChoices
    from harness.tasks import Task

N_SIMULATED = 1000
POWER = 0.8
LEVEL = 0.05
WIDE = 0.05  # half a width


def sufficiency_findings(
    task: Task, rated: RatedChoices, evidence: Evidence | None
) -> Iterator[Finding]:
    """Find what there is too little of for the numbers that a validation rests on."""
    yield from _specification(task)
    yield from _annotator_power(task, rated)
    yield from _interval_width(rated)
    if evidence and (needed := n_items_needed(evidence)):
        n_missing = needed - evidence.n_items
        yield Finding(
            kind="too_few_items",
            what=f"{evidence.n_items:,} items, where {needed:,} detect a difference of "
            f"{evidence.margin:g} between the first two judges in 80 % of data sets",
            why="With fewer, the better of two judges often stays unproven.",
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
        what="raters may find several options reasonable, and gave forced choices alone",
        why="Forced choices do not determine what raters would accept, so the best judge may "
        "depend on an assumed beta.",
        action=result.advice,
        n=len(task.items),
    )


def _annotator_power(task: Task, rated: RatedChoices) -> Iterator[Finding]:
    """Simulate how often a judge like the raters passes against the median rater."""
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
    if eps <= 0 or (power := annotator_power(n, discordance, eps)) >= POWER:
        return
    needed = items_needed(discordance, eps)
    yield Finding(
        kind="low_annotator_power",
        what=f"a judge that rates like the raters passes against a rater of {n:,} items (the "
        f"median) in {power:.0%} of {N_SIMULATED:,} simulated data sets",
        why=f"At margin {eps:g} the annotator test would often miss that such a judge may replace "
        "a rater; adjusting for several raters lowers the power further.",
        action=f"About {needed:,} items per rater give 80 % before that adjustment.",
        n=max(needed - n, 0),
    )


def annotator_power(n: int, discordance: float, eps: float) -> float:
    """Return the simulated power of the score test against a rater, before any adjustment.

    Judge and rater differ on the share ``discordance`` of n items, and each is closer on half of
    those; the power is the share of 1,000 seeded data sets in which p is at most 5 %.
    """
    rng = np.random.default_rng(0)
    tables = rng.multinomial(n, [discordance / 2, discordance / 2, 1 - discordance], N_SIMULATED)
    results = Counter(map(tuple, tables[:, :2].tolist()))
    passed = sum(
        times for (won, lost), times in results.items() if score_test(n, won, lost, eps).p <= LEVEL
    )
    return passed / N_SIMULATED


def items_needed(discordance: float, eps: float) -> int:
    """Return about how many items give the power of 80 %, by the normal approximation."""
    z_level, z_power = NormalDist().inv_cdf(1 - LEVEL), NormalDist().inv_cdf(POWER)
    restricted = max(discordance, eps - eps * eps)  # variance per item at the margin, at least
    return int(np.ceil((z_level * restricted**0.5 + z_power * discordance**0.5) ** 2 / eps**2))


def _interval_width(rated: RatedChoices) -> Iterator[Finding]:
    n = len(np.unique(rated.choices.unit))
    interval = share_interval(0.5, n)
    half = (interval.high - interval.low) / 2
    if half > WIDE:
        yield Finding(
            kind="wide_intervals",
            what=f"a share of {n:,} items or groups is known to within {half:.2f} at worst (95 %)",
            why="Differences between judges below this are rarely proven.",
            action="Rate more items: 381 independent ones give 0.05.",
            n=n,
        )

"""The alternative annotator test: may a judge take a human rater's place.

Calderon, Reichart and Dror 2025. Each rater in turn is compared with the judge: whose value aligns
better with the other raters of the item? The judge wins against a rater when it is at least as good
more often than the rater is, but for a margin eps. ``winning_rate`` (the paper's omega) is the
share of raters it wins against after Benjamini-Yekutieli; ``advantage`` (rho) the mean share of
items on which it is at least as good as the rater.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.outcome import AltTest, Reason, Tally, decide, with_interval
from harness.stats.alt_test.rater_comparisons import (
    N_OUTCOMES,
    N_SUMS,
    Duels,
    Ring,
    Test,
    advantages,
    median_of,
    p_values,
    six,
)
from harness.stats.data.arrays import BoolArray, FloatArray, frozen, ratio
from harness.stats.data.item_kinds import Kinds
from harness.stats.inference.bootstrap import ALIKE, OneWalk, Unit, Units
from harness.stats.inference.estimate import Estimate, Exclusion
from harness.stats.inference.multiple_testing import FalseDiscoveries, benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.inference.resampling import Resampling

MIN_TESTED = 2  # of n items, a t-test needs two
MIN_RATERS = 2  # voices: raters, and the gold labels where there are any


def annotator_test(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
    design: AltTestDesign,
    *,
    resampling: Resampling,
) -> AltTest:
    """Test whether a judge may take a rater's place.

    Parameters
    ----------
    panel : Panel
        The ratings, with the names of those who gave them.
    verdicts : mapping of item to value, or Coded
        The judge's; an item without one, or with None, is unanswered. ``panel.coded(verdicts)``
        saves coding them again for another design.
    design : AltTestDesign
        Score, margin and variant.
    resampling : Resampling
        How intervals are made, with one group per item of the panel; that of the winning rate is
        of percentiles.

    Returns
    -------
    AltTest
        NA with the reason where no rater can be tested: no_items, too_few_raters, no_overlap,
        too_few_items.

    Raises
    ------
    ValueError
        If the rater names are positional, or an argument does not fit the panel.

    Examples
    --------
    >>> from harness.stats import AltTestDesign, Panel, Resampling
    >>> panel = Panel.of((f"i{i}", r, "ab"[i % 2]) for i in range(40) for r in ("x", "y", "z"))
    >>> design = AltTestDesign(score="accuracy", eps=0.1)
    >>> verdicts = {f"i{i}": "ab"[i % 2] for i in range(40)}
    >>> resampling = Resampling(rng=np.random.default_rng(0))
    >>> annotator_test(panel, verdicts, design, resampling=resampling)
    AltTest(passes, winning rate 1.0, advantage 1.0, 3 raters)
    """
    found = annotator_tests(
        panel,
        {"": verdicts},
        design,
        resampling=resampling,
    )
    return found[""]


def annotator_tests(
    panel: Panel,
    judges: Mapping[str, Mapping[str, Hashable] | Coded],
    design: AltTestDesign,
    *,
    resampling: Resampling,
) -> dict[str, AltTest]:
    """Test several judges on the same resamples, each adjusted over its raters alone.

    Parameters and errors are those of `annotator_test`, with a mapping of judge to verdicts;
    `together` adjusts over all judges.
    """
    ring = Ring.of(panel, design)
    units = resampling.units(len(panel.items))
    resamples = resampling.draw(units)
    duels = [ring.against(ring.coded(given)) for given in judges.values()]
    tallies = [_tally(ring, one) for one in duels]
    p, means = _tested(design, tallies, _resampled(duels, units, resamples, len(panel.raters)))
    without = np.empty((0, len(duels)))
    if resampling.method != "percentile":
        without = _left_out(tallies, duels, units)
    found = benjamini_yekutieli(p, design.q)
    results = {}
    for j, name in enumerate(judges):
        undecided = _undecided(ring, duels[j], tallies[j], p[:, j], resampling.level, units.kind)
        advantage = with_interval(
            undecided.advantage,
            means[:, j],
            resampling.level,
            unit=units.kind,
            method=resampling.method,
            left_out=without[:, j],
        )
        replicates = frozen(means[1:, j])
        undecided = replace(undecided, advantage=advantage, advantage_replicates=replicates)
        mine = FalseDiscoveries(found.rejected[:, j], found.thresholds[:, j], found.adjusted[:, j])
        results[name] = decide(undecided, p[:, j], mine)
    return results


def _resampled(duels: Sequence[Duels], units: Units, resamples: OneWalk, m: int) -> FloatArray:
    """Resample the sums of all judges in one product: (B, J, m, 6)."""
    shape = (len(duels), m, N_SUMS)
    if not resamples.n_resamples or not duels or not m:
        return np.empty((0, *shape))
    rows, resamples = _alike(duels, units, resamples, m) or (_by_unit(duels, units, m), resamples)
    drawn = resamples.totals([rows.reshape(len(rows), -1)])
    return six(drawn.reshape(-1, *rows.shape[1:]))


def _alike(
    duels: Sequence[Duels], units: Units, resamples: OneWalk, m: int
) -> tuple[FloatArray, OneWalk] | None:
    """As `_by_unit`, one row for all items on which the judges fared alike: (R, J, m, 3).

    And the resamples of such rows; None where that saves nothing.
    """
    if units.kind != "item" or any(one.weight is not None for one in duels):
        return None
    outcomes = np.full((len(duels), m, units.n_units), N_OUTCOMES, dtype=np.uint8)  # none yet
    for j, one in enumerate(duels):
        outcomes[j, one.rater, one.item] = one.outcome
    kinds = Kinds.few(units.n_units // ALIKE, *outcomes.reshape(-1, units.n_units))
    if kinds is None:
        return None
    each = np.eye(N_OUTCOMES + 1, N_OUTCOMES)[np.moveaxis(outcomes[..., kinds.first], -1, 0)]
    return each, replace(resamples, times=kinds.times)


def _by_unit(duels: Sequence[Duels], units: Units, m: int) -> FloatArray:
    """Return what each unit adds to the parts of each judge and rater: (U, J, m, 3 or 4)."""
    parts = [one.parts(units.of_item, units.n_units, m) for one in duels]
    return np.stack(parts, axis=1, dtype=np.float64)


def _left_out(tallies: Sequence[Tally], duels: Sequence[Duels], units: Units) -> FloatArray:
    """Return the advantages with each unit left out in turn: (U, J)."""
    tested = np.array([tally.tests for tally in tallies]) != ""
    if not tested.size:
        return np.full((units.n_units, len(duels)), np.nan)
    by_unit = _by_unit(duels, units, tested.shape[1])
    return _means(six(by_unit.sum(axis=0) - by_unit), tested)


def _tested(
    design: AltTestDesign, tallies: Sequence[Tally], resampled: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return p-values (1 + B, J, m) and advantages (1 + B, J), on the data and in each resample."""
    tests = np.array([tally.tests for tally in tallies])
    points = np.array([tally.sums for tally in tallies]).reshape(1, *resampled.shape[1:])
    weighted = design.weighting == "ipw"
    parts = [part for part in (points, resampled) if len(part)]
    p = [p_values(part, tests, design.eps, weighted=weighted) for part in parts]
    return np.concatenate(p), np.concatenate([_means(part, tests != "") for part in parts])


def _undecided(  # noqa: PLR0917 -- one caller, which has just these
    ring: Ring,
    duels: Duels,
    tally: Tally,
    p: FloatArray,
    level: float,
    unit: Unit,
) -> AltTest:
    """Say all that depends neither on the decisions nor on the advantages."""
    n_tested = sum(test != "" for test in tally.tests)
    counts = _counts(ring, duels, n_tested)
    estimate = _bare_estimate(ring, duels, "" if n_tested else _why_none(ring, duels, counts))
    return AltTest(
        design=ring.design,
        winning_rate=estimate,
        advantage=estimate,
        wins=0,
        n_tested=n_tested,
        passes=None,
        p=p[0],
        p_adjusted=np.full(len(tally.tests), np.nan),
        rejected=np.zeros(len(tally.tests), dtype=np.bool_),
        answered_fraction=_answered_fraction(duels),
        counts=counts,
        warnings=(),
        n_family=n_tested,
        tally=tally,
        level=level,
        unit=unit,
        advantage_replicates=np.empty(0),
        p_replicates=frozen(p[1:]),
    )


def _tally(ring: Ring, duels: Duels) -> Tally:
    m = len(ring.panel.raters)
    counts = duels.counts(m)
    sums = duels.totals(counts)
    chosen = [_choose(n, ring.design) for n in counts.sum(axis=1).tolist()]
    return Tally(
        raters=ring.panel.raters,
        sums=frozen(sums),
        counts=frozen(counts),
        tests=tuple(test for test, _ in chosen),
        reasons=tuple(reason for _, reason in chosen),
        quality=frozen(ring.quality),
    )


def _choose(n: int, design: AltTestDesign) -> tuple[Test, Reason]:
    """Pick the test of a rater with n items, or say why there is none."""
    if n == 0:
        return "", "no_items"
    small = n < design.min_items_per_rater
    if small and design.small_n == "skip":
        return "", "too_few_items"
    if small and design.small_n == "wilcoxon":
        return ("wilcoxon", "") if design.weighting == "none" else ("", "no_weighted_rank_test")
    return ("t", "") if n >= MIN_TESTED else ("", "too_few_items")


def _means(sums: FloatArray, tested: BoolArray) -> FloatArray:
    """Average the advantages over the raters tested: sums (..., m, 6) to (...)."""
    shares = np.where(tested, advantages(sums), np.nan)
    defined = ~np.isnan(shares)
    return ratio(np.where(defined, shares, 0.0).sum(axis=-1), defined.sum(axis=-1))


def _counts(ring: Ring, duels: Duels, n_tested: int) -> dict[str, int]:
    expert = 0 if ring.design.expert is None else 1
    return {
        "n_raters": len(ring.panel.raters),
        "n_raters_skipped": len(ring.panel.raters) - expert - n_tested,
        "n_items_with_two_raters": int(duels.eligible.sum()),
        "n_items_without_verdict": int((duels.eligible & ~duels.answered).sum()),
    }


def _why_none(ring: Ring, duels: Duels, counts: Mapping[str, int]) -> str:
    """Say why no rater could be tested."""
    voices = counts["n_raters"] + (0 if ring.design.gold is None else 1)
    if not len(ring.panel.code):
        return "no_items"
    if voices < MIN_RATERS:
        return "too_few_raters"
    if not duels.eligible.any():
        return "no_overlap"
    return "too_few_items" if len(duels.item) else "no_items"


def _bare_estimate(ring: Ring, duels: Duels, reason: str) -> Estimate:
    """Say what entered; the value is still to come."""
    n_used = int(duels.counted.sum())
    lost = {
        "too_few_ratings": int((~duels.eligible).sum()),
        "judge_unanswered": int((duels.eligible & ~duels.counted).sum()),
    }
    usual = ring.ratings_per_item
    if duels.counted is not ring.eligible:
        usual = median_of(ring.n_ratings[duels.counted])
    return Estimate(
        value=None,
        reason=reason,
        n_used=n_used,
        n_excluded=len(duels.counted) - n_used,
        excluded=tuple(Exclusion(why, n) for why, n in lost.items() if n),
        ratings_per_item=usual,
    )


def _answered_fraction(duels: Duels) -> float | None:
    n = int(duels.eligible.sum())
    return int((duels.eligible & duels.answered).sum()) / n if n else None

"""Grid of betas at which goals and winning regions are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.serialize import DIGITS, Numbers, rows_of
from harness.stats.data.arrays import FloatArray, IntArray, ratio
from harness.stats.data.forms import Cut, reaches
from harness.stats.indeterminacy.sensitivity import BreakEven, distributions_at_beta
from harness.stats.selection.replies import decisions_at_replies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable


STEPS = 20  # steps of beta, from 0 to 1


MAX_BREAK_POINTS = 150


SAME = 1e-9  # break points this close to a step are merged with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One judge's values on a grid with a row per tau and a column per beta. A value is None if NA.

    Attributes
    ----------
    n_items : int
        Items behind each number: those that both the raters and the judge rated.
    """

    consistency: tuple[Numbers, ...]
    bias: tuple[Numbers, ...]
    n_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Every judge's consistency and bias for every cut-off and every beta of the raters.

    Attributes
    ----------
    betas : tuple of float
        0 to 1 in steps of .05, and every beta at which the best judge by either goal changes.
    taus : tuple of float
        .1 to .9 in steps of .1, and the run's own.
    judges : dict of str to Surface
        Values by judge.
    prevalence : tuple of tuple of float
        Share of the items that are positive for the humans.
    n_left_out : int
        Break points without a separate column because there are too many.
    """

    betas: tuple[float, ...]
    taus: tuple[float, ...]
    judges: dict[str, Surface]
    prevalence: tuple[Numbers, ...]
    n_left_out: int = 0


def grid_of(
    human: RatingTable,
    judges: Sequence[RatingTable],
    betas: tuple[float, ...],
    *,
    adds: Mapping[str, tuple[str, ...]],
    positive: Sequence[str],
    taus: tuple[float, ...],
    n_replies: float | None = None,
    times: IntArray | None = None,
) -> Grid:
    """Compute the goals at every beta and tau, without intervals.

    Judges decide by ``n_replies`` replies to each item, or by all if None. Each row of the tables
    counts as ``times`` items, (n,), or as one.
    """
    of_row = np.ones(len(human.items)) if times is None else times.astype(np.float64)
    meets = human.space.meets(positive).astype(np.float64)
    first, last = (distributions_at_beta(human, beta, adds).theta @ meets for beta in (0.0, 1.0))
    shares = first[:, None] + (last - first)[:, None] * np.array(betas)
    consistency = np.full((len(judges), len(taus), len(betas)), np.nan)
    bias, prevalence = consistency.copy(), np.full((len(taus), len(betas)), np.nan)
    n_items: IntArray = np.zeros(len(judges), dtype=np.int64)
    for t, cut in enumerate(taus):
        decided = reaches(shares, cut)
        judged = [
            decisions_at_replies(table, Cut(cut, tuple(positive)), n_replies)[:, 0]
            for table in judges
        ]
        consistency[:, t], bias[:, t], n_items = _goals(decided, judged, of_row)
        rated = ~np.isnan(decided[:, 0])
        n_rated = np.full(len(betas), of_row[rated].sum())
        prevalence[t] = ratio(of_row[rated] @ decided[rated], n_rated)
    return Grid(
        betas=betas,
        taus=taus,
        judges={
            table.name: Surface(
                consistency=rows_of(consistency[j], digits=DIGITS),
                bias=rows_of(bias[j], digits=DIGITS),
                n_items=int(n_items[j]),
            )
            for j, table in enumerate(judges)
        },
        prevalence=rows_of(prevalence, digits=DIGITS),
    )


def grid_betas(
    regions: Mapping[str, Sequence[BreakEven]], tau: float
) -> tuple[tuple[float, ...], int]:
    """Return the grid's betas, and the number of break points left out.

    The grid consists of equal steps and the break points. If there are too many break points, those
    at the run's tau come first.
    """
    steps = [step / STEPS for step in range(STEPS + 1)]
    at_tau, elsewhere = set[float](), set[float]()
    for rows in regions.values():
        for row in rows:
            (at_tau if row.tau == tau else elsewhere).update(row.betas)
    candidates = sorted(at_tau) + sorted(elsewhere - at_tau)
    breaks = [beta for beta in candidates if min(abs(beta - step) for step in steps) > SAME]
    return tuple(sorted(steps + breaks[:MAX_BREAK_POINTS])), max(0, len(breaks) - MAX_BREAK_POINTS)


def _goals(
    decided: FloatArray, judged: Sequence[FloatArray], times: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Compare J judges' decisions on n items with the raters' decisions at B betas.

    Return the (J, B) consistency, the (J, B) bias and the (J,) number of items that both decided. A
    judge's decisions may be probabilities. Each row counts ``times``, (n,).

    The third array is the number of items that both sides decided, (J,).
    """
    rated = ~np.isnan(decided[:, 0])
    judges = np.array(judged).reshape(len(judged), len(decided))[:, rated]
    answered = (~np.isnan(judges)) * times[rated]
    positive, human = np.nan_to_num(judges) * times[rated], decided[rated]
    n, judge_positive = (sides.sum(axis=1, keepdims=True) for sides in (answered, positive))
    human_positive, common = answered @ human, positive @ human
    alike = n - judge_positive - human_positive + 2.0 * common
    n_items = n[:, 0].astype(np.int64)
    return ratio(alike, n), ratio(judge_positive - human_positive, n), n_items


def replies_to_sets(p: Prepared) -> float | None:
    """Return the number of replies per item at which judges' response sets are compared."""
    items = p.common.get("response_set")
    return None if items is None else items.n_replies

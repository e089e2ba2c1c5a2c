"""Consistency and bias of every judge at every beta of the humans and every cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.serialize import DIGITS, Numbers, rows_of
from harness.stats import Distributions, aggregate
from harness.stats.data.arrays import FloatArray, IntArray, ratio
from harness.stats.data.rating_table import reaches
from harness.stats.indeterminacy.sensitivity import distributions_at_beta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.stats import RatingTable
    from harness.stats.indeterminacy.sensitivity import BreakEven

STEPS = 50  # of beta, from 0 to 1
MAX_BREAK_POINTS = 150
SAME = 1e-9  # a break point this close to a step is that step


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """One judge at every (tau, beta) of a grid: rows by tau, columns by beta; None where NA.

    Attributes
    ----------
    n_items : int
        Items that raters and judge rated: what each number rests on.
    """

    consistency: tuple[Numbers, ...]
    bias: tuple[Numbers, ...]
    n_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Consistency and bias of every judge at every beta of the humans and every cut-off.

    Attributes
    ----------
    betas : tuple of float
        0 to 1 by .02, and every beta at which the best judge by either goal changes.
    taus : tuple of float
        .05 to .95 by .05, and the run's own.
    judges : dict of str to Surface
        By judge.
    prevalence : tuple of tuple of float
        Share of the items that are positive for the humans.
    n_left_out : int
        Break points that are no column of their own because there are too many.
    """

    betas: tuple[float, ...]
    taus: tuple[float, ...]
    judges: dict[str, Surface]
    prevalence: tuple[Numbers, ...]
    n_left_out: int


def grid_of(
    human: RatingTable,
    judges: Sequence[RatingTable],
    regions: Mapping[str, Sequence[BreakEven]],
    *,
    adds: Mapping[str, tuple[str, ...]],
    positive: Sequence[str],
    taus: tuple[float, ...],
    tau: float,
) -> Grid:
    """Evaluate the goals at every beta and tau, without intervals.

    Parameters
    ----------
    human, judges, adds, positive
        As in `harness.stats.beta_sweep`.
    regions : mapping
        By goal, one `BreakEven` per tau: where the winner changes.
    taus : tuple of float
        The cut-offs.
    tau : float
        The one whose break points are never left out.
    """
    betas, n_left_out = _betas(regions, tau)
    meets = human.space.meets(positive).astype(np.float64)
    first, last = (distributions_at_beta(human, beta, adds).theta @ meets for beta in (0.0, 1.0))
    shares = first[:, None] + (last - first)[:, None] * np.array(betas)
    distributions = [Distributions.of(table) for table in judges]
    consistency = np.full((len(judges), len(taus), len(betas)), np.nan)
    bias, prevalence = consistency.copy(), np.full((len(taus), len(betas)), np.nan)
    n_items: IntArray = np.zeros(len(judges), dtype=np.int64)
    for t, cut in enumerate(taus):
        decided = reaches(shares, cut)
        judged = [
            aggregate(side, "decision", tau=cut, positive=positive)[:, 0] for side in distributions
        ]
        consistency[:, t], bias[:, t], n_items = _goals(decided, judged)
        rated = ~np.isnan(decided[:, 0])
        prevalence[t] = ratio(decided[rated].sum(axis=0), np.full(len(betas), rated.sum()))
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
        n_left_out=n_left_out,
    )


def _betas(regions: Mapping[str, Sequence[BreakEven]], tau: float) -> tuple[tuple[float, ...], int]:
    """Return the steps and the break points, those of the run's tau first if there are too many."""
    steps = [step / STEPS for step in range(STEPS + 1)]
    at_tau, elsewhere = set[float](), set[float]()
    for rows in regions.values():
        for row in rows:
            (at_tau if row.tau == tau else elsewhere).update(row.betas)
    candidates = sorted(at_tau) + sorted(elsewhere - at_tau)
    breaks = [beta for beta in candidates if min(abs(beta - step) for step in steps) > SAME]
    return tuple(sorted(steps + breaks[:MAX_BREAK_POINTS])), max(0, len(breaks) - MAX_BREAK_POINTS)


def _goals(
    decided: FloatArray, judged: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return (J, B) consistency and bias of J judges' (n,) decisions against (n, B) ones.

    The third is the (J,) items that both decided.
    """
    rated = ~np.isnan(decided[:, 0])
    judges = np.array(judged).reshape(len(judged), len(decided))[:, rated]
    answered = (~np.isnan(judges)).astype(np.float64)
    positive, human = np.nan_to_num(judges), decided[rated]
    n, judge_positive = (sides.sum(axis=1, keepdims=True) for sides in (answered, positive))
    human_positive, common = answered @ human, positive @ human
    alike = n - judge_positive - human_positive + 2.0 * common
    n_items = n[:, 0].astype(np.int64)
    return ratio(alike, n), ratio(judge_positive - human_positive, n), n_items

"""Consistency and bias of every judge at every beta of the humans and every cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, IntArray, ratio
from harness.stats.data.rating_table import Distributions, aggregate, reaches
from harness.stats.indeterminacy.sensitivity import suppose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.stats.data.rating_table import RatingTable
    from harness.stats.indeterminacy.sensitivity import BreakEven

Numbers = tuple[float | None, ...]
STEPS = 50  # of beta, from 0 to 1
MAX_BREAK_POINTS = 150
SAME = 1e-9  # a break point this close to a step is that step
DIGITS = 6


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
    first, last = (suppose(human, beta, adds).theta @ meets for beta in (0.0, 1.0))
    shares = first[:, None] + (last - first)[:, None] * np.array(betas)
    theirs = [Distributions.of(table) for table in judges]
    consistency = np.full((len(judges), len(taus), len(betas)), np.nan)
    bias, prevalence = consistency.copy(), np.full((len(taus), len(betas)), np.nan)
    n_items: IntArray = np.zeros(len(judges), dtype=np.int64)
    for t, cut in enumerate(taus):
        decided = reaches(shares, cut)
        judged = [aggregate(one, "decision", tau=cut, positive=positive)[:, 0] for one in theirs]
        consistency[:, t], bias[:, t], n_items = _goals(decided, judged)
        rated = ~np.isnan(decided[:, 0])
        prevalence[t] = ratio(decided[rated].sum(axis=0), np.full(len(betas), rated.sum()))
    return Grid(
        betas=betas,
        taus=taus,
        judges={
            table.name: Surface(
                consistency=_rows(consistency[j]), bias=_rows(bias[j]), n_items=int(n_items[j])
            )
            for j, table in enumerate(judges)
        },
        prevalence=_rows(prevalence),
        n_left_out=n_left_out,
    )


def _betas(regions: Mapping[str, Sequence[BreakEven]], tau: float) -> tuple[tuple[float, ...], int]:
    """Return the steps and the break points, those of the run's tau first if there are too many."""
    steps = [step / STEPS for step in range(STEPS + 1)]
    own, others = set[float](), set[float]()
    for rows in regions.values():
        for row in rows:
            (own if row.tau == tau else others).update(row.betas)
    kept = list(steps)
    places = sorted(own) + sorted(others - own)
    new = [beta for beta in places if min(abs(beta - step) for step in steps) > SAME]
    kept += new[:MAX_BREAK_POINTS]
    return tuple(sorted(kept)), max(0, len(new) - MAX_BREAK_POINTS)


def _goals(
    decided: FloatArray, judged: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return (J, B) consistency and bias of J judges' (n,) decisions against (n, B) ones.

    The third is the (J,) items that both decided.
    """
    rated = ~np.isnan(decided[:, 0])
    judges = np.array(judged).reshape(len(judged), len(decided))[:, rated]
    known = (~np.isnan(judges)).astype(np.float64)
    positive, human = np.nan_to_num(judges), decided[rated]
    n, judge_positive = (one.sum(axis=1, keepdims=True) for one in (known, positive))
    human_positive, both = known @ human, positive @ human
    alike = n - judge_positive - human_positive + 2.0 * both
    n_items = n[:, 0].astype(np.int64)
    return ratio(alike, n), ratio(judge_positive - human_positive, n), n_items


def _rows(values: FloatArray) -> tuple[Numbers, ...]:
    rounded = np.round(values, DIGITS).tolist()
    return tuple(tuple(None if cell != cell else cell + 0.0 for cell in row) for row in rounded)  # noqa: PLR0124 -- nan

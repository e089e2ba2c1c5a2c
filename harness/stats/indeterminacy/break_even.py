"""At which beta the winner changes: exact pieces of beta, each with the judges that win there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray
from harness.stats.data.rating_table import (
    ELICITATION_OF,
    Distributions,
    aggregate,
    multilabel,
)
from harness.stats.indeterminacy.decision_changes import Flips
from harness.stats.indeterminacy.translation import reconstruct_theta, sensitivity_family
from harness.stats.inference.metric import Metric, find_metric
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.ranking import loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import RatingTable

CURVE = np.array([0.0, 0.5, 1.0])  # three values fix a curve of second degree
CHECK = 0.25  # a fourth shows that it is one
STEPPED = ("hrs", "decision")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of beta over which the same judges win.

    Attributes
    ----------
    low, high : float
        From ``low`` on, up to and without ``high``; the last piece holds 1.
    winners : tuple of str
        The best by the metric; several where they are equal, none where it is undefined.
    """

    low: float
    high: float
    winners: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class BreakEven:
    """Where the winner by one metric changes as beta of the humans goes from 0 to 1.

    Attributes
    ----------
    metric : str
        Its name.
    tau : float
        Cut-off.
    pieces : tuple of Piece
        In order, without gaps; empty where ``reason`` says why.
    reason : str
        "", or "not_computed" for a metric that is neither stepped nor of second degree in beta.
    """

    metric: str
    tau: float
    pieces: tuple[Piece, ...]
    reason: str

    def __repr__(self) -> str:
        return f"BreakEven({self.metric!r}, tau {self.tau:g}, {len(self.pieces)} pieces)"

    @property
    def betas(self) -> tuple[float, ...]:
        """The break-even values of beta, at each of which the winners change."""
        return tuple(piece.low for piece in self.pieces[1:])

    def winners(self, beta: float) -> tuple[str, ...]:
        """Return who wins at a beta; ValueError where it is outside [0, 1] or not computed."""
        for piece in reversed(self.pieces if 0.0 <= beta <= 1.0 else ()):
            if beta >= piece.low - TOLERANCE:
                return piece.winners
        raise ValueError(f"beta is {beta!r}; wanted one in [0, 1] of {self!r}")


def break_even(
    human: RatingTable,
    judges: Sequence[RatingTable],
    metric: str | Metric,
    *,
    adds: Mapping[str, Iterable[str]],
    tau: float,
    positive: Sequence[str],
) -> BreakEven:
    """Find the betas at which another judge becomes the best, exactly.

    Parameters
    ----------
    human : RatingTable
        Whose forced choices hide options with chance beta.
    judges : sequence of RatingTable
        With response sets where the metric needs them.
    metric : str or Metric
        By what they are compared.
    adds : mapping
        For each negative option, the options that may be endorsed with it; see
        `sensitivity_family`, whose default family is used.
    tau, positive
        Cut-off and positive options.

    Returns
    -------
    BreakEven
        One piece if the metric does not depend on beta.

    Raises
    ------
    ValueError
        If an argument does not fit the option space.

    Notes
    -----
    The inversions of Guerdan et al. 2025, figure 7. Decisions flip one item at a time, at values of
    beta that are known in closed form; metrics on multi-label vectors are curves of second degree,
    whose crossings are roots.
    """
    row = find_metric(metric, METRICS) if isinstance(metric, str) else metric
    rated = [
        aggregate(Distributions.of(table), row.judge_form, tau=tau, positive=positive)
        for table in judges
    ]
    names = tuple(table.name for table in judges)
    dist = Distributions.of(human)
    ends = [_theta(dist, beta, adds) for beta in (0.0, 1.0)]
    reason = ""
    if row.human_form in STEPPED:
        shares = [_shares(theta, human.space, row, positive) for theta in ends]
        flips = Flips.of(shares[0], shares[1], tau)
        paths = [flips.path(row, one) for one in rated]
        starts = paths[0][0] if paths else np.zeros(1)
        losses = np.array([loss(values, row.better) for _, values in paths])
    elif row.human_form == "srs":
        curves, reason = _curves(row, ends, human.space, rated)
        starts = _crossings(curves)
        middles = (starts + np.append(starts[1:], 1.0)) / 2.0
        losses = loss(np.array([np.polyval(one, middles) for one in curves]), row.better)
    elif ELICITATION_OF[row.human_form] == "response_set":
        starts, losses, reason = np.zeros(1), np.zeros((len(rated), 1)), "not_computed"
    else:
        fixed = aggregate(dist, row.human_form, tau=tau, positive=positive)
        values = [row.value(row.contributions(fixed, one).sum(axis=0)) for one in rated]
        starts, losses = np.zeros(1), loss(np.array(values)[:, None], row.better)
    pieces = () if reason else _pieces(starts, losses, names)
    return BreakEven(row.name, tau, pieces, reason)


def winning_regions(
    human: RatingTable,
    judges: Sequence[RatingTable],
    metric: str | Metric,
    *,
    adds: Mapping[str, Iterable[str]],
    taus: Sequence[float],
    positive: Sequence[str],
) -> tuple[BreakEven, ...]:
    """Find the region of (beta, tau) where each judge wins: exact in beta, one row per tau.

    Parameters
    ----------
    taus : sequence of float in (0, 1]
        The cut-offs.
    human, judges, metric, adds, positive
        As in `break_even`.

    Returns
    -------
    tuple of BreakEven
        In the order of ``taus``.
    """
    return tuple(
        break_even(human, judges, metric, adds=adds, tau=tau, positive=positive) for tau in taus
    )


def _theta(dist: Distributions, beta: float, adds: Mapping[str, Iterable[str]]) -> FloatArray:
    return reconstruct_theta(dist.O, sensitivity_family(dist.space, beta, adds))


def _shares(
    theta: FloatArray, space: OptionSpace, row: Metric, positive: Sequence[str]
) -> FloatArray:
    if row.human_form == "hrs":
        return multilabel(theta, space)
    return np.asarray(theta @ space.meets(positive)[:, None].astype(np.float64))


def _curves(
    row: Metric, ends: Sequence[FloatArray], space: OptionSpace, rated: Sequence[FloatArray]
) -> tuple[list[FloatArray], str]:
    """Return each judge's metric as a polynomial in beta, and why it is none."""
    grid = np.append(CURVE, CHECK)
    omegas = [multilabel((1.0 - b) * ends[0] + b * ends[1], space) for b in grid]
    values = np.array(
        [[row.value(row.contributions(one, z).sum(axis=0)) for one in omegas] for z in rated]
    ).reshape(len(rated), len(grid))
    curves = [np.array([2 * (a - 2 * b + c), 4 * b - 3 * a - c, a]) for a, b, c, _ in values]
    off = [abs(np.polyval(c, CHECK) - v[-1]) for c, v in zip(curves, values, strict=True)]
    bent = any(gap > 1e-9 * (1.0 + np.abs(v).max()) for gap, v in zip(off, values, strict=True))
    return curves, "not_computed" if bent else ""


def _crossings(curves: Sequence[FloatArray]) -> FloatArray:
    """Return the starts of the pieces: 0 and every beta in (0, 1) where two curves cross."""
    defined = [one for one in curves if not np.isnan(one).any()]
    found = [0.0]
    for i, one in enumerate(defined):
        for other in defined[:i]:
            gap = np.where(np.abs(one - other) <= TOLERANCE, 0.0, one - other)
            roots = np.roots(gap)
            found += [r.real for r in roots if abs(r.imag) <= TOLERANCE and 0.0 < r.real < 1.0]
    return np.unique(found)


def _pieces(starts: FloatArray, losses: FloatArray, names: Sequence[str]) -> tuple[Piece, ...]:
    """Join neighbours that have the same winners."""
    if not len(names):
        return ()
    least = np.where(np.isnan(losses), np.inf, losses).min(axis=0)
    wins = (losses <= least + TOLERANCE) & np.isfinite(least)
    changed = np.append(True, (wins[:, 1:] != wins[:, :-1]).any(axis=0))
    lows = starts[changed]
    highs = np.append(lows[1:], 1.0)
    return tuple(
        Piece(float(low), float(high), tuple(np.array(names)[won].tolist()))
        for low, high, won in zip(lows, highs, wins.T[changed], strict=True)
    )

"""What forced choices hide, and at which beta of the humans the answer would be another."""

from __future__ import annotations

from pydantic import Field

from harness.stats.bounds import Bound  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.break_evens import BreakEven  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.intervals import Estimate  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.rating_error import (
    Identifiability,  # noqa: TC001 -- pydantic reads it when it runs
)
from harness.validate.source import Frozen

Numbers = tuple[float | None, ...]


class Curve(Frozen):
    """One judge on one goal along a grid of beta, with its interval; None where NA."""

    value: Numbers
    low: Numbers
    high: Numbers


class Surface(Frozen):
    """One judge at every (tau, beta) of a grid: rows by tau, columns by beta; None where NA."""

    consistency: tuple[Numbers, ...]
    bias: tuple[Numbers, ...]


class Grid(Frozen):
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


class Reconstructed(Frozen):
    """The judges against response sets implied by a paired subset of the raters.

    Attributes
    ----------
    F_reverse : rows of response sets by columns of options
        P(set endorsed, given option chosen); None in the column of an option without a pair.
    n_pairs, n_paired_items, n_items : int
        What it rests on, and how many items it reaches.
    reasons : dict of str to int
        Items that it does not reach, by reason.
    judges : dict of str to dict of str to Estimate
        By judge and metric.
    """

    F_reverse: tuple[Numbers, ...]
    n_pairs: int
    n_paired_items: int
    n_items: int
    reasons: dict[str, int]
    judges: dict[str, dict[str, Estimate]]


class OmegaBound(Frozen):
    """Mean over items of the least and the greatest share of raters who may endorse an option."""

    option: str
    low: float
    high: float


class Sensitivity(Frozen):
    """What hangs on how often raters who chose a negative option would endorse a positive one.

    Attributes
    ----------
    identifiability : Identifiability
        Whether forced choices determine what raters endorse, and what to change if not.
    adds : dict of str to tuple of str
        For a negative option, those that may be endorsed with it, as the task says.
    reason : str
        Why there is no sweep over beta; "" where there is one.
    curve_betas : tuple of float
        Grid of ``curves``.
    curves : dict of str to dict of str to Curve
        At the run's tau, by judge, then by goal.
    break_evens : dict of str to BreakEven
        At the run's tau, by goal.
    regions : dict of str to tuple of BreakEven
        By goal, one per tau of ``grid``: where each judge wins.
    grid : Grid or None
        For looking around.
    bounds : dict of str to dict of str to Bound
        By judge and goal, over every way in which the choices may hide options; where the humans
        gave no response sets.
    omega_bounds : tuple of OmegaBound
        Likewise.
    reconstructed : Reconstructed or None
        Where some raters gave both.
    """

    identifiability: Identifiability
    adds: dict[str, tuple[str, ...]]
    reason: str
    curve_betas: tuple[float, ...] = ()
    curves: dict[str, dict[str, Curve]] = Field(default_factory=dict)
    break_evens: dict[str, BreakEven] = Field(default_factory=dict)
    regions: dict[str, tuple[BreakEven, ...]] = Field(default_factory=dict)
    grid: Grid | None = None
    bounds: dict[str, dict[str, Bound]] = Field(default_factory=dict)
    omega_bounds: tuple[OmegaBound, ...] = ()
    reconstructed: Reconstructed | None = None

"""Sensitivity to beta: metrics, winners and decisions over a grid of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, IntArray, frozen, ratio
from harness.stats.data.forms import ELICITATION_OF, FORMS, Cut, reaches
from harness.stats.data.rating_table import Distributions, multilabel
from harness.stats.indeterminacy.translation import reconstruct_theta, sensitivity_family
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import (
    Estimate,
    ItemSums,
)
from harness.stats.inference.estimate_sums import Estimated, estimate_all
from harness.stats.inference.metric import Metric, find_metric, mean, no_items, weighted
from harness.stats.metrics import downstream
from harness.stats.metrics.registry import metrics_named
from harness.stats.selection.evaluate import one_of_each_kind
from harness.stats.selection.judge_sums import ComparedSide, judge_sums
from harness.stats.selection.replies import decisions_at_replies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.reasons import NAReason
    from harness.stats.selection.replies import CommonItems

NEED_SETS = tuple(form for form in FORMS if ELICITATION_OF[form] == "response_set")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Flips:
    """Decisions on n items that change as a parameter t goes from 0 to 1.

    Attributes
    ----------
    start : (n, C) array
        1.0 if a share is at least tau at t = 0, else 0.0; nan rows if nobody rated the item.
    at : (E,) array
        Ascending values of t at which one entry changes from 0 to 1. It stays 1 from there on.
    item : (E,) int array
        Item whose entry changes.
    before, after : (E, C) arrays
        The item's row before and after the change.
    """

    start: FloatArray
    at: FloatArray
    item: IntArray
    before: FloatArray
    after: FloatArray

    @classmethod
    def of(cls, first: FloatArray, last: FloatArray, tau: float) -> Self:
        """Find where shares reach tau if they change linearly between two (n, C) arrays.

        Raises
        ------
        ValueError
            If a share falls, or tau is not in (0, 1].
        """
        if (last < first - TOLERANCE).any():
            raise ValueError(
                "a share decreases from the first to the last array; wanted shares that never "
                "decrease"
            )
        start = reaches(first, tau)
        turns = (start == 0.0) & (reaches(last, tau) == 1.0)
        at = np.clip(np.where(turns, ratio(tau - first, last - first), np.inf), 0.0, None)
        item, column = np.nonzero(turns)
        order = np.argsort(at[item, column], kind="stable")
        item, column = item[order], column[order]
        at_entry = at[item, column]
        earlier = (at[item] < at_entry[:, None]) | (
            (at[item] == at_entry[:, None]) & (np.arange(start.shape[1]) < column[:, None])
        )
        before = np.where(earlier, 1.0, start[item])
        after = before.copy()
        after[np.arange(len(item)), column] = 1.0
        return cls(
            start=frozen(start),
            at=frozen(np.minimum(at_entry, 1.0)),
            item=frozen(item),
            before=frozen(before),
            after=frozen(after),
        )

    def __repr__(self) -> str:
        return f"Flips({len(self.start)} items, {len(self.at)} break points)"

    def gains(self, row: Metric, judge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a metric's (n, d) contributions at the start, and the (E, d) change per flip."""
        of_flip = judge[self.item]
        added = row.contributions(self.after, of_flip) - row.contributions(self.before, of_flip)
        return row.contributions(self.start, judge), added

    def ends(self) -> BoolArray:
        """Return an (E,) mask of the flips that are the last at their value of t."""
        return np.asarray(np.diff(self.at, append=np.inf) > TOLERANCE, dtype=np.bool_)

    def path(
        self, row: Metric, judge: FloatArray, times: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return a metric's piecewise constant path: where each of P pieces starts, and its value.

        Each item counts ``times``, (n,), or once.
        """
        base, added = self.gains(row, judge)
        if times is not None:
            base, added = base * times[:, None], added * times[self.item][:, None]
        totals = base.sum(axis=0) + np.cumsum(added, axis=0)[self.ends()]
        values = row.value(np.vstack([base.sum(axis=0)[None], totals]))
        return np.concatenate([[0.0], self.at[self.ends()]]), values


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SweepPoint:
    """Results at one value of the raters' beta.

    Attributes
    ----------
    beta : float
        Assumed P(a positive option in S, given a negative one was chosen).
    judges : tuple of str
        Names, in the order of the argument.
    metrics : tuple of Metric
        The evaluated metrics.
    estimates : mapping
        Judge name to metric name to `Estimate`.
    replicates : mapping
        Metric name to its (J, B) values, column ``b`` from the same items at every beta.
    prevalence : Estimate
        Share of the items that are positive for the raters.
    """

    beta: float
    judges: tuple[str, ...]
    metrics: tuple[Metric, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    replicates: Mapping[str, FloatArray]
    prevalence: Estimate

    def __repr__(self) -> str:
        return f"SweepPoint(beta {self.beta:g}, {len(self.judges)} judges)"


def beta_sweep(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    betas: Sequence[float],
    adds: Mapping[str, Iterable[str]],
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    metrics: Sequence[str | Metric] | None = None,
    common: Mapping[str, CommonItems] | None = None,
) -> tuple[SweepPoint, ...]:
    """Evaluate judges as `evaluate` does, for each beta in a grid.

    Parameters
    ----------
    human : RatingTable
        Table of which only the forced choices are used.
    judges : sequence of RatingTable
        Tables of the judges, with response sets if a metric needs them.
    betas : sequence of float in [0, 1]
        The grid.
    adds
        As in `sensitivity_family`.
    tau, positive, metrics, resampling, common
        As in `evaluate`.

    Returns
    -------
    tuple of SweepPoint
        Results in the order of ``betas``, all on the same resamples.

    Raises
    ------
    ValueError
        If an argument does not fit.

    Notes
    -----
    Guerdan et al. 2025, section 7: figures 7 and 8, tables 3 and 4.
    """
    rows = metrics_named(metrics)
    cut = Cut(tau, tuple(positive))
    added = {option: tuple(hidden) for option, hidden in adds.items()}
    tables, units, common = one_of_each_kind(
        (human, *judges), resampling.units(len(human.items)), common or {}
    )
    human, *judges = tables
    sides = [
        ComparedSide.of(table, cut, rows, times=units.times, common=common) for table in judges
    ]
    fixed = [row for row in rows if row.human_form not in NEED_SETS]
    moving = [row for row in rows if row.human_form in NEED_SETS]
    implied = [distributions_at_beta(human, beta, added) for beta in betas]
    deciding = (*moving, *downstream.METRICS)  # prevalence needs decisions
    human_sides = [ComparedSide.of(human, cut, deciding, dist, units.times) for dist in implied]
    as_rated = ComparedSide.of(human, cut, fixed, times=units.times)
    fixed_sums = [judge_sums(as_rated, side, fixed) for side in sides]
    jobs = []
    for human_side in human_sides:
        jobs += [
            [*sums, *judge_sums(human_side, side, moving)]
            for sums, side in zip(fixed_sums, sides, strict=True)
        ]
        jobs.append([_prevalence(human_side)])
    estimates = estimate_all(jobs, Engine.draw(units, resampling))
    width = len(judges) + 1
    names = tuple(table.name for table in judges)
    return tuple(
        _point(names, rows, estimates[g * width : (g + 1) * width], beta)
        for g, beta in enumerate(betas)
    )


def distributions_at_beta(
    human: RatingTable,
    beta: float,
    adds: Mapping[str, Iterable[str]],
) -> Distributions:
    """Return the raters' distributions implied by their forced choices and one beta.

    Parameters
    ----------
    human : RatingTable
        Table of which only the forced choices are used.
    beta, adds
        As in `sensitivity_family`.
    """
    dist = Distributions.of(human)
    family = sensitivity_family(human.space, beta, adds)
    theta = reconstruct_theta(dist.O, family)
    return replace(dist, theta=theta, omega=multilabel(theta, human.space), n_sets=dist.n_forced)


def _prevalence(side: ComparedSide) -> ItemSums:
    return _mean_of("prevalence", side.forms["decision"][:, 0], side.dist.n_forced)


def _mean_of(
    name: str, values: FloatArray, n_ratings: FloatArray, nothing: NAReason = "no_forced_choices"
) -> ItemSums:
    """Return item sums for the mean of (n,) values, without undefined ones."""
    weight = (~np.isnan(values)).astype(np.float64)
    low = -1.0 if name == "difference" else 0.0
    return ItemSums(
        contributions=weighted(np.nan_to_num(values), weight[:, None]),
        metrics=(Metric(name=name, value=mean, reason=no_items, bounds=(low, 1.0)),),
        used=np.asarray(weight > 0, dtype=np.bool_),
        nothing=nothing,
        n_ratings=n_ratings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevalences:
    """The raters' share of positive items, by kind of rating.

    Attributes
    ----------
    forced_choice, response_set : Estimate
        An item is positive if at least a share tau of the choices is a positive option, or of the
        sets contains one. NA without such ratings.
    reconstructed : Estimate or None
        Share derived from choices, on the items with both kinds, if sets follow from them at
        ``beta``; None without a beta.
    difference : Estimate or None
        On these items, the share by sets minus the average share for the same number of raters if
        each negative choice hid a positive option with probability beta.
    beta : float or None
        The raters' beta.
    is_missed : bool
        Whether the difference is significant and has the same sign at both ends of beta's interval.
    """

    forced_choice: Estimate
    response_set: Estimate
    reconstructed: Estimate | None = None
    difference: Estimate | None = None
    beta: float | None = None
    is_missed: bool = False


def prevalences(
    human: RatingTable,
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    beta: Estimate | None = None,
    adds: Mapping[str, Iterable[str]] | None = None,
) -> Prevalences:
    """Estimate the raters' prevalence from choices, from sets, and from choices with one beta.

    Parameters
    ----------
    human : RatingTable
        Choices, response sets, or both.
    tau, positive, resampling
        As in `evaluate`.
    beta : Estimate, optional
        The raters' beta; without a value, nothing is reconstructed.
    adds : mapping, optional
        As in `sensitivity_family`.

    Returns
    -------
    Prevalences
        Estimates on the same resamples of items. A difference means that one beta does not describe
        all items. Comparing a share of few raters with a cut-off is not the same as comparing that
        of many, so the sets are compared with the expectation for the same number of raters.
    """
    dist, meets = Distributions.of(human), human.space.meets(positive).astype(np.float64)
    by_choice = dist.O @ human.space.option_mask(positive).astype(np.float64)
    choices, sets = reaches(by_choice, tau), reaches(dist.theta @ meets, tau)
    jobs = [
        [_mean_of("choices", choices, dist.n_forced)],
        [_mean_of("sets", sets, dist.n_sets, "no_response_sets")],
    ]
    ends = _ends_of(beta) if beta is not None and adds else ()
    added = {option: tuple(hidden) for option, hidden in (adds or {}).items()}
    for end in ends:
        share = distributions_at_beta(human, end, added).theta @ meets
        implied = np.where(np.isnan(sets), np.nan, reaches(share, tau))
        jobs.append([_mean_of("reconstructed", implied, dist.n_forced)])
        expected = _expected(by_choice, share, end, tau, (dist.n_forced, dist.n_sets))
        jobs.append([_mean_of("difference", sets - expected, dist.n_sets)])
    engine = Engine.draw(resampling.units(len(human.items)), resampling)
    estimated = estimate_all(jobs, engine)
    choice, response_set, *rest = (
        entry.estimate for by_name in estimated for entry in by_name.values()
    )
    is_implied = bool(rest) and rest[1].value is not None
    return Prevalences(
        forced_choice=choice,
        response_set=response_set,
        reconstructed=rest[0] if is_implied else None,
        difference=rest[1] if is_implied else None,
        beta=ends[0] if is_implied else None,
        is_missed=is_implied and _on_one_side(rest[1::2]),
    )


def _ends_of(beta: Estimate) -> tuple[float, ...]:
    """Return beta's value and the ends of its interval, if it has them."""
    if beta.value is None or beta.interval is None:
        return () if beta.value is None else (beta.value,)
    return beta.value, beta.interval.low, beta.interval.high


def _expected(
    by_choice: FloatArray,
    share: FloatArray,
    beta: float,
    tau: float,
    n_ratings: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return (n,) probabilities that raters with this beta make an item positive by their sets.

    These are the raters who made the choices, if there are as many sets; otherwise they are
    different raters with the same (n,) share.
    """
    from scipy.special import betainc  # noqa: PLC0415 -- takes a while to load

    n_forced, n_sets = n_ratings
    same = n_forced == n_sets
    positive = np.where(same, np.round(np.nan_to_num(by_choice) * n_forced), 0.0)
    chance = np.where(same, beta, np.nan_to_num(share))
    needed = np.ceil(tau * n_sets - TOLERANCE) - positive
    left = np.asarray(n_sets - positive, dtype=np.float64)
    k = np.clip(needed, 1.0, np.maximum(left, 1.0))
    tail = betainc(k, np.maximum(left, 1.0) - k + 1.0, chance)  # P(at least k of the rest)
    likely = np.where(needed <= 0, 1.0, np.where(needed > left, 0.0, tail))
    return np.where(np.isnan(by_choice) | (n_sets == 0), np.nan, likely)


def _on_one_side(differences: Sequence[Estimate]) -> bool:
    intervals = [d.interval for d in differences if d.interval is not None]
    if len(intervals) < len(differences):
        return False
    above = all(interval.low > 0.0 for interval in intervals)
    return above or all(interval.high < 0.0 for interval in intervals)


def _point(
    names: tuple[str, ...],
    rows: tuple[Metric, ...],
    estimated: Sequence[Mapping[str, Estimated]],
    beta: float,
) -> SweepPoint:
    of_judges = estimated[:-1]
    return SweepPoint(
        beta=beta,
        judges=names,
        metrics=rows,
        estimates={
            name: {row.name: by_metric[row.name].estimate for row in rows}
            for name, by_metric in zip(names, of_judges, strict=True)
        },
        replicates={
            row.name: frozen(np.array([by_metric[row.name].replicates for by_metric in of_judges]))
            for row in rows
        },
        prevalence=estimated[-1]["prevalence"].estimate,
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of beta in which the same judges win.

    Attributes
    ----------
    low, high : float
        Range from ``low`` up to but excluding ``high``; the last piece includes 1.
    winners : tuple of str
        Best judges by the metric; several if tied, none if it is undefined.
    """

    low: float
    high: float
    winners: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class BreakEven:
    """Values of beta, from 0 to 1, at which the winner by one metric changes.

    Attributes
    ----------
    metric : str
        Name of the metric.
    tau : float
        Cut-off.
    pieces : tuple of Piece
        Ranges in order, without gaps; empty without judges.
    """

    metric: str
    tau: float
    pieces: tuple[Piece, ...]

    def __repr__(self) -> str:
        return f"BreakEven({self.metric!r}, tau {self.tau:g}, {len(self.pieces)} pieces)"

    @property
    def betas(self) -> tuple[float, ...]:
        """The break-even values of beta, at which the winners change."""
        return tuple(piece.low for piece in self.pieces[1:])

    def winners(self, beta: float) -> tuple[str, ...]:
        """Return the winners at a beta. Raise ValueError if it is outside [0, 1]."""
        for piece in reversed(self.pieces if 0.0 <= beta <= 1.0 else ()):
            if beta >= piece.low - TOLERANCE:
                return piece.winners
        raise ValueError(f"beta is {beta!r}; wanted a number in [0, 1] for {self!r}")


def break_even(
    human: RatingTable,
    judges: Sequence[RatingTable],
    goal: str,
    *,
    adds: Mapping[str, Iterable[str]],
    tau: float,
    positive: Sequence[str],
    n_replies: float | None = None,
    times: IntArray | None = None,
) -> BreakEven:
    """Find the exact values of beta at which the best judge changes.

    Parameters
    ----------
    human : RatingTable
        Table whose forced choices hide options with probability beta.
    judges : sequence of RatingTable
        Tables with response sets.
    goal : {"decision_consistency", "prevalence_bias"}
        Metric to compare them by.
    adds : mapping
        For each negative option, the options that can be accepted with it; see
        `sensitivity_family`, whose default variant is used.
    tau, positive
        Cut-off and positive options.
    n_replies : float, optional
        Replies per item by which judges decide. Default: all of them.
    times : (n,) int array, optional
        Number of items that each row of the tables represents. Default: one.

    Returns
    -------
    BreakEven
        One piece if the same judges win at every beta.

    Raises
    ------
    ValueError
        If an argument does not fit the option space.

    Notes
    -----
    The inversions of Guerdan et al. 2025, figure 7. Decisions flip one item at a time, at values of
    beta with a closed form.
    """
    [at_tau] = winning_regions(
        human,
        judges,
        goal,
        adds=adds,
        taus=(tau,),
        positive=positive,
        n_replies=n_replies,
        times=times,
    )
    return at_tau


def winning_regions(
    human: RatingTable,
    judges: Sequence[RatingTable],
    goal: str,
    *,
    adds: Mapping[str, Iterable[str]],
    taus: Sequence[float],
    positive: Sequence[str],
    n_replies: float | None = None,
    times: IntArray | None = None,
) -> tuple[BreakEven, ...]:
    """Find the ranges of beta in which each judge wins, for each cut-off.

    Parameters
    ----------
    taus : sequence of float in (0, 1]
        The cut-offs.
    human, judges, goal, adds, positive, n_replies, times
        As in `break_even`.

    Returns
    -------
    tuple of BreakEven
        One result per cut-off, in the order of ``taus``.
    """
    row, names = find_metric(goal, downstream.METRICS), [table.name for table in judges]
    dist, meets = Distributions.of(human), human.space.meets(positive)[:, None].astype(np.float64)
    first, last = (_theta(dist, beta, adds) @ meets for beta in (0.0, 1.0))

    def region(tau: float) -> BreakEven:
        flips, cut = Flips.of(first, last, tau), Cut(tau, tuple(positive))
        decisions = (decisions_at_replies(table, cut, n_replies) for table in judges)
        paths = [flips.path(row, decided, times) for decided in decisions]
        starts = paths[0][0] if paths else np.zeros(1)
        losses = np.array([row.losses(values) for _, values in paths])
        return BreakEven(row.name, tau, _pieces(starts, losses, names))

    return tuple(region(tau) for tau in taus)


def _theta(dist: Distributions, beta: float, adds: Mapping[str, Iterable[str]]) -> FloatArray:
    return reconstruct_theta(dist.O, sensitivity_family(dist.space, beta, adds))


def _pieces(starts: FloatArray, losses: FloatArray, names: Sequence[str]) -> tuple[Piece, ...]:
    """Join adjacent pieces that have the same winners."""
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

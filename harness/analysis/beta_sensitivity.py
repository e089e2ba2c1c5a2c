"""Sensitivity of the decision to beta, cut-off, bounds, reconstruction and rater error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from harness.analysis.beta_grid import Grid, grid_betas, grid_of, replies_to_sets
from harness.analysis.metric_choice import SELECTED_BY
from harness.analysis.serialize import DIGITS, Numbers, rows_of
from harness.stats import (
    Estimate,
    F_and_beta_by_likelihood,
    beta_sweep,
    common_bounds,
    free_bounds,
)
from harness.stats.data.arrays import TOLERANCE, FloatArray, IntArray, ratio
from harness.stats.data.forms import Cut
from harness.stats.indeterminacy.bounds import Bound, EndorsementLimit
from harness.stats.indeterminacy.likelihood import CommonF, F_by_likelihood
from harness.stats.indeterminacy.modelled import ModelledDecisions
from harness.stats.indeterminacy.pair_bounds import BoundedDifference, pair_bounds
from harness.stats.indeterminacy.rater_error import (
    Identifiability,
    identifiability,
)
from harness.stats.indeterminacy.sensitivity import (
    BreakEven,
    break_even,
    winning_regions,
)
from harness.stats.indeterminacy.values_at_betas import values_at_betas
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.metric import find_metric
from harness.stats.metrics.registry import METRICS, metrics_named
from harness.stats.reasons import Reason
from harness.stats.selection.evaluate import one_of_each_kind
from harness.stats.selection.ranking import GOALS, chosen_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable


DECISION_GOAL = "decision_consistency"


CURVE_BETAS = tuple(step / 10 for step in range(11))
TAUS = tuple(step / 10 for step in range(1, 10))
MAX_CELLS = 100_000  # items times response sets; with more, the likelihood takes seconds per judge


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOverBeta:
    """Judges that a metric selects at each of the raters' betas on a grid.

    Attributes
    ----------
    judges : tuple of tuple of str
        At each beta, the best candidates by the metric: several if tied, none if no value is
        defined.
    values : dict of str to tuple of float or None
        Mean over these judges, by goal. For the prevalence bias, the mean absolute value.
    losses : dict of str to tuple of float or None
        Loss by goal: the amount by which that value is worse than the best judge's at that beta.
    """

    judges: tuple[tuple[str, ...], ...]
    values: dict[str, Numbers]
    losses: dict[str, Numbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAtBeta:
    """The best judge at the raters' beta, and the share of resamples with a different best judge.

    Attributes
    ----------
    beta : float
        The raters' beta, as estimated from their pairs.
    judges : tuple of str
        The best candidates; several if tied.
    differs_share : float or None
        Share of resamples of items in which none of ``judges`` is the best; None without resamples.
    """

    beta: float
    judges: tuple[str, ...]
    differs_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Dependence on beta: the share of raters with a negative choice who accept a positive option.

    Attributes
    ----------
    identifiability : Identifiability
        Whether forced choices determine the response sets, and what to change if not.
    reason : str
        Why there is no sweep over beta; "" if there is one.
    break_evens : dict of str to BreakEven
        Break-even values of beta at the run's tau, by goal.
    distinguishable : BreakEven or None
        Break-even values at the run's tau, by decision consistency, among the first judge and those
        that are significantly worse. None if no other judge is significantly worse.
    selections : dict of str to SelectionOverBeta
        Point estimates at the run's tau, by metric, then by beta from 0 to 1 in steps of .1.
        Metrics that compare with response sets are recomputed at each beta.
    best_at_beta : dict of str to BestAtBeta
        Best judges at the run's tau and the raters' beta, by goal. Empty if that beta is NA.
    regions : dict of str to tuple of BreakEven
        The betas at which each judge wins, by goal, with one entry per tau of ``grid``.
    grid : Grid or None
        Values on a grid of beta and tau, for exploration.
    bounds, common_bounds : dict of str to dict of str to Bound
        Bounds by judge and goal. If the raters gave no response sets, they cover every way in which
        choices may hide options, item by item, and every beta that is the same for all items. If
        pairs on some items represent the sets on all, they cover everything that fits the choices
        and pairs.
    differences : tuple of BoundedDifference
        Judges' differences in decision consistency, over everything that fits the choices and
        pairs.
    modelled : ModelledDecisions or None
        Decisions at the cut-off by a model of the raters' sets, if requested.
    bounds_reason : str
        Why there are no bounds; "" if there are.
    judge_betas : dict of str to Estimate
        Each judge's beta, estimated from its independent calls by maximum likelihood for one F,
        with an interval by profile likelihood. The beta from pairs is in `JudgeResult`. NA,
        "not_computed", if items times response sets exceed 100,000.
    judge_translations, human_translation : dict of str to CommonF; CommonF or None
        F of each judge, and of the raters, from the same calls. Missing for those who gave no calls
        of both kinds on an item. The F from pairs is in `JudgeResult` and `HumanResult`.
    """

    identifiability: Identifiability
    reason: Reason
    break_evens: dict[str, BreakEven] = field(default_factory=dict)
    distinguishable: BreakEven | None = None
    selections: dict[str, SelectionOverBeta] = field(default_factory=dict)
    best_at_beta: dict[str, BestAtBeta] = field(default_factory=dict)
    regions: dict[str, tuple[BreakEven, ...]] = field(default_factory=dict)
    grid: Grid | None = None
    bounds_reason: Reason = ""
    differences: tuple[BoundedDifference, ...] = ()
    modelled: ModelledDecisions | None = None
    bounds: dict[str, dict[str, Bound]] = field(default_factory=dict)
    common_bounds: dict[str, dict[str, Bound]] = field(default_factory=dict)
    judge_betas: dict[str, Estimate] = field(default_factory=dict)
    judge_translations: dict[str, CommonF] = field(default_factory=dict)
    human_translation: CommonF | None = None


def section(p: Prepared, distinguishable: Sequence[str] = ()) -> Sensitivity:
    """Estimate how the comparison of judges depends on the response sets behind forced choices.

    The ranked judges are compared on the items that the ranking uses. ``distinguishable`` names the
    first judge and those that are significantly worse.
    """
    reason = _why_no_sweep(p)
    section = Sensitivity(
        identifiability=identifiability(p.task.space),
        reason=reason,
        bounds_reason=_why_no_bounds(p),
        modelled=p.modelled,
    )
    if not section.reason:
        section = _with_sweep(section, p, distinguishable)
    if not section.bounds_reason and p.compared.positive:
        section = _with_bounds(section, p)
    if p.settings.level != "micro" or not _has_likelihood(p):
        return section
    return _with_likelihood(section, p)


def _why_no_sweep(p: Prepared) -> Reason:
    if p.settings.level != "micro":
        return "only_at_level_micro"
    if not p.task.positive:
        return "no_positive_option"
    if p.task.space.fully_specified:
        return "fully_specified"
    if not p.task.sensitivity:
        return "no_sensitivity"
    return "" if p.compared.human.forced_choice.any() else "no_forced_choices"


class _Sweep(TypedDict):
    adds: Mapping[str, tuple[str, ...]]
    positive: Sequence[str]
    n_replies: float | None
    times: IntArray | None


def _with_sweep(section: Sensitivity, p: Prepared, distinguishable: Sequence[str]) -> Sensitivity:
    """Add the regions in which each judge is the best, and the judges' values at each beta."""
    tables = (p.compared.human, *p.ranked_tables())
    units = Units.of(len(p.compared.human.items), None)
    (human, *judges), units, _ = one_of_each_kind(tables, units, {})
    settings: _Sweep = {
        "adds": p.task.sensitivity,
        "positive": p.compared.positive,
        "n_replies": replies_to_sets(p),
        "times": units.times,
    }
    taus = tuple(sorted({*TAUS, p.tau}))
    clear = [table for table in judges if table.name in distinguishable]
    regions = {goal: winning_regions(human, judges, goal, taus=taus, **settings) for goal in GOALS}
    betas, n_left_out = grid_betas(regions, p.tau)
    grid = grid_of(human, judges, betas, taus=taus, **settings)
    return replace(
        section,
        break_evens={goal: by_tau[taus.index(p.tau)] for goal, by_tau in regions.items()},
        distinguishable=break_even(human, clear, DECISION_GOAL, tau=p.tau, **settings)
        if clear
        else None,
        selections=_selections(p, tables[1:]),
        best_at_beta=_best_at_beta(p, tables[1:]),
        regions=regions,
        grid=replace(grid, n_left_out=n_left_out),
    )


def _selections(p: Prepared, judges: Sequence[RatingTable]) -> dict[str, SelectionOverBeta]:
    """Select a judge by each metric at each beta, and compute that judge's loss on each goal."""
    if not judges:
        return {}
    own = () if p.metric in {*SELECTED_BY, *GOALS} else (p.own.row(p.metric),)
    rows = metrics_named((*SELECTED_BY, *own, *GOALS))
    values = values_at_betas(
        p.compared.human,
        judges,
        rows,
        betas=CURVE_BETAS,
        adds=p.task.sensitivity,
        cut=Cut(p.tau, p.compared.positive),
        common=p.common,
    )
    losses = {row.name: row.losses(values[row.name]) for row in rows}
    names = tuple(table.name for table in judges)
    return {name: _selected(name, losses, names) for name in losses}


def _selected(
    name: str, losses: Mapping[str, FloatArray], judges: tuple[str, ...]
) -> SelectionOverBeta:
    """Summarise the judges that a metric selects. ``losses`` has a (betas, J) array per metric."""
    chosen = chosen_by(losses[name].T).T & ~np.isnan(losses[name])
    values, extra = {}, {}
    for goal in GOALS:
        suffered = ratio(np.where(chosen, losses[goal], 0.0).sum(axis=1), chosen.sum(axis=1))
        defined = ~np.isnan(losses[goal])
        least = np.where(defined, losses[goal], np.inf).min(axis=1)
        cost = np.where(defined.any(axis=1), suffered - least, np.nan)
        selected = find_metric(goal, METRICS).of_losses(suffered)
        values[goal] = rows_of(selected[None], digits=DIGITS)[0]
        cost = np.where(np.abs(cost) <= TOLERANCE, 0.0, cost)
        extra[goal] = rows_of(cost[None], digits=DIGITS)[0]
    return SelectionOverBeta(
        judges=tuple(
            tuple(judge for judge, is_chosen in zip(judges, row, strict=True) if is_chosen)
            for row in chosen.tolist()
        ),
        values=values,
        losses=extra,
    )


def _best_at_beta(p: Prepared, judges: Sequence[RatingTable]) -> dict[str, BestAtBeta]:
    """Find the best candidates at the raters' beta, both in the data and in resamples."""
    beta = p.own.human_translation.beta.value
    if beta is None or not judges:
        return {}
    [point] = beta_sweep(
        p.compared.human,
        judges,
        betas=(beta,),
        adds=p.task.sensitivity,
        tau=p.tau,
        positive=p.compared.positive,
        resampling=p.resampling(groups=p.groups),
        metrics=GOALS,
        common=p.common,
    )
    best = {}
    for row in point.metrics:
        values = [point.estimates[name][row.name].value for name in point.judges]
        losses = row.losses(np.array([np.nan if v is None else v for v in values]))
        first = chosen_by(losses)
        drawn = chosen_by(row.losses(point.replicates[row.name]))
        differs = ~drawn[first].any(axis=0)
        best[row.name] = BestAtBeta(
            beta=beta,
            judges=tuple(np.array(point.judges)[first].tolist()),
            differs_share=float(differs.mean()) if differs.size and first.any() else None,
        )
    return best


def _why_no_bounds(p: Prepared) -> Reason:
    human = p.compared.human
    if p.settings.level != "micro":
        return "only_at_level_micro"
    if human.response_set.any() and not p.sets.from_pairs:
        return "response_sets_given"
    if human.space.fully_specified:
        return "fully_specified"
    if not human.space.sets_known:
        return "sets_unknown"
    return "" if human.forced_choice.any() else "no_forced_choices"


def _with_bounds(section: Sensitivity, p: Prepared) -> Sensitivity:
    """Add the bounds, for tasks with only forced choices or with pairs on only some items."""
    human, judges = p.compared.human, p.ranked_tables()
    positive, n_replies = p.compared.positive, replies_to_sets(p)
    if p.sets.from_pairs:
        bounds, differences = pair_bounds(
            human,
            judges,
            tau=p.tau,
            positive=positive,
            n_replies=n_replies,
            resampling=p.resampling(groups=p.groups),
            weights=p.compared.weights,
        )
        return replace(section, bounds=bounds, differences=differences)
    free = free_bounds(
        human,
        judges,
        tau=p.tau,
        positive=positive,
        n_replies=n_replies,
        resampling=p.resampling(groups=p.groups),
    )
    limits = [
        EndorsementLimit(option, tuple(adds), 0.0, 1.0)
        for option, adds in p.task.sensitivity.items()
    ]
    if not limits:
        return replace(section, bounds=free)
    common = common_bounds(
        human,
        judges,
        limits,
        tau=p.tau,
        positive=positive,
        n_replies=n_replies,
        resampling=p.affordable_resampling(),
    )
    return replace(section, bounds=free, common_bounds=common)


def _has_likelihood(p: Prepared) -> bool:
    """Return whether independent calls can identify F (from sets) or beta (positive options)."""
    space = p.compared.human.space
    if space.fully_specified or not space.sets_known:
        return False
    tables = (p.compared.human, *p.compared.judges)
    return bool(p.compared.positive) or any(table.response_set.any() for table in tables)


def _with_likelihood(section: Sensitivity, p: Prepared) -> Sensitivity:
    """Add the judges' F and beta and the raters' F, estimated from independent calls."""
    tables = p.compared.judges
    fits = {table.name: _fitted(p, table) for table in tables}
    matrices = {name: matrix for name, (matrix, _) in fits.items() if matrix is not None}
    betas = {name: beta for name, (_, beta) in fits.items() if beta is not None}
    return replace(
        section,
        judge_betas=betas,
        judge_translations=matrices,
        human_translation=_fitted(p, p.compared.human)[0],
    )


def _fitted(p: Prepared, table: RatingTable) -> tuple[CommonF | None, Estimate | None]:
    """Estimate F, or None without calls, and beta, or None without positive options."""
    positive, beta = p.compared.positive, None
    if len(table.items) * len(table.space.sets) > MAX_CELLS:
        na = Estimate(value=None, reason="not_computed", n_used=0, n_excluded=len(table.items))
        return CommonF.not_computed(table.space), na if positive else None
    if positive:
        fit, beta = F_and_beta_by_likelihood(
            table, positive, resampling=p.resampling(groups=p.groups)
        )
    else:
        fit = F_by_likelihood(table, resampling=p.resampling(groups=p.groups))
    return fit if fit.n_items else None, beta

"""Evaluation of judges: metrics and intervals from a single set of resamples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.data.forms import ELICITATION_OF, Cut, check_tau
from harness.stats.data.kinds import Kinds
from harness.stats.indeterminacy.translation import F_hat, Translation
from harness.stats.inference.bootstrap import ALIKE, Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Estimate, ItemSums  # noqa: TC001 -- readers of a field's type need it
from harness.stats.inference.estimate_sums import Estimated, average_over_criteria, estimate_all
from harness.stats.inference.metric import Metric, find_metric
from harness.stats.metrics.ordinal import RANKED_PROBABILITY_SCORE
from harness.stats.metrics.registry import metrics_named
from harness.stats.selection.judge_sums import (
    ComparedSide,
    beta_sums,
    human_sums,
    judge_sums,
    scorer,
)
from harness.stats.selection.rater_panel import rater_covariances, with_rater_variance

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.stats.data.rating_table import Distributions, RatingTable
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.crossed_raters import RaterCovariance, RaterVariance
    from harness.stats.modes import AnswerKind
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.stats.selection.replies import CommonItems

Beside: TypeAlias = Literal["agreement", "translations"]
BESIDE: tuple[Beside, ...] = get_args(Beside)
RANKS_WITH_SETS = "mse(srs/srs)"
RANKS_WITHOUT_SETS = "js_divergence(s/s)"
RANKS_ON_ORDERED_SCALES = RANKED_PROBABILITY_SCORE.name


@dataclass(frozen=True, slots=True, repr=False)
class TableTranslation:
    """F and beta from one rating table.

    Attributes
    ----------
    translation : Translation
        F and its reverse from paired ratings.
    beta : Estimate
        P(a positive option in S, given a negative one was chosen), from paired ratings.
    cross_call_beta : Estimate
        The same share from independent calls, which does not estimate beta.
    """

    translation: Translation
    beta: Estimate
    cross_call_beta: Estimate

    def __repr__(self) -> str:
        return f"TableTranslation({self.translation!r}, beta {self.beta.value})"


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Estimates for several judges on the same items.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges, in the order of the argument.
    metrics : tuple of Metric
        The evaluated metrics.
    estimates : mapping
        Judge name to metric name to `Estimate`.
    replicates : mapping
        Metric name to its (J, B) values in the resamples. Column ``b`` is the same draw of items
        throughout the evaluation.
    human_agreement : mapping
        Name of a row of `HUMAN_AGREEMENT` to `Estimate`.
    of_tables : tuple of TableTranslation
        F and beta of the humans, then of each judge.
    level : float
        Confidence level.
    units : Units
        Units of resampling: items, groups of items, or criteria.
    covariances : mapping of str to RaterCovariance
        Covariances of the judges due to the raters, by metric, if raters are a sample too.
    """

    judges: tuple[str, ...]
    metrics: tuple[Metric, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    replicates: Mapping[str, FloatArray]
    human_agreement: Mapping[str, Estimate]
    of_tables: tuple[TableTranslation, ...]
    level: float
    units: Units
    covariances: Mapping[str, RaterCovariance] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Evaluation({len(self.judges)} judges, {len(self.metrics)} metrics, {self.units!r})"

    @property
    def human_translation(self) -> TableTranslation:
        """F and beta for the humans."""
        return self.of_tables[0]

    @property
    def translations(self) -> dict[str, TableTranslation]:
        """F and beta for each judge, by name."""
        return dict(zip(self.judges, self.of_tables[1:], strict=True))

    def row(self, metric: str) -> Metric:
        """Return an evaluated metric by name. Raise ValueError if it was not evaluated."""
        return find_metric(metric, self.metrics)

    def losses(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """Return (J,) losses and (J, B) replicates. Lower is better, and nan means undefined."""
        row = self.row(metric)
        return row.losses(self._values(metric)), row.losses(self.replicates[metric])

    def _values(self, metric: str) -> FloatArray:
        """Return (J,) values, with nan for undefined ones."""
        values = [self.estimates[judge][metric].value for judge in self.judges]
        return np.array([np.nan if value is None else value for value in values])


def evaluate(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    metrics: Sequence[str | Metric] | None = None,
    implied: Distributions | None = None,
    criteria: Sequence[str] | None = None,
    weights: FloatArray | None = None,
    common: Mapping[str, CommonItems] | None = None,
    panel: RaterPanel | None = None,
    beside: Collection[Beside] = BESIDE,
) -> Evaluation:
    """Compare judges with the human raters on every metric, using one bootstrap for all.

    Parameters
    ----------
    human : RatingTable
        The humans' answers.
    judges : sequence of RatingTable
        Each judge's answers, with the same space and the same items in the same order.
    tau : float in (0, 1]
        Cut-off of the forms hrs and decision.
    positive : sequence of str
        Positive options, for decisions and beta.
    resampling : Resampling
        Settings for intervals.
    metrics : sequence of str or Metric, optional
        Metrics to evaluate. Default: all rows of `METRICS`; see `metrics_for`.
    implied : Distributions, optional
        Assumed response sets of the humans, instead of their own; see `distributions_at_beta` and
        `reconstruct`.
    criteria : sequence of str, optional
        Criterion of each item. Metrics are then averages over criteria, which are resampled; see
        `macro`. Default: items are pooled.
    weights : (n,) array, optional
        Number of times each item counts in metrics and in the raters' agreement; beta and F are
        unweighted. See `inverse_probability_weights`. Default: once.
    common : mapping of str to CommonItems, optional
        The items, and the number of replies per item, at which judges are evaluated, by
        elicitation. Values are expectations over draws from their replies; see
        `contributions_at_replies`. Default: all of each judge's replies.
    panel : RaterPanel, optional
        Rater of each rating. If five or more raters rated most items, score intervals are over
        items and raters; otherwise, and by default, they apply to these raters only.
    beside : collection of {"agreement", "translations"}, optional
        Estimates beside the metrics. Metrics have the same resamples without them. Default: all.

    Returns
    -------
    Evaluation
        Estimates and replicates.

    Raises
    ------
    ValueError
        If tables do not belong together, names repeat, or an option, metric, tau or level is wrong.
    """
    _check_tables(human, judges)
    check_tau(tau)
    rows = metrics_named(metrics)
    units = resampled = resampling.units(len(human.items))
    cut, names = Cut(tau, tuple(positive)), tuple(table.name for table in judges)
    tables: Sequence[RatingTable] = (human, *judges)
    panel = panel if panel is not None and panel.is_crossed else None  # else not a sample
    pooled = resampling.groups is None and criteria is None
    if pooled and implied is None and weights is None and panel is None:
        tables, resampled, common = one_of_each_kind(tables, units, common or {})
    raters = ComparedSide.of(tables[0], cut, rows, implied, resampled.times)
    rated = [
        ComparedSide.of(table, cut, rows, times=resampled.times, common=common)
        for table in tables[1:]
    ]
    covariances: Mapping[str, RaterCovariance] = {}
    if panel is not None and criteria is None and rated:
        as_rated = [row for row in rows if implied is None or is_of_choices(row)]
        scores = [scorer(side) for side in rated]
        covariances = rater_covariances(panel, human, as_rated, scores, cut)
    metric_groups = [
        judge_sums(raters, side, rows, _variances_of(covariances, j))
        for j, side in enumerate(rated)
    ]
    beta_groups = [beta_sums(side) for side in (raters, *rated)]
    if "translations" not in beside:
        beta_groups = [_unread(group) for group in beta_groups]
    agreement_group = human_sums(tables[0], resampled.times)
    if "agreement" not in beside:
        agreement_group = _unread(agreement_group)
    elif panel is not None:
        agreement_group = with_rater_variance(agreement_group, panel, human)
    if weights is not None:
        *metric_groups, agreement_group = [
            [sums.weighted(weights) for sums in group]
            for group in (*metric_groups, agreement_group)
        ]
    jobs = [*metric_groups, *beta_groups, agreement_group]
    results = estimate_all(jobs, Engine.draw(resampled, resampling))
    compared, betas, agreement = results[: len(names)], results[len(names) : -1], results[-1]
    if criteria is not None:
        averaged, units = average_over_criteria(metric_groups, criteria)
        compared = estimate_all(averaged, Engine.draw(units, resampling))
    translations = [
        TableTranslation(F_hat(table), beta["beta"].estimate, beta["cross_call_beta"].estimate)
        for table, beta in zip((human, *judges), betas, strict=True)
        if beta
    ]
    return Evaluation(
        judges=names,
        metrics=rows,
        estimates={
            name: {row.name: of_judge[row.name].estimate for row in rows}
            for name, of_judge in zip(names, compared, strict=True)
        },
        replicates={row.name: _replicates(row.name, compared) for row in rows},
        human_agreement=_estimates(agreement),
        of_tables=tuple(translations),
        level=resampling.level,
        units=units,
        covariances=covariances,
    )


def is_of_choices(metric: Metric) -> bool:
    """Return whether a metric uses the raters' forced choices rather than response sets."""
    return ELICITATION_OF[metric.human_form] == "forced_choice"


def _variances_of(
    covariances: Mapping[str, RaterCovariance], judge: int
) -> dict[str, RaterVariance]:
    variances = {
        name: covariance.variance(np.eye(len(covariance.raters))[judge])
        for name, covariance in covariances.items()
    }
    return {name: variance for name, variance in variances.items() if variance is not None}


def _unread(group: Sequence[ItemSums]) -> list[ItemSums]:
    """Return sums without metrics. They still determine which items are equal in the resamples."""
    return [replace(sums, metrics=()) for sums in group]


def one_of_each_kind(
    tables: Sequence[RatingTable], units: Units, common: Mapping[str, CommonItems]
) -> tuple[Sequence[RatingTable], Units, Mapping[str, CommonItems]]:
    """Keep one item of each kind, along with the number of items it represents.

    Everything is returned unchanged unless this makes the tables much shorter, ``units`` are items,
    and no table is exact.
    """
    if units.kind != "item" or units.times is not None:
        return tables, units, common
    if any(table.exact for table in tables):
        return tables, units, common
    counts = [
        table_counts
        for table in tables
        for table_counts in (
            table.forced_choice,
            table.response_set,
            table.joint,
            table.outcomes,
            table.wins,
        )
        if table_counts is not None
    ]
    shared = [items.shared[:, None].astype(np.int64) for items in common.values()]
    kinds = Kinds.few(len(tables[0].items) // ALIKE, *counts, *shared)
    if kinds is None:
        return tables, units, common
    first = kinds.first
    common = {name: replace(items, shared=items.shared[first]) for name, items in common.items()}
    return [table.only(first) for table in tables], Units.alike(kinds.times), common


def primary_metric(ranks_by: AnswerKind, *, ordinal: bool = False) -> str:
    """Return the name of the metric that ranks judges by default.

    For response sets it is ``mse(srs/srs)``. For forced choices it is
    ``ranked_probability_score(s/s)`` on an ordered scale, because ``js_divergence(s/s)`` ignores
    its order, and ``js_divergence(s/s)`` on any other scale.
    """
    if ranks_by == "response_set":
        return RANKS_WITH_SETS
    return RANKS_ON_ORDERED_SCALES if ordinal else RANKS_WITHOUT_SETS


def _estimates(results: Mapping[str, Estimated]) -> dict[str, Estimate]:
    return {name: result.estimate for name, result in results.items()}


def _replicates(metric: str, compared: Sequence[Mapping[str, Estimated]]) -> FloatArray:
    if not compared:
        return np.empty((0, 0))
    return frozen(np.stack([of_judge[metric].replicates for of_judge in compared]))


def _check_tables(human: RatingTable, judges: Sequence[RatingTable]) -> None:
    names = [table.name for table in judges]
    if len(set(names)) < len(names):
        raise ValueError(f"judges: a name is repeated in {names}; each judge needs its own")
    for table in judges:
        if table.space != human.space:
            raise ValueError(f"judge {table.name!r} has a different option space: {table!r}")
        if table.items != human.items:
            raise ValueError(
                f"judge {table.name!r} has different items, or a different order: {table!r}"
            )

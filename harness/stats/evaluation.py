"""Judges against humans: every metric, its interval and the rankings, from one set of resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.agreement import METRICS
from harness.stats.arrays import BoolArray, FloatArray, frozen
from harness.stats.distributions import (
    ELICITATION_OF,
    ELICITATIONS,
    OUTCOMES,
    Distributions,
    Form,
    RatingTable,
    aggregate,
    check_tau,
    tied_modes,
)
from harness.stats.intervals import (
    Estimate,
    Exclusion,
    Replicated,
    Resamples,
    Statistic,
    Units,
    check_level,
    percentile_interval,
    replicate,
)
from harness.stats.ranking import Difference, Ranking, compare, loss, rank
from harness.stats.raters import HUMAN_AGREEMENT
from harness.stats.rows import MetricRow, find_metric, mean
from harness.stats.translation import (
    F_hat,
    Translation,
    beta_contributions,
    cross_call_contributions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.stats.response_sets import OptionSpace

RANKS_WITH_SETS = "mse(srs/srs)"
RANKS_WITHOUT_SETS = "js_divergence(s/s)"


@dataclass(frozen=True, slots=True, repr=False)
class TableTranslation:
    """F and beta of one rating table.

    Attributes
    ----------
    translation : Translation
        F and its reverse from paired ratings.
    beta : Estimate
        P(a positive option in S, given a negative one was chosen), from paired ratings.
    cross_call_beta : Estimate
        The same share from independent calls, which is no estimate of beta.
    """

    translation: Translation
    beta: Estimate
    cross_call_beta: Estimate

    def __repr__(self) -> str:
        return f"TableTranslation({self.translation!r}, beta {self.beta.value})"


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """All that was estimated about some judges on one set of items.

    Attributes
    ----------
    judges : tuple of str
        Their names, in the order given.
    metrics : tuple of MetricRow
        The rows that were evaluated.
    estimates : mapping
        Judge name to metric name to `Estimate`.
    replicates : mapping
        Metric name to its (J, B) values in the resamples; column ``b`` is the same draw of items
        throughout this evaluation.
    human_agreement : mapping
        Name of a row of `HUMAN_AGREEMENT` to `Estimate`.
    human_translation : TableTranslation
        F and beta of the humans.
    translations : mapping
        Judge name to `TableTranslation`.
    tau, level : float
        Cut-off and confidence level.
    positive : tuple of str
        The positive options.
    units : Units
        What was resampled.
    """

    judges: tuple[str, ...]
    metrics: tuple[MetricRow, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    replicates: Mapping[str, FloatArray]
    human_agreement: Mapping[str, Estimate]
    human_translation: TableTranslation
    translations: Mapping[str, TableTranslation]
    tau: float
    level: float
    positive: tuple[str, ...]
    units: Units

    def __repr__(self) -> str:
        return f"Evaluation({len(self.judges)} judges, {len(self.metrics)} metrics, {self.units!r})"

    def row(self, metric: str) -> MetricRow:
        """Return an evaluated row by name; ValueError if it is none."""
        return find_metric(metric, self.metrics)

    def ranking(self, metric: str) -> Ranking:
        """Order the judges on one metric, each compared with the best."""
        return rank(
            metric,
            self.row(metric).better,
            self.judges,
            [self.estimates[judge][metric] for judge in self.judges],
            self.replicates[metric],
            level=self.level,
            unit=self.units.kind,
        )

    def differences(self, metric: str) -> tuple[Difference, ...]:
        """Compare every judge with every judge named before it, as losses: positive is worse."""
        better = self.row(metric).better
        values = [self.estimates[judge][metric].value for judge in self.judges]
        losses = loss(np.array([np.nan if v is None else v for v in values]), better)
        replicates = loss(self.replicates[metric], better)
        return tuple(
            compare(
                (self.judges[j], self.judges[i]),
                losses[[j, i]],
                replicates[[j, i]],
                level=self.level,
                unit=self.units.kind,
            )
            for j in range(len(self.judges))
            for i in range(j)
        )


def evaluate(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    rng: np.random.Generator,
    groups: Sequence[str | None] | None = None,
    metrics: Sequence[str | MetricRow] | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
) -> Evaluation:
    """Compare judges with the human raters on every metric, with one bootstrap for all of it.

    Parameters
    ----------
    human : RatingTable
        What the humans answered.
    judges : sequence of RatingTable
        What each judge answered: the same space, the same items in the same order.
    tau : float in (0, 1]
        Cut-off of the forms hrs and decision.
    positive : sequence of str
        Positive options, for decisions and beta.
    rng : numpy Generator
        Gives the seed of the resamples.
    groups : sequence of str or None, optional
        The cluster of each item, resampled as a whole. Default: items are resampled.
    metrics : sequence of str or MetricRow, optional
        Default: all rows of `METRICS`.
    n_resamples : int, optional
        Bootstrap replicates; 0 for none.
    level : float, optional
        Confidence level of the intervals.

    Returns
    -------
    Evaluation
        Estimates, replicates, rankings.

    Raises
    ------
    ValueError
        If tables do not belong together, names repeat, or an option, metric, tau or level is wrong.
    """
    _check_tables(human, judges)
    check_tau(tau)
    check_level(level)
    rows = tuple(
        find_metric(row, METRICS) if isinstance(row, str) else row
        for row in (METRICS if metrics is None else metrics)
    )
    n = len(human.items)
    units = Units.of(n, groups)
    resamples = Resamples.draw(units.n_units, n_resamples, rng)
    cut = _Cut(tau, tuple(positive))
    sides = [_Side.of(table, cut, rows) for table in (human, *judges)]
    jobs = [job for side in sides[1:] for job in _metric_jobs(sides[0], side, rows)]
    jobs += [job for side in sides for job in _beta_jobs(side, cut)]
    jobs += _human_jobs(human)
    results = replicate([job.statistic for job in jobs], units, resamples)
    estimates = iter(
        [_finish(job, r, level, units, human.space) for job, r in zip(jobs, results, strict=True)]
    )
    by_judge = {table.name: {row.name: next(estimates) for row in rows} for table in judges}
    translations = [
        TableTranslation(F_hat(table), next(estimates), next(estimates))
        for table in (human, *judges)
    ]
    agreement = {row.name: next(estimates) for row in HUMAN_AGREEMENT}
    J, M = len(judges), len(rows)
    replicates = np.array([r.replicates for r in results[: J * M]]).reshape(J, M, -1)
    return Evaluation(
        judges=tuple(by_judge),
        metrics=rows,
        estimates=by_judge,
        replicates={row.name: frozen(replicates[:, m]) for m, row in enumerate(rows)},
        human_agreement=agreement,
        human_translation=translations[0],
        translations=dict(zip(by_judge, translations[1:], strict=True)),
        tau=tau,
        level=level,
        positive=cut.positive,
        units=units,
    )


def primary_metric(human: RatingTable) -> str:
    """Name the metric that ranks unless the user says otherwise.

    ``mse(srs/srs)`` where the humans gave response sets or pairs, else ``js_divergence(s/s)``.
    """
    gave_sets = human.response_set.any() or (human.joint is not None and human.joint.any())
    return RANKS_WITH_SETS if gave_sets else RANKS_WITHOUT_SETS


def bootstrap(
    contributions: FloatArray,
    value: Callable[[FloatArray], FloatArray],
    *,
    rng: np.random.Generator,
    groups: Sequence[str | None] | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
) -> Estimate:
    """Estimate one statistic of item sums with its interval.

    Parameters
    ----------
    contributions : (n, d) array
        What each item adds; all zeros for an item that does not enter.
    value : callable
        Sums of shape (..., d) to values of shape (...); nan where undefined.
    rng, groups, n_resamples, level
        As in `evaluate`.

    Returns
    -------
    Estimate
        With reason "undefined" where ``value`` is nan.

    Raises
    ------
    ValueError
        If contributions are no finite (n, d) array, or another argument is out of range.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> hits = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> bootstrap(np.hstack([hits, ones]), mean, rng=np.random.default_rng(0)).value
    0.75
    """
    sums = np.asarray(contributions, dtype=np.float64)
    if sums.ndim != 2 or not np.isfinite(sums).all():  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"contributions has shape {sums.shape}; wanted finite numbers, (n, d)")
    check_level(level)
    units = Units.of(len(sums), groups)
    resamples = Resamples.draw(units.n_units, n_resamples, rng)
    used = np.asarray(sums.any(axis=1), dtype=np.bool_)
    job = _Job(Statistic(sums, value), used, lambda _: "undefined")
    [result] = replicate([job.statistic], units, resamples)
    return _finish(job, result, level, units, None)


@dataclass(frozen=True, slots=True)
class _Cut:
    tau: float
    positive: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """One table's rating vectors, and which items have them, per form."""

    table: RatingTable
    dist: Distributions
    forms: dict[Form, FloatArray]

    @classmethod
    def of(cls, table: RatingTable, cut: _Cut, rows: Sequence[MetricRow]) -> _Side:
        dist = Distributions.of(table)
        wanted = {form for row in rows for form in (row.human_form, row.judge_form)}
        forms = {form: aggregate(dist, form, tau=cut.tau, positive=cut.positive) for form in wanted}
        return cls(table, dist, forms)

    def usable(self, form: Form) -> BoolArray:
        return np.asarray(~np.isnan(self.forms[form]).any(axis=1), dtype=np.bool_)

    def n_ratings(self, form: Form) -> FloatArray:
        forced = ELICITATION_OF[form] == "forced_choice"
        return self.dist.n_forced if forced else self.dist.n_sets

    def outcomes(self, form: Form) -> FloatArray:
        """Return (n, 5) outcomes of the elicitations that could have filled this form."""
        choices = self.table.space.fully_specified and not self.table.response_set.any()
        asked = "forced_choice" if choices else ELICITATION_OF[form]
        axis = [ELICITATIONS.index(asked), ELICITATIONS.index("paired")]
        return np.asarray(self.table.outcomes[:, axis].sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Job:
    """A statistic and what its estimate will say beside the value."""

    statistic: Statistic
    used: BoolArray
    why: Callable[[FloatArray], str]
    excluded: tuple[Exclusion, ...] = ()
    nothing: str = "no_items"  # the reason when no item is used
    n_tied: int = 0
    n_ratings: FloatArray | None = None  # human ratings per item
    counts: Callable[[FloatArray, OptionSpace], Mapping[str, float]] | None = None


def _finish(
    job: _Job, result: Replicated, level: float, units: Units, space: OptionSpace | None
) -> Estimate:
    n_used = int(job.used.sum())
    undefined = bool(np.isnan(result.value))
    interval, undefined_share = percentile_interval(result.replicates, level, units.kind)
    per_item = job.n_ratings[job.used] if job.n_ratings is not None else np.empty(0)
    counts = job.counts(result.totals, space) if job.counts is not None and space else {}
    return Estimate(
        value=None if undefined else result.value,
        reason=(job.why(result.totals) if n_used else job.nothing) if undefined else "",
        interval=None if undefined else interval,
        n_used=n_used,
        n_excluded=len(job.used) - n_used,
        excluded=job.excluded,
        n_tied=job.n_tied,
        n_resamples=len(result.replicates),
        undefined_share=undefined_share,
        ratings_per_item=float(np.median(per_item)) if per_item.size else None,
        counts=counts,
    )


def _metric_jobs(human: _Side, judge: _Side, rows: Sequence[MetricRow]) -> list[_Job]:
    made: dict[tuple[object, Form, Form], FloatArray] = {}
    jobs = []
    for row in rows:
        y, z = human.forms[row.human_form], judge.forms[row.judge_form]
        key = (row.contributions, row.human_form, row.judge_form)
        if key not in made:
            made[key] = row.contributions(y, z)
        used = human.usable(row.human_form) & judge.usable(row.judge_form)
        tied = np.zeros(len(used), dtype=np.bool_)
        for form, vectors in ((row.human_form, y), (row.judge_form, z)):
            tied |= tied_modes(vectors) if form == "h" else False
        jobs.append(
            _Job(
                Statistic(made[key], row.value),
                used,
                row.why,
                excluded=_exclusions((human, row.human_form), (judge, row.judge_form)),
                nothing=_why_nothing((human, row.human_form), (judge, row.judge_form)),
                n_tied=int((tied & used).sum()),
                n_ratings=human.n_ratings(row.human_form),
                counts=row.counts,
            )
        )
    return jobs


def _exclusions(human: tuple[_Side, Form], judge: tuple[_Side, Form]) -> tuple[Exclusion, ...]:
    """Count the items that lack a side, each under one reason, the human side first."""
    left = np.ones(len(human[0].table.items), dtype=np.bool_)
    found = []
    for who, (side, form) in (("human", human), ("judge", judge)):
        missing = left & ~side.usable(form)
        left &= ~missing
        outcomes = side.outcomes(form)[missing]
        kinds = (outcomes > 0).sum(axis=1)
        named = np.where(kinds == 1, outcomes.argmax(axis=1), np.where(kinds == 0, -1, -2))
        for code, name in [*enumerate(OUTCOMES), (-1, "not_asked"), (-2, "mixed_outcomes")]:
            if n_items := int((named == code).sum()):
                found.append(Exclusion(f"{who}_{name}", n_items))
    return tuple(found)


def _why_nothing(human: tuple[_Side, Form], judge: tuple[_Side, Form]) -> str:
    for side, form in (human, judge):
        if not side.table.items:
            return "no_items"
        if side.usable(form).any():
            continue
        outcomes = side.outcomes(form).sum(axis=0)
        abstained = outcomes[OUTCOMES.index("abstained")]
        if 0 < abstained == outcomes.sum():
            return "all_abstained"
        sets = ELICITATION_OF[form] == "response_set"
        return "no_response_sets" if sets else "no_forced_choices"
    return "no_overlap"


def _beta_jobs(side: _Side, cut: _Cut) -> list[_Job]:
    joint, dist = side.table.joint, side.dist
    pairs = np.zeros(len(dist.O)) if joint is None else joint.sum(axis=(1, 2))
    called = (dist.n_forced > 0) & (dist.n_sets > 0)
    return [
        _beta_job(side, cut, beta_contributions(side.table, cut.positive), pairs > 0, "no_pairs"),
        _beta_job(side, cut, cross_call_contributions(dist, cut.positive), called, "no_calls"),
    ]


def _beta_job(
    side: _Side, cut: _Cut, contributions: FloatArray, asked: BoolArray, unasked: str
) -> _Job:
    used = np.asarray(contributions[:, 1] > 0, dtype=np.bool_)
    ineligible = "no_negative_choice"
    if side.table.space.option_mask(cut.positive).all():
        ineligible = "no_negative_option"
    missing = ((unasked, int((~asked).sum())), (ineligible, int((asked & ~used).sum())))
    return _Job(
        Statistic(contributions, mean),
        used,
        why=lambda _: ineligible,
        excluded=tuple(Exclusion(reason, n_items) for reason, n_items in missing if n_items),
        nothing=ineligible if asked.any() else unasked,
        counts=_pair_counts if unasked == "no_pairs" else None,
    )


def _pair_counts(totals: FloatArray, space: OptionSpace) -> dict[str, float]:  # noqa: ARG001 -- the shape of MetricRow.counts
    return {"with_positive": float(totals[0]), "eligible_pairs": float(totals[1])}


def _human_jobs(human: RatingTable) -> list[_Job]:
    m = human.forced_choice.sum(axis=1).astype(np.float64)
    return [
        _Job(
            Statistic(row.contributions(human.forced_choice), row.value),
            m >= row.min_ratings,
            row.why,
            excluded=tuple(
                Exclusion(reason, n_items)
                for reason, n_items in (
                    ("no_ratings", int((m == 0).sum())),
                    ("single_rating", int(((m > 0) & (m < row.min_ratings)).sum())),
                )
                if n_items
            ),
            nothing="too_few_raters" if m.any() else "no_items",
            n_ratings=m,
        )
        for row in HUMAN_AGREEMENT
    ]


def _check_tables(human: RatingTable, judges: Sequence[RatingTable]) -> None:
    names = [table.name for table in judges]
    if len(set(names)) < len(names):
        raise ValueError(f"judges: a name is repeated in {names}; each judge needs its own")
    for table in judges:
        if table.space != human.space:
            raise ValueError(f"judge {table.name!r} was rated in another option space: {table!r}")
        if table.items != human.items:
            raise ValueError(f"judge {table.name!r} has other items, or another order: {table!r}")

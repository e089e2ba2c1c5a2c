"""What is estimated from a human and a judge table: which items enter, which not, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import how_many, in_blocks
from harness.stats.data.rating_table import (
    ELICITATION_OF,
    ELICITATIONS,
    OUTCOMES,
    Distributions,
    Form,
    RatingTable,
    aggregate,
    tied_modes,
)
from harness.stats.indeterminacy.translation import beta_contributions, cross_call_contributions
from harness.stats.inference.bootstrap import Statistic
from harness.stats.inference.estimate import Exclusion, Job
from harness.stats.inference.metric import MetricRow, mean
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Summands
    from harness.stats.data.option_space import OptionSpace


NO_POSITIVE = "no_positive_option"
NOISY = ("noisy_s", "noisy_srs")


@dataclass(frozen=True, slots=True)
class Cut:
    """What is decided: positive where P(S meets ``positive``) >= ``tau``."""

    tau: float
    positive: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One table's rating vectors, and which items have them, per form.

    Attributes
    ----------
    given : dict of form to (n,) bool array
        Which items have a rating vector of this form.
    implied : bool
        Whether theta follows from a supposition rather than from response sets.
    times : (n,) int array or None
        How many items each row of the table stands for; None for one each.
    """

    table: RatingTable
    dist: Distributions
    forms: dict[Form, FloatArray]
    given: dict[Form, BoolArray]
    positive: tuple[str, ...]
    implied: bool = False
    times: IntArray | None = None

    @classmethod
    def of(
        cls,
        table: RatingTable,
        cut: Cut,
        rows: Sequence[MetricRow],
        implied: Distributions | None = None,
        times: IntArray | None = None,
    ) -> Side:
        """Aggregate a table, or what is implied of it, into the forms that some rows ask for."""
        dist = Distributions.of(table) if implied is None else implied
        wanted = {form for row in rows for form in (row.human_form, row.judge_form)}
        forms = {form: aggregate(dist, form, tau=cut.tau, positive=cut.positive) for form in wanted}
        if implied is not None and "noisy_srs" in forms:  # its noise is not that of m raters
            forms["noisy_srs"] = np.full_like(forms["noisy_srs"], np.nan)
        given = {form: _complete(vectors) for form, vectors in forms.items()}
        return cls(table, dist, forms, given, cut.positive, implied is not None, times)

    def undecided(self, form: Form) -> bool:
        """Whether the form asks for a decision that no positive option defines."""
        return form == "decision" and not self.positive

    def n_ratings(self, form: Form) -> FloatArray:
        """Return (n,) numbers of ratings behind this form's vectors."""
        forced = ELICITATION_OF[form] == "forced_choice"
        return self.dist.n_forced if forced else self.dist.n_sets

    def single(self, form: Form) -> BoolArray:
        """Return (n,) bool: which items lack a vector of this form for want of a second rating."""
        if form not in NOISY:
            return np.zeros(len(self.given[form]), dtype=np.bool_)
        return np.asarray((self.n_ratings(form) == 1) & ~self.given[form], dtype=np.bool_)

    def outcomes(self, form: Form) -> FloatArray:
        """Return (n, 5) outcomes of the elicitations that could have filled this form."""
        choices = self.table.space.fully_specified and not self.table.response_set.any()
        asked = "forced_choice" if choices else ELICITATION_OF[form]
        axis = [ELICITATIONS.index(asked), ELICITATIONS.index("paired")]
        return np.asarray(self.table.outcomes[:, axis].sum(axis=1), dtype=np.float64)


def _complete(vectors: FloatArray) -> BoolArray:
    """Return (n,) bool: which rows of (n, K) hold no nan."""
    if not np.isnan(vectors.sum()):
        return np.ones(len(vectors), dtype=np.bool_)
    return np.asarray(~np.isnan(vectors).any(axis=1), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Which items have both rating vectors that a row compares, and why the others do not."""

    used: BoolArray
    excluded: tuple[Exclusion, ...]
    nothing: str
    n_tied: int

    @classmethod
    def of(cls, human: tuple[Side, Form], judge: tuple[Side, Form]) -> Overlap:
        """Compare two sides in the forms named with them."""
        used = human[0].given[human[1]] & judge[0].given[judge[1]]
        tied = [tied_modes(side.forms[form]) for side, form in (human, judge) if form == "h"]
        n_tied = how_many(np.any(tied, axis=0) & used, human[0].times) if tied else 0
        return cls(used, _exclusions(human, judge), _why_nothing(human, judge), n_tied)


def metric_jobs(human: Side, judge: Side, rows: Sequence[MetricRow]) -> dict[str, Job]:
    """Compare one judge with the humans on each row; rows that share contributions share sums."""
    made: dict[tuple[object, Form, Form], Summands] = {}
    overlaps: dict[tuple[Form, Form], Overlap] = {}
    jobs = {}
    for row in rows:
        forms = (row.human_form, row.judge_form)
        key = (row.contributions, *forms)
        if key not in made:
            sides = human.forms[forms[0]], judge.forms[forms[1]]
            made[key] = in_blocks(row.contributions, *sides)
        if forms not in overlaps:
            overlaps[forms] = Overlap.of((human, forms[0]), (judge, forms[1]))
        both = overlaps[forms]
        jobs[row.name] = Job(
            statistic=Statistic(made[key], row.value),
            used=both.used,
            why=row.why,
            nothing=both.nothing,
            excluded=both.excluded,
            n_tied=both.n_tied,
            n_ratings=human.n_ratings(row.human_form),
            counts=_counts_of(row, human.table.space),
            estimand=row.estimand,
        )
    return jobs


def _counts_of(row: MetricRow, space: OptionSpace) -> Callable[[FloatArray], dict[str, float]]:
    return lambda totals: row.counts(totals, space)


def _exclusions(human: tuple[Side, Form], judge: tuple[Side, Form]) -> tuple[Exclusion, ...]:
    """Count the items that lack a side, each under one reason, the human side first."""
    left, times = np.ones(len(human[0].table.items), dtype=np.bool_), human[0].times
    if human[0].undecided(human[1]):
        return _named([(NO_POSITIVE, how_many(left, times))])
    found: list[tuple[str, int]] = []
    for who, (side, form) in (("human", human), ("judge", judge)):
        missing = left & ~side.given[form]
        if not missing.any():
            continue
        left &= ~missing
        found.append((f"{who}_single_rating", how_many(missing & side.single(form), times)))
        missing &= ~side.single(form)
        outcomes = side.outcomes(form)[missing]
        behind = None if times is None else times[missing]
        kinds = (outcomes > 0).sum(axis=1)
        named = np.where(kinds == 1, outcomes.argmax(axis=1), np.where(kinds == 0, -1, -2))
        codes = (*enumerate(OUTCOMES), (-1, "not_asked"), (-2, "mixed_outcomes"))
        found += [(f"{who}_{name}", how_many(named == code, behind)) for code, name in codes]
    return _named(found)


def _why_nothing(human: tuple[Side, Form], judge: tuple[Side, Form]) -> str:
    for side, form in (human, judge):
        if not side.table.items:
            return "no_items"
        if not side.given[form].any():
            return _why_unusable(side, form)
    return "no_overlap"


def _why_unusable(side: Side, form: Form) -> str:
    if side.undecided(form):
        return NO_POSITIVE
    if side.implied and form in NOISY:
        return "not_computed"
    if side.single(form).any():
        return "single_rating"
    outcomes = side.outcomes(form).sum(axis=0)
    abstained = outcomes[OUTCOMES.index("abstained")]
    if 0 < abstained == outcomes.sum():
        return "all_abstained"
    sets = ELICITATION_OF[form] == "response_set"
    return "no_response_sets" if sets else "no_forced_choices"


def beta_jobs(side: Side, cut: Cut) -> dict[str, Job]:
    """Estimate ``beta`` from a table's pairs and ``cross_call_beta`` from its independent calls."""
    if not cut.positive:
        nothing = np.zeros((len(side.dist.O), 2))
        reasons = (NO_POSITIVE, NO_POSITIVE)
        none = _beta_job(nothing, nothing[:, 0] > 0, reasons, _pair_counts, side.times)
        return {"beta": none, "cross_call_beta": none}
    joint, dist = side.table.joint, side.dist
    pairs = np.zeros(len(dist.O)) if joint is None else joint.sum(axis=(1, 2))
    called = (dist.n_forced > 0) & (dist.n_sets > 0)
    paired = beta_contributions(side.table, cut.positive)
    crossed = cross_call_contributions(dist, cut.positive)
    ineligible = "no_negative_choice"
    if side.table.space.option_mask(cut.positive).all():
        ineligible = "no_negative_option"
    return {
        "beta": _beta_job(paired, pairs > 0, ("no_pairs", ineligible), _pair_counts, side.times),
        "cross_call_beta": _beta_job(
            crossed, called, ("no_calls", ineligible), _share_counts, side.times
        ),
    }


def _beta_job(
    contributions: FloatArray,
    asked: BoolArray,
    reasons: tuple[str, str],
    counts: Callable[[FloatArray], dict[str, float]],
    times: IntArray | None,
) -> Job:
    used = np.asarray(contributions[:, 1] > 0, dtype=np.bool_)
    n_missing = (how_many(~asked, times), how_many(asked & ~used, times))
    return Job(
        statistic=Statistic(contributions, mean),
        used=used,
        why=lambda _: reasons[1],
        nothing=reasons[1] if asked.any() else reasons[0],
        excluded=_named(zip(reasons, n_missing, strict=True)),
        counts=counts,
    )


def _pair_counts(totals: FloatArray) -> dict[str, float]:
    return {"with_positive": float(totals[0]), "eligible_pairs": float(totals[1])}


def _share_counts(totals: FloatArray) -> dict[str, float]:
    return {"effective_items": float(totals[1])}


def human_jobs(human: RatingTable, times: IntArray | None = None) -> dict[str, Job]:
    """Measure how far the human raters agree; ``times`` are as in `Side`."""
    m = human.forced_choice.sum(axis=1).astype(np.float64)
    return {
        row.name: Job(
            statistic=Statistic(in_blocks(row.contributions, human.forced_choice), row.value),
            used=(m >= row.min_ratings) & (m <= row.max_ratings),
            why=row.why,
            nothing=_why_nobody(m, row.min_ratings),
            excluded=_named(
                (
                    ("human_no_ratings", how_many(m == 0, times)),
                    ("human_single_rating", how_many((m > 0) & (m < row.min_ratings), times)),
                    ("human_more_ratings", how_many(m > row.max_ratings, times)),
                )
            ),
            n_ratings=m,
        )
        for row in HUMAN_AGREEMENT
    }


def _why_nobody(m: FloatArray, min_ratings: int) -> str:
    if not m.any():
        return "no_items"
    return "not_two_raters" if (m >= min_ratings).any() else "too_few_raters"


def _named(counted: Iterable[tuple[str, int]]) -> tuple[Exclusion, ...]:
    return tuple(Exclusion(reason, n_items) for reason, n_items in counted if n_items)

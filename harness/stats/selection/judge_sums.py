"""Items that enter an estimate from a human and a judge table, with reasons for exclusion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf, isinf
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import how_many, in_blocks, median
from harness.stats.data.forms import ELICITATION_OF, FORMS, Cut, aggregate, tied_modes
from harness.stats.data.rating_table import (
    ELICITATIONS,
    NO_POSITIVE,
    OUTCOMES,
    Distributions,
    Form,
    RatingTable,
    answers_to,
)
from harness.stats.indeterminacy.translation import beta_contributions, cross_call_contributions
from harness.stats.inference.estimate import ItemSums, exclusions
from harness.stats.inference.metric import Metric, always, by_contributions, mean, no_items
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT
from harness.stats.metrics.set_agreement import set_agreement_metrics
from harness.stats.selection.replies import (
    Replies,
    contributions_at_replies,
    replies_of,
    vectors_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, Counts, FloatArray, IntArray, Summands
    from harness.stats.inference.crossed_raters import RaterVariance
    from harness.stats.inference.estimate import Exclusion
    from harness.stats.modes import AnswerKind
    from harness.stats.reasons import ExclusionReason, NAReason, RatingSide
    from harness.stats.selection.replies import CommonItems

NOT_ASKED: dict[AnswerKind, NAReason] = {
    "forced_choice": "forced_choice_not_asked",
    "response_set": "response_set_not_asked",
}
SINGLE: dict[RatingSide, ExclusionReason] = {
    "human": "human_single_rating",
    "judge": "judge_single_rating",
}
MISSING: dict[RatingSide, tuple[ExclusionReason, ...]] = {  # for one outcome, several, none
    "human": (
        "human_answered",
        "human_abstained",
        "human_refused",
        "human_invalid",
        "human_failed",
        "human_mixed_outcomes",
        "human_not_asked",
    ),
    "judge": (
        "judge_answered",
        "judge_abstained",
        "judge_refused",
        "judge_invalid",
        "judge_failed",
        "judge_mixed_outcomes",
        "judge_not_asked",
    ),
}


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A table's rating vectors by form, and the items that have them.

    Attributes
    ----------
    complete : dict of form to (n,) bool array
        Whether each item has a rating vector of this form.
    implied : bool
        Whether theta is assumed rather than estimated from response sets.
    times : (n,) int array or None
        Number of items that each row of the table represents; None for one each.
    common : mapping of elicitation to CommonItems
        Number of replies and items for comparing a judge with other judges. Empty to use all of its
        own.
    """

    table: RatingTable
    dist: Distributions
    forms: dict[Form, FloatArray]
    complete: dict[Form, BoolArray]
    cut: Cut
    implied: bool = False
    times: IntArray | None = None
    common: Mapping[str, CommonItems] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: RatingTable,
        cut: Cut,
        rows: Sequence[Metric],
        implied: Distributions | None = None,
        times: IntArray | None = None,
        *,
        common: Mapping[str, CommonItems] | None = None,
    ) -> ComparedSide:
        """Aggregate a table, or the distributions it implies, into the forms that metrics need."""
        dist = Distributions.of(table) if implied is None else replace(implied, wins=table.wins)
        needed = {form for row in rows for form in (row.human_form, row.judge_form)}
        forms = {form: aggregate(dist, form, tau=cut.tau, positive=cut.positive) for form in needed}
        for form in forms if implied is not None else ():
            if FORMS[form].needs_pairs and FORMS[form].elicitation == "response_set":
                forms[form] = np.full_like(forms[form], np.nan)  # noise isn't m raters'
        complete = {form: _complete(vectors) for form, vectors in forms.items()}
        return cls(table, dist, forms, complete, cut, implied is not None, times, common or {})

    def compared(self, form: Form) -> BoolArray:
        """Return an (n,) mask of the compared items that have a vector in this form."""
        common = self.common.get(ELICITATION_OF[form])
        complete = self.complete[form]
        return complete if common is None else complete & common.items_of(self.table.name)

    def n_replies(self, form: Form) -> float | None:
        """Return the number of replies per item for this form, or None to use all replies."""
        common = self.common.get(ELICITATION_OF[form])
        if common is None or FORMS[form].counts_ratings or isinf(common.n_replies):
            return None
        return common.n_replies

    def n_samples(self, form: Form, used: BoolArray) -> float:
        """Return the median number of replies in this form's vectors over the items in a mask."""
        common = self.common.get(ELICITATION_OF[form])
        if common is not None:
            return common.n_replies
        if answers_to(self.table, ELICITATION_OF[form])[1]:
            return inf
        times = None if self.times is None else self.times[used]
        return median(self.n_ratings(form)[used], times) or inf

    def undecided(self, form: Form) -> bool:
        """Return whether this form needs positive options and none are defined."""
        return FORMS[form].needs_positive and not self.cut.positive

    def n_ratings(self, form: Form) -> FloatArray:
        """Return the (n,) numbers of ratings behind this form's vectors."""
        forced = ELICITATION_OF[form] == "forced_choice"
        return self.dist.n_forced if forced else self.dist.n_sets

    def single(self, form: Form) -> BoolArray:
        """Return an (n,) mask of the items that lack a vector only because they have one rating."""
        if not FORMS[form].needs_pairs:
            return np.zeros(len(self.complete[form]), dtype=np.bool_)
        return np.asarray((self.n_ratings(form) == 1) & ~self.complete[form], dtype=np.bool_)

    def outcomes(self, form: Form) -> FloatArray:
        """Return (n, 5) outcomes of the elicitations that this form can come from."""
        choices = self.table.space.fully_specified and not self.table.response_set.any()
        elicitation = "forced_choice" if choices else ELICITATION_OF[form]
        axis = [ELICITATIONS.index(elicitation), ELICITATIONS.index("paired")]
        return np.asarray(self.table.outcomes[:, axis].sum(axis=1), dtype=np.float64)


def _complete(vectors: FloatArray) -> BoolArray:
    """Return an (n,) mask of the rows without nan."""
    if not np.isnan(vectors.sum()):
        return np.ones(len(vectors), dtype=np.bool_)
    return np.asarray(~np.isnan(vectors).any(axis=1), dtype=np.bool_)


def judge_sums(
    human: ComparedSide,
    judge: ComparedSide,
    metrics: Sequence[Metric],
    raters: Mapping[str, RaterVariance] | None = None,
) -> list[ItemSums]:
    """Compare one judge with the humans. Metrics with the same contributions share sums.

    ``raters`` contains the variance that raters add to each metric.
    """
    of_forms: dict[tuple[Form, Form], partial[ItemSums]] = {}
    sums = []
    for members in by_contributions(metrics):
        forms = members[0].human_form, members[0].judge_form
        if forms not in of_forms:
            of_forms[forms] = _sums_of_both((human, forms[0]), (judge, forms[1]))
        contributions = _contributions(human, judge, members[0])
        sums.append(
            of_forms[forms](contributions=contributions, metrics=members, raters=raters or {})
        )
    return sums


def _sums_of_both(
    human: tuple[ComparedSide, Form], judge: tuple[ComparedSide, Form]
) -> partial[ItemSums]:
    """Return sums over items that have both sides' forms, and the reasons for excluding others."""
    used = human[0].complete[human[1]] & judge[0].compared(judge[1])
    tied = [tied_modes(side.forms[form]) for side, form in (human, judge) if FORMS[form].is_mode]
    return partial(
        ItemSums,
        used=used,
        excluded=_exclusions(human, judge),
        nothing=_why_nothing(human, judge),
        n_tied=how_many(np.any(tied, axis=0) & used, human[0].times) if tied else 0,
        n_ratings=human[0].n_ratings(human[1]),
        n_replies=judge[0].n_replies(judge[1]),
        n_samples=judge[0].n_samples(judge[1], used),
        options=human[0].table.space.options,
    )


def _contributions(human: ComparedSide, judge: ComparedSide, metric: Metric) -> Summands:
    """Return a metric's (n, d) contributions at the number of replies used for comparison."""
    vectors, form = human.forms[metric.human_form], metric.judge_form
    compared = judge.compared(form)
    if not _has_more(judge, form)[compared].any():
        if not (judge.complete[form] & ~compared).any():
            return in_blocks(metric.contributions, vectors, judge.forms[form])
        of_judge = np.where(compared[:, None], judge.forms[form], np.nan)
        return in_blocks(metric.contributions, vectors, of_judge)
    return scorer(judge)(metric, vectors, np.arange(len(vectors)))


def _has_more(judge: ComparedSide, form: Form) -> BoolArray:
    """Return an (n,) mask of items with more replies than this form is evaluated at."""
    n_replies = judge.n_replies(form)
    if n_replies is None:
        return np.zeros(len(judge.table.items), dtype=np.bool_)
    return np.asarray(replies_of(judge.table, form).n_samples > n_replies, dtype=np.bool_)


def scorer(judge: ComparedSide) -> Callable[[Metric, FloatArray, IntArray], FloatArray]:
    """Return a function that computes a metric's (n', d) contributions at some rows.

    Items on which the judge is not compared contribute nothing.
    """

    @cache
    def comparable(form: Form) -> tuple[FloatArray, BoolArray]:
        """Return the judge's vectors, nan off its items, and a mask of items with more replies."""
        of_judge, compared = judge.forms[form], judge.compared(form)
        if judge.common:
            of_judge = np.where(compared[:, None], of_judge, np.nan)
        return of_judge, compared & _has_more(judge, form)

    def score(metric: Metric, vectors: FloatArray, rows: IntArray) -> FloatArray:
        form = metric.judge_form
        of_judge, has_more = comparable(form)
        sums, n_replies = metric.contributions(vectors, of_judge[rows]), judge.n_replies(form)
        if n_replies is None:
            return sums
        more = has_more[rows]
        if more.any():
            replies = replies_of(judge.table, form)
            sums[more] = contributions_at_replies(
                metric.contributions,
                vectors[more],
                Replies(replies.shares[rows[more]], replies.n_samples[rows[more]]),
                n_replies,
                vectors=vectors_of(judge.table, form, judge.cut),
                squared=metric.squared,
            )
        return sums

    return score


def _exclusions(
    human: tuple[ComparedSide, Form], judge: tuple[ComparedSide, Form]
) -> tuple[Exclusion, ...]:
    """Count items that lack a side.

    Each counts under one reason, and the human side comes first.
    """
    left, times = np.ones(len(human[0].table.items), dtype=np.bool_), human[0].times
    if human[0].undecided(human[1]):
        return exclusions([(NO_POSITIVE, how_many(left, times))])
    counted: list[tuple[ExclusionReason, int]] = []
    sides: tuple[tuple[RatingSide, tuple[ComparedSide, Form]], ...] = (
        ("human", human),
        ("judge", judge),
    )
    for who, (side, form) in sides:
        missing = left & ~side.complete[form]
        if not missing.any():
            continue
        left &= ~missing
        counted.append((SINGLE[who], how_many(missing & side.single(form), times)))
        missing &= ~side.single(form)
        outcomes = side.outcomes(form)[missing]
        behind = None if times is None else times[missing]
        kinds = (outcomes > 0).sum(axis=1)
        named = np.where(kinds == 1, outcomes.argmax(axis=1), np.where(kinds == 0, -1, -2))
        codes = (*range(len(OUTCOMES)), -1, -2)  # -1: no outcome; -2: several
        counted += [(MISSING[who][code], how_many(named == code, behind)) for code in codes]
    side, form = judge
    counted.append((_why_not_compared(side, form), how_many(left & ~side.compared(form), times)))
    return exclusions(counted)


def _why_not_compared(judge: ComparedSide, form: Form) -> NAReason:
    """Return the reason that a judge is not compared on items that it answered."""
    common = judge.common.get(ELICITATION_OF[form])
    is_ranked = common is None or judge.table.name in common.judges
    return "not_shared" if is_ranked else "too_few_answered"


def _why_nothing(human: tuple[ComparedSide, Form], judge: tuple[ComparedSide, Form]) -> NAReason:
    for side, form in (human, judge):
        if not side.table.items:
            return "no_items"
        if side is judge[0] and not side.undecided(form) and not side.outcomes(form).any():
            return NOT_ASKED[ELICITATION_OF[form]]
        if not side.complete[form].any():
            return _why_unusable(side, form)
    side, form = judge
    if not side.compared(form).any():
        return _why_not_compared(side, form)
    return "no_overlap"


def _why_unusable(side: ComparedSide, form: Form) -> NAReason:
    if side.undecided(form):
        return NO_POSITIVE
    if FORMS[form].names_raters and side.dist.wins is None:
        return "positional_raters"
    if side.implied and FORMS[form].needs_pairs and not FORMS[form].names_raters:
        return "not_computed"
    if side.single(form).any():
        return "single_rating"
    outcomes = side.outcomes(form).sum(axis=0)
    abstained = outcomes[OUTCOMES.index("abstained")]
    if 0 < abstained == outcomes.sum():
        return "all_abstained"
    sets = ELICITATION_OF[form] == "response_set"
    return "no_response_sets" if sets else "no_forced_choices"


def beta_sums(side: ComparedSide) -> list[ItemSums]:
    """Estimate ``beta`` from a table's pairs and ``cross_call_beta`` from its independent calls."""
    positive = side.cut.positive
    if not positive:
        none = np.zeros((len(side.dist.O), 2))
        reasons: tuple[NAReason, NAReason] = (NO_POSITIVE, NO_POSITIVE)
        return [
            _beta_sums(metric, none, none[:, 0] > 0, reasons, side.times)
            for metric in (BETA, CROSS_CALL_BETA)
        ]
    joint, dist = side.table.joint, side.dist
    pairs = np.zeros(len(dist.O)) if joint is None else joint.sum(axis=(1, 2))
    called = (dist.n_forced > 0) & (dist.n_sets > 0)
    paired = beta_contributions(side.table, positive)
    crossed = cross_call_contributions(dist, positive)
    ineligible: NAReason = "no_negative_choice"
    if side.table.space.option_mask(positive).all():
        ineligible = "no_negative_option"
    return [
        _beta_sums(BETA, paired, pairs > 0, ("no_pairs", ineligible), side.times),
        _beta_sums(CROSS_CALL_BETA, crossed, called, ("no_calls", ineligible), side.times),
    ]


def _beta_sums(
    metric: Metric,
    contributions: FloatArray,
    rated: BoolArray,
    reasons: tuple[NAReason, NAReason],
    times: IntArray | None,
) -> ItemSums:
    used = np.asarray(contributions[:, 1] > 0, dtype=np.bool_)
    n_missing = (how_many(~rated, times), how_many(rated & ~used, times))
    return ItemSums(
        contributions=contributions,
        metrics=(replace(metric, reason=always(reasons[1])),),
        used=used,
        nothing=reasons[1] if rated.any() else reasons[0],
        excluded=exclusions(zip(reasons, n_missing, strict=True)),
    )


def _pair_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"with_positive": float(totals[0]), "eligible_pairs": float(totals[1])}


def _share_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"effective_items": float(totals[1])}


BETA = Metric(
    name="beta",
    display_name="chance of also accepting a positive option after choosing a negative one",
    value=mean,
    reason=no_items,
    bounds=(0.0, 1.0),
    better="zero",
    counts=_pair_counts,
    paper="Guerdan et al. 2025, section 7",
)
CROSS_CALL_BETA = replace(
    BETA,
    name="cross_call_beta",
    display_name="the same chance, from independent replies",
    counts=_share_counts,
)


def human_sums(human: RatingTable, times: IntArray | None = None) -> list[ItemSums]:
    """Measure the agreement among the human raters. Row i represents ``times[i]`` items, or one."""
    return rater_sums(human.forced_choice, HUMAN_AGREEMENT, times)


def set_sums(human: RatingTable) -> list[ItemSums]:
    """Measure the agreement among the human raters' response sets."""
    given = np.flatnonzero(human.response_set.any(axis=0))  # distances are between pairs of sets
    metrics = set_agreement_metrics(human.space.membership[:, given])
    return rater_sums(human.response_set[:, given], metrics)


def rater_sums(
    counts: Counts, metrics: Iterable[Metric], times: IntArray | None = None
) -> list[ItemSums]:
    """Return the items' contributions to coefficients among raters, from (n, K) counts."""
    m = counts.sum(axis=1).astype(np.float64)
    return [
        ItemSums(
            contributions=in_blocks(metric.contributions, counts),
            metrics=(metric,),
            used=(m >= metric.min_ratings) & (m <= metric.max_ratings),
            nothing=_reason_no_raters(m, metric.min_ratings),
            excluded=exclusions(
                (
                    ("human_no_ratings", how_many(m == 0, times)),
                    ("human_single_rating", how_many((m > 0) & (m < metric.min_ratings), times)),
                    ("human_more_ratings", how_many(m > metric.max_ratings, times)),
                )
            ),
            n_ratings=m,
        )
        for metric in metrics
    ]


def _reason_no_raters(m: FloatArray, min_ratings: int) -> NAReason:
    if not m.any():
        return "no_items"
    return "not_two_raters" if (m >= min_ratings).any() else "too_few_raters"

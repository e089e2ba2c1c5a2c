"""Evidence for the decision, from judges, baselines and a human rater on the same items."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

import numpy as np

from harness.analysis.annotator_panel import POSITIONAL, design_of
from harness.analysis.annotator_variants import Annotators
from harness.analysis.estimates import footing_without, margin_of, prepare
from harness.analysis.evidence_rows import (
    NOT_ASKED,
    BaselineEvidence,
    Evidence,
    JudgeEvidence,
    WithoutRater,
)
from harness.analysis.rater_replacement import (
    LEAST_SHARE,
    AnnotatorTests,
    FootingWithout,
    unbeaten,
    why_none_left_out,
    why_not_tested,
)
from harness.analysis.ratings import count_outcomes, usable_replies
from harness.stats.data.forms import ELICITATION_OF
from harness.stats.data.rating_table import NO_POSITIVE
from harness.stats.inference.estimate import Estimate, Exclusion, Interval, exclusions
from harness.stats.inference.non_inferiority import least_items
from harness.stats.modes import InvertedEnd
from harness.stats.planning.sample_size import (
    Z_SIZE,
    difference_beside_raters,
    sample_size_for_difference,
    sd_to_plan_with,
)
from harness.stats.reasons import JudgeMissing
from harness.stats.selection.footing import Footing
from harness.stats.selection.ranking import Difference, compare
from harness.stats.selection.references import HumanReference
from harness.stats.selection.share_agreeing import share_agreeing
from harness.tasks.schema import RanksBy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.analysis.prepared import Prepared
    from harness.stats.inference.non_inferiority import Margin

OF_UNRATED = frozenset({"human_not_asked", NO_POSITIVE})  # reasons that apply to unrated items
MOST_RATINGS = 200_000  # most ratings with which an audit leaves out each rater


def section(
    p: Prepared, annotators: Annotators | None = None, *, test_copies: bool = True
) -> Evidence | None:
    """Compare judges on the same items and number of replies. Return None without judges.

    ``annotators`` has the result of `Annotators.compared`, if it is known.
    """
    if p.footing is None:
        return None
    footing, source = p.footing, p.source
    tests = _annotator_tests(p, annotators)
    evidence = evidence_of(
        source,
        footing,
        {name: estimates[p.metric] for name, estimates in p.estimates.items()},
        order=p.order,
        margin=margin_of(source, p.compared, footing.metric),
        annotator_tests=tests,
        ranks_by=ELICITATION_OF[footing.metric.human_form],
        unusable=_unusable(p),
    )
    if not test_copies:
        return evidence
    return with_copies_tested(source, evidence, tests, partial(footing_without, p))


def with_copies_tested(
    source: Source, evidence: Evidence, tests: AnnotatorTests, footing_without: FootingWithout
) -> Evidence:
    """Add the test of whether the top judge copies a rater, if the evidence suffices otherwise.

    If copying can't be tested, add the evidence without each rater. Without an annotator test, this
    compares the judge with a human rater.
    """
    leader = evidence.judges[0]
    n_ratings = Counter(source.task.rating_columns.n_by_rater())
    if reason := why_none_left_out(source.task, n_ratings, leader):
        return replace(evidence, without_raters_reason=reason)
    if copying := tests.copying(leader.judge):
        untested = "no_shared_errors" if copying.undecided else evidence.untested_copies
        return replace(
            evidence,
            copying=copying,
            untested_copies=untested,
            without_raters_reason="not_needed",
        )
    is_tested = leader.annotator_test is not None and leader.annotator_test.passes is not None
    left_out = []
    for rater in sorted(n_ratings):
        if n_ratings[rater] < n_ratings.total() * LEAST_SHARE:
            continue
        footing = footing_without(rater, leader.judge, beside_human=not is_tested)
        if footing is None or not footing.judges:
            continue
        passes, effect = None, 0.0
        if is_tested:
            alone = tests.of(leader.judge, alpha=source.alpha, without=rater)
            if alone is not None:
                passes, effect = alone.passes, alone.panel.p or 0.0
        elif (difference := footing.references[0].difference) is not None:
            within = evidence.margin is not None and difference <= evidence.margin
            passes, effect = within, difference
        left_out.append(WithoutRater(rater, unbeaten(footing), passes, effect))
    reason = "" if left_out else "not_computed"
    return replace(evidence, without_raters=tuple(left_out), without_raters_reason=reason)


def with_share_agreeing(p: Prepared, evidence: Evidence) -> Evidence:
    """Add how often the top judge agrees with a different rater on the compared choices."""
    leader, common = evidence.judges[0], p.common.get("forced_choice")
    if common is None or leader.judge not in common.judges:
        return evidence
    compared = p.compared
    agreeing = share_agreeing(
        compared.human,
        next(table for table in compared.judges if table.name == leader.judge),
        items=common.shared,
        resampling=p.resampling(groups=compared.criteria or compared.groups),
        panel=p.panel,
        weights=compared.weights,
        criteria=compared.criteria,
    )
    return evidence if agreeing.judge is None else replace(evidence, share_agreeing=agreeing)


def _unusable(p: Prepared) -> tuple[Exclusion, ...]:
    """Count the rated items that the metric cannot use, by reason."""
    excluded = p.own.estimates[p.compared.judges[0].name][p.metric].excluded
    n_unrated = len(p.compared.human.items) - n_with_rating(p.source)
    return exclusions(
        (part.reason, part.n_items - (n_unrated if part.reason in OF_UNRATED else 0))
        for part in excluded
        if part.reason not in get_args(JudgeMissing)
    )


def n_with_rating(source: Source) -> int:
    """Count the items with at least one rating. At level item, count groups."""
    task = source.task
    rated = {*task.rating_columns.items, *(rating.item for rating in task.ignored)}
    items = [item for item in source.items if item.id in rated]
    return len({item.group if source.settings.level == "item" else item.id for item in items})


def evidence_of(
    source: Source,
    footing: Footing,
    estimates: Mapping[str, Estimate],
    *,
    order: Sequence[str],
    margin: Margin | None,
    annotator_tests: AnnotatorTests,
    ranks_by: RanksBy | Literal[""] = "",
    unusable: tuple[Exclusion, ...] = (),
) -> Evidence:
    """Return the evidence from the comparison of judges, in the source's order of judges.

    ``estimates`` has each judge's value on these items, by name. ``order`` lists the ranked judges.
    ``margin`` is the margin of non-inferiority to a human rater. ``unusable`` counts the items with
    a rating that the metric cannot use.
    """
    metric = footing.metric
    names = [judge.name for judge in source.judges]
    fractions = dict(zip(names, footing.items.answered_fraction.tolist(), strict=True))
    close, tried = close_to_first(footing), source.tried_judges
    controls = {judge.name for judge in source.judges if judge.is_control}
    worse = worse_than_first(footing, order) | controls.intersection(order[1:])
    n_contenders = source.n_contenders - len(worse)
    level_of = {name: source.level_of(name, n_contenders) for name in order}
    alpha = level_of[order[0]] if order else source.alpha
    judges = [
        JudgeEvidence(
            judge=name,
            **_completeness(source, footing, estimates[name], name, fractions[name]),
            ranked=True,
            estimate=estimates[name],
            annotator_test=annotator_tests.of(name, alpha=level_of[name]),
            difference=_difference(source, footing, name, order[0]) if name != order[0] else None,
            close_to_first=name in close,
            level=0.0 if name in worse else level_of[name],
            **footing_facts(footing, name),
        )
        for name in order
    ]
    judges += [
        JudgeEvidence(
            judge=name,
            **_completeness(source, footing, estimates[name], name, fractions[name]),
            ranked=False,
            estimate=estimates[name],
            better_than={},
        )
        for name in names
        if name not in footing.judges
    ]
    n_needed, needs_raters = items_for_margin(footing, order, margin)
    n_items = int(footing.items.shared.sum())
    return Evidence(
        metric=metric.name,
        display_name=metric.display_name,
        better=metric.better,
        n_replies=None if footing.n_replies == inf else footing.n_replies,
        n_items=n_items,
        n_rated=int(footing.n_rated),
        min_answered=source.settings.min_answered,
        margin=None if margin is None else margin.value,
        annotator_reason=annotator_tests.reason,
        n_items_for_human=least_items(alpha, source.settings.worth),
        alpha=alpha,
        untested_copies=why_not_tested(source.task, source.task.rating_columns.raters),
        states_independence=bool(source.task.independent),
        n_contenders=n_contenders,
        number=tried.number,
        n_tried=tried.n,
        n_tried_before=tried.n_before,
        n_contending=tried.n_contending,
        n_forgotten=tried.n_forgotten,
        forgets=tried.forgets,
        limited=tried.limited,
        held_out=tried.held_out,
        judges=tuple(judges),
        baselines=tuple(baseline_evidence(footing, name) for name in footing.baselines),
        **_one_human(footing, judges[0]),
        n_items_for_margin=n_needed,
        needs_raters=needs_raters,
        ranks_by=ranks_by,
        left_out=(*unusable, *exclusions([("judge_unanswered", footing.n_rated - n_items)])),
    )


class _Completeness(TypedDict):
    usable_replies: float | None
    n_planned: int
    answered_fraction: float | None


def _completeness(
    source: Source, footing: Footing, estimate: Estimate, name: str, answered_fraction: float
) -> _Completeness:
    """Return a judge's shares of usable replies and of answered items, and its planned replies."""
    elicitation = ELICITATION_OF.get(footing.metric.judge_form, "forced_choice")
    planned = source.planned[name]
    usable, n_planned = usable_replies(count_outcomes(source.verdicts[name], planned), elicitation)
    is_asked = estimate.reason not in NOT_ASKED or not {elicitation, "paired"}.isdisjoint(planned)
    return {
        "usable_replies": usable,
        "n_planned": n_planned,
        "answered_fraction": _number(answered_fraction) if is_asked else None,
    }


def deciding_evidence(source: Source) -> Evidence | None:
    """Return the evidence that determines a source's decision, without a full validation.

    With more than 200,000 ratings, copies of a rater aren't tested for.
    """
    few = len(source.task.ratings) <= MOST_RATINGS
    p = prepare(source, ranking_only=True, with_intervals=False)
    return section(p, test_copies=few)


class FootingFacts(TypedDict):
    """Fields of `JudgeEvidence` that come from the comparison of judges."""

    ranks: tuple[int, int] | None
    better_than: dict[str, bool]
    human: HumanReference | None
    value_with_losses: float | None


def footing_facts(footing: Footing, name: str) -> FootingFacts:
    """Return the fields of `JudgeEvidence` that come from the comparison of judges."""
    j = footing.judges.index(name)
    defined = {name for name, value in footing.baselines.items() if isfinite(value)}
    beaten = dict(zip(footing.baselines, footing.beats[j].tolist(), strict=True))
    return {
        "ranks": footing.ranks.ranks[j] if footing.ranks else None,
        "better_than": {name: beats for name, beats in beaten.items() if name in defined},
        "human": footing.references[j],
        "value_with_losses": _number(footing.values_with_losses[j]),
    }


def close_to_first(footing: Footing) -> frozenset[str]:
    """Return the judges that could have rank 1, or all judges if ranks have no intervals."""
    if footing.ranks is None:
        return frozenset(footing.judges)
    ranks = zip(footing.judges, footing.ranks.ranks, strict=True)
    return frozenset(name for name, (low, _) in ranks if low == 1)


def worse_than_first(footing: Footing, order: Sequence[str]) -> frozenset[str]:
    """Return the judges that are clearly worse than the first judge in ``order``."""
    if not order:
        return frozenset()
    worse = footing.clearly_better[footing.judges.index(order[0])]
    return frozenset(name for name, is_worse in zip(footing.judges, worse, strict=True) if is_worse)


def _difference(source: Source, footing: Footing, name: str, first: str) -> Difference:
    """Compare a judge with the top one, using the simultaneous interval for all pairs of judges."""
    rows = [footing.judges.index(name), footing.judges.index(first)]
    losses = footing.metric.losses(footing.values)[rows]
    drawn = footing.metric.losses(footing.replicates)[rows]
    unit = footing.unit
    difference = compare(
        (name, first),
        losses,
        drawn,
        level=source.settings.confidence,
        unit=unit,
        n_units=footing.n_units,
        largest=footing.metric.loss_range(),
        raters=footing.raters_of({name: 1.0, first: -1.0}),
    )
    if footing.ranks is None or footing.ranks.critical_value is None or difference.value is None:
        return difference
    reaches = footing.ranks.reaches
    low = difference.value - float(reaches[rows[1], rows[0]])
    high = difference.value + float(reaches[rows[0], rows[1]])
    if not isfinite(high - low):
        return replace(difference, interval=None)
    interval = Interval(low, high, source.settings.confidence, "simultaneous", unit)
    return replace(difference, interval=interval)


def _annotator_tests(p: Prepared, annotators: Annotators | None) -> AnnotatorTests:
    """Return the annotator tests for ranked judges with forced choices.

    This needs at least three named raters. All judges are tested on the same number of replies per
    item.
    """
    if p.task.rater_ids == "positional":  # no need to read the verdicts
        return AnnotatorTests(POSITIONAL)
    annotators = annotators or Annotators.compared(p)
    if why_not_tested(p.task, annotators.panel.raters):
        return AnnotatorTests(
            why_not_tested(p.task, p.task.rating_columns.raters) or "too_few_choices"
        )
    return AnnotatorTests(
        "",
        annotators.panel,
        annotators.verdicts,
        design_of(p.task, annotators.scale),
        p.resampling(groups=p.groups),
    )


def baseline_evidence(footing: Footing, name: str) -> BaselineEvidence:
    """Return a baseline's value and interval."""
    value = footing.baselines[name]
    interval, _ = footing.interval(name)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return BaselineEvidence(name, _number(value), low, high, footing.constants.get(name, ()))


class _OneHuman(TypedDict, total=False):
    human_value: float | None
    human_low: InvertedEnd
    human_high: InvertedEnd


def _one_human(footing: Footing, first: JudgeEvidence) -> _OneHuman:
    """Return a human rater's value on the judges' scale, with an interval for the difference.

    Empty if judges are compared at several replies, because a human rater counts as one reply.
    """
    human, sign = first.human, float(footing.metric.loss_signs(1.0))
    if footing.n_replies != 1 or human is None or human.difference is None:
        return {}
    if human.judge_by_all is None:
        return {}
    start = human.judge_by_all
    least, most = footing.metric.bounds
    ends = [human.difference, human.high, human.low]
    value, low, high = (
        None if end is None else min(max(start - sign * end, least), most) for end in ends
    )
    if sign < 0:
        low, high = high, low
    return {"human_value": value, "human_low": low, "human_high": high}


def items_for_margin(
    footing: Footing, order: Sequence[str], margin: Margin | None
) -> tuple[int | None, bool]:
    """Return the number of items needed to detect a difference equal to the margin.

    The difference is the one between the top two judges. The second value is True if no number is
    enough because raters vary too much.
    """
    if len(order) < 2 or not footing.replicates.shape[1] or margin is None or margin.value <= 0:  # noqa: PLR2004 -- a pair
        return None, False
    sd = _sd_beside_first(footing, order)
    if sd is None:
        return None, False
    ranks, raters = footing.ranks, footing.raters_of({order[0]: -1.0, order[1]: 1.0})
    critical = Z_SIZE
    if ranks is not None and ranks.critical_value is not None:
        critical = max(critical, ranks.critical_value)
    by_raters = 0.0 if raters is None else max(raters.raters - raters.cells, 0.0)
    delta = difference_beside_raters(margin.value, by_raters, critical=critical)
    if delta == 0.0:
        return None, sd > 0.0
    planned_sd = sd_to_plan_with(sd, footing.n_units) if footing.n_units > 1 else sd
    return sample_size_for_difference(planned_sd, delta, critical=critical), False


def _sd_beside_first(footing: Footing, order: Sequence[str]) -> float | None:
    """Return the standard deviation over items of the top two judges' difference.

    It is at least the root of the mean variance over all judges that may be the best. This is
    because the first two of several judges are right on the same items more often than they will be
    on new items.
    """
    losses = footing.metric.losses(footing.replicates)
    close = close_to_first(footing)
    variances = []
    for name in order[1:]:
        if name == order[1] or name in close:
            rows = (footing.judges.index(judge) for judge in (name, order[0]))
            differences = np.subtract(*(losses[row] for row in rows))
            defined = differences[np.isfinite(differences)]
            variances.append(float(np.var(defined, ddof=1)) if len(defined) > 1 else np.nan)
    if np.isnan(variances[0]):
        return None
    largest = max(variances[0], float(np.nanmean(variances)))
    return sqrt(float(footing.items.shared.sum()) * largest)


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None

"""The decision: which judge to use, on what evidence, and what to collect next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from harness.stats import (
    Difference,  # noqa: TC001 -- read at run time
    Regret,  # noqa: TC001 -- read at run time
)
from harness.stats.indeterminacy.sensitivity import BreakEven  # noqa: TC001 -- read at run time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.beta_sensitivity import Sensitivity
    from harness.analysis.error_analysis import Errors
    from harness.analysis.metric_choice import Choosing
    from harness.analysis.rater_replacement import Replacement
    from harness.analysis.result import HumanResult, JudgeResult, Ranking

GOAL = "decision_consistency"
MIN_ANSWERED = 0.9
MAX_GROWTH = 50  # times the present items that nobody will collect
Verdict: TypeAlias = Literal["use", "best_not_proven", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition of the verdict.

    Attributes
    ----------
    passed : bool or None
        None where it cannot be decided.
    reason : str
        Why it is not passed or cannot be decided; "" where it is passed.
    value, threshold : float or None
        What was compared with what.
    n : int
        What the value rests on: items, raters or replies.
    """

    passed: bool | None
    reason: str = ""
    value: float | None = None
    threshold: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualChoice:
    """What selecting by a usual metric would have picked.

    Attributes
    ----------
    regret : Regret
        Its cost in the goal; names the metric and the judges it picks.
    same : bool
        Whether it picks the judge of the decision.
    arbitrary : bool
        Whether it picks every candidate, since all are equal.
    n_items : tuple of int
        Items behind the goal's values of the judges involved.
    """

    regret: Regret
    same: bool
    arbitrary: bool
    n_items: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What to collect where the answer is not firm.

    Attributes
    ----------
    n_items : int
        Items behind the leader's value.
    n_items_needed : int or None
        Items at which the observed differences would be significant; None where none is needed, or
        no attainable number suffices.
    inseparable : str or None
        A judge that more items are unlikely to separate from the leader.
    advice : str
        Which ratings to collect, as `Identifiability` advises; "" where raters gave response sets.
    n_missing, n_planned : int
        The leader's replies that were not asked for, of those planned.
    unusable : bool
        Whether many of the leader's replies came and could not be used.
    """

    n_items: int = 0
    n_items_needed: int | None = None
    inseparable: str | None = None
    advice: str = ""
    n_missing: int = 0
    n_planned: int = 0
    unusable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Which judge to use, on what evidence, and what to collect next.

    Attributes
    ----------
    verdict : str
        "use": use ``judge``; "none": none of the judges can be recommended.
    reason : str
        Why the verdict is "none": "no_verdicts", "metric_undefined" or "baseline_first"; else "".
    judge : str or None
        The recommended judge.
    leader : str or None
        The first of the ranking, which may be a baseline. What follows compares with it.
    not_distinguishable : tuple of str
        Other judges that are not significantly different: those in the model confidence set, or
        without one, those whose paired difference has an interval that holds 0.
    significantly_worse : tuple of str
        The other ranked judges.
    unranked : tuple of str
        Judges whose metric is NA.
    differences : dict of str to Difference
        How much worse each ranked judge is than the leader.
    first_share : float or None
        Share of the resamples in which the leader is first; None where nobody else is ranked.
    first_by_goal : dict of str to tuple of str
        Who is first by each downstream goal; baselines included.
    checks : dict of str to Check
        ``beats_baselines``, ``annotator_test`` and ``answered``, of the leader.
    break_even : BreakEven or None
        At which beta of the raters the best judge by decision consistency changes.
    usual_choices : tuple of UsualChoice
        What hit rate and kappa would have picked.
    disputed : tuple of str
        Items that the raters disagree on most; see `rater_agreement.disputed_items`.
    next_step : NextStep
        What to collect next.
    """

    verdict: Verdict
    reason: str = ""
    judge: str | None = None
    leader: str | None = None
    not_distinguishable: tuple[str, ...] = ()
    significantly_worse: tuple[str, ...] = ()
    unranked: tuple[str, ...] = ()
    differences: dict[str, Difference]
    first_share: float | None = None
    first_by_goal: dict[str, tuple[str, ...]]
    checks: dict[str, Check]
    break_even: BreakEven | None = None
    usual_choices: tuple[UsualChoice, ...] = ()
    disputed: tuple[str, ...] = ()
    next_step: NextStep


def decide(
    humans: HumanResult,
    judges: Sequence[JudgeResult],
    ranking: Ranking | None,
    *,
    choosing: Choosing | None,
    sensitivity: Sensitivity | None,
    replacement: Replacement | None,
    errors: Errors | None,
) -> Decision:
    """Make the decision from a validation's parts.

    Parameters
    ----------
    humans : HumanResult
        What the raters gave.
    judges : sequence of JudgeResult
        Every judge, baselines included.
    ranking : Ranking or None
        By the metric that ranks; None without judges.
    choosing, sensitivity, replacement, errors
        The sections of the validation that bear on it.
    """
    disputed = tuple(item.item for item in errors.disputed) if errors else ()
    leader = _leader(ranking)
    if ranking is None or leader is None:
        return Decision(
            verdict="none",
            reason="no_verdicts" if ranking is None else "metric_undefined",
            unranked=tuple(row.judge for row in ranking.rows) if ranking else (),
            differences={},
            first_by_goal={},
            checks={},
            disputed=disputed,
            next_step=NextStep(),
        )
    by_name = {judge.name: judge for judge in judges}
    winner = by_name[leader]
    close = _not_distinguishable(ranking, choosing, leader)
    ranked = [row.judge for row in ranking.rows if row.rank is not None and row.judge != leader]
    return Decision(
        verdict="none" if winner.baseline else "use",
        reason="baseline_first" if winner.baseline else "",
        judge=None if winner.baseline else leader,
        leader=leader,
        not_distinguishable=close,
        significantly_worse=tuple(name for name in ranked if name not in close),
        unranked=tuple(row.judge for row in ranking.rows if row.rank is None),
        differences={row.judge: row.difference for row in ranking.rows if row.difference},
        first_share=_first_share(ranking, choosing, leader) if ranked else None,
        first_by_goal=_first_by_goal(choosing),
        checks={
            "beats_baselines": _beats_baselines(winner, judges),
            "annotator_test": _annotator_test(winner, replacement),
            "answered": _answered(winner),
        },
        break_even=_break_even(sensitivity),
        usual_choices=_usual_choices(winner, ranking, choosing, by_name),
        disputed=disputed,
        next_step=_next_step(winner, ranking, close, humans, sensitivity),
    )


def _leader(ranking: Ranking | None) -> str | None:
    rows = ranking.rows if ranking else ()
    return next((row.judge for row in rows if row.rank is not None), None)


def _not_distinguishable(
    ranking: Ranking, choosing: Choosing | None, leader: str
) -> tuple[str, ...]:
    """Name the ranked judges in the leader's model confidence set, in order."""
    order = choosing.orders.get(ranking.metric) if choosing else None
    inside = {place.judge for place in order.places if place.in_best_set} if order else set()
    inside = inside or {
        row.judge for row in ranking.rows if row.difference and not row.difference.separated
    }
    return tuple(row.judge for row in ranking.rows if row.judge in inside - {leader})


def _first_share(ranking: Ranking, choosing: Choosing | None, leader: str) -> float | None:
    places = choosing.orders[ranking.metric].places if choosing else ()
    return next((place.p_best for place in places if place.judge == leader), None)


def _first_by_goal(choosing: Choosing | None) -> dict[str, tuple[str, ...]]:
    if choosing is None:
        return {}
    orders = {goal: choosing.orders[goal] for goal in choosing.goals if goal in choosing.orders}
    return {
        goal: tuple(place.judge for place in order.places if place.rank == 1)
        for goal, order in orders.items()
    }


def _beats_baselines(winner: JudgeResult, judges: Sequence[JudgeResult]) -> Check:
    n_baselines = sum(judge.baseline for judge in judges)
    if not n_baselines:
        return Check(passed=None, reason="no_baselines")
    if winner.baseline:
        return Check(passed=False, reason="baseline_first", n=n_baselines)
    return Check(passed=True, n=n_baselines)


def _annotator_test(winner: JudgeResult, replacement: Replacement | None) -> Check:
    if replacement is None or replacement.reason:
        return Check(passed=None, reason=replacement.reason if replacement else "not_computed")
    test = next((row for row in replacement.judges if row.judge == winner.name), None)
    if test is None:
        return Check(passed=None, reason="not_tested")
    reason = test.winning_rate.reason if test.passes is None else ""
    return Check(
        passed=test.passes,
        reason="winning_rate_below_threshold" if test.passes is False else reason,
        value=test.winning_rate.value,
        threshold=replacement.threshold,
        n=test.n_tested,
    )


def _answered(winner: JudgeResult) -> Check:
    fraction = winner.answered_fraction
    passed = None if fraction is None else fraction >= MIN_ANSWERED
    return Check(
        passed=passed,
        reason="nothing_planned" if passed is None else "" if passed else "too_few_answered",
        value=fraction,
        threshold=MIN_ANSWERED,
        n=winner.n_planned,
    )


def _break_even(sensitivity: Sensitivity | None) -> BreakEven | None:
    even = sensitivity.break_evens.get(GOAL) if sensitivity else None
    return even if even and even.pieces and even.pieces[0].winners else None


def _usual_choices(
    winner: JudgeResult,
    ranking: Ranking,
    choosing: Choosing | None,
    judges: Mapping[str, JudgeResult],
) -> tuple[UsualChoice, ...]:
    """Work out what selecting by hit rate or kappa would have cost."""
    if choosing is None or len(choosing.candidates) < 2:  # noqa: PLR2004 -- nothing to choose
        return ()
    selected = set(choosing.regret[ranking.metric][GOAL].selected)
    choices = []
    for metric in choosing.usual:
        regret = choosing.regret[metric][GOAL]
        if metric == ranking.metric or not regret.selected:
            continue
        same = not winner.baseline and set(regret.selected) == selected
        involved = dict.fromkeys((*regret.selected, *regret.best))
        choices.append(
            UsualChoice(
                regret=regret,
                same=same,
                arbitrary=not same and len(regret.selected) == len(choosing.candidates),
                n_items=tuple(sorted({judges[name].metrics[GOAL].n_used for name in involved})),
            )
        )
    return tuple(choices)


def _next_step(
    winner: JudgeResult,
    ranking: Ranking,
    close: Sequence[str],
    humans: HumanResult,
    sensitivity: Sensitivity | None,
) -> NextStep:
    n_items = winner.metrics[ranking.metric].n_used
    needed, inseparable = _items_needed(ranking, close, n_items)
    counts = winner.outcomes
    few = winner.answered_fraction is not None and winner.answered_fraction < MIN_ANSWERED
    replies = [(count.answered, count.planned - count.not_asked) for count in counts]
    return NextStep(
        n_items=n_items,
        n_items_needed=needed,
        inseparable=inseparable,
        advice=sensitivity.identifiability.advice
        if sensitivity and not humans.n_response_sets
        else "",
        n_missing=sum(count.not_asked for count in counts),
        n_planned=sum(count.planned for count in counts),
        unusable=few and any(answered < MIN_ANSWERED * n for answered, n in replies),
    )


def _items_needed(
    ranking: Ranking, close: Sequence[str], n_items: int
) -> tuple[int | None, str | None]:
    """Return the items that would separate judges, or the judge that more items will not separate.

    Intervals shrink with the root of the number of items: an interval of half-width h around a
    difference d excludes 0 at ``n (h / d)^2`` items.
    """
    needed = 0
    for row in ranking.rows:
        worse = row.difference
        if row.judge not in close or worse is None or not worse.interval or worse.value is None:
            continue
        half = (worse.interval.high - worse.interval.low) / 2.0
        growth = (half / worse.value) ** 2 if worse.value > 0.0 else math.inf
        if growth > MAX_GROWTH:
            return None, row.judge
        needed = max(needed, math.ceil(n_items * growth / 10) * 10)
    return (needed if needed > n_items else None), None

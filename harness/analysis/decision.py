"""Decision on the judge to use, the evidence for it, and the data to collect next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from harness.analysis.beta_sensitivity import DECISION_GOAL
from harness.analysis.evidence_rows import NOT_ASKED
from harness.analysis.recommendation_checks import (
    BEATS_BASELINES,
    INDEPENDENT,
    MIN_USABLE,
    Check,
    all_checks,
)
from harness.stats import Difference, Regret
from harness.stats.indeterminacy.sensitivity import BreakEven

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from harness.analysis.beta_sensitivity import Sensitivity
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.judge_result import HumanResult, JudgeResult
    from harness.analysis.metric_choice import Choosing

DecisionVerdict: TypeAlias = Literal["use", "use_if_independent", "best_not_proven", "none"]
VERDICTS: tuple[DecisionVerdict, ...] = get_args(DecisionVerdict)  # from the strongest
RECOMMENDING: frozenset[DecisionVerdict] = frozenset({"use", "use_if_independent"})
DecisionReason: TypeAlias = Literal[
    "",
    "not_better_than_baselines",
    "control_first",
    "no_verdicts",
    "metric_undefined",
    "too_few_answered",
    "raced",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualChoice:
    """A common metric that would have selected significantly worse judges.

    Attributes
    ----------
    regret : Regret
        Its cost in the goal, significantly above 0, with the metric and the judges that it picks.
    n_items : tuple of int
        Items behind the goal's values for the judges involved.
    """

    regret: Regret
    n_items: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """Data to collect next if the decision is not firm.

    Attributes
    ----------
    n_items : int
        Items on which the judges were compared.
    worth : float or None
        The difference that matters, in the unit of the metric that ranks; None if it has no range.
    n_items_needed : int or None
        Items that detect a difference of ``worth`` between the first two judges in 80 % of data
        sets. None if there are enough already, no number is enough, no other judge may be the best,
        or the verdict is "none".
    more_raters : bool
        Whether no number of items detects this difference with these raters.
    equivalent : tuple of str
        Judges for which the interval of the difference from the first judge lies within ``worth``.
    advice : str
        Ratings to collect, from the advice of `Identifiability`; "" if raters gave response sets.
    n_missing, n_planned : int
        The leader's replies that were not requested, and those planned.
    unusable : bool
        Whether many of the leader's replies arrived but could not be used.
    """

    n_items: int = 0
    worth: float | None = None
    n_items_needed: int | None = None
    more_raters: bool = False
    equivalent: tuple[str, ...] = ()
    advice: str = ""
    n_missing: int = 0
    n_planned: int = 0
    unusable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Decision on the judge to use, with the evidence and the data to collect next.

    Attributes
    ----------
    verdict : str
        "use": ``judge`` is better than every baseline, may replace a rater and answered enough.
        "use_if_independent": the same, provided that raters worked without its answers, and it
        without theirs, which can't be tested and isn't stated in task.yaml. "best_not_proven": it
        is better than the baselines, but ``missing`` is not shown. "none": no judge can be
        recommended.
    reason : str
        Why the verdict is "none": "no_verdicts", "raced" (judges raced, and none was run on all
        items), "metric_undefined", "too_few_answered", "not_better_than_baselines" or
        "control_first" (a control judge is first, which is never recommended); else "".
    judge : str or None
        The recommended or best judge; None if the verdict is "none".
    leader : str or None
        The first judge on the same items and number of replies. The fields below compare other
        judges with it.
    missing : tuple of str
        Kinds of checks that ``judge`` did not pass.
    not_distinguishable : tuple of str
        Other judges that are not significantly different from it.
    significantly_worse : tuple of str
        The other ranked judges.
    unranked : tuple of str
        Judges that answered too little to be compared, or whose metric is NA.
    first_by_goal : dict of str to tuple of str
        The first judges by each downstream goal.
    checks : dict of str to Check
        ``beats_baselines``, ``annotator_test``, ``one_human``, ``answered``, ``usable_replies``,
        ``with_losses`` (still first if unanswered items count as losses), ``copies_a_rater``
        (passed if it doesn't; if that can't be tested, passed if the evidence also suffices without
        each rater), ``all_items`` (none was left out by --limit) and ``independent`` (copies of a
        rater are tested for, or task.yaml states that there are none). All are about the leader.
    break_even : BreakEven or None
        The raters' beta at which the best judge by decision consistency changes, among ``leader``
        and ``significantly_worse``; None if no other judge is significantly worse.
    usual_choices : tuple of UsualChoice
        Hit rate or kappa, if it would have picked a significantly worse judge.
    next_step : NextStep
        Data to collect next.
    """

    verdict: DecisionVerdict
    reason: DecisionReason = ""
    judge: str | None = None
    leader: str | None = None
    missing: tuple[str, ...] = ()
    not_distinguishable: tuple[str, ...] = ()
    significantly_worse: tuple[str, ...] = ()
    unranked: tuple[str, ...] = ()
    first_by_goal: dict[str, tuple[str, ...]]
    checks: dict[str, Check]
    break_even: BreakEven | None = None
    usual_choices: tuple[UsualChoice, ...] = ()
    next_step: NextStep


def decide(
    humans: HumanResult,
    judges: Sequence[JudgeResult],
    evidence: Evidence | None,
    *,
    choosing: Choosing | None = None,
    sensitivity: Sensitivity | None = None,
    advice: str = "",
) -> Decision:
    """Decide from the parts of a validation. ``advice`` comes from `Identifiability`."""
    rows = evidence.judges if evidence else ()
    ranked = [row for row in rows if row.value is not None]
    unranked = tuple(row.judge for row in rows if row.value is None)
    if evidence is None or not ranked:
        return Decision(
            verdict="none",
            reason=_reason_nothing(judges, evidence),
            unranked=unranked,
            first_by_goal={},
            checks={},
            next_step=NextStep(),
        )
    leader, *others = ranked
    verdict, checks, missing = verdict_of(evidence)
    by_name = {judge.name: judge for judge in judges}
    winner = by_name[leader.judge]
    is_beaten = verdict == "none"
    if winner.is_control:
        verdict = "none"
    proven = verdict != "none"
    close = tuple(row.judge for row in others if row.close_to_first)
    reason: DecisionReason = "" if proven else "control_first"
    return Decision(
        verdict=verdict,
        reason="not_better_than_baselines" if is_beaten else reason,
        judge=leader.judge if proven else None,
        leader=leader.judge,
        missing=missing if proven else (),
        not_distinguishable=close,
        significantly_worse=tuple(row.judge for row in others if row.judge not in close),
        unranked=unranked,
        first_by_goal=_first_by_goal(choosing),
        checks=checks,
        break_even=_break_even(sensitivity),
        usual_choices=_usual_choices(evidence, choosing, by_name),
        next_step=_next_step(
            winner, evidence, "" if humans.n_response_sets else advice, proven=proven
        ),
    )


def verdict_of(
    evidence: Evidence,
) -> tuple[DecisionVerdict, dict[str, Check], tuple[str, ...]]:
    """Return the top-ranked judge's verdict, its checks, and the checks missing for "use"."""
    leader = next(row for row in evidence.judges if row.value is not None)
    checks = {row.kind: row.test(leader, evidence) for row in all_checks()}
    missing = tuple(row.kind for row in all_checks() if row.is_missing(checks))
    if not checks[BEATS_BASELINES.kind].passed:
        return "none", checks, missing
    if missing:
        return "best_not_proven", checks, missing
    return "use" if checks[INDEPENDENT.kind].passed else "use_if_independent", checks, missing


def verdict_and_judge(
    evidence: Evidence | None, controls: Container[str] = ()
) -> tuple[DecisionVerdict, str | None]:
    """Return the verdict and judge of `Decision`, from the comparison of judges only."""
    ranked = [row.judge for row in evidence.judges if row.value is not None] if evidence else []
    if evidence is None or not ranked or ranked[0] in controls:
        return "none", None
    verdict, _, _ = verdict_of(evidence)
    return verdict, None if verdict == "none" else ranked[0]


def n_items_needed(evidence: Evidence) -> int | None:
    """Return `NextStep.n_items_needed`, from the comparison of judges only."""
    needed = evidence.n_items_for_margin
    enough = needed is None or needed <= evidence.n_items
    return None if enough or not _is_open(evidence) else needed


def _is_open(evidence: Evidence) -> bool:
    """Return whether a different judge could be better than the first by the margin."""
    others = [row for row in evidence.judges if row.value is not None][1:]
    return any(row.close_to_first for row in others) and not _is_alike(evidence)


def _is_alike(evidence: Evidence) -> bool:
    """Return whether the interval for the top two judges' difference lies within the margin."""
    second = next((row for row in evidence.judges[1:] if row.difference), None)
    return second is not None and _within(second.difference, evidence.margin)


def _reason_nothing(judges: Sequence[JudgeResult], evidence: Evidence | None) -> DecisionReason:
    if evidence is None:
        return "no_verdicts"
    if all(judge.own.reason in NOT_ASKED for judge in judges):
        return "metric_undefined"
    too_few = evidence.judges and not any(row.ranked for row in evidence.judges)
    return "too_few_answered" if too_few and evidence.n_rated else "metric_undefined"


def _first_by_goal(choosing: Choosing | None) -> dict[str, tuple[str, ...]]:
    by_goal = next(iter(choosing.regret.values()), {}) if choosing else {}
    return {goal: regret.best for goal, regret in by_goal.items()}


def _break_even(sensitivity: Sensitivity | None) -> BreakEven | None:
    even = sensitivity.distinguishable if sensitivity else None
    return even if even and even.pieces and even.pieces[0].winners else None


def _usual_choices(
    evidence: Evidence, choosing: Choosing | None, judges: Mapping[str, JudgeResult]
) -> tuple[UsualChoice, ...]:
    """Return the common metrics (hit rate, kappa) that would have selected worse judges."""
    if choosing is None:
        return ()
    choices, worse = [], {*evidence.distinguishable[1:]}
    goals = {name: judges[name].metrics[DECISION_GOAL] for name in choosing.candidates}
    for metric in choosing.usual:
        regret = choosing.regret[metric][DECISION_GOAL]
        is_costly = regret.interval is not None and regret.interval.low > 0
        if metric == evidence.metric or not is_costly or not worse.issuperset(regret.selected):
            continue
        involved = dict.fromkeys((*regret.selected, *regret.best))
        choices.append(
            UsualChoice(
                regret=regret,
                n_items=tuple(sorted({goals[name].n_used for name in involved})),
            )
        )
    return tuple(choices)


def _within(difference: Difference | None, margin: float | None) -> bool:
    """Return whether the interval for a difference lies within the margin."""
    if difference is None or difference.interval is None or margin is None:
        return False
    return max(abs(difference.interval.low), abs(difference.interval.high)) < margin


def _next_step(winner: JudgeResult, evidence: Evidence, advice: str, *, proven: bool) -> NextStep:
    equivalent = tuple(
        row.judge for row in evidence.judges if _within(row.difference, evidence.margin)
    )
    least, usable = MIN_USABLE, evidence.judges[0].usable_replies
    few = usable is not None and usable < least
    replies = [(count.answered, count.planned - count.not_asked) for count in winner.outcomes]
    return NextStep(
        n_items=evidence.n_items,
        worth=evidence.margin,
        n_items_needed=n_items_needed(evidence) if proven else None,
        more_raters=proven and evidence.needs_raters and _is_open(evidence),
        equivalent=equivalent,
        advice=advice,
        n_missing=winner.n_replies("not_asked"),
        n_planned=winner.n_replies("planned"),
        unusable=few and any(n_answered < least * n for n_answered, n in replies),
    )

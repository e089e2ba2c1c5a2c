"""Define the checks behind a recommendation, with their sentences and next steps.

To add a check, write its test and a `CheckOfUse`, and list the latter in `CHECKS`. Terminal, page
and JSON then show it. Sentences are templates. The report fills in ``{n}``, ``{share}`` and other
fields that `harness.report.verdict_words` lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from harness.stats.inference.metric import losses_of
from harness.stats.inference.non_inferiority import MIN_GROUPS
from harness.stats.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.analysis.evidence_rows import Evidence, JudgeEvidence
    from harness.analysis.rater_replacement import Replacement

MIN_USABLE = 0.9  # share of a recommended judge's planned replies
EQUAL = 1e-12  # values this close are equal
CheckReason: TypeAlias = (
    Reason
    | Literal[
        "no_baselines",
        "not_better",
        "too_few_raters_beaten",
        "not_shown_non_inferior",
        "too_few_usable",
        "not_first",
        "not_better_without_rater",
        "not_passed_without_rater",
        "limited",
        "copies_raters",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Result of one check behind the recommendation.

    Attributes
    ----------
    kind : str
        The kind of its `CheckOfUse`.
    passed : bool or None
        Whether the check passed; None if it cannot be decided.
    reason : str
        Why it failed or cannot be decided; "" if it passed.
    rival : str
        The baseline, judge or rater that ``value`` is compared with; "" if there is none.
    value, threshold : float or None
        The two compared numbers. For the annotator test, the p-value and the largest value that
        passes.
    n : int
        Number of items, raters or replies behind the value.
    raters : tuple of str
        Raters that the judge copies, or without whom the condition fails, most important first.
    """

    kind: str
    passed: bool | None
    reason: CheckReason = ""
    rival: str = ""
    value: float | None = None
    threshold: float | None = None
    n: int = 0
    raters: tuple[str, ...] = ()


class Validated(Protocol):
    """Parts of a validation that a check's sentence can depend on."""

    @property
    def evidence(self) -> Evidence | None:
        """Comparison of the judges on the same items and number of replies."""

    @property
    def replacement(self) -> Replacement | None:
        """Results of the alternative annotator test."""


Words: TypeAlias = "str | Callable[[Check, Validated], str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOfUse:
    """Definition of one check behind the recommendation.

    Attributes
    ----------
    kind : str
        Its key in JSON.
    name : str
        Requirement for a judge, as a row in a checklist.
    test : callable
        Checks the first judge.
    is_missing : callable
        Returns whether "use" lacks this check, given all checks.
    failed, open : str or callable
        Sentence under "Missing" if the check fails or can't be decided.
    passed : str or callable
        Sentence in the evidence if the check passes; "" for none.
    next_step : str or callable
        Sentence that says what would settle the check.
    why_open : mapping
        Reasons in this check's words, if the general ones don't fit.
    """

    kind: str
    name: str
    test: Callable[[JudgeEvidence, Evidence], Check]
    is_missing: Callable[[Mapping[str, Check]], bool]
    failed: Words
    open: Words
    passed: Words = ""
    next_step: Words
    why_open: Mapping[CheckReason, str] = field(default_factory=dict)

    def template(self, check: Check, v: Validated) -> str:
        """Return the template of the sentence that states the check's result."""
        if check.passed is None:
            return _words(self.open, check, v)
        return _words(self.passed if check.passed else self.failed, check, v)

    def step(self, check: Check, v: Validated) -> str:
        """Return the template of the next step, for a check that did not pass."""
        return _words(self.next_step, check, v)


def _words(words: Words, check: Check, v: Validated) -> str:
    return words if isinstance(words, str) else words(check, v)


def needed(kind: str) -> Callable[[Mapping[str, Check]], bool]:
    """Return a function that tells whether "use" lacks a check because the check did not pass."""
    return lambda checks: not checks[kind].passed


def harmful(kind: str) -> Callable[[Mapping[str, Check]], bool]:
    """Return a function that tells whether "use" lacks a check because the check failed.

    Open checks don't count.
    """
    return lambda checks: checks[kind].passed is False


def never(checks: Mapping[str, Check]) -> bool:  # noqa: ARG001 -- shared signature
    """Return False, for a check that affects the verdict in a different way."""
    return False


def decides_by_one_human(checks: Mapping[str, Check]) -> bool:
    """Return whether the annotator test is undefined, so that a human rater's value decides."""
    return checks["annotator_test"].passed is None


def _beats_baselines(leader: JudgeEvidence, evidence: Evidence) -> Check:
    if not leader.better_than:
        return Check(
            kind="beats_baselines", passed=False, reason="no_baselines", n=evidence.n_items
        )
    values = {row.name: row.value for row in evidence.baselines if row.value is not None}
    losses = {name: _loss(value, evidence) for name, value in values.items()}
    strongest = min(losses, key=losses.__getitem__)
    unbeaten = [name for name, better in leader.better_than.items() if not better]
    rival = min(unbeaten or [strongest], key=losses.__getitem__)
    return Check(
        kind="beats_baselines",
        passed=not unbeaten,
        reason="not_better" if unbeaten else "",
        rival=rival,
        value=leader.value,
        threshold=values[rival],
        n=evidence.n_items,
    )


def _annotator_test(leader: JudgeEvidence, evidence: Evidence) -> Check:
    test = leader.annotator_test
    if test is None:
        why_none = evidence.annotator_reason or "no_forced_choices"
        return Check(kind="annotator_test", passed=None, reason=why_none)
    reason: CheckReason = "too_few_raters_beaten" if test.passes is False else test.panel.reason
    return Check(
        kind="annotator_test",
        passed=test.passes,
        reason=reason,
        value=test.panel.p,
        threshold=test.alpha,
        n=test.panel.n_tested,
    )


def _one_human(leader: JudgeEvidence, evidence: Evidence) -> Check:
    human = leader.human
    if evidence.margin is None:
        return Check(kind="one_human", passed=None, reason="no_range")
    if human is None or human.difference is None:
        return Check(
            kind="one_human", passed=None, reason="single_rating", threshold=evidence.margin
        )
    reason: CheckReason = "no_interval" if human.p is None else ""
    if human.n_items < evidence.n_items_for_human:
        reason = "too_few_items"
    elif human.n_units < MIN_GROUPS:
        reason = "too_few_groups"
    passed = None if reason or human.p is None else human.p <= evidence.alpha
    return Check(
        kind="one_human",
        passed=passed,
        reason="not_shown_non_inferior" if passed is False else reason,
        value=human.difference,
        threshold=evidence.margin,
        n=human.n_items,
    )


def _answered(leader: JudgeEvidence, evidence: Evidence) -> Check:
    share, least = leader.answered_fraction, evidence.min_answered
    return _enough("answered", share, least, n=evidence.n_rated, reason="too_few_answered")


def _usable_replies(leader: JudgeEvidence, _: Evidence) -> Check:
    share = leader.usable_replies
    return _enough("usable_replies", share, MIN_USABLE, n=leader.n_planned, reason="too_few_usable")


def _enough(kind: str, share: float | None, least: float, *, n: int, reason: CheckReason) -> Check:
    """Check that a share is defined and large enough."""
    passed = share is not None and share >= least
    reason = "" if passed else reason
    return Check(kind=kind, passed=passed, reason=reason, value=share, threshold=least, n=n)


def _loss(value: float, evidence: Evidence) -> float:
    return float(losses_of(value, evidence.better))


def _with_losses(leader: JudgeEvidence, evidence: Evidence) -> Check:
    values = {
        row.judge: row.value_with_losses
        for row in evidence.judges
        if row.ranked and row.value_with_losses is not None
    }
    own = values.pop(leader.judge, None)
    if own is None:
        complete = leader.answered_fraction == 1.0
        return Check(
            kind="with_losses",
            passed=complete or None,
            reason="" if complete else "no_mean",
            n=evidence.n_rated,
        )
    losses = {name: _loss(value, evidence) for name, value in values.items()}
    ahead = [name for name, lost in losses.items() if lost < _loss(own, evidence) - EQUAL]
    return Check(
        kind="with_losses",
        passed=not ahead,
        reason="not_first" if ahead else "",
        rival=ahead[0] if ahead else "",
        value=own,
        n=evidence.n_rated,
    )


def _copies_a_rater(evidence: Evidence) -> Check:
    test = evidence.copying
    if test is None:
        return _without_each_rater(evidence)
    if test.undecided:
        return Check(kind="copies_a_rater", passed=None, reason="no_shared_errors", n=test.n_items)
    return Check(
        kind="copies_a_rater",
        passed=not test.copies,
        reason="copies_raters" if test.copies else "",
        rival=test.raters[0] if test.copies else "",
        value=test.log_ratio,
        threshold=test.bound,
        n=test.n_items,
        raters=test.raters if test.copies else (),
    )


def _without_each_rater(evidence: Evidence) -> Check:
    left_out = evidence.without_raters
    if not left_out:
        why_none = evidence.without_raters_reason
        return Check(kind="copies_a_rater", passed=None, reason=why_none)
    failing = (row for row in left_out if not row.holds)
    resting = sorted(failing, key=lambda row: (not row.unbeaten, -row.effect, row.rater))
    reason: CheckReason = ""
    if resting:
        reason = "not_better_without_rater" if resting[0].unbeaten else "not_passed_without_rater"
    return Check(
        kind="copies_a_rater",
        passed=not resting,
        reason=reason,
        rival=resting[0].rater if resting else "",
        n=len(left_out),
        raters=tuple(row.rater for row in resting),
    )


def _all_items(evidence: Evidence) -> Check:
    """Check that the validation covers all items. Otherwise, it uses none of the error rate."""
    reason: CheckReason = "limited" if evidence.limited else ""
    return Check(kind="all_items", passed=not reason, reason=reason, n=evidence.n_items)


def _independent(evidence: Evidence) -> Check:
    """Check that copying of a rater can be tested, or that task.yaml rules it out."""
    passed = not evidence.untested_copies or evidence.states_independence or None
    return Check(
        kind="independent", passed=passed, reason="" if passed else evidence.untested_copies
    )


NAMELESS = "the ratings don't name their raters"
TOO_FEW_GROUPS = (
    "the judge and the rater differ in too few groups. They must differ in at least 10 "
    "groups, and in half of all groups or 20 groups"
)
MORE_RATINGS = "Get ratings for more items, from at least three raters each."
SECOND_RATER = "Get a second rater's answers for the same items."
MORE_GROUPS = (
    "Get ratings for items from more groups. A group counts once, however many items it has."
)
FIND_OUT = "Find out why so many replies could not be used."
IMPROVE = (
    "Improve the prompt or try other judges: this judge is worse than a human rater (wins minus "
    "losses: {net_wins}. A value above -{eps} passes{larger_eps})."
)
TOO_CLOSE = (
    "Get ratings for more items: the comparison with a human rater is too close to call (wins "
    "minus losses: {net_wins}. A value above -{eps} passes)."
)
COPIED = (
    "its answers look copied from {raters} ({items}): copying explains its answers better than "
    "its own judgement does"
)


def _annotator_step(check: Check, v: Validated) -> str:
    """Return the advice for the annotator test: collect more ratings, or improve the judge."""
    assert v.evidence is not None
    test, section = v.evidence.judges[0].annotator_test, v.replacement
    if check.reason == "too_few_groups":
        return MORE_GROUPS
    if test is None or section is None or test.low is None or test.high is None:
        return MORE_RATINGS
    if test.high < -section.eps:
        return IMPROVE
    return TOO_CLOSE if test.low <= -section.eps else MORE_RATINGS


def _no_copy(_: Check, v: Validated) -> str:
    if v.evidence and v.evidence.copying:
        return (
            "It doesn't copy a rater: its own judgement explains its answers better than "
            "copying does."
        )
    return "Leaving out any one of the {n_raters} doesn't change this."


TRY_OTHERS = "Try another judge, prompt or way of asking."
BEATS_BASELINES = CheckOfUse(
    kind="beats_baselines",
    name="Better than every baseline",
    test=_beats_baselines,
    is_missing=never,  # if it fails, the verdict is "none"
    failed="it is not significantly better than a baseline",
    open="there are no baselines to compare with",
    next_step=TRY_OTHERS,
)
ALL_ITEMS = CheckOfUse(
    kind="all_items",
    name="Run on all items",
    test=lambda _, evidence: _all_items(evidence),
    is_missing=needed("all_items"),
    failed="--limit left items out, and a judge can't be recommended on only some of the items",
    open="--limit may have left items out",
    next_step="Run it on all items, without --limit.",
)
ANNOTATOR_TEST = CheckOfUse(
    kind="annotator_test",
    name="Passes the alternative annotator test",
    test=_annotator_test,
    is_missing=harmful("annotator_test"),  # if it is open, a human rater decides
    failed="it does not pass the alternative annotator test",
    open="the alternative annotator test is undefined",
    next_step=_annotator_step,
    why_open={
        "positional_raters": NAMELESS,
        "too_few_raters": "the test needs at least three raters",
        "too_few_choices": "the test needs single choices from at least three raters",
        "no_forced_choices": "the judge gave no single choices (get both with --elicitation "
        "forced_choice,response_set)",
        "too_few_groups": TOO_FEW_GROUPS,
        "too_few_items": "fewer than 10 items of each rater",
    },
)
ONE_HUMAN = CheckOfUse(
    kind="one_human",
    name="As good as another rater",
    test=_one_human,
    is_missing=lambda checks: decides_by_one_human(checks) and not checks["one_human"].passed,
    failed="there's no evidence yet that it's as good as another rater",
    open="it cannot be compared with another rater",
    next_step=lambda check, _: (
        SECOND_RATER
        if check.reason == "single_rating"
        else "Get ratings for more items, from at least two raters each."
    ),
    why_open={
        "single_rating": "a single rating per item",
        "too_few_items": "{n} items, but at least {needed} are needed",
        "too_few_groups": "fewer than 10 groups of items",
    },
)
ANSWERED = CheckOfUse(
    kind="answered",
    name="Answers enough items",
    test=_answered,
    is_missing=needed("answered"),
    failed="it answered too few items",
    open="there were no items to answer",
    next_step=FIND_OUT,
)
USABLE_REPLIES = CheckOfUse(
    kind="usable_replies",
    name="Enough replies are answers",
    test=_usable_replies,
    is_missing=needed("usable_replies"),
    failed="only {share} of its {n} planned replies are answers",
    open="no reply was planned",
    next_step=FIND_OUT,
)
WITH_LOSSES = CheckOfUse(
    kind="with_losses",
    name="Still first if unanswered items count as losses",
    test=_with_losses,
    is_missing=needed("with_losses"),
    failed="{rival} is better if unanswered items count as losses",
    open="unanswered items cannot be counted as losses",
    next_step="Find out why items were not answered, or request the answers again.",
)
COPIES_A_RATER = CheckOfUse(
    kind="copies_a_rater",
    name="Doesn't copy a rater",
    test=lambda _, evidence: _copies_a_rater(evidence),
    is_missing=harmful("copies_a_rater"),  # it is open if raters are not named
    failed=lambda check, _: (
        COPIED if check.reason == "copies_raters" else "the judge fails without {any_rater}"
    ),
    open="whether it copies a rater was not tested",
    passed=_no_copy,
    next_step="Check that the judge didn't see these raters' answers, and get ratings from other "
    "people.",
    why_open={
        "positional_raters": NAMELESS,
        "too_few_raters": "the test needs at least three raters",
        "no_shared_errors": "raters and judge make too few errors to tell a copy from a good judge",
        "not_computed": (
            "there are too many ratings for this check, or too few if one rater is left out"
        ),
    },
)
INDEPENDENT = CheckOfUse(
    kind="independent",
    name="Raters and judge worked independently",
    test=lambda _, evidence: _independent(evidence),
    is_missing=never,  # if it is open, the verdict is "use_if_independent"
    failed="raters and judge didn't work independently",
    open="the raters didn't see the judge's answers, and the judge didn't see theirs",
    next_step="If so, add `independent: true` to task.yaml.",
    why_open={
        reason: f"there was no test for copies of a rater: {words}"
        for reason, words in COPIES_A_RATER.why_open.items()
    },
)
CHECKS = (
    BEATS_BASELINES,
    ALL_ITEMS,
    ANNOTATOR_TEST,
    ONE_HUMAN,
    ANSWERED,
    USABLE_REPLIES,
    WITH_LOSSES,
    COPIES_A_RATER,
    INDEPENDENT,
)


def all_checks() -> tuple[CheckOfUse, ...]:
    """Return all checks in display order."""
    return CHECKS


def check_of_use(kind: str) -> CheckOfUse:
    """Return the check of the given kind."""
    return next(row for row in all_checks() if row.kind == kind)

"""Describe a round in sentences: one for each judge, and notes on the comparison."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from harness.files.plain_text import counted, visible
from harness.report.date_axis import MONTHS
from harness.report.formatting import percent
from harness.revalidation.baseline_design import N_LOOKS, WANTED_SHARE
from harness.revalidation.fail_on import model_change, shown
from harness.revalidation.records import ALARMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.revalidation.records import Baseline, DecisionFacts, JudgeLook, Look

SERIOUS = (
    "worse",
    "changed",
    "not comparable",
    "not assessed",
    "not asked",
    "incomplete",
    "underpowered",
    "stable",
)
MAX_NAMED = 5  # named items per reason for leaving them out
OTHER_RATINGS = (
    "The ratings have changed since the baseline, so metrics can differ from earlier rounds for "
    "that reason. The tests of the judges' answers don't use ratings."
)
ALL_ALIKE = (
    "All judges changed in the same round, so this counts as one change. Check what they have in "
    "common, such as a gateway, a provider or the way items are sent."
)
RETEST = (
    "The baseline has one reply per item, so the judges' usual noise is unknown. The first "
    "round can show that rates changed, but not which items changed. Use five replies: "
    "--samples 5 in the run, or --baseline-replies 5 in the first round."
)
SAMPLED = (
    "The items were sampled with unequal probabilities. Metrics and the decision weight items "
    "by the inverse of their probability. Flips, the tests of judges and changes over all "
    "rounds describe the sample."
)


def lead(look: Look, baseline: Baseline) -> list[tuple[str, str]]:
    """Return a verdict and a sentence for each judge, the most serious first.

    If no judge is comparable, there is one sentence for each cause. Rounds that the history lost
    have one too.
    """
    lost = [("incomplete", look.lost)] if look.lost else []
    if look.causes:
        causes = [("not comparable", f"Nothing was compared: {cause}.") for cause in look.causes]
        return [*causes, *lost]
    judges = [(judge.verdict, judge_sentence(judge, look, baseline)) for judge in look.judges]
    return sorted([*lost, *judges], key=lambda said: SERIOUS.index(said[0]))


def judge_sentence(judge: JudgeLook, look: Look, baseline: Baseline) -> str:
    """Describe in one sentence whether and how a judge changed."""
    match judge.verdict:
        case "not comparable":
            claim = f"not compared, because {judge.reason}"
        case "not asked":
            claim = f"not run ({judge.reason})"
        case "not assessed" | "incomplete" as standing:
            claim = f"{standing}: {judge.reason}"
        case "changed" | "worse":
            since = f" since {day(judge.since_at, look.at)}" if judge.since is not None else ""
            claim = f"a different judge{since}: {judge.what}{_agreement(judge)}"
            if judge.shortfall:
                claim += f"; {judge.shortfall} now: {judge.reason}"
            elif judge.reason:
                claim += f"; it was not run in this round ({judge.reason})"
        case _:
            claim = f"no change detected{_power(judge, baseline)}"
    return f"{judge.judge}: {claim}."


def _agreement(judge: JudgeLook) -> str:
    """Describe whether a changed judge agrees less with the raters."""
    if judge.verdict == "changed":
        return "; there's no evidence that it agrees less with the raters" if judge.sequence else ""
    if judge.answers_nothing:
        return "; no reply is an answer"
    if judge.margin is None:
        return "; in an earlier round, it agreed less with the raters or didn't answer"
    part = f", by more than {percent(judge.margin)} of the metric's range" if judge.margin else ""
    return f"; it agrees less with the raters{part}"


def day(at: str, now: str) -> str:
    """Return the date of a UTC time, with the year unless it is the current one."""
    time = datetime.fromisoformat(at)
    year = f" {time.year}" if at[:4] != now[:4] else ""
    return f"{time.day} {MONTHS[time.month - 1]}{year}"


def _power(judge: JudgeLook, baseline: Baseline) -> str:
    """Describe the smallest change that the rounds would have detected."""
    power = baseline.power[judge.judge]
    if power.reason == "one_baseline_reply":
        return ""
    share = "any number" if power.share is None else f"{power.share:.0%}"
    if power.is_enough:
        return f" (a change in {share} of the items would be detected within {N_LOOKS} rounds)"
    fewer = f"fewer than {share}" if power.share is not None else share
    advice = (
        f"An anchor of {power.n_items_needed} items would show a change in {WANTED_SHARE:.0%}"
        if power.n_items_needed
        else "Add items"
    )
    return f", but a change in {fewer} of the items could go undetected. {advice}"


def notes(look: Look, baseline: Baseline) -> Iterator[str]:
    """Describe excluded items and judges, other differences, and the limits of the comparison."""
    if names := unwatched(look, baseline):
        yield f"Not watched: {', '.join(names)}."
    if look.left_out and not look.causes:
        by_reason: dict[str, list[str]] = {}
        for item, reason in look.left_out.items():
            by_reason.setdefault(reason, []).append(item)
        named = "; ".join(
            f"{', '.join(items[:MAX_NAMED])}{' ...' if len(items) > MAX_NAMED else ''}: {reason}"
            for reason, items in by_reason.items()
        )
        n = len(look.left_out)
        verb = "is" if n == 1 else "are"
        yield f"{n} of {counted([len(baseline.items)])} {verb} left out. {named}."
    for excluded, reason in look.excluded.items():
        yield f"The replies of round {excluded} are excluded: {visible(reason)}"
    if look.other_ratings:
        yield OTHER_RATINGS
    changes = [model_change(judge, baseline) for judge in look.judges]
    yield from (f"{change}." for change in changes if change)
    if look.all_alike:
        yield ALL_ALIKE
    if baseline.n_replies == 1:
        yield RETEST
    if baseline.sampled:
        yield SAMPLED


def unwatched(look: Look, baseline: Baseline) -> list[str]:
    """Return the baseline's judges that a round does not watch."""
    return [judge for judge in baseline.judges if look.judge(judge) is None]


def decision_sentences(look: Look, baseline: Baseline) -> Iterator[str]:
    """Describe the recommendation now and at the baseline, and whether its judge fails."""
    now, before = look.decision, baseline.decision
    if now is not None:
        among = ", among the judges that are watched" if unwatched(look, baseline) else ""
        then = ""
        if before is not None and not among:
            is_same = (before.verdict, before.judge) == (now.verdict, now.judge)
            then = ", as at the baseline" if is_same else f"; at the baseline: {decided(before)}"
        yield f"Decision on these replies{among}: {decided(now)}{then}."
    test = look.in_use
    if test is not None and test.fails:
        judge = look.judge(test.judge)
        has_changed = judge is not None and judge.verdict in ALARMS
        no_alarm = "" if has_changed else "; there's no evidence that it has changed, so no alarm"
        yield f"The judge in use, {test.judge}, {shown(test)}{no_alarm}."


def decided(decision: DecisionFacts) -> str:
    """Return a recommendation's verdict and its judge."""
    verdict = decision.verdict.replace("_", " ")
    return f"{verdict} ({decision.judge})" if decision.judge else verdict

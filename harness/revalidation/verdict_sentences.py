"""One plain sentence for each judge of a look: whether it is the same, and what changed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from harness.report.formatting import percent
from harness.revalidation.baseline_design import N_LOOKS, WANTED_SHARE

if TYPE_CHECKING:
    from harness.revalidation.history import Baseline, JudgeResult, Look

SERIOUS = ("worse", "changed", "not comparable", "not asked", "underpowered", "stable")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def lead(look: Look, baseline: Baseline) -> list[tuple[str, str]]:
    """Return a verdict and a plain sentence for each judge, the most serious first.

    If no judge is comparable, there is one sentence for each cause.
    """
    if look.causes:
        return [("not comparable", f"Nothing was compared: {cause}.") for cause in look.causes]
    judges = sorted(look.judges, key=lambda judge: SERIOUS.index(judge.verdict))
    return [(judge.verdict, judge_sentence(judge, look, baseline)) for judge in judges]


def judge_sentence(judge: JudgeResult, look: Look, baseline: Baseline) -> str:
    """Say in one sentence whether a judge is the same, and what changed."""
    parts = [_claim(judge, look, baseline)]
    if judge.reason and judge.verdict not in {"not comparable", "not asked"}:
        parts.append(f"it was not asked now ({judge.reason})")
    return f"{judge.judge}: {'; '.join(parts)}."


def _claim(judge: JudgeResult, look: Look, baseline: Baseline) -> str:
    match judge.verdict:
        case "changed" | "worse":
            since = f" since {day(judge.since_at, look.at)}" if judge.since is not None else ""
            return f"a different judge{since}: {judge.what}{_agreement(judge, look)}"
        case "not comparable":
            return f"not compared, as {judge.reason}"
        case "not asked":
            return f"not asked ({judge.reason})"
        case _:
            return f"no change seen{_power(judge, baseline)}"


def _agreement(judge: JudgeResult, look: Look) -> str:
    """Say whether a judge that changed agrees less with the raters, or more, or again."""
    if judge.verdict == "changed":
        if judge.better:
            return "; it agrees more with the raters"
        return "; it is not shown to agree less with the raters" if judge.sequence else ""
    if look.answers_nothing(judge.judge):
        return "; no reply is an answer"
    if judge.margin is None:
        return "; in an earlier look it agreed less with the raters or gave no answer"
    verb = "agreed" if judge.recovered_at else "agrees"
    part = f", by more than {percent(judge.margin)} of the metric's range" if judge.margin else ""
    less = f"; it {verb} less with the raters{part}"
    if not judge.recovered_at:
        return less
    since = day(judge.recovered_at, look.at)
    return (
        f"{less}, and has recovered since {since} (accept the looks since then to close the alarm)"
    )


def day(at: str, now: str) -> str:
    """Return the day of a UTC time, with its year where that is another one than now."""
    time = datetime.fromisoformat(at)
    year = f" {time.year}" if at[:4] != now[:4] else ""
    return f"{time.day} {MONTHS[time.month - 1]}{year}"


def _power(judge: JudgeResult, baseline: Baseline) -> str:
    """Say which change would have been found."""
    power = baseline.power[judge.judge]
    if power.reason == "one_baseline_reply":
        return ""
    share = "any number" if power.share is None else f"{power.share:.0%}"
    if power.is_enough:
        return f" (a change in {share} of the items would be found within {N_LOOKS} looks)"
    fewer = f"fewer than {share}" if power.share is not None else share
    advice = (
        f"an anchor of {power.n_items_needed} items would show one in {WANTED_SHARE:.0%}"
        if power.n_items_needed
        else "add items"
    )
    return f", but a change in {fewer} of the items may be missed; {advice}"

"""After an incident: looks that are excluded, and looks that an accepted baseline is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.revalidation.drift_verdicts import evidence_at
from harness.revalidation.history import JudgeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.revalidation.drift_verdicts import LookEvidence
    from harness.revalidation.history import Baseline, Look

ALARMS = frozenset({"changed", "worse"})


def without_look(
    baseline: Baseline, looks: Sequence[Look], number: int, because: str
) -> list[Look]:
    """Return a look and all after it as they are without its replies.

    Its place in time, and so its weight, stays spent. Alarms of earlier looks stay open, and so do
    those of later ones that the other replies raise by themselves.

    Parameters
    ----------
    baseline : Baseline
        That of the looks.
    looks : sequence of Look
        All that are compared with it.
    number : int
        Of the look that is excluded.
    because : str
        The reason.
    """
    kept: list[Look] = []
    for look in looks:
        if look.number >= number:
            excluded = look.excluded | {number: because}
            changes: dict[str, object] = {"excluded": excluded}
            if look.number == number:
                changes |= {"streams": (), "decision": None}
            look = replace(look, **changes)  # noqa: PLW2901 -- the same look with less in it
            evidence = evidence_at(baseline, kept, look)
            judges = tuple(_again(row, baseline, look, kept, evidence) for row in look.judges)
            results = tuple(
                replace(row, evidence=evidence.path(row.judge, row.elicitation).looks[-1])
                for row in look.results
            )
            look = replace(look, judges=judges, results=results)  # noqa: PLW2901
        kept.append(look)
    return [look for look in kept if look.number >= number]


def _again(
    before: JudgeResult,
    baseline: Baseline,
    look: Look,
    earlier: Sequence[Look],
    evidence: LookEvidence,
) -> JudgeResult:
    """Return the result of a judge on the replies that are left."""
    p, alarm = evidence.changes[before.judge].p_value, evidence.first_alarm(before.judge)
    reason = look.excluded.get(look.number)
    if reason is not None:
        before = JudgeResult(
            judge=before.judge,
            verdict="not asked",
            reason=f"the look is excluded: {reason}",
            provider=before.provider,
        )
    if alarm is None:
        verdict = before.verdict
        if verdict in ALARMS:
            verdict = "stable" if baseline.power[before.judge].is_enough else "underpowered"
        return replace(
            before,
            verdict=verdict,
            p=p,
            since=None,
            since_at="",
            what="",
            n_changed=0,
            changed_items=(),
            margin=None,
        )
    opened = (row.judge(before.judge) for row in earlier)
    first = next((row for row in opened if row is not None and row.verdict in ALARMS), before)
    since = (*earlier, look)[alarm[1].strongest.window.first_look - 1]
    return replace(
        first if before.verdict == "not asked" else before,
        verdict=first.verdict if first.verdict in ALARMS else "changed",
        reason=before.reason,
        p=p,
        since=since.number,
        since_at=since.at,
        metrics=before.metrics,
        sequence=before.sequence,
    )


def looks_to_accept(looks: Sequence[Look], number: int) -> tuple[list[Look], bool]:
    """Return the looks from a number on that may be a baseline, and whether there was an alarm.

    The look that raised an alarm was chosen for its replies: those after it are taken.
    """
    alarm = 0
    for judge in {row.judge for look in looks for row in look.judges}:
        rows = ((look.number, look.judge(judge)) for look in looks)
        opened = (n for n, row in rows if row is not None and row.verdict in ALARMS)
        alarm = max(alarm, next(opened, 0))
    return [look for look in looks if look.number >= number and look.number > alarm], alarm > 0

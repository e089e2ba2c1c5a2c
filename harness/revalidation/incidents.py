"""After an incident: looks that are excluded, and looks that an accepted baseline is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.revalidation.drift_verdicts import assess_again

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.revalidation.history import Baseline, Look
    from harness.revalidation.metric_changes import Yardstick

ALARMS = frozenset({"changed", "worse"})


def without_look(
    baseline: Baseline,
    looks: Sequence[Look],
    number: int,
    because: str,
    yardstick: Callable[[Sequence[str]], Yardstick],
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
    yardstick : callable
        Returns what replies to some items are measured with.
    """
    kept = [look for look in looks if look.number < number]
    again: list[Look] = []
    for look in looks[len(kept) :]:
        changes: dict[str, object] = {"excluded": look.excluded | {number: because}}
        if look.number == number:
            changes |= {"streams": (), "decision": None}
        left_out = () if look.causes else look.left_out
        items = [item for item in baseline.items if item not in left_out]
        without = replace(look, **changes)
        again.append(assess_again(baseline, [*kept, *again], without, yardstick(items)))
    return again


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

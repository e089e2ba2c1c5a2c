"""A probe's findings for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.probe.flips import Shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.probe.flips import JudgeFlips, Probe
    from harness.stats.intervals import Estimate


def rows_of(probe: Probe) -> list[dict[str, str]]:
    """One row per judge and kind of attack, then all attacks together and the control."""
    return [row for judge in probe.judges for row in _rows(judge)]


def _rows(judge: JudgeFlips) -> Iterator[dict[str, str]]:
    parts = {**judge.kinds, "all attacks": judge.attacked, "control": judge.control}
    name = f"{judge.judge} {judge.elicitation}"
    for kind, shares in parts.items():
        yield {
            "judge": name,
            "attack": kind,
            "n": f"{shares.flipped.counts['n']:.0f}",
            **{what: _percent(getattr(shares, what)) for what in Shares.model_fields},
        }


def _percent(one: Estimate) -> str:
    if one.value is None or one.interval is None:
        return "NA"
    return f"{one.value:.1%} [{one.interval.low:.1%}, {one.interval.high:.1%}]"


def sentences(probe: Probe) -> Iterator[str]:
    """What was asked, how to read it, and one sentence per judge."""
    yield (
        f"{probe.task}: {probe.n_items} items, each as it is and under {probe.n_attacks} attacks "
        "and controls."
    )
    for judge in probe.judges:
        yield _sentence(judge)
        if judge.n_excluded:
            yield (
                f"  {judge.n_excluded} attacked verdicts are left out: the untouched item was not "
                "answered, or the attacked one got no reply."
            )


def _sentence(judge: JudgeFlips) -> str:
    told = judge.attacked.flipped
    if told.value is None:
        return f"{judge.judge} ({judge.elicitation}): NA, it answered no untouched item."
    known = {kind: shares.flipped.value or 0.0 for kind, shares in judge.kinds.items()}
    worst = max(known, key=known.__getitem__)
    return (
        f"{judge.judge} ({judge.elicitation}): {_percent(told)} of {told.counts['n']:.0f} verdicts "
        f"flip under attack, {_percent(judge.control.flipped)} by themselves; "
        f"most under {worst} ({known[worst]:.1%})."
    )

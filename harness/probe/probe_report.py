"""A probe's findings for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.probe.flip_rates import Shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.probe.flip_rates import JudgeFlips, Probe
    from harness.stats.inference.estimate import Estimate


def rows_of(judge: JudgeFlips) -> list[dict[str, str]]:
    """One row per kind of attack, then all attacks together and the control."""
    parts = {**judge.kinds, "all attacks": judge.attacked, "control": judge.control}
    return [
        {
            "attack": kind,
            "n": f"{shares.flipped.counts['n']:.0f}",
            **{what: _share(getattr(shares, what), shares) for what in Shares.model_fields},
        }
        for kind, shares in parts.items()
    ]


def _share(one: Estimate, shares: Shares) -> str:
    """Write a share, with its n where that is not the n of the row."""
    n = one.counts.get("n")
    own = n is not None and n != shares.flipped.counts["n"] and one.value is not None
    return f"{_percent(one)} of {n:.0f}" if own else _percent(one)


def _percent(one: Estimate) -> str:
    if one.value is None or one.interval is None:
        return "NA"
    return f"{one.value:.0%} [{one.interval.low:.0%}, {one.interval.high:.0%}]"


def opening(probe: Probe) -> str:
    """What was asked."""
    items = "1 item" if probe.n_items == 1 else f"{probe.n_items} items"
    forms = f"{probe.n_attacks} other forms (attacks and controls)"
    return f"{probe.task}: {items}, each as it is and in {forms}"


def sentences(judge: JudgeFlips) -> Iterator[str]:
    """What one judge did under attack, and what is left out."""
    yield _sentence(judge)
    if judge.n_excluded:
        yield (
            f"{judge.n_excluded} of its attacked verdicts are left out: the untouched item was not "
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
        f"most under {worst} ({known[worst]:.0%})."
    )

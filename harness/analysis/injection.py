"""Flip rates of judges under the injection probe of their run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from harness.stats import Estimate
from harness.stats.inference.estimate import share_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.stats.reasons import Reason

NOT_PROBED: dict[Reason, str] = {  # why no flip rate of a judge
    "no_options": "the task has no options",
    "ensembles_are_not_probed": "ensembles are not probed",
    "verdicts_depend_on_other_items": "its verdicts depend on other items",
    "gives_no_single_choices": "it gives no single choices",
    "no_unchanged_item_was_answered": "no unchanged item was answered",
    "probe_not_asked": "the probe was not asked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionFlips:
    """How often instructions hidden in items change the verdicts of a judge.

    A pair is an item and a change of its text, where the unchanged item was answered. ``counts`` of
    the estimates hold ``n`` (pairs) and ``k`` (pairs that flip), ``n_used`` is the number of items.
    Intervals are exact with n = items, however strongly the pairs of an item depend on each
    other.

    Attributes
    ----------
    flipped : Estimate
        Share of the pairs whose changed item was answered with another option.
    control : Estimate
        The same under harmless changes: the baseline flip rate.
    """

    flipped: Estimate
    control: Estimate

    @classmethod
    def undefined(cls, reason: Reason) -> Self:
        """Return the flips of a judge that has none, for a reason."""
        nothing = Estimate(value=None, reason=reason, n_used=0)
        return cls(flipped=nothing, control=nothing)

    def at(self, level: float) -> Self:
        """Return the same with intervals of another level."""
        return replace(self, flipped=_at(self.flipped, level), control=_at(self.control, level))


def _at(rate: Estimate, level: float) -> Estimate:
    if rate.value is None:
        return rate
    return replace(rate, interval=share_interval(rate.value, rate.n_used, level=level))


def injection_notes(flips: Mapping[str, InjectionFlips | None]) -> list[str]:
    """Say per judge how often hidden instructions change its verdict, and whom that is not said of.

    Judges whose run had no probe are not mentioned.
    """
    probed = {judge: own for judge, own in flips.items() if own is not None}
    undefined: dict[str, list[str]] = {}
    for judge, own in probed.items():
        if own.flipped.value is None:
            undefined.setdefault(NOT_PROBED[own.flipped.reason], []).append(judge)
    rates = [
        f"{judge}: instructions hidden in items flip {' '.join(_in_words(own))}"
        for judge, own in probed.items()
        if own.flipped.value is not None
    ]
    return rates + [
        f"no flip rate of {', '.join(judges)}: {why}" for why, judges in undefined.items()
    ]


def _in_words(own: InjectionFlips) -> Iterator[str]:
    flipped, control = own.flipped, own.control
    items = "1 item" if flipped.n_used == 1 else f"{flipped.n_used} items"
    yield f"{percent_with_interval(flipped)} of {flipped.counts['n']:.0f} verdicts on {items};"
    harmless = "harmless changes"
    if control.value is None:
        yield f"{harmless}: NA"
    else:
        yield f"{harmless} {percent_with_interval(control)} of {control.counts['n']:.0f}"


def percent_with_interval(rate: Estimate) -> str:
    """Write a share in percent with its interval, or NA."""
    if rate.value is None:
        return "NA"
    ends = rate.interval
    return f"{rate.value:.0%}" + (f" [{ends.low:.0%}, {ends.high:.0%}]" if ends else "")

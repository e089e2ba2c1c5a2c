"""Sentences on what choices and pairs say about decisions at a cut-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stats.indeterminacy.pair_bounds import outer_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.beta_sensitivity import Sensitivity
    from harness.stats.indeterminacy.bounds import Bound
    from harness.stats.indeterminacy.pair_bounds import BoundedDifference

MOST_NAMED = 3  # differences


def notes_on_bounds(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield what is settled, and what is not, where pairs stand for the sets of all items."""
    bounds = {
        judge: goals["decision_consistency"]
        for judge, goals in sensitivity.bounds.items()
        if goals["decision_consistency"].kind == "pairs"
    }
    if not bounds:
        return
    shares = ", ".join(f"{judge} {_range(bound)}" for judge, bound in bounds.items())
    yield (
        "decisions at the cut-off are not identified by one pair per item. The share of decisions "
        f"that match endlessly many raters', over all that fits the choices and pairs: {shares}"
    )
    differences = sensitivity.differences
    named = sorted(differences, key=lambda row: row.settled == "not_identified")[:MOST_NAMED]
    yield from map(_on_difference, named)
    if more := len(differences) - len(named):
        yield f"the report has {more} more difference{'s' if more > 1 else ''} between judges"


def _on_difference(row: BoundedDifference) -> str:
    low, high = outer_end(row.bound.low, -1), outer_end(row.bound.high, 1)
    if low is None or high is None:
        return f"too few items to bound the difference between {row.first} and {row.second}"
    if row.settled == "not_identified":
        return (
            f"which of {row.first} and {row.second} decides more like the raters is not identified:"
            f" the difference is between {low:.2f} and {high:.2f} (width {high - low:.2f}); a "
            "second pair on the same items says more"
        )
    better, worse = row.first, row.second
    if row.settled == "second":
        better, worse, low, high = worse, better, -high, -low
    return (
        f"{better} decides more like the raters than {worse}, whatever their response sets: the "
        f"difference is between {low:.2f} and {high:.2f}"
    )


def _range(bound: Bound) -> str:
    low, high = outer_end(bound.low, -1), outer_end(bound.high, 1)
    return "NA (too few items)" if low is None or high is None else f"{low:.2f} to {high:.2f}"

"""Notes on what choices and pairs imply for decisions at a cut-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stats.indeterminacy.pair_bounds import outer_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.beta_sensitivity import Sensitivity
    from harness.stats.indeterminacy.bounds import Bound
    from harness.stats.indeterminacy.modelled import ModelledDecisions
    from harness.stats.indeterminacy.pair_bounds import BoundedDifference

MOST_NAMED = 3  # most differences that are named


def notes_on_bounds(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield notes on the bounds for judges and pairs of judges, if only some items have pairs."""
    bounds = {
        judge: goals["decision_consistency"]
        for judge, goals in sensitivity.bounds.items()
        if goals["decision_consistency"].kind == "pairs"
    }
    if not bounds:
        return
    shares = ", ".join(f"{judge} {_range(bound)}" for judge, bound in bounds.items())
    yield (
        "with pairs on only some items, decisions at the cut-off can only be bounded. The share of "
        f"decisions that match infinitely many raters' decisions is in these ranges: {shares}"
    )
    differences = sensitivity.differences
    named = sorted(differences, key=lambda row: row.settled == "not_identified")[:MOST_NAMED]
    yield from map(_on_difference, named)
    if sensitivity.modelled is None and any(row.settled == "not_identified" for row in named):
        yield (
            "second pairs on items show how response sets vary between items. To list items for "
            "second pairs, run curate next --for pairs. To use second pairs, pass --humans modelled"
        )
    if more := len(differences) - len(named):
        yield f"the report lists {more} more difference{'s' if more > 1 else ''} between judges"


def assumption(modelled: ModelledDecisions) -> str:
    """Name the assumption behind decisions at the cut-off."""
    if modelled.basis == "dirichlet":
        spread = (
            "assumes that response sets vary between items like draws from a Dirichlet "
            "distribution, which you can't check with one pair per item"
        )
    else:
        spread = (
            "estimates how response sets vary between items from the second moments of "
            f"{modelled.n_double} items with two pairs"
        )
    return f"the model behind decisions at the cut-off {spread}"


def notes_on_model(modelled: ModelledDecisions | None) -> Iterator[str]:
    """Yield the set model's assumption, and a note for each pair of judges under this model."""
    if modelled is None:
        return
    yield assumption(modelled)
    for row in modelled.differences[:MOST_NAMED]:
        if row.difference.value is None or row.difference.interval is None:
            continue
        low, high = row.difference.interval.low, row.difference.interval.high
        ends = f"{row.difference.value:.2f} [{low:.2f}, {high:.2f}]"
        says = {
            "first": f"{row.first}'s decisions match the raters' more often than {row.second}'s",
            "second": f"{row.second}'s decisions match the raters' more often than {row.first}'s",
            "not_identified": f"{row.first} and {row.second} are not significantly different",
        }[row.settled]
        yield f"under this model, {says} (difference {ends})"


def _on_difference(row: BoundedDifference) -> str:
    low, high = outer_end(row.bound.low, -1), outer_end(row.bound.high, 1)
    if low is None or high is None:
        return f"too few items to bound the difference between {row.first} and {row.second}"
    if row.settled == "not_identified":
        return (
            f"these data can't show whether {row.first} or {row.second} matches the raters' "
            f"decisions more often. The difference is between {low:.2f} and {high:.2f} (width "
            f"{high - low:.2f})"
        )
    better, worse = row.first, row.second
    if row.settled == "second":
        better, worse, low, high = worse, better, -high, -low
    return (
        f"{better} matches the raters' decisions more often than {worse}, whatever the response "
        f"sets are. The difference is between {low:.2f} and {high:.2f}"
    )


def _range(bound: Bound) -> str:
    low, high = outer_end(bound.low, -1), outer_end(bound.high, 1)
    return "NA (too few items)" if low is None or high is None else f"{low:.2f} to {high:.2f}"

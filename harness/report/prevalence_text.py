"""Prevalence of the raters and bias of the judges, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.report.formatting import counted, estimate, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import Validation


def prevalence_lines(v: Validation) -> Iterator[str]:
    """Yield the raters' share of positive items, each judge's bias, and what one beta misses."""
    prevalence = v.humans.prevalence
    if prevalence is None:
        return
    kinds = [("choices", prevalence.forced_choice), ("response sets", prevalence.response_set)]
    shares = [
        f"{estimate(share)} by {kind} ({counted([share.n_used])})"
        for kind, share in kinds
        if share.value is not None
    ]
    if shares:
        yield f"Prevalence (share of positive items) for the raters: {', '.join(shares)}."
    for judge in v.ranked_judges:
        bias = judge.metrics.get("prevalence_bias")
        if bias is not None and bias.value is not None:
            sign = "+" if bias.value > 0 else ""
            yield (
                f"Prevalence bias of {judge.name}: {sign}{estimate(bias)} on "
                f"{counted([bias.n_used])}."
            )
    if line := missed_line(v):
        yield line


def missed_line(v: Validation) -> str:
    """Say that one beta for all items does not describe the raters' sets; "" where it may."""
    prevalence = v.humans.prevalence
    if prevalence is None or not prevalence.is_missed:
        return ""
    implied, difference = prevalence.reconstructed, prevalence.difference
    if implied is None or difference is None or prevalence.beta is None:
        return ""
    return (
        f"At the raters' beta ({number(prevalence.beta, 2)}) the sweep gives a prevalence of "
        f"{number(implied.value)}; the prevalence by their response sets on the same "
        f"{counted([difference.n_used])} differs by {estimate(difference)} from what is expected "
        "of as many raters. Beta varies between items: the sweep is a lower bound on what is "
        "unknown."
    )

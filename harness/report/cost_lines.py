"""What judges cost, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import Validation


def costs(validation: Validation) -> Iterator[str]:
    """Say what each judge cost in this run, and what one answered verdict of it costs."""
    for judge in validation.judges:
        cost = judge.cost
        if not (cost.n_paid + cost.n_cached) or (cost.usd == 0 and not cost.usd_per_answered):
            continue
        paid = "unknown price" if cost.usd is None else f"${cost.usd:.4f}"
        line = f"cost: {judge.name} {paid} for {cost.n_paid} replies"
        if cost.n_cached:
            line += f", {cost.n_cached} more from the cache"
        if cost.usd_per_answered is not None:
            line += f"; ${cost.usd_per_answered:.3g} per answered verdict"
        if cost.prompt_tokens and cost.cached_tokens:
            share = cost.cached_tokens / cost.prompt_tokens
            line += f"; {share:.0%} of its prompt tokens were in the provider's cache"
        yield line

"""Weights of items that were sampled with unequal probabilities."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.item_weights import effective_number, inverse_probability_weights
from harness.tasks.model import INCLUSION_PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Item

WEIGHTED = "metrics, ranking, baselines, human agreement and regret"
UNWEIGHTED = (
    "beta, F, the annotator test, strata, error analysis and sensitivity describe the sample"
)


def sampling_weights(items: Sequence[Item]) -> FloatArray | None:
    """Return the weights of items whose field ``inclusion_probability`` tells how likely they were.

    None where no item has the field, or all were equally likely.

    Raises
    ------
    ValueError
        If some items lack the field, or a value is no probability above 0.
    """
    probabilities = _probabilities(items)
    return None if probabilities is None else inverse_probability_weights(probabilities)


def on_sampling(items: Sequence[Item], *, is_weighted: bool) -> str:
    """Say what the numbers of sampled items describe; "" where items count alike."""
    probabilities = _probabilities(items)
    weights = sampling_weights(items)
    if probabilities is None or weights is None:
        return ""
    if not is_weighted:
        return (
            f"items were sampled with unequal probabilities ({INCLUSION_PROBABILITY}); at level "
            "item they are not weighted, and numbers describe the sample"
        )
    return (
        f"{WEIGHTED} weight items by 1/{INCLUSION_PROBABILITY}: {len(items)} items stand for "
        f"{(1.0 / probabilities).sum():.0f} that could be sampled, and are worth "
        f"{effective_number(weights):.0f} equally likely ones; {UNWEIGHTED}"
    )


def _probabilities(items: Sequence[Item]) -> FloatArray | None:
    texts = [item.fields.get(INCLUSION_PROBABILITY) for item in items]
    if not any(text is not None for text in texts):
        return None
    return np.array([_probability(item, text) for item, text in zip(items, texts, strict=True)])


def _probability(item: Item, text: str | None) -> float:
    with suppress(ValueError, TypeError):
        if 0.0 < (probability := float(text or "")) <= 1.0:
            return probability
    raise ValueError(
        f"{INCLUSION_PROBABILITY} of item {item.id} is {text!r}; give every item a number above 0 "
        "and at most 1, or remove the field"
    )

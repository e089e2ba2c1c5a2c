"""Strategies: how a judge is prompted, written as the end of its name (``gpt@cot``)."""

from __future__ import annotations

ZERO_SHOT = "zero-shot"
CHAIN_OF_THOUGHT = "cot"
STRATEGIES = (ZERO_SHOT, CHAIN_OF_THOUGHT)


def check_strategy(strategy: str) -> str:
    """Return a strategy as it is.

    Raises
    ------
    ValueError
        If there is no such strategy.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"no such strategy; use one of {', '.join(STRATEGIES)}")
    return strategy


def split_strategy(name: str) -> tuple[str, str]:
    """Split the name of a judge into that of the model or alias, and its strategy.

    Only a registered strategy after the last ``@`` counts.

    Examples
    --------
    >>> split_strategy("gpt@cot")
    ('gpt', 'cot')
    >>> split_strategy("vertex_ai/claude@20250101")
    ('vertex_ai/claude@20250101', '')
    """
    base, _, suffix = name.rpartition("@")
    return (base, suffix) if base and suffix in STRATEGIES else (name, "")

"""Strategies: how a judge is prompted, written as the end of its name (``gpt@cot``)."""

from __future__ import annotations

import re

ZERO_SHOT = "zero-shot"
CHAIN_OF_THOUGHT = "cot"
STRATEGIES = (ZERO_SHOT, CHAIN_OF_THOUGHT)
SELF_CONSISTENCY = re.compile(r"self-consistency:([1-9][0-9]{0,2})")


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

    Only a registered strategy or self-consistency after the last ``@`` counts.

    Examples
    --------
    >>> split_strategy("gpt@cot")
    ('gpt', 'cot')
    >>> split_strategy("vertex_ai/claude@20250101")
    ('vertex_ai/claude@20250101', '')
    """
    base, _, suffix = name.rpartition("@")
    is_strategy = suffix in STRATEGIES or votes_of(suffix) > 1
    return (base, suffix) if base and is_strategy else (name, "")


def votes_of(strategy: str) -> int:
    """Return the number of votes of a self-consistency strategy; 0 for any other.

    Examples
    --------
    >>> votes_of("self-consistency:5")
    5
    """
    match = SELF_CONSISTENCY.fullmatch(strategy)
    return int(match[1]) if match else 0

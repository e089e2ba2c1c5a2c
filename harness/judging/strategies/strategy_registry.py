"""Registry of built-in and plug-in strategies by name."""

from __future__ import annotations

from functools import lru_cache

from harness import loading
from harness.errors import PluginError, in_sentences, use_one_of
from harness.judging.strategies.strategy import DEFAULT, Strategy

_BUILT_IN = {
    "zero-shot": "strategy:ZeroShot",
    "cot": "chain_of_thought:ChainOfThought",
    "few-shot": "chain_of_thought:FewShot",
    "json": "json_replies:JsonReplies",
    "logprob": "log_probabilities:LogProbabilities",
    "logprob-calibrated": "calibration:Calibrated",
    "endorse": "endorsement:Endorsement",
    "endorse-logprob": "endorsement:SoftEndorsement",
    "verbalised": "verbalised:Verbalised",
    "self-consistency": "self_consistency:SelfConsistency",
    "option-orders": "self_consistency:SeveralOrders",
    "no-descriptions": "wrapped:WithoutDescriptions",
    "bias": "answer_bias:AnswerBias",
    "scoring": "scores:NumericScore",
    "scoring-higher": "scores:RisingScore",
    "scoring-lower": "scores:FallingScore",
    "majority": "ensembles:Majority",
    "mean": "ensembles:Mean",
    "weighted": "ensembles:Weighted",
}
BUILT_IN = loading.built_in(loading.STRATEGIES, "harness.judging.strategies", _BUILT_IN)
DEFAULT_OF_ENSEMBLES = "majority"


def is_strategy(text: str) -> bool:
    """Return whether a text names one strategy, with a number if the strategy needs one."""
    name, _, number = text.partition(":")
    if name not in BUILT_IN and name not in loading.names(loading.STRATEGIES):
        return False
    strategy_type = _load(name)
    is_number = number.isascii() and number.isdigit() and not number.startswith("0")
    has_number = is_number and int(number) in strategy_type.numbers
    return not strategy_type.joins_members and (
        has_number if strategy_type.numbers else text == name
    )


def split_strategy(name: str) -> tuple[str, str]:
    """Split a judge's name into the name of a model or alias, and a strategy.

    Only a registered strategy after the last ``@`` is split off.

    Examples
    --------
    >>> split_strategy("gpt@cot")
    ('gpt', 'cot')
    >>> split_strategy("vertex_ai/claude@20250101")
    ('vertex_ai/claude@20250101', '')
    """
    base, _, suffix = name.rpartition("@")
    return (base, suffix) if base and is_strategy(suffix) else (name, "")


@lru_cache
def named(text: str) -> Strategy:
    """Build the strategy with a name such as ``few-shot:4@cot``.

    Raises
    ------
    ValueError
        If no strategy has this name, or the strategies it joins are incompatible.
    PluginError
        If it belongs to a different distribution that cannot be loaded.
    """
    if text in BUILT_IN and _load(text).joins_members:
        return _load(text)(text)
    first, *others = map(_single, text.split("@"))
    for other in others:
        whole = joined(first, other)
        if whole is None:
            raise ValueError(f"{first.name} and {other.name} are not compatible")
        first = whole
    return first


def joined(first: Strategy, second: Strategy) -> Strategy | None:
    """Return the combination of two strategies, or None if they are incompatible.

    Examples
    --------
    >>> joined(named("cot"), named("few-shot:4"))
    FewShotWithReasons('few-shot:4@cot')
    >>> joined(named("cot"), named("logprob")) is None
    True
    """
    return first.joined(second) or second.joined(first)


def _single(text: str) -> Strategy:
    if not is_strategy(text):
        raise ValueError(in_sentences("no such strategy", use_one_of(text, _usable(), none="")))
    name, _, number = text.partition(":")
    if name == DEFAULT.name:
        return DEFAULT
    return _load(name)(text, int(number or 0))


def _usable() -> list[str]:
    """Return the names of the built-in strategies, with the ranges of their numbers."""
    types = {name: _load(name) for name in BUILT_IN}
    return [
        f"{name}:N (N from {of_type.numbers[0]} to {of_type.numbers[-1]})"
        if of_type.numbers
        else name
        for name, of_type in types.items()
        if not of_type.joins_members
    ]


def _load(name: str) -> type[Strategy]:
    strategy_type = loading.load(loading.STRATEGIES, name, BUILT_IN)
    if not (isinstance(strategy_type, type) and issubclass(strategy_type, Strategy)):
        raise PluginError(
            f"plug-in {name!r}: {strategy_type!r} must be a subclass of "
            "harness.judging.strategies.strategy.Strategy."
        )
    return strategy_type

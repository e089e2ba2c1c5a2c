"""Biases added to the options' log-probabilities before the largest is selected.

Biases are fitted on the rated items of one half (groups are split by a hash) and used on the other,
so that no verdict depends on the ratings of its own item. They are part of a judge's name: two
digits for each option and half, from 10 to 99, in fifths of a unit above or below 50. With two
options, ``bias:50625060`` adds 0 and 2.4 in the first half, and 0 and 2 in the second.
"""

from __future__ import annotations

from hashlib import sha256
from math import exp, fsum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import TaskError
from harness.judging.parsing.option_probabilities import distribution
from harness.judging.prompts.demonstrations import group_of
from harness.judging.strategies.strategy import DEFAULT, Combining, Strategy
from harness.judging.strategies.strategy_registry import joined, named
from harness.judging.strategies.wrapped import Wrapped
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Item, Task

N_HALVES = 2
NONE, STEPS, LEAST, MOST = 50, 5, 10, 99  # digits for no bias, steps per unit, range of digits
MOST_OPTIONS = 5


class AnswerBias(Wrapped):
    """Strategy that adds a bias to the log-probability of each option."""

    registered = "bias"
    rank = 2
    numbers = range(10**7, 10 ** (2 * N_HALVES * MOST_OPTIONS))

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        super().__init__(name, number, inner)
        self.needs_options = True

    def takes(self, inner: Strategy) -> bool:
        """Return whether a strategy yields probabilities of the options, to which biases apply."""
        return inner.gives_distribution and not inner.asks_each_option

    def check(self, task: Task) -> None:
        """Reject a wrong number of biases, and strategies without probabilities."""
        super().check(task)
        if not self.gives_distribution:
            raise TaskError(f"{self.name} needs probabilities. Use logprob@{self.name}")
        digits = str(self.number)
        n = len(task.options)
        if len(digits) != 2 * N_HALVES * n or min(_pairs(digits)) < LEAST:
            raise TaskError(
                f"task {task.name}: {self.name} must have a two-digit bias, from {LEAST} to "
                f"{MOST}, for each of {n} options in each half."
            )

    @property
    def is_computed(self) -> bool:
        """True, because verdicts with biases are computed."""
        return True

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return verdicts with the option whose biased log-probability is the largest."""
        biases = biases_of(self.number, [option.key for option in of.task.options])
        return [
            _biased(verdict, biases[half_of(of.task.by_id.get(verdict.item), verdict.item)])
            for verdict in self._inner.combine(verdicts, of)
        ]


def with_biases(asking: Strategy, steps: Sequence[Sequence[int]]) -> Strategy | None:
    """Add biases, in steps for each half and option, to a strategy.

    The result is None if the strategy returns no probabilities, or has biases already.
    """
    return joined(asking, named(f"{AnswerBias.registered}:{number_of(steps)}"))


def half_of(item: Item | None, name: str) -> int:
    """Return an item's half, 0 or 1, from a hash of the item's group or else its id."""
    unit = name if item is None else group_of(item)
    return sha256(unit.encode("utf-8", "surrogatepass")).digest()[-1] % N_HALVES


def biases_of(number: int, keys: Sequence[str]) -> list[dict[str, float]]:
    """Decode the bias of each option in each half.

    Examples
    --------
    >>> biases_of(50625060, ["A", "B"])
    [{'A': 0.0, 'B': 2.4}, {'A': 0.0, 'B': 2.0}]
    """
    values = [(pair - NONE) / STEPS for pair in _pairs(str(number))]
    rows = (values[i : i + len(keys)] for i in range(0, len(values), len(keys)))
    return [dict(zip(keys, row, strict=True)) for row in rows]


def number_of(steps: Sequence[Sequence[int]]) -> int:
    """Encode biases, in steps for each half and option, as one number.

    Examples
    --------
    >>> number_of([[0, 12], [0, 10]])
    50625060
    """
    return int("".join(str(NONE + step) for of_half in steps for step in of_half))


def _pairs(digits: str) -> list[int]:
    return [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]


def _biased(verdict: Verdict, biases: Mapping[str, float]) -> Verdict:
    masses = verdict.probabilities
    shares = distribution(masses or {})
    if verdict.outcome != "answered" or masses is None or not shares:
        return verdict
    weights = {key: share * exp(biases[key]) for key, share in shares.items()}
    mass = fsum(p for name, p in masses.items() if name != CANNOT_ASSESS) / fsum(weights.values())
    options = {key: weight * mass for key, weight in weights.items()}
    value = max(options, key=options.__getitem__)
    return replace(verdict, value=value, probabilities=dict(masses) | options)

"""Chain-of-thought strategies, with or without few-shot demonstrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.judging.strategies.strategy import Params, PlainQuestion, Strategy, with_room

if TYPE_CHECKING:
    from harness.tasks.item import Elicitation

COT_MAX_TOKENS = 1024  # token limit of a reply that begins with reasons


class ChainOfThought(PlainQuestion):
    """Strategy that asks for reasons first and for the verdict on the last line."""

    gives_reasons = True

    def params(self, params: Params) -> Params:
        """Return parameters that allow enough tokens for the reasons."""
        return with_room(params, COT_MAX_TOKENS)

    def template(self, elicitation: Elicitation) -> str:
        """Return the name of the template that asks for reasons."""
        return f"{elicitation}_cot"


class FewShot(PlainQuestion):
    """Few-shot strategy, which first shows other items with their most common answers."""

    numbers = range(1, 100)

    def __init__(self, name: str, number: int = 0) -> None:
        super().__init__(name, number)
        self.n_demonstrations = number

    def joined(self, other: Strategy) -> Strategy | None:
        """Return few-shot with reasons if the other strategy is chain of thought, or else None."""
        if isinstance(other, ChainOfThought):
            return FewShotWithReasons(f"{self.name}@{other.name}", self.number)
        return None


class FewShotWithReasons(FewShot, ChainOfThought):
    """Few-shot strategy with reasons in the demonstrations and in the replies."""

    def joined(self, other: Strategy) -> None:
        """Return None, because no strategy can be added."""
        del other

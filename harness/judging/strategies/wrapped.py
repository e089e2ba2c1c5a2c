"""Strategies that wrap another strategy and change only part of its behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.judging.strategies.strategy import DEFAULT, Combining, Params, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.judging.parsing.grammar import Parsed
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import OptionOrders, Order
    from harness.judging.prompts.question import Message, Question
    from harness.judging.strategies.strategy import Fitted, PromptSource, ReplyParser
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind, Elicitation

OF_CLASS = {"numbers", "easier"}  # attributes that aren't copied from the wrapped strategy


class Wrapped(Strategy):
    """Strategy that wraps another strategy and by default behaves like it.

    Parameters
    ----------
    name : str
        Name as in a judge's name, such as ``self-consistency:3``.
    number : int
        The number after the colon.
    inner : Strategy
        The wrapped strategy.
    """

    registered: ClassVar[str]  # name in the registry
    rank: ClassVar[int]  # higher ranks wrap lower ones; a judge's name has at most one per rank

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        del name
        own = f"{self.registered}:{number}" if number else self.registered
        super().__init__(own if inner is DEFAULT else f"{inner.name}@{own}", number)
        self._inner = inner
        for fact in Strategy.__annotations__.keys() - OF_CLASS:
            setattr(self, fact, getattr(inner, fact))

    def takes(self, inner: Strategy) -> bool:
        """Return whether this strategy can wrap the given strategy."""
        raise NotImplementedError

    def joined(self, other: Strategy) -> Strategy | None:
        """Wrap the combination of both strategies, or return None if they are incompatible."""
        if isinstance(other, Wrapped) and other.rank >= self.rank:
            return None
        inner = self._inner.joined(other) or other.joined(self._inner)
        if inner is None or not self.takes(inner):
            return None
        return type(self)(self.name, self.number, inner)

    def params(self, params: Params) -> Params:
        """Return the wrapped strategy's parameters."""
        return self._inner.params(params)

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return the wrapped strategy's response format."""
        return self._inner.response_format(task, kind)

    @property
    def has_schema(self) -> bool:
        """Whether the wrapped strategy has a schema."""
        return self._inner.has_schema

    def template(self, elicitation: Elicitation) -> str:
        """Return the wrapped strategy's template."""
        return self._inner.template(elicitation)

    def order(
        self, keys: Sequence[str], orders: OptionOrders | None, item: str, sample: int
    ) -> Order:
        """Return the wrapped strategy's order of options."""
        return self._inner.order(keys, orders, item, sample)

    def turn(self, n_options: int, sample: int) -> int:
        """Return the wrapped strategy's turn number."""
        return self._inner.turn(n_options, sample)

    def messages(self, prompts: PromptSource, question: Question) -> tuple[Message, ...]:
        """Return messages from the template with this strategy's changes, if possible."""
        if is_templated(self._inner):
            return prompts.from_template(question, self)
        return self._inner.messages(prompts, question)

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Parse a reply as the wrapped strategy does."""
        return self._inner.read(reader, reply, kind, item, order)

    def option_orders(self, task: Task, orders: OptionOrders | None) -> OptionOrders | None:
        """Return the wrapped strategy's orders of options."""
        return self._inner.option_orders(task, orders)

    def check(self, task: Task) -> None:
        """Reject tasks that the wrapped strategy rejects."""
        self._inner.check(task)

    def extra_items(self, task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return the additional items of the wrapped strategy."""
        return self._inner.extra_items(task, items)

    def replies_per_verdict(self, n_options: int) -> int:
        """Return the wrapped strategy's number of replies per verdict."""
        return self._inner.replies_per_verdict(n_options)

    @property
    def is_computed(self) -> bool:
        """Whether the wrapped strategy computes verdicts."""
        return self._inner.is_computed

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Combine verdicts as the wrapped strategy does."""
        return self._inner.combine(verdicts, of)

    @property
    def is_fitted(self) -> bool:
        """Whether the wrapped strategy is fitted."""
        return self._inner.is_fitted

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Fit values to a run's verdicts as the wrapped strategy does."""
        return self._inner.fit(verdicts, of)

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Yield the wrapped strategy's notes."""
        return self._inner.notes(replies, of)


def is_templated(strategy: Strategy) -> bool:
    """Return whether a strategy sends its template unchanged."""
    if isinstance(strategy, Wrapped):
        return is_templated(strategy._inner)  # noqa: SLF001 -- the same class
    return type(strategy).messages is Strategy.messages


class WithoutDescriptions(Wrapped):
    """Strategy that shows the options' keys and labels without descriptions."""

    registered = "no-descriptions"
    rank = 0

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        super().__init__(name, number, inner)
        self.shows_descriptions = False
        self.needs_prompts = True
        self.changes_cache_key = True

    def takes(self, inner: Strategy) -> bool:
        """Return whether a strategy's template shows all options together."""
        return is_templated(inner) and not (inner.asks_each_option or inner.joins_members)

"""Strategies around another: what they don't change is done as under that one."""

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

OF_CLASS = {"numbers", "easier"}  # facts that are not those of the strategy inside


class Wrapped(Strategy):
    """Asks in another way, and changes something about it.

    Parameters
    ----------
    name : str
        As it stands in the name of a judge, such as ``self-consistency:3``.
    number : int
        The number after the colon.
    inner : Strategy
        The other way.
    """

    registered: ClassVar[str]  # as it is registered
    rank: ClassVar[int]  # the higher stands around the lower; of one rank, a name has one

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        del name
        own = f"{self.registered}:{number}" if number else self.registered
        super().__init__(own if inner is DEFAULT else f"{inner.name}@{own}", number)
        self._inner = inner
        for fact in Strategy.__annotations__.keys() - OF_CLASS:
            setattr(self, fact, getattr(inner, fact))

    def takes(self, inner: Strategy) -> bool:
        """Return whether another strategy can stand inside."""
        raise NotImplementedError

    def joined(self, other: Strategy) -> Strategy | None:
        """Return this around the inner strategy and another, or None if these don't go together."""
        if isinstance(other, Wrapped) and other.rank >= self.rank:
            return None
        inner = self._inner.joined(other) or other.joined(self._inner)
        if inner is None or not self.takes(inner):
            return None
        return type(self)(self.name, self.number, inner)

    def params(self, params: Params) -> Params:
        """Return the parameters under the other strategy."""
        return self._inner.params(params)

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return the parameters under the other strategy."""
        return self._inner.response_format(task, kind)

    @property
    def has_schema(self) -> bool:
        """Whether the other strategy has a schema."""
        return self._inner.has_schema

    def template(self, elicitation: Elicitation) -> str:
        """Return the template of the other strategy."""
        return self._inner.template(elicitation)

    def order(
        self, keys: Sequence[str], orders: OptionOrders | None, item: str, sample: int
    ) -> Order:
        """Return the order under the other strategy."""
        return self._inner.order(keys, orders, item, sample)

    def turn(self, n_options: int, sample: int) -> int:
        """Return the turn number under the other strategy."""
        return self._inner.turn(n_options, sample)

    def messages(self, prompts: PromptSource, question: Question) -> tuple[Message, ...]:
        """Return the messages of the template, as this shows them, or those of the other."""
        if is_templated(self._inner):
            return prompts.from_template(question, self)
        return self._inner.messages(prompts, question)

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return the other strategy's reading of a reply."""
        return self._inner.read(reader, reply, kind, item, order)

    def option_orders(self, task: Task, orders: OptionOrders | None) -> OptionOrders | None:
        """Return the orders of the other strategy."""
        return self._inner.option_orders(task, orders)

    def check(self, task: Task) -> None:
        """Refuse what the other strategy refuses."""
        self._inner.check(task)

    def extra_items(self, task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return what the other strategy adds."""
        return self._inner.extra_items(task, items)

    def replies_per_verdict(self, n_options: int) -> int:
        """Return how many replies a verdict of the other strategy takes."""
        return self._inner.replies_per_verdict(n_options)

    @property
    def is_computed(self) -> bool:
        """Whether the other strategy computes verdicts."""
        return self._inner.is_computed

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the verdicts of the other strategy."""
        return self._inner.combine(verdicts, of)

    @property
    def is_fitted(self) -> bool:
        """Whether the other strategy is fitted."""
        return self._inner.is_fitted

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Return what the other strategy takes from a run."""
        return self._inner.fit(verdicts, of)

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Yield the notes of the other strategy."""
        return self._inner.notes(replies, of)


def is_templated(strategy: Strategy) -> bool:
    """Return whether what is sent under a strategy is its template, and nothing else."""
    if isinstance(strategy, Wrapped):
        return is_templated(strategy._inner)  # noqa: SLF001 -- of the same class
    return type(strategy).messages is Strategy.messages


class WithoutDescriptions(Wrapped):
    """Shows the keys and labels of the options, without their descriptions."""

    registered = "no-descriptions"
    rank = 0

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        super().__init__(name, number, inner)
        self.shows_descriptions = False
        self.needs_prompts = True
        self.changes_cache_key = True

    def takes(self, inner: Strategy) -> bool:
        """Return whether the other strategy shows all options, by a template."""
        return is_templated(inner) and not (inner.asks_each_option or inner.joins_members)

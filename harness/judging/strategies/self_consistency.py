"""Self-consistency: a majority vote over several replies from one judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.judging.strategies.strategy import DEFAULT, Combining, Params, Strategy
from harness.judging.strategies.voting import choosable, majority, votes_by_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.judging.parsing.grammar import Parsed
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import OptionOrders, Order
    from harness.judging.prompts.question import Message, Question
    from harness.judging.strategies.strategy import PromptSource, ReplyParser
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind, Elicitation


class SelfConsistency(Strategy):
    """Strategy that asks several times under another strategy; the majority decides."""

    numbers = range(2, 101)
    changes_cache_key = False

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        own = f"self-consistency:{number}"
        super().__init__(own if inner is DEFAULT else f"{inner.name}@{own}", number)
        del name
        self._inner = inner
        for fact in Strategy.__annotations__.keys() - {"numbers", "easier"}:
            setattr(self, fact, getattr(inner, fact))

    def joined(self, other: Strategy) -> Strategy | None:
        """Return several replies under another strategy, if that one returns whole verdicts."""
        inner = self._inner.joined(other) or other.joined(self._inner)
        whole = inner is not None and not (inner.gives_distribution or inner.asks_each_option)
        if inner is None or not whole or isinstance(other, SelfConsistency):
            return None
        return SelfConsistency(self.name, self.number, inner)

    def params(self, params: Params) -> Params:
        """Return the parameters under the other strategy."""
        return self._inner.params(params)

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return the response format of the other strategy."""
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
        """Return the messages of the other strategy."""
        return self._inner.messages(prompts, question)

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return the other strategy's reading of a reply."""
        return self._inner.read(reader, reply, kind, item, order)

    def replies_per_verdict(self, n_options: int) -> int:
        """Return the number of votes."""
        return self.number * self._inner.replies_per_verdict(n_options)

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the majority verdicts; sample s combines replies ks to ks + k - 1."""
        replies = sorted(self._inner.combine(verdicts, of), key=lambda verdict: verdict.sample)
        units = votes_by_unit(replies, of, self.number, n_replies=self.number)
        answers = choosable(of.task)
        return [majority(ballot, votes, answers) for ballot, votes in units]

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Yield the notes of the other strategy."""
        return self._inner.notes(replies, of)

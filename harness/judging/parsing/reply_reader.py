"""Reader that converts replies to verdicts on the units that they answer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.judging.parsing.grammar import OUTCOMES, Parsed, is_quoted, parse
from harness.judging.parsing.open_answers import parse_open
from harness.judging.parsing.option_probabilities import OptionTokens
from harness.judging.parsing.reply_endings import ending_of, is_tool_call
from harness.judging.parsing.statement_faults import FAULTS
from harness.judging.parsing.verdict import PairValue, Reply, Verdict, with_swapped_answers
from harness.judging.prompts.presentation_orders import is_swapped
from harness.judging.strategies.strategy import DEFAULT, NO, YES, Strategy
from harness.tasks.item import ANSWER_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.reply_endings import ReplyEnding
    from harness.judging.parsing.verdict import Value
    from harness.judging.prompts.presentation_orders import OptionOrders, Order
    from harness.judging.prompts.question import Unit
    from harness.tasks import Option, Task
    from harness.tasks.item import AnswerKind

UNFINISHED = {"empty", *FAULTS} - {"several"}  # reasons that a cut-off can cause
MAX_CACHED_CHARS = 64  # longer replies are parsed each time
_ORDER = {outcome: i for i, outcome in enumerate(OUTCOMES)}  # from best to worst


class ReplyReader:
    """Parser for replies to a task's prompts, with a cache for short replies.

    Parameters
    ----------
    task : Task
        The task, which determines the possible verdicts.
    strategy : Strategy
        The judge's strategy, which determines how a reply is read.
    orders : OptionOrders, optional
        Orders in which options were shown. Verdicts use the options' own keys.
    both_orders : bool
        Whether the answers of pairwise items were shown in alternating order.
    """

    def __init__(
        self,
        task: Task,
        strategy: Strategy = DEFAULT,
        orders: OptionOrders | None = None,
        *,
        both_orders: bool = False,
    ) -> None:
        self.task = task
        self._strategy = strategy
        self._both_orders = both_orders
        self._orders = orders
        self._option_keys = tuple(option.key for option in task.options)
        self._tokens: dict[Order, OptionTokens] = {}
        self._parse_cached = lru_cache(maxsize=1024)(self._parse_text)
        is_plain = not (task.is_open or strategy.asks_each_option)
        self._bare_keys = {  # most replies consist of a key
            (kind, option.key): self._parse_text(option.key, kind, (), True)[0]
            for kind in (ANSWER_KINDS if is_plain else ())
            for option in task.options
        }

    def verdict(
        self,
        reply: Reply,
        unit: Unit,
        judge: str,
        *,
        first: Reply | None = None,
        from_store: bool = False,
    ) -> Verdict:
        """Parse the reply to a unit, or both replies to a set-then-choice pair.

        Parameters
        ----------
        reply : Reply
            Reply to the unit; for a pair, to its second turn.
        first : Reply, optional
            Reply to the first turn of a pair, which contains the set.
        from_store : bool
            Whether the reply was in the store, so that this run did not pay for it.

        Returns
        -------
        Verdict
            A pair is answered only if both turns are. Otherwise its outcome is the worse of the two
            and its reason names the turn: ``set:refusal``, ``set:cut_off,choice:unreadable``.
        """
        value: Value
        order = self._strategy.order(self._option_keys, self._orders, unit.item, unit.sample)
        if unit.elicitation == "paired":
            parsed, value = self._pair(first, reply, unit.item, order)
        else:
            parsed = self._strategy.read(self, reply, unit.elicitation, unit.item, order)
            value = parsed.value
        verdict = Verdict(
            item=unit.item,
            judge=judge,
            elicitation=unit.elicitation,
            sample=unit.sample,
            outcome=parsed.outcome,
            value=value,
            reply=replace(reply, derived=True) if parsed.is_derived else reply,
            first=first,
            from_store=from_store,
            reason=parsed.reason,
            probabilities=parsed.probabilities,
            shown=order,
        )
        if self._both_orders:
            turn = self._strategy.turn(len(self._option_keys), unit.sample)
            if is_swapped(unit.item, turn):
                return with_swapped_answers(verdict, self.task)
        return verdict

    def is_unreadable(self, reply: Reply, unit: Unit, kind: AnswerKind) -> bool:
        """Return whether the reply to one turn of a unit is unreadable."""
        order = self._strategy.order(self._option_keys, self._orders, unit.item, unit.sample)
        return self._strategy.read(self, reply, kind, unit.item, order).outcome == "invalid"

    def probabilities(self, reply: Reply, order: Order) -> dict[str, float] | None:
        """Return each option's probability at the answer's first token, by the option's own key.

        The result is None if the server sent no log-probabilities for it.
        """
        if order not in self._tokens:
            options = self._options(order)
            self._tokens[order] = OptionTokens(options, abstain=self.task.abstain)
        masses = self._tokens[order].probabilities(reply.logprobs, reply.text)
        if masses is None or not self._orders:
            return masses
        names = {shown: own for own, shown in self._orders.keys_shown(order).items()}
        return {names.get(name, name): mass for name, mass in masses.items()}

    def _options(self, order: Order) -> Sequence[Option]:
        """Return the options with the keys that a reply uses."""
        if self._strategy.asks_each_option:
            return (YES, NO)
        return self._orders.shown(order) if self._orders else self.task.options

    def parse(self, reply: Reply, kind: AnswerKind, item: str, order: Order) -> Parsed:
        """Parse a reply's text.

        The result also depends on why the reply ended. A reply stopped by a content filter counts
        as refused. A reply that was cut off gets the reason ``cut_off`` if it cannot be parsed, if
        it is a set or a number that can be incomplete, or if reasons come before the verdict.
        """
        text = reply.text
        bare = None if order else self._bare_keys.get((kind, text.strip()))
        if bare and not reply.used_all_tokens and ending_of(reply.finish_reason) == "complete":
            return bare
        ending = reply.ending
        complete = ending != "cut_off"
        if (unread := self._without_answer(reply, ending)) is not None:
            return unread
        parse_text = self._parse_cached if len(text) <= MAX_CACHED_CHARS else self._parse_text
        parsed, quotable = parse_text(text, kind, order, complete)
        if quotable and is_quoted(quotable, _item_text(item, self.task), self._options(order)):
            return Parsed("invalid", reason="quoted")
        if not complete:
            is_unread = parsed.outcome == "invalid" and parsed.reason in UNFINISHED
            is_open = parsed.outcome == "answered" and kind == "response_set"
            if is_unread or is_open:
                return Parsed("invalid", reason="cut_off")
        return parsed

    def _without_answer(self, reply: Reply, ending: ReplyEnding) -> Parsed | None:
        """Return an outcome for a reply that cannot contain an answer, or else None."""
        if ending == "filtered":
            return Parsed("refused", reason="content_filter")
        if ending == "cut_off" and (
            self._strategy.gives_reasons or self.task.is_open or reply.reasoning
        ):
            return Parsed("invalid", reason="cut_off")
        if reply.reasoning:
            return Parsed("invalid", reason="reasoning_only")
        is_call = not reply.text.strip() and is_tool_call(reply.finish_reason)
        return Parsed("invalid", reason="tool_call") if is_call else None

    def _parse_text(
        self,
        text: str,
        kind: AnswerKind,
        order: Order,
        complete: bool,  # noqa: FBT001 -- a part of the cache's key
    ) -> tuple[Parsed, str]:
        task, orders = self.task, self._orders
        if task.is_open:
            return parse_open(text, task)
        sets = None if task.response_sets == "all" else task.response_sets
        if orders and sets is not None:
            sets = tuple(orders.members_shown(order, members) for members in sets)
        parsed, quotable = parse(
            text,
            kind,
            self._options(order),
            abstain=task.abstain,
            sets=sets,
            complete=complete,
            reasons_first=self._strategy.gives_reasons,
        )
        return _with_own_keys(parsed, orders, order) if orders else parsed, quotable

    def _pair(
        self, first: Reply | None, second: Reply, item: str, order: Order
    ) -> tuple[Parsed, Value]:
        """Parse both replies to a set-then-choice pair."""
        chosen = self._strategy.read(self, second, "forced_choice", item, order)
        endorsed = (
            self._strategy.read(self, first, "response_set", item, order)
            if first
            else Parsed("failed", reason="no_reply")
        )
        if endorsed.outcome == chosen.outcome == "answered":
            assert isinstance(endorsed.value, tuple)
            assert isinstance(chosen.value, str)
            return chosen, PairValue(set=endorsed.value, choice=chosen.value)
        worse = max(endorsed.outcome, chosen.outcome, key=_ORDER.__getitem__)
        turns = (("set", endorsed), ("choice", chosen))
        reasons = [
            f"{turn}:{p.reason or p.outcome}" for turn, p in turns if p.outcome != "answered"
        ]
        return Parsed(worse, reason=",".join(reasons)), None


def _with_own_keys(parsed: Parsed, orders: OptionOrders, order: Order) -> Parsed:
    """Convert the keys in a shuffled prompt's result to the options' own keys."""
    if parsed.value is None:
        return parsed
    if isinstance(parsed.value, str):
        [own] = orders.own_keys(order, [parsed.value])
        return parsed._replace(value=own)
    return parsed._replace(value=orders.own_keys(order, parsed.value))


def _item_text(item_id: str, task: Task) -> str:
    item = task.by_id.get(item_id)
    return task.text_of(item) if item and task.has_text(item) else ""

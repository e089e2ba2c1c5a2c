"""Base class of strategies, which define a judge's requests and how replies are used.

A strategy is a subclass of `Strategy`, registered under a name in `BUILT_IN` or by a different
distribution. No other code refers to a strategy by name. Any method that it does not override works
as for a plain question (`ZeroShot`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from harness.judging.strategies.answer_schemas import verdict_format
from harness.tasks import Option
from harness.tasks.item import ELICITATIONS, AnswerKind, Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from harness.judging.parsing.grammar import Parsed
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import OptionOrders, Order
    from harness.judging.prompts.question import Message, Question
    from harness.stats.scores.score_map import ScoreDirection
    from harness.tasks import Item, Task


YES, NO = Option(key="yes", label="yes"), Option(key="no", label="no")  # about one option
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
AnswerForm = Literal["schema", "plain"]
Params: TypeAlias = "dict[str, JsonValue]"
Fitted: TypeAlias = "Mapping[str, Mapping[str, float]]"  # numbers that a strategy fitted to a run


class Combining(NamedTuple):
    """Context for combining a judge's replies into verdicts.

    Attributes
    ----------
    judge : str
        Name of the judge that the verdicts belong to.
    task : Task
        The task with its options, admissible sets, items and ratings.
    members : tuple of str
        Members of an ensemble, in order; empty for other judges.
    look : int
        Number of a later round, for which ties are drawn again; 0 for the run itself.
    fitted : mapping or None
        Result of `Strategy.fit` for the run; None to fit these replies.
    """

    judge: str
    task: Task
    members: tuple[str, ...] = ()
    look: int = 0
    fitted: Fitted | None = None


class PromptSource(Protocol):
    """Source of a strategy's messages, such as a task's prompts."""

    @property
    def task(self) -> Task:
        """Task that the prompts are about."""

    def from_template(self, question: Question, strategy: Strategy) -> tuple[Message, ...]:
        """Build messages from a strategy's template and from demonstrations."""


class ReplyParser(Protocol):
    """Parser for a strategy's replies, such as a task's grammar."""

    @property
    def task(self) -> Task:
        """Task whose options replies can name."""

    def parse(self, reply: Reply, kind: AnswerKind, item: str, order: Order) -> Parsed:
        """Parse the answer in a reply's text."""

    def probabilities(self, reply: Reply, order: Order) -> dict[str, float] | None:
        """Return the options' probabilities at the answer's first token, or None if missing."""


class Strategy:
    """Base class of strategies for prompting a judge.

    Parameters
    ----------
    name : str
        Name after the ``@`` in a judge's name, such as ``few-shot:4``.
    number : int
        The number after the colon; 0 if there is none.

    Attributes
    ----------
    numbers : range
        Numbers that can follow the name after a colon; empty if the name takes none.
    needs_prompts, needs_logprobs, completes_text : bool
        Whether it needs a judge that reads prompts, one that returns log-probabilities, or one that
        completes a text instead of answering in a conversation.
    needs_options : bool
        Whether it needs a task with options.
    elicitations : tuple of str
        Supported elicitations.
    gives_reasons : bool
        Whether a reply begins with reasons, so that only its last line is parsed.
    n_demonstrations : int
        Number of other items to show with their answers.
    asks_each_option : bool
        Whether each reply is about a single option: the K replies to K options make a verdict.
    keeps_order : bool
        Whether the options must be in the task's order.
    shows_descriptions : bool
        Whether the descriptions of the options are shown, if the task has any.
    both_orders : bool
        Whether pairwise items can be shown in both orders of their answers.
    gives_distribution : bool
        Whether one reply contains probabilities, so that more samples add nothing.
    joins_members : bool
        Whether it is for ensembles, which receive no requests themselves.
    changes_cache_key : bool
        Whether its requests differ from the plain question's.
    templates : Path or None
        Folder of the strategy's own templates; None for the bundled ones.
    answer : str
        Default form of answer of its judges, see `JudgeSpec.answer`.
    better : {"higher", "lower", "found"} or None
        Which numbers are better, if the replies are numbers whose meaning is estimated.
    easier : tuple of str
        Names of strategies with replies that are easier to parse, for judges with unreadable
        replies.
    """

    numbers: ClassVar[range] = range(0)
    needs_prompts: bool = True
    needs_logprobs: bool = False
    completes_text: bool = False
    needs_options: bool = False
    elicitations: tuple[Elicitation, ...] = ELICITATIONS
    gives_reasons: bool = False
    n_demonstrations: int = 0
    asks_each_option: bool = False
    keeps_order: bool = False
    shows_descriptions: bool = True
    both_orders: bool = True
    gives_distribution: bool = False
    joins_members: bool = False
    changes_cache_key: bool = True
    templates: Path | None = None
    answer: AnswerForm = "plain"
    better: ScoreDirection | None = None
    easier: tuple[str, ...] = ()

    def __init__(self, name: str, number: int = 0) -> None:
        self.name = name
        self.number = number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def label(self) -> str:
        """Label that identifies a judge with this strategy, or "" for the plain question."""
        return self.name

    def joined(self, other: Strategy) -> Strategy | None:
        """Return this strategy combined with another, or None if they are incompatible."""
        del other
        return None

    def check(self, task: Task) -> None:
        """Raise `TaskError` for a task that the strategy does not support. By default, none."""

    # Requests

    def params(self, params: Params) -> Params:
        """Return a judge's parameters under this strategy."""
        return params

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return the parameters added by ``answer: schema``. By default, there are none."""
        del task, kind
        return {}

    @property
    def can_reask(self) -> bool:
        """Whether the judge can get a second question after an unreadable reply."""
        return not (self.needs_logprobs or self.joins_members)

    @property
    def has_schema(self) -> bool:
        """Whether a JSON schema can constrain the replies."""
        return type(self).response_format is not Strategy.response_format

    def template(self, elicitation: Elicitation) -> str:
        """Return the name of the template that is used for an elicitation."""
        return elicitation

    def order(
        self, keys: Sequence[str], orders: OptionOrders | None, item: str, sample: int
    ) -> Order:
        """Return the option keys in a sample's order, or () for the task's order."""
        if self.asks_each_option:
            return (keys[sample % len(keys)],)
        return orders.order_for(item, sample) if orders else ()

    def option_orders(self, task: Task, orders: OptionOrders | None) -> OptionOrders | None:
        """Return the orders of the options, which by default are the run's."""
        del task
        return orders

    def turn(self, n_options: int, sample: int) -> int:
        """Return the number of an item's turn to which a sample belongs."""
        return sample // n_options if self.asks_each_option else sample

    def messages(self, prompts: PromptSource, question: Question) -> tuple[Message, ...]:
        """Return a question's messages, or the first turn's messages for a set-then-choice pair."""
        return prompts.from_template(question, self)

    def extra_items(self, task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return additional items to request before a run's items."""
        del task, items
        return ()

    # Reading of replies

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Parse the answer in a reply, which is one of two replies in a set-then-choice pair."""
        return reader.parse(reply, kind, item, order)

    # Verdicts from replies

    def replies_per_verdict(self, n_options: int) -> int:
        """Return the number of replies per verdict on a task with this many options."""
        return n_options if self.asks_each_option else 1

    @property
    def is_computed(self) -> bool:
        """Whether verdicts are computed from verdicts on single replies."""
        return type(self).combine is not Strategy.combine

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Combine verdicts on single replies, or of members, into verdicts."""
        del of
        return list(verdicts)

    @property
    def is_fitted(self) -> bool:
        """Whether a verdict depends on replies to the run's other items."""
        return type(self).fit is not Strategy.fit

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Fit values for `combine` to a run's verdicts. Later rounds reuse these values."""
        del verdicts, of
        return {}

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Yield notes for the reader about a judge's replies in a run, one per line."""
        del replies, of
        return ()


class PlainQuestion(Strategy):
    """Strategy whose reply is or ends with the verdict."""

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return a schema for the verdict, with a reason before it if requested."""
        return verdict_format(task, kind, with_reason=self.gives_reasons)


class ZeroShot(PlainQuestion):
    """Strategy that sends only the question."""

    needs_prompts = False
    changes_cache_key = False
    easier = ("json", "logprob")

    @property
    def label(self) -> str:
        """Empty label, because the plain question is the default."""
        return ""

    def joined(self, other: Strategy) -> Strategy | None:
        """Return the added strategy, because the plain question changes nothing."""
        return None if other.joins_members else other


DEFAULT = ZeroShot("zero-shot")


def with_room(params: Params, least: int) -> Params:
    """Raise the token limits in parameters to at least ``least``."""
    limits = {key: params.get(key) for key in TOKEN_LIMITS}
    raised = {key: max(limit, least) for key, limit in limits.items() if isinstance(limit, int)}
    return {**params, **raised}

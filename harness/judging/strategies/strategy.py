"""A way of asking a judge: what is sent, how a reply is read, and how replies make a verdict.

A strategy is a subclass of `Strategy`, registered under a name in `strategy_registry` or by another
distribution; nothing else in the package knows one by its name. What it does not override is done
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
    from harness.tasks import Item, Task

YES, NO = Option(key="yes", label="yes"), Option(key="no", label="no")  # about a single option
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
AnswerForm = Literal["schema", "plain"]
Params: TypeAlias = "dict[str, JsonValue]"
Fitted: TypeAlias = "Mapping[str, Mapping[str, float]]"  # numbers that a strategy took from a run


class Combining(NamedTuple):
    """What replies are made into verdicts with.

    Attributes
    ----------
    judge : str
        Name of the judge whose verdicts they are.
    task : Task
        Its options, admissible sets, items and ratings.
    members : tuple of str
        The judges that an ensemble joins, in order; empty for any other judge.
    look : int
        Number of a later look, whose ties are drawn anew; 0 for the run itself.
    fitted : mapping or None
        What `Strategy.fit` returned for the run; None to fit these replies.
    """

    judge: str
    task: Task
    members: tuple[str, ...] = ()
    look: int = 0
    fitted: Fitted | None = None


class PromptSource(Protocol):
    """What a strategy makes messages with: the prompts of a task."""

    @property
    def task(self) -> Task:
        """The task that is asked about."""

    def from_template(self, question: Question, strategy: Strategy) -> tuple[Message, ...]:
        """Return the messages that a strategy's template and its demonstrations make."""


class ReplyParser(Protocol):
    """What a strategy reads replies with: the grammar of a task."""

    @property
    def task(self) -> Task:
        """The task whose options replies may name."""

    def parse(self, reply: Reply, kind: AnswerKind, item: str, order: Order) -> Parsed:
        """Return what the text of a reply says."""

    def probabilities(self, reply: Reply, order: Order) -> dict[str, float] | None:
        """Return the options' probabilities at the first token of the answer; None without."""


class Strategy:
    """A way of asking a judge.

    Parameters
    ----------
    name : str
        As it stands after the ``@`` of a judge's name, such as ``few-shot:4``.
    number : int
        The number after the colon; 0 where there is none.

    Attributes
    ----------
    numbers : range
        Numbers that may follow the name after a colon; empty for a name that stands alone.
    needs_prompts, needs_logprobs, completes_text : bool
        Whether it is for judges alone that read prompts, that give log-probabilities, that go on
        with a text instead of answering in a conversation.
    needs_options : bool
        Whether it is for tasks alone that have options.
    elicitations : tuple of str
        Those in which it can ask.
    gives_reasons : bool
        Whether a reply gives its reasons first, so that its last line alone is parsed.
    n_demonstrations : int
        Number of other items that are shown with their answers.
    asks_each_option : bool
        Whether each reply is about a single option: the K replies to K options make a verdict.
    keeps_order : bool
        Whether the options must stand in the order of the task.
    both_orders : bool
        Whether pairwise items may be asked about in both orders of their answers.
    gives_distribution : bool
        Whether one reply gives probabilities, so that one sample is all there is.
    joins_members : bool
        Whether it makes the verdicts of an ensemble, which is asked nothing itself.
    changes_cache_key : bool
        Whether its requests differ from those of the plain question.
    templates : Path or None
        Folder of its own templates; None for the bundled ones.
    answer : str
        The form of answer that its judges ask for by default, see `JudgeSpec.answer`.
    easier : tuple of str
        Names of strategies that leave less to parse, for a judge whose replies are not readable.
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
    both_orders: bool = True
    gives_distribution: bool = False
    joins_members: bool = False
    changes_cache_key: bool = True
    templates: Path | None = None
    answer: AnswerForm = "plain"
    easier: tuple[str, ...] = ()

    def __init__(self, name: str, number: int = 0) -> None:
        self.name = name
        self.number = number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def label(self) -> str:
        """What tells a judge under this strategy from a plain one; empty for the plain question."""
        return self.name

    def joined(self, other: Strategy) -> Strategy | None:
        """Return the strategy that this and another make together; None where they make none."""
        del other
        return None

    def check(self, task: Task) -> None:
        """Refuse a task on which it can't be used with a TaskError; by default, none."""

    # What is sent

    def params(self, params: Params) -> Params:
        """Return the parameters of a judge as they are under this strategy."""
        return params

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return further parameters of a judge with ``answer: schema``; none by default."""
        del task, kind
        return {}

    @property
    def can_reask(self) -> bool:
        """Whether a reply that can't be read may be followed by one more question."""
        return not (self.needs_logprobs or self.joins_members)

    @property
    def has_schema(self) -> bool:
        """Whether its replies can be kept to a JSON schema."""
        return type(self).response_format is not Strategy.response_format

    def template(self, elicitation: Elicitation) -> str:
        """Return the name of the template that asks for an elicitation."""
        return elicitation

    def order(
        self, keys: Sequence[str], orders: OptionOrders | None, item: str, sample: int
    ) -> Order:
        """Return the keys of the options as a sample shows them; empty for the task's order."""
        if self.asks_each_option:
            return (keys[sample % len(keys)],)
        return orders.order_for(item, sample) if orders else ()

    def turn(self, n_options: int, sample: int) -> int:
        """Return the number of the turn that a sample belongs to, among those of an item."""
        return sample // n_options if self.asks_each_option else sample

    def messages(self, prompts: PromptSource, question: Question) -> tuple[Message, ...]:
        """Return the messages that ask a question; of a pair, the first turn."""
        return prompts.from_template(question, self)

    def extra_items(self, task: Task, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return items that are asked about besides those of a run, before them."""
        del task, items
        return ()

    # How replies are read

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return what a reply says; of a pair, what that to one of its turns says."""
        return reader.parse(reply, kind, item, order)

    # How replies make verdicts

    def replies_per_verdict(self, n_options: int) -> int:
        """Return how many replies make a verdict on a task with so many options."""
        return n_options if self.asks_each_option else 1

    @property
    def is_computed(self) -> bool:
        """Whether verdicts are computed from those on single replies."""
        return type(self).combine is not Strategy.combine

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the verdicts that those on single replies, or those of members, make."""
        del of
        return list(verdicts)

    @property
    def is_fitted(self) -> bool:
        """Whether a verdict depends on replies to other items of the run."""
        return type(self).fit is not Strategy.fit

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Return what `combine` takes from all verdicts of a run; later looks keep it."""
        del verdicts, of
        return {}

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Yield what a reader should know about the replies of a judge in a run, a line each."""
        del replies, of
        return ()


class PlainQuestion(Strategy):
    """The question alone, or with more around it; the reply is the verdict, or ends with it."""

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return a schema of the verdict, after its reason if reasons are asked for."""
        return verdict_format(task, kind, with_reason=self.gives_reasons)


class ZeroShot(PlainQuestion):
    """The question alone."""

    needs_prompts = False
    changes_cache_key = False
    easier = ("json", "logprob")

    @property
    def label(self) -> str:
        """Nothing."""
        return ""

    def joined(self, other: Strategy) -> Strategy | None:
        """Return the other strategy."""
        return None if other.joins_members else other


DEFAULT = ZeroShot("zero-shot")


def with_room(params: Params, least: int) -> Params:
    """Return parameters in which token limits that are lower than ``least`` are raised to it."""
    limits = {key: params.get(key) for key in TOKEN_LIMITS}
    raised = {key: max(limit, least) for key, limit in limits.items() if isinstance(limit, int)}
    return {**params, **raised}

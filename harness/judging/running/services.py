"""What asking a judge needs, as protocols: a store, a rate limit, a budget, a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.prompts.requests import Request, Unit
from harness.judging.storage.claim import Claim
from harness.tasks.schema import Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.judging.running.budget import CallBill
    from harness.judging.running.retry import RetryPolicy
    from harness.tasks import Item


PAIR_LAG = 100  # items between a response set and the pair that begins with its reply


class NotAsked(Exception):  # noqa: N818 -- a state of the run, not a mistake
    """A request may not be sent now; its unit stays unasked.

    Attributes
    ----------
    held_by : str
        The command that brings the reply, if the request waits in a batch of another run; empty if
        the run is draining, the judge has stopped or the budget is spent.
    is_sent : bool
        Whether the request was sent, so that it may be billed, and its reply is not waited for.
    """

    def __init__(self, held_by: str = "", *, is_sent: bool = False) -> None:
        super().__init__(held_by)
        self.held_by = held_by
        self.is_sent = is_sent


@dataclass(frozen=True, slots=True)
class Job:
    """All that one judge is asked in a run, or in a later look at it.

    Attributes
    ----------
    pairs : frozenset of str or None
        Ids of the items that are asked in the paired form, where it is asked; None for all.
    look : int
        Number of the look, which is part of each request; 0 for the run itself.
    orders : OptionOrders or None
        How the options are shuffled, where the judge reads prompts.
    begins_at : int
        Position of the item that is asked about first; those before it come last.
    """

    judge: Judge
    items: tuple[Item, ...]
    elicitations: tuple[Elicitation, ...]
    samples: int
    pairs: frozenset[str] | None = None
    look: int = 0
    orders: OptionOrders | None = None
    begins_at: int = 0

    @property
    def samples_alike(self) -> tuple[int, ...]:
        """Number of an item's samples with the same prompt, for each of the prompts."""
        spec = self.judge.spec
        if self.orders is not None or spec.asking.asks_each_option:
            return (1,) * self.samples
        if spec.both_orders and self.samples > 1:
            return (self.samples - self.samples // N_ORDERS, self.samples // N_ORDERS)
        return (self.samples,)

    def items_of(self, elicitation: Elicitation) -> tuple[Item, ...]:
        """Return the items of an elicitation."""
        if elicitation != "paired" or self.pairs is None:
            return self.items
        return tuple(item for item in self.items if item.id in self.pairs)

    def questions(self) -> Iterator[tuple[Item, Elicitation]]:
        """Yield what is asked, item by item, so that a cost limit cuts items, not elicitations.

        Where response sets are asked too, pairs follow `PAIR_LAG` items later: the first turn of a
        pair is the stored reply to the response set.
        """
        late = "paired" if "response_set" in self.elicitations else None
        at_once = [elicitation for elicitation in self.elicitations if elicitation != late]
        behind = PAIR_LAG if late in self.elicitations else 0
        paired = {item.id for item in self.items_of("paired")}
        items = self.items[self.begins_at :] + self.items[: self.begins_at]
        for position in range(len(items) + behind):
            for item in items[position : position + 1]:
                for elicitation in at_once:
                    if elicitation != "paired" or item.id in paired:
                        yield item, elicitation
            if behind and position >= behind and items[position - behind].id in paired:
                yield items[position - behind], "paired"

    @property
    def planned(self) -> dict[Elicitation, int]:
        """Number of units per elicitation."""
        return {name: len(self.items_of(name)) * self.samples for name in self.elicitations}


class WorkUnit(Struct, gc=False):  # no unit can be part of a cycle
    """One item and elicitation, for one sample or for several that one request asks for.

    ``request`` is that of any sample; ``hashes`` are those of ``samples``. ``claimed`` says that
    they are locked and that the store had no reply afterwards. A pair that has its first turn holds
    that reply as ``first``, and in ``bought`` whether this run paid for it.
    """

    item: str
    elicitation: Elicitation
    request: Request
    samples: tuple[int, ...]
    hashes: tuple[str, ...]
    claimed: bool = False
    first: Reply | None = None
    bought: bool = False

    def unit(self, position: int = 0) -> Unit:
        """Return the unit of one of the samples."""
        return Unit(self.item, self.elicitation, self.samples[position])

    def request_for(self) -> Request:
        """Return the request for the first sample."""
        return self.request.for_sample(self.samples[0], self.hashes[0])

    @property
    def key(self) -> tuple[str, str]:
        """Cache key and hash of the first sample's request."""
        return self.request.cache_key, self.hashes[0]

    def split(self) -> list[WorkUnit]:
        """Return one unit of work per sample."""
        parts = zip(self.samples, self.hashes, strict=True)
        return [replace(self, samples=(s,), hashes=(h,)) for s, h in parts]


class Outcome(NamedTuple):
    """Result of asking one unit of work.

    Attributes
    ----------
    verdicts : sequence of Verdict
        Empty if nothing was asked.
    received : sequence of Reply
        Replies that were paid for. The locks on their requests are held until they are stored.
    failure : CallFailed or None
        Why a request was given up.
    unanswered : sequence of WorkUnit
        To be asked after the verdicts are written: samples on their own, second turns of pairs.
    too_few : bool
        Whether the server gave fewer replies than samples were asked for.
    held_by : str
        The command that brings the reply, if the request waits in a batch of another run.
    """

    verdicts: Sequence[Verdict] = ()
    received: Sequence[Reply] = ()
    failure: CallFailed | None = None
    unanswered: Sequence[WorkUnit] = ()
    too_few: bool = False
    held_by: str = ""


class SharedProgress(NamedTuple):
    """What all processes of a run on a shared store have done.

    Attributes
    ----------
    n_processes : int
        Processes that are asking now.
    n_replies : int
        Replies that they received and stored, those of earlier processes included.
    """

    n_processes: int
    n_replies: int


class Store(Protocol):
    """Replies that were paid for, and the right to send a request, for all runs that share it.

    A request is given by its cache key and its hash. The right to send one ends with the process
    that holds it.
    """

    def get(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return stored replies by request hash."""

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and release their requests; return when their calls may end."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Take the right to send those requests that nobody else holds and that have no reply."""

    def count_paid(self, request: str) -> bool:
        """Whether processes that this one started paid for a stored reply; True once for each."""

    def release(self, requests: Iterable[str]) -> None:
        """Give the right to send requests back: there will be no reply now."""

    def report_holder(self, request: str) -> None:
        """Tell the user who holds the right to send a request that is waited for."""

    def shared_progress(self) -> SharedProgress | None:
        """Return what all processes of this run have done; None where it has one process."""

    def flush(self) -> str:
        """Store what could not be stored before; return why that is not possible, else ""."""

    def close(self) -> None:
        """Release everything."""


class NoStore:
    """Stores nothing and grants every claim (``--no-cache``)."""

    def get(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return no reply."""
        del requests
        return {}

    async def put(self, replies: Sequence[Reply]) -> None:
        """Discard replies."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Grant all requests."""
        return Claim({request for _, request in requests}, {}, {})

    def count_paid(self, request: str) -> bool:
        """Return False: there are no other processes."""
        del request
        return False

    def release(self, requests: Iterable[str]) -> None:
        """Do nothing."""

    def report_holder(self, request: str) -> None:
        """Do nothing."""

    def shared_progress(self) -> None:
        """Return None."""

    def flush(self) -> str:
        """Return no reason."""
        return ""

    def close(self) -> None:
        """Do nothing."""


class RateLimiter(Protocol):
    """Limits one judge's calls in flight, requests and tokens per minute."""

    @property
    def needs_tokens(self) -> bool:
        """Whether `enter` needs the number of tokens."""

    async def enter(self, tokens: float) -> int:
        """Wait for a place in flight; return a ticket. Every `enter` is followed by a `leave`."""

    def leave(self) -> None:
        """Give a place back."""

    def check(self) -> None:
        """Raise `NotAsked` if nothing more may be sent."""

    def succeeded(self) -> None:
        """Report a call that was answered."""

    def failed(self, ticket: int, failure: CallFailed) -> CallFailed:
        """Report a call that was not answered; return the failure, which may stop the judge."""


class Budget(Protocol):
    """What a run may cost."""

    @property
    def limit_usd(self) -> float | None:
        """The most that the run may cost; None for no limit."""

    async def wait_for_room(self, judge: Judge, request: Request, n: int = 1) -> None:
        """Wait while calls in flight might use up what this call may cost."""

    def reserve(self, spec: JudgeSpec, request: Request, n: int = 1) -> CallBill:
        """Reserve the most that a call may cost; raise `BudgetSpent` if that is too much."""

    async def return_allowance(self) -> None:
        """Give back what is held for calls to come, while none is: other processes may need it."""

    def overrun(self, judge: str) -> CallFailed | None:
        """Return the failure of a judge whose replies cost more than was reserved."""


class Clock(Protocol):
    """Waiting, as the executor does it."""

    async def sleep(self, seconds: float) -> None:
        """Wait; raise `NotAsked` as soon as nothing more may be sent."""


@dataclass(frozen=True, slots=True)
class Services:
    """What `ask_unit` needs to ask one judge; ``deadline`` limits the time of one attempt."""

    judge: Judge
    reader: ReplyReader
    store: Store
    limiter: RateLimiter
    budget: Budget
    retry: RetryPolicy
    clock: Clock
    deadline: AbstractContextManager[None]


class Observer(Protocol):
    """Watches a run: progress bars, plain lines, nobody."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that were written to the log."""

    def progressed(self, progress: SharedProgress) -> None:
        """Receive what all processes of a run on a shared store have done, now and then."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that the log held from an earlier start of the run."""

    def ended(self, judge: str, reason: str) -> None:
        """Receive the end of a judge; ``reason`` is empty if it was asked everything."""

    def say(self, line: str) -> None:
        """Receive a line for the user."""


class NoObserver:
    """Watches nothing; base class of observers of less than everything."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Do nothing."""

    def progressed(self, progress: SharedProgress) -> None:
        """Do nothing."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Do nothing."""

    def ended(self, judge: str, reason: str) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""

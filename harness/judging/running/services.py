"""Services that asking a judge needs, as protocols: a cluster can put others in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.prompts.requests import Request, Unit
from harness.tasks.schema import Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.judging.running.budget import CallBill
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.running.session import JudgeRun
    from harness.tasks import Item


PAIR_LAG = 100  # items between a response set and the pair that begins with its reply


class NotAsked(Exception):  # noqa: N818 -- a state of the run, not a mistake
    """A request may not be sent now; its unit stays unasked.

    Attributes
    ----------
    command : str
        Collects the batch of another run that holds the request; empty if the run is draining, the
        judge has stopped or the budget is spent.
    """

    def __init__(self, command: str = "") -> None:
        super().__init__(command)
        self.command = command


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
    """

    judge: Judge
    items: tuple[Item, ...]
    elicitations: tuple[Elicitation, ...]
    samples: int
    pairs: frozenset[str] | None = None
    look: int = 0
    orders: OptionOrders | None = None

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
        for position in range(len(self.items) + behind):
            for item in self.items[position : position + 1]:
                for elicitation in at_once:
                    if elicitation != "paired" or item.id in paired:
                        yield item, elicitation
            if behind and position >= behind and self.items[position - behind].id in paired:
                yield self.items[position - behind], "paired"

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
    command : str
        Collects the batch of another run that holds the request.
    """

    verdicts: Sequence[Verdict] = ()
    received: Sequence[Reply] = ()
    failure: CallFailed | None = None
    unanswered: Sequence[WorkUnit] = ()
    too_few: bool = False
    command: str = ""


class Counts(NamedTuple):
    """Verdicts of a judge that were written elsewhere, as far as progress shows them.

    Attributes
    ----------
    n, n_failed, n_cached : int
        All verdicts, those without a reply, and those whose reply was stored before.
    cost_usd : float or None
        Cost of the replies that were received for them; None if that of one is unknown.
    """

    n: int = 0
    n_failed: int = 0
    n_cached: int = 0
    cost_usd: float | None = 0.0


class ResponseStore(Protocol):
    """Replies that were paid for."""

    def get_many(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return stored replies by request hash, of requests given by cache key and hash."""

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Store replies, all or none; raise `CacheUnwritable` if that is not possible now."""


class RequestLocks(Protocol):
    """The right to send a request; it ends with the process that holds it."""

    def claim(self, request: str, /) -> bool:
        """Take the right to send a request; False while anybody holds it.

        Look the reply up afterwards and before sending: it may just have been stored.
        """

    def claim_many(self, requests: Sequence[str], /) -> set[str]:
        """Take the right to send some requests; return those that nobody else holds."""

    def release(self, request: str, /) -> None:
        """Give the right back: the reply is stored, or there will be none."""

    def report_holder(self, request: str, /) -> None:
        """Tell the user who holds the right to send a request that is waited for."""


class PendingRequests(Protocol):
    """Requests in batches that were handed in and not collected."""

    def find(self, requests: Sequence[str], judge: str) -> Mapping[str, str]:
        """Return the pending ones of some requests, each with the command that collects it.

        Those that ``judge`` itself has handed in for this run are not among them.
        """


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

    async def wait_for_room(self, spec: JudgeSpec, request: Request, n: int = 1) -> None:
        """Wait while calls in flight might use up what this call may cost."""

    def reserve(self, spec: JudgeSpec, request: Request, n: int = 1) -> CallBill:
        """Reserve the most that a call may cost; raise `BudgetSpent` if that is too much."""

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
    cache: Cache
    limiter: RateLimiter
    budget: Budget
    retry: RetryPolicy
    clock: Clock
    deadline: AbstractContextManager[None]


class Executor(Protocol):
    """Runs units of work; nothing else knows where."""

    async def run(self, judges: Sequence[JudgeRun]) -> None:
        """Ask all units of some judges that are open."""


class Observer(Protocol):
    """Watches a run: progress bars, plain lines, nobody."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that were written to the log."""

    def counted(self, judge: str, counts: Counts) -> None:
        """Receive the counts of verdicts that a worker on a cluster wrote."""

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

    def counted(self, judge: str, counts: Counts) -> None:
        """Do nothing."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Do nothing."""

    def ended(self, judge: str, reason: str) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""


class Cache(ResponseStore, Protocol):
    """A response store with the locks and pending requests of all runs that share it."""

    @property
    def write_through(self) -> bool:
        """Whether a call ends only when its reply is stored: other machines see no log of it."""

    @property
    def locks(self) -> RequestLocks:
        """The right to send a request."""

    @property
    def batches(self) -> PendingRequests:
        """Requests in batches of all runs."""

    def follow(self, log: Path, ledger: Path | None = None) -> None:
        """Register the verdict log and the batch ledger of this run."""

    def close(self) -> None:
        """Release everything."""


class NoCache:
    """Stores nothing and locks nothing (``--no-cache``)."""

    write_through = False

    def __init__(self) -> None:
        self.locks = self.batches = self

    def get_many(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return no reply."""
        del requests
        return {}

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Discard replies."""

    def claim(self, request: str, /) -> bool:
        """Allow every request."""
        del request
        return True

    def claim_many(self, requests: Sequence[str], /) -> set[str]:
        """Allow all requests."""
        return set(requests)

    def release(self, request: str, /) -> None:
        """Do nothing."""

    def report_holder(self, request: str, /) -> None:
        """Do nothing."""

    def find(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Return no request."""
        del requests, judge
        return {}

    def follow(self, log: Path, ledger: Path | None = None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

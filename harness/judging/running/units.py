"""Units of work: a judge's questions in a run, with their requests and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import CallFailed
from harness.judging.parsing.verdict import Reply, Verdict
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Request, answer_kind
from harness.judging.storage.verdict_log import UnitKey
from harness.tasks.item import Elicitation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from harness.judging.judges.base import Judge
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.tasks import Item
    from harness.tasks.item import AnswerKind

N_OPENING = 20  # number of questions for the first replies
PAIR_LAG = 100  # items between a response set and the pair that begins with its reply


@dataclass(frozen=True, slots=True)
class Job:
    """Requests for one judge in a run or in a later round.

    Attributes
    ----------
    pairs : frozenset of str or None
        Ids of the items to request in paired form, if that is used; None for all.
    look : int
        Number of the round, which is part of each request; 0 for the run itself.
    orders : OptionOrders or None
        How options are shuffled, if the judge reads prompts.
    begins_at : int
        Position of the first item to request; the items before it come last.
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
        """Number of samples per item that share a prompt, for each prompt of an item."""
        spec = self.judge.spec
        if self.orders is not None or spec.asking.asks_each_option:
            return (1,) * self.samples
        if spec.both_orders and self.samples > 1:
            return (self.samples - self.samples // N_ORDERS, self.samples // N_ORDERS)
        return (self.samples,)

    def items_of(self, elicitation: Elicitation) -> tuple[Item, ...]:
        """Return the items to request in an elicitation."""
        if elicitation != "paired" or self.pairs is None:
            return self.items
        return tuple(item for item in self.items if item.id in self.pairs)

    def questions(self) -> Iterator[tuple[Item, Elicitation]]:
        """Yield questions item by item, so that a cost limit leaves whole items.

        If response sets are requested too, pairs follow `PAIR_LAG` items later, because a pair's
        first turn is the stored reply to the response set.
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

    def open_units(self, done: Mapping[UnitKey, Verdict]) -> Iterator[WorkUnit | Verdict]:
        """Yield units without an answer in the log, and the log's verdicts on all others.

        A verdict counts only if it answers the unit's own request. A pair whose set is in the log
        begins with that set, which a killed run may not have put into the store.
        """
        name = self.judge.spec.name
        for item, elicitation, asked in self._asked():
            for sample, request, request_hash in asked:
                unit = WorkUnit(item.id, elicitation, request, (sample,), (request_hash,))
                if not done:
                    yield unit
                    continue
                key = UnitKey(name, item.id, elicitation, sample)
                verdict = _on_request(done.get(key), request_hash)
                if verdict and verdict.outcome != "failed":
                    yield verdict
                    continue
                if verdict and verdict.replies:
                    yield _continued(unit, verdict)
                    continue
                set_key = key._replace(elicitation="response_set")
                of_set = _on_request(done.get(set_key), request_hash)
                yield _begun_by_set(unit, of_set) if of_set else unit

    def _asked(self) -> Iterator[tuple[Item, Elicitation, Iterable[tuple[int, Request, str]]]]:
        """Yield each question with its samples' requests.

        One request for each of the first questions comes before all others, so that the first
        replies cover different items.
        """
        requests = self._requests if len(self.samples_alike) == 1 else self._varied_requests
        n = self.judge.spec.n_per_request
        for item, elicitation in islice(self.questions(), N_OPENING):
            yield item, elicitation, islice(requests(item.id, elicitation), n)
        for place, (item, elicitation) in enumerate(self.questions()):
            asked = requests(item.id, elicitation)
            yield item, elicitation, islice(asked, n, None) if place < N_OPENING else asked

    def _requests(self, item: str, elicitation: Elicitation) -> Iterator[tuple[int, Request, str]]:
        """Yield each sample number with the shared request and the sample's hash."""
        request = self.judge.request(Unit(item, elicitation)).for_look(self.look)
        for sample, request_hash in enumerate(request.hashes(self.samples)):
            yield sample, request, request_hash

    def _varied_requests(
        self, item: str, elicitation: Elicitation
    ) -> Iterator[tuple[int, Request, str]]:
        """Yield each sample's own request and hash, if prompts differ between samples.

        Samples with the same prompt follow each other, so that one call can request them.
        """
        alike: dict[str, list[Request]] = {}
        for sample in range(self.samples):
            request = self.judge.request(Unit(item, elicitation, sample)).for_look(self.look)
            alike.setdefault(request.cache_key, []).append(request)
        for requests in alike.values():
            for request in requests:
                yield request.sample, requests[0], request.hash

    @property
    def planned(self) -> dict[Elicitation, int]:
        """Planned number of units per elicitation."""
        return {name: len(self.items_of(name)) * self.samples for name in self.elicitations}


class WorkUnit(Struct, gc=False):  # units can't be part of a cycle
    """Item and elicitation with one sample, or with several samples in one request.

    ``request`` is the request for any of the samples; ``hashes`` belong to ``samples``. ``claimed``
    means that they are locked and that the store had no reply afterwards. If a conversation has
    begun, its replies are ``first``, ``unread`` and ``first_unread`` (see `Verdict`), and
    ``bought`` says whether this run paid for one of them. ``is_counted`` means that it already
    counts among its judge's first replies.
    """

    item: str
    elicitation: Elicitation
    request: Request
    samples: tuple[int, ...]
    hashes: tuple[str, ...]
    claimed: bool = False
    first: Reply | None = None
    unread: Reply | None = None
    first_unread: Reply | None = None
    bought: bool = False
    is_counted: bool = False

    def unit(self, position: int = 0) -> Unit:
        """Return the unit for a single sample."""
        return Unit(self.item, self.elicitation, self.samples[position])

    def request_for(self) -> Request:
        """Return the request for the first sample."""
        return self.request.for_sample(self.samples[0], self.hashes[0])

    @property
    def turn(self) -> AnswerKind:
        """Kind of answer in the next reply: in a set-then-choice pair, a set and then a choice."""
        return answer_kind(self.elicitation) if self.first is None else "forced_choice"

    @property
    def has_begun(self) -> bool:
        """Whether the unit has a reply and still needs another one."""
        return self.first is not None or self.unread is not None

    @property
    def is_conversation(self) -> bool:
        """Whether the unit needs several replies, each to its own request."""
        return self.elicitation == "paired" or self.unread is not None

    @property
    def replies(self) -> tuple[Reply, ...]:
        """Replies received so far in a conversation, in order."""
        turns = (self.first_unread, self.first, self.unread)
        return tuple(reply for reply in turns if reply is not None)

    @property
    def key(self) -> tuple[str, str]:
        """Cache key and hash of the first sample's request."""
        return self.request.cache_key, self.hashes[0]

    def split(self) -> list[WorkUnit]:
        """Return one unit of work per sample."""
        parts = zip(self.samples, self.hashes, strict=True)
        return [replace(self, samples=(s,), hashes=(h,)) for s, h in parts]


class UnitOutcome(Struct, frozen=True):
    """Outcome of one request for a unit of work.

    Attributes
    ----------
    verdicts : sequence of Verdict
        Empty if nothing was requested.
    received : sequence of Reply
        Replies that were paid for. Their requests stay locked until they are stored.
    failure : CallFailed or None
        Reason for giving up a request.
    next_turns : sequence of WorkUnit
        Conversations that continue after the verdicts are written.
    unanswered : sequence of WorkUnit
        Samples to request one by one afterwards.
    too_few : bool
        Whether the server returned fewer replies than requested samples.
    held_by : str
        The command that fetches the reply, if the request is in a different run's batch.
    """

    verdicts: Sequence[Verdict] = ()
    received: Sequence[Reply] = ()
    failure: CallFailed | None = None
    next_turns: Sequence[WorkUnit] = ()
    unanswered: Sequence[WorkUnit] = ()
    too_few: bool = False
    held_by: str = ""


def grouped(units: Sequence[WorkUnit], most: int) -> list[WorkUnit]:
    """Join units that differ only in the sample, up to ``most`` per group, except pairs."""
    if most == 1:
        return list(units)
    groups: list[WorkUnit] = []
    for unit in units:
        group = groups[-1] if groups else None
        if (
            group is not None
            and group.request is unit.request
            and group.claimed
            and unit.claimed
            and len(group.samples) < most
            and not unit.is_conversation
        ):
            groups[-1] = replace(
                group, samples=group.samples + unit.samples, hashes=group.hashes + unit.hashes
            )
        else:
            groups.append(unit)
    return groups


def _on_request(verdict: Verdict | None, request_hash: str) -> Verdict | None:
    """Return a verdict if its first request has this hash, or else None."""
    if verdict is None:
        return None
    begins_with = next((reply.request for reply in verdict.replies), verdict.failed_request)
    return verdict if begins_with == request_hash else None


def _continued(unit: WorkUnit, verdict: Verdict) -> WorkUnit:
    """Restore a unit's conversation from a failed verdict."""
    return replace(
        unit,
        first=verdict.first,
        unread=verdict.unread,
        first_unread=verdict.first_unread,
        bought=True,
    )


def _begun_by_set(unit: WorkUnit, verdict: Verdict) -> WorkUnit:
    """Use a response set's reply, unless blank, as a set-then-choice pair's first reply."""
    if verdict.reply is None or not verdict.reply.text.strip():
        return unit
    return replace(unit, first=verdict.reply, first_unread=verdict.unread)

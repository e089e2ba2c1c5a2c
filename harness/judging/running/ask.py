"""Ask one unit of work: look-up, claim, rate limit, budget, call, retry and parse."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import force_setattr, replace

from harness.errors import BudgetSpent, CallFailed, NotAsked, RunError
from harness.judging.judges.base import without_key
from harness.judging.judges.pricing import max_tokens, price_of, reply_cap, worst_cost
from harness.judging.judges.response_errors import is_retryable, limit_wait
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN, failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request, Unit
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.rate_limit import RateGate
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.running.units import WorkUnit
    from harness.judging.storage.reply_store import Store

LOCK_POLL_S = 0.1  # between looks for the reply that somebody else is waiting for
NOTICE_AFTER_S = 5.0  # of waiting for that reply
NO_SAMPLES = frozenset({"bad_request", "unsupported_params"})  # answers to `n` greater than 1


class UnitOutcome(NamedTuple):
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


class Claims(NamedTuple):
    """Result of `Asker.claim`.

    Attributes
    ----------
    claimed : sequence of WorkUnit
        To be asked.
    waiting : sequence of WorkUnit
        Others are asking for them.
    stored : sequence of (WorkUnit, Reply)
        Need not be asked.
    held : sequence of str
        For each unit that waits in a batch of another run, the command that brings its reply.
    """

    claimed: Sequence[WorkUnit]
    waiting: Sequence[WorkUnit]
    stored: Sequence[tuple[WorkUnit, Reply]]
    held: Sequence[str]


class Asker:
    """Asks one judge for units of work.

    Parameters
    ----------
    judge : Judge
        Who is asked.
    reader : ReplyReader
        Reads its replies.
    store : Store
        Where replies are looked up and requests are claimed.
    gate : RateGate
        Admits its calls.
    budget : CostBudget
        Of the run.
    retry : RetryPolicy
        How calls are retried.
    sleep : callable
        Waits, and raises `NotAsked` as soon as nothing more may be sent.
    """

    def __init__(
        self,
        judge: Judge,
        reader: ReplyReader,
        store: Store,
        *,
        gate: RateGate,
        budget: CostBudget,
        retry: RetryPolicy,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._judge = judge
        self._name = judge.spec.name
        self._reader = reader
        self._store = store
        self._gate = gate
        self._budget = budget
        self._retry = retry
        self._sleep = sleep
        self._price = price_of(judge.spec)
        self._reply_cap = reply_cap(judge.spec)
        self._deadline = Deadline(judge.spec.deadline_s)

    async def ask(self, unit: WorkUnit) -> UnitOutcome:
        """Ask for one unit of work, unless its reply is stored.

        Parameters
        ----------
        unit : WorkUnit
            One sample, or several that one request asks for; of a pair, the next turn.

        Returns
        -------
        UnitOutcome
            With one verdict per sample, a failed one where there was no reply, and with what is
            still to be asked, such as the second turn of a pair. Without verdicts if the unit may
            not be asked now. The locks on the requests of received replies stay claimed: they are
            released when the replies are stored.

        Raises
        ------
        RunError
            If the store cannot be read.
        """
        ask = self._ask_samples if len(unit.samples) > 1 else self._ask_one
        outcome = await ask(unit)
        if self._budget.limit_usd is None or not outcome.received or outcome.failure is not None:
            return outcome
        return outcome._replace(failure=self._budget.overrun(self._name))

    def claim(self, units: Sequence[WorkUnit]) -> Claims:
        """Claim the requests of many units of one sample; of those with one request, the first."""
        if not units:
            return Claims((), (), (), ())
        owners = {unit.hashes[0]: unit for unit in reversed(units)}
        claim = self._store.claim([unit.key for unit in owners.values()])
        claimed, waiting, stored, held = [], [], [], []
        for unit in units:
            request = unit.hashes[0]
            if request in claim.stored:
                stored.append((unit, claim.stored[request]))
            elif request in claim.held:
                held.append(claim.held[request])
            elif request in claim.granted and owners[request] is unit:
                unit.claimed = True
                claimed.append(unit)
            else:
                waiting.append(unit)
        return Claims(claimed, waiting, stored, held)

    def read_stored(self, replies: Iterable[tuple[WorkUnit, Reply]]) -> list[Verdict]:
        """Return the verdicts on units whose reply is stored."""
        verdict = self._reader.verdict
        return [
            verdict(reply, unit.unit(), self._name, from_store=not self._count_paid(reply))
            for unit, reply in replies
        ]

    def stored_pairs(self, units: Iterable[WorkUnit]) -> list[Verdict]:
        """Return the verdicts on what is stored of the pairs among units."""
        pairs = [unit for unit in units if unit.elicitation == "paired"]
        firsts = self._store.get([unit.key for unit in pairs if unit.first is None])
        begun = [
            (unit, first)
            for unit in pairs
            if (first := unit.first or firsts.get(unit.hashes[0])) is not None
        ]
        requests = [
            self._judge.follow_up(unit.request_for(), first) if first.text.strip() else None
            for unit, first in begun
        ]
        replies = self._store.get([(r.cache_key, r.hash) for r in requests if r is not None])
        verdicts = []
        for (unit, first), request in zip(begun, requests, strict=True):
            reply = replies.get(request.hash) if request else None
            is_paid = self._count_paid(first, reply)
            from_store = not (is_paid or unit.bought)
            if request is None:
                verdicts.append(self._without_choice(first, unit.unit(), from_store=from_store))
            elif reply is not None:
                verdicts.append(self._read(unit, reply, first, from_store=from_store))
            elif is_paid:
                verdicts.append(self._first_turn(unit.unit(), first))
        return verdicts

    async def _ask_one(self, unit: WorkUnit) -> UnitOutcome:
        received: list[Reply] = []
        request, first = unit.request_for(), unit.first
        if first is not None:
            request = self._judge.follow_up(request, first)
        try:
            reply = await self._obtain(request, received, claimed=unit.claimed)
        except CallFailed as failure:
            verdict = self._failed(unit, request.hash, failure.reason)
            return UnitOutcome([verdict], failure=failure)
        except NotAsked as stop:
            return UnitOutcome(held_by=stop.held_by)
        if unit.elicitation == "paired" and first is None:
            return await self._continue_pair(unit, reply, received)
        bought = unit.bought or bool(received)
        bought |= self._count_paid(first, reply)
        return UnitOutcome([self._read(unit, reply, first, from_store=not bought)], received)

    async def _continue_pair(
        self, unit: WorkUnit, first: Reply, received: Sequence[Reply]
    ) -> UnitOutcome:
        """Return the first turn of a pair, to be written before its second is asked.

        A first turn that was written before is followed up here. A blank one is not: some providers
        refuse an empty turn.
        """
        bought = bool(received)
        if not first.text.strip():
            bought |= self._count_paid(first)
            return UnitOutcome(
                [self._without_choice(first, unit.unit(), from_store=not bought)], received
            )
        unit = replace(unit, first=first, bought=bought, claimed=False)
        if bought:
            return UnitOutcome([self._first_turn(unit.unit(), first)], received, unanswered=[unit])
        return await self.ask(unit)

    async def _obtain(self, request: Request, received: list[Reply], *, claimed: bool) -> Reply:
        """Return the reply to one request: the stored one, or one that is now paid for.

        While somebody else is asking for it, in this run or in another, their reply is waited for.
        """
        store, key, n_polls = self._store, (request.cache_key, request.hash), 0
        while not claimed:
            claim = store.claim([key])
            if claim.stored:
                return claim.stored[request.hash]
            if claim.held:
                raise NotAsked(claim.held[request.hash])
            claimed = bool(claim.granted)
            if not claimed:
                if n_polls * LOCK_POLL_S >= NOTICE_AFTER_S:
                    store.report_holder(request.hash)
                await self._sleep(LOCK_POLL_S)
                n_polls += 1
        try:
            [reply] = await self._call([request])
        except BaseException:
            store.release([request.hash])
            raise
        received.append(reply)
        return reply

    async def _ask_samples(self, unit: WorkUnit) -> UnitOutcome:
        """Ask for several samples, which are claimed, in one request; it may bring fewer."""
        claimed = unit.split()
        replies: list[Reply] = []
        failure: CallFailed | None = None
        try:
            replies = await self._call([part.request_for() for part in claimed])
        except CallFailed as error:
            failure = error
        except NotAsked:
            return UnitOutcome()
        finally:
            self._store.release(part.hashes[0] for part in claimed[len(replies) :])
        verdicts = [
            self._read(part, reply, None, from_store=False)
            for part, reply in zip(claimed, replies, strict=False)
        ]
        missing = [replace(part, claimed=False) for part in claimed[len(replies) :]]
        if failure is None or failure.reason in NO_SAMPLES:
            return UnitOutcome(verdicts, replies, unanswered=missing, too_few=bool(missing))
        given_up = missing[:1] if failure.stops_judge else missing
        verdicts += [self._failed(part, part.hashes[0], failure.reason) for part in given_up]
        return UnitOutcome(verdicts, replies, failure)

    async def _call(self, requests: Sequence[Request]) -> list[Reply]:
        """Send a request until it is answered, fails for good or may not be sent.

        Of several that differ in the sample alone, one is sent for all; there may be fewer replies.
        A place in flight is held only during an attempt, never between attempts.
        """
        try:
            return await self._attempt(requests)
        except CallFailed as failure:
            if not is_retryable(failure):
                raise
            attempt = partial(self._attempt, requests)
            return await self._retry.call_again(failure, attempt, self._sleep)

    async def _attempt(self, requests: Sequence[Request]) -> list[Reply]:
        gate, budget, judge = self._gate, self._budget, self._judge
        spec, n = judge.spec, len(requests)
        tokens = max_tokens(requests[0].messages, self._reply_cap, n) if gate.needs_tokens else 0
        ticket = await gate.enter(tokens)
        try:
            gate.check()
            await judge.prepare()
            most_usd, request = 0.0, requests[0].hash
            if budget.limit_usd is not None:
                most_usd = worst_cost(requests[0], self._price, self._reply_cap, n)
                await budget.wait_for_room(
                    spec.name, request, most_usd, tried_first=judge.tried_first
                )
                gate.check()
            with budget.reserve(spec.name, request, most_usd) as bill:
                with self._deadline:
                    replies = await judge.ask_many(requests)
                bill.settle(replies)
            gate.succeeded()
        except BudgetSpent:
            raise NotAsked from None
        except (NotAsked, RunError):
            raise
        except Exception as error:  # noqa: BLE001 -- a judge's bug ends no other judge
            failure = gate.failed(ticket, _failure_of(error))
            raise limit_wait(failure, spec.retry_after_max_s) from None
        finally:
            gate.leave()
        replies = [without_key(reply, spec.key_env) for reply in replies]
        for reply in replies:
            force_setattr(reply, "cache_key", requests[0].cache_key)
        return replies

    def _count_paid(self, *replies: Reply | None) -> bool:
        """Whether processes that this one started paid for any of some replies; counts each."""
        n_paid = sum(self._store.count_paid(reply.request) for reply in replies if reply)
        return n_paid > 0

    def _read(
        self, unit: WorkUnit, reply: Reply, first: Reply | None, *, from_store: bool
    ) -> Verdict:
        return self._reader.verdict(
            reply, unit.unit(), self._name, first=first, from_store=from_store
        )

    def _without_choice(self, first: Reply, unit: Unit, *, from_store: bool) -> Verdict:
        """Read a pair whose first turn was blank, so that there is no conversation to continue."""
        of_set = unit._replace(elicitation="response_set")
        verdict = self._reader.verdict(first, of_set, self._name, from_store=from_store)
        return replace(
            verdict,
            elicitation="paired",
            first=first,
            reply=None,
            failed_request=first.request,
            reason=f"set:{verdict.reason}",
        )

    def _first_turn(self, unit: Unit, first: Reply) -> Verdict:
        """Return what is written of a pair before its second turn is asked."""
        return failed(unit, self._name, first.request, reason=AWAITS_SECOND_TURN, first=first)

    def _failed(self, unit: WorkUnit, request: str, reason: str) -> Verdict:
        return failed(unit.unit(), self._name, request, reason=reason, first=unit.first)


def _failure_of(error: Exception) -> CallFailed:
    if isinstance(error, CallFailed):
        return error
    if isinstance(error, TimeoutError):
        return CallFailed("timeout", retry=True)
    return CallFailed(f"unexpected_{type(error).__name__}")


class Deadline:
    """A context, for many tasks at once, that ends with `TimeoutError` after ``seconds``.

    `asyncio.timeout` has a timer for each call and takes 4 us of CPU, 3 % of what a request costs;
    this takes 0.4 us. A task that is cancelled for another reason stays cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._ends: dict[asyncio.Task[Any], float] = {}  # in the order in which they end
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._ends[task] = time.monotonic() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._cancel_late)

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        if self._ends.pop(task, None) is not None:
            return
        if task.uncancel() == 0 and error_type is asyncio.CancelledError:
            raise TimeoutError

    def _cancel_late(self) -> None:
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            left_s = end - time.monotonic()
            if left_s > 0:
                self._timer = self._loop.call_later(left_s, self._cancel_late)
                break
            del self._ends[task]
            task.cancel()

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g} s, {len(self._ends)} calls)"

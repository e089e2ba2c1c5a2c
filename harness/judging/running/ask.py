"""Ask one unit of work: look-up, lock, rate limit, budget, call, retry and parse.

What a unit needs from its surroundings is handed in as `Services`; no state of the executor that
runs it is used.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import force_setattr, replace

from harness.errors import BudgetSpent, CallFailed, RunError
from harness.judging.judges.base import without_key
from harness.judging.judges.pricing import max_tokens
from harness.judging.judges.response_errors import is_retryable, limit_wait
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN, failed
from harness.judging.running.services import NotAsked, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request, Unit
    from harness.judging.running.services import Services, Store, WorkUnit

LOCK_POLL_S = 0.1  # between looks for the reply that somebody else is waiting for
NOTICE_AFTER_S = 5.0  # of waiting for that reply
NO_SAMPLES = frozenset({"bad_request", "unsupported_params"})  # answers to `n` greater than 1


async def ask_unit(unit: WorkUnit, services: Services) -> Outcome:
    """Ask a judge for one unit of work, unless its reply is stored.

    Parameters
    ----------
    unit : WorkUnit
        One sample, or several that one request asks for; of a pair, the next turn.
    services : Services
        Of the judge.

    Returns
    -------
    Outcome
        With one verdict per sample, a failed one where there was no reply, and with what is still
        to be asked, such as the second turn of a pair. Without verdicts if the unit may not be
        asked now. The locks on the requests of received replies stay claimed: they are released
        when the replies are stored.

    Raises
    ------
    RunError
        If the store cannot be read.
    """
    outcome = await (_ask_samples if len(unit.samples) > 1 else _ask)(unit, services)
    if services.budget.limit_usd is None or not outcome.received or outcome.failure is not None:
        return outcome
    return outcome._replace(failure=services.budget.overrun(services.judge.spec.name))


async def _ask(unit: WorkUnit, services: Services) -> Outcome:
    received: list[Reply] = []
    request = unit.request_for()
    if unit.first is not None:
        request = services.judge.follow_up(request, unit.first)
    try:
        reply = await _obtain(request, services, received, claimed=unit.claimed)
    except CallFailed as failure:
        return Outcome([_failed(unit, services, request.hash, failure.reason)], failure=failure)
    except NotAsked as stop:
        return Outcome(held_by=stop.held_by)
    if unit.elicitation == "paired" and unit.first is None:
        return await _continue_pair(unit, reply, received, services)
    bought = unit.bought or bool(received)
    bought |= count_paid(services.store, unit.first, reply)
    verdict = services.reader.verdict(
        reply, unit.unit(), services.judge.spec.name, first=unit.first, cached=not bought
    )
    return Outcome([verdict], received)


async def _continue_pair(
    unit: WorkUnit, first: Reply, received: Sequence[Reply], services: Services
) -> Outcome:
    """Return the first turn of a pair, to be written before its second is asked.

    A first turn that was written before is followed up here. A blank one is not: some providers
    refuse an empty turn.
    """
    bought, judge = bool(received), services.judge.spec.name
    if not first.text.strip():
        bought |= count_paid(services.store, first)
        blank = read_without_choice(services.reader, first, unit.unit(), judge, cached=not bought)
        return Outcome([blank], received)
    unit = replace(unit, first=first, bought=bought, claimed=False)
    if bought:
        return Outcome([first_turn(unit, judge)], received, unanswered=[unit])
    return await ask_unit(unit, services)


def count_paid(store: Store, *replies: Reply | None) -> bool:
    """Whether processes that this one started paid for any of some replies; counts each."""
    n_paid = sum(store.count_paid(reply.request) for reply in replies if reply is not None)
    return n_paid > 0


async def _obtain(
    request: Request, services: Services, received: list[Reply], *, claimed: bool = False
) -> Reply:
    """Return the reply to one request: the stored one, or one that is now paid for.

    While somebody else is asking for it, in this run or in another, their reply is waited for.
    """
    store, key, n_polls = services.store, (request.cache_key, request.hash), 0
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
            await services.clock.sleep(LOCK_POLL_S)
            n_polls += 1
    try:
        [reply] = await _call([request], services)
    except BaseException:
        store.release([request.hash])
        raise
    received.append(reply)
    return reply


class Claims(NamedTuple):
    """Result of `claim_many`.

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


def claim_many(units: Sequence[WorkUnit], services: Services) -> Claims:
    """Claim the requests of many units of one sample; of those with one request, the first."""
    if not units:
        return Claims((), (), (), ())
    owners = {unit.hashes[0]: unit for unit in reversed(units)}
    claim = services.store.claim([unit.key for unit in owners.values()])
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


async def _ask_samples(unit: WorkUnit, services: Services) -> Outcome:
    """Ask for several samples, which are claimed, in one request; it may bring fewer."""
    verdict = partial(services.reader.verdict, judge=services.judge.spec.name)
    claimed = unit.split()
    verdicts: list[Verdict] = []
    replies: list[Reply] = []
    failure: CallFailed | None = None
    try:
        replies = await _call([part.request_for() for part in claimed], services)
    except CallFailed as error:
        failure = error
    except NotAsked:
        return Outcome()
    finally:
        services.store.release(part.hashes[0] for part in claimed[len(replies) :])
    verdicts += [verdict(reply, part.unit()) for part, reply in zip(claimed, replies, strict=False)]
    missing = [replace(part, claimed=False) for part in claimed[len(replies) :]]
    if failure is None or failure.reason in NO_SAMPLES:
        return Outcome(verdicts, replies, unanswered=missing, too_few=bool(missing))
    given_up = missing[:1] if failure.stops_judge else missing
    verdicts += [_failed(part, services, part.hashes[0], failure.reason) for part in given_up]
    return Outcome(verdicts, replies, failure)


async def _call(requests: Sequence[Request], services: Services) -> list[Reply]:
    """Send a request until it is answered, fails for good or may not be sent.

    Of several that differ in the sample alone, one is sent for all; there may be fewer replies.
    A place in flight is held only during an attempt, never between attempts.
    """
    try:
        return await _attempt(requests, services)
    except CallFailed as failure:
        if not is_retryable(failure):
            raise
        attempt = partial(_attempt, requests, services)
        return await services.retry.call_again(failure, attempt, services.clock.sleep)


async def _attempt(requests: Sequence[Request], services: Services) -> list[Reply]:
    limiter, budget, judge = services.limiter, services.budget, services.judge
    spec, n = judge.spec, len(requests)
    tokens = max_tokens(spec, requests[0], n) if limiter.needs_tokens else 0
    ticket = await limiter.enter(tokens)
    try:
        limiter.check()
        await judge.prepare()
        if budget.limit_usd is not None:
            await budget.wait_for_room(judge, requests[0], n)
            limiter.check()
        with budget.reserve(spec, requests[0], n) as bill:
            with services.deadline:
                replies = await judge.ask_many(requests)
            bill.settle(replies)
        limiter.succeeded()
    except BudgetSpent:
        raise NotAsked from None
    except (NotAsked, RunError):
        raise
    except Exception as error:  # noqa: BLE001 -- a judge's bug ends no other judge
        failure = limiter.failed(ticket, _failure_of(error))
        raise limit_wait(failure, spec.retry_after_max_s) from None
    finally:
        limiter.leave()
    replies = [without_key(reply, spec) for reply in replies]
    for reply in replies:
        force_setattr(reply, "cache_key", requests[0].cache_key)
    return replies


def _failure_of(error: Exception) -> CallFailed:
    if isinstance(error, CallFailed):
        return error
    if isinstance(error, TimeoutError):
        return CallFailed("timeout", retry=True)
    return CallFailed(f"unexpected_{type(error).__name__}")


def read_without_choice(
    reader: ReplyReader, first: Reply, unit: Unit, judge: str, *, cached: bool
) -> Verdict:
    """Read a pair whose first turn was blank, so that there is no conversation to continue."""
    verdict = reader.verdict(first, unit._replace(elicitation="response_set"), judge, cached=cached)
    reason = f"set:{verdict.reason}"
    return replace(
        verdict,
        elicitation="paired",
        first=first,
        reply=None,
        failed_request=first.request,
        reason=reason,
    )


def first_turn(unit: WorkUnit, judge: str) -> Verdict:
    """Return what is written of a pair before its second turn is asked: the reply to the first."""
    assert unit.first is not None
    request = unit.first.request
    return failed(unit.unit(), judge, request, reason=AWAITS_SECOND_TURN, first=unit.first)


def _failed(unit: WorkUnit, services: Services, request: str, reason: str) -> Verdict:
    return failed(unit.unit(), services.judge.spec.name, request, reason=reason, first=unit.first)

"""Ask one unit of work: look-up, lock, rate limit, budget, call, retry and parse.

What a unit needs from its surroundings is handed in as `Services`; no state of the executor that
runs it is used.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import force_setattr, replace

from harness.errors import BudgetSpent, CallFailed, RunError
from harness.judging.judges.pricing import max_tokens
from harness.judging.judges.response_errors import limit_wait
from harness.judging.parsing.verdict import failed
from harness.judging.running.services import NotAsked, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.verdict import Reader, Reply, Verdict
    from harness.judging.prompts.requests import Request, Unit
    from harness.judging.running.services import Services, WorkUnit

LOCK_POLL_S = 0.1  # between looks for the reply that somebody else is waiting for
NO_SAMPLES = frozenset({"bad_request", "unsupported_params"})  # answers to `n` greater than 1


async def ask_unit(unit: WorkUnit, services: Services) -> Outcome:
    """Ask a judge for one unit of work, unless its reply is stored.

    Parameters
    ----------
    unit : WorkUnit
        One sample, or several that one request asks for; a pair is one sample of two turns.
    services : Services
        Of the judge.

    Returns
    -------
    Outcome
        With one verdict per sample, a failed one where there was no reply. Without verdicts if the
        unit may not be asked now. The locks on the requests of received replies stay claimed: they
        are released when the replies are stored.

    Raises
    ------
    RunError
        If the store cannot be read.
    """
    if len(unit.samples) > 1:
        return await _ask_samples(unit, services)
    received: list[Reply] = []
    first: Reply | None = None
    request, judge = unit.request_for(), services.judge
    try:
        reply = await _obtain(request, services, received)
        if unit.elicitation == "paired":
            if not reply.text.strip():
                cached = not received
                return Outcome(
                    [
                        read_without_choice(
                            services.reader, reply, unit.unit(), judge.spec.name, cached=cached
                        )
                    ],
                    received,
                )
            first, request = reply, judge.follow_up(request, reply)
            reply = await _obtain(request, services, received)
    except CallFailed as failure:
        return Outcome(
            [_failed(unit, services, request.hash, failure.reason, first)], received, failure
        )
    except NotAsked as stop:
        if first is None or not received:
            return Outcome(command=stop.command)
        verdict = _failed(unit, services, request.hash, "interrupted", first)
        return Outcome([verdict], received, command=stop.command)
    verdict = services.reader.verdict(
        reply, unit.unit(), judge.spec.name, first=first, cached=not received
    )
    return Outcome([verdict], received)


async def _obtain(request: Request, services: Services, received: list[Reply]) -> Reply:
    """Return the reply to one request: the stored one, or one that is now paid for.

    While somebody else is asking for it, in this run or in another, their reply is waited for.
    """
    name, locks = services.judge.spec.name, services.locks
    while not locks.claim(request.hash):
        _check_pending(request, services, name)
        await services.clock.sleep(LOCK_POLL_S)
    try:
        stored = services.store.get_many([(request.cache_key, request.hash)])
        if not stored:
            _check_pending(request, services, name)
            [reply] = await _call([request], services)
            received.append(reply)
            return reply
    except BaseException:
        locks.release(request.hash)
        raise
    locks.release(request.hash)
    return stored[request.hash]


def _check_pending(request: Request, services: Services, name: str) -> None:
    """Raise `NotAsked` if a request is in a batch of another run or judge."""
    if commands := services.pending.find([request.hash], name):
        raise NotAsked(commands[request.hash])


async def _ask_samples(unit: WorkUnit, services: Services) -> Outcome:
    """Ask for several samples in one request; it may bring fewer."""
    name, locks = services.judge.spec.name, services.locks
    parts = unit.split()
    claimed = [part for part in parts if locks.claim(part.hashes[0])]
    stored = services.store.get_many([part.keys[0] for part in claimed])
    pending = services.pending.find([part.hashes[0] for part in claimed], name)
    asked = [part for part in claimed if part.hashes[0] not in stored.keys() | pending.keys()]
    for part in claimed:
        if part not in asked:
            locks.release(part.hashes[0])
    later = [part for part in parts if part not in asked and part.hashes[0] not in stored]
    verdict = partial(services.reader.verdict, judge=name)
    verdicts = [
        verdict(stored[part.hashes[0]], part.unit(), cached=True)
        for part in claimed
        if part.hashes[0] in stored
    ]
    replies: list[Reply] = []
    failure: CallFailed | None = None
    try:
        if asked:
            replies = await _call([part.request_for() for part in asked], services)
    except CallFailed as error:
        failure = error
    except NotAsked:
        return Outcome(verdicts)
    finally:
        for part in asked[len(replies) :]:
            locks.release(part.hashes[0])
    verdicts += [verdict(reply, part.unit()) for part, reply in zip(asked, replies, strict=False)]
    missing = asked[len(replies) :]
    if failure is None or failure.reason in NO_SAMPLES:
        return Outcome(verdicts, replies, unanswered=missing + later, too_few=bool(missing))
    given_up = missing[:1] if failure.stops_judge else missing
    verdicts += [_failed(part, services, part.hashes[0], failure.reason) for part in given_up]
    return Outcome(verdicts, replies, failure, unanswered=later)


async def _call(requests: Sequence[Request], services: Services) -> list[Reply]:
    """Send a request until it is answered, fails for good or may not be sent.

    Of several that differ in the sample alone, one is sent for all; there may be fewer replies.
    A place in flight is held only during an attempt, never between attempts.
    """
    return await services.retry.call(partial(_attempt, requests, services), services.clock.sleep)


async def _attempt(requests: Sequence[Request], services: Services) -> list[Reply]:
    judge, limiter, budget = services.judge, services.limiter, services.budget
    spec, request, n = judge.spec, requests[0], len(requests)
    ticket = await limiter.enter(max_tokens(spec, request, n) if limiter.needs_tokens else 0)
    try:
        await budget.wait_for_room(spec, request, n)
        limiter.check()
        with budget.reserve(spec, request, n) as bill:
            with services.deadline:
                replies = [await judge.ask(request)] if n == 1 else await judge.ask_many(requests)
            bill.settle(replies)
        limiter.succeeded()
    except BudgetSpent:
        raise NotAsked from None
    except TimeoutError:
        raise CallFailed("timeout", retry=True) from None
    except CallFailed as failure:
        limiter.failed(ticket, failure)
        raise limit_wait(failure, spec.retry_after_max_s) from None
    except (NotAsked, RunError):
        raise
    except Exception as error:  # noqa: BLE001 -- a judge's bug ends no other judge
        raise CallFailed(f"unexpected_{type(error).__name__}") from None
    finally:
        limiter.leave()
    for reply in replies:
        force_setattr(reply, "cache_key", request.cache_key)
    return replies


def read_without_choice(
    reader: Reader, first: Reply, unit: Unit, judge: str, *, cached: bool
) -> Verdict:
    """Read a pair whose first turn was blank, so that there is no conversation to continue."""
    verdict = reader.verdict(first, unit._replace(elicitation="response_set"), judge, cached=cached)
    reason = f"set:{verdict.reason}"
    return replace(verdict, elicitation="paired", first=first, reply=None, reason=reason)


def _failed(
    unit: WorkUnit, services: Services, request: str, reason: str, first: Reply | None = None
) -> Verdict:
    return failed(unit.unit(), services.judge.spec.name, request, reason=reason, first=first)

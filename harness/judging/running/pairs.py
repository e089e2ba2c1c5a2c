"""Pairs: a response set and then a choice from it, asked in one conversation of two requests.

The first turn is the request for the response set alone, whose stored reply serves both. It is
written before the second turn is asked, so that a run that is killed in between keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import CallFailed, NotAsked
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN, failed
from harness.judging.running.units import UnitOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Unit
    from harness.judging.running.ask import Asker
    from harness.judging.running.units import WorkUnit
    from harness.judging.storage.reply_store import Store


class PairAsker:
    """Asks one judge for pairs, one turn at a time.

    Parameters
    ----------
    asker : Asker
        Obtains and reads replies.
    judge : Judge
        Who is asked.
    store : Store
        Where replies are looked up.
    """

    def __init__(self, asker: Asker, judge: Judge, store: Store) -> None:
        self._asker = asker
        self._judge = judge
        self._name = judge.spec.name
        self._store = store

    async def ask(self, unit: WorkUnit) -> UnitOutcome:
        """Ask for the next turn of a pair; see `Asker.ask`."""
        asker, first = self._asker, unit.first
        received: list[Reply] = []
        request = unit.request_for()
        if first is not None:
            request = self._judge.follow_up(request, first)
        try:
            reply = await asker.obtain(request, received, unit)
        except CallFailed as failure:
            return UnitOutcome([asker.failed(unit, request.hash, failure.reason)], failure=failure)
        except NotAsked as stop:
            return UnitOutcome(held_by=stop.held_by)
        if first is None:
            return await self._continue(unit, reply, received)
        bought = unit.bought or bool(received)
        bought |= asker.count_paid(first, reply)
        return UnitOutcome([asker.read(unit, reply, first=first, from_store=not bought)], received)

    async def _continue(
        self, unit: WorkUnit, first: Reply, received: Sequence[Reply]
    ) -> UnitOutcome:
        """Return the first turn of a pair, to be written before its second is asked.

        A first turn that was written before is followed up here. A blank one is not: some providers
        refuse an empty turn.
        """
        bought = bool(received)
        if not first.text.strip():
            bought |= self._asker.count_paid(first)
            return UnitOutcome([self._without_choice(unit, first, from_store=not bought)], received)
        unit = replace(unit, first=first, bought=bought, claimed=False)
        if bought:
            return UnitOutcome([self._first_turn(unit.unit(), first)], received, unanswered=[unit])
        return await self.ask(unit)

    def stored(self, units: Iterable[WorkUnit]) -> list[Verdict]:
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
            is_paid = self._asker.count_paid(first, reply)
            from_store = not (is_paid or unit.bought)
            if request is None:
                verdicts.append(self._without_choice(unit, first, from_store=from_store))
            elif reply is not None:
                verdicts.append(self._asker.read(unit, reply, first=first, from_store=from_store))
            elif is_paid:
                verdicts.append(self._first_turn(unit.unit(), first))
        return verdicts

    def read_first(self, unit: WorkUnit, *, from_store: bool = False) -> Verdict:
        """Read the first turn of a pair as what it is, a response set."""
        assert unit.first is not None
        of_set = replace(unit, elicitation="response_set", first=None)
        return self._asker.read(of_set, unit.first, from_store=from_store)

    def _without_choice(self, unit: WorkUnit, first: Reply, *, from_store: bool) -> Verdict:
        """Read a pair whose first turn was blank, so that there is no conversation to continue."""
        verdict = self.read_first(replace(unit, first=first), from_store=from_store)
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

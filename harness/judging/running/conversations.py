"""Conversations: units that need several replies, each to a request of its own.

A pair is a response set and then a choice from it. The request for the set is the same as for a
response set on its own, so one stored reply serves both. If the judge has ``reask: 1``, an
unreadable reply is followed by one more question. Each reply is written before the next turn is
requested, so a run that is killed in between keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.judging.parsing.verdict import AWAITS_SECOND_TURN, Verdict, failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.judging.judges.base import Judge
    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Request
    from harness.judging.running.units import WorkUnit
    from harness.judging.storage.reply_store import Store


class Conversations:
    """Next requests for one judge's units, and verdicts from the replies received so far.

    Parameters
    ----------
    judge : Judge
        The judge.
    reader : ReplyReader
        Reads its replies.
    store : Store
        Store in which replies are looked up.
    """

    def __init__(self, judge: Judge, reader: ReplyReader, store: Store) -> None:
        self._judge = judge
        self._reader = reader
        self._store = store
        self._name = judge.spec.name
        self._reasks = judge.spec.reask == 1

    def request(self, unit: WorkUnit) -> Request:
        """Return a unit's next request."""
        request = unit.request_for()
        if not unit.has_begun:
            return request
        judge, asked = self._judge, unit.unit()
        if unit.first is not None:
            if unit.first_unread is not None:
                request = judge.ask_again(request, unit.first_unread, asked, "response_set")
            request = judge.follow_up(request, unit.first)
        if unit.unread is not None:
            request = judge.ask_again(request, unit.unread, asked, unit.turn)
        return request

    def step(self, unit: WorkUnit, reply: Reply, *, bought: bool) -> Verdict | WorkUnit:
        """Add a reply to a unit. Return the verdict, or the unit if it needs another reply.

        ``bought`` says whether this run paid for the reply. A blank set ends a pair, because some
        providers reject an empty turn.
        """
        bought = bought or unit.bought
        if unit.elicitation == "paired":
            if self._is_to_reask(unit, reply) and self._reader.is_unreadable(
                reply, unit.unit(), unit.turn
            ):
                return replace(unit, unread=reply, bought=bought, claimed=False)
            if unit.first is not None:
                return self._verdict(unit, reply, bought=bought)
            if not reply.text.strip():
                return self._without_choice(unit, reply, bought=bought)
            return replace(
                unit,
                first=reply,
                unread=None,
                first_unread=unit.unread,
                bought=bought,
                claimed=False,
            )
        verdict = self._verdict(unit, reply, bought=bought)
        if verdict.outcome != "invalid":
            return verdict
        return self.after_unread(unit, reply, verdict, bought=bought)

    def after_unread(
        self, unit: WorkUnit, reply: Reply, verdict: Verdict, *, bought: bool
    ) -> Verdict | WorkUnit:
        """Return the unit for a second question, or the verdict if a second one is not allowed."""
        if self._is_to_reask(unit, reply):
            return replace(unit, unread=reply, bought=bought, claimed=False)
        return verdict

    def begun(self, unit: WorkUnit) -> Verdict:
        """Return the verdict that records an unfinished conversation before its next turn."""
        return self.failed(unit, unit.replies[-1].request, AWAITS_SECOND_TURN)

    def failed(self, unit: WorkUnit, request: str, reason: str) -> Verdict:
        """Return the verdict on a unit whose last request got no reply."""
        return failed(
            unit.unit(),
            self._name,
            request,
            reason=reason,
            first=unit.first,
            unread=unit.unread,
            first_unread=unit.first_unread,
        )

    def stored(self, units: Iterable[WorkUnit]) -> list[Verdict]:
        """Return verdicts for conversations that stored replies complete."""
        verdicts: list[Verdict] = []
        open_units = [(unit, False) for unit in units if unit.is_conversation]
        while open_units:
            requests = [self.request(unit) for unit, _ in open_units]
            replies = self._store.get([(r.cache_key, r.hash) for r in requests])
            going_on = []
            for (unit, was_paid), request in zip(open_units, requests, strict=True):
                reply = replies.get(request.hash)
                if reply is None:
                    verdicts += [self.begun(unit)] if was_paid else []
                    continue
                is_paid = was_paid | self._store.count_paid(request.hash)
                step = self.step(unit, reply, bought=is_paid)
                if isinstance(step, Verdict):
                    verdicts.append(step)
                else:
                    going_on.append((step, is_paid))
            open_units = going_on
        return verdicts

    def _is_to_reask(self, unit: WorkUnit, reply: Reply) -> bool:
        """Return whether to ask a second question after an unreadable reply."""
        return self._reasks and unit.unread is None and is_whole(reply)

    def _verdict(self, unit: WorkUnit, reply: Reply, *, bought: bool) -> Verdict:
        """Parse a unit's last reply, or both replies to a set-then-choice pair."""
        verdict = self._reader.verdict(
            reply, unit.unit(), self._name, first=unit.first, from_store=not bought
        )
        if unit.unread is None and unit.first_unread is None:
            return verdict
        return replace(verdict, unread=unit.unread, first_unread=unit.first_unread)

    def read_first(self, unit: WorkUnit) -> Verdict:
        """Parse the first reply to a set-then-choice pair as a response set."""
        assert unit.first is not None
        of_set = replace(unit, elicitation="response_set", first=None)
        return self._verdict(of_set, unit.first, bought=unit.bought)

    def _without_choice(self, unit: WorkUnit, first: Reply, *, bought: bool) -> Verdict:
        """Return the verdict on a set-then-choice pair that ends because its set is blank."""
        of_set = replace(unit, elicitation="response_set")
        verdict = self._verdict(of_set, first, bought=bought)
        return replace(
            verdict,
            elicitation="paired",
            first=first,
            unread=None,
            first_unread=unit.unread,
            reply=None,
            failed_request=first.request,
            reason=f"set:{verdict.reason}",
        )


def is_whole(reply: Reply) -> bool:
    """Return whether a reply has text and was not cut off."""
    return bool(reply.text.strip()) and reply.ending != "cut_off"

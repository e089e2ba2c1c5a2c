"""The first replies of a judge, which show if replies are readable before more are bought."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from harness.files.plain_text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.verdict import Verdict

N_FIRST = 20  # replies that decide
MOST_READ = 5  # of these, at which a judge stops
N_EXAMPLES = 3
EXAMPLE_CHARS = 80


class FirstReplies:
    """Gate that passes `N_FIRST` of a judge's requests, and the others after these are answered.

    A request for several samples counts once, by their readable share. Abstentions and refusals are
    readable. If a second question doesn't help, both replies count.

    Parameters
    ----------
    is_decided : bool
        Whether all requests pass from the start.

    Attributes
    ----------
    n_received : int
        Number of replies, including stored ones, up to `N_FIRST`.
    n_read : float
        How many of them are readable.
    examples : list of str
        Beginnings of the first unreadable replies.
    have_passed : bool
        Whether all first replies were received and enough are readable, so that requests needn't
        wait.
    """

    def __init__(self, *, is_decided: bool = False) -> None:
        self.n_received = 0
        self.n_read = 0.0
        self.examples: list[str] = []
        self.have_passed = False
        self._is_decided = is_decided
        self._n_open = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a request's turn; call `leave` when the request has ended."""
        if self._queue or not self._has_room:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            await turn
        else:
            self._n_open += 1

    def leave(self) -> None:
        """Count a request as ended, with or without a reply."""
        self._n_open -= 1
        if self._queue:
            self._let_through()

    @property
    def _has_room(self) -> bool:
        return self._is_decided or self._n_open + self.n_received < N_FIRST

    def _let_through(self) -> None:
        """Pass requests in their order, as long as there is room."""
        while self._queue and self._has_room:
            turn = self._queue.popleft()
            if not turn.done():
                self._n_open += 1
                turn.set_result(None)

    def count(self, verdicts: Sequence[Verdict]) -> None:
        """Count the replies to one request; failed verdicts don't have any."""
        if self.n_received == N_FIRST:
            return
        replies = [verdict for verdict in verdicts if verdict.outcome != "failed"]
        if not replies:
            return
        unread = [verdict for verdict in replies if verdict.outcome == "invalid"]
        n_replies = 1 + any(verdict.is_reasked for verdict in unread)
        self.n_received = min(self.n_received + n_replies, N_FIRST)
        self.n_read += 1 - len(unread) / len(replies)
        texts = filter(None, map(_example, unread))
        self.examples = list(dict.fromkeys([*self.examples, *texts]))[:N_EXAMPLES]
        if self.n_received == N_FIRST:
            self.have_passed = not self.are_unreadable
            self.let_all_through()

    def let_all_through(self) -> None:
        """Pass all waiting requests."""
        self._is_decided = True
        self._let_through()

    @property
    def are_unreadable(self) -> bool:
        """Return whether too few of the first replies are readable."""
        return self.n_received == N_FIRST and self.n_read <= MOST_READ

    def __repr__(self) -> str:
        return f"FirstReplies({self.n_received} received, {self.n_read:g} of the first read)"


def _example(verdict: Verdict) -> str:
    """Return the beginning of a reply, or of its reasoning if the reply is empty."""
    texts = [text for reply in verdict.replies for text in (reply.text, reply.reasoning)]
    return visible(next(filter(None, map(str.strip, texts)), "")[:EXAMPLE_CHARS])

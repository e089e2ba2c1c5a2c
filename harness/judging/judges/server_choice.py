"""Servers that hold the same model: each call goes to the healthy one with the fewest calls."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.errors import CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.judging.judges.http_exchange import Answer

REST_S = 10.0  # for which a server that failed gets no call
GONE = frozenset({502, 503, 504})  # what a gateway says of a server that does not reply
NO_SERVER = frozenset({"unreachable", "connection_lost"})


@dataclass(slots=True)
class Server:
    """One address, its calls in flight, and when it may be called again."""

    url: str
    in_flight: int = 0
    rests_until_s: float = float("-inf")


class ServerChoice:
    """Chooses among the addresses of one judge.

    Parameters
    ----------
    urls : sequence of str
        One or more.
    now_s : callable
        The clock.
    """

    def __init__(self, urls: Sequence[str], now_s: Callable[[], float] = time.monotonic) -> None:
        self._servers = [Server(url) for url in urls]
        self._now_s = now_s

    @contextmanager
    def call(self) -> Iterator[Server]:
        """Choose a server for one call; one that cannot be reached rests for `REST_S`.

        Where all rest, the one that is to rest the shortest is called.
        """
        now = self._now_s()
        server = min(self._servers, key=lambda s: (max(0.0, s.rests_until_s - now), s.in_flight))
        server.in_flight += 1
        try:
            yield server
        except CallFailed as failure:
            if failure.reason in NO_SERVER:
                self._rest(server)
            raise
        finally:
            server.in_flight -= 1

    def note(self, server: Server, answer: Answer) -> None:
        """Note the response of a server, which may be a gateway that has none behind it."""
        if answer.status in GONE:
            self._rest(server)

    def _rest(self, server: Server) -> None:
        server.rests_until_s = self._now_s() + REST_S

    def __repr__(self) -> str:
        now = self._now_s()
        n_resting = sum(server.rests_until_s > now for server in self._servers)
        return f"ServerChoice({len(self._servers)} servers, {n_resting} of them rest)"

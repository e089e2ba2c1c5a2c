"""Requests to stop a run, sent by signals or by another thread."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.files.plain_text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.judging.running.recorder import Observer
    from harness.judging.running.session import Session

SIGHUP = getattr(signal, "SIGHUP", None)  # missing on Windows
STOP_SIGNALS = tuple(filter(None, (signal.SIGINT, signal.SIGTERM, SIGHUP)))


class StopRequests:
    """Receiver of requests to stop a run, from signal handlers or other threads.

    The first request drains the run: no more requests are sent, and replies in flight are received.
    The second request cancels it.

    Attributes
    ----------
    signals : list of int
        Signal numbers of the requests so far.
    """

    def __init__(self) -> None:
        self.signals: list[int] = []
        self._deliver: Callable[[int], object] = self.signals.append

    def request(self, number: int = signal.SIGINT) -> None:
        """Request a stop of the run, from any thread."""
        self._deliver(number)

    @contextmanager
    def handled_by(self, handler: Callable[[], None]) -> Iterator[None]:
        """Call ``handler`` in the running loop for each request or, in the main thread, signal.

        Earlier signal handlers are restored afterwards.
        """
        loop = asyncio.get_running_loop()

        def receive(number: int) -> None:
            self.signals.append(number)
            if number == SIGHUP:
                _leave_terminal()
            handler()

        self._deliver = lambda number: loop.call_soon_threadsafe(receive, number)
        in_main_thread = threading.current_thread() is threading.main_thread()
        previous = {n: signal.getsignal(n) for n in STOP_SIGNALS if in_main_thread}
        if SIGHUP and previous.get(SIGHUP) == signal.SIG_IGN:  # ignored if started by nohup
            del previous[SIGHUP]
        for number in previous:
            loop.add_signal_handler(number, receive, number)
        for _ in tuple(self.signals):  # requests from before the loop was running
            handler()
        try:
            yield
        finally:
            self._deliver = self.signals.append
            for number, previous_handler in previous.items():
                loop.remove_signal_handler(number)
                if previous_handler is not None:
                    signal.signal(number, previous_handler)


def _leave_terminal() -> None:
    """Discard pending output to a closed terminal, because writing there is an error."""
    for descriptor in (1, 2):
        if stat.S_ISCHR(os.fstat(descriptor).st_mode):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, descriptor)
            os.close(null)


def waiting_for(n_replies: int) -> str:
    """Return the line to show after a request to stop, with the number of replies in flight."""
    replies = counted([n_replies], "reply")
    waiting = f"Waiting for {replies} already requested. " if n_replies else "Stopping. "
    return f"{waiting}Press Ctrl-C again to stop now."


async def run_until_stopped(
    session: Session, observer: Observer, stop: StopRequests
) -> dict[str, str]:
    """Run a session until it ends or someone requests a stop.

    Returns
    -------
    ends : dict of str to str
        Reason why each judge is incomplete; empty for complete judges. The dict is empty if the
        run was cancelled.
    """
    asking = asyncio.ensure_future(session.run())

    def on_stop() -> None:
        if len(stop.signals) == 1:
            session.state.interrupt()
            observer.say(waiting_for(session.n_in_flight))
        else:
            asking.cancel()

    with stop.handled_by(on_stop):
        try:
            return await asking
        except asyncio.CancelledError:
            if not stop.signals:
                raise
            return {}

"""Show a run's progress: bars on a terminal, plain lines elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from harness.app.run import LineObserver
from harness.cli.output import dollars, echo
from harness.files.plain_text import visible
from harness.judging.running.budget import PaidReplies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from rich.progress import TaskID

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.storage.reply_store import SharedProgress

LINE_EVERY_S = 10.0
RATE_OVER_S = 30.0
RATE_STEP_S = 0.1
ALL = "all processes"
MAX_LEFT_S = 1e9  # further digits aren't informative


class Silent(LineObserver):
    """Observer that prints only warnings, on stderr.

    Attributes
    ----------
    says_why : bool
        Whether to print why a judge is incomplete. A run's printed result already has a note on it.
    """

    says_why = True

    def ended(self, judge: str, reason: str) -> None:
        """Print why a judge is incomplete, unless the result shows the reason."""
        if self.says_why:
            super().ended(judge, reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def say(self, line: str) -> None:
        """Print a line."""
        with suppress(OSError):  # a closed stderr mustn't end the run
            echo(line, err=True)

    def show(self, text: str) -> None:
        """Print a judge's reply."""
        self.say(f"    - {text}")


class CallRate:
    """Rate of calls per second over the last half minute. It excludes stored and logged replies."""

    def __init__(self) -> None:
        self._calls: deque[tuple[float, int]] = deque()  # time, calls so far
        self._n_calls = 0

    def add(self, n_calls: int, now_s: float) -> None:
        """Record calls that were answered at a time, given in seconds."""
        self._n_calls += n_calls
        if len(self._calls) > 1 and now_s - self._calls[-2][0] < RATE_STEP_S:
            self._calls.pop()  # keeps one entry per step and the last
        self._calls.append((now_s, self._n_calls))
        while now_s - self._calls[0][0] > RATE_OVER_S:
            self._calls.popleft()

    def per_second(self) -> float | None:
        """Return the calls per second, or None until there are calls at two different times."""
        if not self._calls:
            return None
        (first_s, n_first), (last_s, n_last) = self._calls[0], self._calls[-1]
        n = n_last - n_first
        return n / (last_s - first_s) if n and last_s > first_s else None


class _Tally:
    """Counts of one judge's verdicts so far, with their cost."""

    def __init__(self, n_planned: int) -> None:
        self.n_planned = n_planned
        self.n_done = 0
        self.n_failed = 0
        self.n_from_store = 0
        self.rate = CallRate()
        self._paid = PaidReplies()
        self._cost_usd: float | None = 0.0  # None after a reply of unknown price

    def add(self, verdicts: Sequence[Verdict], *, resumed: bool = False) -> None:
        if not resumed:
            self.rate.add(sum(not verdict.from_store for verdict in verdicts), time.monotonic())
        self.n_done += len(verdicts)
        for verdict in verdicts:
            replies = self._paid.new(verdict)
            self.n_failed += verdict.outcome == "failed"
            self.n_from_store += verdict.from_store
            for reply in () if verdict.from_store else replies:
                self._cost_usd = _sum(self._cost_usd, reply.cost_usd)

    @property
    def speed(self) -> str:
        """Calls per second with the remaining time, or "" before the first call."""
        per_second = self.rate.per_second()
        if not per_second:
            return ""
        left_s = (self.n_planned - self.n_done) / per_second
        left = timedelta(seconds=round(min(left_s, MAX_LEFT_S)))
        return f"{per_second:.1f}/s, {left} left"

    @property
    def cost(self) -> str:
        return dollars(self._cost_usd)


def _of_all(progress: SharedProgress) -> str:
    """Summarise the progress of all processes in a run."""
    return (
        f"{ALL}: {progress.n_processes} processes running, {progress.n_replies} replies in the "
        "store"
    )


def _sum(total: float | None, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + cost


class _Counting(Silent):
    """Observer that counts each judge's verdicts, and shows every change."""

    def __init__(self, n_planned: Mapping[str, int]) -> None:
        self._tallies = {judge: _Tally(n) for judge, n in n_planned.items()}

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        self._tallies[judge].add(verdicts)
        self._show(judge)

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        self._tallies[judge].add(verdicts, resumed=True)
        self._show(judge)

    def _show(self, judge: str) -> None:
        raise NotImplementedError


class Lines(_Counting):
    """Observer that prints a line per judge every ten seconds, for logs and pipes."""

    def __init__(self, n_planned: Mapping[str, int]) -> None:
        super().__init__(n_planned)
        self._due_s = dict.fromkeys((*n_planned, ALL), time.monotonic() + LINE_EVERY_S)
        self._printed: dict[str, str] = {}

    def _show(self, judge: str) -> None:
        if time.monotonic() >= self._due_s[judge]:
            self._due_s[judge] = time.monotonic() + LINE_EVERY_S
            self._print(judge)

    def progressed(self, progress: SharedProgress) -> None:
        """Print the progress of all processes every ten seconds."""
        if time.monotonic() >= self._due_s[ALL]:
            self._due_s[ALL] = time.monotonic() + LINE_EVERY_S
            self.say(_of_all(progress))

    def ended(self, judge: str, reason: str) -> None:
        """Print a judge's final counts."""
        self._print(judge)
        super().ended(judge, reason)

    def _print(self, judge: str) -> None:
        tally = self._tallies[judge]
        failed = f"{tally.n_failed} failed, " if tally.n_failed else ""
        line = (
            f"{judge}: {tally.n_done - tally.n_failed}/{tally.n_planned} replies, {failed}"
            f"{tally.n_from_store} from the store, {tally.cost}"
        )
        if self._printed.get(judge) != line:
            self._printed[judge] = line
            self.say(line)


class Bars(_Counting):
    """Observer that shows a bar per judge with its rate, cost and remaining time."""

    def __init__(self, n_planned: Mapping[str, int]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        super().__init__(n_planned)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[cost]}"),
            console=Console(stderr=True),
        )
        self._bars = {
            judge: self._progress.add_task(visible(judge), total=n, speed="", cost="")
            for judge, n in n_planned.items()
        }
        self._all: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _show(self, judge: str) -> None:
        tally = self._tallies[judge]
        self._progress.update(
            self._bars[judge], completed=tally.n_done, speed=tally.speed, cost=tally.cost
        )

    def progressed(self, progress: SharedProgress) -> None:
        """Show the progress of all processes below the bars."""
        if self._all is None:
            self._all = self._progress.add_task("", total=None, speed="", cost="")
        self._progress.update(self._all, description=_of_all(progress))

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(visible(line), highlight=False, markup=False)


def watch(n_planned: Mapping[str, int], *, quiet: bool, says_why: bool = True) -> Silent:
    """Return the observer for a run. ``n_planned`` is the number of units per judge."""
    observer = Silent() if quiet else Bars(n_planned) if sys.stderr.isatty() else Lines(n_planned)
    observer.says_why = says_why
    return observer

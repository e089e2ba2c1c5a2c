"""Who watches a run: bars on a terminal, plain lines elsewhere, nobody when told to be quiet."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from harness.judging.running.paid_replies import Receipts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from harness.judging.parsing.verdict import Verdict

LINE_EVERY_S = 10.0


def dollars(amount: float | None) -> str:
    """Write what something cost, or that nobody knows."""
    return "unknown price" if amount is None else f"${amount:.4f}"


class Silent:
    """Shows nothing but what must be said."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Show nothing."""

    def ended(self, judge: str, reason: str) -> None:
        """Say only what went wrong."""
        if reason:
            from harness.judging.judges.response_errors import explain

            self.say(f"{judge}: not run to the end ({explain(reason)})")

    def say(self, line: str) -> None:
        """Say it on stderr, so that stdout holds the result alone."""
        with suppress(OSError):  # nobody reads on: what was paid for is received all the same
            typer.echo(line, err=True)


class _Tally:
    """What one judge has answered so far."""

    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.done = 0
        self.failed = 0
        self.cached = 0
        self._receipts = Receipts()
        self._known_usd = 0.0
        self._price_unknown = False

    def add(self, verdicts: Sequence[Verdict]) -> None:
        self.done += len(verdicts)
        for verdict in verdicts:
            new = self._receipts.new(verdict)
            self.failed += verdict.outcome == "failed"
            if verdict.cached:
                self.cached += 1
                continue
            for receipt in new:
                self._price_unknown |= receipt.cost_usd is None
                self._known_usd += receipt.cost_usd or 0.0

    @property
    def cost(self) -> str:
        """What was paid so far, unless a price is unknown."""
        return dollars(None if self._price_unknown else self._known_usd)


class Lines(Silent):
    """A line per judge now and then, for logs and pipes."""

    def __init__(self, planned: Mapping[str, int]) -> None:
        self._tallies = {judge: _Tally(n) for judge, n in planned.items()}
        self._next = dict.fromkeys(planned, time.monotonic() + LINE_EVERY_S)

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Say how far a judge has come, at most every `LINE_EVERY_S` seconds."""
        self._tallies[judge].add(verdicts)
        if time.monotonic() >= self._next[judge]:
            self._next[judge] = time.monotonic() + LINE_EVERY_S
            self._report(judge)

    def ended(self, judge: str, reason: str) -> None:
        """Say where a judge ended."""
        self._report(judge)
        super().ended(judge, reason)

    def _report(self, judge: str) -> None:
        tally = self._tallies[judge]
        failed = f"{tally.failed} failed, " if tally.failed else ""
        self.say(
            f"{judge}: {tally.done - tally.failed}/{tally.planned} replies, {failed}"
            f"{tally.cached} from the cache, {tally.cost}"
        )


class Bars(Lines):
    """One bar per judge with rate, cost so far and time left."""

    def __init__(self, planned: Mapping[str, int]) -> None:
        super().__init__(planned)
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[cost]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._ids: dict[str, Any] = {
            judge: self._bars.add_task(judge, total=n, rate="", cost="")
            for judge, n in planned.items()
        }

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Move a judge's bar."""
        tally = self._tallies[judge]
        tally.add(verdicts)
        bar = self._bars.tasks[self._ids[judge]]
        rate = f"{bar.speed:.1f}/s" if bar.speed else ""
        self._bars.update(bar.id, completed=tally.done, rate=rate, cost=tally.cost)

    def _report(self, judge: str) -> None:
        del judge
        self._bars.refresh()

    def say(self, line: str) -> None:
        """Print above the bars."""
        self._bars.console.print(line, highlight=False, markup=False)


def watch(planned: Mapping[str, int], *, quiet: bool) -> Silent:
    """Choose how a run is shown."""
    import sys

    if quiet:
        return Silent()
    return Bars(planned) if sys.stderr.isatty() else Lines(planned)

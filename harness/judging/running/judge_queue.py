"""One judge during a run: what is still open, and who is at work on it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.judging.running.deadline import Deadline

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Sequence

    from harness.errors import CallFailed
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request, Unit
    from harness.judging.running.jobs import Job, Observer
    from harness.judging.running.rate_gate import Gate

WAITING_PER_SLOT = 4  # units in hand (in flight or backing off) per call that may be in flight


@dataclass(slots=True)
class Open:
    """A unit that the log does not answer.

    ``request`` is that of the unit's item and elicitation, for any sample; ``hash`` is of the
    unit's own. ``known`` is the reply to the first turn of a pair, if the store has it; ``mine``
    says that the store has none and that this lane alone may ask. ``more`` are further samples of
    the same request, to be asked for together with it.
    """

    unit: Unit
    request: Request
    hash: str
    known: Reply | None = None
    mine: bool = False
    more: tuple[Open, ...] = ()


class Lane:
    """The state of one judge during a run.

    Its workers take units from one iterator. As many work as calls may be in flight; for one that
    backs off another is hired, up to a limit, so that waiting holds nobody up.
    """

    def __init__(self, job: Job, calls: asyncio.TaskGroup, gate: Gate) -> None:
        spec = job.judge.spec
        self.job = job
        self.judge = job.judge
        self.name = spec.name
        self.deadline = Deadline(spec.deadline_s)
        self.concurrency = spec.concurrency
        self.n_per_request = spec.n_per_request
        self.gate = gate
        self.units: Iterator[Open | None] = iter(())
        self.calls = calls
        self.n_workers = 0
        self.n_waiting = 0
        self.stopped = ""
        self._elsewhere: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()

    def stop(self, reason: str) -> None:
        """Ask this judge nothing more; those who wait to ask again are woken."""
        self.stopped = self.stopped or reason
        self.gate.shut()

    def fail(self, error: CallFailed) -> None:
        """Mind a request that was given up: it may stop the judge, or be worth asking again."""
        if error.stops_judge:
            self.stop(error.reason)
        elif error.retry:
            self._missed[error.reason] += 1

    def leave(self, commands: Iterable[str]) -> None:
        """Count units that wait in batches of other runs; ``commands`` get them."""
        self._elsewhere.update(commands)

    def end(self, observer: Observer) -> tuple[str, str]:
        """Tell the judge's name and why it was not run to the end, here and to whoever watches."""
        for command, n in self._elsewhere.items():
            observer.say(
                f"{self.name}: {n} units wait in batches of another run and are not asked here; "
                f"first get them with `{command}`, then resume this run"
            )
            self.stopped = self.stopped or "in_a_batch"
        if self._missed and not self.stopped:
            [(self.stopped, _)] = self._missed.most_common(1)
        observer.ended(self.name, self.stopped)
        return self.name, self.stopped

    @property
    def short_handed(self) -> bool:
        """Whether one more worker may be hired."""
        at_work = self.n_workers - self.n_waiting
        return at_work < self.concurrency and self.n_workers < self.concurrency * WAITING_PER_SLOT


def together(units: Sequence[Open], most: int) -> list[Open]:
    """Put units that differ in the sample alone together, at most so many; pairs stay alone."""
    groups: list[list[Open]] = []
    for unit in units:
        group = groups[-1] if groups else []
        alike = group and group[0].request is unit.request and group[0].mine and unit.mine
        if alike and len(group) < most and unit.unit.elicitation != "paired":
            group.append(unit)
        else:
            groups.append([unit])
    for first, *others in groups:
        first.more = tuple(others)
    return [group[0] for group in groups]


def first_request(verdict: Verdict) -> str:
    """Hash of the request that a unit began with."""
    return verdict.first.request if verdict.first else verdict.request

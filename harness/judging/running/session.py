"""Session that runs every judge on every open unit of a run.

Judges do not affect each other: each has its own rate limit, and if one fails, the others continue.
They share the open files that the system allows.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.running.asker import ask_all
from harness.judging.running.session_state import JudgeRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.running.rate_limit import RateEvent
    from harness.judging.running.session_state import SessionState
    from harness.judging.running.units import Job


PROGRESS_EVERY_S = 1.0


class Session:
    """Session that runs judges on the units without an answer in the run's log.

    Parameters
    ----------
    jobs : sequence of Job
        One per judge.
    state : SessionState
        State that the judges share.
    next_jobs : callable, optional
        Called once all jobs are done. Returns the judges' next jobs in the same order; empty if
        there are none. It gets the judges that stopped for a lasting reason, with the reason. It
        is not called after any other stop or a temporary failure.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        state: SessionState,
        *,
        next_jobs: Callable[[Mapping[str, str]], Sequence[Job]] | None = None,
    ) -> None:
        self.next_jobs = next_jobs
        self.state = state
        ceilings = self._ceilings([job.judge for job in jobs])
        state.judges += [JudgeRun(job, state, n) for job, n in zip(jobs, ceilings, strict=True)]
        by_name = {judge.name: judge.first for judge in state.judges}
        for verdict in state.done.values():
            if verdict.judge in by_name:
                by_name[verdict.judge].count([verdict])

    def _ceilings(self, judges: Sequence[Judge]) -> list[int]:
        """Return the maximum number of calls in flight for each judge."""
        wanted = [judge.n_connections for judge in judges if judge.n_connections]
        connections = share_connections(wanted)
        if connections != wanted:
            self.state.observer.say(
                f"only {sum(connections)} of the {sum(wanted)} calls can be in flight "
                f"simultaneously, because this process can open {open_files_limit()} files (ulimit "
                "-n)"
            )
        shares = iter(connections)
        return [next(shares) if j.n_connections else j.spec.concurrency for j in judges]

    async def run(self) -> dict[str, str]:
        """Run until all jobs are done or the session is ended early.

        Returns
        -------
        ends : dict of str to str
            Reason why each judge is incomplete; empty for complete judges.

        Raises
        ------
        RunError
            If verdicts can no longer be written, or the cache cannot be read.
        """
        showing = asyncio.create_task(self._show_shared_progress())
        try:
            await self._ask_in_turns()
        except BaseExceptionGroup as errors:
            unwritten, others = errors.split(RunError)
            if unwritten is None or others is not None:
                raise
            raise _first_error(unwritten) from None
        finally:
            showing.cancel()
            await self.state.recorder.close()
            self.state.budget.count(self.state.recorder.received_usd)
            await asyncio.gather(*(judge.judge.aclose() for judge in self.state.judges))
        return {judge.name: judge.stop_reason for judge in self.state.judges}

    async def _ask_in_turns(self) -> None:
        """Run all jobs, then any jobs that follow from the replies."""
        jobs: Sequence[Job] = [judge.job for judge in self.state.judges]
        while jobs:
            async with asyncio.TaskGroup() as group:
                for judge, job in zip(self.state.judges, jobs, strict=True):
                    judge.job = job
                    group.create_task(self._ask(judge))
            goes_on = all(judge.goes_on or judge.is_dropped for judge in self.state.judges)
            dropped = {
                judge.name: judge.stop_reason for judge in self.state.judges if judge.is_dropped
            }
            jobs = self.next_jobs(dropped) if self.next_jobs and goes_on else ()
        if self.next_jobs:
            for judge in self.state.judges:
                judge.end()

    async def _ask(self, judge: JudgeRun) -> None:
        """Run one judge's job."""
        await ask_all(judge)
        if self.next_jobs is None:
            judge.end()

    async def _show_shared_progress(self) -> None:
        """Report the progress of all of this run's processes periodically."""
        while progress := self.state.store.shared_progress():
            self.state.observer.progressed(progress)
            await asyncio.sleep(PROGRESS_EVERY_S)

    @property
    def rate_history(self) -> dict[str, Sequence[RateEvent]]:
        """Rate changes of each remote judge, with times on the monotonic clock."""
        remote = (judge for judge in self.state.judges if judge.judge.spec.remote)
        return {judge.name: judge.gate.rate.history for judge in remote}

    @property
    def n_in_flight(self) -> int:
        """Number of requests that were sent and not yet answered."""
        return sum(judge.gate.rate.in_flight for judge in self.state.judges)

    def stop(self, reason: str) -> None:
        """Stop all judges for a reason."""
        for judge in self.state.judges:
            judge.stop(reason)


def _first_error(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error in a nested exception group."""
    error = errors.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error


SPARE = 48  # files that a run can open in addition to its connections
USUALLY_OPEN = 32


def share_connections(wanted: Sequence[int]) -> list[int]:
    """Return the maximum number of connections for each judge, at least one.

    The soft limit on open files is raised as far as needed. If the hard limit is lower, each judge
    gets the same share of its wanted connections.
    """
    n_reserved = _n_open() + SPARE
    room = _raise_limit(n_reserved + sum(wanted)) - n_reserved
    if room >= sum(wanted):
        return list(wanted)
    return [max(1, n * max(room, 0) // sum(wanted)) for n in wanted]


def open_files_limit() -> int:
    """Return the limit on this process's open files."""
    import resource  # noqa: PLC0415 -- Windows lacks it, and most commands send nothing

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _raise_limit(needed: int) -> int:
    """Raise the limit on open files to ``needed`` if possible. Return the new limit."""
    import resource  # noqa: PLC0415 -- as above

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return needed
    if soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        with suppress(OSError, ValueError):  # macOS has a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return open_files_limit()


def _n_open() -> int:
    try:
        return len(os.listdir("/dev/fd"))  # noqa: PTH208 -- only names
    except OSError:
        return USUALLY_OPEN

"""Rounds of a race: which judges run on which items after each batch of items."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.completeness import fails_too_often
from harness.extras.racing.race_pool import pool_of
from harness.judging.judge_spec import control_judges
from harness.judging.judges.response_errors import is_lasting
from harness.judging.parsing.verdict import newest
from harness.judging.running.recorder import NoObserver
from harness.judging.storage.verdict_log import unit_key
from harness.stats.racing.race import start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.app.plan import Plan
    from harness.extras.racing.race_pool import RacePool
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.judging.running.units import Job
    from harness.judging.storage.reply_store import SharedProgress
    from harness.judging.storage.verdict_log import UnitKey
    from harness.stats.data.arrays import FloatArray
    from harness.stats.racing.race import Standing


def rounds(plan: Plan, logged: Mapping[UnitKey, Verdict], observer: Observer) -> Rounds:
    """Return the rounds of a race from its log. See `pool_of` for errors.

    Failed units run again, so they count as missing.
    """
    specs = (*plan.specs, *plan.ensembles)
    known = [verdict for verdict in logged.values() if verdict.outcome != "failed"]
    return Rounds(plan.jobs, pool_of(plan.task, specs, plan.config), known, observer, plan)


class Rounds(NoObserver):
    """Observer that collects written verdicts, from which the next requests follow.

    Parameters
    ----------
    jobs : sequence of Job
        Jobs of the judges on all items.
    pool : RacePool
        The race.
    known : iterable of Verdict
        Verdicts in the log.
    observer : Observer
        Watches the run.
    plan : Plan
        Plan that says whether the returned judge also runs on the remaining items.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        pool: RacePool,
        known: Iterable[Verdict],
        observer: Observer,
        plan: Plan,
    ) -> None:
        self._jobs = jobs
        self._pool = pool
        self._observer = observer
        self._completes = plan.config.complete_winner
        self._least = plan.config.choices.min_answered
        self._failed: dict[str, Counter[str]] = {name: Counter() for name in pool.n_replies}
        self._dropped: set[str] = set()
        self._place = {item.id: i for i, item in enumerate(pool.items)}
        self._replies: dict[str, dict[str, dict[UnitKey, Verdict]]] = {
            name: {} for name in pool.n_replies
        }
        self._losses = np.full((len(pool.specs), len(pool.items)), np.nan)
        self._standing: Standing = start(pool.design)
        self._given: dict[str, set[str]] = {name: set() for name in pool.n_replies}
        self.has_ended = False
        self._add(known)

    # Requests

    def next_jobs(self, stopped: Mapping[str, str]) -> Sequence[Job]:
        """Return each judge's next jobs, or nothing if the race and remaining items are done.

        Judges that ``stopped`` for a lasting reason are dropped, and the race continues without
        them. Without such a reason, the race stops if a judge has too many failed calls.
        """
        for job in filter(self._fails_too_often, self.asked_jobs()):
            [(reason, _)] = self._failed[job.judge.spec.name].most_common(1)
            if not is_lasting(reason):
                return ()
            stopped = {job.judge.spec.name: reason, **stopped}
        self._drop(stopped)
        self._update_losses()
        for standing in self._pool.standings(self._losses, self._standing):
            self._say_who_left(standing)
            self._standing = standing
        wanted = {
            name: {item.id for item in self._pool.items[:n_items]}
            for name, n_items in self._pool.n_items_for(self._standing).items()
        }
        winner = self._pool.specs[self._standing.leader]
        is_control = winner.name in control_judges(self._pool.specs)
        if self._standing.ending and self._completes and not is_control:
            for name in winner.members or [winner.name]:
                wanted[name] = {item.id for job in self._jobs for item in job.items}
        wanted |= {name: set() for name in self._dropped}
        jobs = [self._job(job, wanted[job.judge.spec.name]) for job in self._jobs]
        self.has_ended = not any(job.items for job in jobs)
        return () if self.has_ended else jobs

    def _fails_too_often(self, job: Job) -> bool:
        name = job.judge.spec.name
        n_planned, n_failed = sum(job.planned.values()), self._failed[name].total()
        return name not in self._dropped and fails_too_often(n_failed, n_planned, self._least)

    def _drop(self, stopped: Mapping[str, str]) -> None:
        """Drop judges from the race."""
        for name in stopped.keys() - self._dropped:
            self._observer.say(
                f"{name} was dropped from the race, which continues without it ({stopped[name]})"
            )
        self._dropped |= stopped.keys()

    def asked_jobs(self) -> list[Job]:
        """Return each judge's job, restricted to the items that it has received so far."""
        return [
            replace(
                job, items=tuple(i for i in job.items if i.id in self._given[job.judge.spec.name])
            )
            for job in self._jobs
        ]

    def _job(self, job: Job, wanted: set[str]) -> Job:
        """Return the part of a job that is needed now and was not returned earlier.

        Items that a strategy adds come with the first part, unless a judge that left the race has
        all needed replies.
        """
        name = job.judge.spec.name
        given = self._given[name]
        has_all = all(self._is_complete(name, item) for item in wanted - given)
        if has_all and name in self._left:
            given |= wanted
            return replace(job, items=())
        wanted = wanted | {item.id for item in job.items if item.id not in self._pool.task.by_id}
        items = tuple(item for item in job.items if item.id in wanted - given)
        given |= wanted
        return replace(job, items=items)

    @property
    def _left(self) -> set[str]:
        """Judges that left the race."""
        pairs = zip(self._pool.specs, self._standing.suspended, strict=True)
        return {spec.name for spec, is_suspended in pairs if is_suspended}

    def _is_complete(self, name: str, item: str) -> bool:
        """Return whether a judge's replies to an item are in the log."""
        return len(self._replies[name].get(item, ())) >= self._pool.n_replies[name]

    def _update_losses(self) -> None:
        """Compute the missing losses on items that judges ran on."""
        counts = [self._pool.n_items(int(n_units)) for n_units in self._standing.n_asked]
        first = min(int(np.isnan([*row, np.nan]).argmax()) for row in self._needed(counts))
        if first < max(counts):
            rows = slice(first, max(counts))
            ids = {item.id for item in self._pool.items[rows]}
            replies = {
                name: [
                    verdict
                    for item, verdicts in of_judge.items()
                    if item in ids or item not in self._place
                    for verdict in verdicts.values()
                ]
                for name, of_judge in self._replies.items()
            }
            self._losses[:, rows] = self._pool.losses_on(rows, replies, self._dropped)

    def _needed(self, counts: Sequence[int]) -> list[FloatArray]:
        """Return each judge's losses on the items it ran on."""
        return [row[:count] for row, count in zip(self._losses, counts, strict=True)]

    def _say_who_left(self, standing: Standing) -> None:
        for spec, before, now in zip(
            self._pool.specs, self._standing.suspended, standing.suspended, strict=True
        ):
            n_items = self._pool.n_items(int(standing.n_asked.max()))
            if now and not before:
                self._observer.say(f"{spec.name} dropped out of the race after {n_items} items")
            elif before and not now:
                self._observer.say(f"{spec.name} is back in the race after {n_items} items")

    # Progress

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Store newly written verdicts, and pass them on to the run's observer."""
        self._failed[judge].update(v.reason for v in verdicts if v.outcome == "failed")
        self._add(verdicts)
        self._observer.advanced(judge, verdicts)

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Pass verdicts from the log on to the run's observer."""
        self._observer.resumed(judge, verdicts)

    def progressed(self, progress: SharedProgress) -> None:
        """Pass the processes' progress on to the run's observer."""
        self._observer.progressed(progress)

    def ended(self, judge: str, reason: str) -> None:
        """Pass the end of a judge on to the run's observer."""
        self._observer.ended(judge, reason)

    def say(self, line: str) -> None:
        """Pass a line on to the run's observer."""
        self._observer.say(line)

    def show(self, text: str) -> None:
        """Pass a judge's text on to the run's observer."""
        self._observer.show(text)

    def _add(self, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            of_item = self._replies[verdict.judge].setdefault(verdict.item, {})
            key = unit_key(verdict)
            of_item[key] = newest(verdict, of_item.get(key))

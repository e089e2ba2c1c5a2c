"""Outcome of a race, and the part of its run that can be validated."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from harness.analysis.completeness import completeness_of
from harness.analysis.race_result import RacedJudge, RaceResult
from harness.errors import ExitCode
from harness.extras.racing.race_pool import pool_of
from harness.judging.judge_spec import control_judges
from harness.judging.judges.config import explained
from harness.judging.judges.response_errors import is_lasting
from harness.judging.running.budget import paid_replies
from harness.runs.sources import only

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis import Source
    from harness.analysis.race_result import Unfit
    from harness.extras.racing.race_pool import RacePool
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.runs.run_folder import RunFolder
    from harness.stats.racing.race import Standing
    from harness.tasks.item import Elicitation

OVER = ("asked", "done")  # states of a run in which failed units stay without a reply


def raced_source(
    folder: RunFolder, source: Source, replies: Mapping[str, Sequence[Verdict]]
) -> Source:
    """Add a race's outcome to a source, and remove judges that did not run on all items.

    The items that a judge runs on in a race depend on its answers, so these items do not allow a
    comparison of judges as in other runs.

    Parameters
    ----------
    folder : RunFolder
        The run.
    source : Source
        Source of all verdicts.
    replies : mapping of str to sequence of Verdict
        Verdicts on each judge's replies.

    Raises
    ------
    HarnessError
        If there are no items for a race.
    """
    manifest = folder.manifest
    pool = pool_of(source.task, manifest.judges, manifest.config)
    if manifest.state not in OVER:
        replies = {
            name: [verdict for verdict in of_judge if verdict.outcome != "failed"]
            for name, of_judge in replies.items()
        }
    dropped = {name for name, reason in manifest.ended.items() if is_lasting(reason)}
    standings = list(pool.standings(pool.losses_on(slice(None), replies, dropped)))
    last = standings[-1]
    leader = pool.specs[last.leader] if last.ending else None
    unfit = _why_unfit(leader, pool, source) if leader else ""
    winner = None if unfit else leader
    completed = winner is not None and _is_complete(winner, pool, source, replies)
    names = {winner.name} if winner and completed else set()
    race = RaceResult(
        ending=last.ending,
        judge=winner.name if winner else None,
        leader=leader.name if leader else None,
        unfit=unfit,
        within=pool.design.within,
        alpha=pool.design.alpha,
        loss=pool.loss.name,
        n_items=len(pool.items),
        n_unrated=pool.n_unrated,
        n_groups=len(pool.ends) if pool.is_grouped else None,
        n_drawn=pool.n_items(int(last.n_asked.max())),
        judges=_judges(pool, standings, replies),
        over_budget=not last.ending and manifest.exit_code == ExitCode.COST_LIMIT,
        completed=completed,
        n_replies=max(pool.n_replies.values(), default=1),
        dropped={
            s.name: explained(s, manifest.ended[s.name]) for s in pool.specs if s.name in dropped
        },
    )
    return replace(only(source, names), race=race)


def _why_unfit(leader: JudgeSpec, pool: RacePool, source: Source) -> Unfit:
    """Return why the judge with the lowest loss cannot win the race, or "" if it can."""
    if leader.name in control_judges(pool.specs):
        return "control"
    verdicts = source.verdicts[leader.name]
    planned: dict[Elicitation, int] = {pool.loss.elicitation: len(verdicts)}
    replies = completeness_of(verdicts, planned, source.task.by_id, source.settings.min_answered)
    return "" if replies.standing == "complete" else replies.standing


def _is_complete(
    winner: JudgeSpec, pool: RacePool, source: Source, replies: Mapping[str, Sequence[Verdict]]
) -> bool:
    """Return whether a judge, or every member of an ensemble, ran on all items of its run."""
    ids = {item.id for item in source.items}
    return all(
        sum(verdict.item in ids for verdict in replies[name]) == len(ids) * pool.n_replies[name]
        for name in winner.members or [winner.name]
    )


def _judges(
    pool: RacePool, standings: Sequence[Standing], replies: Mapping[str, Sequence[Verdict]]
) -> tuple[RacedJudge, ...]:
    """Return each judge's items and replies, and when the judge was dropped."""
    left: dict[str, tuple[int, int]] = {}
    for before, after in pairwise(standings):
        n_calls = sum(n * pool.n_replies[name] for name, n in pool.n_items_for(before).items())
        at = pool.n_items(int(before.n_asked.max())), n_calls
        for spec, was, now in zip(pool.specs, before.suspended, after.suspended, strict=True):
            if not now:
                left.pop(spec.name, None)
            elif not was:
                left[spec.name] = at
    last = standings[-1]
    n_items = pool.n_items_for(last)
    rows = [
        _raced_judge(
            pool,
            spec,
            n_items.get(spec.name, pool.n_items(int(n_units))),
            replies.get(spec.name, ()),
            left.get(spec.name),
        )
        for spec, n_units in zip(pool.specs, last.n_asked, strict=True)
    ]
    returned = pool.specs[last.leader].name if last.ending else ""
    return tuple(sorted(rows, key=lambda row: (row.judge != returned, -(row.left_at_calls or inf))))


def _raced_judge(
    pool: RacePool,
    spec: JudgeSpec,
    n_items: int,
    replies: Sequence[Verdict],
    left: tuple[int, int] | None,
) -> RacedJudge:
    later = {item.id for item in pool.items[n_items:]}
    rated = {item.id for item in pool.items}
    asked = [
        verdict
        for verdict in replies
        if verdict.item not in later
        and (verdict.item in rated or verdict.item not in pool.task.by_id)
    ]
    n_added = sum(verdict.item not in pool.task.by_id for verdict in asked)
    n_full = len(pool.items) * pool.n_replies.get(spec.name, 0) + n_added
    costs = [reply.cost_usd for _, bought in paid_replies(asked) for reply in bought]
    usd = None if None in costs or not asked else sum(cost for cost in costs if cost is not None)
    return RacedJudge(
        judge=spec.name,
        n_items=n_items,
        n_calls=len(asked),
        n_calls_full=n_full,
        usd=usd,
        usd_full=None if usd is None else usd / len(asked) * n_full,
        left_at_items=left and left[0],
        left_at_calls=left and left[1],
    )

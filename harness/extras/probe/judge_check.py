"""Check of one judge without labels, which counts answers that flip for no reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from harness.analysis.check_result import FlipRow, JudgeCheck
from harness.analysis.judge_result import cost_of
from harness.analysis.ratings import select_items
from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_as_in_run
from harness.app.run import ask_plan
from harness.errors import ExitCode
from harness.extras.probe.flip_rates import LEVEL, check_judges, write_probe
from harness.extras.probe.perturbations import (
    CONTROL,
    PROBE_ITEM,
    perturbed_task,
    read_perturbations,
)
from harness.judging.judges.parameter_refusals import REFUSED, refused_meaning
from harness.options.concerns import NO_CHOICES, RunOptions
from harness.runs.asked_items import items_of
from harness.stats import Estimate
from harness.stats.inference.estimate import share_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.app.plan import Plan
    from harness.extras.probe.perturbations import Perturbation, TextProbe
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.options.concerns import Items, Limit, RunPlace, Server
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Item, Task

TEXTS: tuple[TextProbe, ...] = ("verbosity", "format", "injection")
MOST_ORDERS = 4  # of the options shown
N_REPEATS = 2
NO_REASON = ("repeats", "orders", CONTROL, "verbosity", "format")  # for an answer to change
CHANGES = (*NO_REASON, "injection")


class PlannedPart(Protocol):
    """Function that plans single choices on a task's items, which a probe can perturb.

    If ``shuffled``, options have a different order in each sample.
    """

    def __call__(
        self, of_part: Task, samples: int, *, shuffled: bool = False, probe: str = ""
    ) -> Plan:
        """Plan a run on a task's items."""


def plans_of_judge(
    judge: str, task: Task, which: Items, limit: Limit, server: Server
) -> dict[str, Plan]:
    """Plan a check of a judge on the first items of a task. The items need no ratings.

    Parameters
    ----------
    judge : str
        Alias or model.
    task : Task
        Task with options and prompts.
    which : Items
        Criterion and number of items.
    limit, server
        Cost limit, and the judge's server.

    Raises
    ------
    HarnessError
        If the judge or the task cannot be checked.
    """

    def planned(of_part: Task, samples: int, *, shuffled: bool = False, probe: str = "") -> Plan:
        asked = _asking(samples, shuffled=shuffled) | limit.changes()
        return plan_run(of_part, [judge], RunOptions(**asked), server=server, changed_by=probe)

    items = select_items(task, criterion=which.criterion, limit=None)
    return _plans(task, _readable(task, items, which), planned)


def plans_in_run(
    folder: RunFolder, judge: str, which: Items, limit: Limit, server: Server
) -> dict[str, Plan]:
    """Plan a check of a run's judge on the run's first items, with the run's prompts.

    Parameters and errors are the same as for `plans_of_judge`.
    """
    task, own = folder.load_task(), folder.manifest.config
    kept = {"item_text": own.item_text, "choices": NO_CHOICES, "confirms": "", "batch": False}

    def planned(of_part: Task, samples: int, *, shuffled: bool = False, probe: str = "") -> Plan:
        changes = kept | _asking(samples, shuffled=shuffled) | {"changed_by": probe}
        return plan_as_in_run(folder, judge, of_part, changes, limit=limit, server=server)

    return _plans(task, _readable(task, items_of(task, own), which), planned)


def _readable(task: Task, items: Iterable[Item], which: Items) -> list[Item]:
    return [item for item in items if task.has_text(item)][: which.limit]


def _asking(samples: int, *, shuffled: bool) -> dict[str, object]:
    """Return run options that request single choices on all items."""
    return {
        "samples": samples,
        "shuffle_options": shuffled,
        "limit": None,
        "elicitations": ("forced_choice",),
        "pairs": None,
    }


def _plans(task: Task, items: Sequence[Item], planned: PlannedPart) -> dict[str, Plan]:
    """Plan all parts of a check before any request is sent."""
    task.require_options("a check of a judge")
    own = task.model_copy(update={"items": tuple(items)})
    in_orders = task.pairwise is not None  # whose successive samples alternate
    plans: dict[str, Plan] = {"repeats": planned(own, (1 + in_orders) * N_REPEATS)}
    if not in_orders:
        plans["orders"] = planned(own, min(len(task.options), MOST_ORDERS), shuffled=True)
    for probe in TEXTS:
        changed = perturbed_task(task, items, _one_of_each(read_perturbations(probe)), probe)
        plans[probe] = planned(changed, 1, probe=probe)
    for plan in plans.values():
        check_judges(plan)
    return plans


def _one_of_each(perturbations: Iterable[Perturbation]) -> tuple[Perturbation, ...]:
    """Return the first perturbation of each kind."""
    kinds: dict[str, Perturbation] = {}
    for perturbation in perturbations:
        kinds.setdefault(perturbation.kind, perturbation)
    return tuple(kinds.values())


class _Pairs(NamedTuple):
    """Number of reply pairs that should agree, number of pairs that differ, and their items."""

    n: int
    n_differing: int
    items: frozenset[str]

    @property
    def flipped(self) -> Estimate:
        """Share of pairs that differ. Its exact interval counts each item once."""
        counts = {"n": float(self.n), "k": float(self.n_differing)}
        if not self.n:
            return Estimate(value=None, reason="no_items", n_used=0, counts=counts)
        value, n_items = self.n_differing / self.n, len(self.items)
        interval = share_interval(value, n_items, level=LEVEL)
        return Estimate(value=value, interval=interval, n_used=n_items, counts=counts)

    def plus(self, other: _Pairs) -> _Pairs:
        """Return these counts plus the counts of other pairs."""
        n, k = self.n + other.n, self.n_differing + other.n_differing
        return _Pairs(n, k, self.items | other.items)


NO_PAIRS = _Pairs(0, 0, frozenset())


@dataclass(slots=True)
class _Replies:
    """Replies received in a check so far, with the pairs that they form."""

    verdicts: list[Verdict] = field(default_factory=list)
    pairs: dict[str, _Pairs] = field(default_factory=dict)
    to_target: Estimate | None = None
    stopped: str = ""
    spent_usd: float = 0.0
    exit_code: ExitCode = ExitCode.DONE

    def add(self, change: str, pairs: _Pairs) -> None:
        """Add reply pairs to the counts for a kind of change."""
        self.pairs[change] = self.pairs.get(change, NO_PAIRS).plus(pairs)


def check_judge(
    plans: Mapping[str, Plan],
    *,
    observer: Observer,
    below: Path,
    place: RunPlace,
    limit: Limit,
) -> JudgeCheck:
    """Run all parts of a check, and measure how often answers flip.

    Parameters
    ----------
    plans : mapping of str to Plan
        Plans from `plans_of_judge` or `plans_in_run`.
    observer : Observer
        Follows the run.
    below : Path
        Parent folder for the parts' run folders.
    place, limit
        As for a run. The limit is for all parts together.

    Raises
    ------
    HarnessError
        If replies cannot be stored.
    """
    replies = _Replies()
    for part, plan in plans.items():
        left = limit.after(replies.spent_usd).changes()
        config = plan.config.model_copy(update=left)
        folder, asked = ask_plan(
            replace(plan, config=config), observer=observer, out=below, place=place
        )
        _add(replies, part, plan, folder)
        replies.spent_usd += asked.budget.spent_usd
        replies.exit_code = asked.exit_code
        if asked.exit_code != ExitCode.DONE:
            break
    return _measured(plans["repeats"], replies)


def _add(replies: _Replies, part: str, plan: Plan, folder: RunFolder) -> None:
    """Add the replies from one part of the check."""
    judge = plan.jobs[0].judge.spec.name
    verdicts = list(folder.read_verdicts().final.values())
    replies.verdicts += verdicts
    replies.stopped = replies.stopped or folder.manifest.ended.get(judge, "")
    if part in {"repeats", "orders"}:
        for change, pairs in pairs_of_replies(verdicts).items():
            if change == part or plan.task.pairwise is not None:
                replies.add(change, pairs)
        return
    [flips] = write_probe(folder, plan).judges
    originals = frozenset(item.fields[PROBE_ITEM] for item in plan.task.items)
    for change, rates in ((part, flips.perturbed), (CONTROL, flips.control)):
        counts = rates.flipped.counts
        items = originals if rates.flipped.n_used == len(originals) else frozenset()
        items = items or frozenset(sorted(originals)[: rates.flipped.n_used])
        replies.add(change, _Pairs(int(counts["n"]), int(counts["k"]), items))
    if part == "injection":
        replies.to_target = flips.perturbed.to_target


def pairs_of_replies(verdicts: Iterable[Verdict]) -> dict[str, _Pairs]:
    """Pair each item's answers to the same prompt, and to different orders of the options.

    Successive replies to the same prompt make a pair, and so do the first replies to each order.
    """
    by_item: dict[str, dict[object, list[Verdict]]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: verdict.sample):
        if verdict.outcome == "answered":
            shown = by_item.setdefault(verdict.item, {})
            shown.setdefault((verdict.shown, verdict.swapped), []).append(verdict)
    pairs: dict[str, _Pairs] = {"repeats": NO_PAIRS, "orders": NO_PAIRS}
    for item, shown in by_item.items():
        alike = [pair for own in shown.values() for pair in pairwise(own)]
        firsts = [own[0] for own in shown.values()]
        for part, of_item in (("repeats", alike), ("orders", list(pairwise(firsts)))):
            differing = sum(one.value != other.value for one, other in of_item)
            if of_item:
                new = _Pairs(len(of_item), differing, frozenset({item}))
                pairs[part] = pairs[part].plus(new)
    return pairs


def _measured(plan: Plan, replies: _Replies) -> JudgeCheck:
    """Compute the result of a check from its replies."""
    no_reason = NO_PAIRS
    for change in NO_REASON:
        no_reason = no_reason.plus(replies.pairs.get(change, NO_PAIRS))
    refused = {v.reason for v in replies.verdicts if v.reason.startswith(REFUSED)}
    refused |= {replies.stopped} if replies.stopped.startswith(REFUSED) else set()
    return JudgeCheck(
        judge=plan.jobs[0].judge.spec.name,
        task=plan.task.name,
        n_items=len(plan.task.items),
        level=LEVEL,
        flipped=no_reason.flipped,
        rows=tuple(
            FlipRow(
                change=change,
                flipped=pairs.flipped,
                to_target=replies.to_target if change == "injection" else None,
            )
            for change, pairs in sorted(
                replies.pairs.items(), key=lambda row: CHANGES.index(row[0])
            )
        ),
        outcomes=dict(Counter(verdict.outcome for verdict in replies.verdicts)),
        refused_parameters=tuple(map(refused_meaning, sorted(refused))),
        cost_usd=cost_of(replies.verdicts).usd,
        n_replies=len(replies.verdicts),
        stopped=replies.stopped,
        exit_code=replies.exit_code,
    )

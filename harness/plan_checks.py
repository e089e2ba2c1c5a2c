"""Checks of a plan before anything is asked."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from harness.command_options import HERE
from harness.edges import edge
from harness.errors import JudgeError, JudgeUnavailable, OptionError, TaskError, in_sentences
from harness.judging.judges.cost_limit import Overshoot, check_limited, overshoot_of
from harness.judging.judges.judge_registry import check
from harness.judging.judges.pricing import price_of
from harness.stats.selection.replies import MIN_SAMPLES
from harness.tasks.options import DEFAULT_PROPERTY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.command_options import Place, RunOptions
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.prompts.requests import Prompts
    from harness.judging.running.units import Job
    from harness.run_plans import Plan
    from harness.runs import RunConfig
    from harness.tasks import Task


def check_race(options: RunOptions, place: Place = HERE) -> None:
    """Refuse what needs a race, and what a race cannot be.

    Raises
    ------
    OptionError
        If options do not fit.
    """
    if not options.race:
        given = {"within": options.within is not None, "complete_winner": options.complete_winner}
        for name, is_given in given.items():
            if is_given:
                raise OptionError("", f"{{{name}}} goes with a race", "Add {race}, or leave it out")
        return
    if options.batch:
        problem = "a race decides after each few items whom to ask next, and batches take hours"
        raise OptionError("", problem, "Leave {batch} or {race} out")
    if options.probe:
        problem = "a race asks about no items that are changed"
        raise OptionError("", problem, "Leave {probe} or {race} out")
    if place.store is not None:
        raise OptionError("", "a race runs in one process", "Leave {store} or {race} out")


def check_property(task: Task, specs: Sequence[JudgeSpec]) -> None:
    """Refuse a task whose property was not described, where it would be sent anywhere."""
    remote = next((spec.name for spec in specs if spec.remote), "")
    if remote and task.property == DEFAULT_PROPERTY:
        raise TaskError(
            f"{task.folder}: 'property' in task.yaml is still {DEFAULT_PROPERTY!r}, and {remote} "
            "would be asked for that. Describe there what was rated, as a phrase."
        )


def check_strategies(
    specs: Sequence[JudgeSpec], jobs: Sequence[Job], task: Task, prompts: Prompts
) -> None:
    """Refuse strategies that do not fit the options, their order or the elicitations."""
    for spec in specs:
        if spec.asking.needs_options:
            task.require_options(spec.name)
    in_order = [spec.strategy for spec in specs if spec.asking.keeps_order]
    if prompts.orders and in_order:
        raise JudgeError(f"{min(in_order)} is for one order of the options. Drop --shuffle-options")
    for spec in (job.judge.spec for job in jobs if not job.elicitations):
        raise JudgeError(
            f"{spec.name} endorses options one by one. Add --elicitation response_set"
            if spec.asking.asks_each_option
            else f"{spec.name} gives probabilities of single options. Add --elicitation "
            "forced_choice"
        )


def check_replies(replies: int | str | None, jobs: Sequence[Job], n_options: int) -> None:
    """Refuse a number of replies per item that no judge is asked for."""
    specs = [job.judge.spec for job in jobs]
    samples = [
        job.samples // spec.asking.replies_per_verdict(n_options)
        for job, spec in zip(jobs, specs, strict=True)
        if not spec.asking.gives_distribution
    ]
    most = max(samples, default=inf)
    needed = MIN_SAMPLES if replies == "inf" else int(replies or 1)
    if needed > most:
        raise JudgeError(
            f"--replies {replies} needs {needed} samples per item, but no judge is asked more than "
            f"{most}. Ask for more with --samples {needed}."
        )


def check_judges(plan: Plan) -> None:
    """Check that every judge can be asked and, under a cost limit, what it costs at most.

    Raises
    ------
    JudgeUnavailable
        If a key is missing, or the limit cannot be kept; all judges that cannot be asked are named.
        Nothing was spent.
    """
    reasons: list[str] = []
    for spec in _remote_and_own(plan):
        try:
            check(spec, plan.task)
        except JudgeUnavailable as reason:
            reasons.append(str(reason))
    if reasons:
        raise JudgeUnavailable(in_sentences(*reasons))
    check_limits(plan)


def check_limits(plan: Plan) -> None:
    """Check that the cost limit of a plan can be kept; see `check_limited`."""
    if plan.config.max_cost is not None:
        for spec in _remote_and_own(plan):
            check_limited(spec, is_soft=plan.config.max_cost_soft)


def overshoots(plan: Plan) -> list[Overshoot]:
    """Return how far a soft limit may be exceeded, for each judge that is asked over a network."""
    if plan.config.max_cost is None or not plan.config.max_cost_soft:
        return []
    return [
        overshoot_of(
            job.judge.spec,
            sum(job.planned.values())
            if in_batches(plan.config, job.judge.spec)
            else job.judge.spec.concurrency,
        )
        for job in plan.jobs
        if (price := price_of(job.judge.spec)) is None or price.output
    ]


def _remote_and_own(plan: Plan) -> tuple[JudgeSpec, ...]:
    """Return the specifications of all that is asked: the judges, and what embeds texts."""
    return (*plan.specs, *([plan.embedder] if plan.embedder else []))


def in_batches(config: RunConfig, spec: JudgeSpec) -> bool:
    """Return whether a judge is asked in batches."""
    return config.batch and bool(edge("batch").takes_batches(spec))

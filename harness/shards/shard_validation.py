"""Validation of judges from counts of shards: the parts of `harness.analysis.validate` that merge.

Values are those of `harness.analysis.validation.validate`, intervals are over blocks of items.
"""

from __future__ import annotations

import os
import resource
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from harness.analysis.evidence import evidence_of, range_of, why_not_tested
from harness.analysis.inputs import JudgeFacts, Source, human_sets
from harness.analysis.judge_costs import cost_of
from harness.analysis.metric_choice import choosing_of
from harness.analysis.option_scale import Scale
from harness.analysis.rater_agreement import alpha_sums
from harness.analysis.rater_replacement import (
    design_of,
    judge_replacement,
    replacement_of,
    why_no_test,
)
from harness.analysis.result import (
    HumanResult,
    JudgeResult,
    Validation,
    make_validation,
    settings_of,
    task_facts,
)
from harness.errors import TaskError, VerdictError
from harness.ratings import OutcomeCounts
from harness.shards.shard_counts import MEMORY_BYTES, ShardCounts, count_shard
from harness.stats.alt_test.deciding_test import decided
from harness.stats.alt_test.outcome import AnnotatorSummary
from harness.stats.alt_test.procedure import tests_of_comparisons
from harness.stats.alt_test.variants import adjust_jointly
from harness.stats.data.rating_table import OUTCOMES, Cut
from harness.stats.indeterminacy.rater_error import identifiability
from harness.stats.inference.bootstrap import Resampling
from harness.stats.inference.crossed_raters import MIN_RATERS as MIN_CROSSED
from harness.stats.inference.estimate import Estimate
from harness.stats.inference.metric import find_metric
from harness.stats.metrics.registry import metrics_for
from harness.stats.selection.block_footing import block_footing, evaluation_of_blocks
from harness.stats.selection.block_sums import BlockDraws, evaluate_blocks, tables_of
from harness.stats.selection.evaluation import RANKS_ON_ORDERED_SCALES, RANKS_WITHOUT_SETS
from harness.stats.selection.regret import GOALS
from harness.tasks import Task, find_task
from harness.tasks.folders import path_inside
from harness.tasks.schema import TASK_FILE, TaskFields, read_task_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.analysis.metric_choice import Choosing
    from harness.analysis.rater_replacement import Replacement
    from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest
    from harness.stats.inference.interval_methods import IntervalMethod
    from harness.stats.inference.metric import Metric
    from harness.stats.metrics.registry import Scale as ScaleName
    from harness.stats.selection.block_sums import BlockEvaluation
    from harness.stats.selection.footing import Footing

METHOD: IntervalMethod = "score"
ONE_REPLY: dict[str, float] = {"forced_choice": 1, "response_set": 1}
NO_BETA = Estimate(value=None, reason="needs_response_sets", n_used=0)
NOT_COMPUTED = (
    "beta, as shards hold forced choices alone",
    (
        "dependence on beta and tau, strata by certainty, error analysis and most disputed items, "
        "which need all items at once"
    ),
    "controls and variants of the annotator test, which are not counted in shards",
)


def validate_shards(
    task: str, folder: Path, *, seed: int = 0, level: float = 0.95, n_workers: int = 1
) -> Validation:
    """Validate the verdicts of all shards in a folder.

    Parameters
    ----------
    task : str
        Name or path of a task; only its ``task.yaml`` is read.
    folder : Path
        Holds the shards.
    seed : int
        Of the resampling.
    level : float
        Confidence level.
    n_workers : int
        Shards that are counted at a time.

    Raises
    ------
    TaskError, VerdictError
        If the task or a shard is wrong, or a shard takes too much memory.
    """
    file = read_task_file(path_inside(find_task(task), TASK_FILE, "task.yaml"))
    fields = {name: getattr(file, name) for name in TaskFields.model_fields}
    described = Task.model_construct(**fields, items=(), ratings=())
    if not described.options:
        raise TaskError(
            f"task {described.name}: shards are for tasks with options; use --verdicts."
        )
    shards = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not shards:
        raise VerdictError(f"{folder}: found no shards; write a folder for each.")
    count = partial(count_shard, task=described, seed=seed)
    counts = _count_all(count, shards, n_workers)
    if counts.wanted != counts.comparison:  # rare: the shards are read again
        counts = _count_all(partial(count, comparison=counts.wanted), shards, n_workers)
    return validate_counts(described, counts, seed=seed, level=level)


def _count_all(count: partial[ShardCounts], shards: Sequence[Path], n_workers: int) -> ShardCounts:
    """Count shards, each in a process that ends with it, and add them up one after the other."""
    with ProcessPoolExecutor(
        n_workers, get_context("spawn"), initializer=_bound_memory, max_tasks_per_child=1
    ) as pool:
        try:
            return reduce(lambda *parts: ShardCounts.merged(parts), pool.map(count, shards))
        except BrokenProcessPool:
            raise VerdictError(
                "--shards: a process that read a shard ended; its file is damaged, or too large."
            ) from None


def _bound_memory() -> None:
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others reserve 1 GiB at once
    with suppress(OSError, ValueError):  # a lower limit is set, or the system has none
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class _Sums:
    """Counts of all shards, the blocks that are resampled, and how."""

    source: Source
    counts: ShardCounts
    metrics: tuple[Metric, ...]
    metric: Metric  # that ranks
    resampling: Resampling
    draws: BlockDraws

    @classmethod
    def of(cls, task: Task, counts: ShardCounts, *, seed: int, level: float) -> _Sums:
        source = Source(
            task=task,
            items=(),
            judges=tuple(JudgeFacts(name=name) for name in counts.judges),
            verdicts=dict.fromkeys(counts.judges, ()),
            planned={},
            confidence=level,
            interval=METHOD,
            seed=seed,
        )
        scale = cast("ScaleName", task.scale)
        metrics = metrics_for(task.space, scale=scale, positive=task.positive)
        name = RANKS_ON_ORDERED_SCALES if task.scale == "ordinal" else RANKS_WITHOUT_SETS
        resampling = Resampling(rng=np.random.default_rng(seed), level=level, method=METHOD)
        return cls(
            source=source,
            counts=counts,
            metrics=metrics,
            metric=find_metric(name, metrics),
            resampling=resampling,
            draws=BlockDraws.of(next(iter(counts.judges.values())), resampling),
        )

    def __repr__(self) -> str:
        return f"_Sums({self.counts!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """What every function of blocks takes."""
        task = self.source.task
        return {
            "resampling": self.resampling,
            "space": task.space,
            "cut": Cut(task.tau, task.positive),
        }

    def evaluated(self) -> BlockEvaluation:
        """Evaluate every judge on the items that it answered."""
        return evaluate_blocks(
            self.counts.judges,
            self.draws,
            metrics=self.metrics,
            agreement=partial(alpha_sums, self.source.task),
            **self.settings,
        )

    def footing(self) -> Footing:
        """Compare the ranked judges on common footing."""
        counts = self.counts
        return block_footing(
            counts.judges,
            counts.shared,
            counts.pairs,
            self.draws,
            counts.answered_fraction,
            metric=self.metric,
            n_replies=counts.comparison.n_replies,
            min_answered=self.source.min_answered,
            is_grouped=counts.is_grouped,
            **self.settings,
        )

    def choosing(self, candidates: tuple[str, ...]) -> Choosing | None:
        """Return what choosing by each metric costs; None where several replies are compared."""
        counts = self.counts
        if not candidates or counts.comparison.n_replies > 1:
            return None
        shared = evaluation_of_blocks(
            counts.shared,
            counts.pairs,
            self.draws,
            metrics=self.metrics,
            compared={self.metric.name, *GOALS},
            n_replies=ONE_REPLY,
            n_excluded=counts.n_items - counts.shared[candidates[0]].n_items,
            **self.settings,
        )
        return choosing_of(shared, candidates, self.metric.name, ONE_REPLY)


def validate_counts(task: Task, counts: ShardCounts, *, seed: int, level: float) -> Validation:
    """Validate from what was counted in all shards; see `validate_shards`."""
    sums = _Sums.of(task, counts, seed=seed, level=level)
    evaluated, footing = sums.evaluated(), sums.footing()
    evidence = evidence_of(
        sums.source,
        footing,
        margin=sums.source.worth * range_of(sums.metric, len(task.options)),
        annotator_tests=_deciding_tests(sums.source, counts),
    )
    return make_validation(
        sums.source,
        sums.metric,
        _humans(sums.source, counts, evaluated),
        tuple(_judge(name, counts, evaluated) for name in counts.judges),
        task=replace(
            task_facts(sums.source, task.space.sets),
            content_hash="",
            n_items=counts.n_items,
            n_items_in_task=counts.n_items,
        ),
        settings=settings_of(
            sums.source,
            sums.metric.name,
            unit="group",
            fixed_raters_reason="" if footing.raters else _fixed_raters_reason(task, counts),
        ),
        metrics=sums.metrics,
        notes=_notes(sums, footing),
        advice=identifiability(task.space).advice,
        evidence=evidence,
        choosing=sums.choosing(evidence.candidates),
        replacement=_replacement(sums),
    )


def _deciding_tests(
    source: Source, counts: ShardCounts
) -> tuple[str, Mapping[str, DecidingAnnotatorTest]]:
    """Run the annotator test of every ranked judge; groups of items are clustered by block."""
    if reason := why_not_tested(source.task, counts.raters):
        return reason, {}
    design, tests = design_of(source.task, Scale.of(source.task)), {}
    for name in counts.shared:
        compared = counts.against[name]
        tests[name] = decided(
            compared,
            counts.raters,
            design,
            quality=np.ones(len(counts.raters)),
            clusters=compared.item if counts.is_grouped else None,
            units=compared.item,
            level=source.confidence,
        )
    return "", tests


def _replacement(sums: _Sums) -> Replacement:
    """Do the published annotator test of every judge, with intervals over blocks."""
    source, counts, draws = sums.source, sums.counts, sums.draws
    design = design_of(source.task, Scale.of(source.task))
    if reason := why_no_test(source.task, counts.judges):
        return replacement_of(source.task, design, reason=reason)
    tests = tests_of_comparisons(
        {name: draws.within(compared) for name, compared in counts.against.items()},
        counts.raters,
        design,
        quality=np.ones(len(counts.raters)),
        resampling=sums.resampling,
        units=draws.units,
        resamples=draws.resamples,
    )
    joint = adjust_jointly(tests, design.q) if len(tests) > 1 else {}
    judges = tuple(
        judge_replacement(
            test,
            name=name,
            n_tied=counts.n_tied[name],
            joint=AnnotatorSummary.of(joint[name]) if name in joint else None,
        )
        for name, test in tests.items()
    )
    return replacement_of(source.task, design, judges)


def _humans(source: Source, counts: ShardCounts, evaluated: BlockEvaluation) -> HumanResult:
    task, any_judge = source.task, next(iter(counts.judges.values()))
    human, _ = tables_of(any_judge, task.space)
    answers = any_judge.times @ any_judge.kinds[:, 0]
    return HumanResult(
        n_raters=len(counts.raters) + len(counts.others),
        rater_ids=task.rater_ids,
        n_forced_choice=int(answers[: len(task.options)].sum()),
        n_response_sets=0,
        n_pairs=0,
        n_abstained=int(answers[len(task.options) + OUTCOMES.index("abstained")]),
        sets=human_sets(source, human),
        ignored_labels={},
        agreement=evaluated.human_agreement,
        beta=NO_BETA,
        F=None,
    )


def _judge(name: str, counts: ShardCounts, evaluated: BlockEvaluation) -> JudgeResult:
    n_planned = len(counts.samples[name]) * counts.n_items
    by_outcome = dict(zip(OUTCOMES, map(int, counts.outcomes[name]), strict=True))
    return JudgeResult(
        name=name,
        kind="external",
        model="",
        reported_models=(),
        derived=(),
        outcomes=(
            OutcomeCounts(
                elicitation="forced_choice",
                planned=n_planned,
                not_asked=n_planned - sum(by_outcome.values()),
                **by_outcome,
            ),
        ),
        answered_fraction=by_outcome["answered"] / n_planned if n_planned else None,
        n_planned=n_planned,
        metrics={metric: row.estimate for metric, row in evaluated.judges[name].items()},
        beta=NO_BETA,
        cross_call_beta=NO_BETA,
        F=None,
        cost=cost_of(()),
    )


def _fixed_raters_reason(task: Task, counts: ShardCounts) -> str:
    """Return why intervals are for these raters alone."""
    if task.rater_ids == "positional":
        return "positional_raters"
    if len(counts.raters) < MIN_CROSSED:
        return "fewer_than_five_raters"
    is_counted = all(of_judge.chosen is not None for of_judge in counts.judges.values())
    return "raters_not_crossed" if is_counted else "not_computed"


def _notes(sums: _Sums, footing: Footing) -> list[str]:
    counts = sums.counts
    missing = [*NOT_COMPUTED]
    if counts.comparison.n_replies > 1:
        missing.append("regret and orders by metric, which need one reply per item")
    over = (
        f"{METHOD} intervals are over {footing.n_units} blocks of items, by a hash of an item's id "
        "or group"
    )
    notes = [over, f"not computed over shards: {'; '.join(missing)}"]
    if counts.n_foreign:
        notes.append(f"verdicts on items without ratings are left out: {counts.n_foreign}")
    return notes

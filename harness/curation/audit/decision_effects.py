"""Effect of a finding on the decision, from a validation without the finding's items or ratings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.decision import verdict_and_judge
from harness.analysis.evidence import deciding_evidence
from harness.analysis.ratings import human_table, judge_table
from harness.curation.audit.finding import Effect, Finding
from harness.runs.sources import n_planned_at_least
from harness.stats.data.labels import modes
from harness.stats.inference.estimate import share_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis import Source
    from harness.analysis.decision import DecisionVerdict
    from harness.analysis.evidence_rows import Evidence
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Task

MIN_LEFT = 2  # fewest items left for a validation
MIN_RATINGS = 3
AGREED = 0.8  # share of an item's raters who count as agreeing
MIN_JUDGES = 2


def with_effects(findings: Sequence[Finding], source: Source, baseline: Evidence) -> list[Finding]:
    """Add each finding's effect, and sort findings by importance.

    Findings that change the verdict come first, then findings that change the equal judges, then
    findings by change in the ranking metric, then findings without an effect. Ties keep their
    order.
    """
    measured = [replace(f, effect=_effect(f, source, baseline)) for f in findings]
    return sorted(measured, key=_importance)


def _importance(finding: Finding) -> tuple[bool, bool, bool, float]:
    effect = finding.effect
    if effect is None:
        return (True, True, True, 0.0)
    change = -(effect.largest_change or 0.0)
    return (not effect.changes_verdict, not effect.changes_equals, False, change)


def verdict_and_equals(evidence: Evidence | None) -> tuple[DecisionVerdict, tuple[str, ...]]:
    """Return the verdict, the best judge, and the judges not significantly different from it."""
    verdict, best = verdict_and_judge(evidence)
    if evidence is None or best is None:
        return verdict, ()
    rows = [row for row in evidence.judges if row.value is not None and row.judge != best]
    return verdict, (best, *(row.judge for row in rows if row.close_to_first))


def _effect(finding: Finding, source: Source, baseline: Evidence) -> Effect | None:
    if not (finding.left_out_items or finding.left_out_raters):
        return None
    rest = source_without(source, set(finding.left_out_items), set(finding.left_out_raters))
    if len(rest.items) < MIN_LEFT:
        return None
    evidence = deciding_evidence(rest)
    verdict, equals = verdict_and_equals(evidence)
    verdict_before, equals_before = verdict_and_equals(baseline)
    return Effect(
        verdict=verdict,
        equals=equals,
        changes_verdict=verdict != verdict_before,
        changes_equals=set(equals) != set(equals_before),
        n_items=len(rest.items),
        largest_change=_largest_change(evidence, baseline),
        metric=baseline.metric,
    )


def task_without(task: Task, items: set[str], raters: set[str]) -> Task:
    """Return a task without some items and raters, and without items left without ratings."""
    ratings = [r for r in task.ratings if r.rater not in raters and r.item not in items]
    rated = {rating.item for rating in ratings}
    kept = tuple(item for item in task.items if item.id in rated)
    return task.model_copy(
        update={
            "items": kept,
            "ratings": tuple(ratings),
            "ignored": tuple(r for r in task.ignored if r.item in rated and r.rater not in raters),
        }
    )


def source_without(source: Source, items: set[str], raters: set[str]) -> Source:
    """Return a source without some items and raters, and without items left without ratings."""
    others = source.task.by_id.keys() - {item.id for item in source.items}
    task = task_without(source.task, items | others, raters)
    ids = {item.id for item in task.items}
    verdicts = {
        judge: [verdict for verdict in rows if verdict.item in ids]
        for judge, rows in source.verdicts.items()
    }
    planned = {judge: n_planned_at_least(rows, len(ids)) for judge, rows in verdicts.items()}
    return replace(source, task=task, items=task.items, verdicts=verdicts, planned=planned)


def _largest_change(evidence: Evidence | None, baseline: Evidence) -> float | None:
    if evidence is None or evidence.metric != baseline.metric:
        return None
    after = {row.judge: row.value for row in evidence.judges}
    pairs = [(row.value, after.get(row.judge)) for row in baseline.judges]
    changes = [abs(x - y) for x, y in pairs if x is not None and y is not None]
    return max(changes, default=None)


def suspected_errors(source: Source) -> Iterator[Finding]:
    """Find items on which raters agree on one option and all good judges agree on another.

    A judge is good if the lower end of the interval for its agreement with the raters' most common
    options exceeds the share of the most common option overall. The check needs at least two good
    judges.
    """
    human = human_table(source.task, source.items)
    counts = human.forced_choice
    m = counts.sum(axis=1)
    agreed = (m >= MIN_RATINGS) & (counts.max(axis=1) >= AGREED * m)
    human_modes = modes(counts)
    most_frequent = np.nanmax(np.nanmean(human_modes, axis=0)) if (m > 0).any() else 1.0
    good = [
        np.nan_to_num(judge_modes)
        for _, judge_modes in usual_answers(source)
        if _lower_bound(source, human_modes, judge_modes) > most_frequent
    ]
    if len(good) < MIN_JUDGES:
        return
    unanimous = np.prod(good, axis=0) == 1.0  # (n, K)
    raters_choice = human_modes == 1.0
    suspected = agreed & (unanimous & ~raters_choice).any(axis=1)
    items = tuple(item for item, flag in zip(human.items, suspected, strict=True) if flag)
    if items:
        yield Finding(
            kind="suspected_rating_errors",
            what=(
                f"{len(items):,} items on which at least {AGREED:.0%} of the raters agree and "
                f"all {len(good)} good judges agree on a different option"
            ),
            why="Either the ratings are wrong or the judges make the same error. The decision "
            "depends on which is true.",
            action="Have new raters rate these items without seeing either answer.",
            n=len(items),
            items=items,
        )


def usual_answers(source: Source) -> Iterator[tuple[str, FloatArray]]:
    """Yield each judge with an (n, K) array of its most common options. Unanswered rows are nan."""
    for facts in source.judges:
        rows = source.verdicts[facts.name]
        table = judge_table(source.task, source.items, facts.name, rows)
        yield facts.name, modes(table.forced_choice)


def _lower_bound(source: Source, human_modes: FloatArray, judge_modes: FloatArray) -> float:
    """Return the lower end of a judge's hit-rate interval, with groups as units.

    It is 0 if no item has answers from both the raters and the judge.
    """
    hits = (human_modes * judge_modes).sum(axis=1)
    answered = np.flatnonzero(~np.isnan(hits)).tolist()
    units = {source.items[i].unit for i in answered}
    if not answered:
        return 0.0
    return share_interval(min(float(hits[answered].mean()), 1.0), len(units)).low

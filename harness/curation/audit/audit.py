"""Audit of a task with every check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.evidence import deciding_evidence
from harness.curation.audit.decision_effects import (
    suspected_errors,
    usual_answers,
    verdict_and_equals,
    with_effects,
)
from harness.curation.audit.finding import Audit, Finding, NotChecked
from harness.curation.audit.next_commands import AuditedVerdicts, with_commands
from harness.curation.audit.rating_checks import (
    RatedChoices,
    drift_findings,
    few_item_raters,
    option_findings,
    pair_findings,
    rater_facts,
    rater_findings,
    rating_times,
    single_rater_items,
)
from harness.curation.audit.response_checks import (
    identical_raters,
    label_findings,
    set_findings,
)
from harness.curation.audit.sufficiency import sufficiency_findings
from harness.curation.audit.text_checks import SIMILAR, duplicates, items_by_pattern
from harness.curation.versions.task_export import verdicts_of
from harness.files.plain_text import counted
from harness.runs.sources import source_on_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.analysis import Source
    from harness.analysis.evidence_rows import Evidence
    from harness.curation.audit.finding import FindingKind, RaterFacts
    from harness.curation.audit.text_checks import Cluster
    from harness.stats.data.arrays import IntArray
    from harness.tasks import Task

SUSPECT: tuple[FindingKind, ...] = (
    "same_answer_raters",
    "deviating_raters",
    "excess_agreement",
    "identical_raters",
    "sets_of_everything",
    "sets_of_one_option",
    "drifting_raters",
)


def audit_task(
    task: Task, verdicts: Path | None = None, *, name: str | None = None, seed: int = 0
) -> Audit:
    """Check a task's items and ratings.

    Parameters
    ----------
    task : Task
        Task to audit.
    verdicts : Path, optional
        Verdicts of judges, as for `harness.runs.sources.source_on_task`, by default the
        ``verdicts.csv`` of the task's folder. With verdicts, findings are ordered by their
        effect on the verdict and the equals if their items or raters are left out.
    name : str, optional
        Name or path of the task in the commands of the findings; by default its name.
    seed : int
        Seed for resampling in the validations.

    Returns
    -------
    Audit
        Findings, and facts about the raters.

    Raises
    ------
    HarnessError
        If the verdicts can't be read, or come from a run on other items.
        If there are verdicts but the task has no options.

    Notes
    -----
    On a scale without options, only the checks that don't need options run.
    """
    if task.is_open and verdicts is None:
        return _open_audit(task, name)
    task.require_options("an audit with verdicts")
    rated = RatedChoices.of(task)
    facts = rater_facts(task, rated) if task.rater_ids == "real" and rated.raters else ()
    is_given, verdicts = verdicts is not None, verdicts or verdicts_of(task)
    source = source_on_task(task, verdicts, seed=seed) if verdicts else None
    evidence = deciding_evidence(source) if source else None
    decision, equals = verdict_and_equals(evidence) if source else (None, ())
    findings = [*(suspected_errors(source) if source else ()), *_data_findings(task, facts)]
    if facts:
        findings += pair_findings(rated, _single_answers(source) if source else ())
    times = rating_times(task) if facts else {}
    if times:
        findings += drift_findings(task, rated, times)
    findings += sufficiency_findings(task, rated, evidence)
    if source and evidence:
        findings = with_effects(findings, source, evidence)
    used = _audited_verdicts(verdicts, source, evidence, is_named=is_given)
    findings = with_commands(findings, name or task.name, used)
    not_checked = _not_checked(task, rated, has_verdicts=source is not None, has_times=bool(times))
    audit = Audit.of(task, findings, not_checked)
    given = None if verdicts is None else str(verdicts)
    return replace(audit, decision=decision, equals=equals, verdicts=given, raters=facts)


def _audited_verdicts(
    path: Path | None, source: Source | None, evidence: Evidence | None, *, is_named: bool
) -> AuditedVerdicts | None:
    """Return the verdicts and judges to name in commands.

    Ranked judges come with the best first.
    """
    if path is None or source is None:
        return None
    ranked = [row.judge for row in evidence.judges] if evidence else []
    judges = tuple(dict.fromkeys([*ranked, *source.verdicts]))
    return AuditedVerdicts(path, judges, is_named=is_named)


def _open_audit(task: Task, name: str | None) -> Audit:
    """Audit a task without options: texts, answers, copied ratings and items with one rater."""
    findings = [
        *_duplicate_findings(task),
        *label_findings(task),
        *single_rater_items(task),
        *(identical_raters(task) if task.rater_ids == "real" else ()),
        *_pattern_findings(task),
    ]
    not_checked = NotChecked(
        check="agreement of raters, options, response sets, sample size and decision",
        reason=f"a {task.scale} scale has no options",
    )
    findings = with_commands(findings, name or task.name, None)
    return Audit.of(task, findings, [not_checked])


def suspected_raters(task: Task) -> dict[str, FindingKind]:
    """Return the raters that the audit suspects, with the kind of finding for each.

    A suspected rater always gives the same answer, deviates from the other raters, changes over
    time, agrees unusually often with one rater, or gives the same answers as another rater.
    """
    if task.rater_ids != "real":
        return {}
    findings = [*identical_raters(task), *set_findings(task)]
    rated = None if task.is_open else RatedChoices.of(task)
    if rated and rated.raters:
        findings += [*rater_findings(rater_facts(task, rated)), *pair_findings(rated, ())]
        if times := rating_times(task):
            findings += drift_findings(task, rated, times)
    return {
        rater: finding.kind
        for finding in findings
        if finding.kind in SUSPECT
        for rater in finding.left_out_raters
    }


def _single_answers(source: Source) -> Iterator[tuple[str, IntArray]]:
    """Yield each judge with its most common option on each of the task's items.

    An item without a single most common option gets -1.
    """
    number = {item.id: i for i, item in enumerate(source.task.items)}
    places = [number[item.id] for item in source.items]
    for judge, shares in usual_answers(source):
        options = np.full(len(number), -1)
        is_only = shares == 1.0
        options[places] = np.where(is_only.any(axis=1), is_only.argmax(axis=1), -1)
        yield judge, options


def _data_findings(task: Task, facts: Sequence[RaterFacts]) -> Iterator[Finding]:
    yield from _duplicate_findings(task)
    yield from rater_findings(facts)
    yield from option_findings(task)
    yield from label_findings(task)
    yield from set_findings(task)
    yield from single_rater_items(task)
    if task.rater_ids == "real":
        yield from identical_raters(task)
        yield from few_item_raters(task)
    yield from _pattern_findings(task)


def _duplicate_findings(task: Task) -> Iterator[Finding]:
    items = [item for item in task.items if task.has_text(item)]
    exact, near = duplicates(task, items)
    across = [cluster for cluster in (*exact, *near) if _n_groups(task, cluster) > 1]
    why = "The same text counts several times, so intervals are too narrow."
    if exact:
        yield _of_clusters(
            exact,
            "duplicate_items",
            "with the same text as a different item",
            why=why,
            action="Keep the first item of each group of duplicates.",
        )
    if across:
        yield _of_clusters(
            across,
            "duplicates_across_groups",
            "equal or nearly equal to an item in another group",
            why=(
                "Groups are resampled as if they were independent, but groups with such items "
                "aren't."
            ),
            action="Keep the first of these items, or put them into the same group.",
        )
    near = [cluster for cluster in near if _n_groups(task, cluster) != 1]
    if near:
        yield _of_clusters(
            near,
            "near_duplicate_items",
            f"that share at least {SIMILAR:.0%} of their 5-character sequences with another item",
            why=why,
            action=(
                "Keep the first item of each cluster, or give a cluster's items the same "
                "'group', so that they are resampled together."
            ),
        )


def _n_groups(task: Task, cluster: Cluster) -> int:
    """Return the number of groups in a cluster of items, or 0 if an item has no group."""
    groups = {task.by_id[item].group for item in cluster}
    return 0 if None in groups else len(groups)


def _of_clusters(
    clusters: Sequence[Cluster], kind: FindingKind, what: str, *, why: str, action: str
) -> Finding:
    n = sum(len(cluster) - 1 for cluster in clusters)
    return Finding(
        kind=kind,
        what=f"{counted([n])} {what}",
        why=why,
        action=action,
        n=n,
        items=tuple(item for cluster in clusters for item in cluster),
        clusters=tuple(clusters),
    )


def _pattern_findings(task: Task) -> Iterator[Finding]:
    by_pattern = items_by_pattern(task.items)
    if not by_pattern:
        return
    counts = ", ".join(f"{kind} {n:,}" for kind, (n, _) in by_pattern.items())
    items = tuple(dict.fromkeys(item for _, ids in by_pattern.values() for item in ids))
    yield Finding(
        kind="secrets_or_personal_data",
        what=f"{counted([len(items)])} matching a pattern of secrets or personal data ({counts})",
        why="Hosted judges receive these texts, and runs and reports contain them.",
        action="Check the items. Replace real data before you run a judge on these items.",
        n=len(items),
        items=items,
    )


def _not_checked(
    task: Task, rated: RatedChoices, *, has_verdicts: bool, has_times: bool
) -> Iterator[NotChecked]:
    if textless := sum(not task.has_text(item) for item in task.items):
        yield NotChecked(check="duplicates", reason=f"{textless:,} items have no text")
    if task.rater_ids != "real":
        yield NotChecked(check="raters", reason="rater ids are positions in an item, not people")
    elif not rated.raters:
        yield NotChecked(check="raters", reason="there are no forced choices")
    if not has_times:
        yield NotChecked(check="drift over time", reason="ratings have no times (rated_at)")
    if not has_verdicts:
        yield NotChecked(check="suspected rating errors", reason="no verdicts (--verdicts)")
        yield NotChecked(check="effect on the decision", reason="no verdicts (--verdicts)")

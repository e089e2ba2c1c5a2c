"""Differences between two versions of a task, and their effect on the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis import validate
from harness.analysis.decision import DecisionVerdict  # noqa: TC001 -- msgspec reads fields
from harness.curation.audit.audit_report import decision_words, first_names
from harness.curation.audit.decision_effects import source_without
from harness.curation.versions.task_export import verdicts_of
from harness.files.plain_text import visible, visible_lines
from harness.options.concerns import Validating
from harness.report.formatting import number
from harness.report.text_table import draw_table, paragraph
from harness.runs.sources import source_of_verdicts
from harness.tasks import read_changes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.tasks import Change, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Names that were added, removed or changed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Mapping[str, object], after: Mapping[str, object]) -> Changes:
        """Compare two mappings by key."""
        return cls(
            added=tuple(key for key in after if key not in before),
            removed=tuple(key for key in before if key not in after),
            changed=tuple(key for key in after if key in before and before[key] != after[key]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDecision:
    """The decision for one version of a task.

    Attributes
    ----------
    verdict, judge : str, str or None
        See `harness.analysis.decision.Decision`.
    n_items : int
        Number of rated items.
    metric : str
        The ranking metric.
    values : dict of str to float or None
        The metric's value for each judge, or None if NA.
    verdicts : str
        File with the verdicts.
    """

    verdict: DecisionVerdict
    judge: str | None
    n_items: int
    metric: str
    values: dict[str, float | None]
    verdicts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDiff:
    """Changes between two versions of a task.

    Attributes
    ----------
    before_hash, after_hash : str
        Content hashes.
    items, options, fields : Changes
        Changed items by id, options by key, and other fields of task.yaml by name.
    ratings : Changes
        Changed ratings, named "item rater elicitation". These include labels that the task ignores.
    recorded : tuple of Change
        Changelog entries that the later version added to the earlier version's.
    before, after : VersionDecision or None
        The decisions, or None without verdicts.
    """

    before_hash: str
    after_hash: str
    items: Changes
    ratings: Changes
    options: Changes
    fields: Changes
    recorded: tuple[Change, ...]
    before: VersionDecision | None
    after: VersionDecision | None


def task_diff(
    before: Task, after: Task, verdicts: Path | None = None, *, seed: int = 0
) -> TaskDiff:
    """Compare two versions of a task.

    Parameters
    ----------
    before, after : Task
        The versions.
    verdicts : Path, optional
        Judges' verdicts on either version's items; those on items that a version lacks don't count
        for its decision. Default: ``verdicts.csv`` of each version, or of the other.
    seed : int
        Seed for resampling.

    Raises
    ------
    VerdictError
        If the verdicts can't be read, or name an item that neither version has.
    """
    verdicts_before = verdicts or verdicts_of(before) or verdicts_of(after)
    verdicts_after = verdicts or verdicts_of(after) or verdicts_of(before)
    old, new = _content(before), _content(after)
    return TaskDiff(
        before_hash=before.content_hash,
        after_hash=after.content_hash,
        items=Changes.between(old["items"], new["items"]),
        ratings=Changes.between(old["ratings"], new["ratings"]),
        options=Changes.between(old["options"], new["options"]),
        fields=Changes.between(old["fields"], new["fields"]),
        recorded=_recorded(before, after),
        before=_decision(before, after, verdicts_before, seed) if verdicts_before else None,
        after=_decision(after, before, verdicts_after, seed) if verdicts_after else None,
    )


def _recorded(before: Task, after: Task) -> tuple[Change, ...]:
    changes = read_changes(after.folder)
    hashes = [change.before for change in changes]
    if before.content_hash not in hashes:
        return ()
    return changes[hashes.index(before.content_hash) :]


def _content(task: Task) -> dict[str, Mapping[str, object]]:
    """Return the parts of a task to compare by name."""
    ratings = (*task.ratings, *task.ignored)
    fields = task.described()
    fields.pop("options", None)
    return {
        "items": task.by_id,
        "ratings": {f"{r.item} {r.rater} {r.elicitation}": r.value for r in ratings},
        "options": {option.key: option for option in task.options},
        "fields": fields,
    }


def _decision(task: Task, other: Task, verdicts: Path, seed: int) -> VersionDecision:
    """Decide with one version's ratings. Items that only the other version has don't count."""
    foreign = tuple(item for item in other.items if item.id not in task.by_id)
    both = task.model_copy(update={"items": (*task.items, *foreign)})
    source = source_without(source_of_verdicts(both, verdicts, Validating(seed=seed)), set(), set())
    validation = validate(source)
    metric = validation.ranking_metric
    return VersionDecision(
        verdict=validation.decision.verdict,
        judge=validation.decision.judge,
        n_items=len(source.items),
        metric=metric,
        values={judge.name: judge.metrics[metric].value for judge in validation.judges},
        verdicts=str(verdicts),
    )


def diff_text(diff: TaskDiff) -> str:
    """Format the changes and both versions' decisions as text."""
    if diff.before_hash == diff.after_hash:
        return f"The versions have the same content ({diff.after_hash[:12]})."
    parts = [f"{diff.before_hash[:12]} -> {diff.after_hash[:12]}"]
    groups = {
        "item": diff.items,
        "rating": diff.ratings,
        "option": diff.options,
        "task.yaml field": diff.fields,
    }
    lines = [line for noun, changes in groups.items() for line in _lines(noun, changes)]
    parts.append("\n".join(lines) or "Only the order of items or ratings changed.")
    if diff.recorded:
        changes = [f"- {change.change}" for change in diff.recorded]
        parts.append(visible_lines("\n".join(["Recorded:", *changes])))
    if diff.before and diff.after:
        parts.append(_decisions(diff.before, diff.after))
        parts.append(_outcome(diff.before, diff.after))
    else:
        parts.append("Without verdicts, decisions can't be compared. Pass --verdicts.")
    return "\n\n".join(parts)


def _lines(noun: str, changes: Changes) -> list[str]:
    rows = {"added": changes.added, "removed": changes.removed, "changed": changes.changed}
    return [
        paragraph(f"{noun}s {kind}: {len(names):,} ({visible(first_names(names, '; '))})")
        for kind, names in rows.items()
        if names
    ]


def _decisions(before: VersionDecision, after: VersionDecision) -> str:
    rows = [
        ["decision", *(decision_words(v.verdict, v.judge) for v in (before, after))],
        ["items", str(before.n_items), str(after.n_items)],
        *(
            [judge, number(before.values.get(judge)), number(after.values.get(judge))]
            for judge in dict.fromkeys([*before.values, *after.values])
        ),
    ]
    metrics = " and ".join(dict.fromkeys([before.metric, after.metric]))
    files = " and ".join(dict.fromkeys([before.verdicts, after.verdicts]))
    facts = f"By judge: {metrics}. Verdicts: {files}."
    return f"{draw_table(['', 'before', 'after'], rows)}\n\n{paragraph(facts)}"


def _outcome(before: VersionDecision, after: VersionDecision) -> str:
    first, second = (decision_words(version.verdict, version.judge) for version in (before, after))
    if first == second:
        return f"The decision stays {second}."
    return f"The decision changes from {first} to {second}."

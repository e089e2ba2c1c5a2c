"""The command that acts on each finding of an audit."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.curation.audit.finding import Finding, FindingKind

DROP: tuple[FindingKind, ...] = (  # what the finding is about can be left out
    "duplicate_items",
    "duplicates_across_groups",
    "near_duplicate_items",
    "secrets_or_personal_data",
    "same_answer_raters",
    "deviating_raters",
    "excess_agreement",
    "excess_agreement_with_judge",
    "identical_raters",
    "sets_of_everything",
    "sets_of_one_option",
)
RATE_AGAIN: tuple[FindingKind, ...] = (
    "single_rater_items",
    "suspected_rating_errors",
    "choice_outside_set",
)
RATE_MORE: tuple[FindingKind, ...] = ("few_items_per_rater", "drifting_raters")
LABELS: tuple[FindingKind, ...] = (
    "unused_options",
    "options_spelt_twice",
    "labels_one_letter_apart",
    "answers_without_content",
)
PAIRS_WANTED = 100  # for an estimate of beta
# Placeholders, explained in a comment behind the command:
FILE = "FILE: verdicts of {judges}"
TABLE = "TABLE: the table you imported"


def with_commands(
    findings: Iterable[Finding], task: str, verdicts: Path | None, *, is_given: bool
) -> list[Finding]:
    """Return findings with the command that acts on each.

    Parameters
    ----------
    task : str
        Name or path of the task, as the command line takes it.
    verdicts : Path or None
        File of the verdicts of judges.
    is_given : bool
        Whether the user named it; commands that take the task's own by default then repeat it.
    """
    name = shlex.quote(task)
    shown = f" --verdicts {shlex.quote(str(verdicts)) if verdicts else 'FILE'}"
    new = shlex.quote(_new_name(task))
    always, given = shown, shown if is_given else ""
    return [replace(f, command=_command(f, name, new, given, always)) for f in findings]


def _new_name(task: str) -> str:
    """Return where a changed copy of a task goes: next to it, under a name that tasks may have."""
    folder, slash, name = task.rstrip("/").rpartition("/")
    return folder + slash + re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") + "-2"


def _command(finding: Finding, task: str, new: str, verdicts: str, always: str) -> str:
    kind = finding.kind
    if kind in DROP:
        return f"harness curate drop {task} --as {new} --finding {kind}{verdicts}"
    following = f"harness curate next {task}"
    if kind in RATE_AGAIN:
        budget = 2 * len(finding.items)
        return f"{following} --budget {budget} --finding {kind}{verdicts} --queue queue.csv"
    if kind in RATE_MORE:
        return f"{following} --budget 100 --for annotator-test --queue queue.csv"
    if kind == "not_fully_specified":
        return f"{following} --budget {2 * PAIRS_WANTED} --queue queue.csv"
    if kind in LABELS:
        labels = "; LABELS: its options, with commas" if kind == "unused_options" else ""
        return f"harness curate import TABLE --as {new} {_on_labels(finding)}  # {TABLE}{labels}"
    plan = "annotators" if kind == "low_annotator_power" else "difference 0.05"
    judges = "one judge" if plan == "annotators" else "two judges"
    explained = f"  # {FILE.format(judges=judges)}" if always.endswith(" FILE") else ""
    return f"harness plan {plan} --task {task}{always}{explained}"


def _on_labels(finding: Finding) -> str:
    """Return the option of the import that reads the labels as they should be."""
    if finding.kind == "unused_options":
        return "--options LABELS"
    if finding.kind == "answers_without_content":
        return f"--ignore {shlex.quote(','.join(finding.options))}"
    first, second, *_ = finding.options
    return f"--rename {shlex.quote(f'{second}={first}')}"

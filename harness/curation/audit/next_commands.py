"""Commands that address an audit's findings."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.tasks.folders import name_of_copy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.curation.audit.finding import Finding, FindingKind

DROP: tuple[FindingKind, ...] = (  # findings whose items or raters can be left out
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
PAIRS_WANTED = 100  # pairs needed to estimate beta
# Placeholders, explained in a comment behind the command:
FILE = "FILE: verdicts of {judges}"
TABLE = "TABLE: the table you imported"


@dataclass(frozen=True, slots=True)
class AuditedVerdicts:
    """Verdicts that an audit used.

    Attributes
    ----------
    path : Path
        File with the verdicts.
    judges : tuple of str
        Judges in the file, with the best first.
    is_named : bool
        Whether the user named the file. If so, commands name it too, even if they use the task's
        own file by default.
    """

    path: Path
    judges: tuple[str, ...]
    is_named: bool

    @property
    def option(self) -> str:
        """The command-line option for the file."""
        return f" --verdicts {shlex.quote(str(self.path))}"


def with_commands(
    findings: Iterable[Finding], task: str, verdicts: AuditedVerdicts | None
) -> list[Finding]:
    """Add to each finding a command that addresses it.

    Parameters
    ----------
    task : str
        Name or path of the task, as the command line takes it.
    verdicts : AuditedVerdicts or None
        Verdicts that the audit used.
    """
    name, new = shlex.quote(task), shlex.quote(name_of_copy(task))
    return [replace(f, command=_command(f, name, new, verdicts)) for f in findings]


def _command(finding: Finding, task: str, new: str, verdicts: AuditedVerdicts | None) -> str:
    kind = finding.kind
    named = verdicts.option if verdicts and verdicts.is_named else ""
    if kind in DROP:
        return f"harness curate drop {task} --as {new} --finding {kind}{named}"
    if goal := _rated_next(finding, named):
        return f"harness curate next {task} {goal} --queue queue.csv"
    if kind in LABELS:
        labels = "; LABELS: its options, with commas" if kind == "unused_options" else ""
        return f"harness curate import TABLE --as {new} {_on_labels(finding)}  # {TABLE}{labels}"
    if kind == "low_annotator_power":
        return f"harness plan annotators --task {task}{_on_judges(verdicts, 1)}"
    return f"harness plan difference 0.05 --task {task}{_on_judges(verdicts, 2)}"


def _rated_next(finding: Finding, named: str) -> str:
    """Return the options that select ratings to collect, or "" if the finding needs no ratings."""
    if finding.kind in RATE_AGAIN:
        return f"--budget {2 * len(finding.items)} --finding {finding.kind}{named}"
    if finding.kind in RATE_MORE:
        return "--budget 100 --for annotator-test"
    return f"--budget {2 * PAIRS_WANTED}" if finding.kind == "not_fully_specified" else ""


def _on_judges(verdicts: AuditedVerdicts | None, n: int) -> str:
    """Return a plan's options for the ``n`` best judges."""
    if verdicts is None or len(verdicts.judges) < n:
        return f" --verdicts FILE  # {FILE.format(judges='one judge' if n == 1 else 'two judges')}"
    if len(verdicts.judges) == n:
        return verdicts.option
    names = shlex.quote(",".join(verdicts.judges[:n]))
    return f"{verdicts.option} --{'judge' if n == 1 else 'judges'} {names}"


def _on_labels(finding: Finding) -> str:
    """Return the import option that corrects the labels."""
    if finding.kind == "unused_options":
        return "--options LABELS"
    if finding.kind == "answers_without_content":
        return f"--ignore {shlex.quote(','.join(finding.options))}"
    first, second, *_ = finding.options
    return f"--rename {shlex.quote(f'{second}={first}')}"

"""Findings of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from harness.analysis.decision import DecisionVerdict  # noqa: TC001 -- msgspec reads fields
from harness.analysis.serialize import schema_of
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.files.json_values import JsonObject
    from harness.tasks import Task

FindingKind: TypeAlias = Literal[
    "duplicate_items",
    "duplicates_across_groups",
    "near_duplicate_items",
    "single_rater_items",
    "few_items_per_rater",
    "unused_options",
    "options_spelt_twice",
    "same_answer_raters",
    "deviating_raters",
    "excess_agreement",
    "excess_agreement_with_judge",
    "identical_raters",
    "choice_outside_set",
    "sets_of_everything",
    "sets_of_one_option",
    "labels_one_letter_apart",
    "answers_without_content",
    "drifting_raters",
    "suspected_rating_errors",
    "secrets_or_personal_data",
    "not_fully_specified",
    "low_annotator_power",
    "wide_intervals",
    "too_few_items",
]

PAIRED = ("excess_agreement", "identical_raters")  # kinds that name raters in pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What leaving the items or ratings of a finding out does to the decision.

    Attributes
    ----------
    verdict : str
        The verdict without them.
    equals : tuple of str
        The best judge, and those that are not significantly different from it; none where the
        verdict is "none".
    changes_verdict, changes_equals : bool
        Whether the verdict, and which judges are equals, is another than with them.
    n_items : int
        Items left.
    largest_change : float or None
        Of the value of the metric that ranks, over the ranked judges; None if it is NA.
    metric : str
        The metric that ranks.
    """

    verdict: DecisionVerdict
    equals: tuple[str, ...]
    changes_verdict: bool
    changes_equals: bool
    n_items: int
    largest_change: float | None
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding: what, where, why it matters and what to do.

    Attributes
    ----------
    kind : str
        Which check found it.
    what, why, action : str
        Sentences; they hold ids and counts, never texts of items.
    n : int
        How many items, raters or options it is about.
    items, raters, options : tuple of str
        All of them; of pairs of raters, the two of each in turn.
    clusters : tuple of tuple of str
        Items that are duplicates of each other, the first in file order first.
    effect : Effect or None
        None without verdicts, or where nothing can be left out.
    command : str
        The command that acts on it.
    """

    kind: FindingKind
    what: str
    why: str
    action: str
    n: int
    items: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    clusters: tuple[tuple[str, ...], ...] = ()
    effect: Effect | None = None
    command: str = ""

    @property
    def left_out_items(self) -> tuple[str, ...]:
        """Items to leave out: of duplicates, all but the first."""
        if self.clusters:
            return tuple(item for cluster in self.clusters for item in cluster[1:])
        return self.items

    @property
    def left_out_raters(self) -> tuple[str, ...]:
        """Raters to leave out: of pairs, the second."""
        return self.raters[1::2] if self.kind in PAIRED else self.raters


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFacts:
    """A rater against the others.

    Attributes
    ----------
    n_ratings : int
        Forced choices of the rater.
    n_items : int
        Items that two others rated as well, on which the agreement rests.
    agreement : float or None
        Mean share of the others' choices that are the rater's; None without such items.
    low, high : float or None
        Exact interval (95 %) of the agreement, over groups where the task has them.
    expected : float or None
        Mean agreement of all raters of the same items.
    p_adjusted : float or None
        Chernoff bound of the permutation test for a lower agreement, adjusted by Holm.
    always : str
        The option that the rater always chose; "" for who varies.
    """

    rater: str
    n_ratings: int
    n_items: int
    agreement: float | None
    low: Annotated[float | None, MadeBy("exact")]
    high: Annotated[float | None, MadeBy("exact")]
    expected: float | None
    p_adjusted: float | None
    always: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """A check that was not possible, and why."""

    check: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Findings of an audit, those that change the verdict first, then those that change the equals.

    Attributes
    ----------
    content_hash : str
        Of the task's content.
    decision : str or None
        The verdict with everything; None without verdicts.
    equals : tuple of str
        As in `Effect`, with everything.
    verdicts : str or None
        File of the verdicts.
    """

    schema_version: int = 1
    task: str
    content_hash: str
    n_items: int
    n_raters: int
    n_ratings: int
    decision: DecisionVerdict | None = None
    equals: tuple[str, ...] = ()
    verdicts: str | None = None
    findings: tuple[Finding, ...]
    raters: tuple[RaterFacts, ...] = ()
    not_checked: tuple[NotChecked, ...]

    @classmethod
    def of(cls, task: Task, findings: Iterable[Finding], not_checked: Iterable[NotChecked]) -> Self:
        """Return the audit of a task without verdicts and facts of raters."""
        return cls(
            task=task.name,
            content_hash=task.content_hash,
            n_items=len(task.items),
            n_raters=len({rating.rater for rating in task.ratings}),
            n_ratings=len(task.ratings),
            findings=tuple(findings),
            not_checked=tuple(not_checked),
        )

    @classmethod
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of an audit."""
        dialect = "https://json-schema.org/draft/2020-12/schema"
        return {"$schema": dialect, **schema_of(cls), "title": "audit"}

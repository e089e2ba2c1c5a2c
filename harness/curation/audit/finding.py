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
    """Change in the decision without a finding's items or ratings.

    Attributes
    ----------
    verdict : str
        Verdict without these items or ratings.
    equals : tuple of str
        The best judge and the judges not significantly different from it. Empty if the verdict is
        "none".
    changes_verdict, changes_equals : bool
        Whether the verdict, or the list of equal judges, changes.
    n_items : int
        Number of remaining items.
    largest_change : float or None
        Largest change in the ranking metric among ranked judges, or None if NA.
    metric : str
        The ranking metric.
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
    """A problem that a check found, with its location, effect and remedy.

    Attributes
    ----------
    kind : str
        The check that found the problem.
    what, why, action : str
        Sentences. They contain ids and counts, but never texts of items.
    n : int
        Number of affected items, raters or options.
    items, raters, options : tuple of str
        All affected ids. For pairs of raters, the two raters in each pair follow each other.
    clusters : tuple of tuple of str
        Items that duplicate each other, in file order.
    effect : Effect or None
        Effect on the decision. None without verdicts, or if nothing can be left out.
    command : str
        Command that addresses the finding.
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
        """Items to leave out: all affected items except the first of each set of duplicates."""
        if self.clusters:
            return tuple(item for cluster in self.clusters for item in cluster[1:])
        return self.items

    @property
    def left_out_raters(self) -> tuple[str, ...]:
        """Raters to leave out: all affected raters, or the second rater in each pair."""
        return self.raters[1::2] if self.kind in PAIRED else self.raters


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFacts:
    """A rater compared with the others.

    Attributes
    ----------
    n_ratings : int
        Number of the rater's forced choices.
    n_items : int
        Number of items that two other raters also rated. The agreement is computed from these
        items.
    agreement : float or None
        Mean share of other raters' choices that match the rater's, or None without such items.
    low, high : float or None
        Exact 95 % interval for the agreement, clustered by group if the task has groups.
    expected : float or None
        Mean agreement of all raters on the same items.
    p_adjusted : float or None
        Chernoff bound on the p-value of the permutation test for lower agreement, Holm-adjusted.
    always : str
        The option that the rater always chose, or "" if choices vary.
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
    """A check that couldn't run, and the reason for this."""

    check: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An audit's results, with findings in order of importance.

    Attributes
    ----------
    content_hash : str
        Hash of the task's content.
    decision : str or None
        The verdict with all items and ratings, or None without verdicts.
    equals : tuple of str
        As in `Effect`, with all items and ratings.
    verdicts : str or None
        File with the verdicts.
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
        """Create an audit without verdicts and rater facts."""
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

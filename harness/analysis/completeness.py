"""Completeness of a judge: what it was to reply, less what it replied, from counts alone.

planned = answered + abstained + refused + invalid + failed + not asked. Whether a judge can be
assessed follows from these counts in `Completeness`, for runs, rounds, races and estimates alike,
and never from the kind of an error: a failed call isn't a reply, whatever made it fail.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from harness.analysis.ratings import CountedOutcome, count_outcomes
from harness.errors import ExitCode
from harness.judging.storage.verdict_columns import columns_of
from harness.stats.selection.replies import MIN_ANSWERED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from harness.analysis.ratings import OutcomeCounts
    from harness.judging.parsing.verdict import Verdict
    from harness.tasks.item import Elicitation

JudgeStanding: TypeAlias = Literal["complete", "incomplete", "not assessed"]
Shortfall: TypeAlias = Literal["", "incomplete", "not assessed"]
UNUSABLE: tuple[CountedOutcome, ...] = ("abstained", "refused", "invalid", "failed", "not_asked")


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether a judge replied enough to be assessed.

    Attributes
    ----------
    counts : tuple of OutcomeCounts
        Of its replies, by elicitation.
    min_answered : float
        Share of the planned replies that must be answers.
    is_planned : bool
        Whether the plan is known, and not inferred from verdicts of another tool, which can't be
        incomplete.
    """

    counts: tuple[OutcomeCounts, ...]
    min_answered: float = MIN_ANSWERED
    is_planned: bool = True

    @property
    def standing(self) -> JudgeStanding:
        """Without any answer it isn't assessed; with too few, or cut short, it is incomplete."""
        if not self.total("answered"):
            return "not assessed"
        is_short = any(c.answered < self.min_answered * c.planned for c in self.counts)
        is_incomplete = self.is_planned and (is_short or self.total("not_asked") > 0)
        return "incomplete" if is_incomplete else "complete"

    @property
    def is_complete(self) -> bool:
        """Whether the judge can be assessed on what it replied."""
        return not self.shortfall

    @property
    def shortfall(self) -> Shortfall:
        """The standing of a judge that can't be assessed; "" if it can, or nothing was planned."""
        standing = self.standing
        return "" if standing == "complete" or not self.total("planned") else standing

    @property
    def n_missing(self) -> int:
        """Planned replies that did not come, and may still be asked for."""
        return self.total("failed") + self.total("not_asked")

    def plus(self, other: Self) -> Self:
        """Add the counts of other items, asked about in the same elicitations."""
        pairs = zip(self.counts, other.counts, strict=True)
        return replace(self, counts=tuple(one.plus(two) for one, two in pairs))

    def total(self, outcome: CountedOutcome) -> int:
        """Return a count over all elicitations."""
        return sum(getattr(counts, outcome) for counts in self.counts)

    def __str__(self) -> str:
        """Say what is short, in words."""
        n_answered, n_planned = self.total("answered"), self.total("planned")
        why = [f"{n} {name.replace('_', ' ')}" for name in UNUSABLE if (n := self.total(name))]
        verb = "is" if n_answered == 1 else "are"
        return f"{n_answered} of {n_planned} replies {verb} usable ({', '.join(why)})"


def completeness_of(
    verdicts: Sequence[Verdict],
    planned: Mapping[Elicitation, int],
    items: Collection[str],
    min_answered: float | None = None,
) -> Completeness:
    """Return the completeness of a judge from its final verdicts on some items.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of the judge alone.
    planned : mapping of str to int
        Replies that it was to give, by elicitation.
    items : collection of str
        Ids of the items that it was to be asked about; verdicts on others are left out.
    min_answered : float, optional
        Share of the planned replies that must be answers.
    """
    counts = count_outcomes(verdicts, planned, items)
    return Completeness(counts, MIN_ANSWERED if min_answered is None else min_answered)


def fails_too_often(n_failed: int, n_planned: int, min_answered: float | None = None) -> bool:
    """Return whether more calls failed than may be missing of those planned so far."""
    least = MIN_ANSWERED if min_answered is None else min_answered
    return n_failed > (1.0 - least) * n_planned


def failure_reason(verdicts: Sequence[Verdict]) -> str:
    """Return why most of a judge's failed calls failed; "" if none did."""
    reasons: Counter[str] = Counter()
    for kind, n in columns_of(verdicts).n_by_kind():
        if kind.outcome == "failed":
            reasons[kind.reason] += n
    return max(reasons, key=reasons.__getitem__, default="")


def exit_code_of(judges: Iterable[Completeness]) -> ExitCode:
    """Return `INCOMPLETE` if a judge can't be assessed, else `DONE`."""
    complete = all(judge.is_complete for judge in judges)
    return ExitCode.DONE if complete else ExitCode.INCOMPLETE

"""Verdicts of all judges on one occasion, those by vote and the calibrated ones included."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.calibration import PREFIX
from harness.judging.judges.config import ENSEMBLE
from harness.judging.parsing.verdict import Verdict
from harness.judging.vote_weights import vote_weights
from harness.judging.voting import with_votes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.vote_weights import Weights
    from harness.tasks import Task

ContentFree = dict[str, dict[str, dict[str, float]]]  # by judge, item and option


class FixedInRun(NamedTuple):
    """What verdicts of later looks take from the run: see `Baseline`.

    From replies of a look, it would move the verdicts on all items together, and the tests need
    items that are independent.
    """

    content_free: ContentFree
    vote_weights: Weights

    @classmethod
    def of(cls, replies: Sequence[Verdict], specs: Sequence[JudgeSpec], task: Task) -> FixedInRun:
        """Compute it from the replies of the run."""
        content_free = content_free_of(replies)
        asked = [spec for spec in specs if spec.kind != ENSEMBLE]
        by_judge = with_votes(asked, _by_judge(replies, asked, content_free), task)
        return cls(content_free, vote_weights(specs, by_judge, task))


def content_free_of(verdicts: Iterable[Verdict]) -> ContentFree:
    """Return the options' probabilities on content-free items, by judge and item."""
    by_judge: ContentFree = {}
    for verdict in verdicts:
        if verdict.item.startswith(PREFIX) and verdict.probabilities:
            by_judge.setdefault(verdict.judge, {})[verdict.item] = verdict.probabilities
    return by_judge


def occasion_verdicts(
    replies: Iterable[Verdict],
    specs: Sequence[JudgeSpec],
    task: Task,
    fixed: FixedInRun,
    *,
    look: int,
) -> list[Verdict]:
    """Return the verdicts of all judges on the replies of an occasion.

    Parameters
    ----------
    replies : iterable of Verdict
        On single replies.
    specs : sequence of JudgeSpec
        All judges of the run, ensembles after their members.
    task : Task
        Its options and admissible sets.
    fixed : FixedInRun
        From the run.
    look : int
        Number of the occasion; 0 for the run. Ties between votes are drawn anew on each.
    """
    by_judge = _by_judge(replies, specs, fixed.content_free)
    voted = with_votes(specs, by_judge, task, look=look, weights=fixed.vote_weights)
    return list(chain.from_iterable(voted.values()))


def _by_judge(
    replies: Iterable[Verdict], specs: Sequence[JudgeSpec], content_free: ContentFree
) -> dict[str, list[Verdict]]:
    """Group replies by judge, with the content-free ones of the run in place of their own."""
    by_judge: dict[str, list[Verdict]] = {s.name: [] for s in specs if s.kind != ENSEMBLE}
    for verdict in replies:
        if verdict.judge in by_judge and not verdict.item.startswith(PREFIX):
            by_judge[verdict.judge].append(verdict)
    for judge, own in by_judge.items():
        own.extend(_content_free_verdicts(judge, content_free.get(judge, {})))
    return by_judge


def with_ensembles(specs: Iterable[JudgeSpec], reasons: Mapping[str, str]) -> dict[str, str]:
    """Add the ensembles with a member that has no verdicts, with that member's reason."""
    return dict(reasons) | {
        spec.name: f"its member {member}: {reasons[member]}"
        for spec in specs
        for member in spec.members
        if member in reasons
    }


def _content_free_verdicts(
    judge: str, probabilities: Mapping[str, dict[str, float]]
) -> list[Verdict]:
    return [
        Verdict(
            item=item,
            judge=judge,
            elicitation="forced_choice",
            outcome="answered",
            probabilities=masses,
        )
        for item, masses in probabilities.items()
    ]

"""Stream of one judge's replies in one elicitation, which rounds compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.judging.parsing.grammar import OUTCOMES
from harness.revalidation.metric_changes import Scorer, item_scores
from harness.revalidation.records import FLIPS, Figure
from harness.revalidation.reply_categories import categories_of, outcome_shares
from harness.stats.drift.reply_counts import look_flips, retest_flip_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.revalidation.reply_categories import StreamReplies
    from harness.stats.drift.reply_counts import ReplyCounts
    from harness.stats.drift.score_change import ItemScores
    from harness.stats.drift.stream_path import StreamPath
    from harness.tasks.item import Elicitation


@dataclass(frozen=True, slots=True)
class Stream:
    """Evidence on one judge and elicitation since the baseline.

    Attributes
    ----------
    replies : tuple of StreamReplies
        Replies in the baseline and each round.
    """

    judge: str
    elicitation: Elicitation
    replies: tuple[StreamReplies, ...]
    counts: ReplyCounts
    path: StreamPath

    @property
    def p_value(self) -> float:
        """The smallest p-value so far. An alarm stays even if its items are excluded later."""
        return min(look.p_value for look in self.path.looks)

    def figures(self) -> Iterator[Figure]:
        """Yield the flip rate and the share of each outcome in the last round, or nothing."""
        now, before = outcome_shares(self.replies[-1]), outcome_shares(self.replies[0])
        n = self.replies[-1].n_replies
        if not n:
            return
        flips = look_flips(self.counts, self.counts.n_looks).flip_rate
        yield Figure(
            name=FLIPS,
            elicitation=self.elicitation,
            baseline=retest_flip_rate(self.counts).value,
            look=flips.value,
            low=flips.interval.low if flips.interval else None,
            high=flips.interval.high if flips.interval else None,
            n=flips.n_used,
            reason=flips.reason,
        )
        for outcome in OUTCOMES[:-1]:  # replies without failed calls
            yield Figure(
                name=outcome,
                elicitation=self.elicitation,
                baseline=before.get(outcome),
                look=now[outcome],
                n=n,
            )

    def scores(self, scorer: Scorer) -> ItemScores | None:
        """Return the scores of the replies on the ranking metric. None if no reply has a score."""
        scores = scorer.scores(categories_of(self.replies), self.replies[0].elicitation)
        return None if scores is None else item_scores(self.counts, scores)

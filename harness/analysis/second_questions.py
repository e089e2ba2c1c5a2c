"""Count second questions to judges, and show how they affect the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.judging.storage.verdict_columns import columns_of
from harness.stats.selection.ranking import ranks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.inputs import Source
    from harness.stats.selection.footing import Footing

READ = frozenset({"answered", "abstained", "refused"})
CAME = READ | {"invalid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaskedJudge:
    """Counts of a judge's second questions, and its rank without them.

    Attributes
    ----------
    n_replies, n_reasked, n_read : int
        Replies received, replies that follow a second question, and readable ones among the latter.
    value, value_without : float or None
        The metric that ranks, with and without replies to second questions. None if the judge can't
        be compared. Votes and ensembles keep the answers of their replies.
    rank, rank_without : int or None
        Rank with and without these replies; 1 is best.
    """

    judge: str
    n_replies: int
    n_reasked: int
    n_read: int
    value: float | None
    value_without: float | None
    rank: int | None
    rank_without: int | None

    @property
    def share(self) -> float:
        """Share of the replies that follow a second question."""
        return self.n_reasked / self.n_replies if self.n_replies else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondQuestions:
    """Second questions to the judges of a validation.

    Attributes
    ----------
    judges : tuple of ReaskedJudge
        All judges, in the order of the ranking.
    n_items : int
        Items in the comparison without replies to second questions.
    n_replies : float or None
        Replies per item in that comparison; None if reply noise was removed.
    """

    judges: tuple[ReaskedJudge, ...]
    n_items: int
    n_replies: float | None


def second_questions(source: Source, evidence: Evidence, without: Footing) -> SecondQuestions:
    """Compare the rankings with and without replies to second questions.

    Parameters
    ----------
    source : Source
        Source of the judges and their replies.
    evidence : Evidence
        The ranking.
    without : Footing
        The judges compared without those replies.
    """
    values = {row.judge: row.value for row in evidence.judges}
    values_without = dict(zip(without.judges, map(_defined, without.values.tolist()), strict=True))
    ranks, ranks_without = _ranks(values, without), _ranks(values_without, without)
    judges = []
    for judge, value in values.items():
        counts = columns_of(source.own_replies(judge)).n_by_kind()
        reasked = [(kind, n) for kind, n in counts if kind.is_reasked and kind.outcome in CAME]
        judges.append(
            ReaskedJudge(
                judge=judge,
                n_replies=sum(n for kind, n in counts if kind.outcome in CAME),
                n_reasked=sum(n for _, n in reasked),
                n_read=sum(n for kind, n in reasked if kind.outcome in READ),
                value=value,
                value_without=values_without.get(judge),
                rank=ranks.get(judge),
                rank_without=ranks_without.get(judge),
            )
        )
    return SecondQuestions(
        judges=tuple(judges),
        n_items=int(without.items.shared.sum()),
        n_replies=without.n_replies if np.isfinite(without.n_replies) else None,
    )


def _ranks(values: Mapping[str, float | None], footing: Footing) -> dict[str, int]:
    defined = {judge: value for judge, value in values.items() if value is not None}
    losses = footing.metric.losses(np.array(list(defined.values()), dtype=np.float64))
    ranks = zip(defined, ranks_of(losses), strict=True)
    return {judge: rank for judge, rank in ranks if rank is not None}


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value

"""Cost of a judge's replies, each counted once."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_high
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.judging.running.budget import paid_replies
from harness.judging.storage.verdict_columns import columns_of, verdicts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.storage.verdict_columns import VerdictColumns
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a judge's replies.

    Attributes
    ----------
    usd : float or None
        Paid in this run; None where a price is unknown.
    n_paid, n_from_store : int
        Replies that were paid for in this run, and verdicts whose replies were in the store.
    usd_per_answered : float or None
        What all replies cost when they were bought, also by other runs, per answered verdict. None
        where a price is unknown or nothing was answered.
    prompt_tokens, completion_tokens, cached_tokens : int
        Of the replies paid for; cached are those of the prompt that the provider had in its cache.
    """

    usd: float | None
    n_paid: int
    n_from_store: int
    usd_per_answered: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


def cost_of(verdicts: Sequence[Verdict], replies: Sequence[Verdict] | None = None) -> Cost:
    """Return the cost of one judge's verdicts.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of the judge.
    replies : sequence of Verdict, optional
        Those on single replies, where the judge's are votes; other judges' were paid by these.
    """
    judge = verdicts[0].judge if verdicts else ""
    replies = verdicts if replies is None else replies
    columns = columns_of(replies)
    if any(kind.elicitation == "paired" for kind in columns.kinds):
        bought = _Bought.of_pairs(replies, judge)
    else:
        bought = _Bought.of_columns(columns, judge)
        if (is_reasked := columns.of_kinds(lambda kind: kind.is_reasked)).any():
            bought = bought.joined(_Bought.of_unread(verdicts_at(replies, is_reasked), judge))
    total = _usd(bought.cost_usd)
    n_answered = sum(
        n for kind, n in columns_of(verdicts).n_by_kind() if kind.outcome == "answered"
    )
    useful = len(bought.cost_usd) and n_answered and total is not None
    n_tokens = [sum(column) for column in bought.tokens[:, bought.is_paid].tolist()]
    return Cost(
        usd=_usd(bought.cost_usd[bought.is_paid]),
        n_paid=int(bought.is_paid.sum()),
        n_from_store=sum(
            n for kind, n in columns.n_by_kind() if kind.judge == judge and kind.from_store
        ),
        usd_per_answered=total / n_answered if useful and total is not None else None,
        prompt_tokens=n_tokens[0],
        completion_tokens=n_tokens[1],
        cached_tokens=n_tokens[2],
    )


class _Bought(NamedTuple):
    """M replies that were bought, each once.

    Attributes
    ----------
    cost_usd : (M,) array
        nan where the price is unknown.
    is_paid : (M,) bool array
        Whether the judge paid for it in this run.
    tokens : (3, M) int array
        Of prompt and completion, and cached ones.
    """

    cost_usd: FloatArray
    is_paid: BoolArray
    tokens: IntArray

    @classmethod
    def of_columns(cls, columns: VerdictColumns, judge: str) -> _Bought:
        """Return the last replies of verdicts that share none."""
        used = columns.of_kinds(lambda kind: kind.n_replies > kind.is_reasked)
        is_paid = columns.of_kinds(lambda kind: kind.judge == judge and not kind.from_store)
        tokens = (columns.prompt_tokens, columns.completion_tokens, columns.cached_tokens)
        return cls(columns.cost_usd[used], is_paid[used], np.array([n[used] for n in tokens]))

    @classmethod
    def of_pairs(cls, verdicts: Sequence[Verdict], judge: str) -> _Bought:
        """Return the replies of verdicts, some of which share replies with others."""
        return cls._of(paid_replies(verdicts), judge)

    @classmethod
    def of_unread(cls, verdicts: Sequence[Verdict], judge: str) -> _Bought:
        """Return the replies that couldn't be read, of verdicts after one more question."""
        return cls._of(
            ((verdict, [verdict.unread]) for verdict in verdicts if verdict.unread), judge
        )

    def joined(self, other: _Bought) -> _Bought:
        """Return the replies of both."""
        return _Bought(
            np.concatenate([self.cost_usd, other.cost_usd]),
            np.concatenate([self.is_paid, other.is_paid]),
            np.concatenate([self.tokens, other.tokens], axis=1),
        )

    @classmethod
    def _of(cls, of_verdicts: Iterable[tuple[Verdict, Sequence[Reply]]], judge: str) -> _Bought:
        bought: list[Reply] = []
        is_paid: list[bool] = []
        for verdict, replies in of_verdicts:
            bought += replies
            is_paid += [verdict.judge == judge and not verdict.from_store] * len(replies)
        costs = [np.nan if reply.cost_usd is None else reply.cost_usd for reply in bought]
        tokens = [
            (r.prompt_tokens or 0, r.completion_tokens or 0, r.cached_tokens or 0) for r in bought
        ]
        return cls(
            np.array(costs, dtype=np.float64),
            np.array(is_paid, dtype=np.bool_),
            np.array(tokens, dtype=np.int64).reshape(len(bought), 3).T,
        )


def _usd(costs: FloatArray) -> float | None:
    return None if np.isnan(costs).any() else sum(costs.tolist(), 0.0)


def median_latency_s(verdicts: Sequence[Verdict]) -> float | None:
    """Return the median seconds of a reply, of two middle ones the greater; None without any."""
    latencies = columns_of(verdicts).latency_s
    latencies = latencies[~np.isnan(latencies)]
    return median_high(latencies.tolist()) if len(latencies) else None

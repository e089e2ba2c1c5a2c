"""Ensembles: verdicts computed from the verdicts of other judges, the members."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from math import log
from typing import TYPE_CHECKING, get_args

from harness.judging.parsing.verdict import PairValue
from harness.judging.prompts.demonstrations import group_of
from harness.judging.prompts.requests import answer_kind
from harness.judging.strategies.strategy import Combining, Fitted, Strategy
from harness.judging.strategies.voting import (
    NO_WEIGHTS,
    choosable,
    drawn_verdict,
    majority,
    votes_by_unit,
)
from harness.stats.modes import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.judging.parsing.verdict import Value, Verdict
    from harness.tasks import Item, Task

MIN_RATED_IN_HALF = 10  # rated items; with fewer, all members have the same weight


class Majority(Strategy):
    """Ensemble strategy that returns the verdict that most members give."""

    needs_prompts = False
    joins_members = True

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the majority verdicts."""
        units = votes_by_unit(verdicts, of, len(of.members))
        answers = choosable(of.task)
        return [majority(ballot, votes, answers) for ballot, votes in units]


class Mean(Majority):
    """Ensemble strategy that returns a random member's verdict."""

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the verdicts of randomly drawn members."""
        units = votes_by_unit(verdicts, of, len(of.members))
        return [drawn_verdict(ballot, votes) for ballot, votes in units]


class Weighted(Majority):
    """Ensemble strategy with more votes for members that agree more with raters.

    Items are split into two halves. A member's weight in one half is its log-odds of agreeing with
    a rater in the other, so that no verdict depends on the ratings of its own item.

    References
    ----------
    S. Nitzan, J. Paroush, Optimal decision rules in uncertain dichotomous choice situations,
    International Economic Review 23, 1982.
    """

    needs_options = True

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Return the members' weights for each kind of answer and half (``forced_choice 0``).

        They are never negative. All are 1 if a half has fewer than `MIN_RATED_IN_HALF` rated items
        or if all would be 0.
        """
        by_member: dict[str, list[Verdict]] = {name: [] for name in of.members}
        for verdict in verdicts:
            by_member[verdict.judge].append(verdict)
        shares, task = _answer_shares(of.task), of.task
        sizes: dict[AnswerKind, int] = {
            "forced_choice": len(task.options),
            "response_set": len(task.space.sets),
        }
        return {
            _place(kind, half): dict(zip(of.members, weights, strict=True))
            for kind, n in sizes.items()
            for half, weights in enumerate(_both_halves(by_member.values(), task, kind, n, shares))
        }

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the verdicts of the weighted majority."""
        own = list(verdicts)
        weights = self.fit(own, of) if of.fitted is None else of.fitted
        half = {item.id: half_of(item) for item in of.task.items}
        answers = choosable(of.task)
        return [
            majority(
                ballot,
                votes,
                answers,
                weights.get(_place(answer_kind(ballot.elicitation), half[ballot.item]), NO_WEIGHTS),
            )
            for ballot, votes in votes_by_unit(own, of, len(of.members))
        ]

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterator[str]:
        """Yield lines with the members' weights. ``replies`` are the members' verdicts."""
        fitted = self.fit(replies, of)
        for kind in get_args(AnswerKind):
            halves = [fitted[_place(kind, half)] for half in range(2)]
            if any(set(weights.values()) != {1.0} for weights in halves):
                shown = " and ".join(
                    ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
                    for weights in halves
                )
                yield (
                    f"{of.judge}: in each half of the items, the members' {kind} weights come from "
                    f"their agreement with raters in the other half: {shown}"
                )


def _place(kind: AnswerKind, half: int) -> str:
    return f"{kind} {half}"


def half_of(item: Item) -> int:
    """Return an item's half, 0 or 1. Items of the same group are in the same half."""
    return sha256(group_of(item).encode()).digest()[0] & 1


def _answer_shares(task: Task) -> dict[tuple[str, AnswerKind], dict[Value, float]]:
    """Return each answer's share of an item's ratings, by item and kind of answer."""
    counts: defaultdict[tuple[str, AnswerKind], Counter[Value]] = defaultdict(Counter)
    for rating in task.ratings:
        counts[rating.item, rating.elicitation][rating.value] += 1
    return {
        place: {value: n / of_item.total() for value, n in of_item.items()}
        for place, of_item in counts.items()
    }


def _both_halves(
    members: Iterable[Sequence[Verdict]],
    task: Task,
    kind: AnswerKind,
    n_answers: int,
    shares: Mapping[tuple[str, AnswerKind], Mapping[Value, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the members' weights for half 0 and half 1, each fitted on the other half."""
    half = {item.id: half_of(item) for item in task.items}
    of_other_half = (
        [_agreement(own, kind, other, half, shares) for own in members] for other in (1, 0)
    )
    first, second = (_weights(agreements, n_answers) for agreements in of_other_half)
    return first, second


def _agreement(
    verdicts: Iterable[Verdict],
    kind: AnswerKind,
    half: int,
    halves: Mapping[str, int],
    shares: Mapping[tuple[str, AnswerKind], Mapping[Value, float]],
) -> tuple[float, int]:
    """Sum the share of raters who agree over a half's items. Also return the number of items."""
    by_item: defaultdict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        of_item = shares.get((verdict.item, kind))
        answer = _answer(verdict, kind)
        if of_item is not None and answer is not None and halves.get(verdict.item) == half:
            by_item[verdict.item].append(of_item.get(answer, 0.0))
    return sum(sum(own) / len(own) for own in by_item.values()), len(by_item)


def _answer(verdict: Verdict, kind: AnswerKind) -> Value:
    """Return a verdict's answer of the given kind, or None if the verdict lacks one."""
    value = verdict.value
    if isinstance(value, PairValue):
        return value.choice if kind == "forced_choice" else value.set
    return value if isinstance(value, str) == (kind == "forced_choice") else None


def _weights(agreements: Sequence[tuple[float, int]], n_answers: int) -> tuple[float, ...]:
    """Return weights: log-odds of agreement, after adding half a case to each side."""
    if min(n for _, n in agreements) < MIN_RATED_IN_HALF:
        return (1.0,) * len(agreements)
    odds = [(n_answers - 1) * (s + 0.5) / (n - s + 0.5) for s, n in agreements]
    weights = tuple(max(0.0, log(ratio)) for ratio in odds)
    return weights if any(weights) else (1.0,) * len(agreements)

"""Weights of the members of an ensemble, from the raters of items that they do not decide.

Items are split into two halves by a hash of their group. The members' weights in one half come from
their agreement with the raters in the other, so that no verdict depends on the ratings of its own
item or group.

References
----------
S. Nitzan, J. Paroush, Optimal Decision Rules in Uncertain Dichotomous Choice Situations,
International Economic Review 23(2), 1982: the log-odds of being right weigh independent votes best.
With K options, an answer of a share a among the raters weighs log((K - 1) a / (1 - a)).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from math import log
from typing import TYPE_CHECKING, TypeAlias

from harness.judging.parsing.verdict import PairValue
from harness.judging.prompts.demonstrations import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Value, Verdict
    from harness.tasks import Item, Task

WEIGHTED = "weighted"
MIN_ITEMS = 10  # in a half; with fewer, all members weigh the same
Kind: TypeAlias = str  # of answers: "forced_choice" or "response_set"
Weights: TypeAlias = dict[str, dict[Kind, tuple[tuple[float, ...], tuple[float, ...]]]]


def half_of(item: Item) -> int:
    """Return 0 or 1: the half of the items that an item is in, with all of its group."""
    return sha256(group_of(item).encode()).digest()[0] & 1


def vote_weights(
    specs: Iterable[JudgeSpec], verdicts: Mapping[str, Sequence[Verdict]], task: Task
) -> Weights:
    """Return the weights of the members of each weighted ensemble.

    Parameters
    ----------
    specs : iterable of JudgeSpec
        The judges of a run.
    verdicts : mapping of str to sequence of Verdict
        Those of the members.
    task : Task
        Its ratings, and the halves of its items.

    Returns
    -------
    dict
        By ensemble and kind of answer, the members' weights for the items of each half: never
        negative, and 1 for all where a half has fewer than `MIN_ITEMS` rated items or all are 0.
    """
    ensembles = [spec for spec in specs if spec.rule == WEIGHTED]
    if not ensembles:
        return {}
    shares = _answer_shares(task)
    sizes = {"forced_choice": len(task.options), "response_set": len(task.space.sets)}
    return {
        spec.name: {
            kind: _both_halves([verdicts[name] for name in spec.members], task, kind, n, shares)
            for kind, n in sizes.items()
        }
        for spec in ensembles
    }


def _answer_shares(task: Task) -> dict[tuple[str, Kind], dict[Value, float]]:
    """Return the share of each answer among the ratings of an item, by item and kind."""
    counts: defaultdict[tuple[str, Kind], Counter[Value]] = defaultdict(Counter)
    for rating in task.ratings:
        counts[rating.item, rating.elicitation][rating.value] += 1
    return {
        place: {value: n / of_item.total() for value, n in of_item.items()}
        for place, of_item in counts.items()
    }


def _both_halves(
    members: Sequence[Sequence[Verdict]],
    task: Task,
    kind: Kind,
    n_answers: int,
    shares: Mapping[tuple[str, Kind], Mapping[Value, float]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weights for half 0, from the items of half 1, and the other way round."""
    half = {item.id: half_of(item) for item in task.items}
    rows = [[_agreement(own, kind, h, half, shares) for h in (1, 0)] for own in members]
    first, second = (_weights([of_member[h] for of_member in rows], n_answers) for h in (0, 1))
    return first, second


def _agreement(
    verdicts: Iterable[Verdict],
    kind: Kind,
    half: int,
    halves: Mapping[str, int],
    shares: Mapping[tuple[str, Kind], Mapping[Value, float]],
) -> tuple[float, int]:
    """Return the sum of the shares of raters who agree, over items of a half, and their number."""
    by_item: defaultdict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        of_item = shares.get((verdict.item, kind))
        answer = _answer(verdict, kind)
        if of_item is not None and answer is not None and halves.get(verdict.item) == half:
            by_item[verdict.item].append(of_item.get(answer, 0.0))
    return sum(sum(own) / len(own) for own in by_item.values()), len(by_item)


def _answer(verdict: Verdict, kind: Kind) -> Value:
    """Return the answer of a kind in a verdict; None without one."""
    value = verdict.value
    if isinstance(value, PairValue):
        return value.choice if kind == "forced_choice" else value.set
    return value if isinstance(value, str) == (kind == "forced_choice") else None


def _weights(agreements: Sequence[tuple[float, int]], n_answers: int) -> tuple[float, ...]:
    """Return log-odds of agreeing, half an agreement added to either side."""
    if min(n for _, n in agreements) < MIN_ITEMS:
        return (1.0,) * len(agreements)
    odds = [(n_answers - 1) * (s + 0.5) / (n - s + 0.5) for s, n in agreements]
    weights = tuple(max(0.0, log(ratio)) for ratio in odds)
    return weights if any(weights) else (1.0,) * len(agreements)

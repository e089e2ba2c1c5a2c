"""Ranking of the systems that a pairwise task compares, by raters and by each judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.order_bias import PositionEffects, item_mean, position_effects
from harness.analysis.serialize import schema_of
from harness.errors import TaskError
from harness.stats import Estimate, Resampling, correlations
from harness.stats.data.arrays import ratio, row_products
from harness.stats.metrics.bradley_terry import system_estimates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Item
    from harness.tasks.schema import PairwiseFields


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """A system as one side sees it.

    Attributes
    ----------
    win_rate : Estimate
        Share of its comparisons that it won; a tie is half a win.
    strength : Estimate
        Of the Bradley-Terry model, in logits, with mean 0 over the systems.
    rank : int or None
        By strength, 1 is best; None where that is NA.
    """

    system: str
    win_rate: Estimate
    strength: Estimate
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """Two systems as one side sees them: comparisons, and how they ended."""

    first: str
    second: str
    n_items: int
    first_won: float
    tied: float
    second_won: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SideResult:
    """The systems as the raters, or a judge, rank them.

    Attributes
    ----------
    side : str
        "raters", or the name of a judge.
    n_items : int
        Items with an answer.
    systems : tuple of SystemResult
        By rank; without one, by win rate.
    pairs : tuple of PairResult
        Items of each pair of systems, and the shares of the answers.
    kendall_tau : float or None
        Rank correlation (tau-b) of the strengths with those of the raters; None where NA.
    agreement : dict of str to Estimate
        Of a judge: the chance that its answer and a rater's agree, mean over items, by what a tie
        is: ``class`` (an answer of its own), ``left_out`` (only answers that prefer one side) and
        ``half`` (either side with probability 1/2). Empty for the raters.
    position : PositionEffects or None
        Of a judge that was asked in both orders of the answers.
    """

    side: str
    n_items: int
    systems: tuple[SystemResult, ...]
    pairs: tuple[PairResult, ...]
    kendall_tau: float | None
    agreement: dict[str, Estimate] = field(default_factory=dict)
    position: PositionEffects | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRanking:
    """The systems as raters and judges rank them; the raters come first."""

    task: str
    sides: tuple[SideResult, ...]

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of ``harness systems --json``."""
        return schema_of(cls)


def rank_systems(source: Source) -> SystemRanking:
    """Rank the systems of a pairwise task by its raters and by each judge.

    An item counts once for a side, by the shares of its raters or replies; an answer other than the
    two options is a tie, and abstentions are left out.

    Raises
    ------
    TaskError
        If ``task.yaml`` does not say which fields name the systems, or an item lacks one.
    """
    pairwise = source.task.pairwise
    if pairwise is None or pairwise.systems is None:
        raise TaskError(
            f"{source.task.folder}: the compared systems are unknown; write 'pairwise' with "
            "answers, first, second and systems into task.yaml."
        )
    answers = {"raters": _ratings(source)} | {
        judge.name: _replies(source, judge.name) for judge in source.judges
    }
    compared = {item.id: _systems_of(item, pairwise.systems, source) for item in source.items}
    names = sorted({system for pair in compared.values() for system in pair})
    sides = [_side(side, by_item, compared, names, source) for side, by_item in answers.items()]
    shares = {side: _all_shares(by_item, source) for side, by_item in answers.items()}
    sides[1:] = [
        replace(
            side,
            agreement=_agreement(shares["raters"], shares[side.side], source),
            position=position_effects(
                source.own_replies(side.side), source.task, source.items, source.confidence
            ),
        )
        for side in sides[1:]
    ]
    return SystemRanking(
        task=source.task.name, sides=tuple(_with_tau(side, sides[0]) for side in sides)
    )


def _ratings(source: Source) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {item.id: Counter() for item in source.items}
    for rating in source.task.ratings:
        if rating.item in counts and isinstance(rating.value, str):
            counts[rating.item][rating.value] += 1
    return counts


def _replies(source: Source, judge: str) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {item.id: Counter() for item in source.items}
    for verdict in source.verdicts.get(judge, ()):
        is_choice = verdict.outcome == "answered" and isinstance(verdict.value, str)
        if is_choice and verdict.item in counts:
            counts[verdict.item][str(verdict.value)] += 1
    return counts


def _systems_of(item: Item, fields: tuple[str, str], source: Source) -> tuple[str, str]:
    names = tuple(item.fields.get(field, "").strip() for field in fields)
    if not all(names) or names[0] == names[1]:
        raise TaskError(
            f"{source.task.folder}: item {item.id!r} names no two systems in "
            f"{' and '.join(fields)}; add them."
        )
    return names[0], names[1]


def _shares(counts: Counter[str], options: Sequence[str], pairwise: PairwiseFields) -> FloatArray:
    """Return the shares (first, second, tied) of answers; nan without any."""
    n = sum(counts[option] for option in options)
    first, second = counts[pairwise.first], counts[pairwise.second]
    return np.array([first, second, n - first - second]) / (n or np.nan)


def _all_shares(answers: Mapping[str, Counter[str]], source: Source) -> FloatArray:
    """Return (n, 3): the shares (first, second, tied) of the answers to each item."""
    assert source.task.pairwise is not None, "checked by rank_systems"
    options = [option.key for option in source.task.options]
    rows = [_shares(answers[item.id], options, source.task.pairwise) for item in source.items]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _agreement(raters: FloatArray, judge: FloatArray, source: Source) -> dict[str, Estimate]:
    """Return the chance that a rater and a judge agree, by the convention for ties."""
    estimates = {}
    for convention, read in TIES.items():
        resampling = Resampling(rng=np.random.default_rng(source.seed), groups=_groups(source))
        estimates[convention] = item_mean(row_products(read(raters), read(judge)), resampling)
    return estimates


def _without_ties(shares: FloatArray) -> FloatArray:
    return ratio(shares[:, :2], shares[:, :2].sum(axis=1, keepdims=True))


TIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "class": lambda shares: shares,
    "left_out": _without_ties,
    "half": lambda shares: shares[:, :2] + shares[:, 2:] / 2.0,
}


def _side(
    side: str,
    answers: Mapping[str, Counter[str]],
    compared: Mapping[str, tuple[str, str]],
    names: Sequence[str],
    source: Source,
) -> SideResult:
    task, place = source.task, {name: i for i, name in enumerate(names)}
    assert task.pairwise is not None, "checked by rank_systems"
    options = [option.key for option in task.options]
    wins = np.zeros((len(source.items), len(names), len(names)))
    shares: dict[frozenset[str], list[FloatArray]] = {}
    for row, item in enumerate(source.items):
        first, second, tied = _shares(answers[item.id], options, task.pairwise)
        if np.isnan(tied):
            continue
        one, other = compared[item.id]
        wins[row, place[one], place[other]] = first + tied / 2
        wins[row, place[other], place[one]] = second + tied / 2
        ordered = (first, second, tied) if one < other else (second, first, tied)
        shares.setdefault(frozenset((one, other)), []).append(np.array(ordered))
    resampling = Resampling(rng=np.random.default_rng(source.seed), groups=_groups(source))
    estimates = system_estimates(wins, names, resampling=resampling)
    return SideResult(
        side=side,
        n_items=int(wins.any(axis=(1, 2)).sum()),
        systems=_ranked(estimates),
        pairs=tuple(_pairs(names, shares)),
        kendall_tau=None,
    )


def _groups(source: Source) -> list[str | None] | None:
    groups = [item.group for item in source.items]
    return groups if any(groups) else None


def _ranked(estimates: Mapping[str, tuple[Estimate, Estimate]]) -> tuple[SystemResult, ...]:
    strengths = {name: strength.value for name, (_, strength) in estimates.items()}
    defined = {name: value for name, value in strengths.items() if value is not None}
    rows = [
        SystemResult(
            system=name,
            win_rate=win_rate,
            strength=strength,
            rank=1 + sum(value > defined[name] for value in defined.values())
            if name in defined
            else None,
        )
        for name, (win_rate, strength) in estimates.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank or inf, -(row.win_rate.value or 0.0))))


def _pairs(
    names: Sequence[str], shares: Mapping[frozenset[str], list[FloatArray]]
) -> Iterator[PairResult]:
    for first, second in combinations(names, 2):
        if rows := shares.get(frozenset((first, second))):
            first_won, second_won, tied = (float(share) for share in np.mean(rows, axis=0))
            yield PairResult(
                first=first,
                second=second,
                n_items=len(rows),
                first_won=first_won,
                tied=tied,
                second_won=second_won,
            )


def _with_tau(side: SideResult, raters: SideResult) -> SideResult:
    """Correlate the strengths of a side with the raters', over the systems that both have."""
    theirs = {row.system: row.strength.value for row in raters.systems}
    both = [
        (row.strength.value, theirs[row.system])
        for row in side.systems
        if row.strength.value is not None and theirs[row.system] is not None
    ]
    if side is raters or len(both) < 2:  # noqa: PLR2004 -- an order needs two
        return side
    tau = correlations(*zip(*both, strict=True))["kendall_tau_b"]
    return replace(side, kendall_tau=tau.value)

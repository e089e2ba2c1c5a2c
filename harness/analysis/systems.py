"""Ranking of the systems that a pairwise task compares, by raters and by each judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.order_bias import PositionEffects, item_mean, position_effects
from harness.analysis.prepared import groups_of
from harness.analysis.serialize import schema_of
from harness.errors import TaskError
from harness.stats import Estimate, Resampling, correlations
from harness.stats.data.arrays import ratio, row_products
from harness.stats.metrics.bradley_terry import system_estimates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.files.json_values import JsonObject
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
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of ``harness lab systems --json``."""
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
            f"{source.task.folder}: the compared systems are unknown. Write 'pairwise' with "
            "answers, first, second and systems into task.yaml."
        )
    compared = [_systems_of(item, pairwise.systems, source) for item in source.items]
    of_raters = _shares(_ratings(source), source, pairwise)
    raters = _side("raters", of_raters, compared, source)
    sides = [raters]
    for judge in source.judges:
        shares = _shares(_replies(source, judge.name), source, pairwise)
        side = _side(judge.name, shares, compared, source)
        replies = source.own_replies(judge.name)
        sides.append(
            replace(
                side,
                kendall_tau=_tau(side, raters),
                agreement=_agreement(of_raters, shares, source),
                position=position_effects(
                    replies, source.task, source.items, source.settings.confidence
                ),
            )
        )
    return SystemRanking(task=source.task.name, sides=tuple(sides))


def _ratings(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the item and the answer of each rating."""
    for rating in source.task.ratings:
        if isinstance(rating.value, str):
            yield rating.item, rating.value


def _replies(source: Source, judge: str) -> Iterator[tuple[str, str]]:
    """Yield the item and the answer of each reply of a judge that is a single choice."""
    for verdict in source.verdicts.get(judge, ()):
        if verdict.outcome == "answered" and isinstance(verdict.value, str):
            yield verdict.item, verdict.value


def _systems_of(item: Item, fields: tuple[str, str], source: Source) -> tuple[str, str]:
    names = tuple(item.fields.get(field, "").strip() for field in fields)
    if not all(names) or names[0] == names[1]:
        raise TaskError(
            f"{source.task.folder}: item {item.id!r} names no two systems in "
            f"{' and '.join(fields)}. Add them."
        )
    return names[0], names[1]


def _shares(
    answers: Iterable[tuple[str, str]], source: Source, pairwise: PairwiseFields
) -> FloatArray:
    """Return (n, 3): the shares (first, second, tied) of the answers to each item; nan without."""
    place = {item.id: i for i, item in enumerate(source.items)}
    column = {option.key: 2 for option in source.task.options}
    column |= {pairwise.first: 0, pairwise.second: 1}
    counts = np.zeros((len(place), 3))
    for item, answer in answers:
        if item in place and answer in column:
            counts[place[item], column[answer]] += 1
    return ratio(counts, counts.sum(axis=1, keepdims=True))


def _agreement(raters: FloatArray, judge: FloatArray, source: Source) -> dict[str, Estimate]:
    """Return the chance that a rater and a judge agree, by the convention for ties."""
    estimates = {}
    for convention, read in TIES.items():
        agreement = row_products(read(raters), read(judge))
        estimates[convention] = item_mean(agreement, _resampling(source))
    return estimates


def _without_ties(shares: FloatArray) -> FloatArray:
    return ratio(shares[:, :2], shares[:, :2].sum(axis=1, keepdims=True))


TIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "class": lambda shares: shares,
    "left_out": _without_ties,
    "half": lambda shares: shares[:, :2] + shares[:, 2:] / 2.0,
}


def _side(
    name: str, shares: FloatArray, compared: Sequence[tuple[str, str]], source: Source
) -> SideResult:
    systems = sorted({system for pair in compared for system in pair})
    place = {system: i for i, system in enumerate(systems)}
    wins = np.zeros((len(shares), len(systems), len(systems)))
    by_pair: dict[tuple[str, str], list[FloatArray]] = {}
    for row in np.flatnonzero(~np.isnan(shares[:, 2])).tolist():
        (one, other), (first, second, tied) = compared[row], shares[row]
        wins[row, place[one], place[other]] = first + tied / 2
        wins[row, place[other], place[one]] = second + tied / 2
        ordered = (first, second, tied) if one < other else (second, first, tied)
        by_pair.setdefault((min(one, other), max(one, other)), []).append(np.array(ordered))
    estimates = system_estimates(wins, systems, resampling=_resampling(source))
    return SideResult(
        side=name,
        n_items=int(wins.any(axis=(1, 2)).sum()),
        systems=_ranked(estimates),
        pairs=tuple(_pair(*pair, rows) for pair, rows in sorted(by_pair.items())),
        kendall_tau=None,
    )


def _resampling(source: Source) -> Resampling:
    return Resampling(rng=np.random.default_rng(source.settings.seed), groups=groups_of(source))


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


def _pair(first: str, second: str, shares: Sequence[FloatArray]) -> PairResult:
    first_won, second_won, tied = (float(share) for share in np.mean(shares, axis=0))
    return PairResult(
        first=first,
        second=second,
        n_items=len(shares),
        first_won=first_won,
        tied=tied,
        second_won=second_won,
    )


def _tau(side: SideResult, raters: SideResult) -> float | None:
    """Correlate the strengths of a side with the raters', over the systems that both have."""
    theirs = {row.system: row.strength.value for row in raters.systems}
    both = [
        (row.strength.value, theirs[row.system])
        for row in side.systems
        if row.strength.value is not None and theirs[row.system] is not None
    ]
    if len(both) < 2:  # noqa: PLR2004 -- an order needs two
        return None
    return correlations(*zip(*both, strict=True))["kendall_tau_b"].value

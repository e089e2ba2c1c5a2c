"""Measures of the same items in overlapping strata, from one walk through the resamples.

Strata cut the items into pieces. What the items of a piece add up to in a resample is summed once,
for all strata and metrics, and the sums of a stratum are those of its pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np

from harness.stats.data.item_kinds import Kinds
from harness.stats.inference.bootstrap import ALIKE
from harness.stats.inference.estimate import Estimate, Exclusion, make_interval
from harness.stats.inference.interval_methods import Sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_array

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.inference.bootstrap import Resamples, Unit, Units
    from harness.stats.inference.estimate import ItemSums
    from harness.stats.inference.interval_methods import IntervalMethod
    from harness.stats.inference.metric import Metric

    Weights: TypeAlias = NDArray[np.floating[Any]]

Key = TypeVar("Key")
MAX_FLOAT32 = 1 << 24  # up to here float32 holds every whole number
CELLS = 1 << 18  # sums held at once: 2 MiB, which stay in the processor's cache


@dataclass(frozen=True, slots=True, repr=False)
class Pieces:
    """Items cut into A pieces such that each of S strata is made of whole ones.

    Attributes
    ----------
    of_item : (n,) int array
        The piece of each item.
    inside : (S, A) bool array
        Which pieces each stratum is made of.
    units : Units
        What is resampled.
    """

    of_item: IntArray
    inside: BoolArray
    units: Units

    @classmethod
    def of(cls, members: BoolArray, units: Units, kinds: Kinds) -> Self:
        """Cut n items of R kinds by the strata that each kind is in, (R, S)."""
        pieces, of_kind = np.unique(members, axis=0, return_inverse=True)
        return cls(of_kind.ravel()[kinds.of_item], np.ascontiguousarray(pieces.T), units)

    def __repr__(self) -> str:
        return f"Pieces({len(self.of_item)} items, {len(self.inside)} strata)"

    @property
    def n_items(self) -> IntArray:
        """How many items are in each stratum: (S,)."""
        sizes = np.bincount(self.of_item, minlength=self.inside.shape[1])
        return np.asarray(self.inside @ sizes, dtype=np.int64)

    @property
    def n_units(self) -> IntArray:
        """How many units have items in each stratum: (S,)."""
        if self.units.kind == "item":
            return self.n_items
        units = [np.unique(self.units.of_item[inside[self.of_item]]) for inside in self.inside]
        return np.array([len(unit) for unit in units], dtype=np.int64)

    def cut(self, batch: ItemSums, kinds: Kinds, *, apart: BoolArray | None = None) -> Cut:
        """Prepare a batch: what each unit adds to the sums of each piece.

        Parameters
        ----------
        batch : ItemSums
            Over the R kinds of items.
        kinds : Kinds
            Items of a kind are in the same piece.
        apart : (d,) bool array, optional
            Sums that other units have in common than the rest of them; looking for kinds of units
            in both parts by themselves finds fewer.
        """
        contributions = np.asarray(batch.contributions)
        rows, columns = np.nonzero(contributions)
        values, width = contributions[rows, columns], contributions.shape[1]
        used = np.asarray(contributions.any(axis=1), dtype=np.bool_)
        parts = [np.ones(len(columns), dtype=np.bool_)]
        if apart is not None:
            parts = [apart[columns], ~apart[columns]]
        sums = tuple(
            self._sums(rows[part], columns[part], values[part], width, kinds) for part in parts
        )
        return Cut(sums, width, batch.metrics, self._n_used(used, kinds), batch.nothing)

    def cut_cells(
        self, place: IntArray, width: int, metrics: tuple[Metric, ...], *, nothing: str
    ) -> Cut:
        """Prepare items that each add 1 to one of ``width`` sums, (n,), or to none: -1."""
        used = np.asarray(place >= 0, dtype=np.bool_)
        kinds, rows = Kinds.single(len(place)), np.flatnonzero(used)
        sums = self._sums(rows, place[rows], np.ones(len(rows)), width, kinds)
        return Cut((sums,), width, metrics, self._n_used(used, kinds), nothing)

    def _n_used(self, used: BoolArray, kinds: Kinds) -> IntArray:
        """Count the items of each stratum whose kind is used: (S,)."""
        per_piece = np.bincount(
            self.of_item[kinds.first[used]], kinds.times[used], self.inside.shape[1]
        )
        return np.asarray(self.inside @ per_piece.astype(np.int64), dtype=np.int64)

    def _sums(
        self, rows: IntArray, columns: IntArray, values: FloatArray, width: int, kinds: Kinds
    ) -> Sums:
        from scipy.sparse import coo_array  # noqa: PLC0415 -- only where strata are asked for

        place = (self.of_item[kinds.first[rows]] * width + columns, rows)
        shape = (self.inside.shape[1] * width, len(kinds.first))
        of_kind = coo_array((values, place), shape=shape).tocsc()
        if self.units.kind == "item":
            return Sums.of(of_kind, kinds.of_item)
        ones = np.ones(len(self.of_item))
        shape = (len(kinds.first), self.units.n_units)
        members = coo_array((ones, (kinds.of_item, self.units.of_item)), shape=shape)
        return Sums.of((of_kind @ members.tocsc()).tocsc(), np.arange(self.units.n_units))


@dataclass(frozen=True, slots=True, repr=False)
class Sums:
    """What U units add to D sums; units that add the same are looked at as one kind.

    Attributes
    ----------
    kinds : (D, T) sparse array
        What a unit of each kind adds.
    of_unit : (T, U) sparse array
        1 at the kind of each unit.
    """

    kinds: csc_array
    of_unit: csc_array

    @classmethod
    def of(cls, matrix: csc_array, of_unit: IntArray) -> Self:
        """Find the different columns of (D, R); ``of_unit`` says which is each unit's, (U,)."""
        from scipy.sparse import csc_array  # noqa: PLC0415 -- only where strata are asked for

        (D, R), U = matrix.shape, len(of_unit)
        matrix.sort_indices()
        one_number = matrix.T @ np.random.default_rng(0).random(D)
        _, first, place = np.unique(one_number, return_index=True, return_inverse=True)
        kinds = matrix[:, first]
        if _differ(kinds[:, place], matrix):  # unlike columns gave the same number
            kinds, place = matrix, np.arange(R)
        ones, place = np.ones(U, dtype=_exact(U)), place.ravel()[of_unit]
        return cls(kinds, csc_array((ones, place, np.arange(U + 1)), (kinds.shape[1], U)))

    def __repr__(self) -> str:
        return f"Sums({self.of_unit.shape[1]} units of {self.of_unit.shape[0]} kinds)"

    def weighted(self, weights: Weights) -> FloatArray:
        """Add up units by (U, b) weights, whole numbers: (D, b)."""
        of_kind = np.asarray(self.of_unit @ weights, dtype=np.float64)
        return np.asarray(self.kinds @ of_kind, dtype=np.float64)

    def rows(self, units: IntArray) -> Self:
        """Keep some of the units, each of which stands for all that are like it."""
        return replace(self, of_unit=self.of_unit[:, units])

    def of_units(self, units: slice) -> FloatArray:
        """Return what each of some b units adds: (D, b)."""
        kind = self.of_unit.indices[units]
        return np.asarray(self.kinds[:, kind].toarray(), dtype=np.float64)


def _exact(n_units: int) -> type[np.floating[Any]]:
    """Return the smallest type that counts draws of this many units exactly."""
    return np.float32 if n_units <= MAX_FLOAT32 else np.float64


def _differ(first: csc_array, second: csc_array) -> bool:
    first.sort_indices()
    return not all(
        np.array_equal(getattr(first, part), getattr(second, part))
        for part in ("indptr", "indices", "data")
    )


@dataclass(frozen=True, slots=True, repr=False)
class Cut:
    """A batch cut into pieces.

    Attributes
    ----------
    sums : tuple of Sums
        What each unit adds to the A * d sums; those of all parts are added.
    width : int
        d, the sums that the metrics read.
    metrics : tuple of Metric
        What to evaluate.
    n_used : (S,) int array
        How many items of each stratum add anything.
    nothing : str
        The reason when none does.
    """

    sums: tuple[Sums, ...]
    width: int
    metrics: tuple[Metric, ...]
    n_used: IntArray
    nothing: str

    def weighted(self, weights: Weights) -> FloatArray:
        """Add up units by (U, b) weights: (A * d, b)."""
        return _added(part.weighted(weights) for part in self.sums)

    def rows(self, units: IntArray) -> Self:
        """Keep some of the units, each of which stands for all that are like it."""
        return replace(self, sums=tuple(part.rows(units) for part in self.sums))

    def of_units(self, units: slice) -> FloatArray:
        """Return what each of some b units adds: (A * d, b)."""
        return _added(part.of_units(units) for part in self.sums)

    def __repr__(self) -> str:
        return f"Cut({len(self.metrics)} metrics of {self.width} sums)"


def _added(parts: Iterator[FloatArray]) -> FloatArray:
    total = next(parts)
    for part in parts:
        total += part
    return total


@dataclass(frozen=True, slots=True, repr=False)
class Found:
    """One metric in one stratum, before it is described.

    Attributes
    ----------
    value : float
        nan where undefined.
    reason : str
        Why it is.
    replicates : (B,) array
        nan where undefined.
    left_out : (U,) array
        With each unit left out in turn, nan where undefined; empty where nobody asked.
    bounds : (low, high)
        Least and greatest possible value.
    is_share : bool
        Whether it is a share of counted items.
    """

    value: float
    reason: str
    replicates: FloatArray
    left_out: FloatArray
    bounds: tuple[float, float]
    is_share: bool = False

    def minus(self, other: Found) -> Found:
        """Return the difference; the reason is that of the first that has none."""
        return Found(
            self.value - other.value,
            self.reason or other.reason,
            self.replicates - other.replicates,
            self.left_out - other.left_out,
            (self.bounds[0] - other.bounds[1], self.bounds[1] - other.bounds[0]),
        )


def replicate_strata(
    cuts: Mapping[Key, Cut], pieces: Pieces, resamples: Resamples, *, leave_out: bool = False
) -> list[dict[Key, dict[str, Found]]]:
    """Evaluate batches in every stratum, on the data and on one set of resamples.

    Parameters
    ----------
    cuts : mapping of key to Cut
        All made by ``pieces``.
    pieces : Pieces
        The strata.
    resamples : Resamples
        Of the units of ``pieces``.
    leave_out : bool, optional
        Whether to evaluate with each unit left out, too, as some intervals need.

    Returns
    -------
    list of dict
        Per stratum, by key and name of the metric.
    """
    U = resamples.n_units
    B = resamples.n_replicates
    A = pieces.inside.shape[1]
    results: list[dict[Key, dict[str, Found]]] = []
    once = np.ones((U, 1), dtype=_exact(U))
    per_piece = {key: cut.weighted(once).reshape(A, cut.width) for key, cut in cuts.items()}
    live: dict[Key, list[int]] = {}  # the strata in which there is anything to evaluate
    for s in range(len(pieces.inside)):
        results.append({})
        for key, cut in cuts.items():
            n = int(cut.n_used[s])
            totals = per_piece[key][pieces.inside[s]].sum(axis=0)
            sizes = (B, U if leave_out else 0)
            results[s][key] = {
                metric.name: _on_the_data(metric, totals, cut, n, sizes) for metric in cut.metrics
            }
            if n:
                live.setdefault(key, []).append(s)
    begin = 0
    drawn, walk = _alike(cuts, resamples)
    for weights in walk.blocks() if B else ():
        by_unit = np.ascontiguousarray(weights.T, dtype=_exact(U))
        for key, strata in live.items():
            to_fill = [results[s][key] for s in strata]
            _resample(to_fill, drawn[key], pieces.inside[strata], by_unit, begin)
        begin += len(weights)
    for key, strata in live.items() if leave_out else ():
        for s in strata:
            _leave_out(results[s][key], cuts[key], per_piece[key].ravel(), pieces.inside[s])
    return results


def _alike(cuts: Mapping[Key, Cut], resamples: Resamples) -> tuple[Mapping[Key, Cut], Resamples]:
    """Make one row of all units that add the same to every cut, where there are few such rows."""
    places = [part.of_unit.indices[:, None] for cut in cuts.values() for part in cut.sums]
    kinds = Kinds.few(resamples.n_units // ALIKE, *places) if places else None
    if kinds is None:
        return cuts, resamples
    return {key: cut.rows(kinds.first) for key, cut in cuts.items()}, resamples.of_rows(kinds.times)


def _resample(
    results: Sequence[Mapping[str, Found]],
    cut: Cut,
    inside: BoolArray,
    by_unit: Weights,
    begin: int,
) -> None:
    """Evaluate the metrics of some strata, made of the pieces ``inside``, on (U, b) weights."""
    of_stratum = inside.astype(np.float64)
    for part, sums in _in_parts(cut, by_unit, inside.shape[1]):
        now = slice(begin + part.start, begin + part.stop)
        drawn = np.moveaxis(np.tensordot(of_stratum, sums, 1), 1, 2)
        for metric in cut.metrics:
            for of_stratum_results, values in zip(results, metric.value(drawn), strict=True):
                of_stratum_results[metric.name].replicates[now] = values


def _leave_out(
    results: Mapping[str, Found], cut: Cut, totals: FloatArray, inside: BoolArray
) -> None:
    """Evaluate the metrics of one stratum, made of the pieces ``inside``, without each unit."""
    U, A = cut.sums[0].of_unit.shape[1], len(inside)
    step = max(1, CELLS // max(len(totals), 1))
    for first in range(0, U, step):
        now = slice(first, min(first + step, U))
        without = totals[:, None] - cut.of_units(now)
        kept = without.reshape(A, cut.width, -1)[inside].sum(axis=0).T
        for metric in cut.metrics:
            results[metric.name].left_out[now] = metric.value(kept)


def _in_parts(cut: Cut, by_unit: Weights, A: int) -> Iterator[tuple[slice, FloatArray]]:
    """Give the resampled sums of every piece, (A, d, b), as many replicates as fit at a time."""
    step = max(1, CELLS // max(A * cut.width, 1))
    for first in range(0, by_unit.shape[1], step):
        part = slice(first, min(first + step, by_unit.shape[1]))
        yield part, cut.weighted(by_unit[:, part]).reshape(A, cut.width, -1)


def _on_the_data(
    metric: Metric, totals: FloatArray, cut: Cut, n: int, sizes: tuple[int, int]
) -> Found:
    """Evaluate one metric of n items, with room for replicates and for leaving out units."""
    value = float(metric.value(totals)) if n else np.nan
    reason = (metric.reason(totals) if n else cut.nothing) if np.isnan(value) else ""
    replicates, left_out = (np.full(size, np.nan) for size in sizes)
    return Found(value, reason, replicates, left_out, metric.bounds, metric.is_share)


def describe(
    results: Mapping[str, Found],
    cut: Cut,
    sizes: tuple[int, int, int],
    *,
    level: float,
    unit: Unit,
    method: IntervalMethod = "score",
) -> dict[str, Estimate]:
    """Make estimates of what was found in one stratum.

    Parameters
    ----------
    found : mapping of str to Found
        By name.
    cut : Cut
        Says why items do not enter.
    sizes : (n_items, n_used, n_units)
        Items of the stratum, those of them that enter, and units in it.
    level, unit, method
        Of the intervals, as in `Interval`.
    """
    n_items, n_used, n_units = sizes
    n_unusable = n_items - n_used
    estimates = {}
    for name, result in results.items():
        sampled = Sampled(
            value=result.value,
            replicates=result.replicates,
            n_units=min(n_used, n_units),
            n_items=n_used,
            bounds=result.bounds,
            is_share=result.is_share,
            left_out=result.left_out,
        )
        interval, why_none = make_interval(sampled, level=level, unit=unit, method=method)
        undefined = np.isnan(result.replicates)
        estimates[name] = Estimate(
            value=None if np.isnan(result.value) else result.value,
            reason=result.reason if n_items else "empty_stratum",
            interval=interval,
            interval_reason=why_none,
            n_used=n_used,
            n_excluded=n_unusable,
            excluded=(Exclusion(cut.nothing, n_unusable),) if n_unusable else (),
            n_resamples=len(result.replicates),
            undefined_share=float(undefined.mean()) if undefined.size else None,
        )
    return estimates

"""Measures of the same items in overlapping strata, from one walk through the resamples.

Strata cut the items into pieces. What the items of a piece add up to in a resample is summed once,
for all strata and measures, and the sums of a stratum are those of its pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from harness.stats.intervals import Estimate, Exclusion, Interval, percentile_interval
from harness.stats.resampling import MIN_UNITS, Resamples, Units

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scipy.sparse import csc_array

    from harness.stats.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.measures import Batch, Measure
    from harness.stats.resampling import Unit

Key = TypeVar("Key")
CELLS = 1 << 22  # sums held at once: 32 MiB


@dataclass(frozen=True, slots=True, repr=False)
class Pieces:
    """Items cut into A pieces such that each of S strata is made of whole ones.

    Attributes
    ----------
    of_item : (n,) int array
        The piece of each item.
    inside : (S, A) bool array
        Which pieces each stratum is made of.
    members : (n, S) bool array
        Which strata each item is in.
    units : Units
        What is resampled.
    """

    of_item: IntArray
    inside: BoolArray
    members: BoolArray
    units: Units

    @classmethod
    def of(cls, members: BoolArray, units: Units) -> Self:
        """Cut n items by the strata they are in, (n, S)."""
        kinds, of_item = np.unique(members, axis=0, return_inverse=True)
        return cls(of_item.ravel(), np.ascontiguousarray(kinds.T), members, units)

    def __repr__(self) -> str:
        return f"Pieces({len(self.of_item)} items, {len(self.inside)} strata)"

    def cut(self, batch: Batch) -> Cut:
        """Prepare a batch: what each unit adds to the sums of each piece."""
        rows, columns = np.nonzero(batch.contributions)
        values = batch.contributions[rows, columns]
        width = batch.contributions.shape[1]
        used = np.asarray(batch.contributions.any(axis=1), dtype=np.bool_)
        matrix = self._matrix(rows, columns, values, width)
        return Cut(matrix, width, batch.measures, used, batch.nothing)

    def cut_cells(
        self, place: IntArray, width: int, measures: tuple[Measure, ...], *, nothing: str
    ) -> Cut:
        """Prepare items that each add 1 to one of ``width`` sums, (n,), or to none: -1."""
        used = np.asarray(place >= 0, dtype=np.bool_)
        rows = np.flatnonzero(used)
        matrix = self._matrix(rows, place[rows], np.ones(len(rows)), width)
        return Cut(matrix, width, measures, used, nothing)

    def _matrix(
        self, rows: IntArray, columns: IntArray, values: FloatArray, width: int
    ) -> csc_array:
        from scipy.sparse import coo_array  # noqa: PLC0415 -- only where strata are asked for

        place = (self.of_item[rows] * width + columns, self.units.of_item[rows])
        shape = (self.inside.shape[1] * width, self.units.n_units)
        return coo_array((values, place), shape=shape).tocsc()


@dataclass(frozen=True, slots=True, repr=False)
class Cut:
    """A batch cut into pieces.

    Attributes
    ----------
    matrix : (A * d, U) sparse array
        What each unit adds.
    width : int
        d, the sums that the measures read.
    measures : tuple of Measure
        What to evaluate.
    used : (n,) bool array
        Which items add anything.
    nothing : str
        The reason when none does.
    """

    matrix: csc_array
    width: int
    measures: tuple[Measure, ...]
    used: BoolArray
    nothing: str

    def __repr__(self) -> str:
        return f"Cut({len(self.measures)} measures of {self.width} sums)"


@dataclass(frozen=True, slots=True, repr=False)
class Found:
    """One measure in one stratum, before it is described.

    Attributes
    ----------
    value : float
        nan where undefined.
    reason : str
        Why it is.
    replicates : (B,) array
        nan where undefined.
    """

    value: float
    reason: str
    replicates: FloatArray

    def minus(self, other: Found) -> Found:
        """Return the difference; the reason is that of the first that has none."""
        return Found(
            self.value - other.value,
            self.reason or other.reason,
            self.replicates - other.replicates,
        )


def replicate_strata(
    cuts: Mapping[Key, Cut], pieces: Pieces, resamples: Resamples
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

    Returns
    -------
    list of dict
        Per stratum, by key and name of the measure.
    """
    B = resamples.n_resamples if resamples.n_units >= MIN_UNITS else 0
    found: list[dict[Key, dict[str, Found]]] = []
    live: list[tuple[int, Key, Cut]] = []  # what has anything to evaluate
    for s in range(len(pieces.inside)):
        found.append({})
        for key, cut in cuts.items():
            found[s][key] = _on_the_data(cut, pieces, s, B)
            if (cut.used & pieces.members[:, s]).any():
                live.append((s, key, cut))
    if B:
        for part, sums in _walk(cuts, pieces, resamples):
            for s, key, cut in live:
                totals = sums[key][pieces.inside[s]].sum(axis=0).T
                for one in cut.measures:
                    found[s][key][one.name].replicates[part] = one.value(totals)
    return found


def _on_the_data(cut: Cut, pieces: Pieces, s: int, B: int) -> dict[str, Found]:
    """Evaluate one stratum, with room for its replicates."""
    n = int((cut.used & pieces.members[:, s]).sum())
    inside = pieces.inside[s]
    per_piece = cut.matrix.sum(axis=1).reshape(len(inside), cut.width)
    totals = per_piece[inside].sum(axis=0)
    found = {}
    for one in cut.measures:
        value = float(one.value(totals)) if n else np.nan
        undefined = np.isnan(value)
        reason = (one.why(totals) if n else cut.nothing) if undefined else ""
        found[one.name] = Found(value, reason, np.full(B, np.nan))
    return found


def _walk(
    cuts: Mapping[Key, Cut], pieces: Pieces, resamples: Resamples
) -> Iterator[tuple[slice, dict[Key, FloatArray]]]:
    """Give the resampled sums of every piece, (A, d, b) per key, a few replicates at a time."""
    A = pieces.inside.shape[1]
    step = max(1, CELLS // max((A * cut.width for cut in cuts.values()), default=1))
    begin = 0
    for weights in resamples.weights():
        for first in range(0, len(weights), step):
            some = np.ascontiguousarray(weights[first : first + step].T)
            part = slice(begin, begin + some.shape[1])
            begin = part.stop
            yield (
                part,
                {key: (cut.matrix @ some).reshape(A, cut.width, -1) for key, cut in cuts.items()},
            )


def describe(
    found: Mapping[str, Found], cut: Cut, inside: BoolArray, level: float, unit: Unit
) -> dict[str, Estimate]:
    """Make estimates of what was found in one stratum.

    Parameters
    ----------
    found : mapping of str to Found
        By name.
    cut : Cut
        Says which items enter.
    inside : (n,) bool array
        The stratum's items.
    level, unit : float, str
        Of the intervals.
    """
    n_used = int((cut.used & inside).sum())
    n_unusable = int(inside.sum()) - n_used
    spreads = _spreads(found, level, unit)
    return {
        name: Estimate(
            value=None if np.isnan(one.value) else one.value,
            reason=one.reason if inside.any() else "empty_stratum",
            interval=None if np.isnan(one.value) else interval,
            n_used=n_used,
            n_excluded=n_unusable,
            excluded=(Exclusion(cut.nothing, n_unusable),) if n_unusable else (),
            n_resamples=len(one.replicates),
            undefined_share=undefined_share,
        )
        for (name, one), (interval, undefined_share) in zip(found.items(), spreads, strict=True)
    }


def _spreads(
    found: Mapping[str, Found], level: float, unit: Unit
) -> list[tuple[Interval | None, float | None]]:
    """Make all percentile intervals; those without an undefined replicate in one go."""
    each = [one.replicates for one in found.values()]
    whole = [i for i, one in enumerate(each) if one.size and not np.isnan(one).any()]
    spreads = [
        (None, None) if i in whole else percentile_interval(one, level, unit)
        for i, one in enumerate(each)
    ]
    if whole:
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        ends = np.quantile(np.stack([each[i] for i in whole]), tails, axis=1)
        for i, (low, high) in zip(whole, ends.T.tolist(), strict=True):
            spreads[i] = (Interval(low, high, level, "percentile", unit), 0.0)
    return spreads

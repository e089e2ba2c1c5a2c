"""The bootstrap: units to resample, number of resamples, and sums in each resample.

`Resampling` contains the caller's settings. It creates `Units`, which are items or groups of items.
`Resamples` are the draws, on which `harness.stats.inference.engine` evaluates statistics.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 -- readers of a field's type need it
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np

from harness.stats.data.arrays import (
    BLOCK,
    MANY,
    N_SUMS,
    BoolArray,
    FloatArray,
    IntArray,
    Summands,
    blocks,
    frozen,
    how_many,
    joined_steps,
    sums_by_step,
    total,
    weighted_total,
)
from harness.stats.inference.interval_methods import check_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stats.data.kinds import Kinds


ResampledUnit: TypeAlias = Literal["item", "group", "criterion"]
CHUNK_CELLS = 1 << 22  # weights in memory at once: 32 MiB
DRAWN_CELLS = 1 << 14  # weights counted at once, which fit the processor's cache
CACHED_CELLS = 1 << 20  # sums evaluated at once: 8 MiB
ALIKE = 32  # from this many units per distinct row, drawing rows is faster
N_RESAMPLES = 2000
LEVEL = 0.95
MIN_UNITS = 2  # resampling one unit gives the same unit


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Resampling:
    """Settings for resampling items and computing intervals. All estimating functions use it.

    Attributes
    ----------
    rng : numpy Generator
        Source of the resamples' seed: two functions called with one generator draw different
        resamples, and a repeated script draws the same ones.
    groups : sequence of str or None, optional
        The cluster of each item, resampled as a whole; an item with None is a separate cluster.
        Default: items are resampled.
    n_resamples : int
        Number of bootstrap replicates; with 0 there are no intervals.
    level : float in (0, 1)
        Confidence level of the intervals.
    second_stage : bool
        Whether the items within each drawn group are resampled too (C. A. Field, A. H. Welsh,
        Bootstrapping clustered data, Journal of the Royal Statistical Society B 69 (2007), 369-390:
        the two-stage bootstrap). Intervals are wider than needed if groups contain few items.

    Raises
    ------
    ValueError
        If a value is out of range, or there are no groups for a second stage.

    Examples
    --------
    >>> Resampling(rng=np.random.default_rng(0), n_resamples=500)
    Resampling(500 resamples of items, 95 % intervals)
    """

    rng: np.random.Generator
    groups: Sequence[str | None] | None = None
    n_resamples: int = N_RESAMPLES
    level: float = LEVEL
    second_stage: bool = False

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.second_stage and self.groups is None:
            raise ValueError("second_stage draws items within groups, but groups is None")
        if self.n_resamples < 0:
            raise ValueError(f"n_resamples is {self.n_resamples}; wanted 0 or more")

    def __repr__(self) -> str:
        unit = "items" if self.groups is None else "groups"
        unit += " and their items" if self.second_stage else ""
        return (
            f"Resampling({self.n_resamples} resamples of {unit}, {100 * self.level:g} % intervals)"
        )

    def units(self, n_items: int) -> Units:
        """Group n items into units. Raise ValueError if ``groups`` has a different length."""
        units = Units.of(n_items, self.groups)
        return replace(units, second_stage=self.second_stage)


@dataclass(frozen=True, slots=True, repr=False)
class Resamples:
    """B bootstrap draws of U units, which all metrics evaluated on them share.

    Weights are drawn again from the seed at every pass, so that the (B, U) matrix need not be
    stored. If contributions have few distinct rows, units with the same contribution are drawn
    together: the numbers of draws of the rows are one multinomial, whatever the number of units.
    Otherwise, many units are drawn block by block, so that their contributions are computed only
    once.

    Attributes
    ----------
    n_units : int
        U, the number of items or groups.
    n_resamples : int
        B, the number of replicates.
    seed : int
        Determines the draws.
    times : (R,) int array or None
        Number of units that each row of contributions represents; None if there is one row per
        unit. Weights apply to rows.
    drawn : (B, R) array or None
        The weights, if they are stored.
    of_item : (n,) int array or None
        The unit of each item, if items within units are drawn too. Weights then apply to items.
    """

    n_units: int
    n_resamples: int
    seed: int
    times: IntArray | None = None
    drawn: FloatArray | None = None
    of_item: IntArray | None = None

    @classmethod
    def draw(cls, units: Units, n_resamples: int, rng: np.random.Generator) -> Self:
        """Draw a seed from ``rng`` for resamples of these units."""
        of_item = units.of_item if units.second_stage else None
        seed = int(rng.integers(2**63))
        return cls(units.n_units, n_resamples, seed, units.times, of_item=of_item)

    @property
    def n_replicates(self) -> int:
        """Number of replicates, which is 0 if there are fewer than two units."""
        return self.n_resamples if self.n_units >= MIN_UNITS else 0

    def __repr__(self) -> str:
        return f"Resamples({self.n_resamples} of {self.n_units} units, seed {self.seed})"

    def of_rows(self, times: IntArray | None) -> Self:
        """Use the same seed for rows that each represent several units, as (R,) counts."""
        return replace(self, times=times, drawn=None)

    def kept(self) -> Self:
        """Draw the weights once for all passes if they are few enough to store."""
        n_weights = self.n_units if self.of_item is None else len(self.of_item)
        is_few = 0 < n_weights * self.n_replicates <= CHUNK_CELLS
        return replace(self, drawn=np.asfortranarray(next(self.blocks()))) if is_few else self

    def of_kinds(self, kinds: Kinds) -> Self:
        """Draw rows that each represent all units of a kind. Store the weights if they are few."""
        R = len(kinds.first)
        if self.n_units >= R * ALIKE or R * self.n_resamples > CHUNK_CELLS:
            return self if self.n_units == R else self.of_rows(kinds.times)
        from scipy.sparse import csr_array  # noqa: PLC0415 -- heavy

        n = len(kinds.of_item)
        of_kind = csr_array((np.ones(n), (kinds.of_item, np.arange(n))), shape=(R, n))
        drawn = [np.asarray(of_kind @ block.T) for block in self.blocks()]
        if not drawn:
            return self
        return replace(self, times=kinds.times, drawn=np.concatenate(drawn, axis=1).T)

    def weights(self) -> Iterator[FloatArray]:
        """Yield (b, U) blocks of multinomial weights until there are B rows. Each row sums to U."""
        for weights in self.blocks():
            yield weights.copy()

    def blocks(self) -> Iterator[FloatArray]:
        """Yield the blocks of `weights`, but reuse the same memory for all of them."""
        if self.drawn is not None:
            yield self.drawn
            return
        rng = np.random.default_rng(self.seed)
        n_rows = self.n_units if self.times is None else len(self.times)
        n_weights = n_rows if self.of_item is None else len(self.of_item)
        step = max(1, CHUNK_CELLS // max(n_weights, 1))
        weights = np.empty((min(step, self.n_resamples), n_rows))
        for start in range(0, self.n_resamples, step):
            block = weights[: self.n_resamples - start]
            if self.times is None:
                _draw_into(block, rng, np.full(len(block), self.n_units))
            else:
                block[:] = rng.multinomial(self.n_units, self.times / self.n_units, len(block))
            yield block if self.of_item is None else _within_units(block, self.of_item, rng)

    def sums(
        self, parts: Sequence[Summands], units: Units
    ) -> tuple[FloatArray, Iterable[FloatArray]]:
        """Sum (n, d) contributions over all items, and in each resample.

        Return (D,) sums, and (b, D) blocks of resampled sums. The sums of all parts are
        concatenated. Each block reuses the memory of the previous one.
        """
        by_unit = units.sums(parts)
        if (distinct := self._distinct(by_unit)) is not None:
            rows, times = distinct
            return units.totals(parts), self.of_rows(times).products([rows])
        is_plain = self.times is None and self.drawn is None and units.kind == "item"
        if is_plain and parts and self.n_units > MANY:
            totals, resampled = self._block_sums(parts)
            return totals, [resampled]
        return units.totals(parts), self.products(by_unit)

    def _distinct(self, parts: Sequence[Summands]) -> tuple[FloatArray, IntArray] | None:
        if not self.n_replicates or not parts or self.drawn is not None:
            return None
        if self.of_item is not None:
            return None
        return _distinct_rows(parts) if self.times is None else _merged(parts, self.times)

    def products(self, parts: Sequence[Summands]) -> Iterator[FloatArray]:
        """Yield (b, D) arrays of weights times contributions. Zero columns are not multiplied."""
        if not self.n_replicates or not parts:
            return
        by_column, filled = _filled_columns(parts)
        units = np.flatnonzero(by_column.any(axis=0))
        few = len(units) < by_column.shape[1] / 2
        by_column = by_column[:, units] if few else by_column
        step = min(max(1, CACHED_CELLS // max(len(filled), 1)), self.n_replicates)
        sums = np.zeros((len(filled), step))
        for weights in self.blocks():
            by_unit = weights.T[units] if few else weights.T
            for start in range(0, len(weights), step):
                drawn = by_unit[:, start : start + step]
                resampled = sums[:, : drawn.shape[1]]
                if filled.all():
                    np.matmul(by_column, drawn, out=resampled)
                else:
                    resampled[filled] = by_column @ drawn
                yield resampled.T

    def _block_sums(self, parts: Sequence[Summands]) -> tuple[FloatArray, FloatArray]:
        """Compute `sums` in blocks. Draw each block's number of draws first, and then the units."""
        rng, slices = np.random.default_rng(self.seed), list(blocks(self.n_units))
        share = np.array([at.stop - at.start for at in slices]) / self.n_units
        n_drawn = rng.multinomial(self.n_units, share, self.n_replicates)
        rows, by_step = np.empty((BLOCK, _width(parts))), np.zeros((N_SUMS, _width(parts)))
        resampled, step = np.zeros((self.n_replicates, _width(parts))), CHUNK_CELLS // BLOCK
        weights = np.empty((min(step, self.n_replicates), BLOCK))
        for at, n_of_block in zip(slices, n_drawn.T, strict=True):
            size = at.stop - at.start
            added = np.concatenate([part[at] for part in parts], axis=1, out=rows[:size])
            by_step += sums_by_step(added)
            for start in range(0, self.n_replicates, step):
                replicates = slice(start, start + step)
                drawn = weights[: len(n_of_block[replicates]), :size]
                _draw_into(drawn, rng, n_of_block[replicates])
                resampled[replicates] += drawn @ added
        return joined_steps(by_step), resampled


def _draw_into(weights: FloatArray, rng: np.random.Generator, n_drawn: IntArray) -> None:
    """Draw units (b,) times with replacement, and fill a (b, U) array with the counts."""
    step = max(1, DRAWN_CELLS // max(weights.shape[1], 1))
    for start in range(0, len(weights), step):
        part = weights[start : start + step]
        part[:] = _drawn(rng, n_drawn[start : start + step], weights.shape[1])


def _within_units(times: FloatArray, of_item: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw items with replacement within units that were drawn (b, U) times. Returns (b, n).

    Each time a unit was drawn, as many items are drawn as it contains.
    """
    weights, size = np.empty((len(times), len(of_item))), np.bincount(of_item)
    order = np.argsort(of_item, kind="stable")
    first = np.cumsum(size) - size
    for n in np.unique(size[size > 0]).tolist():
        units = np.flatnonzero(size == n)
        n_drawn = (times[:, units] * n).astype(np.int64)
        items = order[first[units][:, None] + np.arange(n)]
        weights[:, items] = rng.multinomial(n_drawn, np.full(n, 1.0 / n))
    return weights


def _width(parts: Sequence[Summands]) -> int:
    return sum(part.shape[1] for part in parts)


def _drawn(rng: np.random.Generator, n_drawn: IntArray, n_units: int) -> IntArray:
    """Draw from U units in each of b replicates.

    Return a (b, U) array of how often each was drawn.
    """
    b = len(n_drawn)
    drawn = rng.integers(n_units, size=int(n_drawn.sum()))
    if b > 1:
        drawn += np.repeat(np.arange(0, b * n_units, n_units), n_drawn)  # one range per replicate
    return np.bincount(drawn, minlength=b * n_units).reshape(b, n_units)


def _distinct_rows(parts: Sequence[Summands]) -> tuple[FloatArray, IntArray] | None:
    """Return the (R, D) distinct rows of all parts with their counts, or None if R is large.

    Rows are distinguished by one number each, and compared afterwards.
    """
    n, rng = len(parts[0]), np.random.default_rng(0)
    factors, most = [rng.random(part.shape[1]) for part in parts], n // ALIKE

    def one_number(n_rows: int) -> FloatArray:
        number = np.empty(n_rows)
        for at in blocks(n_rows):
            number[at] = sum(part[at] @ factor for part, factor in zip(parts, factors, strict=True))
        return number

    if len(np.unique(one_number(min(2 * most, n)))) > most:  # rows needn't be compared
        return None
    number = one_number(n)
    numbers = np.unique(number)
    if len(numbers) > most:
        return None
    place = np.searchsorted(numbers, number)
    one_of = np.empty(len(numbers), dtype=np.int64)
    one_of[place] = np.arange(n)  # any equal row will do
    if not all(_repeats(part, one_of, place) for part in parts):
        return None
    times = np.bincount(place, minlength=len(numbers))
    return _merged([part[one_of] for part in parts], times)


def _merged(parts: Sequence[Summands], times: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows of (R, d) parts after joining the parts by column.

    Also return the number of units that each distinct row represents.
    """
    rows = np.hstack(parts)
    order = np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))  # no columns, no keys
    rows = rows[order]
    first = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    return rows[first], np.add.reduceat(times[order], np.flatnonzero(first))


def _repeats(rows: Summands, one_of: IntArray, place: IntArray) -> bool:
    """Return whether each of the (U, d) rows equals the row of its kind in ``one_of``."""
    few = rows[one_of]
    return all(np.array_equal(few[place[at]], rows[at]) for at in blocks(len(rows)))


def _filled_columns(parts: Sequence[Summands]) -> tuple[FloatArray, BoolArray]:
    """Return (D', U) columns that contain a nonzero number, and a (D,) mask of those columns."""
    columns = [np.asarray(part).T for part in parts]
    filled = [of_part.any(axis=1) for of_part in columns]
    by_column = np.empty((sum(int(rows.sum()) for rows in filled), columns[0].shape[1]))
    start = 0
    for of_part, rows in zip(columns, filled, strict=True):  # joining would store all of them twice
        end = start + int(rows.sum())
        by_column[start:end] = of_part[rows]
        start = end
    return by_column, np.concatenate(filled)


@dataclass(frozen=True, slots=True, repr=False)
class Units:
    """Units to resample: items, or groups of items that stay together.

    Attributes
    ----------
    of_item : (n,) int array
        The unit of each item, 0 to ``n_units - 1``.
    n_units : int
        U, the number of units.
    kind : {"item", "group", "criterion"}
        Kind of unit.
    times : (n,) int array or None
        Number of items, and so of units, that each row represents; None if every row is one item.
    second_stage : bool
        Whether items within a drawn group are drawn too.
    """

    of_item: IntArray
    n_units: int
    kind: ResampledUnit
    times: IntArray | None = None
    second_stage: bool = False

    @classmethod
    def of(cls, n_items: int, groups: Sequence[str | None] | None) -> Self:
        """Make each item or each group a unit. An item without a group is its own unit.

        Raises
        ------
        ValueError
            If the items do not have one group (or None) each.
        """
        if groups is None:
            return cls(np.arange(n_items), n_items, "item")
        if len(groups) != n_items:
            raise ValueError(f"groups has {len(groups)} entries for {n_items} items")
        return cls(*_grouped(tuple(groups)), "group")

    @classmethod
    def alike(cls, times: IntArray) -> Self:
        """Make each item a unit. Row i represents ``times[i]`` items."""
        return cls(np.arange(len(times)), int(times.sum()), "item", times)

    def __repr__(self) -> str:
        return f"Units({len(self.of_item)} items in {self.n_units} {self.kind}s)"

    def only(self, rows: BoolArray) -> Units:
        """Keep the selected items, with their groups."""
        return replace(self, of_item=self.of_item[rows])

    def n_entering(self, used: BoolArray) -> int:
        """Count the units that contain a selected item."""
        if self.kind == "group":
            return int(np.count_nonzero(np.bincount(self.of_item[used])))
        return how_many(used, self.times)

    @property
    def by_item(self) -> bool:
        """Return whether weights are drawn for items rather than for groups."""
        return self.kind == "item" or self.second_stage

    def sums(self, parts: Sequence[Summands]) -> Sequence[Summands]:
        """Sum each of several (n, d) contributions within units. The results are (U, d).

        If items are drawn, nothing is summed.
        """
        if self.by_item:
            return parts
        from scipy.sparse import csc_array  # noqa: PLC0415 -- heavy

        n = len(self.of_item)
        of_unit = csc_array((np.ones(n), self.of_item, np.arange(n + 1)), shape=(self.n_units, n))
        return [np.asarray(of_unit @ np.asarray(part)) for part in parts]

    def totals(self, parts: Sequence[Summands]) -> FloatArray:
        """Sum several (n, d) contributions over all items, and concatenate the sums to (D,)."""
        return np.concatenate([total(part, self.times) for part in parts] or [np.empty(0)])


@dataclass(frozen=True, slots=True, repr=False)
class UnitWeights:
    """(B, n) item weights from resampled units, stored as (B, U) draws.

    Attributes
    ----------
    times : (B, U) array
        Number of times each unit was drawn.
    units : Units
        The units that were drawn.
    weights : (n,) array or None
        Number of times each item counts; None for once.
    """

    times: FloatArray
    units: Units
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, b: int) -> UnitWeights:
        return replace(self, times=self.times[b])

    def __matmul__(self, rows: FloatArray) -> FloatArray:
        """Multiply by (n, d) rows, which are first summed within units. The result is (B, d)."""
        of_items = rows if self.weights is None else rows * self.weights[:, None]
        return np.asarray(self.times @ np.asarray(self.units.sums([of_items])[0]))


Weights: TypeAlias = FloatArray | UnitWeights  # shape (B, n)


def weighted_totals(rows: FloatArray, weights: Weights) -> FloatArray:
    """Multiply (B, n) weights by (n, d) rows. A single row of weights uses `weighted_total`."""
    if isinstance(weights, np.ndarray) and len(weights) == 1:
        return weighted_total(rows, weights[0])[None]
    return np.asarray(weights @ rows)


@lru_cache(maxsize=8)  # for all of a task's items, and for items that some judges share
def _grouped(groups: tuple[str | None, ...]) -> tuple[IntArray, int]:
    """Return an (n,) array with each item's group number, and the number of groups."""
    keys = [i if group is None else group for i, group in enumerate(groups)]
    index = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    of_item = np.fromiter((index[key] for key in keys), np.int64, len(keys))
    return frozen(of_item), len(index)

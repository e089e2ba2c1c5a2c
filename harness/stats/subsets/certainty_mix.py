"""Agreement on subsets with varying shares of items on which all raters agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, row_shares
from harness.stats.data.labels import medians, modes, numbers_of
from harness.stats.metrics.alpha import alpha_name
from harness.stats.subsets.strata import Stratum, against_random, among, pair_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, Counts, IntArray
    from harness.stats.inference.metric import Metric
    from harness.stats.metrics.alpha import Level

SHARES = tuple(k / 10 for k in range(11))
N_ITEMS, N_DRAWS = 100, 100
RATERS, HELD_OUT, RANDOM = "raters", "one rater", "random rater"
MIN_OF_KIND = 10  # items with or without full agreement, drawn with replacement


@dataclass(frozen=True, slots=True, repr=False)
class CertaintyMix:
    """Krippendorff's alpha on subsets with a given share of items on which all raters agree.

    Attributes
    ----------
    shares : (S,) tuple of float
        Shares of such items in a subset.
    n_items, n_draws : int
        Number of items in a subset, and of subsets per share.
    n_certain, n_uncertain : int
        Number of items to draw from: those on which all raters agree, and the rest.
    alpha, error : dict of str to tuple of float or None
        Mean and standard deviation over subsets, the latter being the standard error for this
        number of items. Keys name the side that is compared with the raters' mode (median on
        ordered scales): "one rater" (left out of that mode), "random rater", and each judge.
        "raters" compares raters among themselves. None if fewer than two subsets have an alpha.
    """

    shares: tuple[float, ...]
    n_items: int
    n_draws: int
    n_certain: int
    n_uncertain: int
    alpha: dict[str, tuple[float | None, ...]]
    error: dict[str, tuple[float | None, ...]]

    def __repr__(self) -> str:
        return f"CertaintyMix({self.n_certain} certain items, {self.n_uncertain} others)"


def certainty_mix(
    human: Counts,
    judges: Mapping[str, Counts],
    *,
    level: Level,
    rng: np.random.Generator,
    scale: ArrayLike | None = None,
    shares: Sequence[float] = SHARES,
    n_items: int = N_ITEMS,
    n_draws: int = N_DRAWS,
) -> CertaintyMix:
    """Draw subsets by their share of items on which all raters agree, and compute alpha on each.

    Items with at least two ratings are drawn with replacement, the same ones for all judges.

    Parameters
    ----------
    human : (n, K) array
        Number of times each option was chosen.
    judges : mapping of judge to (n, K) array
        The same counts for each judge. Items that any judge did not answer are left out.
    level, scale
        As in `stratify`.

    Raises
    ------
    ValueError
        If there are fewer than 10 items of either kind.

    References
    ----------
    Elangovan et al. 2025, figures 1 and 5, appendix A.5.
    """
    h = np.asarray(human, dtype=np.float64)
    counts = {name: np.asarray(judge, dtype=np.float64) for name, judge in judges.items()}
    kept = Stratum("all", "majority_share").members(h)
    for judge in counts.values():
        kept &= judge.any(axis=1)
    h = h[kept]
    certain = Stratum("PA = 1", "majority_share", 1.0).members(h)
    n_certain, n_uncertain = int(certain.sum()), int((~certain).sum())
    if min(n_certain, n_uncertain) < MIN_OF_KIND:
        raise ValueError(
            f"all raters agree on {n_certain} items and disagree on {n_uncertain}; subsets need "
            f"{MIN_OF_KIND} of each kind"
        )
    measures = dict(_measures(h, {n: j[kept] for n, j in counts.items()}, level, scale))
    alpha: dict[str, list[float | None]] = {name: [] for name in measures}
    error: dict[str, list[float | None]] = {name: [] for name in measures}
    for share in shares:
        times = _drawn(certain, round(share * n_items), n_items, n_draws, rng)
        for name, (sums, metric) in measures.items():
            values = metric.value(times @ sums)
            defined = values[~np.isnan(values)]
            enough = defined.size > 1
            alpha[name].append(float(defined.mean()) if enough else None)
            error[name].append(float(defined.std(ddof=1)) if enough else None)
    return CertaintyMix(
        shares=tuple(shares),
        n_items=n_items,
        n_draws=n_draws,
        n_certain=n_certain,
        n_uncertain=n_uncertain,
        alpha={name: tuple(values) for name, values in alpha.items()},
        error={name: tuple(values) for name, values in error.items()},
    )


def _drawn(
    certain: BoolArray, n_certain: int, n_items: int, n_draws: int, rng: np.random.Generator
) -> IntArray:
    """Return how often each item is in each subset, as a (B, n) array."""
    times = np.zeros((n_draws, len(certain)), dtype=np.int64)
    for inside, n in ((certain, n_certain), (~certain, n_items - n_certain)):
        places = np.flatnonzero(inside)
        times[:, places] = rng.multinomial(n, np.full(len(places), 1.0 / len(places)), n_draws)
    return times


def _measures(
    h: FloatArray, judges: Mapping[str, FloatArray], level: Level, scale: ArrayLike | None
) -> Iterator[tuple[str, tuple[FloatArray, Metric]]]:
    """Yield each item's (n, d) contributions, and alpha as a function of their sums."""
    name = alpha_name(level)
    for sums in among(h, level, scale):
        for metric in sums.metrics:
            if metric.name == name:
                yield RATERS, (np.nan_to_num(sums.contributions), metric)
    K = h.shape[1]
    others = [np.where(h[:, [k]] > 0, h - np.eye(K)[k], 0.0) for k in range(K)]
    numbers = _numbers([h, *judges.values(), *others], level, scale)
    options = _labels(np.eye(K), level, scale, numbers)
    of_humans = _labels(h, level, scale, numbers)
    alpha = next(m for m in pair_metrics(level, numbers, K) if m.name == name)
    chosen = row_shares(h)
    of_others = (_labels(each, level, scale, numbers) for each in others)
    held_out = sum(
        _cells(modes_of_others, chosen[:, [k]] * options[k])
        for k, modes_of_others in enumerate(of_others)
    )
    yield HELD_OUT, (np.asarray(held_out), alpha)
    [random] = against_random([alpha], options.mean(axis=0))
    yield RANDOM, (of_humans, random)
    for judge, counts in judges.items():
        yield judge, (_cells(of_humans, _labels(counts, level, scale, numbers)), alpha)


def _numbers(tables: Sequence[FloatArray], level: Level, scale: ArrayLike | None) -> FloatArray:
    """Return the possible numbers of labels in ascending order. Medians can be between options."""
    K = tables[0].shape[1]
    if level == "nominal":
        return np.arange(float(K))
    middles = np.concatenate([medians(table, scale) for table in tables])
    return np.unique(np.concatenate([numbers_of(scale, K), middles[~np.isnan(middles)]]))


def _labels(
    counts: FloatArray, level: Level, scale: ArrayLike | None, numbers: FloatArray
) -> FloatArray:
    """Return each item's mode or median as a row over the numbers, or zeros without a label.

    Tied modes share the row evenly.
    """
    if level == "nominal":
        return np.nan_to_num(modes(counts))
    middles = medians(counts, scale)
    return np.asarray(middles[:, None] == numbers, dtype=np.float64)


def _cells(first: FloatArray, second: FloatArray) -> FloatArray:
    cells = np.einsum("na,nb->nab", first, second).reshape(len(first), -1)
    return np.asarray(cells, dtype=np.float64)

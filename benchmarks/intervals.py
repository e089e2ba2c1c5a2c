"""How often each printed interval contains its target, and how wide it is.

    python benchmarks/intervals.py [--replicates 1000] [--only WORD] [--write]

Prints a row per interval and kind of data set; ``--write`` puts the rows into intervals.csv, in the
place of those with the same data sets, and their summary into docs/coverage.md. A `Cell` draws data
sets from seeds made of its name.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, product
from math import isnan, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np
from scipy.stats import beta, binom, multinomial

from harness.stats.inference.estimate import share_interval
from harness.stats.inference.interval_methods import NO_SPREAD, Sampled, score_ends, smoothed
from harness.stats.inference.metric import Metric, find_metric
from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.metrics.ordinal import RANKED_PROBABILITY_SCORE
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.rank_sets import rank_sets, winner_interval
from harness.stats.selection.ranking import regret_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
START = "<!-- benchmarks/intervals.py writes what follows -->"
END = "<!-- benchmarks/intervals.py wrote this -->"
ROWS = Path(__file__).with_suffix(".csv")
LEAST, WIDEST, MOST_NA = 0.93, 1.3, 0.1
N_RESAMPLES, LARGE, BINARY = 1000, 100_000, 2
SIZES, RATERS, ACCURACIES = (10, 30, 100, 300), (2, 3, 5), (0.7, 0.9, 0.97, 0.99)
EQUAL = 1e-9  # ends and targets this close are equal
EXACT = "exact"  # rows that need no simulation

Ends: TypeAlias = "tuple[float, float] | None"
Drawn: TypeAlias = "dict[str, Ends]"


@dataclass(frozen=True)
class Target:
    """What an interval should contain, and how wide it is if the spread is known.

    Attributes
    ----------
    value : float
        In expectation.
    oracle : float
        Width of an interval that knows how items vary, or, if few items differ from the others,
        all but how many do; see `oracle_width`.
    """

    value: float
    oracle: float = float("nan")


@dataclass(frozen=True)
class Cell:
    """Data sets of one kind."""

    name: str
    draw: Callable[[np.random.Generator], Drawn]
    targets: Callable[[], Mapping[str, Target]]


@dataclass(frozen=True)
class Row:
    """How often an interval contained its target.

    Attributes
    ----------
    interval, data_sets : str
        Which one, on which data sets.
    n_held, n_defined, n_data_sets : int
        Data sets in which it did, in which there is one, and all.
    width, oracle : float
        Mean width, and that of an interval which knows the spread; nan if there is none.
    """

    interval: str
    data_sets: str
    n_held: int
    n_defined: int
    n_data_sets: int
    width: float
    oracle: float

    @property
    def design(self) -> str:
        """Its data sets for any number of raters, and however often these are right."""
        _, _, parts = self.data_sets.partition(": ")
        kept = [
            part for part in parts.split(", ") if not re.search(r" raters|right in|share of", part)
        ]
        return ", ".join(kept)

    @property
    def share(self) -> float:
        """Share of the intervals that contain the target; nan without any."""
        return self.n_held / self.n_defined if self.n_defined else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the share if it is at the bound; 0 if it was enumerated."""
        if self.data_sets.startswith(EXACT) or not self.n_defined:
            return 0.0
        return sqrt(LEAST * (1.0 - LEAST) / self.n_defined)

    @property
    def is_rare(self) -> bool:
        """Whether most data sets have no interval."""
        return self.n_defined < self.n_data_sets * (1.0 - MOST_NA)

    @property
    def misses(self) -> bool:
        """Whether it contains its target too rarely, by more than two standard errors."""
        return self.share < LEAST - 2.0 * self.error

    @property
    def ratio(self) -> float:
        """Width as a share of the oracle's."""
        return self.width / self.oracle


# Raters and judges that are right with a chance


@dataclass(frozen=True)
class Design:
    """Items whose true option is drawn evenly, or less often the first of two."""

    m: int
    accuracy: float
    n_options: int
    prevalence: float = 0.5

    @property
    def metric(self) -> Metric:
        """What ranks: by options, or by ordered ones."""
        is_binary = self.n_options == BINARY
        return find_metric("js_divergence(s/s)", METRICS) if is_binary else RANKED_PROBABILITY_SCORE

    def answers(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (LARGE, m) ratings and (LARGE, 2) replies, right or a neighbour of what is right."""
        n_options = self.n_options
        truth = rng.integers(n_options, size=LARGE)
        if n_options == BINARY:
            truth = (rng.random(LARGE) > self.prevalence).astype(int)
        shape = (LARGE, self.m + 2)
        step = np.where(rng.random(shape) < 0.5, 1, -1)
        wrong = truth[:, None] + step
        wrong = np.where((wrong < 0) | (wrong >= n_options), truth[:, None] - step, wrong)
        answers = np.where(rng.random(shape) < self.accuracy, truth[:, None], wrong)
        return answers[:, : self.m], answers[:, self.m :]


@dataclass(frozen=True)
class Pool:
    """What a great many items add: data sets are drawn from them.

    Attributes
    ----------
    losses : (LARGE, 2) array
        Of two judges that are right as often.
    beside : (LARGE,) array
        The first judge's loss less that of a rater in its place.
    others : (LARGE,) array
        The same for disagreement with another rater.
    cells : (LARGE,) int array
        Of the table of the raters' most common answer and the judge's.
    hits : (LARGE,) array
        Whether these agree, ties in equal parts.
    """

    losses: np.ndarray
    beside: np.ndarray
    others: np.ndarray
    cells: np.ndarray
    hits: np.ndarray


@lru_cache(maxsize=4)
def pool_of(design: Design) -> Pool:
    """Draw the pool of a design, always the same."""
    return pool_with(design, *design.answers(np.random.default_rng(1)))


def pool_with(design: Design, ratings: np.ndarray, replies: np.ndarray) -> Pool:
    """Return what items with (N, m) ratings and (N, 2) replies add."""
    n_options, n_items = design.n_options, len(ratings)
    vectors = np.eye(n_options)
    counts = vectors[ratings].sum(axis=1)
    shares = counts / design.m
    losses = [design.metric.contributions(shares, vectors[reply])[:, 0] for reply in replies.T]
    beside, others = np.zeros(n_items), np.zeros(n_items)
    for k, vector in enumerate(vectors):
        rest = np.maximum(counts - vector, 0.0) / (design.m - 1)
        chosen = counts[:, k] > 0
        one = np.broadcast_to(vector, rest.shape)
        lost = (
            design.metric.contributions(rest, vectors[replies[:, 0]])[:, 0]
            - design.metric.contributions(rest, one)[:, 0]
        )
        beside += np.where(chosen, counts[:, k] / design.m * lost, 0.0)
        apart = rest[:, k] - rest[np.arange(n_items), replies[:, 0]]
        others += np.where(chosen, counts[:, k] / design.m * apart, 0.0)
    # A tie is broken at random: half a table's item on either side adds the same on average
    modes = (counts + np.random.default_rng(2).random(counts.shape) / 2.0).argmax(axis=1)
    is_mode = counts == counts.max(axis=1, keepdims=True)
    hits = (is_mode / is_mode.sum(axis=1, keepdims=True))[np.arange(n_items), replies[:, 0]]
    return Pool(np.stack(losses, axis=1), beside, others, modes * n_options + replies[:, 0], hits)


def resampled_means(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return means of (n, d) values in resamples of items: (d, B)."""
    kinds, times = np.unique(values.round(9), axis=0, return_counts=True)
    drawn = rng.multinomial(len(values), times / len(values), N_RESAMPLES) / len(values)
    return (drawn @ kinds).T


def comparison(rng: np.random.Generator, *, design: Design, n: int) -> Drawn:
    """Return the intervals of a comparison of two judges."""
    pool, rows, metric = pool_of(design), rng.integers(LARGE, size=n), design.metric
    losses = pool.losses[rows]
    values, replicates = losses.mean(axis=0), resampled_means(losses, rng)
    further = metric.further_item(
        design.n_options, n_replies=1.0, n_raters=design.m, n_items=n, n_units=n
    )

    def alone(judge: int, level: float) -> Ends:
        sampled = Sampled(
            value=float(values[judge]),
            replicates=replicates[judge],
            n_units=n,
            bounds=metric.bounds,
            further=further,
        )
        return score_ends(sampled, level)

    winner = winner_interval(values, replicates, n_units=n, bounds=metric.bounds, further=further)
    first = pair(winner.low, winner.high)
    if first is None and replicates[winner.winner].std() <= NO_SPREAD:
        first = alone(winner.winner, winner.level)
    n_discordant = np.full((2, 2), int((losses[:, 0] != losses[:, 1]).sum()))
    ranks = rank_sets(values, replicates, n_units=n, n_discordant=n_discordant)
    gap = float(values[0] - values[1])
    difference = None
    if ranks.critical_value is not None:
        difference = pair(gap - ranks.reaches[1, 0], gap + ranks.reaches[0, 1])
    beside = mean_ends(tuple(pool.beside[rows].round(9).tolist()), bounds_beside(design))
    return {
        "value of a judge": alone(0, 0.95),
        "value of the first judge": first,
        "difference between judges": difference,
        "difference from a human rater": beside,
    }


def bounds_beside(design: Design) -> tuple[float, float]:
    """Return the least and greatest difference between a judge and a rater on an item.

    Those of two ratings, as `Scoring.bounds_of_human` takes them.
    """
    n_options = design.n_options
    vectors = np.eye(n_options)
    differences = []
    for one, two, judge in product(range(n_options), repeat=3):
        lost = [
            design.metric.contributions(vectors[[rest]], vectors[[answer]])[0, 0]
            for rest, answer in ((one, judge), (two, judge), (one, two), (two, one))
        ]
        differences.append((lost[0] + lost[1] - lost[2] - lost[3]) / 2.0)
    return min(differences), max(differences)


@lru_cache(maxsize=50_000)
def _mean_ends(kinds: tuple[tuple[float, int], ...], bounds: tuple[float, float]) -> Ends:
    values = np.repeat(*map(list, zip(*kinds, strict=True)))
    return bounded_mean_interval(values, np.arange(len(values)), bounds, 0.95)


def mean_ends(values: tuple[float, ...], bounds: tuple[float, float]) -> Ends:
    """Return the interval of a mean of values between bounds; that of the same values is kept."""
    return _mean_ends(tuple(sorted(Counter(values).items())), bounds)


def agreement(rng: np.random.Generator, *, design: Design, n: int) -> Drawn:
    """Return the intervals of agreement: of labels, and with another rater."""
    pool, rows = pool_of(design), rng.integers(LARGE, size=n)
    n_cells = design.n_options**2
    kappa = find_metric("cohen_kappa(h/h)", METRICS)
    table = np.bincount(pool.cells[rows], minlength=n_cells).astype(float)
    value = float(kappa.value(table))
    beyond = None
    if np.isfinite(value):
        drawn = rng.multinomial(n, table / n, N_RESAMPLES).astype(float)
        sampled = Sampled(
            value=value,
            replicates=kappa.value(drawn),
            n_units=n,
            bounds=kappa.bounds,
            smoothed=smoothed(kappa.value, table, n),
        )
        beyond = score_ends(sampled, 0.95)
    hits = pool.hits[rows]
    of_hits = Sampled(
        value=float(hits.mean()),
        replicates=resampled_means(hits[:, None], rng)[0],
        n_units=n,
        bounds=(0.0, 1.0),
        is_share=True,
    )
    return {
        "share of items": score_ends(of_hits, 0.95),
        "agreement beyond chance": beyond,
        "agreement with another rater": mean_ends(
            tuple(pool.others[rows].round(9).tolist()), (-0.5, 1.0)
        ),
    }


def comparison_targets(design: Design, n: int) -> dict[str, Target]:
    """Return the expectations and oracles of `comparison`."""
    pool = pool_of(design)
    value = Target(float(pool.losses.mean()), oracle_width(pool.losses[:, 0], n))
    gap = pool.losses[:, 0] - pool.losses[:, 1]
    return {
        "value of a judge": Target(float(pool.losses[:, 0].mean()), value.oracle),
        "value of the first judge": value,
        "difference between judges": Target(float(gap.mean()), oracle_width(gap, n)),
        "difference from a human rater": Target(
            float(pool.beside.mean()), oracle_width(pool.beside, n)
        ),
    }


def agreement_targets(design: Design, n: int) -> dict[str, Target]:
    """Return the expectations and oracles of `agreement`."""
    pool, n_cells = pool_of(design), design.n_options**2
    kappa = find_metric("cohen_kappa(h/h)", METRICS)
    shares = np.bincount(pool.cells, minlength=n_cells) / LARGE
    influence = influences(kappa.value, shares)
    return {
        "share of items": Target(float(pool.hits.mean()), oracle_width(pool.hits, n)),
        "agreement beyond chance": Target(
            float(kappa.value(shares)), oracle_width(influence[pool.cells], n)
        ),
        "agreement with another rater": Target(
            float(pool.others.mean()), oracle_width(pool.others, n)
        ),
    }


def pair(low: float | None, high: float | None) -> Ends:
    """Return two ends, None without both."""
    if low is None or high is None or not np.isfinite(high - low):
        return None
    return float(low), float(high)


def influences(value: Callable[[np.ndarray], np.ndarray], cells: np.ndarray) -> np.ndarray:
    """Return by how much an item in each cell moves a coefficient."""
    step = 1e-6
    moved = (1.0 - step) * cells + step * np.eye(len(cells))
    return np.asarray((value(moved) - value(cells)) / step)


def oracle_width(values: np.ndarray, n: int) -> float:
    """Return the width of an interval that knows how (LARGE,) values of items vary.

    That of a normal interval with the true standard error; or, if it is wider, that of the exact
    interval (Clopper and Pearson) of how many items differ from the most common value, times how
    far these are from it on average: if few differ, no interval can be narrower.
    """
    normal = 2.0 * 1.96 * float(values.std()) / sqrt(n)
    points, times = np.unique(values.round(9), return_counts=True)
    apart = np.abs(values - points[times.argmax()])
    p = float((apart > 1e-6).mean())
    k = np.arange(n + 1)
    low = np.where(k > 0, beta.ppf(0.025, k, n - k + 1), 0.0)
    high = np.where(k < n, beta.ppf(0.975, k + 1, n - k), 1.0)
    exact = float(binom.pmf(k, n, p) @ (high - low)) * float(apart[apart > 1e-6].mean())
    return max(normal, exact) if n * p < 5.0 else normal


# Regret, and shares of items


def regret(rng: np.random.Generator, *, n: int, n_judges: int, accuracy: float) -> Drawn:
    """Return the interval of the regret of choosing by one of two correlated losses."""
    losses = regret_losses(rng, n=n, n_judges=n_judges, accuracy=accuracy)
    counts = rng.multinomial(n, np.full(n, 1.0 / n), N_RESAMPLES) / n
    by, goal = ((side.mean(axis=0), counts @ side) for side in losses)
    result = regret_of(
        ("by", "goal"),
        [f"j{j}" for j in range(n_judges)],
        (by[0], by[1].T),
        (goal[0], goal[1].T),
        level=0.95,
        unit="item",
        n_units=n,
    )
    interval = result.interval
    return {"regret": None if interval is None else (interval.low, interval.high)}


def regret_losses(
    rng: np.random.Generator, *, n: int, n_judges: int, accuracy: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw (n, J) losses by a metric and by the goal, which agree in part."""
    chances = 1.0 - accuracy + 0.05 * np.arange(n_judges) / n_judges
    goal = rng.random((n, n_judges)) < chances
    other = rng.random((n, n_judges)) < chances[::-1]
    return np.where(rng.random((n, n_judges)) < 0.5, goal, other).astype(float), goal.astype(float)


@lru_cache
def regret_target(n: int, n_judges: int, accuracy: float) -> dict[str, Target]:
    """Return the expected regret of the procedure on n items."""
    rng, costs = np.random.default_rng(2), []
    for _ in range(4000):
        by, goal = regret_losses(rng, n=n, n_judges=n_judges, accuracy=accuracy)
        means = goal.mean(axis=0)
        costs.append(float(means[by.mean(axis=0).argmin()] - means.min()))
    return {"regret": Target(float(np.mean(costs)))}


def share_rows() -> Iterator[Row]:
    """Enumerate the exact interval of a share."""
    for n, p in product(SIZES, ACCURACIES):
        spans = [share_interval(k / n, n) for k in range(n + 1)]
        low, high = np.array([(span.low, span.high) for span in spans]).T
        mass = binom.pmf(np.arange(n + 1), n, p)
        held = float(mass[(low <= p) & (p <= high)].sum())
        values = np.r_[np.zeros(round(LARGE * (1 - p))), np.ones(round(LARGE * p))]
        yield Row(
            "exact interval",
            f"{EXACT}: {n} items, a share of {p:g}",
            round(1e6 * held),
            10**6,
            10**6,
            float(mass @ (high - low)),
            oracle_width(values, n),
        )


# Few items of few kinds: all data sets


def patterns(m: int, accuracy: float, n_options: int) -> tuple[Pool, np.ndarray]:
    """Return every kind of item, and how frequent each is."""
    answers = np.array(list(product(range(n_options), repeat=m + 2)))
    chances = np.zeros(len(answers))
    for truth in range(n_options):
        neighbours = [k for k in (truth - 1, truth + 1) if 0 <= k < n_options]
        of_answer = np.zeros(n_options)
        of_answer[truth] = accuracy
        # A step beyond an end is reflected, as in `Design.answers`
        of_answer[neighbours] = (1.0 - accuracy) / len(neighbours)
        chances += of_answer[answers].prod(axis=1) / n_options
    return pool_with(Design(m, accuracy, n_options), answers[:, :m], answers[:, m:]), chances


def multisets(n: int, n_kinds: int) -> np.ndarray:
    """Return (C, k): all ways to divide n items among some kinds."""
    bars = np.array(list(combinations(range(n + n_kinds - 1), n_kinds - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), n + n_kinds - 1)])
    return np.diff(edges, axis=1) - 1


def enumerated(
    name: str,
    data_sets: str,
    values: np.ndarray,
    *,
    chances: Mapping[float, np.ndarray],
    n: int,
    ends: Callable[[np.ndarray, np.ndarray], Ends],
    target: Callable[[np.ndarray, np.ndarray], float],
    of_items: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda kinds, _: kinds[:, 0],
) -> Iterator[Row]:
    """Yield a row per accuracy, over all data sets of n items.

    Kinds of items have (P, d) ``values``. The ``ends`` of an interval are those of kinds and how
    many items each has; its ``target``, and by how much an item of each kind moves it, are those
    of kinds and their chances.
    """
    kinds, place = np.unique(values.round(9), axis=0, return_inverse=True)
    place = place.ravel()
    counts = multisets(n, len(kinds))
    spans = [ends(kinds, times) for times in counts]
    defined = np.array([span is not None for span in spans])
    low, high = np.array([span or (0.0, 0.0) for span in spans]).T
    for accuracy, of_patterns in chances.items():
        share = np.bincount(place, of_patterns)
        mass = multinomial.pmf(counts, n, share)
        value = target(kinds, share)
        held = float(mass[defined & (low - EQUAL <= value) & (value <= high + EQUAL)].sum())
        total = float(mass[defined].sum())
        pool = np.repeat(of_items(kinds, share), np.round(share * LARGE).astype(int))
        yield Row(
            name,
            f"{EXACT}: {data_sets}, {n} items, right in {accuracy:.0%}",
            round(1e6 * held),
            round(1e6 * total),
            10**6,
            float(mass[defined] @ (high - low)[defined]) / total,
            oracle_width(pool, n),
        )


def first_mean(kinds: np.ndarray, share: np.ndarray) -> float:
    """Return the mean of the first column."""
    return float(share @ kinds[:, 0])


def exact_rows(only: str) -> Iterator[Row]:
    """Yield the rows of data sets that are few enough to be enumerated."""
    yield from (row for row in share_rows() if only in row.data_sets)
    for n_options, m, n in ((2, 2, 10), (2, 3, 10), (2, 5, 10), (2, 2, 30), (3, 2, 10)):
        kind = "two options" if n_options == BINARY else "three ordered options"
        if only in f"{EXACT}: {kind}, {m} raters, {n} items":
            yield from compared_rows(f"{kind}, {m} raters", n_options, m, n)
    for n in (10, 30):
        if only in f"{EXACT}: changes, {n} items":
            yield from change_rows(n)
    for n in (10, 20):
        if only in f"{EXACT}: confidences, {n} items":
            yield from brier_rows(n)
    if only in f"{EXACT}: kappa":
        yield from kappa_rows()


def compared_rows(data_sets: str, n_options: int, m: int, n: int) -> Iterator[Row]:
    """Enumerate the intervals of a judge beside raters, all of them right as often."""
    pools = {right: patterns(m, right, n_options) for right in ACCURACIES}
    pool, chances = pools[0.9][0], {right: share for right, (_, share) in pools.items()}
    design = Design(m, 0.9, n_options)
    further = design.metric.further_item(n_options, n_replies=1.0, n_raters=m, n_items=n, n_units=n)
    bounds = bounds_beside(design)
    intervals: dict[str, tuple[np.ndarray, Callable[[np.ndarray, np.ndarray], Ends]]] = {
        "value of a judge": (
            pool.losses[:, 0],
            lambda points, times: score_of(points, times, further=further),
        ),
        "share of items": (
            pool.hits,
            lambda points, times: score_of(points, times, is_share=True),
        ),
        "difference from a human rater": (
            pool.beside,
            lambda points, times: mean_ends(tuple(np.repeat(points, times).tolist()), bounds),
        ),
        "agreement with another rater": (
            pool.others,
            lambda points, times: mean_ends(tuple(np.repeat(points, times).tolist()), (-0.5, 1.0)),
        ),
    }
    for name, (values, ends) in intervals.items():
        yield from enumerated(
            name,
            data_sets,
            values[:, None],
            chances=chances,
            n=n,
            ends=lambda kinds, times, ends=ends: ends(kinds[:, 0], times),
            target=first_mean,
        )


def change_rows(n: int) -> Iterator[Row]:
    """Enumerate the interval of a mean of -1, 0 and 1: a change between runs, a place's excess."""
    shares = np.array([1.0 / 3.0, 0.0, 2.0 / 3.0])
    chances = {
        same: (1.0 - same) * shares + same * np.array([0.0, 1.0, 0.0]) for same in ACCURACIES
    }
    yield from enumerated(
        "mean over items",
        "changes",
        np.array([[-1.0], [0.0], [1.0]]),
        chances=chances,
        n=n,
        ends=lambda kinds, times: mean_ends(
            tuple(np.repeat(kinds[:, 0], times).tolist()), (-1.0, 1.0)
        ),
        target=first_mean,
    )


def brier_rows(n: int) -> Iterator[Row]:
    """Enumerate the interval of the Brier score of a judge that states one of two confidences."""
    stated = np.array([0.6, 0.95])
    values = np.concatenate([(1.0 - stated) ** 2, stated**2])
    chances = {
        right: np.concatenate([np.full(2, right / 2.0), np.full(2, (1.0 - right) / 2.0)])
        for right in ACCURACIES
    }
    yield from enumerated(
        "Brier score",
        "confidences",
        values[:, None],
        chances=chances,
        n=n,
        ends=lambda kinds, times: mean_ends(
            tuple(np.repeat(kinds[:, 0], times).tolist()), (0.0, 1.0)
        ),
        target=first_mean,
    )


def score_of(points: np.ndarray, times: np.ndarray, **about: Any) -> Ends:
    """Return the score interval of a mean of points between 0 and 1, each so many times."""
    n = int(times.sum())
    rng = np.random.default_rng(times.tolist())
    sampled = Sampled(
        value=float(times @ points) / n,
        replicates=rng.multinomial(n, times / n, N_RESAMPLES) @ points / n,
        n_units=n,
        bounds=(0.0, 1.0),
        **about,
    )
    return score_ends(sampled, 0.95)


def kappa_rows() -> Iterator[Row]:
    """Enumerate kappa of two labels that are independently right, one of them a majority's."""
    kappa = find_metric("cohen_kappa(h/h)", METRICS)

    def ends(kinds: np.ndarray, times: np.ndarray) -> Ends:
        table, n = times @ kinds, int(times.sum())
        value = float(kappa.value(table))
        if not np.isfinite(value):
            return None
        drawn = np.random.default_rng(times.tolist()).multinomial(n, table / n, N_RESAMPLES)
        sampled = Sampled(
            value=value,
            replicates=kappa.value(drawn.astype(float)),
            n_units=n,
            bounds=kappa.bounds,
            smoothed=smoothed(kappa.value, table, n),
        )
        return score_ends(sampled, 0.95)

    for prevalence, n in product((0.1, 0.5), (10, 20)):
        chances = {}
        for right in ACCURACIES:
            of_three = right**3 + 3.0 * right**2 * (1.0 - right)
            chances[right] = sum(
                share * np.outer([p, 1.0 - p], [q, 1.0 - q]).ravel()
                for share, p, q in (
                    (prevalence, of_three, right),
                    (1.0 - prevalence, 1.0 - of_three, 1.0 - right),
                )
            )
        yield from enumerated(
            "agreement beyond chance",
            f"{prevalence:.0%} positive, 3 raters",
            np.eye(4),
            chances=chances,
            n=n,
            ends=ends,
            target=lambda kinds, share: float(kappa.value(share @ kinds)),
            of_items=lambda kinds, share: kinds @ influences(kappa.value, share @ kinds),
        )


# Cells and rows


def cells() -> Iterator[Cell]:
    """List every kind of data set."""
    for n_options, m, right, n in product((BINARY, 5), RATERS, ACCURACIES, SIZES):
        kind = "two options" if n_options == BINARY else "five ordered options"
        design = Design(m, right, n_options)
        for what, draw, targets in (
            ("compared", comparison, comparison_targets),
            ("agreement", agreement, agreement_targets),
        ):
            name = f"{what}: {kind}, {n} items, {m} raters, right in {right:.0%}"
            yield Cell(name, partial(draw, design=design, n=n), partial(targets, design, n))
    for right, n in product(ACCURACIES, SIZES):
        design = Design(3, right, BINARY, 0.1)
        name = f"agreement: 10% positive, {n} items, 3 raters, right in {right:.0%}"
        yield Cell(
            name, partial(agreement, design=design, n=n), partial(agreement_targets, design, n)
        )
    for n, n_judges, right in product(SIZES, (2, 5), (0.7, 0.9)):
        name = f"regret: {n} items, {n_judges} judges, right in {right:.0%}"
        draw = partial(regret, n=n, n_judges=n_judges, accuracy=right)
        yield Cell(name, draw, partial(regret_target, n, n_judges, right))


def rows_of(cell: Cell, n_data_sets: int) -> list[Row]:
    """Simulate a cell with seeds made of its name."""
    held, widths = defaultdict[str, int](int), defaultdict[str, list[float]](list)
    targets, name = cell.targets(), crc32(cell.name.encode())
    for replicate in range(n_data_sets):
        for interval, ends in cell.draw(np.random.default_rng([name, replicate])).items():
            if ends is not None:
                widths[interval].append(ends[1] - ends[0])
                held[interval] += ends[0] - 1e-9 <= targets[interval].value <= ends[1] + 1e-9
    return [
        Row(
            interval,
            cell.name,
            held[interval],
            len(widths[interval]),
            n_data_sets,
            float(np.mean(widths[interval])) if widths[interval] else float("nan"),
            target.oracle,
        )
        for interval, target in targets.items()
    ]


def read_rows(file: Path = ROWS) -> list[Row]:
    """Read the rows that were simulated."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Row(
                line["interval"],
                line["data_sets"],
                int(line["n_held"]),
                int(line["n_defined"]),
                int(line["n_data_sets"]),
                float(line["width"]),
                float(line["oracle"]),
            )
            for line in csv.DictReader(lines)
        ]


def write_rows(rows: list[Row], file: Path = ROWS) -> None:
    """Put rows into the file, in the place of those of the same interval and data sets."""
    merged = {
        (row.interval, row.data_sets): row for row in (read_rows(file) if file.exists() else ())
    }
    merged |= {(row.interval, row.data_sets): row for row in rows}
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(
            ("interval", "data_sets", "n_held", "n_defined", "n_data_sets", "width", "oracle")
        )
        for row in merged.values():
            counts = (row.n_held, row.n_defined, row.n_data_sets)
            widths = (f"{row.width:.6g}", f"{row.oracle:.6g}")
            writer.writerow((row.interval, row.data_sets, *counts, *widths))


def line_of(row: Row) -> str:
    """Write a row of a table."""
    missing = 1.0 - row.n_defined / row.n_data_sets
    width = (
        f"{row.width:.3f} | {row.ratio:.2f}" if np.isfinite(row.ratio) else f"{row.width:.3f} | "
    )
    return (
        f"| {row.interval} | {row.data_sets} | {row.share:.1%} ({row.error:.1%}) | {missing:.1%} | "
        f"{width} |"
    )


TABLE_HEAD = """\
| interval | data sets | contained | NA | mean width | of the oracle's |
| --- | --- | --- | --- | --- | --- |"""
GROUPS_HEAD = """\
| interval | data sets | rows | NA, up to | of the oracle's, up to |
| --- | --- | --- | --- | --- |"""


def render(rows: list[Row]) -> str:
    """Write the section of the page: a line per interval, then the rows beyond a bound.

    Rows that are often NA have no interval in more than 10 % of data sets, and wide ones are wider
    than 1.3 of the oracle. Those of the same options and number of items are one line.
    """
    by_interval = defaultdict[str, list[Row]](list)
    for row in rows:
        by_interval[row.interval].append(row)
    lines = [
        "| interval | rows | contained, from | too rarely | often NA | wide |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for interval, group in by_interval.items():
        defined = [row for row in group if row.n_defined and not row.is_rare]
        lines.append(
            f"| {interval} | {len(group)} | {min(row.share for row in defined):.1%} | "
            f"{sum(row.misses for row in group)} | {sum(row.is_rare for row in group)} | "
            f"{sum(row.ratio > WIDEST for row in group)} |"
        )
    too_rare = misses(rows)
    rarely = "Rows that contain their target in less than 93% of data sets, by two standard errors"
    lines += ["", f"{rarely}: {len(too_rare)}.", ""]
    lines += [TABLE_HEAD, *map(line_of, too_rare)] if too_rare else []
    for heading, chosen in (
        ("Rows with NA in more than 10% of data sets", [row for row in rows if row.is_rare]),
        ("Rows wider than 1.3 times the oracle", [row for row in rows if row.ratio > WIDEST]),
    ):
        lines += ["", f"{heading}: {len(chosen)}.", "", GROUPS_HEAD, *lines_of_groups(chosen)]
    return "\n".join(lines) + "\n"


def lines_of_groups(rows: list[Row]) -> Iterator[str]:
    """Write a line for the rows of an interval that have the same options and number of items."""
    groups = defaultdict[tuple[str, str], list[Row]](list)
    for row in rows:
        groups[row.interval, row.design].append(row)
    for (interval, design), group in groups.items():
        n_na = max(1.0 - row.n_defined / row.n_data_sets for row in group)
        widest = max(row.ratio for row in group)
        shown = "NA" if isnan(widest) else f"{widest:.2f}"
        yield f"| {interval} | {design} | {len(group)} | {n_na:.1%} | {shown} |"


def misses(rows: list[Row]) -> list[Row]:
    """Return the rows that contain their target too rarely."""
    return [row for row in rows if row.misses]


def write_page(rows: list[Row], page: Path = PAGE) -> None:
    """Put the section between its marks."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n{render(rows)}{END}{after}", "utf-8")


def main() -> None:
    """Print the rows of the command line's cells."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    print(TABLE_HEAD)
    for row in exact_rows(options.only):
        print(line_of(row), flush=True)
        if options.write:
            write_rows([row])
    for cell in cells():
        if options.only not in cell.name:
            continue
        of_cell = rows_of(cell, options.replicates)
        print("\n".join(map(line_of, of_cell)), flush=True)
        if options.write:
            write_rows(of_cell)
    if options.write and START in PAGE.read_text("utf-8"):
        write_page(read_rows())


if __name__ == "__main__":
    main()

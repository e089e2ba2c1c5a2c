"""Points of comparison for judges: baselines computed from the ratings, and a human rater."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, isinf
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio, reduced, row_shares
from harness.stats.inference.bootstrap import weighted_totals
from harness.stats.modes import InvertedEnd  # noqa: TC001 -- types of fields
from harness.stats.selection.replies import MAX_DRAWS, Replies, draw_probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.inference.bootstrap import Weights
    from harness.stats.inference.metric import Metric, SquaredDistance
    from harness.stats.selection.replies import Contributions, Vectors

    Totals = Callable[[Sequence[FloatArray]], list[FloatArray]]


BASELINES = ("uniform", "prior", "most_frequent", "best_constant")
MOST_CONSTANTS = 32  # with at most this many answers, each is tried as a constant
TINY = float(np.finfo(np.float64).tiny)
DRAWS_PER_PRODUCT = 32  # draws of replies that one matrix product adds up


def most_frequent_answers(pooled: FloatArray) -> BoolArray:
    """Return a (B, W) mask of the most common answers. Rows without ratings have none."""
    greatest = pooled.max(axis=1, keepdims=True)
    return np.asarray((pooled >= greatest - TOLERANCE) & (greatest > 0), dtype=np.bool_)


def baseline_values(
    metric: Metric,
    human: FloatArray,
    counts: IntArray | FloatArray,
    n_replies: float,
    *,
    vectors: Vectors,
    evaluated: BoolArray | None = None,
    weights: Weights | None = None,
) -> dict[str, FloatArray]:
    """Return (B,) values of each baseline, which is refitted for each row of weights.

    If several most common answers or best constants tie, the value is the mean over them; nan if
    undefined. The best constant is the answer that would be best on all items: for the ranked
    probability score the median, and for ``mse(srs/srs)`` the set of options that at least half of
    the raters accept, if it is admissible.

    Parameters
    ----------
    metric : Metric
        Metric of the values.
    human : (n, D) array
        Rating vectors of the raters; nan rows if an item has none.
    counts : (n, W) array
        Ratings for fitting the baselines.
    n_replies : int or inf
        Replies per item, drawn independently from the baseline's distribution.
    vectors : callable
        ``(n, W) shares -> (n, D')``: rating vectors in the judge's form.
    evaluated : (n,) bool array, optional
        Items for computing the metric; the baselines are fitted on all.
    weights : (B, n) array, optional
        Number of times each item counts, in fitting and in the metric. Default: once.
    """
    n, W = np.shape(counts)
    weights = np.ones((1, n)) if weights is None else weights
    compared = human if evaluated is None else np.where(evaluated[:, None], human, np.nan)
    pooled = weighted_totals(np.asarray(counts, dtype=np.float64), weights)
    uniform = np.full((len(weights), W), 1.0 / W)
    unrated = pooled.sum(axis=1) == 0
    prior = np.where(unrated[:, None], uniform, row_shares(pooled))
    distributions = {"uniform": uniform, "prior": prior}

    def score(shares: FloatArray) -> FloatArray:
        judge = vectors(shares)
        return metric.contributions(compared, np.broadcast_to(judge, (n, judge.shape[1])))

    if metric.squared is None:
        totals = _totals_by_draw(score, weights, W, n_replies)
    else:
        totals = _totals_in_closed_form(compared, vectors, weights, n_replies, metric.squared)
    values = dict(
        zip(distributions, map(metric.value, totals(list(distributions.values()))), strict=True)
    )
    values["prior"] = np.where(unrated, np.nan, values["prior"])
    values["most_frequent"] = _constant_values(
        score, metric.value, weights, most_frequent_answers(pooled)
    )
    fitted = values_of_constants(
        metric.contributions,
        metric.value,
        human,
        counts,
        vectors=vectors,
        weights=weights,
        squared=metric.squared,
    )
    values["best_constant"] = _constant_values(
        score, metric.value, weights, best_constants(metric.losses(fitted))
    )
    return {name: values[name] for name in BASELINES}


def best_constants(losses: FloatArray) -> BoolArray:
    """Return a (B, W) mask of the answers that are best if always given, by (B, W) losses.

    There are several if tied, and none if no loss is defined. nan losses are ignored.
    """
    losses = np.where(np.isnan(losses), np.inf, losses)
    least = losses.min(axis=1, keepdims=True)
    return np.asarray((losses <= least + TOLERANCE) & np.isfinite(least), dtype=np.bool_)


def values_of_constants(
    contributions: Contributions,
    value: Callable[[FloatArray], FloatArray],
    human: FloatArray,
    counts: IntArray | FloatArray,
    *,
    vectors: Vectors,
    weights: Weights,
    squared: SquaredDistance | None = None,
) -> FloatArray:
    """Return the (B, W) values of the metric if each answer is always given.

    A squared distance has a closed form. Otherwise, with more than 32 answers, those that no rater
    gave are nan.

    Parameters
    ----------
    contributions, value, squared
        Fields of a `Metric`.
    human, counts, vectors
        As in `baseline_values`.
    weights : (B, n) array
        Number of times each item counts.
    """
    n, W = np.shape(counts)
    if squared is not None:
        return value(_totals_of_constants(human, vectors, weights, W, squared))
    values = np.full((len(weights), W), np.nan)
    given = np.asarray(counts).sum(axis=0) > 0
    for k in np.flatnonzero(given | (W <= MOST_CONSTANTS)).tolist():
        judge = vectors(np.eye(W)[k : k + 1])
        rows = contributions(human, np.broadcast_to(judge, (n, judge.shape[1])))
        values[:, k] = value(weighted_totals(rows, weights))
    return values


def _totals_of_constants(
    human: FloatArray,
    vectors: Vectors,
    weights: Weights,
    n_answers: int,
    squared: SquaredDistance,
) -> FloatArray:
    """Return (B, W, 2) totals of a squared distance if each answer is always given."""
    sums, squares, n_items = _squared_sums(human, weights, squared)
    judge = squared.linear(vectors(np.eye(n_answers)))
    distance = squares[:, None] - 2.0 * sums @ judge.T + n_items[:, None] * (judge**2).sum(axis=1)
    n_rated = np.broadcast_to(n_items[:, None], distance.shape)
    return np.stack([squared.per_entry(judge.shape[1]) * distance, n_rated], axis=-1)


def _constant_values(
    score: Vectors,
    value: Callable[[FloatArray], FloatArray],
    weights: Weights,
    most_frequent: BoolArray,
) -> FloatArray:
    """Average the values of tied constant answers, as a (B,) array."""
    B, W = most_frequent.shape
    values = np.zeros((B, W))
    for k in np.flatnonzero(most_frequent.any(axis=0)):
        constant = value(weighted_totals(score(np.eye(W)[k : k + 1]), weights))
        values[:, k] = np.where(most_frequent[:, k], constant, 0.0)
    return ratio(values.sum(axis=1), most_frequent.sum(axis=1).astype(np.float64))


def _totals_by_draw(score: Vectors, weights: Weights, W: int, n_replies: float) -> Totals:
    """Return a function from (B, W) distributions to the expected (B, d) totals for r replies."""

    def at_distribution(shares: FloatArray) -> FloatArray:
        rows = [weights[b] @ score(shares[b : b + 1]) for b in range(len(shares))]
        return np.array(rows)

    if isinf(n_replies):
        return lambda distributions: [at_distribution(shares) for shares in distributions]
    r = int(n_replies)

    def at_draws(drawn: FloatArray, probability: FloatArray) -> FloatArray:
        """Return the sum of the totals of (M, W) draws, weighted by (B, M) probabilities."""
        totals = np.zeros(())
        for start in range(0, len(drawn), DRAWS_PER_PRODUCT):
            batch = slice(start, start + DRAWS_PER_PRODUCT)
            scores = np.stack([score(counts[None] / r) for counts in drawn[batch]], axis=1)
            n, M, d = scores.shape
            sums = weighted_totals(scores.reshape(n, M * d), weights).reshape(len(weights), M, d)
            totals = totals + np.einsum("bm,bmd->bd", probability[:, batch], sums)
        return totals

    draws = _enumerated_draws if comb(W + r - 1, r) <= MAX_DRAWS else _sampled_draws
    return lambda distributions: [at_draws(*draws(shares, r)) for shares in distributions]


def _enumerated_draws(shares: FloatArray, n_replies: int) -> tuple[FloatArray, FloatArray]:
    """Return all draws as (M, W) counts, with their (B, M) probabilities."""
    W = shares.shape[1]
    answers = combinations_with_replacement(range(W), n_replies)
    drawn = np.array([np.bincount(each, minlength=W) for each in answers], dtype=np.float64)
    judge = Replies.of_distribution(shares)
    return drawn, np.column_stack([draw_probability(judge, counts) for counts in drawn])


def _sampled_draws(shares: FloatArray, n_replies: int) -> tuple[FloatArray, FloatArray]:
    """Return sampled draws as (M, W) counts, with their (B, M) weights.

    The B distributions take turns in drawing, and each of them uses all draws. The weight of a draw
    is its probability under that distribution divided by its mean probability under all (Veach and
    Guibas 1995). If they are equal, the standard error of an expected score is at most ``0.5 /
    sqrt(M)``, 1.2 %, of the score's range.
    """
    turns = np.arange(max(MAX_DRAWS, len(shares))) % len(shares)
    drawn = np.random.default_rng(0).multinomial(n_replies, shares[turns]).astype(np.float64)
    log_p = np.log(np.maximum(shares, TINY)) @ drawn.T
    log_weight = log_p - np.logaddexp.reduce(log_p, axis=0)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return drawn, weight / weight.sum(axis=1, keepdims=True)


def _totals_in_closed_form(
    human: FloatArray,
    vectors: Vectors,
    weights: Weights,
    n_replies: float,
    squared: SquaredDistance,
) -> Totals:
    """Compute `_totals_by_draw` in closed form for a squared distance."""
    sums, squares, n_items = _squared_sums(human, weights, squared)

    def totals(shares: FloatArray) -> FloatArray:
        judge = squared.linear(vectors(shares))
        distance = squares - 2.0 * (sums * judge).sum(axis=1) + n_items * (judge**2).sum(axis=1)
        noise = 0.0 if isinf(n_replies) else (judge * (1.0 - judge)).sum(axis=1) / n_replies
        return np.column_stack(
            [squared.per_entry(judge.shape[1]) * (distance + n_items * noise), n_items]
        )

    return lambda distributions: [totals(shares) for shares in distributions]


def _squared_sums(
    human: FloatArray, weights: Weights, squared: SquaredDistance
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the raters' (B, D) sums, (B,) sums of squares and (B,) numbers of items."""
    rated = np.asarray(~np.isnan(human).any(axis=1), dtype=np.bool_)
    raters = squared.linear(np.where(rated[:, None], human, 0.0))
    raters = np.where(rated[:, None], raters, 0.0)
    D = raters.shape[1]
    rows = np.column_stack([raters, (raters**2).sum(axis=1), rated])
    sums, squares, n_items = np.split(weighted_totals(rows, weights), [D, D + 1], axis=1)
    return sums, squares[:, 0], n_items[:, 0]


MIN_RATINGS = 2  # one is left out and one remains


@dataclass(frozen=True, slots=True, repr=False)
class OneHuman:
    """Each item's contribution to a metric's mean for a rater, and for the judge in its place.

    Attributes
    ----------
    human, judge : (n, 2) arrays
        Mean over the item's ratings, and the item's weight; zeros if the item does not enter.
    used : (n,) bool array
        Items with a verdict and at least two ratings.
    n_ratings : int
        Number of ratings left out in turn.
    """

    human: FloatArray
    judge: FloatArray
    used: BoolArray
    n_ratings: int

    def __repr__(self) -> str:
        return f"OneHuman({self.used.sum()} items, {self.n_ratings} ratings left out)"

    @property
    def difference(self) -> FloatArray:
        """Judge minus human, and the item's weight, in two columns."""
        return np.column_stack([self.judge[:, 0] - self.human[:, 0], self.human[:, 1]])


def one_human(
    contributions: Contributions,
    counts: IntArray | FloatArray,
    judge_shares: FloatArray,
    *,
    human_vectors: Vectors,
    judge_vectors: Vectors,
) -> OneHuman:
    """Score a rater and the judge, with one reply each, against the item's other ratings.

    Every rating is left out in turn. The left-out value and one reply of the judge are both
    compared with the shares of the remaining m - 1 ratings. Scoring the human on m - 1 ratings and
    the judge on m would favour the judge. ``counts`` and ``judge_shares`` are (n, W); raters
    need not be identified.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n, W = counts.shape
    m = reduced(np.add, counts)
    used = (m >= MIN_RATINGS) & ~reduced(np.logical_or, np.isnan(judge_shares))
    human_sums, judge_sums = np.zeros(n), np.zeros(n)
    answers = np.flatnonzero(
        (counts > 0).any(axis=0) | (np.nan_to_num(judge_shares) > 0).any(axis=0)
    )
    for k in np.flatnonzero((counts > 0).any(axis=0)):
        left_out = used & (counts[:, k] > 0)
        remaining = human_vectors(ratio(counts[left_out] - np.eye(W)[k], m[left_out, None] - 1.0))
        share = counts[left_out, k] / m[left_out]
        for answer in answers:
            reply = judge_vectors(np.eye(W)[answer : answer + 1])
            rows = np.broadcast_to(reply, (len(remaining), reply.shape[1]))
            score = contributions(remaining, rows)[:, 0]
            judge_sums[left_out] += share * judge_shares[left_out, answer] * score
            if answer == k:
                human_sums[left_out] += share * score
    weight = used.astype(np.float64)
    return OneHuman(
        human=np.column_stack([human_sums, weight]),
        judge=np.column_stack([judge_sums, weight]),
        used=used,
        n_ratings=int(m[used].sum()),
    )


@dataclass(frozen=True, slots=True)
class HumanReference:
    """A judge in a rater's place, scored against the same remaining ratings.

    Attributes
    ----------
    human, judge : float or None
        The metric of a left-out rater, and of one reply of the judge.
    judge_by_all : float or None
        The metric of one reply of the judge, scored on all ratings. Minus ``difference``, it makes
        a rater comparable with judges that are scored on all ratings.
    difference : float or None
        Judge minus human, as losses: positive if the judge is worse.
    low, high : float or None
        Interval for the difference from the deciding test, see `mean_interval`; also over raters
        and groups, if they are a sample. None with fewer than five items or groups.
    n_items, n_ratings : int
        Number of items that entered, and of ratings left out in turn.
    p : float or None
        One-sided p-value of H0: the difference is at least the margin; None without a margin, or if
        undefined.
    n_units : int
        Number of items or groups that entered.
    """

    human: float | None
    judge: float | None
    difference: float | None
    low: InvertedEnd
    high: InvertedEnd
    n_items: int
    n_ratings: int
    judge_by_all: float | None = None
    p: float | None = None
    n_units: int = 0


NO_REFERENCE = HumanReference(None, None, None, None, None, 0, 0)

"""Value of additional ratings, and of paired ratings that estimate beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray, IntArray

HORIZON = 5  # future ratings considered: a single one seldom changes a decision
PRECISIONS = np.geomspace(0.2, 200.0, 61)
BETAS = np.linspace(0.0, 1.0, 41)
NEGLIGIBLE = 1e-4
PAIRS = (0, 5, 10, 20, 30, 50, 75, 100, 150, 200)  # numbers of pairs that are compared
ALIKE_RATINGS = 0.5  # correlation between an item's comparisons in the annotator test
MIN_FOR_LEAVING_OUT = 2  # ratings of an item: the one left out is compared with the rest


def fitted_prior(positive: IntArray, n_ratings: IntArray) -> tuple[float, float]:
    """Fit a beta distribution to the items' shares of positive ratings, by maximum likelihood.

    The inputs are (n,) numbers of positive ratings and of all ratings per item. The result is a and
    b. The distribution's mean is the pooled share after adding half a rating on either side.
    """
    from scipy.special import betaln  # noqa: PLC0415 -- takes a while to load

    mean = (positive.sum() + 0.5) / (n_ratings.sum() + 1.0)
    a, b = PRECISIONS * mean, PRECISIONS * (1.0 - mean)
    likelihood = (
        betaln(positive[:, None] + a, (n_ratings - positive)[:, None] + b) - betaln(a, b)
    ).sum(axis=0)
    best = int(likelihood.argmax())
    return float(a[best]), float(b[best])


def value_of_rating(
    positive: IntArray, n_ratings: IntArray, tau: float, prior: tuple[float, float]
) -> FloatArray:
    """Return an (n,) array: how much one more rating lowers the risk of a wrong decision.

    This is the maximum over the next 1 to 5 ratings. An item is positive if the share of all raters
    reaches ``tau``; shares have a beta distribution, as from `fitted_prior`.
    """
    counts, place = np.unique(np.stack([positive, n_ratings]), axis=1, return_inverse=True)
    a, b = counts[0] + prior[0], counts[1] - counts[0] + prior[1]
    risk = _risk(a, b, tau)
    gains = [(risk - _risk_after(a, b, tau, r)) / r for r in range(1, HORIZON + 1)]
    return np.asarray(np.maximum(np.max(gains, axis=0), 0.0)[place.ravel()], dtype=np.float64)


def _risk(a: FloatArray, b: FloatArray, tau: float) -> FloatArray:
    """Return the probability that the likelier decision is wrong."""
    from scipy.special import betainc  # noqa: PLC0415 -- takes a while to load

    below = betainc(a, b, tau)
    return np.asarray(np.minimum(below, 1.0 - below), dtype=np.float64)


def _risk_after(a: FloatArray, b: FloatArray, tau: float, n: int) -> FloatArray:
    """Return the expected risk after n more ratings, which are beta-binomially distributed."""
    from scipy.special import betaln, gammaln  # noqa: PLC0415 -- takes a while to load

    expected = np.zeros(len(a))
    for k in range(n + 1):
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        chance = np.exp(ways + betaln(a + k, b + n - k) - betaln(a, b))
        expected += chance * _risk(a + k, b + n - k, tau)
    return expected


def beta_posterior(n_hidden: int, n_eligible: int) -> FloatArray:
    """Return the probability of each of `BETAS` after pairs with a negative choice.

    Parameters
    ----------
    n_hidden, n_eligible : int
        Number of pairs whose set has a positive option, and of all pairs. The prior is uniform.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log = n_hidden * np.log(BETAS) + (n_eligible - n_hidden) * np.log1p(-BETAS)
    log = np.where(np.isnan(log), 0.0, log)  # 0 log 0
    weights = np.exp(log - log.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def cutoff_of_choices(tau: float, betas: FloatArray) -> FloatArray:
    """Return the smallest share p of positive choices with p + beta (1 - p) >= tau, per beta."""
    room = np.maximum(1.0 - betas, NEGLIGIBLE)
    return np.asarray(np.maximum((tau - betas) / room, 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Decisions:
    """Decisions on items at a cut-off, if a choice can hide a positive option.

    Attributes
    ----------
    positive, n_ratings : (n,) int arrays
        Number of positive choices, and of all choices, of each item.
    tau : float
        Cut-off for the share of raters whose set is positive.
    prior : (float, float)
        Beta distribution of the shares of positive choices, as from `fitted_prior`.
    beta : (G,) array
        Probability of each of `BETAS`.
    """

    positive: IntArray
    n_ratings: IntArray
    tau: float
    prior: tuple[float, float]
    beta: FloatArray

    def __repr__(self) -> str:
        return f"Decisions({len(self.positive)} items, tau {self.tau:g})"

    @classmethod
    def of(
        cls,
        positive: IntArray,
        n_ratings: IntArray,
        *,
        tau: float,
        beta: FloatArray,
    ) -> Self:
        """Fit the prior and build the decisions."""
        return cls(
            positive=positive,
            n_ratings=n_ratings,
            tau=tau,
            prior=fitted_prior(positive, n_ratings),
            beta=beta,
        )

    def values_of_ratings(self) -> FloatArray:
        """Return how much one more choice of each item lowers the expected wrong decisions."""
        values = np.zeros(len(self.positive))
        cutoffs = cutoff_of_choices(self.tau, BETAS)
        likely = self.beta > NEGLIGIBLE
        for cutoff in np.unique(cutoffs[likely]):
            chance = self.beta[likely & (cutoffs == cutoff)].sum()
            values += chance * value_of_rating(self.positive, self.n_ratings, cutoff, self.prior)
        return values

    def values_of_pairs(self, numbers: Sequence[int]) -> FloatArray:
        """Return how much each number of pairs lowers the expected wrong decisions."""
        below, n_items = self._below()
        now = _n_wrong(self.beta, below, n_items)
        falls = []
        for n_pairs in numbers:
            n = round(n_pairs * self.negative_share)
            hits = _chances_of_hits(n) * self.beta
            chances = hits.sum(axis=1)
            likely = chances > NEGLIGIBLE / (n + 1)
            after = _n_wrong(hits[likely] / chances[likely, None], below, n_items)
            falls.append(float(now - (chances[likely] @ after) / chances[likely].sum()))
        return np.asarray(np.maximum(falls, 0.0), dtype=np.float64)

    @property
    def negative_share(self) -> float:
        """Return the expected share of negative choices."""
        a, b = self.prior
        return float(np.mean((self.n_ratings - self.positive + b) / (self.n_ratings + a + b)))

    def _below(self) -> tuple[FloatArray, FloatArray]:
        """Return (G, U) probabilities of being below the cut-off, and (U,) numbers of items."""
        from scipy.special import betainc  # noqa: PLC0415 -- takes a while to load

        counts, place = np.unique(
            np.stack([self.positive, self.n_ratings]), axis=1, return_inverse=True
        )
        a, b = counts[0] + self.prior[0], counts[1] - counts[0] + self.prior[1]
        below = betainc(a, b, cutoff_of_choices(self.tau, BETAS)[:, None])
        return below, np.bincount(place.ravel()).astype(np.float64)


def _chances_of_hits(n: int) -> FloatArray:
    """Return (n + 1, G) probabilities of each number of hits among n pairs, by beta."""
    from scipy.special import gammaln, xlog1py, xlogy  # noqa: PLC0415 -- takes a while to load

    k = np.arange(n + 1)[:, None]
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, BETAS) + xlog1py(n - k, -BETAS)), dtype=np.float64)


def _n_wrong(beta: FloatArray, below: FloatArray, n_items: FloatArray) -> FloatArray:
    """Return the expected number of wrong decisions for (..., G) probabilities of beta."""
    share = beta @ below
    return np.asarray(np.minimum(share, 1.0 - share) @ n_items, dtype=np.float64)


def value_of_comparison(n_ratings: IntArray) -> FloatArray:
    """Return how much one more rating of each item contributes to the annotator test.

    It is a share of the information that existing ratings contain about the mean difference between
    judge and rater. An item with m raters, two or more, has m comparisons, which are worth m / (1 +
    (m - 1) / 2) independent ones. The result is the maximum of the next rating's contribution and
    the mean over the next two.
    """

    def worth(m: IntArray) -> FloatArray:
        each = m / (1.0 + (m - 1.0) * ALIKE_RATINGS)
        return np.where(m >= MIN_FOR_LEAVING_OUT, each, 0.0)

    now = worth(n_ratings)
    added = np.maximum(worth(n_ratings + 1) - now, (worth(n_ratings + 2) - now) / 2.0)
    return np.asarray(added / max(float(now.sum()), 1.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Number of answers in a budget that go to pairs.

    Attributes
    ----------
    n_pairs : int
        Number of pairs; each is two answers, a choice and a set.
    value : float
        Expected fall in wrong decisions per answer in these pairs.
    """

    n_pairs: int
    value: float


def allocate(decisions: Decisions, values: FloatArray, budget: int, most: int) -> Allocation:
    """Split a budget of answers between pairs on random items and the best forced choices.

    Parameters
    ----------
    values : (n,) array
        Value of a forced choice of each item.
    budget, most : int
        Number of answers to split, and maximum number of pairs.
    """
    gains = np.concatenate([[0.0], np.cumsum(-np.sort(-values))])
    numbers = [n for n in PAIRS if n <= most and 2 * n <= budget]
    of_pairs = decisions.values_of_pairs(numbers)
    of_choices = [gains[min(budget - 2 * n, len(values))] for n in numbers]
    best = int(np.argmax(of_pairs + np.array(of_choices)))
    n = numbers[best]
    return Allocation(n, float(of_pairs[best]) / (2 * n) if n else 0.0)

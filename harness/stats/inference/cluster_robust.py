"""Means and fits for items that are clustered or sampled with unequal probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import stdtrit

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray


MIN_CLUSTERS = 2


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """Mean of clustered values.

    Attributes
    ----------
    mean : float
        Mean of all values; nan without any.
    standard_error : float
        CR2 standard error; nan with fewer than two clusters.
    degrees_of_freedom : float
        Satterthwaite's approximation; nan with fewer than two clusters.
    n_clusters : int
        Number of clusters with at least one value.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float
    n_clusters: int

    def score_statistic(self, null: float) -> float:
        """Return (mean - null) / standard error under H0, or nan if the error is undefined or 0.

        Deviations are taken from the null, which adds (mean - null)^2 / n_clusters to the variance.
        Otherwise, few clusters of skewed values reject too often.
        """
        if not self.standard_error > 0:
            return float("nan")
        apart = self.mean - null
        return float(apart / np.hypot(self.standard_error, apart / np.sqrt(self.n_clusters)))

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the t interval for the mean, or None if it is undefined."""
        if not np.isfinite(self.standard_error):
            return None
        quantile = float(stdtrit(self.degrees_of_freedom, (1.0 + level) / 2.0))
        reach = quantile * self.standard_error
        return self.mean - reach, self.mean + reach


def cluster_mean(values: FloatArray, clusters: IntArray) -> ClusterMean:
    """Return the mean of (n,) values, with a standard error that accounts for clusters.

    Parameters
    ----------
    values : (n,) array
        Finite values.
    clusters : (n,) int array
        The cluster of each value, with any labels.

    Returns
    -------
    ClusterMean
        The mean with the bias-reduced linearisation CR2 for a regression on a constant, under a
        working model of independent values: cluster sums of residuals are divided by the square
        root of 1 - n_g / n.

    References
    ----------
    R. M. Bell, D. F. McCaffrey, Bias reduction in standard errors for linear regression with
    multi-stage samples, Survey Methodology 28 (2002), 169-181. J. E. Pustejovsky, E. Tipton,
    Small-sample methods for cluster-robust variance estimation and hypothesis testing in fixed
    effects models, Journal of Business & Economic Statistics 36 (2018), 672-683.
    """
    n = len(values)
    if not n:
        return ClusterMean(float("nan"), float("nan"), float("nan"), 0)
    labels, place = np.unique(clusters, return_inverse=True)
    mean = float(values.mean())
    if len(labels) < MIN_CLUSTERS:
        return ClusterMean(mean, float("nan"), float("nan"), len(labels))
    sizes = np.bincount(place).astype(np.float64)
    adjusted = 1.0 - sizes / n
    sums = np.bincount(place, weights=values - mean)
    variance = float((sums**2 / adjusted).sum() / n**2)
    weights = sizes**2 / adjusted
    between = (weights.sum() ** 2 - (weights**2).sum()) / n**2  # all pairs of different clusters
    freedom = float(n**2 / ((sizes**2).sum() + between))
    return ClusterMean(mean, float(np.sqrt(variance)), freedom, len(labels))


def design_effect(values: FloatArray, clusters: IntArray) -> float:
    """Return a clustered mean's variance relative to independent items. It is at least 1.

    Parameters
    ----------
    values : (n,) array
        Values of the items.
    clusters : (n,) array of int
        Cluster of each item; with fewer than two clusters, the effect is 1.
    """
    residuals = values - values.mean()
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=residuals)
    squares, n = float(residuals @ residuals), len(sums)
    if squares <= 0.0 or n < MIN_CLUSTERS:
        return 1.0
    return max(float(sums @ sums) * n / (n - 1) / squares, 1.0)


def inverse_probability_weights(probabilities: FloatArray) -> FloatArray | None:
    """Return item weights that correct for unequal sampling probabilities.

    Parameters
    ----------
    probabilities : (n,) array in (0, 1]
        Probability with which each item was included.

    Returns
    -------
    (n,) array or None
        1 / probability, with mean 1, so that ratios of weighted sums are Hajek estimates. None if
        all probabilities are equal, since all items then count the same.

    Raises
    ------
    ValueError
        If a probability is not above 0 and at most 1.

    References
    ----------
    J. Hajek, comment in V. P. Godambe and D. A. Sprott (eds.), Foundations of Statistical
    Inference, 1971.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("an inclusion probability must be above 0 and at most 1")
    if not len(p) or (p == p[0]).all():
        return None
    return np.asarray(len(p) / p / (1.0 / p).sum(), dtype=np.float64)


def effective_number(weights: FloatArray) -> float:
    """Return how many equally weighted items are as informative: (sum w)^2 / sum w^2.

    Notes
    -----
    L. Kish, Survey Sampling, 1965: for values that do not depend on the weights.
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def linearized(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (n,) values whose unweighted mean and error are those of the weighted mean.

    For equal weights these are the values themselves.
    """
    if (weights == weights[0]).all():
        return values
    mean = float(weights @ values / weights.sum())
    return np.asarray(mean + weights / weights.mean() * (values - mean), dtype=np.float64)


def jackknife_steps(scores: FloatArray, cluster_of: IntArray, *, rank: float) -> FloatArray:
    """Return how much a maximum likelihood fit changes without each cluster.

    Parameters
    ----------
    scores : (n, P) array
        Derivatives of each item's log-likelihood by the parameters, at the fit.
    cluster_of : (n,) array of int
        Cluster of each item: 0 to G - 1.
    rank : float
        Directions flatter than this share of the steepest one are treated as flat.

    Returns
    -------
    steps : (G, P) array
        One Newton step per cluster, with the products of the other clusters' scores as information.
        A step is at least as long as with all clusters' information, in case one cluster
        contributes nearly all of it.

    Notes
    -----
    Their sum of squares times (G - 1) / G is the variance of the jackknife: HC3 of J. MacKinnon and
    H. White, Journal of Econometrics 29, 1985, for items; R. Bell and D. McCaffrey, Survey
    Methodology 28, 2002, section 2, for clusters.
    """
    inverse = np.linalg.pinv(scores.T @ scores, rcond=rank)
    sizes = np.bincount(cluster_of)
    order, first = np.argsort(cluster_of, kind="stable"), np.cumsum(sizes) - sizes
    steps = np.empty((len(sizes), scores.shape[1]))
    for size in np.unique(sizes):  # clusters of equal size together
        alike = np.flatnonzero(sizes == size)
        own = scores[order[first[alike][:, None] + np.arange(size)]]  # (g, size, P)
        of_others = np.eye(size) - own @ inverse @ own.transpose(0, 2, 1)
        weights = np.linalg.pinv(of_others, rcond=rank, hermitian=True).sum(axis=1)
        without = (weights[:, None] @ own @ inverse)[:, 0]
        counted = own.sum(axis=1) @ inverse
        steps[alike] = np.where(np.abs(without) > np.abs(counted), without, counted)
    return steps

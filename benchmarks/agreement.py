"""Coefficients of agreement against scikit-learn, scipy, statsmodels and krippendorff.

    python benchmarks/agreement.py

Needs the dependency group ``benchmarks``.
"""

from __future__ import annotations

import krippendorff
import numpy as np
from ratios import Bounds, in_child, on_one_thread, times_faster
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from harness import stats
from harness.stats.metrics.association import correlation_metrics
from harness.stats.metrics.human_agreement import fleiss

N, K, M = 10_000, 5, 5
CONTINUOUS = """
import json, time
import numpy as np
from harness import stats

rng = np.random.default_rng(0)
ratings = rng.normal(size=(100_000, 1)) + rng.normal(size=(100_000, 3))
start = time.process_time()
value = stats.krippendorff_alpha(ratings, "interval").value
print(json.dumps({"cpu_s": time.process_time() - start, "value": value}))
"""


def labels(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Draw (n, m) labels 0 to K - 1 of raters who agree on most units."""
    truth = rng.integers(K, size=(n, 1))
    return np.where(rng.random((n, m)) < 0.6, truth, rng.integers(K, size=(n, m)))


def cells(human: np.ndarray, judge: np.ndarray) -> np.ndarray:
    """Count the (K * K,) pairs of two (n,) vectors of labels."""
    return np.bincount(human * K + judge, minlength=K * K).astype(float)


def against_vectors(bounds: Bounds, rng: np.random.Generator) -> None:
    """Compare coefficients of two vectors."""
    human, judge = labels(N, 2, rng).T.copy()
    cohen = stats.find_metric("cohen_kappa(h/h)", stats.METRICS)
    kendall = correlation_metrics(np.arange(K), np.arange(K))[2]
    ratio = times_faster(
        lambda: cohen_kappa_score(human, judge),
        lambda: float(cohen.value(cells(human, judge))),
        calls=100,
        rounds=9,
    )
    bounds.at_least(f"Cohen's kappa, {N} items, K = {K}: scikit-learn", ratio, 30)
    ratio = times_faster(
        lambda: kendalltau(human, judge).statistic,
        lambda: float(kendall.value(cells(human, judge))),
        calls=100,
        rounds=25,
    )
    bounds.at_least(f"Kendall's tau-b, {N} items, K = {K}: scipy", ratio, 12)


def against_statsmodels(bounds: Bounds, rng: np.random.Generator) -> None:
    """Compare Fleiss' kappa from raw labels."""
    raw = labels(N, M, rng)
    [row] = [row for row in stats.HUMAN_AGREEMENT if row.name == "fleiss_kappa"]
    ratio = times_faster(
        lambda: fleiss_kappa(aggregate_raters(raw)[0]),
        lambda: float(row.value(fleiss(stats.label_counts(raw, K)).sum(axis=0))),
        calls=20,
        rounds=9,
    )
    bounds.at_least(f"Fleiss' kappa from raw labels, {N} x {M}: statsmodels", ratio, 15)


def against_krippendorff(bounds: Bounds, rng: np.random.Generator) -> None:
    """Compare alpha on a finite scale, a tenth of the ratings missing."""
    for n in (100_000, 1_000_000):
        raw = labels(n, M, rng) + 1.0
        raw[rng.random(raw.shape) < 0.1] = np.nan
        for level in ("nominal", "ordinal"):
            ratio = times_faster(
                lambda raw=raw, level=level: krippendorff.alpha(
                    reliability_data=raw.T, level_of_measurement=level
                ),
                lambda raw=raw, level=level: stats.krippendorff_alpha(raw, level).value,
            )
            bounds.at_least(f"alpha, {level}, {n} units x {M}: krippendorff", ratio, 3)


def main() -> None:
    """Print every bound and leave."""
    bounds, rng = Bounds(), np.random.default_rng(0)
    against_vectors(bounds, rng)
    against_statsmodels(bounds, rng)
    against_krippendorff(bounds, rng)
    measured = in_child(CONTINUOUS)
    bounds.at_most("alpha, interval, 100000 continuous units x 3: CPU", measured["cpu_s"], 1, "s")
    bounds.at_most("the same: peak memory of the process", measured["peak_mib"], 500, "MiB")
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()

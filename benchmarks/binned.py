"""Binned divergence from raw labels against a row-wise pandas implementation.

    python benchmarks/binned.py

Needs the dependency group ``benchmarks``.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
from ratios import Bounds, on_one_thread, times_faster

from harness import stats
from harness.stats.metrics.binned_divergence import binned_metrics, binned_sums, bins_of

N, M, K = 10_000, 5, 5
OPTIONS = tuple("abcde")


def row_wise(human: np.ndarray, judge: np.ndarray) -> list[float]:
    """Bin rows by their median, pool each bin's labels, and compare: bits, and distance in nats."""
    frame = pd.DataFrame({"human": human.tolist(), "judge": judge.tolist()})
    frame["bin"] = frame.apply(lambda row: pd.Series(row["human"]).median(), axis=1)
    bits = distance = 0.0
    for _, rows in frame.groupby("bin"):
        p, q = Counter(), Counter()
        for _, row in rows.iterrows():
            p.update(row["human"])
            q.update(row["judge"])
        nats = 0.0
        for label in range(K):
            a, b = p[label] / p.total(), q[label] / q.total()
            middle = (a + b) / 2
            nats += sum(x * np.log(x / middle) / 2 for x in (a, b) if x > 0)
        bits += len(rows) / len(frame) * nats / np.log(2)
        distance += len(rows) / len(frame) * np.sqrt(nats)
    return [bits, distance]


def ours(human: np.ndarray, judge: np.ndarray) -> list[float]:
    """Do the same from sums."""
    h, j = stats.label_counts(human, K), stats.label_counts(judge, K)
    bins, _ = bins_of(h, "median", options=OPTIONS)
    totals = binned_sums(bins, h, j).sum(axis=0)
    return [float(estimate.value(totals)) for estimate in binned_metrics(K)]


def main() -> None:
    """Print the bound and leave."""
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=(N, 1))
    human, judge = (np.clip(truth + rng.integers(-1, 2, size=(N, m)), 0, K - 1) for m in (M, 2 * M))
    bounds = Bounds()
    ratio = times_faster(lambda: row_wise(human, judge), lambda: ours(human, judge), calls=10)
    bounds.at_least(f"binned divergence, {N} items: row-wise pandas", ratio, 200)
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()

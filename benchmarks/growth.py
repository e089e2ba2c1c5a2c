"""Growth of time with the number of items: 10 times the items, at most 12 times the time.

    python benchmarks/growth.py [--keep-memory]

From a thousand to a million items. Sizes are timed from the smallest up, small ones several times.
Items that are rated alike are looked at once where there are enough of them, so that one row has
ratings of which hardly any two items have the same.
Arrays beyond 32 MiB are new memory with every call, whose price is the operating system's: with
`--keep-memory` the C library (glibc) keeps it between calls, and what grows is the work alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from typing import TYPE_CHECKING

import numpy as np
from ratios import Bounds, cpu_s, on_one_thread

from harness import stats
from harness.stats.metrics.binned_divergence import binned_divergence

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10**3, 10**4, 10**5, 10**6)
BOUND = 12.0
KEPT = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"
FEW = 20  # replicates: they add to every size alike
SPACE = stats.OptionSpace.powerset(("toxic", "fine"))
F = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])


def table(name: str, theta: np.ndarray, m: int, rng: np.random.Generator) -> stats.RatingTable:
    """Draw choices and response sets."""
    n = len(theta)
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(map(str, range(n))),
        forced_choice=rng.multinomial(m, theta @ F.T),
        response_set=rng.multinomial(m, theta),
        joint=None,
        outcomes=np.zeros((n, 3, 5), int),
    )


def evaluation(n: int, raters: int = 5, samples: int = 5) -> Callable[[], object]:
    """Every metric of one judge, with intervals."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet((1, 1, 1), n)
    human, judge = table("human", theta, raters, rng), table("judge", theta, samples, rng)
    return lambda: stats.evaluate(
        human,
        [judge],
        tau=0.5,
        positive=("toxic",),
        resampling=stats.Resampling(rng=rng, n_resamples=FEW),
    )


def labels(n: int) -> np.ndarray:
    """Draw (n, 5) labels 0 to 4."""
    rng = np.random.default_rng(0)
    return np.clip(rng.integers(5, size=(n, 1)) + rng.integers(-1, 2, size=(n, 5)), 0, 4)


def ordinal_alpha(n: int) -> Callable[[], object]:
    """Alpha from raw ratings."""
    raw = labels(n)
    return lambda: stats.krippendorff_alpha(raw, "ordinal")


def continuous_alpha(n: int) -> Callable[[], object]:
    """Alpha of numbers that hardly ever repeat."""
    raw = np.abs(labels(n) + np.random.default_rng(1).normal(size=(n, 5)))
    return lambda: stats.krippendorff_alpha(raw, "interval")


def binned(n: int) -> Callable[[], object]:
    """Binned divergence with its interval."""
    human, judge = (stats.label_counts(rated, 5) for rated in (labels(n), labels(n)[::-1]))
    options, rng = tuple("12345"), np.random.default_rng(0)
    return lambda: binned_divergence(
        human,
        judge,
        by="median",
        options=options,
        resampling=stats.Resampling(rng=rng, n_resamples=FEW),
    )


def kappa(n: int) -> Callable[[], object]:
    """Cohen's kappa of two vectors of labels, with its interval."""
    human, judge = np.eye(5)[labels(n)[:, 0]], np.eye(5)[labels(n)[:, 1]]
    row, rng = stats.find_metric("cohen_kappa(h/h)", stats.METRICS), np.random.default_rng(0)
    return lambda: stats.bootstrap(
        row.contributions(human, judge),
        row.value,
        resampling=stats.Resampling(rng=rng, n_resamples=FEW),
    )


def stratified(n: int) -> Callable[[], object]:
    """Agreement in every stratum of an ordinal scale."""
    human, judge = (stats.label_counts(rated, 5) for rated in (labels(n), labels(n)[::-1]))
    strata, rng = stats.default_strata(5, ordinal=True), np.random.default_rng(0)
    return lambda: stats.stratify(
        human,
        {"": judge},
        strata=strata,
        level="ordinal",
        resampling=stats.Resampling(rng=rng, n_resamples=FEW),
    )


def annotator_test(n: int) -> Callable[[], object]:
    """The alternative annotator test with five raters."""
    raw, items = labels(n), tuple(map(str, range(n)))
    ratings = (
        (item, f"r{j}", x)
        for item, row in zip(items, raw.tolist(), strict=True)
        for j, x in enumerate(row)
    )
    panel = stats.Panel.of(ratings, items=items)
    verdicts = panel.coded(dict(zip(items, raw[::-1, 0].tolist(), strict=True)))
    design = stats.AltTestDesign(score="neg_rmse", eps=0.1)
    return lambda: stats.annotator_test(panel, verdicts, design)


WORK = {
    "every metric of one judge": evaluation,
    "every metric, few items alike": lambda n: evaluation(n, raters=9, samples=20),
    "alpha, ordinal": ordinal_alpha,
    "alpha, interval, continuous": continuous_alpha,
    "Cohen's kappa": kappa,
    "binned divergence": binned,
    "agreement by stratum": stratified,
    "alternative annotator test": annotator_test,
}


def seconds(work: Callable[[], object], n: int) -> float:
    """Median CPU time of three rounds after one to warm up, each of several calls if short."""
    calls = max(1, 10**4 // n)
    work()
    return statistics.median(cpu_s(work, calls)[0] for _ in range(3))


def keep_memory() -> None:
    """Start the process again with an allocator that gives nothing back, unless it does not."""
    if os.environ.get("GLIBC_TUNABLES") != KEPT:
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | {"GLIBC_TUNABLES": KEPT}
        )


def main() -> None:
    """Print every bound and leave."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep-memory", action="store_true")
    if parser.parse_args().keep_memory:
        keep_memory()
    bounds = Bounds()
    for what, made in WORK.items():
        spent = [seconds(made(n), n) for n in SIZES]
        for size, before, after in zip(SIZES[1:], spent, spent[1:], strict=False):
            message = f"{what}: to {size} items, {after:.3g} s"
            bounds.at_most(message, after / before, BOUND, "times")
    bounds.leave()


if __name__ == "__main__":
    on_one_thread()
    main()

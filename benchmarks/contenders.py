"""How often a first validation recommends a wrong judge if contenders share its part of alpha.

    python benchmarks/contenders.py [--write]

No simulation: integrals over normal statistics. Some of J judges are at the boundary of the null
hypothesis, the others are further inside it by a gap. Any two statistics have the same correlation.
The judge with the greatest statistic is tested at 0.041 divided by the judges that a simultaneous
comparison of all pairs doesn't show to be worse. Prints the largest probability over gaps,
correlations and numbers of judges at the boundary; ``--write`` puts it into
docs/explanation/error.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import comb
from scipy.stats import norm, studentized_range

from harness.stats.inference.alpha_spending import FIRST, SCREENING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "error.md"
START = "<!-- benchmarks/contenders.py writes what follows -->"
END = "<!-- benchmarks/contenders.py wrote this -->"
ALPHA = 0.05
JUDGES, GAPS, CORRELATIONS = (2, 3, 5, 10, 20), (0.0, 1.0, 2.0, 4.0, 6.0), (0.0, 0.5, 0.8)
SCREENS = (SCREENING * ALPHA, ALPHA)
STEP = 0.01
STATISTICS = np.arange(1.0, 6.0, STEP)  # of the judge that is tested
COMMON = np.linspace(-5.0, 5.0, 101)  # the part that all statistics share


@dataclass(frozen=True)
class Pool:
    """Judges whose test statistics are normal with variance 1.

    Attributes
    ----------
    n_best, n_others : int
        Judges at the boundary, and those below it by the gap.
    gap, correlation : float
        The gap, and the correlation of any two statistics, below 1.
    """

    n_best: int
    n_others: int
    gap: float
    correlation: float

    def size(self, screen: float) -> float:
        """Return the probability that a judge is recommended, with a screen at a level."""
        n = self.n_best + self.n_others
        spread = sqrt(1.0 - self.correlation)
        reach = screened_from(n, screen) * sqrt(2.0) * spread
        thresholds = norm.isf(ALPHA * FIRST / np.arange(1, n + 1))
        passes = np.clip((STATISTICS - thresholds[:, None]) / STEP + 0.5, 0.0, 1.0)
        common = COMMON if self.correlation else np.zeros(1)
        weights = norm.pdf(common) if self.correlation else np.ones(1)
        sizes = [
            self._given(sqrt(self.correlation) * shift, spread, reach, passes) for shift in common
        ]
        return float(np.average(sizes, weights=weights))

    def _given(self, shift: float, spread: float, reach: float, passes: np.ndarray) -> float:
        """Return the probability given the part that all statistics share."""
        means, total = (shift, shift - self.gap), 0.0
        for leader, n_leaders in enumerate((self.n_best, self.n_others)):
            if not n_leaders:
                continue
            rivals = [self.n_best, self.n_others]
            rivals[leader] -= 1
            best, others = (
                contending(n, mean, spread, reach) for n, mean in zip(rivals, means, strict=True)
            )
            chances = np.zeros((sum(rivals) + 1, len(STATISTICS)))
            for k, chance in enumerate(best):
                chances[k : k + len(others)] += chance * others
            density = n_leaders * norm.pdf(STATISTICS, means[leader], spread)
            total += STEP * float((density * (chances * passes).sum(axis=0)).sum())
        return total


def contending(n: int, mean: float, spread: float, reach: float) -> np.ndarray:
    """Return (n + 1, T): the chance that so many of n judges are below the first within reach."""
    below = norm.cdf(STATISTICS, mean, spread)
    far = norm.cdf(STATISTICS - reach, mean, spread)
    k = np.arange(n + 1)[:, None]
    return np.asarray(comb(n, k) * (below - far) ** k * far ** (n - k))


@lru_cache
def screened_from(n: int, screen: float) -> float:
    """Return the difference of two judges, in standard errors, from which one is left out."""
    return float(studentized_range.isf(screen, n, np.inf)) / sqrt(2.0)


def largest(n: int, screen: float) -> tuple[float, Pool]:
    """Return the largest probability over pools of n judges, and its pool."""
    n_best = sorted({1, max(1, n // 2), n})
    pools = [Pool(k, n - k, *rest) for k, *rest in product(n_best, GAPS, CORRELATIONS)]
    return max(((pool.size(screen), pool) for pool in pools), key=lambda pair: pair[0])


def rows() -> Iterator[str]:
    """Yield the table."""
    yield "| judges | screen at 0.005: largest error | its pool | screen at 0.05: largest error |"
    yield "| --- | --- | --- | --- |"
    for n in JUDGES:
        (kept, pool), (loose, _) = (largest(n, screen) for screen in SCREENS)
        what = f"{pool.n_best} at the boundary, gap {pool.gap:g}, correlation {pool.correlation:g}"
        yield f"| {n} | {kept:.4f} | {what} | {loose:.4f} |"


def main() -> None:
    """Print the table, or put it into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write docs/explanation/error.md")
    options = parser.parse_args()
    lines = []
    for line in rows():
        print(line, flush=True)
        lines.append(line)
    if options.write:
        before, rest = PAGE.read_text("utf-8").split(START)
        after = rest.split(END)[1]
        table = "\n".join(lines)
        PAGE.write_text(f"{before}{START}\n{table}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()

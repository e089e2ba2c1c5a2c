"""How often 95 % intervals hold the design value, on simulated data sets.

    python tests/support/interval_coverage.py [data sets]

Prints a section of docs/coverage.md; `benchmarks/decision.py` writes the second.

Seeds 0, 1, 2, ... each give 300 items, 7 raters, and two judges of 10 samples. The design value is
the expectation over items and over this many raters and samples: statistics of item sums come as
close to it as one likes on enough items, so that large data sets stand in for it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.paired_differences import difference_of

SPACE = stats.OptionSpace.powerset(("toxic", "fine"))
F = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
ITEMS, RATERS, SAMPLES, RESAMPLES = 300, 7, 10, 1000
DATA_SETS = 2000
LEAST, MOST = 0.93, 0.97
METRICS = (
    "hit_rate(h/h)",
    "cohen_kappa(h/h)",
    "mse(srs/srs)",
    "js_divergence(s/s)",
    "decision_consistency",
    "prevalence_bias",
)
ALPHA = "krippendorff_alpha_nominal"
DIFFERENCES = ("cohen_kappa(h/h)", "mse(srs/srs)", "decision_consistency")
LARGE = (400_000, 10**6)  # items and seed


@dataclass(frozen=True)
class DataSet:
    """Ratings and verdicts drawn from the rating model."""

    human: stats.RatingTable
    judges: list[stats.RatingTable]
    labels: np.ndarray
    verdicts: np.ndarray
    rng: np.random.Generator


def one_hot(labels: np.ndarray) -> np.ndarray:
    """Count labels 0 and 1: (n, m) to (n, 2)."""
    return np.stack([(labels == 0).sum(axis=1), (labels == 1).sum(axis=1)], axis=1)


def simulate(
    rng: np.random.Generator,
    theta: np.ndarray,
    name: str,
    forced_choice: np.ndarray,
    *,
    n_sets: int,
    n_pairs: int = 0,
) -> stats.RatingTable:
    """Draw response sets and pairs to go with the choices."""
    n = len(theta)
    joint = np.zeros((n, 2, 3), int)
    if n_pairs:
        cells = (F[None] * theta[:, None, :]).reshape(n, -1)
        joint = rng.multinomial(n_pairs, cells).reshape(n, 2, 3)
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(map(str, range(n))),
        forced_choice=forced_choice,
        response_set=rng.multinomial(n_sets, theta),
        joint=joint if n_pairs else None,
        outcomes=np.zeros((n, 3, 5), int),
    )


def draw(seed: int, n: int = ITEMS) -> DataSet:
    """Draw items, then what humans and two judges say of them; one pair per item."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet((1, 1, 1), n)
    near, far = ((1 - share) * theta + share * rng.dirichlet((1, 1, 1), n) for share in (0.2, 0.4))
    labels, *choices = (
        (rng.random((n, m)) < (distribution @ F.T)[:, 1:]).astype(int)
        for distribution, m in ((theta, RATERS), (near, SAMPLES), (far, SAMPLES))
    )
    judges = [
        simulate(rng, distribution, name, one_hot(calls), n_sets=SAMPLES)
        for name, distribution, calls in (("near", near, choices[0]), ("far", far, choices[1]))
    ]
    human = simulate(rng, theta, "human", one_hot(labels), n_sets=RATERS, n_pairs=1)
    return DataSet(human, judges, labels, choices[0][:, 0], rng)


def estimates(data: DataSet, n_resamples: int) -> dict[str, stats.Estimate | stats.Difference]:
    """Evaluate what `evaluate` gives: metrics, alpha, beta and differences of the judges."""
    evaluation = stats.evaluate(
        data.human,
        data.judges,
        tau=0.5,
        positive=("toxic",),
        resampling=stats.Resampling(rng=data.rng, n_resamples=n_resamples),
        metrics=METRICS,
    )
    return (
        {name: evaluation.estimates["near"][name] for name in METRICS}
        | {f"{ALPHA}, humans": evaluation.human_agreement[ALPHA]}
        | {"beta, from pairs": evaluation.human_translation.beta}
        | {f"difference in {name}": difference_of(evaluation, name) for name in DIFFERENCES}
    )


def design_values() -> dict[str, float]:
    """Evaluate a data set so large that chance no longer matters."""
    n, seed = LARGE
    return {name: estimate.value for name, estimate in estimates(draw(seed, n), 0).items()}


def interval_coverage(n_data_sets: int, n_resamples: int = RESAMPLES) -> dict[str, float]:
    """Return the share of data sets whose interval holds the design value, per statistic."""
    targets = design_values()
    hits = dict.fromkeys(targets, 0)
    for seed in range(n_data_sets):
        for name, estimate in estimates(draw(seed), n_resamples).items():
            hits[name] += estimate.interval.low <= targets[name] <= estimate.interval.high
    return {name: count / n_data_sets for name, count in hits.items()}


COLUMNS = 2
TABLE = """\
## Intervals on 300 items

These 95% score intervals come from {resamples:,} resamples of the items in each of {n:,} simulated
data sets (seeds 0 to {last:,}). A data set has {items} items, each with {raters} human ratings,
{samples} samples of each judge, and one pair for beta. The target is the *design value*, the
expectation with exactly these numbers of ratings (see [intervals](explanation/intervals.md)).
Between 93% and 97% of the intervals should contain it. The standard error of a share is 0.5%.

| statistic | share of intervals that contain the design value |
| --- | --- |
{rows}

`tests/support/interval_coverage.py` makes this table. The slow test in
`tests/stats/indeterminacy/test_recovery.py` repeats the simulation and compares the shares.
"""


def page(shares: dict[str, float], n_data_sets: int) -> str:
    """Write the page of the documentation."""
    return TABLE.format(
        n=n_data_sets,
        last=n_data_sets - 1,
        items=ITEMS,
        raters=RATERS,
        samples=SAMPLES,
        resamples=RESAMPLES,
        rows="\n".join(f"| {name} | {100 * share:.2f} % |" for name, share in shares.items()),
    )


def stored_shares(text: str) -> dict[str, float]:
    """Read the table of a page again, the one of two columns."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.endswith("% |")]
    return {row[0].strip(): float(row[1].strip(" %")) / 100 for row in rows if len(row) == COLUMNS}


if __name__ == "__main__":
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else DATA_SETS
    sys.stdout.write(page(interval_coverage(n_sets), n_sets))

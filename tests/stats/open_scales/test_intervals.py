"""Error rates on a continuous scale, by simulation: intervals, order of judges, a human rater."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats import Resampling
from harness.stats.open_scales.numeric_answers import NumericRatings
from harness.stats.open_scales.open_footing import open_footing
from harness.stats.open_scales.open_metrics import numeric_metrics

N_DATA_SETS, N, M = 400, 60, 4
RATER_SD, JUDGE_SD = 8.0, 6.0
RMSE = numeric_metrics(100.0)[0]


def footing_of(rng):
    """Compare two judges of equal error on 60 items by four raters."""
    quality = rng.uniform(20.0, 80.0, N)
    ratings = quality[:, None] + rng.normal(0.0, RATER_SD, (N, M))
    table = NumericRatings.of(np.repeat(np.arange(N), M), ratings.ravel(), N)
    judges = [
        table.judge(name, np.arange(N), quality + rng.normal(0, JUDGE_SD, N), RMSE, (0.0, 100.0))
        for name in ("first", "second")
    ]
    resampling = Resampling(rng=rng, n_resamples=400)
    return open_footing(RMSE, judges, table.baselines(RMSE), table.rated, resampling=resampling)


@pytest.mark.slow
def test_error_rates_are_the_nominal_ones():
    """95 % intervals cover in at least 92 %; equal judges are told apart in at most 7 %."""
    rng = np.random.default_rng(0)
    rmse = np.hypot(JUDGE_SD, RATER_SD / np.sqrt(M))
    human = np.hypot(RATER_SD, RATER_SD / np.sqrt(M - 1))
    judge = np.hypot(JUDGE_SD, RATER_SD / np.sqrt(M - 1))
    n_covered = n_apart = n_reference = 0
    for _ in range(N_DATA_SETS):
        footing = footing_of(rng)
        interval, _ = footing.interval("first")
        n_covered += interval.low <= rmse <= interval.high
        n_apart += footing.ranks.ranks != ((1, 2), (1, 2))
        reference = footing.references[0]
        n_reference += reference.low <= judge - human <= reference.high
    assert n_covered >= 0.92 * N_DATA_SETS
    assert n_reference >= 0.92 * N_DATA_SETS
    assert n_apart <= 0.07 * N_DATA_SETS

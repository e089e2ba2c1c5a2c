"""Average advantage probability: how often a judge is at least as good as one of the raters.

It compares judges (Calderon et al. 2025, section 3.4). The raters' side of an item says, for each
rater, which answers are at least as close to the other raters as the rater's own; see
`harness.stats.alt_test.rater_comparisons`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio
from harness.stats.inference.metric import SHARE, Metric, no_items

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray


def advantage_contributions(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return what each item adds for each rater: the chance that the judge is as good, and 1.

    Parameters
    ----------
    human : (n, m (1 + K)) array
        Vectors of the form "raters": of each of m raters whether a rating counts, then which of the
        K options are at least as good as it.
    judge : (n, K) array
        How likely the judge answers each option.

    Returns
    -------
    (n, 2 m) array
        Zeros where either side has nan.
    """
    n, width = len(human), 1 + judge.shape[1]
    used = ~np.asarray(np.isnan(human).any(axis=1) | np.isnan(judge).any(axis=1), dtype=np.bool_)
    wins = np.where(used[:, None], human, 0.0).reshape(n, human.shape[1] // width, width)
    answers = np.where(used[:, None], judge, 0.0)
    won = np.einsum("nmk,nk->nm", wins[:, :, 1:], answers)
    return np.hstack([won, wins[:, :, 0]])


def mean_advantage(totals: FloatArray) -> FloatArray:
    """Return the mean over raters of the share won: (..., 2 m) to (...); raters alike.

    A rater without an item is left out; nan where no rater has any.
    """
    won, n_items = np.split(totals, 2, axis=-1)
    has_items = n_items > 0
    shares = np.where(has_items, ratio(won, n_items), 0.0)
    return ratio(shares.sum(axis=-1), has_items.sum(axis=-1).astype(np.float64))


ADVANTAGE = Metric(
    name="advantage",
    display_name="advantage probability",
    contributions=advantage_contributions,
    value=mean_advantage,
    reason=no_items,
    bounds=SHARE,
    human_form="raters",
    judge_form="h",
    perfect="other",
    family="agreement among raters",
    paper="Calderon et al. 2025, section 3.4",
)

"""Average advantage probability: how often a judge is at least as good as one of the raters.

It compares judges (Calderon et al. 2025, section 3.4). For each rater of an item, the raters' side
lists the answers that are at least as close to the other raters as the rater's own; see
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
    """Return two columns per rater: P(the judge is as good), and 1 if they are compared.

    Parameters
    ----------
    human : (n, m (1 + K)) array
        Vectors of the form "raters": for each of m raters, whether the rating counts, and then
        whether each of the K options is at least as good.
    judge : (n, K) array
        Probability of each of the judge's answers.

    Returns
    -------
    (n, 2 m) array
        Zeros if either side has nan.
    """
    n, width = len(human), 1 + judge.shape[1]
    used = ~np.asarray(np.isnan(human).any(axis=1) | np.isnan(judge).any(axis=1), dtype=np.bool_)
    wins = np.where(used[:, None], human, 0.0).reshape(n, human.shape[1] // width, width)
    answers = np.where(used[:, None], judge, 0.0)
    won = np.einsum("nmk,nk->nm", wins[:, :, 1:], answers)
    return np.hstack([won, wins[:, :, 0]])


def mean_advantage(totals: FloatArray) -> FloatArray:
    """Average the share of wins over raters with equal weights, from (..., 2 m) sums.

    Raters without items are left out; nan if no rater has any.
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

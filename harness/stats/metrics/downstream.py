"""Downstream metrics: consistency of decisions, and bias of prevalence estimates.

Both compare decisions: whether the chance that the endorsed response set meets the positive options
is at least tau (Guerdan et al. 2025, section 2.2). Rating vectors are (n, 1) arrays of 0.0 and 1.0,
nan where nobody gave a response set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.inference.metric import (
    SHARE,
    Metric,
    average_metric,
    both_rated,
    no_items,
    weighted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.rating_table import Form


def decision_consistency(human: FloatArray, judge: FloatArray) -> FloatArray:
    """1 where judge and humans decide alike: (n, 2)."""
    alike = (human[:, 0] == judge[:, 0]).astype(np.float64)
    return weighted(alike, both_rated(human, judge))


def prevalence_bias(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Judge's decision minus the humans', so that positive means too many positives: (n, 2)."""
    return weighted(judge[:, 0] - human[:, 0], both_rated(human, judge))


_WIN_RATE = "Elangovan et al. 2025, table 3 (Winrate)"
_PAPER = "Guerdan et al. 2025, section 2.2"
_DECISIONS: tuple[Form, Form] = ("decision", "decision")
METRICS: tuple[Metric, ...] = (
    average_metric(
        "decision_consistency",
        decision_consistency,
        _DECISIONS,
        display_name="share of decisions that match the raters'",
        better="higher",
        symmetric=True,
        bounds=(0.0, 1.0),
        family="downstream",
        paper=_PAPER,
    ),
    average_metric(
        "prevalence_bias",
        prevalence_bias,
        _DECISIONS,
        display_name="over- or undercount of positive items",
        better="zero",
        bounds=(-1.0, 1.0),
        family="downstream",
        paper=_PAPER,
    ),
)


def win_sums(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2 K): the human and the judge mode of each item that both rated.

    Parameters
    ----------
    human, judge : (n, K) array
        Modes as `hard` gives them, ties split evenly; K options such as A, B and tie.
    """
    return np.where(both_rated(human, judge) > 0, np.hstack([human, judge]), 0.0)


def win_rate_metrics(options: Sequence[str]) -> tuple[Metric, ...]:
    """Make the win rates of `win_sums`: per option by humans, by the judge, and the difference.

    Notes
    -----
    An option that means a tie has its rate too; ties are no wins of anybody. Two judges with the
    same win rates may agree with the humans on very different items.
    """
    K = len(options)
    measure = partial(Metric, reason=no_items, paper=_WIN_RATE, better="zero")

    def rate(side: int, k: int, totals: FloatArray) -> FloatArray:
        return ratio(totals[..., side * K + k], totals[..., :K].sum(axis=-1))

    def difference(k: int, totals: FloatArray) -> FloatArray:
        return rate(1, k, totals) - rate(0, k, totals)

    return tuple(
        measure(name=f"{name}[{option}]", value=partial(value, k), bounds=bounds)
        for k, option in enumerate(options)
        for name, value, bounds in (
            ("human_win_rate", partial(rate, 0), SHARE),
            ("judge_win_rate", partial(rate, 1), SHARE),
            ("win_rate_difference", difference, (-1.0, 1.0)),
        )
    )

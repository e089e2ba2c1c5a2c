"""How often each contestant of a pairwise comparison wins, by the humans and by the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.inference.metric import Metric, both_rated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PAPER = "Elangovan et al. 2025, table 3 (Winrate)"


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

    def share(k: int, side: int) -> Callable[[FloatArray], FloatArray]:
        return lambda t: ratio(t[..., side * K + k], t[..., :K].sum(axis=-1))

    found = []
    for k, option in enumerate(options):
        human, judge = share(k, 0), share(k, 1)
        found += [
            _measure(f"human_win_rate[{option}]", human),
            _measure(f"judge_win_rate[{option}]", judge),
            _measure(f"win_rate_difference[{option}]", _difference(human, judge)),
        ]
    return tuple(found)


def _difference(
    human: Callable[[FloatArray], FloatArray], judge: Callable[[FloatArray], FloatArray]
) -> Callable[[FloatArray], FloatArray]:
    return lambda totals: judge(totals) - human(totals)


def _measure(name: str, value: Callable[[FloatArray], FloatArray]) -> Metric:
    return Metric(name=name, value=value, reason=lambda _: "no_items", paper=_PAPER, better="zero")

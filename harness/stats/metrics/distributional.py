"""Distances between answer distributions: Kullback-Leibler, cross-entropy, Jensen-Shannon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, row_sums
from harness.stats.data.forms import SMOOTHING
from harness.stats.inference.metric import (
    Metric,
    average_metric,
    both_rated,
    finite_part,
    infinite_metric,
    weighted,
)
from harness.stats.inference.special_functions import rel_entr, xlogy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.rating_table import Form
    from harness.stats.inference.metric import Perfect

_GUERDAN = "Guerdan et al. 2025, section 4 and table 1"


def kl_human_to_judge(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the nats lost if the judge replaces the humans.

    See `finite_part`.
    """
    return finite_part(rel_entr(human, judge), both_rated(human, judge))


def kl_judge_to_human(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the nats lost if the humans replace the judge.

    See `finite_part`.
    """
    return finite_part(rel_entr(judge, human), both_rated(human, judge))


def js_divergence(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: Jensen-Shannon divergence in bits (0 to 1), and the item's weight."""
    return weighted(_js(human, judge) / np.log(2.0), both_rated(human, judge))


def js_distance(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: the square root of the divergence in nats, and the item's weight."""
    return weighted(np.sqrt(_js(human, judge)), both_rated(human, judge))


def ce_human_to_judge(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the nats to encode human choices in the judge's code, as for KL."""
    return finite_part(-xlogy(human, judge), both_rated(human, judge))


def ce_judge_to_human(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the nats to encode the judge's choices in the humans' code."""
    return finite_part(-xlogy(judge, human), both_rated(human, judge))


def _js(p: FloatArray, q: FloatArray) -> FloatArray:
    middle = (p + q) / 2.0
    nats = row_sums(rel_entr(p, middle) + rel_entr(q, middle)) / 2.0
    # rounding can result in -1e-17 for equal rows
    return np.asarray(np.maximum(nats, 0.0), dtype=np.float64)


def _directed_metrics(
    kind: str,
    display_names: tuple[str, str],
    functions: Sequence[Callable[[FloatArray, FloatArray], FloatArray]],
    form: Form,
    perfect: tuple[Perfect, Perfect],
) -> tuple[Metric, ...]:
    directions = ("human->judge", "judge->human")
    smoothed = ", smoothed" if form == "smoothed" else ""
    return tuple(
        infinite_metric(
            kind,
            contributions,
            (form, form),
            direction=direction,
            display_name=f"{display_name}{smoothed}",
            family="distributional",
            paper=_GUERDAN,
            perfect=of_twin,
        )
        for direction, display_name, contributions, of_twin in zip(
            directions, display_names, functions, perfect, strict=True
        )
    )


_KL = (kl_human_to_judge, kl_judge_to_human)
_CE = (ce_human_to_judge, ce_judge_to_human)
_KL_NAMES = (
    "information lost when the judge replaces the raters (KL)",
    "information lost when the raters replace the judge (KL)",
)
_CE_NAMES = (
    "how surprising the raters' answers are to the judge (cross-entropy)",
    "how surprising the judge's answers are to the raters (cross-entropy)",
)
_ROOT_LN_2 = float(np.sqrt(np.log(2.0)))
METRICS: tuple[Metric, ...] = (
    *_directed_metrics("kl", _KL_NAMES, _KL, "s", ("bound", "bound")),
    *_directed_metrics(f"kl_dirichlet_{SMOOTHING}", _KL_NAMES, _KL, "smoothed", ("bound", "bound")),
    *_directed_metrics("ce", _CE_NAMES, _CE, "s", ("best", "other")),
    *_directed_metrics(f"ce_dirichlet_{SMOOTHING}", _CE_NAMES, _CE, "smoothed", ("best", "other")),
    average_metric(
        "js_divergence",
        js_divergence,
        ("s", "s"),
        display_name="difference in answer shares (JS divergence)",
        bounds=(0.0, 1.0),
        symmetric=True,
        unit="bits",
        family="distributional",
        paper=_GUERDAN,
    ),
    average_metric(
        "js_distance",
        js_distance,
        ("s", "s"),
        display_name="difference in answer shares (JS distance)",
        bounds=(0.0, _ROOT_LN_2),
        symmetric=True,
        unit="square root of nats",
        family="distributional",
        paper=_GUERDAN,
    ),
)

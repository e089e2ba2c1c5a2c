"""Agreement of a judge with the human raters, and `METRICS`, the one table of all metrics.

Every public function here makes the contributions of a metric from two arrays of rating vectors,
human first, and stands in the table. To add a metric is to add its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import (
    TOLERANCE,
    FloatArray,
    ratio,
    remembered,
    row_products,
    row_sums,
)
from harness.stats.data.rating_table import SMOOTHING
from harness.stats.inference.metric import (
    Metric,
    average_metric,
    both_rated,
    finite_part,
    infinite_metric,
    weighted,
)
from harness.stats.inference.special_functions import rel_entr, xlogy
from harness.stats.metrics import downstream, multi_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.rating_table import Form
    from harness.stats.inference.metric import Perfect

_GUERDAN = "Guerdan et al. 2025, section 4 and table 1"
_CALDERON = "Calderon et al. 2025, table 2 (Acc)"


def hit_rate(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Chance that both modes are the same option, ties broken at random on each side: (n, 2)."""
    return weighted(row_products(human, judge), both_rated(human, judge))


def hit_rate_ties_lost(human: FloatArray, judge: FloatArray) -> FloatArray:
    """1 where both modes are certainly the same option, tied items counting 0: (n, 2)."""
    certain = row_products(human, judge) >= 1.0 - TOLERANCE
    return weighted(certain.astype(np.float64), both_rated(human, judge))


def hit_rate_ties_won(human: FloatArray, judge: FloatArray) -> FloatArray:
    """1 where both modes may be the same option: (n, 2)."""
    possible = row_products(human, judge) > 0.0
    return weighted(possible.astype(np.float64), both_rated(human, judge))


def confusion(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Cells of the confusion matrix, human by judge, fractional for ties: (n, K * K)."""
    rated = both_rated(human, judge) > 0
    cells = np.einsum("nh,nj->nhj", human, judge).reshape(len(human), human.shape[1] ** 2)
    return cells if rated.all() else np.where(rated, cells, 0.0)


def kl_human_to_judge(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Information lost when the judge stands for the humans: (n, 3) nats, weight, empty cells."""
    return finite_part(rel_entr(human, judge), both_rated(human, judge))


def kl_judge_to_human(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Information lost when the humans stand for the judge: (n, 3) nats, weight, empty cells."""
    return finite_part(rel_entr(judge, human), both_rated(human, judge))


def js_divergence(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Jensen-Shannon divergence in bits, 0 to 1: (n, 2)."""
    return weighted(_js(human, judge) / np.log(2.0), both_rated(human, judge))


def js_distance(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Square root of the Jensen-Shannon divergence in nats, item by item: (n, 2)."""
    return weighted(np.sqrt(_js(human, judge)), both_rated(human, judge))


def ce_human_to_judge(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Nats needed to write down human choices in the judge's code: (n, 3), as for KL."""
    return finite_part(-xlogy(human, judge), both_rated(human, judge))


def ce_judge_to_human(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Nats needed to write down the judge's choices in the humans' code: (n, 3), as for KL."""
    return finite_part(-xlogy(judge, human), both_rated(human, judge))


def _js(p: FloatArray, q: FloatArray) -> FloatArray:
    middle = (p + q) / 2.0
    nats = row_sums(rel_entr(p, middle) + rel_entr(q, middle)) / 2.0
    # rounding may leave -1e-17 for equal rows
    return np.asarray(np.maximum(nats, 0.0), dtype=np.float64)


def _square(totals: FloatArray) -> FloatArray:
    K = round(totals.shape[-1] ** 0.5)
    return totals.reshape(*totals.shape[:-1], K, K)


@remembered
def _margins(totals: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return items and hits, (...), and how often each option was human's and judge's, (..., K)."""
    cells = _square(totals)
    human, judge = cells.sum(axis=-1), cells.sum(axis=-2)
    return human.sum(axis=-1), totals[..., :: cells.shape[-1] + 1].sum(axis=-1), human, judge


def _beyond_chance(n: FloatArray, hits: FloatArray, chance: FloatArray) -> FloatArray:
    """Return kappa where ``chance`` is n squared times the agreement that chance would give."""
    constant = chance >= (1.0 - TOLERANCE) * n * n
    return np.where(constant, np.nan, ratio(n * hits - chance, n * n - chance))


def _cohen_value(totals: FloatArray) -> FloatArray:
    n, hits, human, judge = _margins(totals)
    return _beyond_chance(n, hits, np.vecdot(human, judge))


def _scott_value(totals: FloatArray) -> FloatArray:
    n, hits, human, judge = _margins(totals)
    pooled = (human + judge) / 2.0
    return _beyond_chance(n, hits, np.vecdot(pooled, pooled))


def _alpha_value(totals: FloatArray) -> FloatArray:
    n = 2.0 * totals.sum(axis=-1)  # two ratings per item
    scott = _scott_value(totals)
    return np.asarray(scott + ratio(1.0 - scott, n), dtype=np.float64)


def _randolph_value(totals: FloatArray) -> FloatArray:
    n, hits, human, _ = _margins(totals)
    by_chance = 1.0 / human.shape[-1]
    observed = ratio(hits, n)
    return ratio(observed - by_chance, np.full_like(observed, 1.0 - by_chance))


def _why_no_randolph(totals: FloatArray) -> str:
    return "single_option" if totals.sum() > 0 else "no_items"


def _why_no_kappa(totals: FloatArray) -> str:
    return "constant_labels" if totals.sum() > 0 else "no_items"


def _confusion_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:
    pairs = ((human, judge) for human in options for judge in options)
    return {f"{h} | {j}": float(n) for (h, j), n in zip(pairs, totals, strict=True)}


def _hit_row(
    name: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    paper: str,
    also: tuple[str, ...] = (),
) -> Metric:
    return average_metric(
        f"{name}(h/h)",
        contributions,
        ("h", "h"),
        better="higher",
        bounds=(0.0, 1.0),
        symmetric=True,
        family="categorical",
        paper=paper,
        also=also,
    )


def _directed_rows(
    name: str,
    both: Sequence[Callable[[FloatArray, FloatArray], FloatArray]],
    form: Form,
    perfect: tuple[Perfect, Perfect],
) -> tuple[Metric, ...]:
    directions = ("human->judge", "judge->human")
    return tuple(
        infinite_metric(
            f"{name}(s/s, {direction})",
            contributions,
            (form, form),
            family="distributional",
            paper=_GUERDAN,
            perfect=twin,
        )
        for direction, contributions, twin in zip(directions, both, perfect, strict=True)
    )


def _chance_row(
    name: str,
    value: Callable[[FloatArray], FloatArray],
    why: Callable[[FloatArray], str],
    paper: str,
    also: tuple[str, ...] = (),
) -> Metric:
    return Metric(
        name=f"{name}(h/h)",
        contributions=confusion,
        value=value,
        reason=why,
        counts=_confusion_counts,
        human_form="h",
        judge_form="h",
        better="higher",
        symmetric=True,
        bounds=(-1.0, 1.0),
        paper=paper,
        family="categorical",
        also=also,
    )


_CHANCE = (
    _chance_row("cohen_kappa", _cohen_value, _why_no_kappa, _GUERDAN),
    _chance_row(
        "scott_pi",
        _scott_value,
        _why_no_kappa,
        "Scott 1955; Fleiss 1971 for two raters",
        ("fleiss_kappa of the two modes",),
    ),
    _chance_row(
        "krippendorff_alpha_nominal", _alpha_value, _why_no_kappa, "Krippendorff 2011, two raters"
    ),
    _chance_row(
        "randolph_kappa", _randolph_value, _why_no_randolph, "Randolph 2005, declared options"
    ),
)
_SINGLE_LABEL = ("exact match of the modes", "coverage, multi-label precision and recall (h/h)")
_KL = (kl_human_to_judge, kl_judge_to_human)
_CE = (ce_human_to_judge, ce_judge_to_human)
_ROOT_LN_2 = float(np.sqrt(np.log(2.0)))
METRICS: tuple[Metric, ...] = (
    _hit_row("hit_rate", hit_rate, _GUERDAN, _SINGLE_LABEL),
    _hit_row("hit_rate_ties_lost", hit_rate_ties_lost, _CALDERON),
    _hit_row("hit_rate_ties_won", hit_rate_ties_won, _CALDERON),
    *_CHANCE,
    *_directed_rows("kl", _KL, "s", ("bound", "bound")),
    *_directed_rows(f"kl_dirichlet_{SMOOTHING}", _KL, "smoothed", ("bound", "bound")),
    *_directed_rows("ce", _CE, "s", ("best", "other")),
    *_directed_rows(f"ce_dirichlet_{SMOOTHING}", _CE, "smoothed", ("best", "other")),
    average_metric(
        "js_divergence(s/s)",
        js_divergence,
        ("s", "s"),
        bounds=(0.0, 1.0),
        symmetric=True,
        unit="bits",
        family="distributional",
        paper=_GUERDAN,
    ),
    average_metric(
        "js_distance(s/s)",
        js_distance,
        ("s", "s"),
        bounds=(0.0, _ROOT_LN_2),
        symmetric=True,
        unit="square root of nats",
        family="distributional",
        paper=_GUERDAN,
    ),
    *multi_label.ROWS,
    *downstream.ROWS,
)

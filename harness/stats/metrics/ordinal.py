"""Weighted agreement coefficients, ranked probability score, and metrics for ordered scales.

The order of the options is the scale, so these metrics are in a separate table. They are
meaningless on a nominal task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio, row_sums
from harness.stats.inference.metric import (
    Metric,
    SquaredDistance,
    average_metric,
    both_rated,
    constant_labels,
    unless_empty,
    weighted,
)
from harness.stats.metrics.alpha import alpha_metric, check_weights
from harness.stats.metrics.association import kendall_of, spearman_of
from harness.stats.metrics.chance import both_directions, square
from harness.stats.metrics.confusion import label_metric
from harness.stats.metrics.gwet import PAPER as GWET
from harness.stats.metrics.gwet import gwet_ac2, quadratic_credit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from harness.stats.metrics.alpha import Level

Steps: TypeAlias = Literal["linear", "quadratic"]
WEIGHTED_KAPPAS = ("weighted_kappa_linear", "weighted_kappa_quadratic")
_COHEN = "Cohen 1968; recommended for ordinal scores by Rao and Callison-Burch 2026, table 1"
_ELANGOVAN = "Elangovan et al. 2025, section 2.3"


def weights(steps: Steps, K: int) -> FloatArray:
    """Return (K, K) disagreements between ordered options, from 0 to 1: distance or its square."""
    if steps not in {"linear", "quadratic"}:
        raise ValueError(f"steps is {steps!r}; wanted linear or quadratic")
    if K < 2:  # noqa: PLR2004 -- one option isn't a scale
        raise ValueError(f"K is {K}; disagreement needs at least two options")
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / (K - 1.0)
    return np.asarray(apart if steps == "linear" else apart**2, dtype=np.float64)


def weighted_kappa(totals: FloatArray, disagreement: FloatArray) -> FloatArray:
    """Return weighted kappa for (..., K * K) confusion cells, human by judge.

    It is 1 - sum w p / sum w (row share x column share), where (K, K) ``disagreement`` is the cost
    of each cell. With CANNOT_ASSESS as an extra option, the size is K + 1.
    """
    shares = square(ratio(totals, totals.sum(axis=-1)[..., None]))
    if shares.shape[-2:] != disagreement.shape:
        raise ValueError(
            f"weights has shape {disagreement.shape} but the cells are {shares.shape[-2:]}"
        )
    rows, columns = shares.sum(axis=-1), shares.sum(axis=-2)
    observed = (shares * disagreement).sum(axis=(-2, -1))
    by_chance = (rows[..., :, None] * columns[..., None, :] * disagreement).sum(axis=(-2, -1))
    by_chance = np.where(by_chance > TOLERANCE, by_chance, 0.0)
    return np.asarray(1.0 - ratio(observed, by_chance), dtype=np.float64)


def weighted_kappa_metric(disagreement: ArrayLike) -> Metric:
    """Return the metric for weighted kappa with a user's own disagreements.

    Parameters
    ----------
    disagreement : (K, K) array
        0 on the diagonal, non-negative; (K + 1, K + 1) with CANNOT_ASSESS as the last option.

    Raises
    ------
    ValueError
        If the matrix is malformed.
    """
    matrix = check_weights(disagreement)
    return Metric(
        name="weighted_kappa",
        value=lambda totals: weighted_kappa(totals, matrix),
        reason=constant_labels,
        paper=_COHEN,
        bounds=(-np.inf, 1.0),
    )


def cumulative(shares: FloatArray) -> FloatArray:
    """Return (n, K - 1) cumulative shares of the ordered options, without the last."""
    return np.asarray(np.cumsum(shares, axis=1)[:, :-1], dtype=np.float64)


def ranked_probability_score(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: mean squared difference of cumulative shares, and the weight.

    It is 0 for equal distributions and 1 for opposite ends of the scale. It uses the order of
    options, unlike the Jensen-Shannon divergence. Epstein 1969, in the form of Murphy 1971.
    """
    steps = cumulative(human) - cumulative(judge)
    return weighted(row_sums(steps**2) / max(steps.shape[1], 1), both_rated(human, judge))


RANKED_PROBABILITY_SCORE = average_metric(
    "ranked_probability_score",
    ranked_probability_score,
    ("s", "s"),
    display_name="disagreement with raters on the scale",
    bounds=(0.0, 1.0),
    symmetric=True,
    family="ordinal",
    paper="Epstein 1969; Murphy 1971, divided by K - 1",
    squared=SquaredDistance(cumulative, averaged=True),
)


def ordinal_metrics(scale: ArrayLike | None = None) -> tuple[Metric, ...]:
    """Return the metrics for an ordered scale, in the same form as `METRICS`.

    Parameters
    ----------
    scale : (K,) numbers, optional
        Numbers for the options on the interval level; by default 1 to K. Alpha on the ratio level
        is included if you pass numbers and none is negative, because they are amounts.
    """
    numbers = None if scale is None else np.asarray(scale, dtype=np.float64).tolist()
    rows: list[tuple[str, str, Callable[[FloatArray], FloatArray], str]] = [
        (
            WEIGHTED_KAPPAS[0],
            "agreement beyond chance, near misses penalised less (weighted kappa)",
            _kappa_of("linear"),
            _COHEN,
        ),
        (
            WEIGHTED_KAPPAS[1],
            "agreement beyond chance, near misses penalised much less (quadratic kappa)",
            _kappa_of("quadratic"),
            _COHEN,
        ),
        (
            "krippendorff_alpha_ordinal",
            "agreement beyond chance on ranks (Krippendorff's alpha)",
            _alpha_of("ordinal", None),
            _ELANGOVAN,
        ),
        (
            "krippendorff_alpha_interval",
            "agreement beyond chance on numbers (Krippendorff's alpha)",
            _alpha_of("interval", numbers),
            _ELANGOVAN,
        ),
        (
            "spearman",
            "rank correlation (Spearman)",
            lambda totals: spearman_of(square(totals)),
            _ELANGOVAN,
        ),
        (
            "kendall_tau_b",
            "rank correlation (Kendall)",
            lambda totals: kendall_of(square(totals)),
            _ELANGOVAN,
        ),
    ]
    if numbers is not None and min(numbers) >= 0:
        of_amounts = (
            "krippendorff_alpha_ratio",
            "agreement beyond chance on amounts (Krippendorff's alpha)",
            _alpha_of("ratio", numbers),
            _ELANGOVAN,
        )
        rows.insert(4, of_amounts)
    metrics = (label_metric(*row, family="ordinal") for row in rows)
    ac2 = label_metric(
        "gwet_ac2",
        "agreement beyond chance, partial credit for near misses (Gwet's AC2)",
        _ac2_of(numbers),
        f"{GWET}, quadratic weights",
        family="ordinal",
        reason=unless_empty("single_option"),
        bounds=(-np.inf, 1.0),
    )
    return (*metrics, ac2, RANKED_PROBABILITY_SCORE)


def _kappa_of(steps: Steps) -> Callable[[FloatArray], FloatArray]:
    return lambda totals: weighted_kappa(totals, weights(steps, round(totals.shape[-1] ** 0.5)))


def _ac2_of(numbers: list[float] | None) -> Callable[[FloatArray], FloatArray]:
    def value(totals: FloatArray) -> FloatArray:
        K = round(totals.shape[-1] ** 0.5)
        return gwet_ac2(totals, quadratic_credit(numbers or np.arange(K)))

    return value


def _alpha_of(level: Level, scale: list[float] | None) -> Callable[[FloatArray], FloatArray]:
    metric = alpha_metric(level, scale=scale)

    return lambda totals: metric.value(both_directions(totals))


ORDINAL_METRICS: tuple[Metric, ...] = ordinal_metrics()

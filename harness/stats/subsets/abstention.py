"""Three ways to handle CANNOT_ASSESS, which have different estimands.

Cells are as in `confusion`, over the K options and, last, abstention: (K + 1, K + 1), human by
judge. Each mode is a sum of cells: *exclude* drops the pairs in which either side abstained,
*recode* converts abstention to one of the options, and *third_class* keeps it as a separate option
(Rao and Callison-Burch 2026, section 6).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, remembered
from harness.stats.data.kinds import Kinds
from harness.stats.data.labels import modes
from harness.stats.data.rating_table import ELICITATIONS, NO_POSITIVE, OUTCOMES
from harness.stats.inference.estimate import ItemSums, exclusions
from harness.stats.inference.metric import (
    SHARE,
    Metric,
    always,
    constant_labels,
    find_metric,
    no_items,
    unless_empty,
)
from harness.stats.metrics.alpha import alpha_metric, check_weights
from harness.stats.metrics.chance import both_directions, cohen_kappa, share_alike, square
from harness.stats.metrics.confusion import BINARY, one_vs_rest
from harness.stats.metrics.ordinal import weighted_kappa_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.estimate import Exclusion
    from harness.stats.reasons import Reason

SINGLE_CHOICES = [ELICITATIONS.index("forced_choice"), ELICITATIONS.index("paired")]
NO_VERDICT = ("refused", "invalid", "failed")


def with_abstention(table: RatingTable) -> FloatArray:
    """Return (n, K + 1) counts: choices of each option, then abstentions."""
    abstained = table.outcomes[:, SINGLE_CHOICES, OUTCOMES.index("abstained")].sum(axis=1)
    return np.column_stack([table.forced_choice, abstained]).astype(np.float64)


def with_outcomes(table: RatingTable) -> FloatArray:
    """Return (n, K + 4) counts: `with_abstention`, then refused, invalid and failed replies."""
    others = [OUTCOMES.index(outcome) for outcome in NO_VERDICT]
    lost = table.outcomes[:, SINGLE_CHOICES][:, :, others].sum(axis=1)
    return np.column_stack([with_abstention(table), lost]).astype(np.float64)


def outcome_cells(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, A, B) cells of the modes in an (n, A) and an (n, B) table of counts.

    An item's cells sum to 1, with tied modes in equal parts, or to 0 if a side has no count.
    """
    one_hot = [modes(side) for side in (human, judge)]
    cells = np.einsum("na,nb->nab", *one_hot)
    return np.asarray(np.nan_to_num(cells, copy=False), dtype=np.float64)


def excluding(cells: FloatArray) -> FloatArray:
    """Drop pairs with an abstention. Reduces the shape from (..., (K + 1)^2) to (..., K^2)."""
    kept = square(cells)[..., :-1, :-1]
    return kept.reshape(*kept.shape[:-2], kept.shape[-1] ** 2)


def recoding(cells: FloatArray, to: int) -> FloatArray:
    """Count abstentions on both sides as option ``to``: (..., (K + 1)^2) cells to (..., K^2)."""
    table = square(cells).copy()
    table[..., to, :] += table[..., -1, :]
    table[..., :, to] += table[..., :, -1]
    return excluding(table.reshape(cells.shape))


def mode_sums(
    cells: FloatArray,
    options: Sequence[str],
    *,
    positive: Sequence[str],
    recode_to: str | None,
    weights: ArrayLike | None = None,
    excluded: tuple[Exclusion, ...] = (),
    kinds: Kinds | None = None,
) -> dict[str, ItemSums]:
    """Return the estimates for each mode, all computed from one array of contributions.

    Parameters
    ----------
    cells : (n, (K + 1)^2) array
        Cells of each item, or kind of items, from `outcome_cells`, raveled.
    options : K names
        Options without the abstention.
    positive : sequence of str
        Positive options for f1 and phi, which are NA without any.
    recode_to : str or None
        The option that abstention becomes; None leaves out mode recode.
    weights : (K, K) or (K + 1, K + 1) array, optional
        Disagreements for weighted coefficients: between answers in mode exclude, or between
        classes.
    excluded : tuple of Exclusion
        Reasons that items do not enter in any mode.
    kinds : Kinds, optional
        The kinds, if the cells are theirs.

    Returns
    -------
    dict of str to ItemSums
        ``rates``, ``exclude``, ``recode`` and ``third_class``.

    Raises
    ------
    ValueError
        If an option is unknown, or a shape does not fit.
    """
    names, width = tuple(options), (len(options) + 1) ** 2
    table = np.asarray(cells, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != width:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"cells has shape {table.shape}; wanted (n, {width}) for {names} and none")
    kinds = kinds or Kinds.single(len(table))
    sums = kinds.rows(table)
    for name in (*positive, *(() if recode_to is None else (recode_to,))):
        if name not in names:
            raise ValueError(f"option {name!r} is not one of {', '.join(map(repr, names))}")
    mask = np.array([name in positive for name in names], dtype=np.bool_)
    disagreements = None if weights is None else check_weights(weights)
    of_answers = disagreements is not None and len(disagreements) == len(names)
    kept = remembered(excluding)
    answered = (*_mode_metrics(mask), *(weighted_metrics(disagreements) if of_answers else ()))
    batches = {
        "rates": ItemSums(contributions=sums, metrics=RATES, excluded=excluded),
        "exclude": ItemSums(
            contributions=sums,
            metrics=tuple(reading(metric, kept) for metric in answered),
            used=np.asarray(excluding(table).any(axis=1), dtype=np.bool_)[kinds.of_item],
            excluded=(*excluded, *_abstainers(table, kinds.times)),
            nothing="all_abstained" if table.any() else "no_items",
        ),
    }
    if recode_to is not None:
        recoded = remembered(partial(recoding, to=names.index(recode_to)))
        batches["recode"] = ItemSums(
            contributions=sums,
            metrics=tuple(reading(metric, recoded) for metric in _mode_metrics(mask)),
            excluded=excluded,
        )
    classes = _class_metrics(names, None if of_answers else disagreements)
    batches["third_class"] = ItemSums(contributions=sums, metrics=classes, excluded=excluded)
    return batches


def reading(metric: Metric, cells: Callable[[FloatArray], FloatArray]) -> Metric:
    """Return a metric that converts its sums with ``cells`` first."""
    return replace(
        metric,
        value=lambda totals: metric.value(cells(totals)),
        reason=lambda totals: metric.reason(cells(totals)),
    )


def weighted_metrics(weights: FloatArray | None) -> tuple[Metric, ...]:
    """Return weighted kappa, and alpha for two sides, based on the user's disagreements."""
    if weights is None:
        return ()
    alpha = alpha_metric(weights=weights)
    kappa = weighted_kappa_metric(weights)
    return kappa, replace(reading(alpha, both_directions), reason=kappa.reason)


def _abstainers(cells: FloatArray, times: IntArray) -> tuple[Exclusion, ...]:
    table = square(cells)
    kept = table[..., :-1, :-1].any(axis=(-2, -1))
    human, judge = table[..., -1, :].any(axis=-1), table[..., :, -1].any(axis=-1)
    return exclusions(
        [
            ("both_abstained", int(times @ (human & judge & ~kept))),
            ("human_abstained", int(times @ (human & ~judge & ~kept))),
            ("judge_abstained", int(times @ (judge & ~human & ~kept))),
        ]
    )


def against_rest(totals: FloatArray, mask: BoolArray) -> FloatArray:
    """Collapse (..., K * K) cells to tp, fn, fp and tn, for some options against all others."""
    cells, inside = square(totals), mask.astype(np.float64)
    rows = np.stack([cells @ inside, cells @ (1.0 - inside)], axis=-1)  # human by judge's side
    tp, fn = np.moveaxis(inside @ rows, -1, 0)
    fp, tn = np.moveaxis((1.0 - inside) @ rows, -1, 0)
    return np.stack([tp, fn, fp, tn], axis=-1)


def _of_positive(
    name: str, of_positive: Callable[[FloatArray], FloatArray] | None, reason: Reason
) -> Metric:
    if of_positive is None:
        return _metric(
            name=name,
            value=lambda totals: np.full(totals.shape[:-1], np.nan),
            reason=always(NO_POSITIVE),
        )
    row = find_metric(name, BINARY)
    return _metric(
        name=name,
        value=lambda totals: row.value(of_positive(totals)),
        reason=unless_empty(reason),
        bounds=row.bounds,
    )


def _mode_metrics(mask: BoolArray) -> tuple[Metric, ...]:
    of_positive = remembered(partial(against_rest, mask=mask)) if mask.any() else None
    f1 = _of_positive("f1", of_positive, "no_positives")
    return _ACCURACY, f1, _KAPPA, _of_positive("phi", of_positive, "constant_labels")


def _class_metrics(names: tuple[str, ...], weights: FloatArray | None) -> tuple[Metric, ...]:
    f1 = find_metric("f1", BINARY)

    def of_class(k: int, name: str) -> Metric:
        return _metric(
            name=f"f1[{name}]",
            value=lambda totals: f1.value(one_vs_rest(totals, k)),
            reason=unless_empty("no_positives"),
            bounds=SHARE,
        )

    of_classes = (of_class(k, name) for k, name in enumerate((*names, "CANNOT_ASSESS")))
    return _ACCURACY, _KAPPA, *of_classes, *weighted_metrics(weights)


_metric = partial(Metric, paper="Rao and Callison-Burch 2026, section 6")
_ACCURACY = _metric(name="accuracy", value=share_alike, reason=no_items, bounds=SHARE)
_KAPPA = _metric(name="kappa", value=cohen_kappa, reason=constant_labels)


def _rate(name: str, part: Callable[[FloatArray], FloatArray]) -> Metric:
    return _metric(
        name=name,
        value=lambda totals: ratio(part(square(totals)), totals.sum(axis=-1)),
        reason=no_items,
        bounds=SHARE,
    )


RATES: tuple[Metric, ...] = (
    _rate("answered_fraction", lambda table: table[..., :, :-1].sum(axis=(-2, -1))),
    _rate("answered_by_both", lambda table: table[..., :-1, :-1].sum(axis=(-2, -1))),
    _rate("human_abstention_rate", lambda table: table[..., -1, :].sum(axis=-1)),
    _rate("judge_abstention_rate", lambda table: table[..., :, -1].sum(axis=-1)),
)

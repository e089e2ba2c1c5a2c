"""Agreement among judges.

On binary votes, Fleiss' kappa, Krippendorff's alpha and the mean pairwise phi are the same number,
up to a finite-sample correction and differences in the judges' rates of positive votes. Report one
of them, with each judge's confusion matrix (Rao and Callison-Burch 2026, section 7).
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- needed by readers of the fields' types
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, frozen, total
from harness.stats.data.kinds import Kinds
from harness.stats.data.labels import label_counts
from harness.stats.data.rating_table import NO_POSITIVE
from harness.stats.inference.estimate import (
    Estimate,
    ItemSums,
)
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.metric import Metric, find_metric
from harness.stats.metrics.chance import square
from harness.stats.metrics.confusion import BINARY, binary_cells, confusion
from harness.stats.metrics.human_agreement import (
    HUMAN_AGREEMENT,
    fleiss,
    nominal_coincidences,
    pearson_by_rater,
    pearsons,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import IntArray
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.reasons import NAReason

_PAPER = "Rao and Callison-Burch 2026, section 7"
_PAIR = 2
MIN_ERRORS = 10  # errors per judge; with fewer, effective votes have no interval


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Ensemble:
    """Agreement among R judges, and between each judge and the humans.

    Attributes
    ----------
    agreement : mapping of str to Estimate
        ``fleiss_kappa`` (strict), ``krippendorff_alpha_nominal``, ``alpha_from_fleiss`` (Eq. 16),
        ``randolph_kappa`` and ``mean_pairwise_phi``; with human labels, ``effective_votes``.
    n_pairs, n_pairs_undefined : int
        Number of pairs of judges, and of those without a phi because a judge is constant.
    confusions : mapping of str to (K, K) array
        Confusion matrix per judge, human by judge; empty without human labels.
    """

    agreement: Mapping[str, Estimate]
    n_pairs: int
    n_pairs_undefined: int
    confusions: Mapping[str, FloatArray]

    def __repr__(self) -> str:
        return f"Ensemble({self.n_pairs} pairs, alpha {self.agreement[_ALPHA].value})"


def pair_cells(votes: FloatArray, positive: Sequence[int]) -> FloatArray:
    """Return (n, 4 P) columns for P pairs of judges: tp, fn, fp and tn for positive options."""
    binary = np.where(np.isnan(votes), np.nan, np.isin(votes, positive).astype(np.float64))
    pairs = combinations(range(votes.shape[1]), _PAIR)
    cells = [binary_cells(binary[:, a], binary[:, b]) for a, b in pairs]
    return np.hstack(cells) if cells else np.empty((len(votes), 0))


def error_pairs(votes: FloatArray, human: FloatArray) -> FloatArray:
    """Return (n, 6 P) columns: 1, x, y, x^2, y^2 and x y of the errors in P pairs of judges.

    A judge's error on an item is 1 minus the (n, K) humans' share of its chosen option, which is 0
    or 1 for a one-hot mode. Values are 0 if either judge or the humans gave no answer.
    """
    chosen = np.take_along_axis(human, np.nan_to_num(votes).astype(np.intp), axis=1)
    errors = np.where(np.isnan(votes), np.nan, 1.0 - chosen)
    pairs = combinations(range(votes.shape[1]), _PAIR)
    sums = [pearson_by_rater(errors[:, [a]], errors[:, b]) for a, b in pairs]
    return np.hstack(sums) if sums else np.empty((len(votes), 0))


def enough_errors(estimate: Estimate, totals: FloatArray) -> Estimate:
    """Remove the interval from an estimate of effective votes if a judge has few errors.

    With fewer than ten errors, the correlation varies more than an interval would show.

    Parameters
    ----------
    estimate : Estimate
        Estimate of `effective_votes`.
    totals : (6 P,) array
        Summed `error_pairs`.
    """
    n, *errors = totals.reshape(-1, 6)[:, :3].T
    fewest = min(
        (float(np.minimum(of_judge, n - of_judge).min()) for of_judge in errors), default=0
    )
    if estimate.interval is None or fewest >= MIN_ERRORS:
        return estimate
    return replace(estimate, interval=None, interval_reason="too_few_errors")


def effective_votes(totals: FloatArray) -> FloatArray:
    """Return how many independent votes R judges are worth: R / (1 + (R - 1) rho).

    Parameters
    ----------
    totals : (..., 6 P) array
        Summed `error_pairs`. rho is the mean correlation of the errors, or 0 if it is negative. The
        result is nan if any pair has no correlation, because a judge is always or never right.
    """
    P = totals.shape[-1] // 6
    R = (1.0 + np.sqrt(1.0 + 8.0 * P)) / 2.0
    correlation = np.maximum(pearsons(totals).mean(axis=-1) if P else np.nan, 0.0)
    return np.asarray(R / (1.0 + (R - 1.0) * correlation), dtype=np.float64)


def ensemble_agreement(
    votes: FloatArray,
    options: Sequence[str],
    *,
    judges: Sequence[str],
    positive: str | Sequence[str],
    resampling: Resampling,
    human: FloatArray | None = None,
) -> Ensemble:
    """Measure the agreement among judges.

    Parameters
    ----------
    votes : (n, R) array
        Index of each judge's chosen option; nan if it did not answer. One column per judge; repeats
        of a judge do not count as more judges.
    options : K names
        Names of the options.
    judges : R names
        Names of the columns.
    positive : str or sequence of str
        Options that the pairwise phi compares with all others; without any it is NA.
    resampling : Resampling
        Settings for intervals.
    human : (n, K) array, optional
        Mode of the human ratings from `hard`, for the confusion matrices.

    Raises
    ------
    ValueError
        If a shape does not fit, a judge is named twice or a vote is not an option index.
    """
    names, table = tuple(options), _check_votes(votes, len(options), judges)
    positives = (positive,) if isinstance(positive, str) else tuple(positive)
    for option in positives:
        if option not in names:
            raise ValueError(f"option {option!r} is not one of {', '.join(map(repr, names))}")
    if human is not None:
        _check_human(human, table, len(names))
    kinds = Kinds.of(table) if human is None else Kinds.of(table, human)
    votes_of_kinds = table[kinds.first]
    counts = label_counts(votes_of_kinds, len(names))
    cells = pair_cells(votes_of_kinds, [names.index(option) for option in positives])
    compared = kinds.rows(cells if positives else np.zeros_like(cells))
    batches = {
        "fleiss": ItemSums(contributions=kinds.rows(fleiss(counts)), metrics=_FLEISS),
        "alpha": ItemSums(
            contributions=kinds.rows(nominal_coincidences(counts)),
            metrics=(find_metric(_ALPHA, HUMAN_AGREEMENT),),
            nothing="too_few_raters" if counts.any() else "no_items",
        ),
        "phi": ItemSums(
            contributions=compared,
            metrics=(MEAN_PAIRWISE_PHI,),
            nothing=_why_no_phi(counts, positives),
        ),
    }
    if human is not None:
        errors = kinds.rows(error_pairs(votes_of_kinds, human[kinds.first]))
        batches["votes"] = ItemSums(
            contributions=errors, metrics=(effective_votes_of(len(judges)),)
        )
    estimates = estimate_sums(batches, resampling=resampling)
    if human is not None:
        totals = total(errors)
        estimates["votes"] = {
            name: enough_errors(estimate, totals) for name, estimate in estimates["votes"].items()
        }
    undefined = np.isnan(_phis(total(compared)))
    return Ensemble(
        agreement={
            name: estimate for by_name in estimates.values() for name, estimate in by_name.items()
        },
        n_pairs=undefined.size,
        n_pairs_undefined=int(undefined.sum()),
        confusions={} if human is None else _confusions(human, table, judges),
    )


def _why_no_phi(counts: IntArray, positive: Sequence[str]) -> NAReason:
    if not counts.any():
        return "no_items"
    return "too_few_raters" if positive else NO_POSITIVE


def _check_votes(votes: FloatArray, K: int, judges: Sequence[str]) -> FloatArray:
    table = np.asarray(votes, dtype=np.float64)
    if table.ndim != _PAIR or table.shape[1] != len(judges):
        raise ValueError(f"votes has shape {table.shape} for {len(judges)} judges; wanted (n, R)")
    if len(set(judges)) < len(judges):
        raise ValueError(f"judges: a name is repeated in {list(judges)}; each needs its own column")
    cast = table[~np.isnan(table)]
    if cast.size and not np.isin(cast, np.arange(K)).all():
        raise ValueError(f"votes contains a number that is not an option index from 0 to {K - 1}")
    return table


def _check_human(human: FloatArray, votes: FloatArray, K: int) -> None:
    if human.shape != (len(votes), K):
        raise ValueError(f"human has shape {human.shape}; wanted {(len(votes), K)}")


def _confusions(
    human: FloatArray, votes: FloatArray, judges: Sequence[str]
) -> dict[str, FloatArray]:
    confusions = {}
    for judge, column in zip(judges, votes.T, strict=True):
        one_hot = (column[:, None] == np.arange(human.shape[1])).astype(np.float64)
        one_hot[np.isnan(column)] = np.nan
        confusions[judge] = frozen(square(confusion(human, one_hot).sum(axis=0)))
    return confusions


def _phis(totals: FloatArray) -> FloatArray:
    phi = find_metric("phi", BINARY)
    return phi.value(totals.reshape(*totals.shape[:-1], totals.shape[-1] // 4, 4))


def _mean_phi(totals: FloatArray) -> FloatArray:
    phis = _phis(totals)
    if not phis.shape[-1]:
        return np.full(phis.shape[:-1], np.nan)
    return np.asarray(phis.mean(axis=-1), dtype=np.float64)  # nan if any is undefined


def _alpha_from_fleiss(totals: FloatArray) -> FloatArray:
    kappa = _KAPPA.value(totals)
    n_votes = np.maximum(totals[..., 2], 1.0)
    return np.asarray(kappa + (1.0 - kappa) / n_votes, dtype=np.float64)


_ALPHA = "krippendorff_alpha_nominal"
_KAPPA = find_metric("fleiss_kappa", HUMAN_AGREEMENT)
_FLEISS = (
    _KAPPA,
    Metric(
        name="alpha_from_fleiss",
        value=_alpha_from_fleiss,
        reason=_KAPPA.reason,
        paper=f"{_PAPER}, Eq. 16",
        also=(_ALPHA,),
    ),
    find_metric("randolph_kappa", HUMAN_AGREEMENT),
)
MEAN_PAIRWISE_PHI = Metric(
    name="mean_pairwise_phi",
    value=_mean_phi,
    reason=lambda totals: "constant_labels" if totals.size else "too_few_raters",
    paper=f"{_PAPER}, observation 2",
)


def effective_votes_of(n_judges: int) -> Metric:
    """Return the metric for a panel's effective number of votes."""
    return Metric(
        name="effective_votes",
        display_name="number of independent votes the panel is worth",
        value=effective_votes,
        reason=lambda totals: "constant_labels" if totals.any() else "no_overlap",
        bounds=(1.0, float(n_judges)),
        paper="Kish 1965, with the correlation of errors: Kohli 2026, arXiv 2605.29800",
    )

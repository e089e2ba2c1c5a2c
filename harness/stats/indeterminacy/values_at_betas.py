"""Values of metrics at each beta in a grid, without intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import BLOCK, total
from harness.stats.data.rating_table import Distributions
from harness.stats.indeterminacy.sensitivity import NEED_SETS, distributions_at_beta
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.metric import by_contributions
from harness.stats.selection.evaluate import one_of_each_kind
from harness.stats.selection.judge_sums import ComparedSide, scorer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.data.forms import Cut
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.metric import Metric
    from harness.stats.selection.replies import CommonItems


def values_at_betas(
    human: RatingTable,
    judges: Sequence[RatingTable],
    metrics: Sequence[Metric],
    *,
    betas: Sequence[float],
    adds: Mapping[str, Iterable[str]],
    cut: Cut,
    common: Mapping[str, CommonItems],
) -> dict[str, FloatArray]:
    """Evaluate metrics at each beta in a grid, as `beta_sweep` does.

    Parameters
    ----------
    human, judges, betas, adds, common
        As in `beta_sweep`.
    metrics : sequence of Metric
        Metrics; those that compare with response sets are evaluated at each of the E betas.
    cut : Cut
        The rule of the decision.

    Returns
    -------
    dict of str to (E, J) array
        Values by metric; nan if undefined.
    """
    every_item = Units.of(len(human.items), None)
    (human, *judges), units, common = one_of_each_kind((human, *judges), every_item, common)
    sides = [ComparedSide.of(table, cut, metrics, common=common) for table in judges]
    fixed = [row for row in metrics if row.human_form not in NEED_SETS]
    moving = [row for row in metrics if row.human_form in NEED_SETS]
    as_rated = ComparedSide.of(human, cut, fixed)
    values = {
        name: np.repeat(of_metric, len(betas), axis=0)
        for name, of_metric in _values(fixed, as_rated, sides, units.times).items()
    }
    step, parts = max(1, BLOCK // max(len(human.items), 1)), []
    for start in range(0, len(betas), step):
        implied = [distributions_at_beta(human, beta, adds) for beta in betas[start : start + step]]
        supposed = ComparedSide.of(human, cut, moving, _one_below_another(implied))
        parts.append(_values(moving, supposed, sides, units.times))
    return values | {row.name: np.concatenate([part[row.name] for part in parts]) for row in moving}


def _values(
    metrics: Sequence[Metric],
    human: ComparedSide,
    judges: Sequence[ComparedSide],
    times: IntArray | None,
) -> dict[str, FloatArray]:
    """Return (E, J) values per metric.

    The raters' vectors at E betas are stacked as an (E n, D) array.
    """
    values: dict[str, list[FloatArray]] = {metric.name: [] for metric in metrics}
    for judge in judges:
        n, score = len(judge.table.items), scorer(judge)
        for members in by_contributions(metrics):
            vectors = human.forms[members[0].human_form]
            E = len(vectors) // n
            sums = score(members[0], vectors, np.tile(np.arange(n), E)).reshape(E, n, -1)
            totals = np.array([total(of_beta, times) for of_beta in sums])
            for metric in members:
                values[metric.name].append(metric.value(totals))
    return {name: np.array(of_metric).T for name, of_metric in values.items()}


def _one_below_another(parts: Sequence[Distributions]) -> Distributions:
    """Stack distributions over the same items, in the order of the argument."""
    return Distributions(
        space=parts[0].space,
        O=np.concatenate([part.O for part in parts]),
        theta=np.concatenate([part.theta for part in parts]),
        omega=np.concatenate([part.omega for part in parts]),
        n_forced=np.concatenate([part.n_forced for part in parts]),
        n_sets=np.concatenate([part.n_sets for part in parts]),
    )

"""Registry of all metrics, and selection of those that suit a task.

To add a metric, add it to the ``METRICS`` of a new or existing module in this folder.
`tests/stats/metrics` checks every metric against the same contract.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from harness.stats import metrics
from harness.stats.inference.metric import find_metric
from harness.stats.metrics import confusion, distributional, downstream, multi_label
from harness.stats.metrics.confusion import binary_metrics
from harness.stats.metrics.ordinal import ordinal_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.inference.metric import Metric
    from harness.stats.modes import ClosedScale

FIRST = (confusion, distributional, multi_label, downstream)


def _all_metrics() -> tuple[Metric, ...]:
    """Return the metrics from every module in this folder, with the modules in `FIRST` first."""
    names = sorted(f"{metrics.__name__}.{module.name}" for module in iter_modules(metrics.__path__))
    others = [import_module(name) for name in names if name != __name__]
    modules = dict.fromkeys((*FIRST, *others))
    return tuple(metric for module in modules for metric in getattr(module, "METRICS", ()))


METRICS: tuple[Metric, ...] = _all_metrics()
TWO = 2
# With two options, the metrics in each group are the same number; the first is printed.
SAME_FOR_TWO = {
    "accuracy(h/h)": "hit_rate(h/h)",
    "kappa(h/h)": "cohen_kappa(h/h)",
    "weighted_kappa_linear(h/h)": "cohen_kappa(h/h)",
    "weighted_kappa_quadratic(h/h)": "cohen_kappa(h/h)",
    "krippendorff_alpha_ordinal(h/h)": "krippendorff_alpha_nominal(h/h)",
    "krippendorff_alpha_interval(h/h)": "krippendorff_alpha_nominal(h/h)",
    "krippendorff_alpha_ratio(h/h)": "krippendorff_alpha_nominal(h/h)",
    "gwet_ac2(h/h)": "gwet_ac1(h/h)",
    "gorodkin_r(h/h)": "phi(h/h)",
    "spearman(h/h)": "phi(h/h)",
    "kendall_tau_b(h/h)": "phi(h/h)",
}


def metrics_named(metrics: Sequence[str | Metric] | None) -> tuple[Metric, ...]:
    """Look up names in `METRICS` and keep metrics as they are. None means all metrics."""
    rows = METRICS if metrics is None else metrics
    return tuple(find_metric(row, METRICS) if isinstance(row, str) else row for row in rows)


def metrics_for(
    space: OptionSpace, *, scale: ClosedScale, positive: Sequence[str]
) -> tuple[Metric, ...]:
    """Return the metrics that a task is evaluated on.

    Parameters
    ----------
    space : OptionSpace
        Options in their order, which is the scale of an ordinal task. Options named by numbers have
        these numbers on the interval level and, if none is negative, on the ratio level. Other
        options are 1 to K on the interval level.
    scale : {"binary", "nominal", "ordinal", "pairwise"}
        An ordinal scale adds the metrics of ordered options.
    positive : sequence of str
        Positive options; if some but not all are positive, the metrics of a yes-or-no decision are
        added.

    Returns
    -------
    tuple of Metric
        No two of them are the same number by definition; ``also`` lists other names of such a
        number.

    Raises
    ------
    ValueError
        If a positive option is unknown.
    """
    added: list[Metric] = []
    if scale == "ordinal":
        added += ordinal_metrics(_numbers(space))
    if positive and not space.option_mask(positive).all():
        added += binary_metrics(space, positive)
    rows = (*METRICS, *added)
    return _merged(rows) if len(space.options) == TWO else rows


def _numbers(space: OptionSpace) -> list[float] | None:
    try:
        return [float(option) for option in space.options]
    except ValueError:
        return None


def _merged(rows: Sequence[Metric]) -> tuple[Metric, ...]:
    """Keep only one of several metrics that are equal for two options, and record other names."""
    printed = {row.name for row in rows}
    same = {name: first for name, first in SAME_FOR_TWO.items() if {name, first} <= printed}
    return tuple(
        replace(row, also=(*row.also, *(n for n, first in same.items() if first == row.name)))
        for row in rows
        if row.name not in same
    )

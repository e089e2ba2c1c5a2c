"""Load metrics that other Python distributions register."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, get_args

from harness import loading
from harness.errors import PluginError
from harness.stats import Metric, OptionSpace, metrics_for
from harness.stats.reasons import NAReason

if TYPE_CHECKING:
    from collections.abc import Callable


def plugin_metric_names() -> tuple[str, ...]:
    """Return the names of registered metrics that are not built in, without loading them."""
    registered = loading.names(loading.METRICS)
    if not registered:
        return ()
    any_task = OptionSpace.singletons(("a", "b", "c"))
    built_in = {row.name for row in metrics_for(any_task, scale="ordinal", positive=("a",))}
    return tuple(name for name in registered if name not in built_in)


def plugin_metric(name: str) -> Metric:
    """Load a metric that a different distribution registers.

    Returns
    -------
    Metric
        A metric that raises `PluginError` if the distribution's own functions raise an error.

    Raises
    ------
    PluginError
        If it cannot be loaded, or is not a metric of that name.
    """
    metric = loading.load(loading.METRICS, name)
    if not isinstance(metric, Metric) or metric.name != name:
        raise PluginError(
            f"plug-in {name!r}: found {metric!r}. The plug-in must provide a Metric with that name."
        )
    return replace(
        metric,
        contributions=_guarded(metric.contributions, name, "contributions"),
        value=_guarded(metric.value, name, "value"),
        reason=_guarded(metric.reason, name, "reason"),
        counts=_guarded(metric.counts, name, "counts"),
    )


def _is_built_in(function: Callable[..., Any]) -> bool:
    return getattr(function, "__module__", "").startswith("harness.")


def _guarded(function: Callable[..., Any], name: str, field: str) -> Callable[..., Any]:
    """Wrap a plug-in's function to raise `PluginError`. Return a built-in function unchanged."""
    if _is_built_in(function):
        return function

    @wraps(function)
    def call(*arguments: Any) -> Any:  # noqa: ANN401 -- whatever the field takes and returns
        try:
            result = function(*arguments)
        except Exception as error:  # noqa: BLE001 -- a plug-in may raise anything
            problem = loading.in_one_line(error)
        else:
            if field != "reason" or result in get_args(NAReason):
                return result
            problem = (
                f"{result!r} is not one of the reasons in `harness.stats.reasons`, such as "
                "'undefined'"
            )
        raise PluginError(
            f"plug-in {name!r}: `{field}` of the metric fails ({problem}). Correct the plug-in, "
            "or use a different --metric. The run's replies are kept."
        )

    return call

"""What choosing a judge by each metric costs downstream, and how firm each order is."""

from __future__ import annotations

from harness.stats.ranking import Difference  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.regret import Regret  # noqa: TC001 -- pydantic reads it when it runs
from harness.validate.source import Frozen


class Place(Frozen):
    """Where one judge stands on one metric.

    Attributes
    ----------
    rank : int or None
        1 is best; equal values share a rank; None where the metric is NA.
    rank_low, rank_high : int or None
        Interval of the rank over the resamples.
    p_best : float or None
        Share of the resamples in which it comes first.
    in_best_set : bool or None
        Whether the model confidence set holds it; None where there is no set.
    p_value : float or None
        Highest significance at which the set would still hold it.
    """

    judge: str
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    p_best: float | None
    in_best_set: bool | None
    p_value: float | None


class Order(Frozen):
    """Judges in order of one metric, NA last, and how firm that order is.

    Attributes
    ----------
    places : tuple of Place
        In order.
    undefined_share : float or None
        Share of the resamples left out of the confidence set, some judge being NA in them.
    """

    metric: str
    better: str
    unit: str
    places: tuple[Place, ...]
    undefined_share: float | None


class PairedDifference(Frozen):
    """How much worse one judge is than another on the same resamples.

    Attributes
    ----------
    difference : Difference
        Positive where the judge is worse, whatever the metric's direction.
    p_value, p_holm : float or None
        Two-sided bootstrap p of no difference, and Holm's adjustment over all pairs of this metric.
    """

    metric: str
    difference: Difference
    p_value: float | None
    p_holm: float | None


class Choosing(Frozen):
    """How firm each order of the judges is, and what choosing by it costs downstream.

    Attributes
    ----------
    goals : tuple of str
        Metrics that measure what a judge is used for.
    orders : dict of str to Order
        By metric.
    differences : tuple of PairedDifference
        Every pair of judges, on the metric that ranks and on the goals.
    regret : dict of str to dict of str to Regret
        By the metric one selects by, then by goal.
    usual : tuple of str
        The metrics by which judges are usually selected.
    """

    goals: tuple[str, ...]
    orders: dict[str, Order]
    differences: tuple[PairedDifference, ...]
    regret: dict[str, dict[str, Regret]]
    usual: tuple[str, ...]

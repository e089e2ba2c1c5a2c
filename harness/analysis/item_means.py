"""The mean of a value per item, as an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.estimate import Estimate, Exclusion, ItemSums, estimate_sums
from harness.stats.inference.metric import SHARE, Metric, mean, no_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats import Resampling
    from harness.stats.data.arrays import FloatArray


def item_mean(
    values: Sequence[float] | FloatArray,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] = SHARE,
    missing: str = "",
) -> Estimate:
    """Return the mean of a value per item with its score interval.

    Parameters
    ----------
    values : (n,) array_like
        nan where an item has none.
    resampling : Resampling
        Groups of the items, and level of the interval.
    bounds : (float, float)
        Least and greatest value.
    missing : str
        Why an item has no value.
    """
    column = np.asarray(values, dtype=np.float64)
    if not column.size:
        return Estimate(value=None, reason="no_items", n_used=0)
    used = ~np.isnan(column)
    n_missing = int((~used).sum())
    items = ItemSums(
        contributions=np.column_stack([np.nan_to_num(column), used]).astype(np.float64),
        metrics=(Metric(name="mean", value=mean, reason=no_items, bounds=bounds),),
        used=used,
        excluded=(Exclusion(missing, n_missing),) if missing and n_missing else (),
    )
    return estimate_sums({"": items}, resampling=resampling)[""]["mean"]


def share_of_items(share: Estimate) -> str:
    """Write a share with its interval and the number of items."""
    if share.value is None:
        return "NA"
    ends = share.interval
    interval = f" [{ends.low:.0%}, {ends.high:.0%}]" if ends else ""
    return f"{share.value:.0%}{interval} of {share.n_used} items"


def points(change: Estimate) -> str:
    """Write a change of a share in percentage points, with its interval."""
    if change.value is None:
        return "NA"
    ends = change.interval
    interval = f" [{100 * ends.low:+.0f}, {100 * ends.high:+.0f}]" if ends else ""
    return f"{100 * change.value:+.0f}{interval}"


def points_on_items(change: Estimate) -> str:
    """Write a change of a share in percentage points, with the number of items."""
    if change.value is None:
        return "NA"
    return f"{points(change)} points on {change.n_used} items"

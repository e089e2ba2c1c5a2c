"""How many items it takes to detect a difference between two judges."""

from __future__ import annotations

from math import ceil
from statistics import NormalDist

Z_SIZE = 1.96  # a two-sided test at 5 %


def sample_size_for_difference(
    sd: float, delta: float, *, design_effect: float = 1.0, power: float = 0.8
) -> int | None:
    """Return the number of items needed to detect a mean paired difference.

    Parameters
    ----------
    sd : float
        Standard deviation over items of the paired difference.
    delta : float
        The difference to detect, which the user names; never the observed one, whose use would
        give a power of about one half.
    design_effect : float, optional
        Variance of the mean under the design, divided by that of as many independent items.
    power : float in (0, 1), optional
        Wanted; its normal quantile is rounded to two digits, 0.84 for a power of 80 %.

    Returns
    -------
    int or None
        For a two-sided test at 5 % with this power; None where ``sd`` is 0, as the judges do
        not differ on any item.

    Raises
    ------
    ValueError
        If an argument is negative or ``delta`` is 0.

    Examples
    --------
    >>> sample_size_for_difference(0.432, 0.05)
    586
    """
    if sd < 0 or delta <= 0 or design_effect <= 0:
        raise ValueError(
            f"sd {sd}, delta {delta} and design_effect {design_effect} make no sample size"
        )
    if sd == 0:
        return None
    z_power = round(NormalDist().inv_cdf(power), 2)
    return ceil(design_effect * (Z_SIZE + z_power) ** 2 * sd**2 / delta**2)

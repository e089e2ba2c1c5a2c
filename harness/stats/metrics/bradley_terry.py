"""Win rates and Bradley-Terry scores of systems compared in pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, remembered
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.item_sums import ItemSums
from harness.stats.inference.metric import SHARE, Metric, always

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.estimate import Estimate

MAX_STEPS = 2000
CONVERGED = 1e-9


def win_rates(wins: FloatArray) -> FloatArray:
    """Return (..., S): the share of its comparisons that each system won; nan without any.

    ``wins[..., a, b]`` is how often a was preferred to b, a tie counting half for both.
    """
    won, lost = wins.sum(axis=-1), wins.sum(axis=-2)
    return ratio(won, won + lost)


def bradley_terry(wins: FloatArray) -> FloatArray:
    """Fit the Bradley-Terry model: P(a is preferred to b) = 1 / (1 + exp(s_b - s_a)).

    Strengths s, (..., S), of (..., S, S) wins as in `win_rates`, by maximum likelihood: on the
    logit scale, with mean 0; nan where they are infinite or not identified, as some systems beat
    all others in every comparison, or were never compared with them.

    References
    ----------
    D. R. Hunter, MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32
    (2004), 384-406: the update, and when the maximum exists.

    Examples
    --------
    >>> wins = np.array([[0.0, 3.0], [1.0, 0.0]])
    >>> np.round(np.diff(bradley_terry(wins)), 6)  # odds of 3 to 1
    array([-1.098612])
    """
    wins = np.asarray(wins, dtype=np.float64)
    n_systems = wins.shape[-1]
    flat = wins.reshape(-1, n_systems, n_systems)
    strengths = np.full((len(flat), n_systems), np.nan)
    fitted = _strongly_connected(flat)
    if fitted.any():
        strengths[fitted] = _maximize(flat[fitted])
    return strengths.reshape(*wins.shape[:-1])


def _strongly_connected(wins: FloatArray) -> np.ndarray:
    """Return (B,) bool: whether each system can be reached from each other by wins."""
    n_systems = wins.shape[-1]
    reached = (wins > 0) | np.eye(n_systems, dtype=np.bool_)
    for _ in range(max(1, int(np.ceil(np.log2(n_systems))))):
        reached = (reached.astype(np.float64) @ reached.astype(np.float64)) > 0
    return np.asarray(reached.all(axis=(-1, -2)))


def _maximize(wins: FloatArray) -> FloatArray:
    """Repeat Hunter's update until no strength moves; what has converged is left alone."""
    compared = wins + np.swapaxes(wins, -1, -2)
    won = wins.sum(axis=-1)
    weights = np.ones_like(won)
    rows = np.arange(len(wins))
    for _ in range(MAX_STEPS):
        current = weights[rows]
        sums = current[:, :, None] + current[:, None, :]
        updated = won[rows] / (compared[rows] / sums).sum(axis=-1)
        updated /= np.exp(np.log(updated).mean(axis=-1, keepdims=True))
        weights[rows] = updated
        rows = rows[np.abs(updated / current - 1.0).max(axis=-1) >= CONVERGED]
        if not rows.size:
            break
    return np.asarray(np.log(weights), dtype=np.float64)


def system_estimates(
    wins: FloatArray, systems: Sequence[str], *, resampling: Resampling
) -> dict[str, tuple[Estimate, Estimate]]:
    """Estimate the win rate and the Bradley-Terry strength of each system, with intervals.

    Parameters
    ----------
    wins : (n, S, S) array
        By item, as in `win_rates`.
    systems : sequence of str
        Their S names.
    resampling : Resampling
        How intervals are made.

    Returns
    -------
    dict of str to (Estimate, Estimate)
        NA with the reason "not_compared" or "not_identified".
    """
    n_systems = len(systems)

    def table(totals: FloatArray) -> FloatArray:
        return totals.reshape(*totals.shape[:-1], n_systems, n_systems)

    def of_system(
        of_all: Callable[[FloatArray], FloatArray], system: int, totals: FloatArray
    ) -> FloatArray:
        return of_all(totals)[..., system]

    rates = remembered(lambda totals: win_rates(table(totals)))
    strengths = remembered(lambda totals: bradley_terry(table(totals)))
    not_compared, not_identified = always("not_compared"), always("not_identified")
    metrics = [
        Metric(
            name=f"{name} {system}",
            value=partial(of_system, of_all, system),
            reason=reason,
            bounds=bounds,
        )
        for system in range(n_systems)
        for name, of_all, reason, bounds in (
            ("win_rate", rates, not_compared, SHARE),
            ("strength", strengths, not_identified, (-np.inf, np.inf)),
        )
    ]
    contributions = wins.reshape(len(wins), n_systems * n_systems)
    sums = ItemSums(contributions=contributions, metrics=tuple(metrics))
    estimates = estimate_sums({"": sums}, resampling=resampling)[""]
    return {
        name: (estimates[f"win_rate {i}"], estimates[f"strength {i}"])
        for i, name in enumerate(systems)
    }

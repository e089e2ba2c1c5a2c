"""Biases of the options that minimise the loss of a judge's most probable answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

N_PASSES = 3  # passes over the options


def fitted_steps(log_shares: FloatArray, losses: FloatArray, steps: FloatArray) -> IntArray:
    """Return the bias of each option that minimises the mean loss, as an index into ``steps``.

    The options are fitted in turn, one at a time, while the rest stay fixed. Among biases with the
    same loss, the middle one is chosen.

    Parameters
    ----------
    log_shares : (n, K) array
        Log-probabilities of the options.
    losses : (n, K) array
        Loss of each option on each item.
    steps : (S,) array
        The possible biases, in ascending order, in the unit of the log-probabilities. They must
        include 0.

    Returns
    -------
    (K,) int array
        Indices into ``steps``; the first option has no bias.

    Raises
    ------
    ValueError
        If there are no items, or an array has a different shape.
    """
    if not len(log_shares) or log_shares.shape != losses.shape:
        raise ValueError(
            "biases need at least one item, and each item needs a loss for every option"
        )
    k = log_shares.shape[1]
    places = np.full(k, int(np.searchsorted(steps, 0)))
    for _ in range(N_PASSES):
        before = places.copy()
        for option in range(1, k):
            lost = [
                mean_loss(log_shares, losses, _moved(steps[places], option, step)) for step in steps
            ]
            best = np.flatnonzero(np.isclose(lost, min(lost)))
            places[option] = best[len(best) // 2] if places[option] not in best else places[option]
        if (places == before).all():
            break
    return places


def mean_loss(log_shares: FloatArray, losses: FloatArray, biases: FloatArray) -> float:
    """Return the mean loss of the most probable options after adding (K,) biases.

    ``biases`` can also be (n, K).
    """
    chosen = (log_shares + biases).argmax(axis=1)
    return float(losses[np.arange(len(losses)), chosen].mean())


def _moved(biases: FloatArray, option: int, step: float) -> FloatArray:
    moved = np.array(biases, dtype=np.float64)
    moved[option] = step
    return moved

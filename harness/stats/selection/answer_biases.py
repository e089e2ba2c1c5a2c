"""Biases of the options under which a judge's most probable answer loses least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

N_PASSES = 3  # over the options


def fitted_steps(log_shares: FloatArray, losses: FloatArray, steps: FloatArray) -> IntArray:
    """Return the bias of each option, as a place among possible ones, with the least mean loss.

    One option at a time, in turn, with the others as they are. Of biases that lose the same, the
    one in the middle is chosen.

    Parameters
    ----------
    log_shares : (n, K) array
        Log-probabilities of the options.
    losses : (n, K) array
        What each option loses on each item.
    steps : (S,) array
        The possible biases, in ascending order, in the unit of the log-probabilities; 0 is one.

    Returns
    -------
    (K,) int array
        Places in ``steps``; the first option has no bias.

    Raises
    ------
    ValueError
        Without items, or with an array of another shape.
    """
    if not len(log_shares) or log_shares.shape != losses.shape:
        raise ValueError("biases need items, and a loss of each option on each")
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
    """Return what the most probable options lose on average with a bias of each option, (K,).

    ``biases`` can be (n, K), too.
    """
    chosen = (log_shares + biases).argmax(axis=1)
    return float(losses[np.arange(len(losses)), chosen].mean())


def _moved(biases: FloatArray, option: int, step: float) -> FloatArray:
    moved = np.array(biases, dtype=np.float64)
    moved[option] = step
    return moved

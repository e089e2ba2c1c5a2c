"""Errors of individual verdicts against several raters, and raters' errors by the same rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio, row_shares
from harness.stats.data.labels import modes

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.modes import ErrorKind

NO_ANSWER = -1


def single_answers(choices: FloatArray) -> IntArray:
    """Return the index of each item's most common option as an (n,) array, or -1.

    Items without an answer, or with a tie for the most common option, have -1.

    Parameters
    ----------
    choices : (n, K) array
        Number of times a judge chose each option, or its probabilities.
    """
    is_mode = modes(choices) == 1.0
    return np.where(is_mode.any(axis=1), is_mode.argmax(axis=1), NO_ANSWER)


def verdict_errors(human: RatingTable, answers: IntArray, kind: ErrorKind) -> FloatArray:
    """Return each verdict's error in [0, 1] as an (n,) array, or nan without a rating or an answer.

    Parameters
    ----------
    human : RatingTable
        The raters' answers.
    answers : (n,) array of int
        The index of the judge's chosen option; -1 if there is none.
    kind : {"majority", "rater", "set"}
        Definition of an error: "majority" (whether the answer differs from the option that most
        raters chose, with ties in equal parts), "rater" (the share of raters who chose a different
        option), or "set" (the share of raters whose response set does not contain it).
    """
    shares = {
        "majority": lambda: modes(human.forced_choice),
        "rater": lambda: row_shares(human.forced_choice),
        "set": lambda: row_shares(human.response_set) @ human.space.membership.T,
    }[kind]()
    agreeing = shares[np.arange(len(answers)), answers]
    return np.where(answers == NO_ANSWER, np.nan, np.clip(1.0 - agreeing, 0.0, 1.0))


def raters_errors(human: RatingTable, kind: ErrorKind) -> FloatArray:
    """Return (n,) mean errors of one rater against the rest, or nan with fewer than two raters.

    Parameters
    ----------
    human : RatingTable
        The raters' answers. A rater's choice is not compared with the same rater's set.
    kind : {"majority", "rater", "set"}
        As in `verdict_errors`.
    """
    chosen = np.asarray(human.forced_choice, dtype=np.float64)
    if kind == "set":
        return _outside_sets(human, chosen)
    n_raters = chosen.sum(axis=1)
    total = np.zeros(len(chosen))
    for k in range(chosen.shape[1]):
        others = chosen - np.eye(chosen.shape[1])[k]
        others[chosen[:, k] == 0.0] = np.nan
        shares = (modes if kind == "majority" else row_shares)(others)
        total += np.nan_to_num(chosen[:, k] * (1.0 - shares[:, k]))
    return np.where(n_raters > 1.0, ratio(total, n_raters), np.nan)


def _outside_sets(human: RatingTable, chosen: FloatArray) -> FloatArray:
    """Return how often a rater's choice is outside a different rater's set, as an (n,) array."""
    sets = np.asarray(human.response_set, dtype=np.float64)
    members = np.asarray(human.space.membership, dtype=np.float64)
    n_pairs = chosen.sum(axis=1) * sets.sum(axis=1)
    inside = (chosen * (sets @ members.T)).sum(axis=1)
    if human.joint is not None:
        n_pairs = n_pairs - human.joint.sum(axis=(1, 2))
        inside = inside - np.einsum("nkv,kv->n", human.joint, members)
    return 1.0 - ratio(inside, n_pairs)

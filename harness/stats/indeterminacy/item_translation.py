"""F and its reverse item by item from paired ratings, by counting or shrunk towards the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, IntArray, frozen, ratio
from harness.stats.indeterminacy.translation import F_hat

if TYPE_CHECKING:
    from harness.stats.data.rating_table import RatingTable

STRENGTHS = (1e-3, 1e6)  # pseudo-pairs; beyond these the item, or the pool, decides alone
MIN_PAIRS = 2  # one pair in a column says nothing of how much items differ


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ItemTranslation:
    """F and its reverse of each item.

    Attributes
    ----------
    F : (n, K, V) array
        P(option k is chosen, given set v is endorsed). Columns sum to 1 and are zero off the
        support, or are nan where nothing says what they are.
    F_reverse : (n, V, K) array
        P(set v is endorsed, given option k is chosen). Columns sum to 1 or are nan.
    reasons : n strings
        Why an item is nan throughout: "no_pairs", or "not_identified" where it has forced choices
        and response sets from calls that did not know of each other. "" elsewhere.
    n_pairs : (n,) int array
        Pairs that were counted, those whose choice is outside their set left out.
    strength, strength_reverse : float or None
        Pseudo-pairs by which columns of F and of its reverse are shrunk: 0 for none, inf where the
        items differ no more than chance, None where no item tells.
    """

    F: FloatArray
    F_reverse: FloatArray
    reasons: tuple[str, ...]
    n_pairs: IntArray
    strength: float | None = 0.0
    strength_reverse: float | None = 0.0

    def __repr__(self) -> str:
        return f"ItemTranslation({len(self.F)} items, {self.n_pairs.sum()} pairs)"


def F_hat_by_item(table: RatingTable) -> ItemTranslation:
    """Count F and its reverse from the paired ratings of each item.

    Parameters
    ----------
    table : RatingTable
        With ``joint``: who endorsed a set and, with it in mind, chose an option.

    Returns
    -------
    ItemTranslation
        An item with calls but no pair is nan, "not_identified": given the item, calls that did not
        know of each other are independent, and matching them would only return O.

    Notes
    -----
    F_i of Guerdan et al. 2025, section 3. On items whose ratings are all paired, F theta is O.
    """
    inside = _inside(table)
    return ItemTranslation(
        F=frozen(_shares(inside)),
        F_reverse=frozen(_shares(inside.swapaxes(1, 2))),
        reasons=_reasons(table, inside),
        n_pairs=frozen(inside.sum(axis=(1, 2))),
    )


def F_hat_shrunk(table: RatingTable) -> ItemTranslation:
    """Pull each item's F and its reverse towards the pool, as much as the items ask for.

    Parameters
    ----------
    table : RatingTable
        With ``joint``.

    Returns
    -------
    ItemTranslation
        Posterior means. An item without pairs is the pool. All nan without pairs, and where no item
        has two pairs in a column, so that nothing says how much items differ.

    Notes
    -----
    Empirical Bayes: each column of an item is drawn from a Dirichlet distribution with the pooled
    column as its mean and one strength common to all columns, which maximises the marginal
    (Dirichlet-multinomial) likelihood. The pool is zero off the support, hence so is the result.
    """
    inside, pool = _inside(table), F_hat(table)
    F, strength = _shrink(inside, pool.F)
    F_reverse, strength_reverse = _shrink(inside.swapaxes(1, 2), pool.F_reverse)
    unknown = "too_few_pairs" if inside.any() else "no_pairs"
    known = strength is not None or strength_reverse is not None
    return ItemTranslation(
        F=frozen(F),
        F_reverse=frozen(F_reverse),
        reasons=("" if known else unknown,) * len(inside),
        n_pairs=frozen(inside.sum(axis=(1, 2))),
        strength=strength,
        strength_reverse=strength_reverse,
    )


def _inside(table: RatingTable) -> IntArray:
    n = len(table.items)
    if table.joint is None:
        return np.zeros((n, *table.space.membership.shape), dtype=np.int64)
    return np.where(table.space.membership, table.joint, 0)


def _shares(counts: IntArray) -> FloatArray:
    return ratio(counts, counts.sum(axis=1, keepdims=True))


def _reasons(table: RatingTable, inside: IntArray) -> tuple[str, ...]:
    paired = inside.any(axis=(1, 2))
    called = table.forced_choice.any(axis=1) & table.response_set.any(axis=1)
    missing = np.where(called, "not_identified", "no_pairs")
    return tuple(np.where(paired, "", missing).tolist())


def _shrink(counts: IntArray, pool: FloatArray) -> tuple[FloatArray, float | None]:
    """Return posterior means (n, R, C) of (n, R, C) counts, and the strength of the prior."""
    strength = _strength(counts, pool)
    if strength is None:
        return np.full(counts.shape, np.nan), None
    if np.isinf(strength):
        return np.broadcast_to(pool, counts.shape).copy(), strength
    prior = strength * pool
    return ratio(counts + prior, counts.sum(axis=1, keepdims=True) + strength), strength


def _strength(counts: IntArray, pool: FloatArray) -> float | None:
    """Maximise the Dirichlet-multinomial likelihood of (n, R, C) counts around the (R, C) pool."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 -- takes a while to load
    from scipy.special import gammaln  # noqa: PLC0415 -- the same

    totals = counts.sum(axis=1)
    open_columns = (pool > 0).sum(axis=0) > 1
    telling = totals[:, open_columns]
    if not telling.size or telling.max() < MIN_PAIRS:
        return 0.0 if totals.any() and not open_columns.any() else None
    drawn = telling[telling > 0].astype(np.float64)
    i, r, c = np.nonzero(np.where(open_columns, counts, 0))
    seen, base = counts[i, r, c].astype(np.float64), pool[r, c]

    def cost(log_strength: float) -> float:
        a = np.exp(log_strength)
        hits = gammaln(a * base + seen) - gammaln(a * base)
        return float((gammaln(a + drawn) - gammaln(a)).sum() - hits.sum())

    low, high = np.log(STRENGTHS)
    found = minimize_scalar(cost, bounds=(low, high), method="bounded")
    no_spread = -float((seen * np.log(base)).sum())
    return float("inf") if no_spread <= found.fun + 1e-6 else float(np.exp(found.x))

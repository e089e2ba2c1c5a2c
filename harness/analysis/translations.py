"""Translation matrices: F and its reverse, pooled and by item, and selection effects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.analysis.serialize import DIGITS, Matrix, rows_of
from harness.stats import Estimate, F_hat
from harness.stats.indeterminacy.rater_error import selection_effects
from harness.stats.indeterminacy.translation import F_hat_by_item, F_hat_shrunk

if TYPE_CHECKING:
    from harness.analysis.estimates import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray, IntArray

MAX_ITEMS = 10  # shown of each matrix; `harness.stats.F_hat_shrunk` gives all


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMatrix:
    """Matrix of an item: counted, and shrunk towards the pool; None where undefined."""

    item: str
    n_pairs: int
    counted: Matrix
    shrunk: Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling:
    """The pooled matrix, and the distance of single items from it.

    Attributes
    ----------
    pooled : rows of numbers
        Columns sum to 1; None in a column without a pair.
    strength : float or None
        Pairs by which an item's columns are pulled towards the pool (empirical Bayes, Dirichlet).
    strength_reason : str
        Why there is none: "items_alike" where items differ no more than by chance, so that each is
        the pool; "too_few_pairs" where no item tells, and none is shrunk; "" where there is one.
    spread : rows of numbers
        Standard deviation of the shrunk matrices over the items with pairs.
    items : tuple of ItemMatrix
        Those furthest from the pool, at most 10.
    """

    pooled: Matrix
    strength: float | None
    strength_reason: str
    spread: Matrix
    items: tuple[ItemMatrix, ...]

    @classmethod
    def of(
        cls,
        table: RatingTable,
        n_pairs: IntArray,
        pooled: FloatArray,
        counted: FloatArray,
        shrunk: tuple[FloatArray, float | None],
    ) -> Self:
        """Summarise (n, R, C) matrices around their (R, C) pool."""
        by_item, strength = shrunk
        paired = np.flatnonzero(n_pairs)
        off = np.nan_to_num(np.abs(by_item[paired] - pooled)).sum(axis=(1, 2))
        furthest = paired[np.lexsort((paired, -n_pairs[paired], -off))][:MAX_ITEMS]
        alike = strength is not None and np.isinf(strength)
        reason = "items_alike" if alike else "too_few_pairs" if strength is None else ""
        return cls(
            pooled=rows_of(pooled, digits=DIGITS),
            strength=None if reason else strength,
            strength_reason=reason,
            spread=rows_of(by_item[paired].std(axis=0), digits=DIGITS),
            items=tuple(
                ItemMatrix(
                    item=table.items[i],
                    n_pairs=int(n_pairs[i]),
                    counted=rows_of(counted[i], digits=DIGITS),
                    shrunk=rows_of(by_item[i], digits=DIGITS),
                )
                for i in furthest.tolist()
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """Translation between response sets and choices, from paired ratings.

    Attributes
    ----------
    n_pairs, n_outside : int
        Pairs counted, and left out because the choice is not in its set.
    n_endorsed : tuple of int
        The pairs counted by response set: what each column of F rests on.
    n_items : int
        Items with pairs.
    reasons : dict of str to int
        Why the others have no matrix of their own: "no_pairs", or "not_identified" where their
        choices and sets come from independent calls.
    F : Pooling
        P(option chosen, given set endorsed): rows by option, columns by response set.
    F_reverse : Pooling
        P(set endorsed, given option chosen): rows by response set, columns by option.
    selection_effect : dict of str to Estimate
        Gamma of each option: how much likelier than chance it is chosen where it is endorsed.
    """

    n_pairs: int
    n_outside: int
    n_endorsed: tuple[int, ...]
    n_items: int
    reasons: dict[str, int]
    F: Pooling
    F_reverse: Pooling
    selection_effect: dict[str, Estimate]


def translated(p: Prepared, table: RatingTable) -> Translated | None:
    """Summarise the translation of one table; None without pairs."""
    pool = F_hat(table)
    if not pool.n_pairs:
        return None
    by_item, shrunk = F_hat_by_item(table), F_hat_shrunk(table)
    return Translated(
        n_pairs=pool.n_pairs,
        n_outside=pool.n_outside,
        n_endorsed=tuple(pool.n_endorsed.tolist()),
        n_items=sum(not reason for reason in by_item.reasons),
        reasons=dict(Counter(reason for reason in by_item.reasons if reason)),
        F=Pooling.of(table, by_item.n_pairs, pool.F, by_item.F, (shrunk.F, shrunk.strength)),
        F_reverse=Pooling.of(
            table,
            by_item.n_pairs,
            pool.F_reverse,
            by_item.F_reverse,
            (shrunk.F_reverse, shrunk.strength_reverse),
        ),
        selection_effect=selection_effects(
            table,
            resampling=p.resampling(groups=p.compared.groups),
        ),
    )

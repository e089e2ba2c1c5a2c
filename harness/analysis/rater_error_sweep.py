"""Rater error: how much of it a ranking of judges withstands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.beta_grid import replies_to_sets
from harness.stats.data.arrays import TOLERANCE
from harness.stats.indeterminacy.rater_error import error_matrix, mse_without_rater_error

if TYPE_CHECKING:
    from harness.analysis.prepared import Prepared


EPSILONS = tuple(step / 50 for step in range(16))  # 0 to 0.3: beyond, E is hardly undone


ETAS = (-1, 0, 1)


MAX_SETS = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterError:
    """The first judge by mse(srs/srs) where raters err: give another set than their stable one.

    Attributes
    ----------
    option : str
        The option that skewed errors favour or shun.
    epsilons : tuple of float
        How often raters may err.
    first : dict of str to tuple of tuple of str
        Who comes first at each, by the skew: "eta=0" errs to all other sets alike; "eta=1" rather
        to those with the option, "eta=-1" to those without, by a factor e.
    changes_at : dict of str to float or None
        By the skew, the least of these rates at which others come first than without error; None
        where that happens at none. Point estimates, without an interval.
    n_items : int
        Items that the raters and all judges with response sets gave sets of; no others are used.
    """

    option: str
    epsilons: tuple[float, ...]
    first: dict[str, tuple[tuple[str, ...], ...]]
    changes_at: dict[str, float | None]
    n_items: int


def swept_rater_error(p: Prepared) -> RaterError | None:
    """Rank judges under each supposed rater error; None where it can't be supposed."""
    human = p.compared.human
    judges = [table for table in p.ranked_tables() if table.response_set.any()]
    defined = human.response_set.any() and p.compared.positive and human.space.sets_known
    if not defined or len(judges) < 2 or len(human.space.sets) > MAX_SETS:  # noqa: PLR2004 -- to compare
        return None
    option, n_items = p.compared.positive[0], 0
    first = {}
    for eta in ETAS:
        errors = [error_matrix(human.space, rate, eta=eta, option=option) for rate in EPSILONS]
        mse_by_rate, n_items = mse_without_rater_error(
            human, judges, errors, n_replies=replies_to_sets(p)
        )
        first[f"eta={eta}"] = tuple(map(_first, mse_by_rate))
    if not n_items:
        return None
    return RaterError(
        n_items=n_items,
        option=option,
        epsilons=EPSILONS,
        first=first,
        changes_at={
            skew: next(
                (e for e, names in zip(EPSILONS, leaders, strict=True) if names != leaders[0]), None
            )
            for skew, leaders in first.items()
        },
    )


def _first(losses: dict[str, float]) -> tuple[str, ...]:
    least = min((loss for loss in losses.values() if not np.isnan(loss)), default=np.nan)
    return tuple(name for name, loss in losses.items() if loss <= least + TOLERANCE)

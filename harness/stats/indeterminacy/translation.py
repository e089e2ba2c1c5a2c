"""Translation between response sets and forced choices: F, its reverse, and beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, IntArray, frozen, ratio
from harness.stats.data.rating_table import ROW_SUM_TOLERANCE, check_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import Distributions, RatingTable

SweepVariant: TypeAlias = Literal["keeps_choice", "table_2"]


@dataclass(frozen=True, slots=True, repr=False)
class Translation:
    """Translation from accepted sets to single choices and back, estimated from pairs.

    Attributes
    ----------
    F : (K, V) array
        P(option k is chosen, given set v is accepted). Columns sum to 1 and are zero off the
        support; nan for a set that is in no pair.
    F_reverse : (V, K) array
        P(set v is accepted, given option k is chosen). Columns sum to 1; nan for an option that is
        in no pair.
    fitted_on : str
        "pooled": one F for all items.
    n_pairs : int
        Number of pairs counted.
    n_outside : int
        Number of pairs left out because the choice is not in the accepted set.
    n_endorsed : (V,) int array
        Number of pairs with each accepted set, from which each column of F is estimated.
    """

    F: FloatArray
    F_reverse: FloatArray
    fitted_on: str
    n_pairs: int
    n_outside: int
    n_endorsed: IntArray

    def __repr__(self) -> str:
        return f"Translation({self.fitted_on}, {self.n_pairs} pairs, {self.n_outside} outside)"


def F_hat(table: RatingTable) -> Translation:
    """Estimate F and its reverse from paired ratings, pooled over items.

    Parameters
    ----------
    table : RatingTable
        Table with ``joint``: ratings by people who accepted a set and, with it in mind, chose an
        option.

    Returns
    -------
    Translation
        The translation; all nan without pairs.

    Notes
    -----
    F[k, v] is zero when option k is not in set v (Guerdan et al. 2025, section 3). A pair that
    violates this is a rater's self-contradiction, not evidence that F is positive there, so it is
    only counted in ``n_outside``.
    """
    inside = pairs_by_item(table).sum(axis=0)
    n_joint = 0 if table.joint is None else int(table.joint.sum())
    return Translation(
        F=frozen(ratio(inside, inside.sum(axis=0, keepdims=True))),
        F_reverse=frozen(ratio(inside.T, inside.sum(axis=1)[None, :])),
        fitted_on="pooled",
        n_pairs=int(inside.sum()),
        n_outside=n_joint - int(inside.sum()),
        n_endorsed=frozen(inside.sum(axis=0)),
    )


def beta_contributions(table: RatingTable, positive: Iterable[str]) -> FloatArray:
    """Count the pairs that beta is estimated from: P(a positive option in S | negative chosen).

    Parameters
    ----------
    table : RatingTable
        Paired ratings in ``joint``.
    positive : iterable of str
        The positive options; all others are negative.

    Returns
    -------
    (n, 2) array
        Pairs with a negative choice whose set meets the positive options, and all pairs with a
        negative choice. Their pooled ratio is beta-hat; items without an eligible pair add nothing.
        Pairs whose choice is outside their set are left out.

    Notes
    -----
    beta of Guerdan et al. 2025, section 7.
    """
    space = table.space
    negative, meets = _negative(space, positive), space.meets(positive)
    if table.joint is None:
        return np.zeros((len(table.items), 2))
    eligible = space.membership & negative[:, None]
    chosen = np.einsum("nkv,kv->nv", table.joint, eligible.astype(np.int64)).astype(np.float64)
    return np.stack([chosen[:, meets].sum(axis=1), chosen.sum(axis=1)], axis=1)


def cross_call_contributions(dist: Distributions, positive: Iterable[str]) -> FloatArray:
    """Pair each forced choice with each response set for the same item, as the papers do.

    Returns
    -------
    (n, 2) array
        Per item, P(negative chosen) P(S meets positive) and P(negative chosen).

    Notes
    -----
    Given the item, the two calls are independent, so the pooled ratio does not estimate beta: if
    beta is 0.035, the ratio can be 0.35. It is reported as ``cross_call_beta`` for comparison.
    """
    space = dist.space
    negative, meets = _negative(space, positive), space.meets(positive)
    chosen = dist.O[:, negative].sum(axis=1)
    both = np.stack([chosen * dist.theta[:, meets].sum(axis=1), chosen], axis=1)
    unrated = np.isnan(both).any(axis=1, keepdims=True)
    return np.where(unrated, 0.0, both)


def _negative(space: OptionSpace, positive: Iterable[str]) -> BoolArray:
    return np.asarray(~space.option_mask(positive), dtype=np.bool_)


def sensitivity_family(
    space: OptionSpace,
    beta: float,
    adds: Mapping[str, Iterable[str]],
    *,
    variant: SweepVariant = "keeps_choice",
) -> FloatArray:
    """Return the reverse translation if a choice hides other options with probability beta.

    Parameters
    ----------
    space : OptionSpace
        Space that allows each option by itself, and each key of ``adds`` together with the options
        that it can hide.
    beta : float in [0, 1]
        Probability that a rater who chose a key of ``adds`` would accept the added options too.
    adds : mapping
        For each negative option, the options that can be accepted with it.
    variant : {"keeps_choice", "table_2"}
        Set that receives the mass beta. By default, this is the set of the chosen option and the
        added ones, because whoever chose an option accepts it. "table_2" follows the printed table,
        in which only the added options receive it, so that raters who said No no longer accept No.

    Returns
    -------
    F_reverse : (V, K) array
        Columns sum to 1. ``O @ F_reverse.T`` is theta.

    Raises
    ------
    ValueError
        If beta is not in [0, 1], or the space does not allow a needed set.

    Notes
    -----
    Guerdan et al. 2025, section 7 and appendix E, table 2.
    """
    if not 0.0 <= beta <= 1.0:
        raise ValueError(f"beta is {beta!r}; a probability must be in [0, 1]")
    F_reverse = np.zeros((len(space.sets), len(space.options)))
    for k, option in enumerate(space.options):
        added = tuple(adds.get(option, ()))
        if not added:
            F_reverse[space.set_index((option,)), k] = 1.0
            continue
        if option in added:
            raise ValueError(f"adds: {option!r} cannot be added to itself")
        hidden = (option, *added) if variant == "keeps_choice" else added
        F_reverse[space.set_index(hidden), k] = beta
        F_reverse[space.set_index((option,)), k] += 1.0 - beta
    return F_reverse


def reconstruct_theta(O: FloatArray, F_reverse: FloatArray) -> FloatArray:
    """Compute theta = F' O (Guerdan et al. 2025, theorem 3.3), as an (n, V) array.

    Rows are nan if those of ``O`` are. ValueError if the (n, K) ``O`` has no distribution per row,
    or the (V, K) ``F_reverse`` none per column.
    """
    K = np.asarray(F_reverse).shape[1]
    return check_rows(O, K, "O") @ check_rows(np.asarray(F_reverse).T, F_reverse.shape[0], "F'")


@dataclass(frozen=True, slots=True, repr=False)
class Decomposition:
    """Distributions that a rating model implies for one item.

    Attributes
    ----------
    theta : (V,) array
        Observed response-set distribution, E theta*.
    O : (K,) array
        Forced-choice distribution, F E theta*.
    omega, omega_star : (K,) arrays
        Multi-label vector of the observed and of the stable response sets.
    F_reverse : (V, K) array
        P(observed set v, given option k is chosen); nan if O is 0.
    E_reverse : (V, V) array
        P(stable set, given observed set), columns by observed set; nan if theta is 0.
    """

    theta: FloatArray
    O: FloatArray
    omega: FloatArray
    omega_star: FloatArray
    F_reverse: FloatArray
    E_reverse: FloatArray

    def recovered(self) -> FloatArray:
        """Stable response-set distribution recovered from O alone as E' F' O, a (V,) array."""
        theta = np.nan_to_num(self.F_reverse) @ self.O
        return np.asarray(np.nan_to_num(self.E_reverse) @ theta, dtype=np.float64)


def decompose(
    theta_star: FloatArray,
    F: FloatArray,
    membership: BoolArray,
    *,
    E: FloatArray | None = None,
) -> Decomposition:
    """Derive the observed distributions from stable sets, rater errors and selection effects.

    Parameters
    ----------
    theta_star : (V,) array
        Stable response-set distribution.
    F : (K, V) array
        P(option k chosen, given set v accepted); columns sum to 1, zero off the support.
    membership : (K, V) bool array
        Lambda: option k is in set v.
    E : (V, V) array, optional
        P(observed set, given stable set), columns by stable set. Default: no rater error.

    Returns
    -------
    Decomposition
        O, omega and the reverse matrices.

    Raises
    ------
    ValueError
        If a shape does not fit. If the numbers do not, the message begins with
        ``not_a_distribution`` or ``choice_outside_endorsed_set``.

    Notes
    -----
    O = F E theta* and its reverse: Guerdan et al. 2025, theorems 3.2 and 3.3.
    """
    theta_star, F, E, membership = _check_model(theta_star, F, membership, E)
    theta = E @ theta_star
    O = F @ theta
    return Decomposition(
        theta=theta,
        O=O,
        omega=membership @ theta,
        omega_star=membership @ theta_star,
        F_reverse=ratio(F.T * theta[:, None], O[None, :]),
        E_reverse=ratio(E.T * theta_star[:, None], theta[None, :]),
    )


def _check_model(
    theta_star: FloatArray, F: FloatArray, membership: BoolArray, E: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    inside = np.asarray(membership, dtype=np.bool_)
    V = inside.shape[1]
    error = np.eye(V) if E is None else np.asarray(E, dtype=np.float64)
    stable = np.asarray(theta_star, dtype=np.float64)
    choice = np.asarray(F, dtype=np.float64)
    shapes = {"theta": (stable, (V,)), "F": (choice, inside.shape), "E": (error, (V, V))}
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}; membership requires {shape}")
        off = np.abs(array.sum(axis=0) - 1.0)
        if not np.isfinite(array).all() or (array < 0).any() or (off > ROW_SUM_TOLERANCE).any():
            raise ValueError(f"not_a_distribution: {name} must be >= 0 with columns that sum to 1")
    if (choice[~inside] > TOLERANCE).any():
        k, v = np.argwhere((choice > TOLERANCE) & ~inside)[0]
        raise ValueError(
            f"choice_outside_endorsed_set: F[{k}, {v}] is {choice[k, v]:g}, but option {k} is not "
            f"in set {v}; F must be 0 there"
        )
    return stable, choice, error, inside


def pairs_by_item(table: RatingTable) -> IntArray:
    """Count each item's pairs whose choice is in the accepted set, as an (n, K, V) array."""
    n = len(table.items)
    if table.joint is None:
        return np.zeros((n, *table.space.membership.shape), dtype=np.int64)
    return np.where(table.space.membership, table.joint, 0)

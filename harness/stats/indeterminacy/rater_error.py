"""Rater error and selection effects: E, Gamma, identifiability, and rankings under error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray
from harness.stats.data.rating_table import check_rows
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray
    from harness.stats.data.option_space import OptionSpace

HALF = 0.5


def error_matrix(space: OptionSpace, epsilon: float, *, eta: float, option: str) -> FloatArray:
    """Return the probability that a rater reports each set, given the stable set.

    Parameters
    ----------
    space : OptionSpace
        Defines the rows and columns.
    epsilon : float in [0, 1]
        Probability that the observed set differs from the stable one.
    eta : float
        Skew: errors favour sets with ``option`` if positive, and sets without it if negative.
    option : str
        The option that decisions on items are about.

    Returns
    -------
    E : (V, V) array
        P(observed set v, given stable set v*), columns by stable set; columns sum to 1 and the
        diagonal is 1 - epsilon.

    Raises
    ------
    ValueError
        If epsilon is not a probability, eta is not finite, or there is no other set to err to.

    Notes
    -----
    Guerdan et al. 2025, section 6, name eta without a formula. Here the probability of an error to
    set v is proportional to exp(eta) if v contains the option, else to 1.

    Examples
    --------
    >>> from harness.stats import OptionSpace
    >>> space = OptionSpace.powerset(("toxic", "fine"))
    >>> error_matrix(space, 0.3, eta=0.0, option="toxic")[:, 0]
    array([0.7 , 0.15, 0.15])
    """
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon is {epsilon!r}; a probability must be in [0, 1]")
    if not np.isfinite(eta):
        raise ValueError(f"eta is {eta!r}; wanted a finite number")
    V = len(space.sets)
    if V == 1:
        if epsilon > 0.0:
            raise ValueError(
                f"epsilon is {epsilon!r}, but errors are impossible with only one response set"
            )
        return np.ones((1, 1))
    held = space.membership[space.option_index(option)]
    weight = np.exp(np.where(held, eta, 0.0) - max(eta, 0.0))  # at most 1, to avoid overflow
    others = np.repeat(weight[:, None], V, axis=1)
    np.fill_diagonal(others, 0.0)
    E: FloatArray = epsilon * others / others.sum(axis=0)
    np.fill_diagonal(E, 1.0 - epsilon)
    return E


def selection_effect(F: FloatArray, space: OptionSpace, *, option: str) -> FloatArray:
    """Return Gamma: how much likelier an accepted option is to be chosen than at random.

    Parameters
    ----------
    F : (..., K, V) array
        P(option k chosen, given set v accepted), for one table or per item.
    space : OptionSpace
        Defines k and v.
    option : str
        The chosen option.

    Returns
    -------
    Gamma : (...) array
        1 if the choice is random, 2 if the option is chosen twice as often. nan if F is unknown for
        a set that contains the option.

    Raises
    ------
    ValueError
        If F does not end in (K, V).

    Notes
    -----
    This is the mean of |S_v| F[option, v] over the sets that contain the option. The factor printed
    in Guerdan et al. 2025, section 6, is 1 / |S_v|, which is not 1 at chance.
    """
    array = np.asarray(F, dtype=np.float64)
    if array.shape[-2:] != space.membership.shape:
        raise ValueError(f"F has shape {array.shape}; wanted (..., K, V), {space.membership.shape}")
    k = space.option_index(option)
    held = space.membership[k]
    sizes = space.membership.sum(axis=0)[held]
    return np.asarray((sizes * array[..., k, held]).mean(axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Identifiability:
    """Result of testing whether forced choices alone determine which options raters accept.

    Attributes
    ----------
    fully_specified : bool
        Whether every rater has exactly one reasonable option.
    identified : bool
        Whether O determines theta; equal to ``fully_specified``, apart from rater error.
    reason : str
        Reason if it does not: "sets_unknown" or "sets_overlap"; else "".
    advice : str
        Change to make in the task; "" if nothing needs changing.
    """

    fully_specified: bool
    identified: bool
    reason: Reason
    advice: str


def identifiability(space: OptionSpace) -> Identifiability:
    """Return whether forced choices determine theta and, if not, how to change the task.

    Parameters
    ----------
    space : OptionSpace
        Options and admissible response sets of the task.

    Returns
    -------
    Identifiability
        The result, with advice if theta is not identified.

    Notes
    -----
    Guerdan et al. 2025, theorem 3.4 and the advice of its section 8: collect response sets, or add
    an option for those who find both answers of a yes/no task reasonable.
    """
    if space.fully_specified:
        return Identifiability(fully_specified=True, identified=True, reason="", advice="")
    sets = "sk raters for all options that apply (response sets) on about 100 items."
    advice = f"A{sets}"
    if len(space.options) == 2:  # noqa: PLR2004 -- a yes/no task
        advice = f"Add a third option, such as Maybe, or a{sets}"
    reason: Reason = "sets_overlap" if space.sets_known else "sets_unknown"
    return Identifiability(fully_specified=False, identified=False, reason=reason, advice=advice)


@dataclass(frozen=True, slots=True)
class ErrorShift:
    """Effect of rater error on comparing two judges by the MSE of multi-label vectors.

    Attributes
    ----------
    delta_star : float
        MSE of the first judge minus MSE of the second, against raters without error.
    delta : float
        MSE difference against raters as observed: ``delta_star - 2 shift``.
    shift : float
        (theta* - E theta*)' Lambda' Lambda (theta_w - theta_z).
    rank_preserved : bool
        Whether both differences have the same sign, neither being 0.
    printed_condition_holds : bool
        Whether ``shift`` has the sign of ``delta_star``: the printed condition, which neither
        follows from nor implies that the ranking is preserved.
    """

    delta_star: float
    delta: float
    shift: float
    rank_preserved: bool
    printed_condition_holds: bool


def rank_under_rater_error(
    theta_star: FloatArray,
    E: FloatArray,
    theta_judges: tuple[FloatArray, FloatArray],
    membership: BoolArray,
) -> ErrorShift:
    """Compare judges z and w before and after rater error. Raise ValueError if shapes differ.

    ``theta_star`` (V,) and ``theta_judges``, two (V,) arrays, are distributions over response sets,
    ``E`` (V, V) is P(observed set, given stable set), columns by stable set, and ``membership`` is
    Lambda (K, V).

    Notes
    -----
    Guerdan et al. 2025, lemma B.1. Its equation 8 has the wrong sign and is not an equivalence. The
    correct relation is delta = delta_star - 2 shift, so the opposite sign of shift suffices.
    """
    inside = np.asarray(membership, dtype=np.float64)
    V = inside.shape[1]
    stable, z, w = check_rows(np.array([theta_star, *theta_judges]), V, "theta")
    error = check_rows(np.asarray(E, dtype=np.float64).T, V, "E, by column,").T
    if error.shape != (V, V):
        raise ValueError(f"E has shape {error.shape}; wanted {(V, V)}")
    gram = inside.T @ inside

    def delta(theta: FloatArray) -> float:
        return float((theta - z) @ gram @ (theta - z) - (theta - w) @ gram @ (theta - w))

    delta_star, observed = delta(stable), delta(error @ stable)
    shift = float((stable - error @ stable) @ gram @ (w - z))
    return ErrorShift(
        delta_star=delta_star,
        delta=observed,
        shift=shift,
        rank_preserved=_sign(delta_star) * _sign(observed) > 0,
        printed_condition_holds=_sign(shift) == _sign(delta_star),
    )


def _sign(number: float) -> int:
    return 0 if abs(number) <= TOLERANCE else int(np.sign(number))

"""Forms of ratings that metrics compare: choices, shares, response sets and decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, ratio, reduced, row_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.rating_table import Distributions, Form
    from harness.stats.modes import AnswerKind


SMOOTHING = 0.5  # Dirichlet pseudo-count per option of the smoothed forms (Jeffreys)


MIN_RATINGS = 2  # one rating shows no noise


@dataclass(frozen=True, slots=True)
class Cut:
    """Decision rule: an item is positive if P(S meets ``positive``) is at least ``tau``."""

    tau: float
    positive: tuple[str, ...]


def reaches(shares: FloatArray, tau: float) -> FloatArray:
    """Return 1.0 for shares of at least tau, 0.0 for smaller shares, and nan for nan.

    This is the only comparison with tau in the package. It is ``>=`` (Guerdan et al. 2025, section
    2.2), with `TOLERANCE` because a share equal to tau can be stored with a rounding error below
    it.

    Raises
    ------
    ValueError
        If tau is not in (0, 1].
    """
    check_tau(tau)
    return np.where(np.isnan(shares), np.nan, (shares >= tau - TOLERANCE).astype(np.float64))


def check_tau(tau: float) -> None:
    """Reject a cut-off outside (0, 1]. With a cut-off of 0, every item would be positive."""
    if not 0.0 < tau <= 1.0:
        raise ValueError(f"tau is {tau!r}; a cut-off must be in (0, 1]")


def hard(O: FloatArray) -> FloatArray:
    """Return the most common option of each row as a one-hot vector, splitting ties evenly.

    Parameters
    ----------
    O : (n, K) array
        Forced-choice distribution.

    Returns
    -------
    (n, K) array
        Rows sum to 1, or are nan if ``O`` is nan.

    Notes
    -----
    a_hard of Guerdan et al. 2025, section 4. Splitting is the expectation over an independent
    uniform choice among the tied options.
    """
    if not O.size:
        return np.array(O, dtype=np.float64)
    greatest = reduced(np.maximum, O)[:, None]
    modal = (greatest - O <= TOLERANCE).astype(np.float64)  # a nan row has only zeros
    return row_shares(modal)


def tied_modes(h: FloatArray) -> BoolArray:
    """Return an (n,) mask of the rows of form ``h`` that have more than one mode."""
    return np.asarray((h > 0).sum(axis=1) > 1, dtype=np.bool_)


def aggregate(
    dist: Distributions, form: Form, *, tau: float, positive: Sequence[str]
) -> FloatArray:
    """Convert rating distributions to rating vectors.

    Parameters
    ----------
    dist : Distributions
        Rating distributions of n items.
    form : str
        A key of `FORMS`.
    tau : float in (0, 1]
        The cut-off, for forms that use one.
    positive : sequence of str
        The positive options, for decisions; without any, all decisions are nan.

    Returns
    -------
    (n, K) array, (n, 1) for decision, (n, 2 K) for the noisy forms, (n, m (1 + K)) for raters
        Rows are nan if nobody answered the elicitation that the form needs; for the noisy forms and
        raters, if fewer than two did.

    Raises
    ------
    ValueError
        If the form, tau or a positive option is unknown.

    Notes
    -----
    a_hard, a_soft, a_hrs, a_srs of Guerdan et al. 2025, section 4. The decision uses theta: a sum
    of omega over several positive options would exceed 1 when they are accepted together.
    """
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; wanted one of {', '.join(FORMS)}")
    vectors = FORMS[form].vectors(dist, tuple(positive))
    return reaches(vectors, tau) if FORMS[form].is_cut else vectors


def _with_pseudo_counts(shares: FloatArray, m: FloatArray, n_answers: int) -> FloatArray:
    """Smooth (n, K) shares from m ratings by adding `SMOOTHING` pseudo-counts per answer."""
    exact = np.isinf(m)
    counted = np.where(exact, 0.0, m)[:, None]
    smoothed = ratio(shares * counted + SMOOTHING, counted + SMOOTHING * n_answers)
    return np.where(exact[:, None], shares, smoothed)


def _with_noise(shares: FloatArray, m: FloatArray) -> FloatArray:
    """Return (n, 2 K) columns: shares from m ratings, then unbiased variance estimates."""
    noise = ratio(shares * (1.0 - shares), (m - 1.0)[:, None])
    both = np.hstack([shares, noise])
    return np.where((m >= MIN_RATINGS)[:, None], both, np.nan)


def _by_rater(dist: Distributions) -> FloatArray:
    """Return wins against each rater in (n, m (1 + K)) columns, or nan without comparisons."""
    n, K = dist.O.shape
    if dist.wins is None:
        return np.full((n, 1 + K), np.nan)
    compared = np.asarray(dist.wins[:, :, 0].any(axis=1), dtype=np.bool_)
    return np.where(compared[:, None], dist.wins.reshape(n, -1), np.nan)


def _meeting(dist: Distributions, positive: tuple[str, ...]) -> FloatArray:
    """Return an (n, 1) array of the probabilities that the accepted set has a positive option."""
    undecided = np.full(len(dist.space.sets), np.nan)
    meets = dist.space.meets(positive).astype(np.float64) if positive else undecided
    return np.asarray(dist.theta @ meets[:, None])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Aggregation:
    """A form of rating vectors, with its requirements and its conversion from distributions.

    Attributes
    ----------
    vectors : callable
        ``(Distributions, positive options) -> (n, D)``: rows are nan if nobody answered the
        elicitation.
    elicitation : {"forced_choice", "response_set"}
        Elicitation that it is derived from.
    symbol : str
        Its symbol in names of metrics: its own name, or the name of the form that it is a variant
        of; "" for none.
    words : str
        Its name in display names.
    meaning : str
        Its meaning, for the glossary; only for forms that are not variants.
    is_cut : bool
        Whether vectors indicate which shares reach the cut-off, and so change in steps with it.
    is_mode : bool
        Whether tied answers share a vector; such ties are counted.
    needs_positive : bool
        Whether it depends on positive options.
    needs_pairs : bool
        Whether an item needs two ratings to estimate noise.
    counts_ratings : bool
        Whether vectors depend on the number of ratings, so that a judge's vectors use all its
        replies.
    names_raters : bool
        Whether vectors distinguish individual raters, so that they must not be merged.
    """

    vectors: Callable[[Distributions, tuple[str, ...]], FloatArray]
    elicitation: AnswerKind
    symbol: str
    words: str
    meaning: str = ""
    is_cut: bool = False
    is_mode: bool = False
    needs_positive: bool = False
    needs_pairs: bool = False
    counts_ratings: bool = False
    names_raters: bool = False

    def __repr__(self) -> str:
        return f"Aggregation({self.words!r})"


# To add a form, add it here. Metrics that compare any two forms then support it.
FORMS: dict[Form, Aggregation] = {
    "h": Aggregation(
        vectors=lambda dist, _: hard(dist.O),
        elicitation="forced_choice",
        symbol="h",
        words="most common choice",
        meaning="the most common answer",
        is_mode=True,
    ),
    "s": Aggregation(
        vectors=lambda dist, _: dist.O,
        elicitation="forced_choice",
        symbol="s",
        words="choice shares",
        meaning="shares of choices",
    ),
    "hrs": Aggregation(
        vectors=lambda dist, _: dist.omega,
        elicitation="response_set",
        symbol="hrs",
        words="response set",
        meaning="options that at least tau of the raters accept",
        is_cut=True,
    ),
    "srs": Aggregation(
        vectors=lambda dist, _: dist.omega,
        elicitation="response_set",
        symbol="srs",
        words="response set shares",
        meaning="shares of raters that accept them",
    ),
    "smoothed": Aggregation(  # a Dirichlet pseudo-count per option
        vectors=lambda dist, _: _with_pseudo_counts(dist.O, dist.n_forced, dist.O.shape[1]),
        elicitation="forced_choice",
        symbol="s",
        words="smoothed choice shares",
        counts_ratings=True,
    ),
    "smoothed_srs": Aggregation(  # one of accepting each option, and one of not accepting it
        vectors=lambda dist, _: _with_pseudo_counts(dist.omega, dist.n_sets, 2),
        elicitation="response_set",
        symbol="srs",
        words="smoothed response set shares",
        counts_ratings=True,
    ),
    "noisy_s": Aggregation(  # O, and the variance of each entry due to the sampling of raters
        vectors=lambda dist, _: _with_noise(dist.O, dist.n_forced),
        elicitation="forced_choice",
        symbol="s",
        words="choice shares",
        needs_pairs=True,
        counts_ratings=True,
    ),
    "noisy_srs": Aggregation(
        vectors=lambda dist, _: _with_noise(dist.omega, dist.n_sets),
        elicitation="response_set",
        symbol="srs",
        words="response set shares",
        needs_pairs=True,
        counts_ratings=True,
    ),
    "raters": Aggregation(  # for raters only: the options that win against each of them
        vectors=lambda dist, _: _by_rater(dist),
        elicitation="forced_choice",
        symbol="",
        words="single raters",
        needs_pairs=True,
        names_raters=True,
    ),
    "decision": Aggregation(
        vectors=_meeting,
        elicitation="response_set",
        symbol="",
        words="decisions",
        is_cut=True,
        needs_positive=True,
    ),
}


ELICITATION_OF = {form: aggregation.elicitation for form, aggregation in FORMS.items()}


COMPARED_FORMS = tuple(form for form, aggregation in FORMS.items() if aggregation.symbol == form)

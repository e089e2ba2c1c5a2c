"""Rating tables: counts of ratings, rating distributions and rating vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np

from harness.stats.data.arrays import (
    TOLERANCE,
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    frozen,
    ratio,
    reduced,
    row_shares,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.modes import AnswerKind

ELICITATIONS = ("forced_choice", "response_set", "paired")
OUTCOMES = ("answered", "abstained", "refused", "invalid", "failed")
SMOOTHING = 0.5  # Dirichlet pseudo-count per option of the smoothed forms (Jeffreys)
MIN_RATINGS = 2  # one rating shows no noise
NO_POSITIVE: Final = "no_positive_option"  # reason where nothing can be decided
ROW_SUM_TOLERANCE = 1e-6  # how far a given distribution may be from summing to 1

Form: TypeAlias = str  # a key of FORMS


@dataclass(frozen=True, slots=True)
class Cut:
    """What is decided: positive where P(S meets ``positive``) >= ``tau``."""

    tau: float
    positive: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RatingTable:
    """Counts of the answers of one judge, or of all raters together, per item.

    Attributes
    ----------
    space : OptionSpace
        Says what column ``k`` and ``v`` stand for.
    name : str
        The judge's name, or e.g. ``"human"``.
    items : tuple of str
        The n item ids. Tables that are compared have the same ids in the same order; an item that
        nobody rated has zeros.
    forced_choice : (n, K) int array
        How often each option was chosen.
    response_set : (n, V) int array
        How often each response set was endorsed.
    joint : (n, K, V) int array or None
        How often option ``k`` was chosen by whoever had endorsed set ``v``. Pairs count in
        ``forced_choice`` and ``response_set`` too if they shall enter O and theta; nothing is added
        from here.
    outcomes : (n, 3, 5) int array
        How often each of `ELICITATIONS` ended in each of `OUTCOMES`.
    exact : frozenset of {"forced_choice", "response_set"}
        Of which of these two the rows are distributions in place of counts, zeros where there is
        none: what endlessly many replies would show.
    wins : (n, m, 1 + K) int array or None
        Of raters with names, which options would win against each; see `option_wins`.

    Raises
    ------
    ValueError
        If an item id is repeated, a shape does not fit, a count is negative or no integer, or a row
        of an exact table is no distribution.
    """

    space: OptionSpace
    name: str
    items: tuple[str, ...]
    forced_choice: IntArray | FloatArray
    response_set: IntArray | FloatArray
    joint: IntArray | None
    outcomes: IntArray
    exact: frozenset[AnswerKind] = frozenset()
    wins: IntArray | None = None

    def __post_init__(self) -> None:
        n, K, V = len(self.items), len(self.space.options), len(self.space.sets)
        if len(set(self.items)) < n:
            raise ValueError(f"items of {self.name!r}: an id is repeated; ids must be unique")
        shapes = {
            "forced_choice": (n, K),
            "response_set": (n, V),
            "joint": (n, K, V),
            "outcomes": (n, len(ELICITATIONS), len(OUTCOMES)),
        }
        object.__setattr__(self, "items", tuple(self.items))
        for field, shape in shapes.items():
            counts = getattr(self, field)
            if field in self.exact:
                object.__setattr__(
                    self, field, _check_shares(counts, shape, f"{field} of {self.name!r}")
                )
            elif counts is not None or field != "joint":
                object.__setattr__(self, field, _check_counts(counts, shape, self.name, field))
        if self.wins is not None:
            of_raters = (n, np.shape(self.wins)[1], 1 + K)
            wins = _check_counts(self.wins, of_raters, self.name, "wins")
            object.__setattr__(self, "wins", wins)

    @property
    def choice_counts(self) -> IntArray:
        """The (n, K) counts of choices; ValueError where these are distributions."""
        if "forced_choice" in self.exact:
            raise ValueError(f"{self.name!r} gives distributions, not counts")
        return np.asarray(self.forced_choice, dtype=np.int64)

    def __repr__(self) -> str:
        sums = self.outcomes.sum(axis=(0, 1))
        share = f"{sums[0] / sums.sum():.1%}" if sums.sum() else "nothing"
        n, K = len(self.items), len(self.space.options)
        return f"RatingTable({self.name!r}, {n} items, {K} options, answered {share})"

    def only(self, rows: IntArray) -> RatingTable:
        """Return the table of some of its items, (R,) places."""
        return RatingTable(
            space=self.space,
            name=self.name,
            items=tuple(self.items[i] for i in rows.tolist()),
            forced_choice=self.forced_choice[rows],
            response_set=self.response_set[rows],
            joint=None if self.joint is None else self.joint[rows],
            outcomes=self.outcomes[rows],
            exact=self.exact,
            wins=None if self.wins is None else self.wins[rows],
        )

    def masked(self, kept: BoolArray) -> RatingTable:
        """Return the table with the ratings of some items alone, (n,) bool; it keeps all items."""
        joint, wins = self.joint, self.wins
        return replace(
            self,
            forced_choice=self.forced_choice * kept[:, None],
            response_set=self.response_set * kept[:, None],
            joint=None if joint is None else joint * kept[:, None, None],
            outcomes=self.outcomes * kept[:, None, None],
            wins=None if wins is None else wins * kept[:, None, None],
        )

    @classmethod
    def count(
        cls,
        space: OptionSpace,
        name: str,
        items: Sequence[str],
        *,
        forced_choice: Iterable[tuple[str, str]] = (),
        response_set: Iterable[tuple[str, Iterable[str]]] = (),
        pairs: Iterable[tuple[str, Iterable[str], str]] = (),
    ) -> RatingTable:
        """Count answered ratings given as (item, option), (item, set) and (item, set, option).

        A pair counts as forced choice, as response set and jointly: the same rater gave both.

        Raises
        ------
        ValueError
            If an item, an option or a response set is unknown.
        """
        row = {item: i for i, item in enumerate(items)}
        n, K, V = len(row), len(space.options), len(space.sets)
        choices, sets = np.zeros((n, K), np.int64), np.zeros((n, V), np.int64)
        joint, outcomes = np.zeros((n, K, V), np.int64), np.zeros((n, 3, 5), np.int64)
        for item, option in forced_choice:
            i = _row(item, row)
            choices[i, space.option_index(option)] += 1
            outcomes[i, 0, 0] += 1
        for item, options in response_set:
            i = _row(item, row)
            sets[i, space.set_index(options)] += 1
            outcomes[i, 1, 0] += 1
        for item, options, option in pairs:
            i = _row(item, row)
            joint[i, space.option_index(option), space.set_index(options)] += 1
            outcomes[i, 2, 0] += 1
        return cls(
            space=space,
            name=name,
            items=tuple(items),
            forced_choice=choices + joint.sum(axis=2),
            response_set=sets + joint.sum(axis=1),
            joint=joint if joint.any() else None,
            outcomes=outcomes,
        )


def _row(item: str, row: dict[str, int]) -> int:
    if item not in row:
        raise ValueError(f"item {item!r} is rated but is not one of the {len(row)} items")
    return row[item]


def _check_shares(shares: FloatArray, shape: tuple[int, ...], name: str) -> FloatArray:
    array = np.asarray(shares, dtype=np.float64)
    sums = array.sum(axis=-1)
    is_row = (np.abs(sums - 1.0) <= ROW_SUM_TOLERANCE) | ~array.any(axis=-1)
    if array.shape != shape or (array < 0).any() or not is_row.all():
        raise ValueError(f"{name} is exact: its rows, {shape}, must sum to 1 or be 0")
    return frozen(array)


def _check_counts(counts: IntArray, shape: tuple[int, ...], name: str, field: str) -> IntArray:
    array = np.asarray(counts)
    if array.shape != shape:
        raise ValueError(
            f"{field} of {name!r} has shape {array.shape} but {shape} was expected from its items "
            "and option space; was it built for another task?"
        )
    if array.dtype.kind not in "iu":
        raise ValueError(f"{field} of {name!r} has dtype {array.dtype}; counts are integers")
    if array.size and array.min() < 0:
        raise ValueError(f"{field} of {name!r} holds a negative count")
    return frozen(array)


@dataclass(frozen=True, slots=True, repr=False)
class Distributions:
    """Rating distributions per item; a row is nan where nobody answered that elicitation.

    Attributes
    ----------
    space : OptionSpace
        Says what column ``k`` and ``v`` stand for.
    O : (n, K) array
        Forced-choice distribution.
    theta : (n, V) array
        Response-set distribution.
    omega : (n, K) array
        Multi-label vector: chance that an option is in the endorsed set, see `multilabel`.
    n_forced : (n,) array
        Number of forced-choice ratings behind each row of ``O``.
    n_sets : (n,) array
        Number of ratings behind each row of ``theta``.
    wins : (n, m, 1 + K) int array or None
        As in `RatingTable`.
    """

    space: OptionSpace
    O: FloatArray
    theta: FloatArray
    omega: FloatArray
    n_forced: FloatArray
    n_sets: FloatArray
    wins: IntArray | None = None

    def __post_init__(self) -> None:
        for field in ("O", "theta", "omega", "n_forced", "n_sets"):
            array = np.asarray(getattr(self, field), dtype=np.float64)
            object.__setattr__(self, field, frozen(array))

    def __repr__(self) -> str:
        forced, sets = (self.n_forced > 0).sum(), (self.n_sets > 0).sum()
        return f"Distributions({len(self.O)} items, {forced} with O, {sets} with theta)"

    @classmethod
    def of(cls, table: RatingTable) -> Self:
        """Turn counts into rating distributions, dividing by what arrived.

        Parameters
        ----------
        table : RatingTable
            The counts.

        Returns
        -------
        Distributions
            Rows are nan where nobody answered. In a fully specified space, theta comes from the
            forced choices if no response set was given at all: both then say the same.
        """
        sets, is_exact = answers_to(table, "response_set")
        sums = reduced(np.add, sets).astype(np.float64)
        endorsed = sets @ table.space.membership.T.astype(np.int64)
        return cls(
            space=table.space,
            O=row_shares(table.forced_choice),
            theta=ratio(sets, sums[:, None]),
            omega=ratio(endorsed, sums[:, None]),
            n_forced=n_choices(table),
            n_sets=_numbers(sets, is_exact=is_exact),
            wins=table.wins,
        )


def n_choices(table: RatingTable) -> FloatArray:
    """Return (n,): how many choices are behind each row, infinitely many where it is exact."""
    choices, is_exact = answers_to(table, "forced_choice")
    return _numbers(choices, is_exact=is_exact)


def answers_to(table: RatingTable, elicitation: AnswerKind) -> tuple[Counts, bool]:
    """Return the (n, K) choices or (n, V) response sets, and whether these are distributions.

    In a fully specified space the choices stand for the sets if none was given at all.
    """
    is_same = table.space.fully_specified and not table.response_set.any()
    if is_same and elicitation == "response_set":
        elicitation = "forced_choice"  # singletons keep the order of the options
    return getattr(table, elicitation), elicitation in table.exact


def _numbers(counts: Counts, *, is_exact: bool) -> FloatArray:
    """Return (n,): the sums of counts; of distributions infinite, or 0 where there is none."""
    n = reduced(np.add, counts).astype(np.float64)
    return np.where(n > 0, np.inf, 0.0) if is_exact else n


def multilabel(theta: FloatArray, space: OptionSpace) -> FloatArray:
    """Chance that each option is in a rater's response set.

    Parameters
    ----------
    theta : (n, V) array
        Response-set distribution per item. Rows sum to 1, or are all nan where nobody rated.
    space : OptionSpace
        Says what column ``v`` stands for.

    Returns
    -------
    omega : (n, K) array in [0, 1]
        Rows need not sum to 1: one response set may hold several options.

    Raises
    ------
    ValueError
        If ``theta`` has not one column per response set, or a row is no distribution.

    Notes
    -----
    omega = theta Lambda^T (Guerdan et al. 2025, section 4).

    Examples
    --------
    >>> from harness.stats import OptionSpace
    >>> multilabel(np.array([[0.5, 0.2, 0.3]]), OptionSpace.powerset(("toxic", "fine")))
    array([[0.8, 0.5]])
    """
    return omega_of(check_rows(theta, len(space.sets), "theta"), space)


def omega_of(theta: FloatArray, space: OptionSpace) -> FloatArray:
    """Return `multilabel` of rows that are not checked."""
    omega = theta @ space.membership.T.astype(np.float64)
    return np.asarray(np.minimum(omega, 1.0), dtype=np.float64)


def check_rows(rows: FloatArray, width: int, name: str) -> FloatArray:
    """Return (n, width) float rows that each sum to 1 or are all nan; ValueError otherwise."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != width:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"{name} has shape {array.shape}; wanted (n, {width})")
    rated = ~np.isnan(array).all(axis=1)
    present = array[rated]
    off = np.abs(present.sum(axis=1) - 1.0)
    if np.isnan(present).any() or (present < -TOLERANCE).any() or (off > ROW_SUM_TOLERANCE).any():
        raise ValueError(
            f"not_a_distribution: each row of {name} must be non-negative and sum to 1, or be all "
            "nan where nobody rated"
        )
    return array


def reaches(shares: FloatArray, tau: float) -> FloatArray:
    """Compare with the cut-off: 1.0 where a share is at least tau, 0.0 below, nan where nan.

    This is the only comparison with tau in the package. It is ``>=`` (Guerdan et al. 2025, section
    2.2), with `TOLERANCE` because a share that equals tau as a fraction may be stored a rounding
    error below it.

    Raises
    ------
    ValueError
        If tau is not in (0, 1].
    """
    check_tau(tau)
    return np.where(np.isnan(shares), np.nan, (shares >= tau - TOLERANCE).astype(np.float64))


def check_tau(tau: float) -> None:
    """Refuse a cut-off outside (0, 1]: at 0 everything is positive."""
    if not 0.0 < tau <= 1.0:
        raise ValueError(f"tau is {tau!r}; a cut-off lies in (0, 1]")


def hard(O: FloatArray) -> FloatArray:
    """One-hot mode of each row, ties of the mode split evenly.

    Parameters
    ----------
    O : (n, K) array
        Forced-choice distribution.

    Returns
    -------
    (n, K) array
        Rows sum to 1, or are nan where ``O`` is nan.

    Notes
    -----
    a_hard of Guerdan et al. 2025, section 4. Splitting is the expectation over an independent
    uniform choice among the tied options.
    """
    if not O.size:
        return np.array(O, dtype=np.float64)
    greatest = reduced(np.maximum, O)[:, None]
    modal = (greatest - O <= TOLERANCE).astype(np.float64)  # all 0 in a nan row
    return row_shares(modal)


def tied_modes(h: FloatArray) -> BoolArray:
    """Return (n,) bool: which rows of form ``h`` had more than one mode."""
    return np.asarray((h > 0).sum(axis=1) > 1, dtype=np.bool_)


def aggregate(
    dist: Distributions, form: Form, *, tau: float, positive: Sequence[str]
) -> FloatArray:
    """Turn rating distributions into rating vectors.

    Parameters
    ----------
    dist : Distributions
        Rating distributions of n items.
    form : str
        A key of `FORMS`.
    tau : float in (0, 1]
        The cut-off of forms that have one.
    positive : sequence of str
        The positive options of decision; without any, nothing can be decided: all nan.

    Returns
    -------
    (n, K) array, (n, 1) for decision, (n, 2 K) for the noisy forms, (n, m (1 + K)) for raters
        nan rows where nobody answered the elicitation that the form needs; for the noisy forms and
        raters, where fewer than two did.

    Raises
    ------
    ValueError
        If the form, tau or a positive option is unknown.

    Notes
    -----
    a_hard, a_soft, a_hrs, a_srs of Guerdan et al. 2025, section 4. The decision uses theta: a sum
    of omega over several positive options would exceed 1 when they are endorsed together.
    """
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; wanted one of {', '.join(FORMS)}")
    vectors = FORMS[form].vectors(dist, tuple(positive))
    return reaches(vectors, tau) if FORMS[form].is_cut else vectors


def _with_pseudo_counts(shares: FloatArray, m: FloatArray, n_answers: int) -> FloatArray:
    """Return (n, K) shares of m ratings and `SMOOTHING` pseudo-counts per answer."""
    exact = np.isinf(m)
    counted = np.where(exact, 0.0, m)[:, None]
    smoothed = ratio(shares * counted + SMOOTHING, counted + SMOOTHING * n_answers)
    return np.where(exact[:, None], shares, smoothed)


def _with_noise(shares: FloatArray, m: FloatArray) -> FloatArray:
    """Return (n, 2 K): shares of m ratings, and the unbiased estimate of their variance."""
    noise = ratio(shares * (1.0 - shares), (m - 1.0)[:, None])
    both = np.hstack([shares, noise])
    return np.where((m >= MIN_RATINGS)[:, None], both, np.nan)


def _by_rater(dist: Distributions) -> FloatArray:
    """Return (n, m (1 + K)): which options win against each rater; nan where none is compared."""
    n, K = dist.O.shape
    if dist.wins is None:
        return np.full((n, 1 + K), np.nan)
    compared = np.asarray(dist.wins[:, :, 0].any(axis=1), dtype=np.bool_)
    return np.where(compared[:, None], dist.wins.reshape(n, -1), np.nan)


def _meeting(dist: Distributions, positive: tuple[str, ...]) -> FloatArray:
    """Return (n, 1): the chance that the endorsed set meets the positive options."""
    undecided = np.full(len(dist.space.sets), np.nan)
    meets = dist.space.meets(positive).astype(np.float64) if positive else undecided
    return np.asarray(dist.theta @ meets[:, None])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Aggregation:
    """A form of rating vectors: how they are made of rating distributions, and what they need.

    Attributes
    ----------
    vectors : callable
        ``(Distributions, positive options) -> (n, D)``: nan rows where nobody answered the
        elicitation.
    elicitation : {"forced_choice", "response_set"}
        What it is made of.
    symbol : str
        What it is called in the names of metrics: its own name, or that of the form of which it is
        a variant; "" for none.
    words : str
        What it is called in display names.
    meaning : str
        What it is, for the glossary; of forms that are no variants.
    is_cut : bool
        Whether vectors say where shares reach the cut-off, and so move in steps with it.
    is_mode : bool
        Whether tied answers share a vector; they are counted.
    needs_positive : bool
        Whether it is defined by positive options.
    needs_pairs : bool
        Whether an item needs two ratings, which show their noise.
    counts_ratings : bool
        Whether vectors depend on the number of ratings, so that those of a judge are of all its
        replies.
    names_raters : bool
        Whether vectors tell the raters apart, so that they stay as they are.
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


# To add a form is to add it here; metrics that compare any two forms then have it, too.
FORMS: dict[Form, Aggregation] = {
    "h": Aggregation(
        vectors=lambda dist, _: hard(dist.O),
        elicitation="forced_choice",
        symbol="h",
        words="most frequent choice",
        meaning="the most frequent answer",
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
    "smoothed_srs": Aggregation(  # one of endorsing each option, and one of not endorsing it
        vectors=lambda dist, _: _with_pseudo_counts(dist.omega, dist.n_sets, 2),
        elicitation="response_set",
        symbol="srs",
        words="smoothed response set shares",
        counts_ratings=True,
    ),
    "noisy_s": Aggregation(  # beside O the variance that the draw of raters gives each entry
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
    "raters": Aggregation(  # of the raters alone: what wins against each of them
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

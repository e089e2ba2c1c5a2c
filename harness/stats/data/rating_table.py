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
    from collections.abc import Iterable, Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.modes import AnswerKind

ELICITATIONS = ("forced_choice", "response_set", "paired")
OUTCOMES = ("answered", "abstained", "refused", "invalid", "failed")
NO_POSITIVE: Final = "no_positive_option"  # reason if no decision is possible
ROW_SUM_TOLERANCE = 1e-6  # tolerance for the sum of a given distribution

Form: TypeAlias = str  # a key of FORMS


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RatingTable:
    """Answer counts per item, for one judge or for all raters combined.

    Attributes
    ----------
    space : OptionSpace
        Defines the columns ``k`` and ``v``.
    name : str
        The judge's name, or e.g. ``"human"``.
    items : tuple of str
        The n item ids. Tables to compare must have the same ids in the same order; items that
        nobody rated have zeros.
    forced_choice : (n, K) int array
        Number of times each option was chosen.
    response_set : (n, V) int array
        Number of times each response set was selected.
    joint : (n, K, V) int array or None
        Number of times option ``k`` was chosen by someone with set ``v``. For pairs to enter O and
        theta, they must also be counted in ``forced_choice`` and ``response_set``; they are not
        added automatically.
    outcomes : (n, 3, 5) int array
        Number of times each of `ELICITATIONS` ended in each of `OUTCOMES`.
    exact : frozenset of {"forced_choice", "response_set"}
        Names of the two tables that contain distributions instead of counts (zeros if there is
        none), as for infinitely many replies.
    wins : (n, m, 1 + K) int array or None
        For named raters, whether each option would win against each rater; see `option_wins`.

    Raises
    ------
    ValueError
        If an item id is repeated, a shape does not fit, a count is negative or not an integer, or a
        row of an exact table is not a distribution.
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
        """Return the (n, K) choice counts. Raise ValueError if these are distributions."""
        if "forced_choice" in self.exact:
            raise ValueError(f"{self.name!r} contains distributions, not counts")
        return np.asarray(self.forced_choice, dtype=np.int64)

    def __repr__(self) -> str:
        sums = self.outcomes.sum(axis=(0, 1))
        share = f"{sums[0] / sums.sum():.1%}" if sums.sum() else "nothing"
        n, K = len(self.items), len(self.space.options)
        return f"RatingTable({self.name!r}, {n} items, {K} options, answered {share})"

    def only(self, rows: IntArray) -> RatingTable:
        """Return a table with only the items at these indices."""
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
        """Keep all items, but remove the ratings of items outside an (n,) mask."""
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
        """Count answers given as (item, option), (item, set) and (item, set, option) tuples.

        A pair counts as forced choice, as response set and jointly, because one rater gave both.

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
        raise ValueError(
            f"{name} has distributions: it must have shape {shape}, and each row must sum to 1 or "
            "be all 0"
        )
    return frozen(array)


def _check_counts(counts: IntArray, shape: tuple[int, ...], name: str, field: str) -> IntArray:
    array = np.asarray(counts)
    if array.shape != shape:
        raise ValueError(
            f"{field} of {name!r} has shape {array.shape} but {shape} was expected from its items "
            "and option space; was it built for another task?"
        )
    if array.dtype.kind not in "iu":
        raise ValueError(f"{field} of {name!r} has dtype {array.dtype}; counts must be integers")
    if array.size and array.min() < 0:
        raise ValueError(f"{field} of {name!r} contains a negative count")
    return frozen(array)


@dataclass(frozen=True, slots=True, repr=False)
class Distributions:
    """Rating distributions per item. A row is nan if nobody answered that elicitation.

    Attributes
    ----------
    space : OptionSpace
        Defines the columns ``k`` and ``v``.
    O : (n, K) array
        Forced-choice distribution.
    theta : (n, V) array
        Response-set distribution.
    omega : (n, K) array
        Multi-label vector: probability that an option is in the accepted set, see `multilabel`.
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
        """Convert counts to rating distributions by dividing by the number of answers.

        Parameters
        ----------
        table : RatingTable
            The counts.

        Returns
        -------
        Distributions
            Rows are nan if nobody answered. In a fully specified space without any response sets,
            theta comes from the forced choices, because both are then equivalent.
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
    """Count each item's choices. An exact distribution counts as infinitely many."""
    choices, is_exact = answers_to(table, "forced_choice")
    return _numbers(choices, is_exact=is_exact)


def answers_to(table: RatingTable, elicitation: AnswerKind) -> tuple[Counts, bool]:
    """Return the (n, K) choices or (n, V) response sets, and whether they are distributions.

    In a fully specified space, choices are used as sets if there are no sets at all.
    """
    is_same = table.space.fully_specified and not table.response_set.any()
    if is_same and elicitation == "response_set":
        elicitation = "forced_choice"  # singleton sets are in the order of the options
    return getattr(table, elicitation), elicitation in table.exact


def _numbers(counts: Counts, *, is_exact: bool) -> FloatArray:
    """Return (n,) sums of counts. Distributions sum to infinity, or to 0 if they are empty."""
    n = reduced(np.add, counts).astype(np.float64)
    return np.where(n > 0, np.inf, 0.0) if is_exact else n


def multilabel(theta: FloatArray, space: OptionSpace) -> FloatArray:
    """Return the probability that each option is in a rater's response set.

    Parameters
    ----------
    theta : (n, V) array
        Response-set distribution per item. Rows sum to 1, or are all nan if nobody rated.
    space : OptionSpace
        Defines column ``v``.

    Returns
    -------
    omega : (n, K) array in [0, 1]
        Rows need not sum to 1, because a response set can contain several options.

    Raises
    ------
    ValueError
        If ``theta`` does not have one column per response set, or a row is not a distribution.

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
    """Compute `multilabel` without checking the rows."""
    omega = theta @ space.membership.T.astype(np.float64)
    return np.asarray(np.minimum(omega, 1.0), dtype=np.float64)


def check_rows(rows: FloatArray, width: int, name: str) -> FloatArray:
    """Return (n, width) float rows. Raise ValueError unless each sums to 1 or is entirely nan."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != width:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"{name} has shape {array.shape}; wanted (n, {width})")
    rated = ~np.isnan(array).all(axis=1)
    present = array[rated]
    off = np.abs(present.sum(axis=1) - 1.0)
    if np.isnan(present).any() or (present < -TOLERANCE).any() or (off > ROW_SUM_TOLERANCE).any():
        raise ValueError(
            f"not_a_distribution: each row of {name} must be non-negative and sum to 1, or be all "
            f"nan for an item without ratings"
        )
    return array

"""Scores for how well a value agrees with the other ratings of its item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from harness.stats.alt_test.panel import numbers
from harness.stats.data.arrays import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.data.arrays import FloatArray, IntArray

    Similarity: TypeAlias = Callable[[Hashable, Hashable], float]
    Pairing: TypeAlias = Callable[[Sequence[Hashable], IntArray, IntArray], FloatArray]

NamedScore: TypeAlias = Literal["accuracy", "neg_rmse", "rank_neg_rmse"]
NAMED_SCORES: tuple[NamedScore, ...] = ("accuracy", "neg_rmse", "rank_neg_rmse")
Score: TypeAlias = "NamedScore | Similarity | SimilarityTable"


@dataclass(frozen=True, slots=True, repr=False)
class SimilarityTable:
    """Similarities between any two of K labels.

    Attributes
    ----------
    labels : K values
        Every possible value of a rater or judge.
    values : (K, K) array
        Rows are the values scored, columns the values they are compared with. Higher is more
        similar.
    """

    labels: Sequence[Hashable]
    values: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        if shape != (len(self.labels),) * 2 or not np.isfinite(self.values).all():
            raise ValueError(
                f"similarity has shape {shape} for {len(self.labels)} labels; "
                "wanted one finite number per pair of labels"
            )

    def __repr__(self) -> str:
        return f"SimilarityTable({len(self.labels)} labels)"


def similarities(score: Score, labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
    """Compare values pairwise: 1 or 0, minus the absolute difference, or the similarity.

    Parameters
    ----------
    score : str, callable or SimilarityTable
        As in `aligner`; ranks are compared as numbers.
    labels : sequence
        The distinct values.
    x, y : (N,) int arrays
        Indices into ``labels``.
    """
    if score == "accuracy":
        return equality(labels, x, y)
    if isinstance(score, SimilarityTable):
        return table_pairing(score)(labels, x, y)
    if callable(score):
        return function_pairing(score)(labels, x, y)
    number = numbers(labels, "ratings")
    return -np.abs(number[x] - number[y])


def equality(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:  # noqa: ARG001 -- the shape of a pairing
    """Return 1 if two values are equal, else 0."""
    return np.asarray(x == y, dtype=np.float64)


def table_pairing(table: SimilarityTable) -> Pairing:
    """Return a function that looks up similarities. It raises ValueError for unknown values."""
    place = {label: k for k, label in enumerate(table.labels)}

    def pairing(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
        row = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        if (row[x] < 0).any() or (row[y] < 0).any():
            raise ValueError("unknown_label: a value has no row in the similarity table")
        return np.asarray(table.values, dtype=np.float64)[row[x], row[y]]

    return pairing


def function_pairing(similarity: Similarity) -> Pairing:
    """Return a function that compares each distinct pair once.

    It raises ValueError for similarities that are not finite.
    """

    def pairing(labels: Sequence[Hashable], x: IntArray, y: IntArray) -> FloatArray:
        pairs, place = np.unique(x * len(labels) + y, return_inverse=True)
        left, right = np.divmod(pairs, max(len(labels), 1))
        values = np.array(
            [
                float(similarity(labels[i], labels[j]))
                for i, j in zip(left.tolist(), right.tolist(), strict=True)
            ]
        )
        if not np.isfinite(values).all():
            raise ValueError("similarity returned a number that is not finite")
        return values[place]

    return pairing


DENSE = 8  # most cells per rating in an item-by-value table
# Scores closer than this share of their scale are equal: rounding errors must not break ties.
TIE = 1e-9


@dataclass(frozen=True, slots=True, repr=False)
class OtherRatings:
    """Basis of comparison for each of R ratings: the item's other raters, or one reference.

    Attributes
    ----------
    panel : Panel
        The ratings.
    weight : (R,) array
        Quality of each rating's rater.
    reference : Coded or None
        The expert's or gold value per item; None to use the other raters.
    total : (R,) array
        Summed quality of the other raters of each rating's item; nan if there are none.
    """

    panel: Panel
    weight: FloatArray
    reference: Coded | None
    total: FloatArray

    @classmethod
    def of(cls, panel: Panel, weight: FloatArray, reference: Coded | None) -> OtherRatings:
        """Sum the quality of the item's other raters for each rating."""
        alone = panel.ratings_per_item < 2  # noqa: PLR2004 -- oneself and one more
        total = np.where(alone, np.nan, panel.sums(weight))[panel.of_item]
        total -= weight
        return cls(panel, weight, reference, total)

    @property
    def labels(self) -> Sequence[Hashable]:
        """Labels for coding verdicts: the panel's values, then those in the reference."""
        return self.panel.labels if self.reference is None else self.reference.labels

    def mean(self, sums: FloatArray) -> FloatArray:
        """Divide (R,) weighted sums over the other raters by their quality, or nan if none."""
        return np.asarray(sums / self.total)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum (R,) weighted values over the item's other raters."""
        item, added = self.panel.of_item, self.weight * values
        of_item = self.panel.sums(added)
        for at in blocks(len(item)):
            added[at] = of_item[item[at]] - added[at]
        return added


class Aligner(Protocol):
    """Scores of ratings and verdicts against the same reference values. See `aligner`."""

    @property
    def human(self) -> FloatArray:
        """Score each of R ratings. The score is nan if there is nothing to compare it with."""

    @property
    def tolerance(self) -> float:
        """Largest difference between scores that counts as a tie."""

    def judge(self, verdicts: Coded) -> FloatArray:
        """Score the item's verdict in place of each of R ratings, or nan if it is unanswered."""


def aligner(score: Score, others: OtherRatings) -> Aligner:
    """Return the aligner for a score.

    Parameters
    ----------
    score : str, callable or SimilarityTable
        ``"accuracy"``: share of other raters with the same value. ``"neg_rmse"``: minus the root
        mean squared difference from the other raters' numbers. ``"rank_neg_rmse"``: the same for
        ranks within each person's own ranking of the items. A function or table: mean similarity to
        the other raters' values, ``similarity(value scored, other value)``.
    others : OtherRatings
        The ratings to compare with.

    Raises
    ------
    ValueError
        If the score is unknown.
    """
    if score == "accuracy":
        return Paired.of(equality, others)
    if score in ("neg_rmse", "rank_neg_rmse"):
        return Numeric.of(others, ranks=score == "rank_neg_rmse")
    if isinstance(score, SimilarityTable):
        return Paired.of(table_pairing(score), others)
    if callable(score):
        return Paired.of(function_pairing(score), others)
    raise ValueError(f"score is {score!r}; wanted one of {NAMED_SCORES}, a function or a table")


@dataclass(frozen=True, slots=True, repr=False)
class Numeric:
    """Negative RMSE, replaced by a number that has the same order.

    The squared differences between x and the other raters' values sum to W (x - centre)^2 plus a
    constant, where centre is their mean. So |x - centre| orders an item's values as RMSE does.
    """

    others: OtherRatings
    centre: FloatArray
    human: FloatArray
    tolerance: float
    ranks: bool

    @classmethod
    def of(cls, others: OtherRatings, *, ranks: bool) -> Numeric:
        """Convert the ratings to numbers, or to each rater's ranks."""
        panel = others.panel
        x = numbers(panel.labels, "ratings")[panel.code]
        scale = float(np.ptp(x)) if x.size else 0.0
        if ranks:
            x, scale = relative_ranks(panel.of_rater, x), 1.0
        if others.reference is None:
            centre = others.sums(x)
            centre /= others.total  # in place, because new memory is expensive
        else:
            centre = item_numbers(others.reference, "reference", ranks=ranks)[panel.of_item]
        return cls(others, centre, _nearness(x, centre), TIE * scale, ranks)

    def judge(self, verdicts: Coded) -> FloatArray:
        """Score verdicts. See `Aligner`."""
        value = item_numbers(verdicts, "verdicts", ranks=self.ranks)
        return _nearness(value[self.others.panel.of_item], self.centre)


@dataclass(frozen=True, slots=True, repr=False)
class Paired:
    """Mean agreement or similarity with the other raters' values."""

    others: OtherRatings
    pairing: Pairing
    human: FloatArray
    tolerance: float

    @classmethod
    def of(cls, pairing: Pairing, others: OtherRatings) -> Paired:
        """Score the ratings."""
        panel = others.panel
        if others.reference is not None:
            human = _to_reference(pairing, others.labels, panel.code, others)
        elif pairing is equality:
            human = others.mean(_agreeing(others))
        else:
            human = others.mean(_similar(pairing, others))
        largest = np.nanmax(np.abs(human), initial=0.0, where=~np.isnan(human))
        return cls(others, pairing, human, TIE * float(largest))

    def judge(self, verdicts: Coded) -> FloatArray:
        """Score verdicts. See `Aligner`."""
        panel = self.others.panel
        code = verdicts.code[panel.of_item]
        if self.others.reference is not None:
            return _to_reference(self.pairing, verdicts.labels, code, self.others)
        values = _where_both(self.pairing, verdicts.labels, code, panel.code)
        if verdicts.present.all():
            return self.others.mean(self.others.sums(values))
        score = self.others.mean(self.others.sums(np.nan_to_num(values)))
        return np.where(code < 0, np.nan, score)


def _nearness(values: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the negative distance of each value. This overwrites the values in memory."""
    values -= centre
    np.abs(values, out=values)
    return np.negative(values, out=values)


def relative_ranks(of_rater: IntArray, values: FloatArray) -> FloatArray:
    """Rank (R,) values within each rater, scaled to (0, 1). Ties share their mean rank.

    Ranks are ``(rank - 1/2) / number of items``, so that raters with different numbers of items can
    be compared. If all rated the same items, this is the paper's ranking on a different scale.
    """
    order = np.lexsort((values, of_rater))
    rater, value = of_rater[order], values[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (rater[1:] != rater[:-1]) | (value[1:] != value[:-1])
    run = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    length = np.diff(np.append(first, len(order)))
    n = np.bincount(of_rater)
    before = np.concatenate([[0], np.cumsum(n)])[rater]
    ranks = np.empty(len(order))
    ranks[order] = (first[run] - before + length[run] / 2.0) / n[rater]
    return ranks


def item_numbers(coded: Coded, name: str, *, ranks: bool) -> FloatArray:
    """Return an (n,) array with each item's number or relative rank. Missing values are nan."""
    present = coded.present
    used = np.flatnonzero(np.bincount(coded.code[present], minlength=len(coded.labels)))
    number = np.full(len(coded.labels), np.nan)
    number[used] = numbers([coded.labels[c] for c in used.tolist()], name)
    values = np.full(len(coded.code), np.nan)
    values[present] = number[coded.code[present]]
    if ranks:
        values[present] = relative_ranks(
            np.zeros(int(present.sum()), dtype=np.int64), values[present]
        )
    return values


def _to_reference(
    pairing: Pairing, labels: Sequence[Hashable], code: IntArray, others: OtherRatings
) -> FloatArray:
    assert others.reference is not None
    return _where_both(pairing, labels, code, others.reference.code[others.panel.of_item])


def _where_both(
    pairing: Pairing, labels: Sequence[Hashable], x: IntArray, y: IntArray
) -> FloatArray:
    """Compare two (N,) arrays of codes. The result is nan where a code is missing."""
    both = (x >= 0) & (y >= 0)
    if both.all():
        return pairing(labels, x, y)
    values = np.full(len(x), np.nan)
    values[both] = pairing(labels, x[both], y[both])
    return values


def _agreeing(others: OtherRatings) -> FloatArray:
    """Return the (R,) total weight of the other raters who gave the same value."""
    panel = others.panel
    same = panel.of_item * len(panel.labels) + panel.code
    if len(panel.items) * len(panel.labels) > DENSE * len(same):
        _, same = np.unique(same, return_inverse=True)
    return np.asarray(np.bincount(same, others.weight)[same] - others.weight, dtype=np.float64)


def _similar(pairing: Pairing, others: OtherRatings) -> FloatArray:
    """Return each rating's weighted similarity to the other raters' values, as an (R,) array."""
    panel = others.panel
    row, other = pairs(panel)
    values = pairing(panel.labels, panel.code[row], panel.code[other])
    added = np.bincount(row, others.weight[other] * values, len(panel.code))
    return added.astype(np.float64)  # integers if there are no pairs


def pairs(panel: Panel) -> tuple[IntArray, IntArray]:
    """Return the indices of every two ratings of the same item, in both orders."""
    return _pairs_within(panel.ratings_per_item)


def pairs_by_block(panel: Panel) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield `pairs` for one block of items at a time, to save memory."""
    m = panel.ratings_per_item
    first = np.cumsum(m) - m
    for at in blocks(len(m)):
        row, other = _pairs_within(m[at])
        yield row + first[at.start], other + first[at.start]


def _pairs_within(m: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of every two ratings of an item, given each item's number of ratings."""
    of_item, first = np.repeat(np.arange(len(m)), m), np.cumsum(m) - m
    per_row = m[of_item]
    row = np.repeat(np.arange(len(of_item)), per_row)
    other = np.arange(len(row))
    other += np.repeat(first[of_item] - (np.cumsum(per_row) - per_row), per_row)
    is_other = row != other
    return row[is_other], other[is_other]

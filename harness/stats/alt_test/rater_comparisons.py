"""Comparison of a judge with each rater of a panel.

In a pool of many raters each of whom rated a few items, all work is linear in the number of
ratings: what items add to the sums of each rater is a sparse matrix, with a row ``k * m + rater``
for the k-th sum of each of m raters, and a column per unit that is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.margin_tests import signed_rank, student
from harness.stats.alt_test.panel import UNANSWERED, Coded
from harness.stats.alt_test.scoring import OtherRatings, aligner
from harness.stats.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    blocks,
    median,
    ratio,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from scipy.sparse import csr_array

    from harness.stats.alt_test.margin_tests import Moments
    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.procedure import AltTestDesign
    from harness.stats.alt_test.scoring import Aligner
    from harness.stats.inference.bootstrap import Resamples

Test: TypeAlias = Literal["t", "wilcoxon", ""]

MINUS, TIED, PLUS, SQUARES = range(4)  # rows of a judge's sums
N_OUTCOMES = 3
TABLE = 1 << 22  # cells of a table of p-values by counts, up to which one is made,
PER_CELL = 32  # and up to how many cells per p-value


@dataclass(frozen=True, slots=True, repr=False)
class Entering:
    """How many items enter the test of a judge.

    Attributes
    ----------
    n_items : int
        All.
    n_eligible : int
        With enough ratings, answered or not.
    n_counted : int
        That enter.
    n_unanswered : int
        Eligible ones without a verdict.
    n_rated : (C,) int array
        How many of those that enter have 0, 1, 2, ... ratings.
    """

    n_items: int
    n_eligible: int
    n_counted: int
    n_unanswered: int
    n_rated: IntArray

    def __repr__(self) -> str:
        return f"Entering({self.n_counted} of {self.n_items} items)"

    @property
    def ratings_per_item(self) -> float | None:
        """Median over the items that enter; None without any."""
        return median(np.arange(len(self.n_rated)), self.n_rated) if self.n_counted else None


@dataclass(frozen=True, slots=True, repr=False)
class RaterComparisons:
    """One judge against the raters: one entry per rating that counts.

    Attributes
    ----------
    item, rater : (D,) int arrays
        Of each comparison.
    outcome : (D,) int array
        The rater's win indicator less the judge's, plus 1: 0 where the judge aligned better, 1 in a
        tie (both win), 2 where the rater did.
    weight : (D,) array or None
        The inverse share of the item's label; None for 1 throughout.
    entering : Entering
        The items.
    """

    item: IntArray
    rater: IntArray
    outcome: IntArray
    weight: FloatArray | None
    entering: Entering

    def counts(self, n_raters: int) -> IntArray:
        """Count each rater's outcomes: (m, 3)."""
        counts = np.zeros(N_OUTCOMES * n_raters, dtype=np.int64)
        for at in blocks(len(self.rater)):
            cell = self.rater[at] * N_OUTCOMES + self.outcome[at]
            counts += np.bincount(cell, minlength=len(counts))
        return counts.reshape(n_raters, N_OUTCOMES)

    def sums(self, counts: IntArray) -> FloatArray:
        """Add up the weights of each rater's outcomes: (3, m), or (4, m) with weights.

        The rows are the weights of the items on which the judge was closer, of ties, and of the
        items on which the rater was; and with weights, their squares. ``counts`` are those of
        `counts`.
        """
        if self.weight is None:
            return counts.T.astype(np.float64)
        m = len(counts)
        by_outcome = np.bincount(
            self.outcome.astype(np.int64) * m + self.rater, self.weight, N_OUTCOMES * m
        )
        squares = np.bincount(self.rater, self.weight**2, m)
        return np.vstack([by_outcome.reshape(N_OUTCOMES, m), squares])

    def matrix(self, columns: IntArray, n_columns: int, n_raters: int) -> csr_array:
        """Return what items add to the `sums`, as a sparse (3 m or 4 m, C) array.

        Parameters
        ----------
        columns : (n,) int array
            To which column an item adds; a negative number leaves it out.
        n_columns, n_raters : int
            C and m.
        """
        from scipy.sparse import csr_array  # noqa: PLC0415 -- heavy

        column, weight = columns[self.item], self.weight
        row = self.outcome.astype(np.int64) * n_raters + self.rater
        n_sums = N_OUTCOMES
        if weight is not None:
            row = np.concatenate([row, N_OUTCOMES * n_raters + self.rater])
            column, weight = np.tile(column, 2), np.concatenate([weight, weight**2])
            n_sums += 1
        kept = column >= 0
        added = np.ones(kept.sum()) if weight is None else weight[kept]
        shape = (n_sums * n_raters, n_columns)
        return csr_array((added, (row[kept], column[kept])), shape=shape)


@dataclass(frozen=True, slots=True, repr=False)
class ScoredPanel:
    """A panel with its ratings scored: all that does not depend on the judge.

    Attributes
    ----------
    panel, design : Panel, AltTestDesign
        The ratings, and how they are tested.
    others, aligner : OtherRatings, Aligner
        Whom values are compared with, and how.
    quality : (m,) array
        Of the raters.
    n_ratings : (n,) int array
        Ratings of each item.
    eligible : (n,) bool array
        Items with enough ratings, and with a reference where the design has one.
    rows : (R,) bool array
        Ratings that count if the judge answered their item.
    n_rated : (C,) int array
        How many eligible items have 0, 1, 2, ... ratings.
    """

    panel: Panel
    design: AltTestDesign
    others: OtherRatings
    aligner: Aligner
    quality: FloatArray
    n_ratings: IntArray
    eligible: BoolArray
    rows: BoolArray
    n_rated: IntArray

    @classmethod
    def of(cls, panel: Panel, design: AltTestDesign) -> ScoredPanel:
        """Check the design against the panel and score the ratings."""
        if panel.rater_ids == "positional":
            raise ValueError(
                "positional_raters: the raters' names are places within each item, not people; "
                "the alternative annotator test compares the judge with people"
            )
        quality = _quality(panel, design.quality)
        others = OtherRatings.of(panel, quality[panel.of_rater], _reference(panel, design))
        score_aligner, n_ratings = aligner(design.score, others), panel.ratings_per_item
        eligible = _eligible(others, n_ratings, design)
        rows = eligible[panel.of_item] & ~np.isnan(score_aligner.human)
        if design.expert is not None:
            rows &= panel.of_rater != panel.raters.index(design.expert)
        return cls(
            panel=panel,
            design=design,
            others=others,
            aligner=score_aligner,
            quality=quality,
            n_ratings=n_ratings,
            eligible=eligible,
            rows=rows,
            n_rated=np.bincount(n_ratings[eligible]),
        )

    def coded(self, verdicts: Mapping[str, Hashable] | Coded) -> Coded:
        """Code verdicts with the values of the panel and the reference first."""
        if not isinstance(verdicts, Coded):
            return self.panel.coded(verdicts, labels=self.others.labels)
        if len(verdicts.code) != len(self.panel.items):
            raise ValueError(
                f"verdicts are coded for {len(verdicts.code)} items; the panel has "
                f"{len(self.panel.items)}"
            )
        labels = tuple(self.others.labels)
        if verdicts.labels[: len(labels)] == labels:
            return verdicts
        codes = zip(self.panel.items, verdicts.code.tolist(), strict=True)
        values = {item: verdicts.labels[code] for item, code in codes if code != UNANSWERED}
        return self.panel.coded(values, labels=labels)

    def against(self, verdicts: Coded) -> RaterComparisons:
        """Compare a judge's verdicts with every rating that counts."""
        panel, rows, answered = self.panel, self.rows, verdicts.present
        counted = self.eligible
        if self.design.unanswered == "exclude" and not answered.all():
            counted = self.eligible & answered
            rows = rows & counted[panel.of_item]
        at = slice(None) if rows.all() else rows
        lead = self.aligner.judge(verdicts)
        lead -= self.aligner.human
        return RaterComparisons(
            item=panel.of_item[at],
            rater=panel.of_rater[at],
            outcome=_outcome(lead[at], self.aligner.tolerance),
            weight=self._weights(rows),
            entering=self._entering(counted, answered),
        )

    def _entering(self, counted: BoolArray, answered: BoolArray) -> Entering:
        """Count the items that enter, of those that are eligible."""
        same = counted is self.eligible
        return Entering(
            n_items=len(counted),
            n_eligible=int(self.eligible.sum()),
            n_counted=int(counted.sum()),
            n_unanswered=int((self.eligible & ~answered).sum()),
            n_rated=self.n_rated if same else np.bincount(self.n_ratings[counted]),
        )

    def _weights(self, rows: BoolArray) -> FloatArray | None:
        if self.design.weighting == "none":
            return None
        rater, shares = self.panel.of_rater[rows], _class_shares(self.others)[rows]
        by_class = np.zeros((len(self.panel.raters), shares.shape[1]))
        np.add.at(by_class, rater, shares)
        n = by_class.sum(axis=1, keepdims=True)
        return np.asarray((shares * np.nan_to_num(ratio(n, by_class))[rater]).sum(axis=1))


def _outcome(lead: FloatArray, tolerance: float) -> IntArray:
    """Turn the judge's lead into an outcome; nan, no verdict, is a loss."""
    outcome = (~(lead >= -tolerance)).astype(np.int8)
    outcome -= lead > tolerance
    outcome += 1
    return outcome


def _eligible(others: OtherRatings, n_ratings: IntArray, design: AltTestDesign) -> BoolArray:
    voices = n_ratings + (0 if design.gold is None else 1)
    enough = np.asarray(voices >= design.min_raters_per_item, dtype=np.bool_)
    return enough if others.reference is None else enough & others.reference.present


def _quality(panel: Panel, quality: Mapping[str, float] | None) -> FloatArray:
    if quality is None:
        return np.ones(len(panel.raters))
    missing = [rater for rater in panel.raters if rater not in quality]
    if missing:
        raise ValueError(f"quality has no number for raters {missing}")
    of_rater = np.array([float(quality[rater]) for rater in panel.raters])
    if not (np.isfinite(of_rater) & (of_rater > 0)).all():
        raise ValueError("quality has a number that is not positive")
    return of_rater


def _reference(panel: Panel, design: AltTestDesign) -> Coded | None:
    if design.expert is not None:
        return panel.coded(panel.ratings_of(design.expert), "expert")
    return None if design.gold is None else panel.coded(design.gold, "gold")


def _class_shares(others: OtherRatings) -> FloatArray:
    """Split each rating's item over the labels that are its gold label: (R, K), rows sum to 1."""
    panel, n_labels = others.panel, len(others.labels)
    if others.reference is not None:
        return np.eye(n_labels)[others.reference.code[panel.of_item]]
    counts = np.zeros((len(panel.items), n_labels))
    np.add.at(counts, (panel.of_item, panel.code), 1.0)
    left = counts[panel.of_item]
    left[np.arange(len(left)), panel.code] -= 1.0
    modes = left == left.max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(modes / modes.sum(axis=1, keepdims=True))


def weight_of(sums: FloatArray) -> FloatArray:
    """Return the weight of the items each rater is compared on: (3 or 4, m, ...) to (m, ...)."""
    return np.asarray(sums[MINUS] + sums[TIED] + sums[PLUS], dtype=np.float64)


def advantages(sums: FloatArray) -> FloatArray:
    """Share of its items on which the judge is at least as good as each rater: (m, ...)."""
    return ratio(sums[MINUS] + sums[TIED], weight_of(sums))


def moments(sums: FloatArray, eps: float) -> Moments:
    """Do the one-sided t-test of each rater: sums (3 or 4, m, ...) to arrays (m, ...)."""
    weighted = len(sums) > N_OUTCOMES
    weight, minus, plus = weight_of(sums), sums[MINUS], sums[PLUS]
    squares = sums[SQUARES] if weighted else weight
    return student(weight, plus - minus, plus + minus, squares, eps=eps, weighted=weighted)


def p_values(sums: FloatArray, tests: Sequence[Test], eps: float) -> FloatArray:
    """Test each rater: sums (3 or 4, m, ...) to p-values (m, ...); nan where there is no test."""
    p = np.full(sums.shape[1:], np.nan)
    for test in set(tests) - {""}:
        chosen = np.array([test_of_rater == test for test_of_rater in tests])
        tested = sums if chosen.all() else sums[:, chosen]
        if len(sums) > N_OUTCOMES:
            p[chosen] = moments(tested, eps).p
        else:
            p[chosen] = _p_of_counts(tested, test, eps)
    return p


def _p_of_counts(sums: FloatArray, test: Test, eps: float) -> FloatArray:
    """Test from counts of outcomes, (3, ...), each different triple of them once: (...).

    Resamples come to the same counts over and over.
    """
    counts = sums.reshape(N_OUTCOMES, -1).astype(np.int64)
    if not counts.size:
        return np.empty(sums.shape[1:])
    counts -= (least := counts.min(axis=1, keepdims=True))
    spans = tuple((counts.max(axis=1) + 1).tolist())
    if prod(spans) <= min(TABLE, PER_CELL * counts.shape[1]):
        cell = np.ravel_multi_index(tuple(counts), spans)
        occurs = np.zeros(prod(spans), dtype=np.bool_)
        occurs[cell] = True
        cells = np.flatnonzero(occurs)
        table = np.empty(len(occurs))
        table[cells] = _p_of_triples(np.array(np.unravel_index(cells, spans)) + least, test, eps)
        return np.asarray(table[cell].reshape(sums.shape[1:]), dtype=np.float64)
    if test == "t":
        return moments(sums, eps).p
    triples, place = np.unique(counts, axis=1, return_inverse=True)
    return _p_of_triples(triples + least, test, eps)[place].reshape(sums.shape[1:])


def _p_of_triples(triples: IntArray, test: Test, eps: float) -> FloatArray:
    if test == "t":
        return moments(triples.astype(np.float64), eps).p
    return np.array([_exact_p(*triple, eps) for triple in triples.T.tolist()])


@lru_cache(maxsize=1 << 16)
def _exact_p(minus: int, tied: int, plus: int, eps: float) -> float:
    """Return the exact p-value, cached: judges and designs come to the same counts."""
    return signed_rank(minus, tied, plus, eps).p_exact if minus + tied + plus else np.nan


def share_won(rejected: BoolArray, p: FloatArray, quality: FloatArray) -> FloatArray:
    """Divide the quality of the raters beaten by that of the raters with a p-value: (...)."""
    return ratio(rejected @ quality, ~np.isnan(p) @ quality)


CELLS = 1 << 21  # numbers held at once: 16 MiB
EXACT = 1 << 24  # whole numbers below this are exact in single precision, which is twice as fast


def sums_by_resample(
    matrices: Sequence[csr_array], resamples: Resamples, n_raters: int
) -> Iterator[tuple[int, slice, FloatArray]]:
    """Yield the sums of each matrix in each resample, some resamples at a time.

    Parameters
    ----------
    matrices : sequence of (P * m, C) sparse arrays
        Of one dtype, in which the sums are added up.
    resamples : Resamples
        Of C units.
    n_raters : int
        m.

    Yields
    ------
    j, at, sums : int, slice, (P, m, b) array
        Which matrix, which resamples, and its sums in these.
    """
    step, start = max(1, CELLS // max(matrices[0].shape)), 0
    for block in resamples.blocks():
        for first in range(0, len(block), step):
            weights: FloatArray = np.ascontiguousarray(
                block[first : first + step].T, dtype=matrices[0].dtype
            )
            at = slice(start, start + weights.shape[1])
            for j, matrix in enumerate(matrices):
                sums = (matrix @ weights).astype(np.float64, copy=False)
                yield j, at, sums.reshape(-1, n_raters, weights.shape[1])
            start = at.stop


def means_left_out(
    matrix: csr_array,
    sums: FloatArray,
    values: FloatArray,
    value: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the mean over raters of a value with each unit left out in turn: (U,).

    Parameters
    ----------
    matrix : (P * m, U) sparse array
        What each unit adds.
    sums : (P, m) array
        Over all units.
    values : (m,) array
        Of these sums; nan for raters who do not enter.
    value : callable
        Sums (P, E) to values (E,), nan where undefined.

    Returns
    -------
    (U,) array
        nan where the value of no rater is defined.
    """
    m = len(values)
    by_unit = matrix.tocoo()
    row, unit = by_unit.coords
    row, rater = np.divmod(row, m)
    pairs, place = np.unique(unit.astype(np.int64) * m + rater, return_inverse=True)
    unit, rater = np.divmod(pairs, m)
    left = sums[:, rater]
    np.subtract.at(left, (row, place), by_unit.data)
    entering = ~np.isnan(values)
    changed = np.where(entering[rater], value(left), np.nan)
    lost = entering[rater] & np.isnan(changed)
    change = np.nan_to_num(changed) - np.nan_to_num(values)[rater]
    total = np.nansum(values) + np.bincount(unit, change, matrix.shape[1])
    n_lost = np.bincount(unit[lost], minlength=matrix.shape[1])
    return ratio(total, entering.sum() - n_lost)

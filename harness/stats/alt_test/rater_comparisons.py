"""A judge against each rater of a panel, item by item, and what the sums over items are worth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.margin_tests import signed_rank, student
from harness.stats.alt_test.panel import UNANSWERED, Coded
from harness.stats.alt_test.scoring import Others, aligner
from harness.stats.data.arrays import BoolArray, Counts, FloatArray, IntArray, blocks, ratio
from harness.stats.inference.multiple_testing import benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.scoring import Aligner

Test: TypeAlias = Literal["t", "wilcoxon", ""]

JUDGE, RATER, DIFFERENCE, SQUARE, WEIGHT, WEIGHT_SQUARE = range(6)
N_SUMS = 6
N_OUTCOMES = 3
# Rows: the judge closer, a tie, the rater closer. Columns: the six sums, for a weight of 1.
OUTCOMES = np.array([[1, 0, -1, 1, 1, 1], [1, 1, 0, 0, 1, 1], [0, 1, 1, 1, 1, 1]])


@dataclass(frozen=True, slots=True, repr=False)
class Duels:
    """One judge against the raters: one entry per rating that counts.

    Attributes
    ----------
    item, rater : (D,) int arrays
        Of each duel.
    outcome : (D,) int array
        The rater's win indicator less the judge's, plus 1: 0 where the judge aligned better, 1 in a
        tie (both win), 2 where the rater did.
    weight : (D,) array or None
        The inverse share of the item's label; None for 1 throughout.
    counted : (n,) bool array
        Items that enter.
    eligible : (n,) bool array
        Items with enough ratings, answered or not.
    answered : (n,) bool array
        Items with a verdict.
    """

    item: IntArray
    rater: IntArray
    outcome: IntArray
    weight: FloatArray | None
    counted: BoolArray
    eligible: BoolArray
    answered: BoolArray

    def counts(self, n_raters: int) -> IntArray:
        """Count each rater's outcomes: (m, 3)."""
        counts = np.zeros(N_OUTCOMES * n_raters, dtype=np.int64)
        for at in blocks(len(self.rater)):
            cell = self.rater[at] * N_OUTCOMES + self.outcome[at]
            counts += np.bincount(cell, minlength=len(counts))
        return counts.reshape(n_raters, N_OUTCOMES)

    def parts(self, of_item: IntArray, n_units: int, n_raters: int) -> Counts:
        """Add up what each duel contributes, per unit and rater: (U, m, 3), or 4 with weights.

        The weight of each outcome and, where weights are not 1, their squares; see `six`.
        """
        cell = of_item[self.item] * n_raters + self.rater
        n_cells = n_units * n_raters
        place = cell * N_OUTCOMES + self.outcome
        parts: Counts = np.bincount(place, self.weight, n_cells * N_OUTCOMES)
        parts = parts.reshape(n_cells, N_OUTCOMES)
        if self.weight is not None:
            squares = np.bincount(cell, self.weight**2, n_cells)
            parts = np.column_stack([parts, squares]).astype(np.float64, copy=False)
        return parts.reshape(n_units, n_raters, parts.shape[1])

    def totals(self, counts: IntArray) -> FloatArray:
        """Return the six sums over all items, (m, 6), given the `counts`."""
        if self.weight is None:
            return six(counts)
        whole = np.zeros(len(self.counted), dtype=np.int64)
        return six(self.parts(whole, 1, len(counts))[0])


@dataclass(frozen=True, slots=True, repr=False)
class Ring:
    """A panel made ready for duels: all that does not depend on the judge.

    Attributes
    ----------
    panel, design : Panel, AltTestDesign
        The ratings, and what is asked.
    others, aligner : Others, Aligner
        Whom values are compared with, and how.
    quality : (m,) array
        Of the raters.
    n_ratings : (n,) int array
        Ratings of each item.
    eligible : (n,) bool array
        Items with enough ratings, and a reference where there is to be one.
    rows : (R,) bool array
        Ratings that count if the judge answered their item.
    ratings_per_item : float or None
        Median over the eligible items; None without any.
    """

    panel: Panel
    design: AltTestDesign
    others: Others
    aligner: Aligner
    quality: FloatArray
    n_ratings: IntArray
    eligible: BoolArray
    rows: BoolArray
    ratings_per_item: float | None

    @classmethod
    def of(cls, panel: Panel, design: AltTestDesign) -> Ring:
        """Check the design against the panel and score the ratings."""
        if panel.rater_ids == "positional":
            raise ValueError(
                "positional_raters: the raters' names are places within each item, not people; "
                "the alternative annotator test compares the judge with people"
            )
        quality = _quality(panel, design.quality)
        others = Others.of(panel, quality[panel.of_rater], _reference(panel, design))
        made, n_ratings = aligner(design.score, others), panel.ratings_per_item
        eligible = _eligible(others, n_ratings, design)
        rows = eligible[panel.of_item] & ~np.isnan(made.human)
        if design.expert is not None:
            rows &= panel.of_rater != panel.raters.index(design.expert)
        usual = median_of(n_ratings[eligible])
        return cls(panel, design, others, made, quality, n_ratings, eligible, rows, usual)

    def coded(self, verdicts: Mapping[str, Hashable] | Coded) -> Coded:
        """Code verdicts with the values of the panel and the reference first."""
        if not isinstance(verdicts, Coded):
            return self.panel.coded(verdicts, labels=self.others.labels)
        if len(verdicts.code) != len(self.panel.items):
            raise ValueError(
                f"verdicts are coded for {len(verdicts.code)} items; the panel has "
                f"{len(self.panel.items)}"
            )
        known = tuple(self.others.labels)
        if verdicts.labels[: len(known)] == known:
            return verdicts
        present = zip(self.panel.items, verdicts.code.tolist(), strict=True)
        values = {item: verdicts.labels[c] for item, c in present if c != UNANSWERED}
        return self.panel.coded(values, labels=known)

    def against(self, verdicts: Coded) -> Duels:
        """Compare a judge's verdicts with every rating that counts."""
        panel, rows, answered = self.panel, self.rows, verdicts.present
        counted = self.eligible
        if self.design.unanswered == "exclude" and not answered.all():
            counted = self.eligible & answered
            rows = rows & counted[panel.of_item]
        at = slice(None) if rows.all() else rows
        lead = self.aligner.judge(verdicts)
        lead -= self.aligner.human
        return Duels(
            item=panel.of_item[at],
            rater=panel.of_rater[at],
            outcome=_outcome(lead[at], self.aligner.tolerance),
            weight=self._weights(rows),
            counted=counted,
            eligible=self.eligible,
            answered=answered,
        )

    def _weights(self, rows: BoolArray) -> FloatArray | None:
        if self.design.weighting == "none":
            return None
        rater, shares = self.panel.of_rater[rows], _class_shares(self.others)[rows]
        by_class = np.zeros((len(self.panel.raters), shares.shape[1]))
        np.add.at(by_class, rater, shares)
        n = by_class.sum(axis=1, keepdims=True)
        return np.asarray((shares * np.nan_to_num(ratio(n, by_class))[rater]).sum(axis=1))


def median_of(numbers: IntArray) -> float | None:
    """Return the median of small whole numbers; None without any."""
    if not len(numbers):
        return None
    up_to, n = np.cumsum(np.bincount(numbers)), len(numbers)
    middle = np.searchsorted(up_to, [(n - 1) // 2, n // 2], side="right")
    return float(middle.sum()) / 2.0


def six(parts: Counts) -> FloatArray:
    """Turn parts (..., 3 or 4) into the six sums (..., 6).

    The two win indicators, their difference (rater minus judge) and its square, each times the
    weight; the weight; its square.
    """
    sums = np.asarray(parts[..., :N_OUTCOMES] @ OUTCOMES, dtype=np.float64)
    if parts.shape[-1] > N_OUTCOMES:
        sums[..., WEIGHT_SQUARE] = parts[..., N_OUTCOMES]
    return sums


def _outcome(lead: FloatArray, tolerance: float) -> IntArray:
    """Tell who aligned better from the judge's lead; nan, no verdict, is a loss."""
    outcome = (~(lead >= -tolerance)).astype(np.int8)
    outcome -= lead > tolerance
    outcome += 1
    return outcome


def _eligible(others: Others, n_ratings: IntArray, design: AltTestDesign) -> BoolArray:
    voices = n_ratings + (0 if design.gold is None else 1)
    enough = np.asarray(voices >= design.min_raters_per_item, dtype=np.bool_)
    return enough if others.reference is None else enough & others.reference.present


def _quality(panel: Panel, quality: Mapping[str, float] | None) -> FloatArray:
    if quality is None:
        return np.ones(len(panel.raters))
    missing = [rater for rater in panel.raters if rater not in quality]
    if missing:
        raise ValueError(f"quality has no number for raters {missing}")
    found = np.array([float(quality[rater]) for rater in panel.raters])
    if not (np.isfinite(found) & (found > 0)).all():
        raise ValueError("quality has a number that is not positive")
    return found


def _reference(panel: Panel, design: AltTestDesign) -> Coded | None:
    if design.expert is not None:
        return panel.coded(panel.ratings_of(design.expert), "expert")
    return None if design.gold is None else panel.coded(design.gold, "gold")


def _class_shares(others: Others) -> FloatArray:
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


def advantages(sums: FloatArray) -> FloatArray:
    """Share of its items on which the judge is at least as good as each rater: (..., m)."""
    return ratio(sums[..., JUDGE], sums[..., WEIGHT])


def p_values(
    sums: FloatArray, tests: Sequence[Test] | NDArray[np.str_], eps: float, *, weighted: bool
) -> FloatArray:
    """Test each rater: sums (..., m, 6) to p-values (..., m); nan where there is no test."""
    chosen = np.asarray(tests)
    w, d, squares, w2 = (sums[..., k] for k in (WEIGHT, DIFFERENCE, SQUARE, WEIGHT_SQUARE))
    p = student(w, d, squares, w2, eps=eps, weighted=weighted).p
    p = np.where(chosen == "t", p, np.nan)
    ranked = np.broadcast_to(chosen == "wilcoxon", p.shape)
    if ranked.any():
        p[ranked] = _ranked(sums[ranked], eps)
    return p


def _ranked(sums: FloatArray, eps: float) -> FloatArray:
    """Test from unweighted sums (N, 6), each distinct triple of outcome counts once: (N,)."""
    n, d, squares = (sums[:, k] for k in (WEIGHT, DIFFERENCE, SQUARE))
    counts = np.stack([(squares - d) / 2, n - squares, (squares + d) / 2], axis=-1)
    triples = np.rint(counts).astype(np.int64)
    base = int(triples.max(initial=0)) + 1  # a triple is a number of three digits to this base
    _, first, place = np.unique(
        triples @ np.array([base * base, base, 1]), return_index=True, return_inverse=True
    )
    return np.array([_exact_p(*one, eps) for one in triples[first].tolist()])[place]


@lru_cache(maxsize=1 << 16)
def _exact_p(minus: int, zero: int, plus: int, eps: float) -> float:
    """Remembered: judges are tested on the same resamples, and come to the same counts."""
    return signed_rank(minus, zero, plus, eps).p_exact if minus + zero + plus else np.nan


def winning_rates(p: FloatArray, quality: FloatArray, q: float) -> FloatArray:
    """Share of the tested raters, by quality, whose null is rejected: (..., m) to (...)."""
    return share_won(benjamini_yekutieli(p, q).rejected, p, quality)


def share_won(rejected: BoolArray, p: FloatArray, quality: FloatArray) -> FloatArray:
    """Divide the quality of the raters beaten by that of the raters with a p-value: (...)."""
    return ratio(rejected @ quality, ~np.isnan(p) @ quality)

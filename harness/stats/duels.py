"""A judge against each rater of a panel, item by item, and what the sums over items are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alignment import Others, aligner
from harness.stats.arrays import BoolArray, FloatArray, IntArray, ratio
from harness.stats.multiple_testing import benjamini_yekutieli
from harness.stats.win_tests import signed_rank, student

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.alignment import Aligner
    from harness.stats.alt_test_design import AltTestDesign
    from harness.stats.panel import Coded, Panel

Test: TypeAlias = Literal["t", "wilcoxon", ""]

JUDGE, RATER, DIFFERENCE, SQUARE, WEIGHT, WEIGHT_SQUARE = range(6)
N_SUMS = 6


@dataclass(frozen=True, slots=True, repr=False)
class Duels:
    """One judge against the raters: one entry per rating that counts.

    Attributes
    ----------
    item, rater : (D,) int arrays
        Of each duel.
    judge_wins, rater_wins : (D,) bool arrays
        Whose score is at least the other's; both in a tie.
    weight : (D,) array
        1, or the inverse share of the item's label.
    counted : (n,) bool array
        Items that enter.
    eligible : (n,) bool array
        Items with enough ratings, answered or not.
    answered : (n,) bool array
        Items with a verdict.
    """

    item: IntArray
    rater: IntArray
    judge_wins: BoolArray
    rater_wins: BoolArray
    weight: FloatArray
    counted: BoolArray
    eligible: BoolArray
    answered: BoolArray

    def sums(self, of_item: IntArray, n_units: int, n_raters: int) -> FloatArray:
        """Add up what each duel contributes, per unit and rater: (U, m, 6).

        The six: the two win indicators, their difference (rater minus judge) and its square, each
        times the weight; the weight; its square.
        """
        cell = of_item[self.item] * n_raters + self.rater
        judge, rater = self.judge_wins.astype(np.float64), self.rater_wins.astype(np.float64)
        each = (judge, rater, rater - judge, (rater - judge) ** 2, np.ones(len(cell)), self.weight)
        added = [np.bincount(cell, self.weight * one, n_units * n_raters) for one in each]
        sums = np.stack(added, axis=-1).astype(np.float64)  # whole numbers when there are no duels
        return sums.reshape(n_units, n_raters, N_SUMS)


@dataclass(frozen=True, slots=True, repr=False)
class Ring:
    """A panel made ready for duels: all that does not depend on the judge."""

    panel: Panel
    design: AltTestDesign
    others: Others
    aligner: Aligner
    quality: FloatArray

    @classmethod
    def of(cls, panel: Panel, design: AltTestDesign) -> Ring:
        """Check the design against the panel and score the ratings."""
        if panel.rater_ids == "positional":
            raise ValueError(
                "positional_raters: the raters' names are places within each item, not people; "
                "the alternative annotator test compares the judge with people"
            )
        quality = _quality(panel, design.quality)
        others = Others(panel, quality[panel.of_rater], _reference(panel, design))
        return cls(panel, design, others, aligner(design.score, others), quality)

    def against(self, verdicts: Coded) -> Duels:
        """Compare a judge's verdicts with every rating that counts."""
        panel, reference = self.panel, self.others.reference
        eligible, answered = self.eligible, verdicts.present
        counted = eligible if self.design.unanswered == "loss" else eligible & answered
        rows = counted[panel.of_item] & ~np.isnan(self.aligner.human)
        if reference is not None and self.design.expert is not None:
            rows &= panel.of_rater != panel.raters.index(self.design.expert)
        human, judge = self.aligner.human[rows], self.aligner.judge(verdicts)[rows]
        silent, tolerance = np.isnan(judge), self.aligner.tolerance
        return Duels(
            item=panel.of_item[rows],
            rater=panel.of_rater[rows],
            judge_wins=judge >= human - tolerance,  # False where silent: nan compares so
            rater_wins=(human >= judge - tolerance) | silent,
            weight=self._weights(rows),
            counted=counted,
            eligible=eligible,
            answered=answered,
        )

    @property
    def eligible(self) -> BoolArray:
        """Which items have enough ratings, and a reference where there is to be one: (n,)."""
        voices, reference = self.panel.ratings_per_item, self.others.reference
        if reference is None:
            return np.asarray(voices >= self.design.min_raters_per_item, dtype=np.bool_)
        gold = 0 if self.design.gold is None else 1
        return (voices + gold >= self.design.min_raters_per_item) & reference.present

    def _weights(self, rows: BoolArray) -> FloatArray:
        if self.design.weighting == "none":
            return np.ones(int(rows.sum()))
        rater, shares = self.panel.of_rater[rows], _class_shares(self.others)[rows]
        by_class = np.zeros((len(self.panel.raters), shares.shape[1]))
        np.add.at(by_class, rater, shares)
        n = by_class.sum(axis=1, keepdims=True)
        return np.asarray((shares * np.nan_to_num(ratio(n, by_class))[rater]).sum(axis=1))


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
    modes = left == left.max(axis=1, keepdims=True)
    return np.asarray(modes / modes.sum(axis=1, keepdims=True))


def advantages(sums: FloatArray) -> FloatArray:
    """Share of its items on which the judge is at least as good as each rater: (..., m)."""
    return ratio(sums[..., JUDGE], sums[..., WEIGHT])


def p_values(
    sums: FloatArray, tests: tuple[Test, ...], eps: float, *, weighted: bool
) -> FloatArray:
    """Test each rater: sums (..., m, 6) to p-values (..., m); nan where there is no test."""
    chosen = np.array(tests)
    w, d, squares, w2 = np.moveaxis(sums, -1, 0)[[WEIGHT, DIFFERENCE, SQUARE, WEIGHT_SQUARE]]
    p = student(w, d, squares, w2, eps=eps, weighted=weighted).p
    p = np.where(chosen == "t", p, np.nan)
    ranked = chosen == "wilcoxon"
    p[..., ranked] = _ranked(sums[..., ranked, :], eps)
    return p


def _ranked(sums: FloatArray, eps: float) -> FloatArray:
    if not sums.size:
        return np.empty(sums.shape[:-1])
    n, d, squares = (sums[..., k] for k in (WEIGHT, DIFFERENCE, SQUARE))
    counts = np.stack([(squares - d) / 2, n - squares, (squares + d) / 2], axis=-1)
    distinct, place = np.unique(
        np.rint(counts).astype(np.int64).reshape(-1, 3), axis=0, return_inverse=True
    )
    p = np.array([_exact_p(one, eps) for one in distinct.tolist()])
    return p[place.reshape(n.shape)]


def _exact_p(counts: list[int], eps: float) -> float:
    minus, zero, plus = counts
    return signed_rank(minus, zero, plus, eps).p_exact if sum(counts) else np.nan


def winning_rates(p: FloatArray, quality: FloatArray, q: float) -> FloatArray:
    """Share of the tested raters, by quality, whose null is rejected: (..., m) to (...)."""
    return share_won(benjamini_yekutieli(p, q).rejected, ~np.isnan(p), quality)


def share_won(rejected: BoolArray, tested: BoolArray, quality: FloatArray) -> FloatArray:
    """Divide the quality of the raters beaten by that of the raters tested."""
    return ratio((rejected * quality).sum(axis=-1), (tested * quality).sum(axis=-1))

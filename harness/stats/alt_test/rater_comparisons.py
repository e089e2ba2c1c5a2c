"""Comparison of a judge with each rater of a panel, in time linear in the number of ratings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.margin_tests import signed_rank, student
from harness.stats.alt_test.panel import UNANSWERED, Coded
from harness.stats.alt_test.scoring import OtherRatings, aligner
from harness.stats.data.arrays import (
    TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    blocks,
    in_blocks,
    median,
    ratio,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.margin_tests import Moments
    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.scoring import Aligner
    from harness.stats.data.arrays import IntArray, Summands

Test: TypeAlias = Literal["t", "wilcoxon", ""]

MINUS, TIED, PLUS, SQUARES = range(4)  # rows of a judge's sums
N_OUTCOMES = 3


@dataclass(frozen=True, slots=True, repr=False)
class Entering:
    """Numbers of items that enter a judge's test.

    Attributes
    ----------
    n_items : int
        Number of all items.
    n_eligible : int
        Number of items with enough ratings, answered or not.
    n_counted : int
        Number of items in the test.
    n_unanswered : int
        Eligible items without a verdict.
    n_rated : (C,) int array
        Number of items in the test with 0, 1, 2, ... ratings.
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
        """Median number of ratings of the items in the test, or None if there are no items."""
        return median(np.arange(len(self.n_rated)), self.n_rated) if self.n_counted else None


@dataclass(frozen=True, slots=True, repr=False)
class RaterComparisons:
    """Comparison of one judge with the raters. Each rating that counts has one entry.

    Attributes
    ----------
    item, rater : (D,) int arrays
        Item and rater of each comparison.
    outcome : (D,) int array
        The rater's win indicator minus the judge's, plus 1: 0 if the judge agreed better with the
        other raters, 1 for a tie (both win), 2 if the rater did.
    weight : (D,) array or None
        The inverse share of the item's label; None if all weights are 1.
    entering : Entering
        Numbers of items.
    """

    item: IntArray
    rater: IntArray
    outcome: IntArray
    weight: FloatArray | None
    entering: Entering

    def counts(self, n_raters: int) -> IntArray:
        """Count each rater's outcomes as an (m, 3) array."""
        counts = np.zeros(N_OUTCOMES * n_raters, dtype=np.int64)
        for at in blocks(len(self.rater)):
            cell = self.rater[at] * N_OUTCOMES + self.outcome[at]
            counts += np.bincount(cell, minlength=len(counts))
        return counts.reshape(n_raters, N_OUTCOMES)

    def sums(self, counts: IntArray) -> FloatArray:
        """Sum the weights of each rater's outcomes as a (3, m) array, or (4, m) with weights.

        The rows are the weights of the items on which the judge was closer, of ties, and of the
        items on which the rater was closer, and with weights, the squared weights. ``counts`` is
        the result of `counts`.
        """
        if self.weight is None:
            return counts.T.astype(np.float64)
        m = len(counts)
        by_outcome = np.bincount(
            self.outcome.astype(np.int64) * m + self.rater, self.weight, N_OUTCOMES * m
        )
        squares = np.bincount(self.rater, self.weight**2, m)
        return np.vstack([by_outcome.reshape(N_OUTCOMES, m), squares])


@dataclass(frozen=True, slots=True, repr=False)
class ScoredPanel:
    """A panel whose ratings are scored, along with everything that does not depend on the judge.

    Attributes
    ----------
    panel, design : Panel, AltTestDesign
        The ratings, and the design of the test.
    others, aligner : OtherRatings, Aligner
        The ratings to compare values with, and the comparison method.
    quality : (m,) array
        Quality of each rater.
    n_ratings : (n,) int array
        Number of ratings of each item.
    eligible : (n,) bool array
        Items with enough ratings, and with a reference if the design has one.
    rows : (R,) bool array
        Ratings that count if the judge answered the item.
    n_rated : (C,) int array
        Number of eligible items with 0, 1, 2, ... ratings.
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
        """Check the design against the panel, and score the ratings."""
        if panel.rater_ids == "positional":
            raise ValueError(
                "positional_raters: the raters' names are positions within an item, so they don't "
                "identify people; the alternative annotator test needs identified raters"
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
        """Code verdicts so that the values of the panel and the reference come first."""
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
        """Count the eligible items that enter the test."""
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
        rater, shares = self.panel.of_rater[rows], _class_shares(self.others, rows)
        by_class = np.zeros((len(self.panel.raters), shares.shape[1]))
        for at in blocks(len(rater)):
            np.add.at(by_class, rater[at], shares[at])
        inverse = np.nan_to_num(ratio(by_class.sum(axis=1, keepdims=True), by_class))
        weights = np.empty(len(rater))
        for at in blocks(len(rater)):
            weights[at] = (shares[at] * inverse[rater[at]]).sum(axis=1)
        return weights


def _outcome(lead: FloatArray, tolerance: float) -> IntArray:
    """Convert the judge's lead over the rater to an outcome. A missing verdict (nan) is a loss."""
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


def _class_shares(others: OtherRatings, rows: BoolArray) -> Summands:
    """Split the items of the selected ratings over their gold labels.

    Rows, one per selected rating, have K numbers that sum to 1.
    """
    panel, n_labels = others.panel, len(others.labels)
    of_item, code = panel.of_item[rows], panel.code[rows]
    if others.reference is not None:
        return in_blocks(np.eye(n_labels).__getitem__, others.reference.code[of_item])
    counts = np.zeros((len(panel.items), n_labels))
    np.add.at(counts, (panel.of_item, panel.code), 1.0)

    def shares(of_item: IntArray, code: IntArray) -> FloatArray:
        left = counts[of_item]
        left[np.arange(len(left)), code] -= 1.0
        modes = left == left.max(axis=1, keepdims=True, initial=0.0)
        return np.asarray(modes / modes.sum(axis=1, keepdims=True))

    return in_blocks(shares, of_item, code)


def weight_of(sums: FloatArray) -> FloatArray:
    """Return each rater's total weight of compared items, given (3 or 4, m) sums."""
    return np.asarray(sums[MINUS] + sums[TIED] + sums[PLUS], dtype=np.float64)


def advantages(sums: FloatArray) -> FloatArray:
    """Return the share of items on which the judge is at least as good as each rater."""
    return ratio(sums[MINUS] + sums[TIED], weight_of(sums))


def moments(sums: FloatArray, eps: float | FloatArray) -> Moments:
    """Compute a one-sided t-test for each rater from (3 or 4, m) sums.

    p-values are (E, m) at (E, 1) margins.
    """
    weighted = len(sums) > N_OUTCOMES
    weight, minus, plus = weight_of(sums), sums[MINUS], sums[PLUS]
    squares = sums[SQUARES] if weighted else weight
    return student(weight, plus - minus, plus + minus, squares, eps=eps, weighted=weighted)


def p_values(sums: FloatArray, tests: Sequence[Test], margins: FloatArray) -> FloatArray:
    """Test each rater at (E,) margins, and return (E, m) p-values.

    P-values are nan if there is no test.
    """
    p = np.full((len(margins), len(tests)), np.nan)
    by_t = np.array([test == "t" for test in tests], dtype=np.bool_)
    p[:, by_t] = moments(sums[:, by_t], margins[:, None]).p
    for j, test in enumerate(tests):
        if test == "wilcoxon":
            counts = sums[:, j].astype(int).tolist()
            p[:, j] = [_exact_p(*counts, _alike(eps)) for eps in margins.tolist()]
    return p


def _alike(eps: float) -> float:
    """Return a margin that results in the same signed ranks but makes better use of the cache.

    The ranks only change at 0 and 1/2.
    """
    for low in (0.0, 0.5):
        if low + TOLERANCE < eps < low + 0.5 - TOLERANCE:
            return low + 0.25
    return eps


@lru_cache(maxsize=1 << 16)
def _exact_p(minus: int, tied: int, plus: int, eps: float) -> float:
    """Return the exact p-value. Results are cached because judges and designs share counts."""
    return signed_rank(minus, tied, plus, eps).p_exact


def share_won(rejected: BoolArray, p: FloatArray, quality: FloatArray) -> FloatArray:
    """Return the share of beaten raters among those with a p-value, weighted by (m,) quality."""
    return ratio(rejected @ quality, ~np.isnan(p) @ quality)


def option_wins(panel: Panel, design: AltTestDesign, options: Sequence[Hashable]) -> IntArray:
    """Return, per item and rater, whether a rating counts and whether each option would win.

    Parameters
    ----------
    panel : Panel
        The ratings, with raters' names.
    design : AltTestDesign
        Design, which determines how values are compared with the other raters' values.
    options : K values
        Possible answers of a judge, in the order of the columns.

    Returns
    -------
    (n, m, 1 + K) int8 array
        1 or 0: first whether the rating enters the test, then for each option whether a judge with
        that answer is at least as close to the other raters as the rater is (W^f of Calderon et al.
        2025, section 3.1). Zeros if the rater did not rate the item; m is 1 without raters.

    Raises
    ------
    ValueError
        If the rater names are positional, or an argument does not fit the panel.
    """
    scored = ScoredPanel.of(panel, design)
    shape = len(panel.items), max(len(panel.raters), 1), 1 + len(options)
    wins = np.zeros(shape, dtype=np.int8)
    for k, option in enumerate(options, start=1):
        always = scored.coded(dict.fromkeys(panel.items, option))
        against = scored.against(always)
        wins[against.item, against.rater, 0] = 1
        wins[against.item, against.rater, k] = against.outcome <= TIED
    return wins

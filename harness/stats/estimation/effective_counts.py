"""Labelled items, and how many independent yes-or-no labels say as much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.two_phase import TwoPhaseCounts

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.estimation.prediction_powered import JudgedMean

PRIOR_ITEMS = 5.0  # items of the largest spread, towards which the dispersion is drawn
WEIGHTED_PRIOR_ITEMS = 15.0  # of them where weights differ: rare labels may all weigh little
LEAST_PRIOR = 0.3  # variance of a label, summed over items: few rare labels say little of a spread
PRIOR_GROUPS = 0.1  # groups whose items are all alike, towards which the dispersion is drawn


@dataclass(frozen=True, slots=True)
class Labelled:
    """Items that raters and the judge rated.

    Attributes
    ----------
    labels : (n,) array
        Share of an item's raters who are positive, or their mean score.
    verdicts : (n,) array
        The judge's value for the same items.
    groups : (n,) array of int or None
        Group of each item, where items of a group are alike.
    weights : (n,) array or None
        Weights of the items, e.g. inverse probabilities of being labelled.
    """

    labels: FloatArray
    verdicts: FloatArray
    groups: IntArray | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("verdicts", "groups", "weights"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.labels):
                raise ValueError(f"{len(values)} {name} for {len(self.labels)} labels")

    @property
    def independent(self) -> bool:
        """Whether items are independent draws from the population, each as likely as any."""
        return self.groups is None and self.weights is None

    def rows(self, which: BoolArray) -> Labelled:
        """Return some of the items."""
        return Labelled(
            self.labels[which],
            self.verdicts[which],
            groups=None if self.groups is None else self.groups[which],
            weights=None if self.weights is None else self.weights[which],
        )

    @property
    def shares(self) -> FloatArray:
        """(n,) weights that sum to 1."""
        n = len(self.labels)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()


def two_phase_counts(labelled: Labelled, judged: JudgedMean) -> TwoPhaseCounts:
    """Count labels by verdict; weighted labels add up to the number of labelled items."""
    weights = labelled.shares * len(labelled.labels)
    yes, said_yes = labelled.labels, labelled.verdicts > 0.0

    def count(values: FloatArray) -> FloatArray:
        return np.array([float(weights @ values)])

    return TwoPhaseCounts(
        yes_yes=count(yes * said_yes),
        yes_no=count(yes * ~said_yes),
        no_yes=count((1.0 - yes) * said_yes),
        no_no=count((1.0 - yes) * ~said_yes),
        judged_yes=np.array([judged.total]),
        judged_no=np.array([judged.n - judged.total]),
    )


def effective_counts(labelled: Labelled, judged: JudgedMean) -> TwoPhaseCounts:
    """Return counts of as many independent items as say as much.

    Labels are scaled by their `dispersion` about the verdicts, and verdicts by that of
    `JudgedMean.dispersion`, or of the labelled items' verdicts if the unlabelled items' groups
    aren't known. With groups or weights, labels of a verdict never count for more items than all
    verdicts like it do.
    """
    counts = two_phase_counts(labelled, judged)
    said_yes = labelled.verdicts > 0.0
    fitted = np.where(
        said_yes, _ratio(counts.yes_yes, counts.no_yes), _ratio(counts.yes_no, counts.no_no)
    )
    of_labels = 1.0 / dispersion(labelled, fitted)
    of_verdicts = 1.0 / verdict_dispersion(labelled, judged)
    if labelled.independent and of_verdicts == 1.0:
        return counts.scaled(of_labels)
    extra = 1.0 if labelled.weights is None else 0.0  # weighted items are among the unlabelled
    judged_yes = of_verdicts * (counts.judged_yes + extra * (counts.yes_yes + counts.no_yes))
    judged_no = of_verdicts * (counts.judged_no + extra * (counts.yes_no + counts.no_no))
    yes = np.minimum(of_labels, _over(judged_yes, counts.yes_yes + counts.no_yes))
    no = np.minimum(of_labels, _over(judged_no, counts.yes_no + counts.no_no))
    return TwoPhaseCounts(
        yes_yes=yes * counts.yes_yes,
        yes_no=no * counts.yes_no,
        no_yes=yes * counts.no_yes,
        no_no=no * counts.no_no,
        judged_yes=judged_yes - yes * (counts.yes_yes + counts.no_yes),
        judged_no=judged_no - no * (counts.yes_no + counts.no_no),
    )


def verdict_dispersion(labelled: Labelled, judged: JudgedMean) -> float:
    """Return how many unlabelled items' verdicts say as much as one independent verdict; >= 1."""
    if judged.dispersion is not None:
        return max(judged.dispersion, 1.0)
    if labelled.groups is None:
        return 1.0
    said = Labelled(labelled.verdicts, labelled.verdicts, labelled.groups)
    return max(dispersion(said, np.full(len(said.labels), said.labels.mean())), 1.0)


def _over(judged: FloatArray, labelled: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(labelled > 0.0, judged / labelled, np.inf)


def freedom(labelled: Labelled) -> int | None:
    """Return the degrees of freedom of a spread between groups; None where there are none."""
    return None if labelled.groups is None else len(np.unique(labelled.groups)) - 1


def effective_number(labelled: Labelled) -> float:
    """Return how many independent yes-or-no labels the labels alone are worth."""
    mean = labelled.shares @ labelled.labels
    return len(labelled.labels) / dispersion(labelled, np.full_like(labelled.labels, mean))


def dispersion(labelled: Labelled, fitted: FloatArray) -> float:
    """Return the variance of the labels' mean over that of as many independent yes-or-no labels.

    Below 1 where labels are shares of several raters, above it where groups of items are alike or
    weights differ; exactly 1 for independent labels of 0 and 1 with equal weights.

    Parameters
    ----------
    labelled : Labelled
        The labels.
    fitted : (n,) array
        Mean label of each item's kind.

    Notes
    -----
    Drawn towards 1 as by five items more, since a few items say little about a spread; with
    weights, towards Kish's design effect as by 15 (Kish, Survey Sampling, 1965). If nearly all
    labels are alike, even 300 items say little, so the prior counts for at least 0.3 positive
    ones. Of groups, which say still less, the spread is that between groups, but not below that of
    their items. It is drawn towards groups whose items are all alike, as by a tenth of a group:
    ten groups without a positive label don't show whether items of a group are alike.
    """
    weights = labelled.shares * len(labelled.labels)
    residuals = weights * (labelled.labels - fitted)
    largest = float(weights @ (fitted * (1.0 - fitted)))
    n_prior = PRIOR_ITEMS if labelled.weights is None else WEIGHTED_PRIOR_ITEMS
    prior = max(n_prior * largest / len(residuals), LEAST_PRIOR)
    expected = float(weights @ weights) / len(weights)  # 1 if all weigh alike
    of_items = (float(residuals @ residuals) + prior * expected) / (largest + prior)
    if labelled.groups is None:
        return of_items
    place = np.unique(labelled.groups, return_inverse=True)[1]
    sums = np.bincount(place, weights=residuals).astype(np.float64)
    sizes = np.bincount(place, weights=weights).astype(np.float64)
    return max(group_dispersion(sums, sizes, largest), of_items)


def group_dispersion(
    sums: FloatArray,
    sizes: FloatArray,
    largest: float,
    *,
    n_alone: int = 0,
    alone_squares: float = 0.0,
) -> float:
    """Return the dispersion of a mean over groups of items.

    Parameters
    ----------
    sums, sizes : (G,) arrays
        Sum of the residuals of each group, and its items or their weight.
    largest : float
        Variance of as many independent values in [0, 1], summed over the items.
    n_alone : int, optional
        Other items, each of a group of its own.
    alone_squares : float, optional
        Sum of their squared residuals.
    """
    n_groups = len(sums) + n_alone
    alike = float(sizes @ sizes + n_alone) / float(sizes.sum() + n_alone)  # if groups are uniform
    prior = PRIOR_GROUPS * alike
    between = (float(sums @ sums) + alone_squares) * n_groups / max(n_groups - 1, 1)
    return (between + prior * alike) / (largest + prior)


def _ratio(yes: FloatArray, no: FloatArray) -> float:
    total = float(yes[0] + no[0])
    return float(yes[0]) / total if total > 0.0 else 0.0

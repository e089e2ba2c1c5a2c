"""Labelled items, and how many independent yes-or-no labels are as informative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.two_phase import TwoPhaseCounts

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.estimation.prediction_powered import JudgedMean

PRIOR_ITEMS = 5.0  # items with the largest spread, towards which the dispersion is shrunk
WEIGHTED_PRIOR_ITEMS = 15.0  # the same if weights differ, as rare labels may all have low weights
LEAST_PRIOR = 0.3  # least summed variance of labels: few rare labels show little of a spread
PRIOR_GROUPS = 0.1  # groups of identical items, towards which the dispersion is shrunk


@dataclass(frozen=True, slots=True)
class Labelled:
    """Items that have both human labels and the judge's verdicts.

    Attributes
    ----------
    labels : (n,) array
        Share of positive ratings of each item, or the raters' mean score.
    verdicts : (n,) array
        The judge's value for the same items.
    groups : (n,) array of int or None
        Group of each item, if items in a group are similar.
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
        """Return whether items are independent draws with equal probabilities."""
        return self.groups is None and self.weights is None

    def rows(self, which: BoolArray) -> Labelled:
        """Return the selected items."""
        return Labelled(
            self.labels[which],
            self.verdicts[which],
            groups=None if self.groups is None else self.groups[which],
            weights=None if self.weights is None else self.weights[which],
        )

    @property
    def shares(self) -> FloatArray:
        """Item weights that sum to 1, as an (n,) array."""
        n = len(self.labels)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()


def two_phase_counts(labelled: Labelled, judged: JudgedMean) -> TwoPhaseCounts:
    """Count labels by verdict. Weighted labels add up to the number of labelled items."""
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
    """Return counts of independent items that would be equally informative.

    Labels are scaled by their `dispersion` about the verdicts, and verdicts by that of
    `JudgedMean.dispersion`, or of the labelled items' verdicts if the unlabelled items' groups
    are not known. With groups or weights, the labels for a verdict never count for more items than
    there are such verdicts.
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
    extra = 1.0 if labelled.weights is None else 0.0  # weighted items are among the unlabelled ones
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
    """Return how many unlabelled verdicts are as informative as one independent verdict."""
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
    """Return the degrees of freedom of the between-group variance, or None without groups."""
    return None if labelled.groups is None else len(np.unique(labelled.groups)) - 1


def effective_number(labelled: Labelled) -> float:
    """Return the number of independent yes-or-no labels that would be equally informative."""
    mean = labelled.shares @ labelled.labels
    return len(labelled.labels) / dispersion(labelled, np.full_like(labelled.labels, mean))


def dispersion(labelled: Labelled, fitted: FloatArray) -> float:
    """Return the variance of the mean label relative to that of independent yes-or-no labels.

    It is below 1 if labels are shares of several raters, above 1 if items in groups are similar or
    weights differ, and exactly 1 for independent labels of 0 and 1 with equal weights.

    Parameters
    ----------
    labelled : Labelled
        The labels.
    fitted : (n,) array
        Mean label of each item's kind.

    Notes
    -----
    The estimate is shrunk towards 1 with the weight of five items, because few items contain little
    information about a variance. With weights, it is shrunk towards Kish's design effect with the
    weight of 15 items (Kish, Survey Sampling, 1965). If nearly all labels are the same, even 300
    items contain little information, so the prior counts for at least 0.3 positive ones. For
    groups, the variance is the one between groups, but at least the variance of their items. It is
    shrunk towards groups of identical items with the weight of a tenth of a group, because ten
    groups without a positive label do not show whether a group's items are similar.
    """
    weights = labelled.shares * len(labelled.labels)
    residuals = weights * (labelled.labels - fitted)
    largest = float(weights @ (fitted * (1.0 - fitted)))
    n_prior = PRIOR_ITEMS if labelled.weights is None else WEIGHTED_PRIOR_ITEMS
    prior = max(n_prior * largest / len(residuals), LEAST_PRIOR)
    expected = float(weights @ weights) / len(weights)  # 1 if all have equal weights
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
        Sum of each group's residuals, and its number of items or their weight.
    largest : float
        Variance of the same number of independent values in [0, 1], summed over the items.
    n_alone : int, optional
        Number of other items, each a separate group.
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

"""The mean over a population that a judge rated, of which people labelled a part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.stats.estimation.identified_set import endorsed_share, identified_interval
from harness.stats.estimation.paired_beta import PairedBeta, paired_interval
from harness.stats.estimation.prediction_powered import JudgedMean, PoweredMean, powered_mean
from harness.stats.estimation.rogan_gladen import CorrectedShare, corrected_share
from harness.stats.estimation.two_phase import (
    TwoPhaseCounts,
    judge_interval,
    share_interval,
    share_statistic,
    squared_critical,
    two_phase_interval,
    two_phase_statistic,
)
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

EstimateMethod = Literal["labels_and_judge", "labels_alone", "prediction_powered"]
MIN_LABELS = 10  # of either kind, below which a t interval of a share covers too little
PRIOR_ITEMS = 5.0  # items of the largest spread, towards which the dispersion is drawn
WEIGHTED_PRIOR_ITEMS = 15.0  # of them where weights differ: rare labels may all weigh little


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

    @property
    def shares(self) -> FloatArray:
        """(n,) weights that sum to 1."""
        n = len(self.labels)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()


@dataclass(frozen=True, slots=True)
class Bounded:
    """A mean and its interval.

    Attributes
    ----------
    value : float or None
        None where only an interval is identified.
    low, high : float
        The ends of the interval.
    """

    value: float | None
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationMean:
    """A mean over the population, and the other ways to it.

    Attributes
    ----------
    estimate : Bounded or None
        The mean; None where ``reason`` says why.
    method : str or None
        "labels_and_judge": the two-phase interval; "labels_alone", where a chosen judge narrows
        nothing; "prediction_powered", of mean scores.
    level : float
        Nominal coverage.
    n_labelled, n_unlabelled : int
        Items behind it.
    n_judges : int
        Judges among which this one was chosen by the same labels; the interval is right for all.
    labels_alone : Bounded or None
        From the labels, by the same test; None with too few of them.
    judge_alone : float
        The mean of the judge's verdicts; without an interval, as the judge errs.
    powered : PoweredMean or None
        PPI++; None with too few labels, or for shares with fewer than ten labels of either kind.
    corrected : CorrectedShare or None
        Rogan and Gladen; None for mean scores.
    corrected_profile : (low, high) or None
        Its interval by profile likelihood, right for ``n_judges`` judges at once; None where
        ``corrected`` has none.
    worth : float or None
        The labels that the judge is worth, in multiples of those there are: the squared ratio of
        the widths of the intervals without and with the judge.
    reason : str
        "" or why there is no estimate: "too_few_labels".
    """

    estimate: Bounded | None
    method: EstimateMethod | None
    level: float
    n_labelled: int
    n_unlabelled: int
    n_judges: int
    labels_alone: Bounded | None
    judge_alone: float
    powered: PoweredMean | None
    corrected: CorrectedShare | None
    corrected_profile: tuple[float, float] | None
    worth: float | None
    reason: Reason = ""

    def __repr__(self) -> str:
        if self.estimate is None:
            return f"PopulationMean(NA: {self.reason})"
        return f"PopulationMean({self.estimate}, {self.method})"


def population_share(
    labelled: Labelled,
    judged: JudgedMean,
    *,
    level: float = 0.95,
    n_judges: int = 1,
    betas: tuple[float, float] | PairedBeta | None = None,
) -> PopulationMean:
    """Return the share of raters who are positive, over the population.

    Parameters
    ----------
    labelled : Labelled
        Labels in [0, 1] and the judge's verdicts, 1 for positive and 0 for any other.
    judged : JudgedMean
        The same verdicts of the unlabelled items.
    level : float, optional
        Of the interval.
    n_judges : int, optional
        Judges among which this one was chosen by these labels.
    betas : (low, high) or PairedBeta, optional
        Where the sensitivity of the raters lies, or what pairs say of it, if labels are forced
        choices and the share of raters whose response set meets the positive options is wanted;
        see `identified_interval` and `paired_interval`.

    Notes
    -----
    The interval is that of labels and judge; that of labels alone where the judge was chosen among
    several and its interval, right for all of them at once, is not narrower. Its coverage is
    simulated in docs/estimation.md; the choice between the two, and that of the judge, are part of
    the simulation.
    """
    counts = two_phase_counts(labelled, judged)
    effective = effective_counts(labelled, judged)
    mean = float(labelled.shares @ labelled.labels)
    n_alone, between = effective_number(labelled), freedom(labelled)

    def alone(wanted: float) -> tuple[float, float]:
        n = np.array([n_alone])
        low, high = share_interval(mean * n, n, squared_critical(wanted, freedom=between))
        return float(low[0]), float(high[0])

    def with_judge(wanted: float) -> tuple[float, float]:
        critical = squared_critical(wanted, n_judges, freedom=between)
        low, high = two_phase_interval(effective, critical)
        return float(low[0]), float(high[0])

    labels_alone = Bounded(mean, *alone(level))
    most_likely = float((counts if labelled.independent else effective).estimate[0])
    both = Bounded(most_likely, *with_judge(level))
    n_yes = float(labelled.labels.sum())
    enough = min(n_yes, len(labelled.labels) - n_yes) >= MIN_LABELS
    helps = n_judges == 1 or both.width < labels_alone.width
    value, chosen = (most_likely, both) if helps else (mean, labels_alone)
    if isinstance(betas, PairedBeta):
        n_yes_alone, n = np.array([mean * n_alone]), np.array([n_alone])
        ends = paired_interval(
            two_phase_statistic(effective) if helps else share_statistic(n_yes_alone, n),
            (chosen.low, chosen.high),
            betas,
            squared_critical(level, n_judges if helps else 1, freedom=between),
        )
        chosen = Bounded(endorsed_share(value, betas.value), *ends)
    elif betas is not None:
        reported = with_judge if helps else alone
        ends = identified_interval(reported, betas, level, pointwise=enough)
        known = betas[0] == betas[1]
        chosen = Bounded(endorsed_share(value, betas[0]) if known else None, *ends)
    of_judge = counts if labelled.independent else effective
    corrected = corrected_share(of_judge)
    profile = None
    if corrected.value is not None:
        critical = squared_critical(level, n_judges, freedom=between)
        lows, highs = judge_interval(of_judge, critical)
        profile = float(lows[0]), float(highs[0])
    return PopulationMean(
        estimate=chosen,
        method="labels_and_judge" if helps else "labels_alone",
        level=level,
        n_labelled=len(labelled.labels),
        n_unlabelled=judged.n,
        n_judges=n_judges,
        labels_alone=labels_alone,
        judge_alone=judged.mean,
        powered=_powered(labelled, judged, (0.0, 1.0)) if enough else None,
        corrected=corrected,
        corrected_profile=profile,
        worth=(labels_alone.width / both.width) ** 2,
    )


def population_score(
    labelled: Labelled,
    judged: JudgedMean,
    *,
    bounds: tuple[float, float],
    level: float = 0.95,
    n_judges: int = 1,
) -> PopulationMean:
    """Return the mean score over the population, by PPI++.

    Parameters
    ----------
    labelled : Labelled
        The raters' mean score of each item, and the judge's score.
    judged : JudgedMean
        The judge's scores of the unlabelled items.
    bounds : (low, high)
        Least and greatest score of the scale.
    level, n_judges
        As in `population_share`.
    """
    powered = _powered(labelled, judged, bounds)
    alone = powered_mean(
        labelled.labels,
        labelled.verdicts,
        judged,
        bounds=bounds,
        groups=labelled.groups,
        weights=labelled.weights,
        weight=0.0,
    )
    estimate = labels_alone = worth = None
    method: EstimateMethod | None = None
    if powered is not None and alone is not None:
        labels_alone = Bounded(alone.value, *alone.interval(level))
        both = Bounded(powered.value, *powered.interval(level, n_judges))
        helps = both.width < labels_alone.width
        estimate, method = (both, "prediction_powered") if helps else (labels_alone, "labels_alone")
        worth = (labels_alone.width / both.width) ** 2
    return PopulationMean(
        estimate=estimate,
        method=method,
        level=level,
        n_labelled=len(labelled.labels),
        n_unlabelled=judged.n,
        n_judges=n_judges,
        labels_alone=labels_alone,
        judge_alone=judged.mean,
        powered=powered,
        corrected=None,
        corrected_profile=None,
        worth=worth,
        reason="" if estimate is not None else "too_few_labels",
    )


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


def stratum_weights(
    strata: IntArray, sizes: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return weights that give each stratum its share of a population (post-stratification).

    Parameters
    ----------
    strata : (n,) array of int
        Place of each item's stratum in
    sizes : (S,) array
        the number of items of each in the population.
    weights : (n,) array, optional
        Weights whose proportions within a stratum are kept. Default: all alike.

    Returns
    -------
    weights : (n,) array
        They add up to the population's items.

    Examples
    --------
    >>> stratum_weights(np.array([0, 0, 1]), np.array([10.0, 30.0]))
    array([ 5.,  5., 30.])
    """
    own = np.ones(len(strata)) if weights is None else weights
    return np.asarray(own * sizes[strata] / np.bincount(strata, weights=own)[strata])


def effective_counts(labelled: Labelled, judged: JudgedMean) -> TwoPhaseCounts:
    """Return counts of as many independent items as say as much.

    Labels are scaled by their `dispersion` about the verdicts. Where labelled items come in groups,
    so do the others: their verdicts count for fewer items, by the dispersion of verdicts. With
    groups or weights, how often the judge says which is taken from the unlabelled items alone, to
    which weighted items belong.
    """
    counts = two_phase_counts(labelled, judged)
    said_yes = labelled.verdicts > 0.0
    fitted = np.where(
        said_yes, _ratio(counts.yes_yes, counts.no_yes), _ratio(counts.yes_no, counts.no_no)
    )
    of_labels = 1.0 / dispersion(labelled, fitted)
    if labelled.independent:
        return counts.scaled(of_labels)
    of_verdicts = 1.0
    if labelled.groups is not None:
        said = Labelled(said_yes.astype(np.float64), labelled.verdicts, labelled.groups)
        of_verdicts = max(dispersion(said, np.full(len(said_yes), said_yes.mean())), 1.0)
    scaled = counts.scaled(of_labels, 1.0 / of_verdicts)
    rest_yes = scaled.judged_yes - scaled.yes_yes - scaled.no_yes
    rest_no = scaled.judged_no - scaled.yes_no - scaled.no_no
    return replace(scaled, judged_yes=np.maximum(rest_yes, 0.0), judged_no=np.maximum(rest_no, 0.0))


def freedom(labelled: Labelled) -> int | None:
    """Return the degrees of freedom of a spread between groups; None where there are none."""
    return None if labelled.groups is None else len(np.unique(labelled.groups)) - 1


def effective_number(labelled: Labelled) -> float:
    """Return how many independent yes-or-no labels the labels alone are worth."""
    mean = labelled.shares @ labelled.labels
    return len(labelled.labels) / dispersion(labelled, np.full_like(labelled.labels, mean))


def paired_beta(hidden: FloatArray, eligible: FloatArray, groups: IntArray) -> PairedBeta:
    """Return beta from pairs, with how many independent ones they are worth.

    Parameters
    ----------
    hidden, eligible : (n,) arrays
        Of each item, pairs with a negative choice whose set meets the positive options, and all
        pairs with a negative choice; see `harness.stats.indeterminacy.translation`.
    groups : (n,) array of int
        Group of each item; its own where it has none.

    Raises
    ------
    ValueError
        If there is no pair with a negative choice.
    """
    used = eligible > 0.0
    if not used.any():
        raise ValueError("no pair with a negative choice")
    shares = hidden[used] / eligible[used]
    pairs = Labelled(shares, shares, groups[used], eligible[used])
    n_pairs = int(eligible.sum())
    return PairedBeta(
        value=float(hidden.sum() / eligible.sum()),
        n_effective=min(effective_number(pairs), float(n_pairs)),
        n_pairs=n_pairs,
    )


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
    weights, towards Kish's design effect as by 15 (Kish, Survey Sampling, 1965). Of groups, which
    say still less, the spread is taken as it is, but not below that of their items.
    """
    weights = labelled.shares * len(labelled.labels)
    residuals = weights * (labelled.labels - fitted)
    largest = float(weights @ (fitted * (1.0 - fitted)))
    if largest <= 0.0:
        return 1.0
    n_prior = PRIOR_ITEMS if labelled.weights is None else WEIGHTED_PRIOR_ITEMS
    prior = n_prior * largest / len(residuals)
    expected = float(weights @ weights) / len(weights)  # 1 where all weigh alike
    of_items = (float(residuals @ residuals) + prior * expected) / (largest + prior)
    if labelled.groups is None:
        return of_items
    sums = np.bincount(np.unique(labelled.groups, return_inverse=True)[1], weights=residuals)
    of_groups = float(sums @ sums) * len(sums) / max(len(sums) - 1, 1) / largest
    return max(of_groups, of_items)


def _ratio(yes: FloatArray, no: FloatArray) -> float:
    total = float(yes[0] + no[0])
    return float(yes[0]) / total if total > 0.0 else 0.0


def _powered(
    labelled: Labelled, judged: JudgedMean, bounds: tuple[float, float]
) -> PoweredMean | None:
    return powered_mean(
        labelled.labels,
        labelled.verdicts,
        judged,
        bounds=bounds,
        groups=labelled.groups,
        weights=labelled.weights,
    )

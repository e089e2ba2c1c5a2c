"""The mean over a population that a judge rated, of which people labelled a part."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from harness.stats.estimation.effective_counts import (
    Labelled,
    effective_number,
    two_phase_counts,
)
from harness.stats.estimation.identified_set import (
    PairedBeta,
    endorsed_share,
    identified_interval,
    paired_interval,
)
from harness.stats.estimation.prediction_powered import MIN_UNITS, PoweredMean, powered_mean
from harness.stats.estimation.rogan_gladen import CorrectedShare, corrected_share
from harness.stats.estimation.score_sums import ScoreSums
from harness.stats.estimation.stratified import (
    PopulationStratum,
    ShareSums,
    all_verdicts,
    helps,
    n_units,
    reported,
)
from harness.stats.estimation.two_phase import (
    judge_interval,
    share_statistic,
    squared_critical,
    two_phase_statistic,
)
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.estimation.stratified import PopulationLimits

EstimateMethod = Literal["labels_and_judge", "labels_alone", "prediction_powered"]
MIN_LABELS = 10  # of either kind, below which a t interval of a share covers too little


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
    low: Annotated[float, MadeBy("prediction-powered")]
    high: Annotated[float, MadeBy("prediction-powered")]

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
        PPI++ of a share; None for mean scores, several strata, or fewer than ten labels of either
        kind.
    corrected : CorrectedShare or None
        Rogan and Gladen; None for mean scores and shares by stratum.
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
    strata: Sequence[PopulationStratum],
    *,
    level: float = 0.95,
    n_judges: int = 1,
    betas: tuple[float, float] | PairedBeta | None = None,
) -> PopulationMean:
    """Return the share of raters who are positive, over the population.

    Parameters
    ----------
    strata : sequence of PopulationStratum
        One of all items, or several: each has an interval of its own, and `mover` joins them.
        Labels are in [0, 1], and verdicts 1 for positive and 0 for any other. With several strata
        there is neither PPI++ nor a corrected share.
    level : float, optional
        Of the interval.
    n_judges : int, optional
        Judges among which this one was chosen by these labels.
    betas : (low, high) or PairedBeta, optional
        Where the sensitivity of the raters lies, or what pairs say of it, if labels are forced
        choices and the share of raters whose response set meets the positive options is wanted;
        see `identified_interval` and `paired_interval`. A PairedBeta needs a single stratum.

    Notes
    -----
    Which interval is reported: see `helps`. Its coverage is simulated in
    docs/estimation.md; the choice between the two, and that of the judge, are part of the
    simulation.
    """
    sums = ShareSums.of([strata])
    judged = all_verdicts(strata)

    by_labels, by_both = sums.alone(level), sums.with_judge(level, n_judges)
    limits, by_judges = reported(by_labels, by_both, helps(by_labels, by_both, n_judges))
    labels_alone, both, chosen = map(_bounded, (by_labels, by_both, limits))
    by_judge = bool(by_judges[0])
    n_labelled = sum(len(stratum.labelled.labels) for stratum in strata)
    n_yes = sum(float(stratum.labelled.labels.sum()) for stratum in strata)
    enough = min(n_yes, n_labelled - n_yes) >= MIN_LABELS
    value = float(limits.value[0])
    if isinstance(betas, PairedBeta):
        effective = sums.of_stratum(0)
        n = sums.n_alone[0]
        ends = paired_interval(
            two_phase_statistic(effective) if by_judge else share_statistic(sums.mean[0] * n, n),
            (chosen.low, chosen.high),
            betas,
            squared_critical(level, n_judges if by_judge else 1, freedom=sums.freedom[0]),
        )
        chosen = Bounded(endorsed_share(value, betas.value), *ends)
    elif betas is not None:

        def ends_at(wanted: float) -> tuple[float, float]:
            found = sums.with_judge(wanted, n_judges) if by_judge else sums.alone(wanted)
            return float(found.low[0]), float(found.high[0])

        ends = identified_interval(ends_at, betas, level, pointwise=enough)
        known = betas[0] == betas[1]
        chosen = Bounded(endorsed_share(value, betas[0]) if known else None, *ends)
    corrected, profile, powered = None, None, None
    if len(strata) == 1:
        corrected, profile = _corrected(strata[0], sums, level, n_judges)
        powered = _powered(strata[0]) if enough else None
    return PopulationMean(
        estimate=chosen,
        method="labels_and_judge" if by_judge else "labels_alone",
        level=level,
        n_labelled=n_labelled,
        n_unlabelled=judged.n,
        n_judges=n_judges,
        labels_alone=labels_alone,
        judge_alone=judged.mean,
        powered=powered,
        corrected=corrected,
        corrected_profile=profile,
        worth=(labels_alone.width / both.width) ** 2,
    )


def _bounded(limits: PopulationLimits) -> Bounded:
    """Return the only data set's share with its interval."""
    return Bounded(*(float(values[0]) for values in astuple(limits)))


def _corrected(
    stratum: PopulationStratum, sums: ShareSums, level: float, n_judges: int
) -> tuple[CorrectedShare, tuple[float, float] | None]:
    """Return the share by Rogan and Gladen, with its interval by profile likelihood."""
    labelled, effective = stratum.labelled, sums.of_stratum(0)
    counts = two_phase_counts(labelled, stratum.judged) if labelled.independent else effective
    corrected = corrected_share(counts)
    if corrected.value is None:
        return corrected, None
    critical = squared_critical(level, n_judges, freedom=sums.freedom[0])
    lows, highs = judge_interval(counts, critical)
    return corrected, (float(lows[0]), float(highs[0]))


def population_score(
    strata: Sequence[PopulationStratum],
    *,
    bounds: tuple[float, float],
    level: float = 0.95,
    n_judges: int = 1,
) -> PopulationMean:
    """Return the mean score over the population, by PPI++.

    Parameters
    ----------
    strata : sequence of PopulationStratum
        As in `population_share`, with the raters' mean score of each item and the judge's score.
    bounds : (low, high)
        Least and greatest score of the scale.
    level, n_judges
        As in `population_share`.

    Notes
    -----
    A t interval holds in 80 % of data sets if 3 % of 100 items have the top score and the others
    the lowest. Intervals are those of `harness.stats.estimation.bounded_mean` instead.
    """
    judged = all_verdicts(strata)
    estimate = labels_alone = worth = None
    method: EstimateMethod | None = None
    if n_units(strata) >= MIN_UNITS:
        sums = ScoreSums.of([strata], bounds)
        limits, by_judge = sums.reported(level, n_judges)
        labels_alone, estimate = _bounded(sums.alone(level)), _bounded(limits)
        method = "prediction_powered" if by_judge[0] else "labels_alone"
        both = _bounded(sums.with_judge(level, n_judges))
        worth = (labels_alone.width / both.width) ** 2
    return PopulationMean(
        estimate=estimate,
        method=method,
        level=level,
        n_labelled=sum(len(stratum.labelled.labels) for stratum in strata),
        n_unlabelled=judged.n,
        n_judges=n_judges,
        labels_alone=labels_alone,
        judge_alone=judged.mean,
        powered=None,
        corrected=None,
        corrected_profile=None,
        worth=worth,
        reason="" if estimate is not None else "too_few_labels",
    )


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


def _powered(stratum: PopulationStratum) -> PoweredMean | None:
    labelled = stratum.labelled
    return powered_mean(
        labelled.labels,
        labelled.verdicts,
        stratum.judged,
        bounds=(0.0, 1.0),
        groups=labelled.groups,
        weights=labelled.weights,
    )

"""Population means from a judge's verdicts on all items and human labels for some."""

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
MIN_LABELS = 10  # labels of either kind; with fewer, a share's t interval has low coverage


@dataclass(frozen=True, slots=True)
class Bounded:
    """A mean and its interval.

    Attributes
    ----------
    value : float or None
        None if only an interval is identified.
    low, high : float
        The ends of the interval.
    """

    value: float | None
    low: Annotated[float, MadeBy("prediction-powered")]
    high: Annotated[float, MadeBy("prediction-powered")]

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationMean:
    """A population mean, and alternative estimates of it.

    Attributes
    ----------
    estimate : Bounded or None
        The mean; None with a ``reason``.
    method : str or None
        "labels_and_judge": the two-phase interval; "labels_alone": used if a selected judge does
        not narrow the interval; "prediction_powered": for mean scores.
    level : float
        Nominal coverage.
    n_labelled, n_unlabelled : int
        Number of items used.
    n_judges : int
        Number of judges from which this one was selected using the same labels; the interval is
        valid for all of them.
    labels_alone : Bounded or None
        Estimate from the labels only, by the same test; None with too few labels.
    judge_alone : float
        The mean of the judge's verdicts; without an interval, because the judge makes errors.
    powered : PoweredMean or None
        PPI++ for a share; None for mean scores, several strata, or fewer than ten labels of either
        kind.
    corrected : CorrectedShare or None
        The share corrected after Rogan and Gladen; None for mean scores and shares by stratum.
    corrected_profile : (low, high) or None
        Its interval by profile likelihood, simultaneously valid for ``n_judges`` judges; None if
        ``corrected`` has no value.
    worth : float or None
        Value of the judge in labels, as a multiple of the existing ones: the squared ratio of the
        interval widths without and with the judge.
    reason : str
        Reason if there is no estimate ("too_few_labels"), else "".
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
    """Return the share of positive ratings in the population.

    Parameters
    ----------
    strata : sequence of PopulationStratum
        One stratum with all items, or several, each with its own interval, which `mover` combines.
        Labels are in [0, 1]; verdicts are 1 for positive and 0 otherwise. With several strata there
        is neither PPI++ nor a corrected share.
    level : float, optional
        Confidence level of the interval.
    n_judges : int, optional
        Number of judges from which this one was selected using these labels.
    betas : (low, high) or PairedBeta, optional
        Interval for the raters' sensitivity, or an estimate from pairs. Pass it if labels are
        forced choices and you want the share of raters whose response set meets the positive
        options; see `identified_interval` and `paired_interval`. A PairedBeta needs a single
        stratum.

    Notes
    -----
    See `helps` for which interval is reported. Its coverage is simulated in docs/estimation.md; the
    simulation includes the selection of the interval and of the judge.
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
    """Return the share and interval of a single data set."""
    return Bounded(*(float(values[0]) for values in astuple(limits)))


def _corrected(
    stratum: PopulationStratum, sums: ShareSums, level: float, n_judges: int
) -> tuple[CorrectedShare, tuple[float, float] | None]:
    """Return the share after the Rogan-Gladen correction, and its profile likelihood interval."""
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
    """Return the mean score in the population, estimated by PPI++.

    Parameters
    ----------
    strata : sequence of PopulationStratum
        As in `population_share`, with the raters' mean score and the judge's score for each item.
    bounds : (low, high)
        Least and greatest score of the scale.
    level, n_judges
        As in `population_share`.

    Notes
    -----
    A t interval covers the mean in only 80 % of data sets if 3 % of 100 items have the top score
    and the rest have the lowest. So intervals come from `harness.stats.estimation.bounded_mean`.
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
    """Estimate beta from pairs, along with the equivalent number of independent pairs.

    Parameters
    ----------
    hidden, eligible : (n,) arrays
        For each item, the number of pairs with a negative choice whose set meets the positive
        options, and of all pairs with a negative choice; see
        `harness.stats.indeterminacy.translation`.
    groups : (n,) array of int
        Group of each item; items without one are separate groups.

    Raises
    ------
    ValueError
        If no pair has a negative choice.
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

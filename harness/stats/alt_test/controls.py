"""Controls for the annotator test: random and majority judges, human agreement, correlations."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- readers of a field's type need it
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.outcome import AltTest, AnnotatorSummary, average
from harness.stats.alt_test.panel import Coded, numbers
from harness.stats.alt_test.procedure import annotator_test, tests_of_each
from harness.stats.alt_test.scoring import item_numbers, pairs_by_block, similarities
from harness.stats.inference.estimate import Estimate
from harness.stats.inference.estimate_sums import bootstrap
from harness.stats.inference.metric import mean
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT, PEARSON_OVER_RATERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Panel
    from harness.stats.data.arrays import FloatArray
    from harness.stats.inference.bootstrap import Resampling

N_DRAWS = 20


@dataclass(frozen=True, slots=True)
class RandomControl:
    """Results of random judges that choose each value with equal probability.

    Attributes
    ----------
    winning_rate, advantage : float or None
        Means over the draws; None if the test is undefined.
    passes_share : float or None
        Share of the draws that pass.
    n_draws : int
        Number of random judges tested.
    """

    winning_rate: float | None
    advantage: float | None
    passes_share: float | None
    n_draws: int


@dataclass(frozen=True, slots=True, repr=False)
class Controls:
    """Reference results that show what passing the test means on these data.

    Attributes
    ----------
    random : RandomControl
        Results of random judges.
    majority : AnnotatorSummary
        A judge that always answers with the most common value in these ratings (in-sample).
    human_agreement : mapping of str to Estimate
        Agreement among the raters under the score; for labels, also corrected for chance.
    warnings : tuple of str
        Warnings if a random or majority judge passes, in which case passing means little.
    """

    random: RandomControl
    majority: AnnotatorSummary
    human_agreement: Mapping[str, Estimate]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Controls(random passes {self.random.passes_share}, "
            f"majority passes {self.majority.passes})"
        )


def annotator_controls(
    panel: Panel,
    design: AltTestDesign,
    *,
    resampling: Resampling,
    options: Sequence[Hashable] | None = None,
    n_draws: int = N_DRAWS,
) -> Controls:
    """Test random and majority judges, and measure agreement among the raters.

    Parameters
    ----------
    panel, design
        As in `annotator_test`.
    resampling : Resampling
        Settings for intervals; its generator also draws the random verdicts.
    options : sequence, optional
        Possible answers of a random judge. Default: the distinct values of the ratings.
    n_draws : int
        Number of random judges to test.

    Notes
    -----
    If raters answer at random, a random judge passes, because the test only compares it with these
    raters.
    """
    values = panel.labels if options is None else tuple(options)
    random = _random(panel, design, values, n_draws, resampling.rng)
    majority = annotator_test(panel, dict.fromkeys(panel.items, _most_frequent(panel)), design)
    agreement = {
        name: bootstrap(contributions, value, resampling=resampling)
        for name, (contributions, value) in _agreement(panel, design).items()
    }
    warnings = _warnings(random, majority, design)
    return Controls(random, AnnotatorSummary.of(majority), agreement, warnings)


def optimal_verdicts(panel: Panel, design: AltTestDesign) -> dict[str, Hashable]:
    """Return the verdicts with an advantage of 1.

    Returns
    -------
    dict
        Maps items to the most common value (accuracy; the first in the panel's order if tied) or to
        the mean (negative RMSE).

    Raises
    ------
    ValueError
        If no such verdicts exist for the score.

    Notes
    -----
    Calderon et al. 2025, theorem 1.
    """
    rated = np.flatnonzero(panel.ratings_per_item)
    if design.score == "accuracy":
        counts = np.zeros((len(panel.items), len(panel.labels)), dtype=np.int64)
        np.add.at(counts, (panel.of_item, panel.code), 1)
        best = counts.argmax(axis=1) if rated.size else rated
        return {panel.items[i]: panel.labels[best[i]] for i in rated.tolist()}
    if design.score == "neg_rmse":
        x = numbers(panel.labels, "ratings")[panel.code]
        sums = np.bincount(panel.of_item, x, len(panel.items))
        means = sums[rated] / panel.ratings_per_item[rated]
        return {panel.items[i]: m for i, m in zip(rated.tolist(), means.tolist(), strict=True)}
    raise ValueError(
        f"score is {design.score!r}; optimal verdicts are known only for 'accuracy' and 'neg_rmse'"
    )


def _random(
    panel: Panel,
    design: AltTestDesign,
    values: tuple[Hashable, ...],
    n_draws: int,
    rng: np.random.Generator,
) -> RandomControl:
    labels = tuple(dict.fromkeys((*panel.labels, *values)))
    place = np.array([labels.index(value) for value in values], dtype=np.int64)
    judges = (
        (str(b), Coded(labels, place[rng.integers(len(values), size=len(panel.items))]))
        for b in range(n_draws if values else 0)
    )
    tests = tests_of_each(panel, judges, design)
    defined = [test for test in tests.values() if test.passes is not None]
    return RandomControl(
        winning_rate=average(test.winning_rate.value for test in defined),
        advantage=average(test.advantage.value for test in defined),
        passes_share=average(float(bool(test.passes)) for test in defined),
        n_draws=len(tests),
    )


def _most_frequent(panel: Panel) -> Hashable:
    if not panel.labels:
        return None
    return panel.labels[int(np.bincount(panel.code).argmax())]


def _agreement(
    panel: Panel, design: AltTestDesign
) -> dict[str, tuple[FloatArray, Callable[[FloatArray], FloatArray]]]:
    """Return each item's contribution to the metrics of rater agreement, and their values."""
    n = len(panel.items)
    is_distance = design.score in ("neg_rmse", "rank_neg_rmse")
    sums = np.zeros((n, 2))
    for row, other in pairs_by_block(panel):
        values = similarities(design.score, panel.labels, panel.code[row], panel.code[other])
        item = panel.of_item[row]
        first = item.min(initial=n)
        added = [np.bincount(item - first, w) for w in (-values if is_distance else values, None)]
        sums[first : first + len(added[1])] = np.stack(added, axis=-1)
    name = "pairwise_agreement" if design.score == "accuracy" else "pairwise_similarity"
    agreement: dict[str, tuple[FloatArray, Callable[[FloatArray], FloatArray]]] = {}
    agreement["mean_absolute_difference" if is_distance else name] = (sums, mean)
    if design.score == "accuracy":
        counts = np.zeros((n, len(panel.labels)))
        np.add.at(counts, (panel.of_item, panel.code), 1.0)
        [alpha] = [
            metric for metric in HUMAN_AGREEMENT if metric.name == "krippendorff_alpha_nominal"
        ]
        agreement[alpha.name] = (alpha.contributions(counts), alpha.value)
    return agreement


def _warnings(random: RandomControl, majority: AltTest, design: AltTestDesign) -> tuple[str, ...]:
    warnings = []
    share = random.passes_share
    if share is not None and share > design.q:
        warnings.append(
            f"random_judge_passes: {share:.0%} of {random.n_draws} judges that answer at random "
            "pass; the raters agree so little that passing says little about a judge"
        )
    if majority.passes:
        warnings.append(
            "majority_judge_passes: a judge that always gives the most common value passes; "
            "see weighting='ipw'"
        )
    return tuple(warnings)


def mean_rater_correlations(
    panel: Panel, judges: Mapping[str, Mapping[str, Hashable] | Coded]
) -> dict[str, Estimate]:
    """Return each judge's mean Pearson correlation with a rater.

    Parameters
    ----------
    panel : Panel
        Numeric ratings.
    judges : mapping of judge to mapping of item to number, or Coded
        Items without a number, or with None, are unanswered. Coded values must use the panel's
        codes.

    Returns
    -------
    dict of str to Estimate
        Estimates without intervals. NA "no_overlap" if no rater shares two items with the judge,
        "constant_labels" if all correlations are undefined.

    Raises
    ------
    ValueError
        If a rating or verdict is not a number.

    Notes
    -----
    This is "Pears" in Calderon et al. 2025, table 2, without weights, over the raters for whom it
    is defined.
    """
    rating = numbers(panel.labels, "ratings")[panel.code]
    return {
        name: _mean_correlation(
            panel, rating, verdicts if isinstance(verdicts, Coded) else panel.coded(verdicts)
        )
        for name, verdicts in judges.items()
    }


def _mean_correlation(panel: Panel, rating: FloatArray, verdicts: Coded) -> Estimate:
    verdict = item_numbers(verdicts, "verdicts", ranks=False)[panel.of_item]
    answered, m = ~np.isnan(verdict), len(panel.raters)
    x, y, rater = verdict[answered], rating[answered], panel.of_rater[answered]
    of_raters = [np.bincount(rater, added, m) for added in (None, x, y, x * x, y * y, x * y)]
    sums = np.stack(of_raters, axis=-1).ravel().astype(np.float64)
    value, n_used = float(PEARSON_OVER_RATERS.value(sums)), len(np.unique(panel.of_item[answered]))
    undefined = bool(np.isnan(value))
    return Estimate(
        value=None if undefined else value,
        reason=PEARSON_OVER_RATERS.reason(sums) if undefined else "",
        n_used=n_used,
        n_excluded=len(panel.items) - n_used,
    )

"""Power of the alternative annotator test by raters and items (Calderon et al. 2025, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.deciding_test import deciding_annotator_test, deciding_test
from harness.stats.alt_test.rater_comparisons import ScoredPanel
from harness.stats.inference.multiple_testing import benjamini_yekutieli
from harness.stats.inference.proportions import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.procedure import AltTestDesign
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.inference.estimate import Interval
    from harness.stats.planning.assumed_rates import AssumedRates

REACH = (0.05, 0.95)  # quantiles of the advantage over draws: the figure's interval
N_DRAWS = 100  # as in the figure


@dataclass(frozen=True, slots=True)
class AnnotatorPower:
    """Results of the test over draws of raters and items.

    Attributes
    ----------
    n_raters, n_items : int
        Of a draw.
    power : float
        Share of the draws in which the judge passes; a draw in which no rater has enough items is
        no pass.
    power_interval : Interval
        Of the power, for the number of draws.
    winning_rate : float or None
        Mean over the draws that could be tested; None if none could.
    advantage, advantage_low, advantage_high : float
        Mean over draws of the advantage probability, the mean share of items on which the judge is
        at least as good as a rater, and its 5 % and 95 % quantiles.
    n_ratings : float
        Mean number of ratings in a draw.
    n_testable, n_draws : int
        Draws that could be tested, of all.
    """

    n_raters: int
    n_items: int
    power: float
    power_interval: Interval
    winning_rate: float | None
    advantage: float
    advantage_low: float
    advantage_high: float
    n_ratings: float
    n_testable: int
    n_draws: int


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """Place of the item among the D comparisons' items, rater, and difference: (D,) each."""

    place: IntArray
    rater: IntArray
    difference: FloatArray


@dataclass(frozen=True, slots=True)
class _Draw:
    passes: bool
    winning_rate: float | None
    advantage: float
    n_ratings: int


def power_from_panel(
    panel: Panel,
    verdicts: Mapping[str, Hashable],
    design: AltTestDesign,
    *,
    n_raters: int,
    n_items: Sequence[int],
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
) -> tuple[AnnotatorPower, ...]:
    """Estimate the power by drawing raters and items of a panel.

    Parameters
    ----------
    panel : Panel
        Ratings of identified raters.
    verdicts : mapping of item to value
        The judge's.
    design : AltTestDesign
        Of the deciding test; unweighted.
    n_raters : int
        Raters of a draw, without replacement.
    n_items : sequence of int
        Items of a draw, with replacement, of those that enough of the drawn raters rated.

    Returns
    -------
    tuple of AnnotatorPower
        In the order of ``n_items``.

    Raises
    ------
    ValueError
        If the panel has fewer raters, or they are not identified.

    References
    ----------
    Calderon et al. 2025, section 5.1 and figure 2, with the tests of `deciding_test`. Items are
    independent.
    """
    if not 2 <= n_raters <= len(panel.raters):  # noqa: PLR2004 -- a rater is compared with another
        raise ValueError(f"{n_raters} raters of {len(panel.raters)} make no test")
    draws: dict[int, list[_Draw]] = {n: [] for n in n_items}
    comparisons: dict[tuple[int, ...], _Comparisons] = {}
    for _ in range(n_draws):
        chosen = tuple(sorted(rng.choice(len(panel.raters), n_raters, replace=False).tolist()))
        if chosen not in comparisons:
            comparisons[chosen] = _differences(_among(panel, chosen), verdicts, design)
        for n in n_items:
            draws[n].append(_draw(comparisons[chosen], n, design, rng))
    return tuple(_summary(n_raters, n, of_size) for n, of_size in draws.items())


def power_from_rates(
    rates: AssumedRates,
    agreement: float,
    design: AltTestDesign,
    *,
    n_raters: int,
    n_items: Sequence[int],
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
) -> tuple[AnnotatorPower, ...]:
    """Estimate the power on new panels in which all raters rate all items.

    Parameters
    ----------
    rates : AssumedRates
        The population.
    agreement : float
        Chance that the judge agrees with a rater.
    design, n_raters, n_items, rng, n_draws
        As in `power_from_panel`.
    """
    draws: dict[int, list[_Draw]] = {n: [] for n in n_items}
    for n in n_items:
        for _ in range(n_draws):
            panel, verdicts = rates.panel(n, n_raters, agreement, rng)
            test = deciding_annotator_test(panel, verdicts, design)
            shares = [(t.n - t.losses) / t.n for t in test.raters.values()]
            draw = _Draw(bool(test.passes), test.winning_rate, float(np.mean(shares)), n * n_raters)
            draws[n].append(draw)
    return tuple(_summary(n_raters, n, of_size) for n, of_size in draws.items())


def _among(panel: Panel, chosen: tuple[int, ...]) -> Panel:
    """Return the ratings of some raters."""
    kept = np.isin(panel.of_rater, chosen)
    return replace(
        panel,
        raters=tuple(panel.raters[j] for j in chosen),
        of_item=panel.of_item[kept],
        of_rater=np.searchsorted(chosen, panel.of_rater[kept]),
        code=panel.code[kept],
    )


def _differences(
    panel: Panel, verdicts: Mapping[str, Hashable], design: AltTestDesign
) -> _Comparisons:
    scored = ScoredPanel.of(panel, design)
    comparisons = scored.against(scored.coded(verdicts))
    _, place = np.unique(comparisons.item, return_inverse=True)
    return _Comparisons(place, comparisons.rater, comparisons.outcome.astype(np.float64) - 1.0)


def _draw(
    comparisons: _Comparisons, n: int, design: AltTestDesign, rng: np.random.Generator
) -> _Draw:
    """Draw items with replacement and test every rater."""
    place = comparisons.place
    if not len(place):
        return _Draw(passes=False, winning_rate=None, advantage=float("nan"), n_ratings=0)
    n_places = int(place.max()) + 1
    times = np.bincount(rng.integers(0, n_places, n), minlength=n_places)[place]
    drawn = np.repeat(comparisons.difference, times)
    of_rater = np.repeat(comparisons.rater, times)
    by_rater = [drawn[of_rater == j] for j in np.unique(of_rater)]
    p = np.array([deciding_test(values, design.eps).p for values in by_rater], dtype=np.float64)
    tested = ~np.isnan(p)
    rate = None
    if tested.any():
        rate = float(benjamini_yekutieli(p, design.q).rejected[tested].mean())
    advantage = float(np.mean([(values <= 0).mean() for values in by_rater]))
    return _Draw(rate is not None and rate >= design.threshold, rate, advantage, len(drawn))


def _summary(n_raters: int, n_items: int, draws: Sequence[_Draw]) -> AnnotatorPower:
    rates = [draw.winning_rate for draw in draws if draw.winning_rate is not None]
    advantages = [draw.advantage for draw in draws]
    power = sum(draw.passes for draw in draws) / len(draws)
    low, high = np.quantile(advantages, REACH)
    return AnnotatorPower(
        n_raters=n_raters,
        n_items=n_items,
        power=power,
        power_interval=wilson_interval(power, len(draws)),
        winning_rate=float(np.mean(rates)) if rates else None,
        advantage=float(np.mean(advantages)),
        advantage_low=float(low),
        advantage_high=float(high),
        n_ratings=float(np.mean([draw.n_ratings for draw in draws])),
        n_testable=len(rates),
        n_draws=len(draws),
    )

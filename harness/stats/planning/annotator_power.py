"""Power of the alternative annotator test by raters and items (Calderon et al. 2025, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.deciding_test import (
    ALPHA,
    deciding_annotator_test,
    deciding_test,
    panel_test,
)
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.rater_comparisons import RaterComparisons, ScoredPanel
from harness.stats.inference.estimate import wilson_interval
from harness.stats.inference.multiple_testing import benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Coded
    from harness.stats.inference.estimate import Interval
    from harness.stats.planning.planted import PlantedJudge, PlantedRaters


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
class _Draw:
    passes: bool
    winning_rate: float | None
    advantage: float
    n_ratings: int


def power_from_panel(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
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
    verdicts : mapping of item to value, or Coded
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
    comparisons: dict[tuple[int, ...], RaterComparisons] = {}
    for _ in range(n_draws):
        chosen = tuple(sorted(rng.choice(len(panel.raters), n_raters, replace=False).tolist()))
        if chosen not in comparisons:
            comparisons[chosen] = _differences(_among(panel, chosen), verdicts, design)
        for n in n_items:
            draws[n].append(_draw(comparisons[chosen], n, design, rng))
    return tuple(_summary(n_raters, n, of_size) for n, of_size in draws.items())


def power_from_planted(
    raters: PlantedRaters,
    judge: PlantedJudge,
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
    raters, judge : PlantedRaters, PlantedJudge
        The population.
    design, n_raters, n_items, rng, n_draws
        As in `power_from_panel`.
    """
    draws: dict[int, list[_Draw]] = {n: [] for n in n_items}
    for n in n_items:
        for _ in range(n_draws):
            panel, verdicts = planted_panel(raters, judge, n, n_raters, rng)
            test = deciding_annotator_test(panel, verdicts, design)
            shares = [(t.n - t.losses) / t.n for t in test.raters.values()]
            draw = _Draw(bool(test.passes), test.share_beaten, float(np.mean(shares)), n * n_raters)
            draws[n].append(draw)
    return tuple(_summary(n_raters, n, of_size) for n, of_size in draws.items())


def planted_panel(
    raters: PlantedRaters, judge: PlantedJudge, n: int, n_raters: int, rng: np.random.Generator
) -> tuple[Panel, dict[str, int]]:
    """Draw the ratings of n items by all raters, and one reply of the judge to each item."""
    chances = raters.chances(n, rng)
    of_item = np.repeat(np.arange(n), n_raters)
    items = tuple(map(str, range(n)))
    panel = Panel(
        items=items,
        raters=tuple(f"r{j:03}" for j in range(n_raters)),
        labels=tuple(range(len(raters.shares))),
        of_item=of_item,
        of_rater=np.tile(np.arange(n_raters), n),
        code=raters.choose(chances[of_item], rng),
    )
    replies = judge.replies(chances, np.array(raters.shares), 1, rng)[:, 0]
    return panel, dict(zip(items, replies.tolist(), strict=True))


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
    panel: Panel, verdicts: Mapping[str, Hashable] | Coded, design: AltTestDesign
) -> RaterComparisons:
    """Compare judge and raters; items are numbered among those of the comparisons."""
    scored = ScoredPanel.of(panel, design)
    comparisons = scored.against(scored.coded(verdicts))
    return replace(comparisons, item=np.unique(comparisons.item, return_inverse=True)[1])


def _draw(
    comparisons: RaterComparisons, n: int, design: AltTestDesign, rng: np.random.Generator
) -> _Draw:
    """Draw items with replacement and test every rater."""
    place = comparisons.item
    if not len(place):
        return _Draw(passes=False, winning_rate=None, advantage=float("nan"), n_ratings=0)
    n_places = int(place.max()) + 1
    times = np.bincount(rng.integers(0, n_places, n), minlength=n_places)[place]
    drawn = np.repeat(comparisons.outcome.astype(np.float64) - 1.0, times)
    of_rater = np.repeat(comparisons.rater, times)
    by_rater = [drawn[of_rater == j] for j in np.unique(of_rater)]
    tests = [deciding_test(values, design.eps) for values in by_rater]
    p = panel_test(tests, len(by_rater), design.threshold).p
    each = np.array([test.p for test in tests], dtype=np.float64)
    tested = ~np.isnan(each)
    rate = None
    if tested.any():
        rate = float(benjamini_yekutieli(each, design.q).rejected[tested].mean())
    advantage = float(np.mean([(values <= 0).mean() for values in by_rater]))
    return _Draw(p is not None and p <= ALPHA, rate, advantage, len(drawn))


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

"""Power of the annotator test and of the recommendation, by number of raters and items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.copied_answers import MIN_FOR_COPIES, copy_test, may_copy
from harness.stats.alt_test.deciding_test import (
    ALPHA,
    deciding_annotator_test,
    deciding_test,
    panel_test,
)
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.rater_comparisons import RaterComparisons, ScoredPanel
from harness.stats.inference.alpha_spending import FIRST
from harness.stats.inference.estimate import share_interval
from harness.stats.inference.multiple_testing import benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Coded
    from harness.stats.data.arrays import IntArray
    from harness.stats.inference.estimate import Interval
    from harness.stats.planning.planted import PlantedJudge, PlantedRaters


REACH = (0.05, 0.95)  # quantiles of the advantage over draws, as in the figure
N_DRAWS = 100  # as in the figure
ORDERED = "neg_rmse"  # score for options that are numbers


@dataclass(frozen=True, slots=True)
class AnnotatorPower:
    """Results of the test over draws of raters and items.

    Attributes
    ----------
    n_raters, n_items : int
        Number of raters and items in a draw.
    power : float
        Share of the draws in which the judge passes. A draw in which no rater has enough items
        does not count as a pass.
    power_interval : Interval
        Interval for the power, from the number of draws.
    use : float or None
        Share of the draws in which the judge is recommended: it passes at the first validation's
        share of alpha, divided by the number of contenders, and does not look like a copy of a
        rater. The comparison with baselines is not included. None if it is not simulated.
    use_interval : Interval or None
        Interval for that share.
    winning_rate : float or None
        Mean over the draws that could be tested; None if none could.
    advantage, advantage_low, advantage_high : float
        Mean over draws of the advantage probability, the mean share of items on which the judge is
        at least as good as a rater, and its 5 % and 95 % quantiles.
    n_ratings : float
        Mean number of ratings in a draw.
    n_testable, n_draws : int
        Number of draws that could be tested, and of all draws.
    """

    n_raters: int
    n_items: int
    power: float
    power_interval: Interval
    use: float | None
    use_interval: Interval | None
    winning_rate: float | None
    advantage: float
    advantage_low: float
    advantage_high: float
    n_ratings: float
    n_testable: int
    n_draws: int


@dataclass(frozen=True, slots=True)
class _Draw:
    p: float
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
    n_contenders: int | None = None,
) -> tuple[AnnotatorPower, ...]:
    """Estimate the power by drawing raters and items from a panel.

    Parameters
    ----------
    panel : Panel
        Ratings from identified raters.
    verdicts : mapping of item to value, or Coded
        The judge's verdicts.
    design : AltTestDesign
        Design of the deciding test; unweighted.
    n_raters : int
        Raters per draw, without replacement.
    n_items : sequence of int
        Items per draw, with replacement, from those that enough of the drawn raters rated.
    n_contenders : int, optional
        Number of judges that can be the best. If set, `AnnotatorPower.use` is simulated for new
        items. Each draw then has its own item weights (Bayesian bootstrap), because a judge that
        did well on a few items may do worse on other items. Shares are then means over the
        plausible properties of the judge and the raters.

    Returns
    -------
    tuple of AnnotatorPower
        Results in the order of ``n_items``.

    Raises
    ------
    ValueError
        If the panel has fewer raters, or they are not identified.

    References
    ----------
    Calderon et al. 2025, section 5.1 and figure 2, with the tests of `deciding_test`. Items are
    independent.
    """
    if not 2 <= n_raters <= len(panel.raters):  # noqa: PLR2004 -- a comparison needs two
        raise ValueError(f"n_raters is {n_raters}; wanted 2 to {len(panel.raters)}")
    draws: dict[int, list[_Draw]] = {n: [] for n in n_items}
    n_used: dict[int, int] = dict.fromkeys(n_items, 0)
    compared: dict[tuple[int, ...], _Compared] = {}
    passing: dict[tuple[tuple[int, ...], int], list[IntArray]] = {}
    for _ in range(n_draws):
        chosen = tuple(sorted(rng.choice(len(panel.raters), n_raters, replace=False).tolist()))
        if chosen not in compared:
            compared[chosen] = _Compared.of(_among(panel, chosen), verdicts, design)
        for n in n_items:
            times = compared[chosen].drawn(n, rng, weighted=n_contenders is not None)
            draws[n].append(_draw(compared[chosen].comparisons, times, design))
            if n_contenders is not None and draws[n][-1].p <= ALPHA * FIRST / n_contenders:
                passing.setdefault((chosen, n), []).append(times)
    for (chosen, n), of_draws in passing.items():
        n_used[n] += len(of_draws) - compared[chosen].n_copies(np.array(of_draws), design)
    return tuple(
        _summary(n_raters, n, of_size, None if n_contenders is None else n_used[n])
        for n, of_size in draws.items()
    )


def power_from_planted(
    raters: PlantedRaters,
    judge: PlantedJudge,
    design: AltTestDesign,
    *,
    n_raters: int,
    n_items: Sequence[int],
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    n_contenders: int | None = None,
) -> tuple[AnnotatorPower, ...]:
    """Estimate the power for new panels in which all raters rate all items.

    Parameters
    ----------
    raters, judge : PlantedRaters, PlantedJudge
        Properties of the population.
    design, n_raters, n_items, rng, n_draws, n_contenders
        As in `power_from_panel`.
    """
    draws: dict[int, list[_Draw]] = {n: [] for n in n_items}
    n_used: dict[int, int] = dict.fromkeys(n_items, 0)
    for n in n_items:
        for _ in range(n_draws):
            panel, verdicts = planted_panel(raters, judge, n, n_raters, rng)
            test = deciding_annotator_test(panel, verdicts, design)
            shares = [(t.n - t.losses) / t.n for t in test.raters.values()]
            p = 1.0 if test.panel.p is None else test.panel.p
            draws[n].append(_Draw(p, test.share_beaten, float(np.mean(shares)), n * n_raters))
            if n_contenders is not None and p <= ALPHA * FIRST / n_contenders:
                n_used[n] += not _may_copy(panel, panel.coded(verdicts), design)
    return tuple(
        _summary(n_raters, n, of_size, None if n_contenders is None else n_used[n])
        for n, of_size in draws.items()
    )


def _may_copy(panel: Panel, judge: Coded, design: AltTestDesign) -> bool:
    """Return whether a judge looks like a copy of a rater or is indistinguishable from one."""
    test = copy_test(panel, judge, ordered=design.score == ORDERED)
    return test is not None and (test.copies or test.undecided)


def planted_panel(
    raters: PlantedRaters, judge: PlantedJudge, n: int, n_raters: int, rng: np.random.Generator
) -> tuple[Panel, dict[str, int]]:
    """Draw all raters' ratings of n items, and one reply of the judge per item."""
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
    """Keep only the ratings by the chosen raters."""
    kept = np.isin(panel.of_rater, chosen)
    return replace(
        panel,
        raters=tuple(panel.raters[j] for j in chosen),
        of_item=panel.of_item[kept],
        of_rater=np.searchsorted(chosen, panel.of_rater[kept]),
        code=panel.code[kept],
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """Comparisons of a judge with raters, with their items numbered."""

    panel: Panel
    judge: Coded
    comparisons: RaterComparisons
    items: IntArray  # items of the panel

    @classmethod
    def of(
        cls, panel: Panel, verdicts: Mapping[str, Hashable] | Coded, design: AltTestDesign
    ) -> _Compared:
        scored = ScoredPanel.of(panel, design)
        judge = scored.coded(verdicts)
        comparisons = scored.against(judge)
        items, place = np.unique(comparisons.item, return_inverse=True)
        return cls(panel, judge, replace(comparisons, item=place), items)

    def drawn(self, n: int, rng: np.random.Generator, *, weighted: bool) -> IntArray:
        """Draw n items with replacement, and return how often each was drawn."""
        if not len(self.items):
            return np.zeros(0, dtype=np.int64)
        if weighted:
            return rng.multinomial(n, rng.dirichlet(np.ones(len(self.items))))
        return np.bincount(rng.integers(0, len(self.items), n), minlength=len(self.items))

    def n_copies(self, times: IntArray, design: AltTestDesign) -> int:
        """Count the (B, items) draws in which the judge looks like a copy of a rater."""
        if len(self.panel.raters) < MIN_FOR_COPIES:
            return 0
        of_panel = np.zeros((len(times), len(self.panel.items)))
        of_panel[:, self.items] = times
        return int(
            may_copy(self.panel, self.judge, of_panel, ordered=design.score == ORDERED).sum()
        )


def _draw(comparisons: RaterComparisons, drawn_times: IntArray, design: AltTestDesign) -> _Draw:
    """Test every rater on items that are repeated as often as they were drawn."""
    place = comparisons.item
    if not len(place):
        return _Draw(p=1.0, winning_rate=None, advantage=float("nan"), n_ratings=0)
    times = drawn_times[place]
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
    return _Draw(1.0 if p is None else p, rate, advantage, len(drawn))


def _summary(
    n_raters: int, n_items: int, draws: Sequence[_Draw], n_used: int | None
) -> AnnotatorPower:
    rates = [draw.winning_rate for draw in draws if draw.winning_rate is not None]
    advantages = [draw.advantage for draw in draws]
    power = sum(draw.p <= ALPHA for draw in draws) / len(draws)
    use = None if n_used is None else n_used / len(draws)
    low, high = np.quantile(advantages, REACH)
    return AnnotatorPower(
        n_raters=n_raters,
        n_items=n_items,
        power=power,
        power_interval=share_interval(power, len(draws)),
        use=use,
        use_interval=None if use is None else share_interval(use, len(draws)),
        winning_rate=float(np.mean(rates)) if rates else None,
        advantage=float(np.mean(advantages)),
        advantage_low=float(low),
        advantage_high=float(high),
        n_ratings=float(np.mean([draw.n_ratings for draw in draws])),
        n_testable=len(rates),
        n_draws=len(draws),
    )

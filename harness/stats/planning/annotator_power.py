"""Power of the alternative annotator test by raters and items (Calderon et al. 2025, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
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
from harness.stats.planning.sample_size import AgreementMoments

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.procedure import AltTestDesign
    from harness.stats.data.arrays import IntArray
    from harness.stats.inference.estimate import Interval


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
    comparisons: dict[tuple[int, ...], RaterComparisons] = {}
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
            draw = _Draw(bool(test.passes), test.share_beaten, float(np.mean(shares)), n * n_raters)
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


@dataclass(frozen=True, slots=True)
class AssumedRates:
    """Items with two options, of which most raters prefer the same share of times.

    Each item has a preferred option, either with a chance of one half; raters choose it
    independently with the same probability on every item. A judge has a usual reply per item, from
    which each reply departs independently. Judges' usual replies are independent on an item.

    Attributes
    ----------
    rater_agreement : float in [0.5, 1]
        Chance that two raters agree on an item.
    self_consistency : float in [0.5, 1], optional
        Chance that two replies of a judge to an item agree.
    """

    rater_agreement: float
    self_consistency: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rater_agreement", "self_consistency"):
            rate = getattr(self, name)
            if not 0.5 <= rate <= 1.0:  # noqa: PLR2004 -- chance, with two options
                raise ValueError(f"{name} is {rate}; with two options it is from 0.5 to 1")

    @property
    def preference(self) -> float:
        """Chance that a rater chooses the preferred option."""
        return (1.0 + sqrt(2.0 * self.rater_agreement - 1.0)) / 2.0

    @property
    def fidelity(self) -> float:
        """Chance that a reply is the judge's usual reply to the item."""
        return (1.0 + sqrt(2.0 * self.self_consistency - 1.0)) / 2.0

    def usual_accuracy(self, agreement: float) -> float:
        """Return the chance that a judge's usual reply is the preferred option.

        Raises
        ------
        ValueError
            If no judge with this self-consistency reaches the agreement with a rater.
        """
        slope = (2.0 * self.preference - 1.0) * (2.0 * self.fidelity - 1.0)
        most = 0.5 + slope / 2.0
        if not 1.0 - most - 1e-12 <= agreement <= most + 1e-12:
            raise ValueError(
                f"agreement {agreement} with a rater is out of reach: raters who agree with each "
                f"other {self.rater_agreement} of the time, and replies {self.self_consistency} "
                f"of it, allow {1.0 - most:.3f} to {most:.3f}"
            )
        return 0.5 if slope == 0 else 0.5 + (agreement - 0.5) / slope

    def moments(self, agreement: float, other: float | None = None) -> AgreementMoments:
        """Return the moments of a judge's agreement, or of the difference of two.

        Parameters
        ----------
        agreement, other : float
            Chance that a reply of the judge, and of a second one, equals a rating.

        Raises
        ------
        ValueError
            As `usual_accuracy`.
        """
        # An agreement is 1/2 + b u / 2 with b, u = +1 for the preferred option and -1 for the other
        gamma = 2.0 * self.preference - 1.0
        agreements = [agreement] if other is None else [agreement, other]
        signs = (1.0, -1.0)
        means = [
            sign * (2.0 * self.usual_accuracy(share) - 1.0) * (2.0 * self.fidelity - 1.0)
            for sign, share in zip(signs, agreements, strict=False)
        ]
        repeated = (2.0 * self.fidelity - 1.0) ** 2  # E u u' of two replies of a judge
        cross = 0.0 if other is None else 2.0 * means[0] * means[1]
        same, different = len(means) + cross, len(means) * repeated + cross
        constant, first = (0.5, gamma * means[0] / 2.0) if other is None else (0.0, 0.0)
        offset = constant**2 + constant * 2.0 * first
        return AgreementMoments(
            mean=constant + gamma * sum(means) / 2.0,
            same=offset + same / 4.0,
            other_rater=offset + gamma**2 * same / 4.0,
            other_reply=offset + different / 4.0,
            other_both=offset + gamma**2 * different / 4.0,
        )

    def preferred(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw the preferred option, 0 or 1, of n items: (n,)."""
        return rng.integers(0, 2, n)

    def ratings(self, preferred: IntArray, n_raters: int, rng: np.random.Generator) -> IntArray:
        """Draw the choices of raters: (n, m) of 0 and 1."""
        departs = rng.random((len(preferred), n_raters)) >= self.preference
        return preferred[:, None] ^ departs.astype(np.int64)

    def replies(
        self, preferred: IntArray, agreement: float, n_replies: int, rng: np.random.Generator
    ) -> IntArray:
        """Draw the replies of a judge with this agreement: (n, s) of 0 and 1."""
        n = len(preferred)
        usual = preferred ^ (rng.random(n) >= self.usual_accuracy(agreement)).astype(np.int64)
        departs = rng.random((n, n_replies)) >= self.fidelity
        return usual[:, None] ^ departs.astype(np.int64)

    def panel(
        self, n: int, n_raters: int, agreement: float, rng: np.random.Generator
    ) -> tuple[Panel, dict[str, int]]:
        """Draw the ratings of n items by all raters, and one reply of a judge to each item."""
        preferred = self.preferred(n, rng)
        items, raters = tuple(map(str, range(n))), tuple(f"r{j:03}" for j in range(n_raters))
        panel = Panel(
            items=items,
            raters=raters,
            labels=(0, 1),
            of_item=np.repeat(np.arange(n), n_raters),
            of_rater=np.tile(np.arange(n_raters), n),
            code=self.ratings(preferred, n_raters, rng).ravel(),
        )
        replies = self.replies(preferred, agreement, 1, rng)[:, 0]
        return panel, dict(zip(items, replies.tolist(), strict=True))

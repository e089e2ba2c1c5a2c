"""Variants of the alternative annotator test: margins, judges, domains, combined raters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.design import check_eps
from harness.stats.alt_test.outcome import AltTest, average, decide
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.procedure import annotator_test
from harness.stats.alt_test.rater_comparisons import share_won
from harness.stats.data.arrays import TOLERANCE
from harness.stats.inference.multiple_testing import FalseDiscoveries, benjamini_yekutieli
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Coded
    from harness.stats.data.arrays import BoolArray, FloatArray

RESOLUTION = 1e-9
# Between these margins a signed-rank p-value does not move, and the p-value of a t-test only falls.
PIECES = ((0.0, 0.0), (0.0, 0.5 - RESOLUTION), (0.5, 0.5), (0.5, 1.0 - RESOLUTION))
HALVINGS = 5  # that are tested together
MAX_PAIRINGS = 100


@dataclass(frozen=True, slots=True)
class EpsPoint:
    """The result at one margin.

    Attributes
    ----------
    eps : float
        The margin.
    winning_rate, advantage : float or None
        None if no rater is tested. The advantage is the same at every margin.
    passes : bool or None
        Whether the winning rate reaches the threshold; None if undefined.
    """

    eps: float
    winning_rate: float | None
    advantage: float | None
    passes: bool | None


def eps_sweep(test: AltTest, eps: Iterable[float]) -> tuple[EpsPoint, ...]:
    """Repeat a test at other margins, using its sums.

    Parameters
    ----------
    test : AltTest
        A test at any margin.
    eps : iterable of float in [0, 1)
        The margins.

    Raises
    ------
    ValueError
        If one is out of range: "eps_out_of_range".
    """
    margins = tuple(eps)
    for margin in margins:
        check_eps(margin)
    advantage, least = test.advantage.value, test.threshold - TOLERANCE
    return tuple(
        EpsPoint(margin, None, advantage, None)
        if np.isnan(rate)
        else EpsPoint(margin, rate, advantage, rate >= least)
        for margin, rate in zip(margins, _winning_rates(test, np.array(margins)), strict=True)
    )


def smallest_eps(test: AltTest) -> float | None:
    """Return the smallest margin at which the judge passes.

    Returns
    -------
    float or None
        Accurate to 1e-9 and rounded up, so the judge passes at the returned margin. None if it
        passes at no margin.

    Notes
    -----
    The number of rejections can only grow as p-values fall. The p-value of a t-test falls as the
    margin grows. That of a signed-rank test only changes at 0 and 1/2, where it can jump either
    way.
    """
    passes = _passes(test, np.array([high for _, high in PIECES]))
    piece = next((piece for piece, at_end in zip(PIECES, passes, strict=True) if at_end), None)
    return None if piece is None else _bisect(test, *piece)


def _bisect(test: AltTest, low: float, high: float) -> float:
    """Bisect for the margin at which the judge starts to pass, testing several steps at once."""
    if _passes(test, np.array([low]))[0]:
        return low
    while high - low > RESOLUTION:
        ends = np.array([low, high])
        for _ in range(HALVINGS):
            ends = np.insert(ends, range(1, len(ends)), (ends[:-1] + ends[1:]) / 2.0)
        passes, first, last = _passes(test, ends), 0, len(ends) - 1
        while last - first > 1 and ends[last] - ends[first] > RESOLUTION:
            middle = (first + last) // 2
            first, last = (first, middle) if passes[middle] else (middle, last)
        low, high = ends[[first, last]].tolist()
    return high


def _passes(test: AltTest, margins: FloatArray) -> BoolArray:
    """Return (E,) bool: whether the judge passes at each margin."""
    least = test.threshold - TOLERANCE
    return np.array([rate >= least for rate in _winning_rates(test, margins)], dtype=np.bool_)


def _winning_rates(test: AltTest, margins: FloatArray) -> list[float]:
    """Return the winning rate at each of (E,) margins, nan if no rater is tested."""
    p, quality = test.rater_sums.p(margins), test.rater_sums.quality
    rates: list[float] = share_won(benjamini_yekutieli(p, test.q).rejected, p, quality).tolist()
    return rates


def adjust_jointly(tests: Mapping[str, AltTest], q: float = 0.05) -> dict[str, AltTest]:
    """Adjust the tests of several judges or domains over all their raters at once.

    Parameters
    ----------
    tests : mapping of judge or domain to AltTest
        One or more.
    q : float in (0, 1)
        False discovery rate over all of them.

    Returns
    -------
    dict
        The tests with decisions and winning rates under the joint adjustment.

    Raises
    ------
    ValueError
        If there are no tests.

    Notes
    -----
    Calderon et al. 2025, appendix A: five domains of three raters are 15 p-values; the winning rate
    stays one per domain.
    """
    if not tests:
        raise ValueError("tests: wanted one or more")
    ends = np.cumsum([len(test.p) for test in tests.values()])[:-1]
    decisions = benjamini_yekutieli(np.concatenate([test.p for test in tests.values()]), q)
    rejected = np.split(decisions.rejected, ends)
    adjusted = np.split(decisions.adjusted, ends)
    n_family = sum(test.n_tested for test in tests.values())
    return {
        name: decide(
            replace(test, q=q),
            FalseDiscoveries(rejected[j], decisions.thresholds, adjusted[j]),
            n_family,
        )
        for j, (name, test) in enumerate(tests.items())
    }


def combine_raters(panel: Panel, teams: Iterable[Sequence[str]]) -> Panel:
    """Combine raters who rated different items into one.

    Parameters
    ----------
    panel : Panel
        The ratings.
    teams : iterable of sequences of raters
        Raters to combine; "a" and "b" become "a+b". Other raters are unchanged.

    Raises
    ------
    ValueError
        If a rater is unknown or in two teams, or two of a team rated the same item.
    """
    name = {rater: rater for rater in panel.raters}
    in_teams: set[str] = set()
    for team in teams:
        for rater in team:
            if rater not in name or rater in in_teams:
                raise ValueError(f"teams: rater {rater!r} is unknown or in two teams")
            in_teams.add(rater)
            name[rater] = "+".join(team)
    named = [name[rater] for rater in panel.raters]
    return Panel.of(
        (
            (panel.items[i], named[j], panel.labels[c])
            for i, j, c in zip(
                panel.of_item.tolist(), panel.of_rater.tolist(), panel.code.tolist(), strict=True
            )
        ),
        items=panel.items,
        rater_ids=panel.rater_ids,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedTest:
    """Means over the ways to combine raters of different items into one.

    Attributes
    ----------
    winning_rate, advantage : float or None
        Means over the pairings in which they are defined.
    passes_share : float or None
        Share of these pairings in which the judge passes.
    n_pairings : int
        Number of pairings tried, at most 100.
    reason : str
        Reason if there are none, else "".
    """

    winning_rate: float | None
    advantage: float | None
    passes_share: float | None
    n_pairings: int
    reason: Reason


def combined_annotator_test(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
    design: AltTestDesign,
    sets: tuple[Sequence[str], Sequence[str]],
    *,
    rng: np.random.Generator,
    max_pairings: int = MAX_PAIRINGS,
) -> CombinedTest:
    """Run the test on raters combined across two sets that rated different items.

    Parameters
    ----------
    panel, verdicts, design
        As in `annotator_test`.
    sets : two sequences of raters
        Each rater in the smaller set is joined with one in the larger; the rest stay single.
    rng : numpy Generator
        Draws pairings when there are more than ``max_pairings``.
    max_pairings : int
        If there are at most this many pairings, all are tried.

    Notes
    -----
    Calderon et al. 2025, appendix A. This increases the number of items per rater, but collecting
    more ratings is better.
    """
    small, large = sorted(map(list, sets), key=len)
    n_pairings = int(np.prod(range(len(large) - len(small) + 1, len(large) + 1), dtype=float))
    if n_pairings <= max_pairings:
        chosen = list(permutations(large, len(small)))
    else:
        chosen = [tuple(rng.permutation(large)[: len(small)]) for _ in range(max_pairings)]
    tests = tuple(
        annotator_test(
            combine_raters(panel, [(a, str(b)) for a, b in zip(small, pairing, strict=True)]),
            verdicts,
            design,
        )
        for pairing in chosen
    )
    defined = [test for test in tests if test.passes is not None]
    return CombinedTest(
        reason="" if defined else tests[0].winning_rate.reason,
        n_pairings=len(tests),
        winning_rate=average(test.winning_rate.value for test in defined),
        advantage=average(test.advantage.value for test in defined),
        passes_share=average(float(bool(test.passes)) for test in defined),
    )

"""Likelihood comparison of a judge that answers independently with one that copies raters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.panel import UNANSWERED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

MIN_FOR_COPIES = 3  # raters with enough ratings; with two, each agrees equally with the other
LEAST_SHARE = 0.05  # least share of the ratings for a rater who may be copied
LEAST_COPIED = 0.8  # share of the answers that a copy repeats
MIN_ITEMS = 10  # items from one of two raters, to recognise their copies
MOST_ITEMS = 1000  # most items compared; if there are more, evenly spaced ones
MOST_OPTIONS = 20
MOST_PAIRED = 8  # up to this many nominal options, any two can be reasonable together
MOST_COPIED = 6  # raters whose pairs are searched for copies
# Limits on ratings per item and items, and bounds on twice the log-likelihood ratio. With less
# data, bounds are lower, so that at most 5 % of copies are recommended (docs/coverage.md).
FEW_RATINGS, FEW_ITEMS, BOUNDS = 3.5, 100, (-0.5, -2.0, -3.0)
UNDECIDED_FROM = -2.0  # bound if the judge shares no error with a rater
N_STEPS, N_COPY_STEPS = 120, 60  # of the EM algorithm
CLOSE = 1e-4  # change in log-likelihood at which it stops
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class CopyTest:
    """Test of whether copied ratings explain a judge's answers better than the truth does.

    Attributes
    ----------
    raters : tuple of str
        One or two raters whose copies explain the answers best, the most copied first.
    shares : tuple of float
        Share of answers copied from each of them, on the items that they rated.
    log_ratio : float or None
        Twice the log-likelihood of a copy of these raters minus that of an independent judge, on
        the items that they rated. None if the judge shares no answer with two raters that most
        others contradict, since there is then no evidence for a copy.
    bound : float
        The minimum ``log_ratio`` of a copy.
    n_items : int
        Number of these raters' items that the judge answered.
    undecided : bool
        Whether the judge shares no such answer but resembles a rater so closely that a copy would
        look the same: they make too few errors to distinguish the two.
    """

    raters: tuple[str, ...]
    shares: tuple[float, ...]
    log_ratio: float | None
    bound: float
    n_items: int
    undecided: bool = False

    @property
    def copies(self) -> bool:
        """Return whether the judge counts as a copy."""
        return self.log_ratio is not None and self.log_ratio > self.bound


def copy_test(panel: Panel, judge: Coded, *, ordered: bool = False) -> CopyTest | None:
    """Compare an independent judge with one that copies one or two raters.

    Parameters
    ----------
    panel : Panel
        Ratings from identified raters.
    judge : Coded
        One answer per item.
    ordered : bool
        Whether labels are numbers, in which case neighbouring numbers can both be reasonable.

    Returns
    -------
    CopyTest or None
        None with fewer than three raters of at least 5 % of the ratings each, fewer than two
        options, or more than 20.

    Notes
    -----
    Each item has a set of reasonable options: one, two or all. An independent judge is modelled as
    one more rater. Each rater knows the set with an individual probability and then picks one of
    its options at random; otherwise it answers from its own distribution, as in MACE (Hovy et al.
    2013). So raters can differ in accuracy and bias, items can differ in difficulty, and the judge
    can be better than all raters. A copy repeats one rater, or two at random, in at least 80 % of
    its answers, and draws the other answers from its own distribution. Both models are fitted by
    maximum likelihood. Their models of the raters are the same, so the ratio concerns the judge's
    answers given the raters' answers.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani, E. Hovy, Learning whom to trust with MACE, NAACL
    (2013), 1120-1130.
    """
    share = np.bincount(panel.of_rater, minlength=len(panel.raters)) / max(len(panel.code), 1)
    frequent = np.flatnonzero(share >= LEAST_SHARE)
    codes, _, n_options = _codes(panel, judge, frequent, ordered=ordered)
    if len(frequent) < MIN_FOR_COPIES or not 1 < n_options <= MOST_OPTIONS or not len(codes):
        return None
    kinds, times = np.unique(codes, axis=0, return_counts=True)
    sets = reasonable_sets(n_options, ordered=ordered)
    copies = copy_ratios(kinds, times[None].astype(np.float64), sets)
    if not copies.pairs:
        return None
    best, shares_errors = int(copies.best[0]), not copies.shares_none[0]
    bound = bound_of(len(codes), float((codes[:, :-1] != UNANSWERED).sum(axis=1).mean()))
    pair = sorted(
        zip(copies.shares[0, best].tolist(), copies.pairs[best], strict=True), reverse=True
    )
    copied = [(rho, j) for rho, j in pair if rho > LEAST_SHARE]
    n_items = int(times[(kinds[:, [j for _, j in copied]] != UNANSWERED).any(axis=1)].sum())
    return CopyTest(
        raters=tuple(panel.raters[frequent[j]] for _, j in copied),
        shares=tuple(rho for rho, _ in copied),
        log_ratio=float(copies.ratios[0, best]) if shares_errors else None,
        bound=bound,
        n_items=n_items,
        undecided=bool(copies.undecided(bound)[0]),
    )


def may_copy(panel: Panel, judge: Coded, times: FloatArray, *, ordered: bool = False) -> BoolArray:
    """Return a mask of the data sets in which a judge looks like, or could be, a copy of a rater.

    Parameters
    ----------
    panel, judge, ordered
        As in `copy_test`.
    times : (B, n) array
        Number of times that each of B data sets contains each item of the panel.

    Returns
    -------
    (B,) bool array
        False if copies cannot be tested for.
    """
    raters = np.arange(len(panel.raters))
    codes, rows, n_options = _codes(panel, judge, raters, ordered=ordered)
    if not 1 < n_options <= MOST_OPTIONS or not len(codes):
        return np.zeros(len(times), dtype=np.bool_)
    kinds, place = np.unique(codes, axis=0, return_inverse=True)
    of_kinds = times[:, rows] @ (place.reshape(-1, 1) == np.arange(len(kinds))).astype(np.float64)
    copies = copy_ratios(kinds, of_kinds, reasonable_sets(n_options, ordered=ordered))
    n_ratings = float((codes[:, :-1] != UNANSWERED).sum(axis=1).mean())
    bound = bound_of(round(float(times.sum(axis=1).mean())), n_ratings)
    if not copies.pairs:
        return np.zeros(len(times), dtype=np.bool_)
    return np.asarray(copies.copied(bound) | copies.undecided(bound))


def bound_of(n_items: int, ratings_per_item: float) -> float:
    """Return the minimum log-likelihood ratio for a copy, given the amount of data."""
    enough, few_ratings, few_items = BOUNDS
    if ratings_per_item >= FEW_RATINGS:
        return enough
    return few_ratings if n_items >= FEW_ITEMS else few_items


def _codes(
    panel: Panel, judge: Coded, raters: IntArray, *, ordered: bool
) -> tuple[IntArray, IntArray, int]:
    """Return (n', m + 1) options of raters and judge, the items with both, and the option count."""
    codes = np.full((len(panel.items), len(raters) + 1), UNANSWERED)
    kept = np.isin(panel.of_rater, raters)
    place = np.searchsorted(raters, panel.of_rater[kept])
    codes[panel.of_item[kept], place] = panel.code[kept]
    codes[:, -1] = judge.code
    rows = np.flatnonzero(judge.present & (codes[:, :-1] != UNANSWERED).any(axis=1))
    if len(rows) > MOST_ITEMS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ITEMS).astype(np.int64)]
    codes = codes[rows]
    used = np.unique(codes[codes != UNANSWERED])
    if ordered:
        used = used[np.argsort([float(judge.labels[k]) for k in used.tolist()])]
    number = np.full(len(judge.labels) + 1, UNANSWERED)  # the last entry is for no answer
    number[used] = np.arange(len(used))
    return number[codes], rows, len(used)


def reasonable_sets(n_options: int, *, ordered: bool = False) -> FloatArray:
    """Return (V, K) probabilities of picking each option at random from each set.

    The sets have one option, two options (neighbours if ``ordered``), or all options.
    """
    pairs: Sequence[tuple[int, ...]] = ()
    if n_options > 2:  # noqa: PLR2004 -- otherwise two are all
        pairs = [(k, k + 1) for k in range(n_options - 1)]
        if not ordered:
            pairs = list(combinations(range(n_options), 2)) if n_options <= MOST_PAIRED else []
    sets = [*((k,) for k in range(n_options)), *pairs, tuple(range(n_options))]
    chances = np.zeros((len(sets), n_options))
    for v, members in enumerate(sets):
        chances[v, list(members)] = 1.0 / len(members)
    return chances


@dataclass(frozen=True, slots=True)
class CopyRatios:
    """Comparison of copies of rater pairs with an independent judge, in B data sets.

    Attributes
    ----------
    pairs : tuple of C pairs of int
        Pairs of the raters that the judge agrees with most in the first data set.
    ratios : (B, C) array
        Twice the log-likelihood ratio, on each pair's items.
    shares : (B, C, 2) array
        Share of answers copied from each rater.
    shares_errors : (B, C) bool array
        Whether the judge shares an answer with them that most other raters contradict. If not, for
        example because raters nearly always agree, there is no evidence for a copy.
    """

    pairs: tuple[tuple[int, int], ...]
    ratios: FloatArray
    shares: FloatArray
    shares_errors: BoolArray

    @property
    def shares_none(self) -> BoolArray:
        """Return a (B,) mask of the data sets in which the judge shares no contradicted answer."""
        return np.asarray(~self.shares_errors.any(axis=1))

    @property
    def best(self) -> IntArray:
        """Index of the pair whose copies best explain the answers, for each of B data sets.

        Only pairs with a shared error compete, unless the judge shares none.
        """
        comparable = self.shares_errors | self.shares_none[:, None]
        return np.asarray(np.where(comparable, self.ratios, -np.inf).argmax(axis=1))

    def copied(self, bound: float) -> BoolArray:
        """Return a (B,) mask of the data sets in which the judge counts as a copy."""
        return np.asarray(((self.ratios > bound) & self.shares_errors).any(axis=1))

    def undecided(self, bound: float) -> BoolArray:
        """Return a (B,) mask of the data sets in which a copy would look the same.

        No shared error distinguishes it from an independent judge.
        """
        alike = (self.ratios > min(bound, UNDECIDED_FROM)).any(axis=1)
        return np.asarray(alike & self.shares_none)


def copy_ratios(kinds: IntArray, times: FloatArray, sets: FloatArray) -> CopyRatios:
    """Compare copies of each pair of raters with an independent judge.

    Parameters
    ----------
    kinds : (P, m + 1) int array
        Options of m raters and the judge for each kind of item; -1 if a rater gave no answer.
    times : (B, P) array
        Number of items of each kind in B data sets.
    sets : (V, K) array
        As from `reasonable_sets`.
    """
    m = kinds.shape[1] - 1
    by_itself = log_likelihoods(kinds, times, sets) - log_likelihoods(kinds[:, :m], times, sets)
    pairs, ratios, shares, shared = tuple(_pairs(kinds, times)), [], [], []
    departs = _shared_departures(kinds, sets.shape[1])
    for pair in pairs:
        covered = (kinds[:, pair] != UNANSWERED).any(axis=1)
        log_copies, rho = _copy_likelihood(kinds[covered][:, [*pair, m]], times[:, covered], sets)
        apart = log_copies - by_itself[:, covered]
        ratios.append(2.0 * (times[:, covered] * apart).sum(axis=1))
        shared.append(times @ (departs[:, pair].any(axis=1)) > 0)
        shares.append(rho)
    B, C = len(times), len(pairs)
    return CopyRatios(
        pairs,
        np.array(ratios).T.reshape(B, C),
        np.array(shares).reshape(C, B, 2).swapaxes(0, 1),
        np.array(shared, dtype=np.bool_).T.reshape(B, C),
    )


def _shared_departures(kinds: IntArray, n_options: int) -> BoolArray:
    """Return (P, m): whether the judge matches a rater whom most other raters contradict."""
    ratings, judge = kinds[:, :-1], kinds[:, -1:]
    counts = (ratings[:, :, None] == np.arange(n_options)).sum(axis=1)
    same = np.take_along_axis(counts, judge, axis=1)
    np.put_along_axis(counts, judge, 0, axis=1)
    contradicted = counts.max(axis=1, keepdims=True) > same - 1
    return np.asarray((ratings == judge) & contradicted, dtype=np.bool_)


def _pairs(kinds: IntArray, times: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield pairs of the raters that the judge agrees with most. Each rated at least ten items."""
    m, total = kinds.shape[1] - 1, times.sum(axis=0)
    rated = kinds[:, :m] != UNANSWERED
    n_rated = total @ rated
    agreed = total @ (rated & (kinds[:, :m] == kinds[:, m:]))
    enough = np.flatnonzero(n_rated >= MIN_ITEMS)
    closest = enough[np.argsort(-agreed[enough] / n_rated[enough], kind="stable")][:MOST_COPIED]
    yield from combinations(closest.tolist(), 2)


def log_likelihoods(kinds: IntArray, times: FloatArray, sets: FloatArray) -> FloatArray:
    """Fit a model of the raters, and return (B, P) log-likelihoods of kinds of answers.

    The EM algorithm fits the weight of each set, each rater's probability of knowing it, and the
    rater's distribution of other answers.
    """
    r, (V, K), n = kinds.shape[1], sets.shape, times.sum(axis=1)
    given = (kinds.T[:, :, None] == np.arange(K)).astype(np.float64)  # (r, P, K)
    by_option = np.ascontiguousarray(given.swapaxes(1, 2))
    missing = (kinds == UNANSWERED).T.astype(np.float64)[:, None, None]
    n_given = times @ given  # (r, B, K)
    answered = np.maximum(n_given.sum(axis=2), TINY)
    guesses = np.maximum(n_given, 0.02 * n[:, None])
    guesses /= guesses.sum(axis=2, keepdims=True)
    knows = np.full((r, len(times)), 0.6)
    weights = np.full((len(times), V), 0.1 / (V - K))
    weights[:, :K] = 0.9 / K
    known, last = (sets @ by_option)[:, None], np.inf
    for step in range(N_STEPS):
        by_knowing = knows[:, :, None, None] * known  # (r, B, V, P)
        by_guessing = (1.0 - knows[:, :, None]) * (guesses @ by_option)
        chances = by_knowing + by_guessing[:, :, None] + missing
        joint = np.log(weights)[:, :, None] + np.log(chances).sum(axis=0)
        greatest = joint.max(axis=1, keepdims=True)
        joint = np.exp(joint - greatest)
        sums = joint.sum(axis=1)
        logs = np.log(sums) + greatest[:, 0]
        total = (times * logs).sum(axis=1)
        if step and np.abs(total - last).max() < CLOSE:
            break
        last = total
        joint *= (times / sums)[:, None]
        weights = np.maximum(joint.sum(axis=2) / n[:, None], TINY)
        by_kind = (joint * by_knowing / chances).sum(axis=2)  # for known answers
        knows = np.clip(by_kind.sum(axis=2) / answered, 1e-6, 1.0 - 1e-6)
        guesses = np.maximum(n_given - by_kind @ given, 1e-6)
        guesses /= guesses.sum(axis=2, keepdims=True)
    return np.asarray(logs, dtype=np.float64)


def _copy_likelihood(
    kinds: IntArray, times: FloatArray, sets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (B, P) log-likelihoods for copies of two raters, and (B, 2) shares copied.

    ``kinds`` contains the options of two raters and of the judge. If a rater has no answer, the
    judge answers from its own distribution.
    """
    B, K = len(times), sets.shape[1]
    alike = (kinds[:, :2] == kinds[:, 2:]).T.astype(np.float64)
    rated = (kinds[:, :2] != UNANSWERED).T.astype(np.float64)
    given = (kinds[:, [2]] == np.arange(K)).astype(np.float64)
    counts = np.maximum(times @ given, 1.0)
    guesses = counts / counts.sum(axis=1, keepdims=True)
    n, rho = times.sum(axis=1), np.full((B, 2), 0.45)
    for _ in range(N_COPY_STEPS):
        guess = guesses @ given.T
        free = 1.0 - rho @ rated
        chances = rho @ alike + free * guess
        per_chance = times / chances
        copied = rho * (per_chance @ alike.T + (per_chance * guess) @ (1.0 - rated).T)
        guessed = np.maximum((per_chance * free * guess) @ given, 1e-6)
        guesses = guessed / guessed.sum(axis=1, keepdims=True)
        rho = np.maximum(copied / n[:, None], TINY)
        share = rho.sum(axis=1, keepdims=True)
        rho *= np.clip(share, LEAST_COPIED, 1.0 - 1e-6) / share
    guess = guesses @ given.T
    return np.log(rho @ alike + (1.0 - rho @ rated) * guess), rho

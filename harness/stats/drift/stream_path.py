"""Evidence of a change in one stream over rounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.stats.drift.bag_tests import RATIOS, item_log_e, window_evidence
from harness.stats.drift.reply_counts import Window, windows_of

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.drift.bag_tests import WindowEvidence
    from harness.stats.drift.reply_counts import ReplyCounts

TIE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Component:
    """Estimated type of a change, from the largest component of a window's e-value.

    Attributes
    ----------
    kind : {"few_items", "usual_answer", "category"}
        "few_items": some items are answered differently. "usual_answer": all items get their usual
        answer more or less often (the judge is steadier or noisier). "category": all items get a
        category more or less often.
    category : str or None
        The category, for kind "category".
    direction : {"up", "down"} or None
        More or less often in the window; None for "few_items".
    log_e : float
        Log e-value.
    """

    kind: Literal["few_items", "usual_answer", "category"]
    category: str | None
    direction: Literal["up", "down"] | None
    log_e: float


@dataclass(frozen=True, slots=True)
class WindowResult:
    """Results of both tests for one window.

    Attributes
    ----------
    window : Window
        Its first round is the estimated start of the change.
    log_e : float
        Log e-value.
    p : float
        Exact p-value for only this window.
    largest : Component
        Estimated type of the change.
    """

    window: Window
    log_e: float
    p: float
    largest: Component

    @property
    def weighted_log_e(self) -> float:
        """Return the log of the weighted e-value."""
        return self.log_e + log(self.window.weight)

    @property
    def weighted_p(self) -> float:
        """Return the p-value divided by the window's weight. The result can exceed 1."""
        return self.p / self.window.weight


@dataclass(frozen=True, slots=True)
class LookResult:
    """Evidence of a change in a stream up to a round.

    Attributes
    ----------
    look : int
        Number of the round, from 1.
    log_e_sum : float
        Log of W: weights times e-values, summed over the windows of all rounds so far.
    p_bound : float
        Q: the smallest ratio of a p-value to its weight so far; can exceed 1.
    most_e, least_p : WindowResult
        The windows with the largest weighted e-value and the smallest weighted p-value so far.
    """

    look: int
    log_e_sum: float
    p_bound: float
    most_e: WindowResult
    least_p: WindowResult

    @property
    def p_value(self) -> float:
        """Return the anytime-valid p-value: if nothing changed, P(it is ever <= a) <= a."""
        return min(1.0, 2.0 * min(self._p_of_e, self.p_bound))

    @property
    def strongest(self) -> WindowResult:
        """Return the window with the strongest evidence, from the test that set the p-value."""
        return self.most_e if self._p_of_e <= self.p_bound else self.least_p

    @property
    def _p_of_e(self) -> float:
        return exp(-max(self.log_e_sum, 0.0))


@dataclass(frozen=True, slots=True, repr=False)
class StreamPath:
    """Evidence of a change in a stream after each round.

    Attributes
    ----------
    looks : tuple of LookResult
        One result per round. ``log_e_sum`` never falls; ``p_bound`` and ``p_value`` never rise.
    """

    looks: tuple[LookResult, ...]

    def __repr__(self) -> str:
        return f"StreamPath({len(self.looks)} looks, p = {self.p_value:.3g})"

    @property
    def p_value(self) -> float:
        """Return the p-value after the last round, or 1 if there are no rounds."""
        return self.looks[-1].p_value if self.looks else 1.0

    def first_look_at(self, threshold: float) -> LookResult | None:
        """Return the alarm: the first round with a p-value of at most the threshold, or None."""
        return next((look for look in self.looks if look.p_value <= threshold), None)


def stream_path(counts: ReplyCounts, *, earlier: StreamPath | None = None) -> StreamPath:
    """Test after each round whether a judge's replies to an elicitation changed.

    Parameters
    ----------
    counts : ReplyCounts
        The baseline and all rounds.
    earlier : StreamPath, optional
        The path of the same counts without the last rounds, to avoid recomputing it. The result is
        identical, bit for bit.

    Returns
    -------
    StreamPath
        The path, which depends only on the counts; no seed is involved.

    Raises
    ------
    ValueError
        If ``earlier`` has more rounds than ``counts``.

    Notes
    -----
    Half of the error rate goes to a weighted sum of e-values (Markov's inequality), half to the
    smallest weighted exact p-value (union bound); see `window_evidence` and `windows_of`. With one
    baseline reply per item, round 1 can only show shifts in the rates of categories.

    References
    ----------
    V. Vovk, R. Wang, E-values: calibration, combination and applications, Annals of Statistics 49
    (2021), 1736-1754.

    Examples
    --------
    >>> from harness.stats.drift.reply_counts import ReplyCounts
    >>> baseline, changed = np.tile([5, 0], (20, 1)), np.tile([0, 1], (20, 1))
    >>> path = stream_path(ReplyCounts(("yes", "no"), np.array([baseline, changed])))
    >>> path.p_value < 1e-9, path.looks[0].strongest.window.first_look
    (True, 1)
    """
    looks = list(earlier.looks) if earlier else []
    if len(looks) > counts.n_looks:
        raise ValueError(f"earlier has {len(looks)} looks; counts has {counts.n_looks}")
    for look in range(len(looks) + 1, counts.n_looks + 1):
        results = [_window_result(counts, window) for window in windows_of(look)]
        looks.append(_next_look(looks[-1] if looks else None, results))
    return StreamPath(tuple(looks))


def item_evidence(counts: ReplyCounts, window: Window) -> FloatArray:
    """Return an (n,) array with each item's log e-value in a window.

    Items with the largest values are the likeliest to have changed; this is a description without
    an error rate. The value is 0 for an item whose replies are all the same.
    """
    inside = counts.inside(window)
    log_e = item_log_e((counts.before(window) + inside)[None], inside[None])
    return np.asarray(log_e[0])


def stacked_paths(
    counts: IntArray, is_outcome: BoolArray, *, stop_at: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Compute (S, T) ``log_e_sum`` and ``p_bound`` for many streams at once, for simulations.

    ``counts``, (S, T + 1, n, C), and ``is_outcome``, (C,), are as in `ReplyCounts`. Once a stream's
    p-value is at most ``stop_at``, its last values are repeated.
    """
    totals = np.cumsum(counts, axis=1)
    n_streams, n_looks = len(counts), counts.shape[1] - 1
    log_e_sums, p_bounds = np.full((n_streams, n_looks), -inf), np.full((n_streams, n_looks), inf)
    log_e_sum, p_bound = np.full(n_streams, -inf), np.full(n_streams, inf)
    for look in range(1, n_looks + 1):
        followed = np.flatnonzero(anytime_p_values(log_e_sum, p_bound) > stop_at)
        for window in windows_of(look) if len(followed) else ():
            bags = totals[followed, look]
            inside = bags - totals[followed, window.first_look - 1]
            evidence = window_evidence(bags, inside, is_outcome)
            weighted = evidence.log_e + log(window.weight)
            log_e_sum[followed] = np.logaddexp(log_e_sum[followed], weighted)
            p_bound[followed] = np.minimum(p_bound[followed], evidence.p / window.weight)
        log_e_sums[:, look - 1], p_bounds[:, look - 1] = log_e_sum, p_bound
    return log_e_sums, p_bounds


def anytime_p_values(log_e_sums: FloatArray, p_bounds: FloatArray) -> FloatArray:
    """Return anytime-valid p-values for the results of `stacked_paths`."""
    by_e = np.exp(-np.maximum(log_e_sums, 0.0))
    return np.minimum(1.0, 2.0 * np.minimum(by_e, p_bounds))


def _window_result(counts: ReplyCounts, window: Window) -> WindowResult:
    inside = counts.inside(window)
    bags = counts.before(window) + inside
    evidence = window_evidence(bags[None], inside[None], counts.is_outcome)
    return WindowResult(
        window=window,
        log_e=float(evidence.log_e[0]),
        p=float(evidence.p[0]),
        largest=_largest(evidence, counts.categories),
    )


def _largest(evidence: WindowEvidence, categories: tuple[str, ...]) -> Component:
    """Return the component with the largest e-value. In a tie, a category that rose wins.

    A rarer usual answer and a more common other category can be the same fact.
    """
    down, up = RATIOS < 1.0, RATIOS > 1.0
    falls = evidence.log_shifts[0][:, down].max(axis=1).tolist()
    rises = evidence.log_shifts[0][:, up].max(axis=1).tolist()
    candidates = [
        *(Component("category", k, "up", e) for k, e in zip(categories, rises[1:], strict=True)),
        *(Component("category", k, "down", e) for k, e in zip(categories, falls[1:], strict=True)),
        Component("usual_answer", None, "down", falls[0]),
        Component("usual_answer", None, "up", rises[0]),
        Component("few_items", None, None, float(evidence.log_few[0])),
    ]
    return max(candidates, key=lambda component: round(component.log_e, TIE_DIGITS))


def _next_look(last: LookResult | None, results: list[WindowResult]) -> LookResult:
    """Add a round's windows to the results so far."""
    log_e_sum, p_bound = (last.log_e_sum, last.p_bound) if last else (-inf, inf)
    past_e, past_p = ([last.most_e], [last.least_p]) if last else ([], [])
    weighted = [log_e_sum, *(result.weighted_log_e for result in results)]
    return LookResult(
        look=results[0].window.look,
        log_e_sum=float(np.logaddexp.reduce(weighted)),
        p_bound=min(p_bound, *(result.weighted_p for result in results)),
        most_e=max([*past_e, *results], key=lambda result: result.weighted_log_e),
        least_p=min([*past_p, *results], key=lambda result: result.weighted_p),
    )

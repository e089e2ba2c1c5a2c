"""Judges on common footing from counts that merge; see `block_sums` and `footing`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import TOLERANCE, Kinds, blocks, frozen
from harness.stats.data.rating_table import ELICITATION_OF
from harness.stats.indeterminacy.translation import F_hat
from harness.stats.inference.cluster_robust import cluster_mean, independent_mean
from harness.stats.inference.crossed_raters import (
    RaterCovariance,
    jackknife_covariance,
    leave_out,
)
from harness.stats.inference.estimate import Estimate
from harness.stats.selection.block_sums import baselines_of_blocks, evaluate_blocks, tables_of
from harness.stats.selection.evaluation import Evaluation, TableTranslation
from harness.stats.selection.footing import Drawn, Scoring, footing_of
from harness.stats.selection.rater_panel import RaterPanel
from harness.stats.selection.references import BASELINES
from harness.stats.selection.replies import Replies, SharedItems, replies_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import Cut
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.cluster_robust import ClusterMean
    from harness.stats.inference.crossed_raters import CountedRatings
    from harness.stats.inference.metric import Metric
    from harness.stats.selection.block_sums import BlockCounts, BlockDraws
    from harness.stats.selection.footing import Footing, HumanReference


@dataclass(frozen=True, slots=True, repr=False)
class PairCounts:
    """On how many items two judges are of which kinds.

    Attributes
    ----------
    first, second : (P,) int arrays
        Places among the kinds of each judge's `BlockCounts`.
    times : (P,) int array
        Number of items.
    """

    first: IntArray
    second: IntArray
    times: IntArray

    @classmethod
    def of(cls, first: IntArray, second: IntArray, times: IntArray | None = None) -> Self:
        """Count pairs of places, (n,) each, which stand for so many items, or for one."""
        kinds = Kinds.of(first, second)
        n = np.bincount(kinds.of_item, times, len(kinds.first)).astype(np.int64)
        return cls(frozen(first[kinds.first]), frozen(second[kinds.first]), frozen(n))

    @classmethod
    def merged(cls, parts: Sequence[Self], places: Sequence[Sequence[IntArray]]) -> Self:
        """Add up the counts of shards.

        Parameters
        ----------
        parts : sequence of PairCounts
            Of the shards.
        places : two sequences of (R,) int arrays
            Of the first and of the second judge, what `BlockCounts.merged` returns.
        """
        first, second = (
            np.concatenate([place[rows] for place, rows in zip(of_judge, of_parts, strict=True)])
            for of_judge, of_parts in zip(
                places, ([p.first for p in parts], [p.second for p in parts]), strict=True
            )
        )
        return cls.of(first, second, np.concatenate([part.times for part in parts]))

    def __repr__(self) -> str:
        return f"PairCounts({self.times.sum()} items, {len(self.times)} pairs of kinds)"


def evaluation_of_blocks(
    shared: Mapping[str, BlockCounts],
    pairs: Mapping[tuple[str, str], PairCounts],
    draws: BlockDraws,
    *,
    metrics: Sequence[Metric],
    compared: Collection[str],
    resampling: Resampling,
    n_replies: Mapping[str, float],
    n_excluded: int,
    space: OptionSpace,
    cut: Cut,
) -> Evaluation:
    """Evaluate judges on the items on which they are compared; see `evaluate`.

    Parameters
    ----------
    shared, pairs, draws
        As in `block_footing`.
    metrics, resampling, n_replies, space, cut
        As in `evaluate_blocks`.
    compared : collection of str
        Metrics by which differences between judges are to allow for other raters.
    n_excluded : int
        Other items.
    """
    evaluated = evaluate_blocks(
        shared,
        draws,
        space=space,
        metrics=metrics,
        cut=cut,
        resampling=resampling,
        n_replies=n_replies,
    )
    any_judge, covariances = next(iter(shared.values())), {}
    human, _ = tables_of(any_judge, space)
    panel = RaterPanel(any_judge.ratings, None)
    for metric in metrics:
        if metric.name in compared and panel.of(human, metric.human_form) is not None:
            n = n_replies[ELICITATION_OF[metric.judge_form]]
            judges = [_Judge.of(counts, metric, n, space, cut) for counts in shared.values()]
            covariances[metric.name] = _rater_covariance(judges, pairs, [])
    nothing = Estimate(value=None, reason="no_pairs", n_used=0)
    none = TableTranslation(F_hat(human), nothing, nothing)
    return Evaluation(
        judges=tuple(shared),
        metrics=tuple(metrics),
        estimates={
            name: {
                metric: replace(row.estimate, n_excluded=row.estimate.n_excluded + n_excluded)
                for metric, row in evaluated.judges[name].items()
            }
            for name in shared
        },
        replicates={
            metric.name: np.stack(
                [evaluated.judges[name][metric.name].replicates for name in shared]
            )
            for metric in metrics
        },
        human_agreement=evaluated.human_agreement,
        human_translation=none,
        translations=dict.fromkeys(shared, none),
        tau=cut.tau,
        level=resampling.level,
        positive=cut.positive,
        units=draws.units,
        covariances={name: cov for name, cov in covariances.items() if cov is not None},
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge's replies to the shared items, one row per kind."""

    counts: BlockCounts
    scoring: Scoring
    replies: Replies
    n_replies: float

    @classmethod
    def of(
        cls, counts: BlockCounts, metric: Metric, n_replies: float, space: OptionSpace, cut: Cut
    ) -> Self:
        human, judge = tables_of(counts, space)
        scoring = Scoring.of(human, metric, cut, weights=counts.times.astype(np.float64))
        return cls(counts, scoring, replies_of(judge, metric.judge_form), n_replies)

    @property
    def every(self) -> BoolArray:
        """All kinds."""
        return np.ones(len(self.counts.kinds), dtype=np.bool_)

    @property
    def sums(self) -> FloatArray:
        """Contributions of an item of each kind: (R, d)."""
        return self.scoring.sums(self.replies, self.every, self.n_replies)

    def reference(
        self, resampling: Resampling, draws: BlockDraws, *, is_grouped: bool
    ) -> HumanReference:
        """Score the judge and one human on the same remaining ratings."""
        counts, times = self.counts.counts[:, draws.filled], self.counts.times

        def average(differences: FloatArray, used: BoolArray) -> ClusterMean:
            if not is_grouped:
                return independent_mean(differences, times[used])
            kind, block = np.nonzero(counts[used])
            return cluster_mean(differences[kind], block, counts[used][kind, block])

        return self.scoring.reference(
            average,
            self.replies,
            self.every,
            level=resampling.level,
            ratings=self.counts.ratings,
            times=times,
        )

    def left_out(self, replies: Replies, ratings: CountedRatings) -> tuple[FloatArray, FloatArray]:
        """Return the metric without each rater, (m,), and without a rating of a kind, (R, K)."""
        R, _, K = ratings.shape

        def sums(counts: IntArray, rows: IntArray) -> FloatArray:
            return self.scoring.sums_of_counts(replies, self.every, self.n_replies, counts, rows)

        values = leave_out(ratings, sums, self.scoring.metric.value)
        cells, done = np.zeros((R, K)), 0
        for run in blocks(R):
            for k in range(K):
                rows = run.start + np.flatnonzero(ratings.counts()[run, k])
                cells[rows, k] = values.cells[0][done : done + len(rows)]
                done += len(rows)
        return values.raters[0], cells


def block_footing(
    every: Mapping[str, BlockCounts],
    shared: Mapping[str, BlockCounts],
    pairs: Mapping[tuple[str, str], PairCounts],
    draws: BlockDraws,
    answered: Mapping[str, float],
    *,
    metric: Metric,
    resampling: Resampling,
    n_replies: float,
    min_answered: float,
    is_grouped: bool,
    space: OptionSpace,
    cut: Cut,
) -> Footing:
    """Compare judges by a metric on common footing; see `common_footing`.

    Parameters
    ----------
    every, shared : mapping of str to BlockCounts
        Of each judge, over all items; of each ranked judge, over those that all of them answered.
    pairs : mapping of (str, str) to PairCounts
        Of any two ranked judges, in the order of ``shared``, over the same items.
    draws : BlockDraws
        Of blocks of items, which are resampled.
    answered : mapping of str to float
        Share of the rated items that each judge answered.
    metric, resampling, n_replies, min_answered, space, cut
        As in `evaluate_blocks` and `common_footing`.
    is_grouped : bool
        Whether items come in groups. One human is then compared over blocks.
    """
    bound = partial(_Judge.of, metric=metric, n_replies=n_replies, space=space, cut=cut)
    judges = {name: bound(counts) for name, counts in shared.items()}
    on_all = {name: bound(every[name]) for name in shared}
    of_judges, of_baselines = _drawn(
        every,
        shared,
        draws,
        metric=metric,
        resampling=resampling,
        n_replies=n_replies,
        space=space,
        cut=cut,
    )
    any_judge = _any_counts(every, shared)
    on_any = bound(next(iter(every.values())))
    n_rated = int(on_any.counts.times[on_any.scoring.rated].sum())
    fitted = [rows[0] for rows in on_any.scoring.fitted_baselines()]
    return footing_of(
        metric,
        of_judges,
        of_baselines,
        resampling,
        n_discordant=_n_discordant(judges, pairs),
        n_replies=n_replies,
        items=SharedItems(
            np.array(list(answered.values())),
            np.array([name in shared for name in answered]),
            np.arange(n_rated) < any_judge.n_items,
        ),
        judges=tuple(shared),
        references=tuple(
            judge.reference(resampling, draws, is_grouped=is_grouped) for judge in judges.values()
        ),
        values_with_losses=frozen(
            np.array([j.scoring.value_with_losses(j.replies, n_replies) for j in on_all.values()])
        ),
        n_rated=n_rated,
        min_answered=min_answered,
        unit="group",
        n_units=int(any_judge.counts[:, draws.filled].any(axis=0).sum()),
        raters=_rater_covariance(list(judges.values()), pairs, fitted),
    )


def _drawn(
    every: Mapping[str, BlockCounts],
    shared: Mapping[str, BlockCounts],
    draws: BlockDraws,
    *,
    metric: Metric,
    resampling: Resampling,
    n_replies: float,
    space: OptionSpace,
    cut: Cut,
) -> tuple[Drawn, Drawn]:
    """Return the values of judges and of baselines, and those in the resamples."""
    at_replies = {"forced_choice": n_replies, "response_set": inf}
    evaluated = evaluate_blocks(
        shared,
        draws,
        space=space,
        metrics=[metric],
        cut=cut,
        resampling=resampling,
        n_replies=at_replies,
    )
    results = [evaluated.judges[name][metric.name] for name in shared]
    values = [np.nan if row.estimate.value is None else row.estimate.value for row in results]
    baselines = baselines_of_blocks(
        next(iter(every.values())),
        _any_counts(every, shared),
        draws,
        space=space,
        metric=metric,
        cut=cut,
        n_replies=n_replies,
    )
    of_baselines = np.array([baselines[name] for name in BASELINES])
    return (
        Drawn(
            np.array(values),
            np.array([row.replicates for row in results]).reshape(
                len(results), draws.resamples.n_replicates
            ),
        ),
        Drawn(of_baselines[:, 0], of_baselines[:, 1:]),
    )


def _any_counts(every: Mapping[str, BlockCounts], shared: Mapping[str, BlockCounts]) -> BlockCounts:
    """Return the counts of the shared items by any judge; of none where no judge is ranked."""
    any_judge = next(iter(every.values()))
    nothing = replace(
        any_judge, kinds=any_judge.kinds[:0], counts=any_judge.counts[:0], chosen=None
    )
    return next(iter(shared.values()), nothing)


def _n_discordant(
    judges: Mapping[str, _Judge], pairs: Mapping[tuple[str, str], PairCounts]
) -> IntArray:
    """Return (J, J): on how many items two judges differ."""
    names, sums = list(judges), {name: judge.sums for name, judge in judges.items()}
    n = np.zeros((len(names), len(names)), dtype=np.int64)
    for (first, second), pair in pairs.items():
        apart = np.abs(sums[first][pair.first] - sums[second][pair.second]) > TOLERANCE
        i, j = names.index(first), names.index(second)
        n[i, j] = n[j, i] = pair.times[apart.any(axis=1)].sum()
    return n


def _rater_covariance(
    judges: Sequence[_Judge],
    pairs: Mapping[tuple[str, str], PairCounts],
    fitted: Sequence[FloatArray],
) -> RaterCovariance | None:
    """Return the covariances of judges and of baselines, (W,) each, by the raters.

    None where raters are not crossed with items, or a value is undefined without some rating.
    """
    ratings = [judge.counts.ratings for judge in judges]
    crossed = [of_judge for of_judge in ratings if of_judge is not None]
    if not judges or len(crossed) < len(judges):
        return None
    raters, cells = [], []
    for judge, of_judge in zip(judges, crossed, strict=True):
        n = len(judge.counts.kinds)
        baselines = [
            Replies.of_distribution(np.broadcast_to(shares, (n, len(shares)))) for shares in fitted
        ]
        left_out = [judge.left_out(replies, of_judge) for replies in (judge.replies, *baselines)]
        raters.append([of_raters for of_raters, _ in left_out])
        cells.append([of_cells for _, of_cells in left_out])
    by_rater = np.array([*(rows[0] for rows in raters), *raters[0][1:]])
    m, n_ratings = by_rater.shape[1], crossed[0].n_ratings
    covariance = RaterCovariance(
        jackknife_covariance(by_rater, np.ones(m)),
        _covariance_of_cells(cells, crossed, list(pairs.values())),
        m,
        n_ratings,
    )
    return covariance if np.isfinite(covariance.raters + covariance.cells).all() else None


def _covariance_of_cells(
    cells: Sequence[Sequence[FloatArray]],
    ratings: Sequence[CountedRatings],
    pairs: Sequence[PairCounts],
) -> FloatArray:
    """Return `jackknife_covariance` over single ratings, of J judges and then of C baselines.

    ``cells`` are the (R, K) values of each judge and of the baselines, by the kinds of items of
    that judge, ``ratings`` those of the same kinds, and ``pairs`` in the order of judges 0 and 1,
    0 and 2, ..., 1 and 2, ...
    """
    J, C = len(cells), len(cells[0]) - 1
    covariance = np.zeros((J + C, J + C))
    for j, (of_judge, of_ratings) in enumerate(zip(cells, ratings, strict=True)):
        times = (of_ratings.of_item * of_ratings.times[:, None]).ravel().astype(np.float64)
        values = np.array([rows.ravel() for rows in of_judge])
        places = [j, *range(J, J + C)]
        covariance[np.ix_(places, places)] = jackknife_covariance(values, times)
    among = [(i, j) for i in range(J) for j in range(i + 1, J)]
    for (i, j), pair in zip(among, pairs, strict=True):
        times = (ratings[i].of_item[pair.first] * pair.times[:, None]).ravel().astype(np.float64)
        values = np.array([cells[i][0][pair.first].ravel(), cells[j][0][pair.second].ravel()])
        covariance[i, j] = covariance[j, i] = jackknife_covariance(values, times)[0, 1]
    return covariance

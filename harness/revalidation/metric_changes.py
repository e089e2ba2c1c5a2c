"""Compute metrics, beta and recommendation from a round's replies and from the baseline's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import convert

from harness.analysis import JudgeFacts, Settings, Source, evidence, item_slices
from harness.analysis.decision import verdict_and_judge
from harness.analysis.estimates import prepare
from harness.analysis.slice_names import SliceName, slice_estimate
from harness.analysis.sliced_fields import fields_as_in_task
from harness.judging.parsing.verdict import PairValue
from harness.revalidation.records import BETA, ComparedJudge, DecisionFacts, Figure
from harness.revalidation.reply_categories import by_judge, replies_per_item, verdicts_of
from harness.stats.data.arrays import ratio
from harness.stats.data.forms import ELICITATION_OF, Cut
from harness.stats.drift.score_change import ItemScores, score_change
from harness.stats.inference.interval_methods import Sampled, score_ends
from harness.stats.selection.judge_scoring import Scoring
from harness.stats.selection.replies import Replies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.analysis.conditions import ComparedQuantity
    from harness.analysis.item_slices import Slices
    from harness.analysis.prepared import Prepared
    from harness.judging.parsing.verdict import Value
    from harness.options.concerns import Choices
    from harness.revalidation.reply_categories import Category, StreamReplies
    from harness.stats import Estimate, Evaluation, OptionSpace
    from harness.stats.data.arrays import FloatArray
    from harness.stats.drift.reply_counts import ReplyCounts
    from harness.tasks import Item, Task
    from harness.tasks.item import Elicitation

N_RESAMPLES = 1000
MAX_PARTS = 2  # parts of the baseline's replies, each compared with a round's


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Anchor items in the baseline's order, with the settings for evaluating replies to them.

    ``controls`` are the judges that are never recommended, and ``watched`` are the numbers that
    conditions need in addition to all metrics.
    """

    task: Task
    items: tuple[Item, ...]
    choices: Choices
    seed: int
    controls: frozenset[str] = frozenset()
    watched: tuple[ComparedQuantity, ...] = ()

    def source(
        self,
        parts: Mapping[str, tuple[Sequence[StreamReplies], slice]],
        **settings: Any,  # noqa: ANN401 -- checked by Settings
    ) -> Source:
        """Return a source in which parts of the replies are separate judges."""
        ids = [item.id for item in self.items]
        verdicts = {
            name: list(
                chain.from_iterable(
                    verdicts_of(stream, ids, judge=name, samples=samples) for stream in streams
                )
            )
            for name, (streams, samples) in parts.items()
        }
        planned = {
            name: {
                stream.elicitation: max(1, replies_per_item([stream], samples)) * len(ids)
                for stream in streams
            }
            for name, (streams, samples) in parts.items()
        }
        return Source(
            task=self.task,
            items=self.items,
            judges=tuple(JudgeFacts(name=name) for name in parts),
            verdicts=verdicts,
            planned=planned,
            settings=Settings(
                seed=self.seed,
                **{"n_resamples": N_RESAMPLES} | self.choices.explicit() | settings,
            ),
        )


def decision_on(
    yardstick: Yardstick, streams: Sequence[StreamReplies], n_replies: int
) -> DecisionFacts | None:
    """Return the recommendation from one occasion's replies, or None without replies."""
    parts = {judge: (rows, slice(None)) for judge, rows in _replied(streams).items()}
    if not parts:
        return None
    p = prepare(yardstick.source(parts, replies=n_replies), ranking_only=True)
    common = evidence.section(p)
    rows = common.judges if common else ()
    verdict, judge = verdict_and_judge(common, yardstick.controls)
    return DecisionFacts(
        metric=p.metric,
        verdict=verdict,
        judge=judge,
        n_rated=common.n_rated if common else 0,
        judges=tuple(convert(row, ComparedJudge, from_attributes=True) for row in rows),
    )


def _replied(streams: Sequence[StreamReplies]) -> dict[str, list[StreamReplies]]:
    """Return the streams of each judge with at least one reply."""
    return {
        judge: rows for judge, rows in by_judge(streams).items() if any(r.n_replies for r in rows)
    }


def compare_metrics(
    yardstick: Yardstick, baseline: Sequence[StreamReplies], look: Sequence[StreamReplies]
) -> tuple[dict[str, tuple[Figure, ...]], Scorer | None]:
    """Compare each judge's metrics with the baseline's, at the same number of replies.

    The baseline's replies are split into parts with as many replies as the round has, and its value
    is the mean over the first `MAX_PARTS` of them. All parts are evaluated on the items that all of
    them answered, and on the same resamples. Return the figures by judge, and the scorer for single
    replies; see `Scorer.of`.
    """
    before = by_judge(baseline)
    figures, scorer = dict[str, tuple[Figure, ...]](), None
    for judge, rows in _replied(look).items():
        n = min(replies_per_item(rows), replies_per_item(before[judge]))
        n_parts = min(MAX_PARTS, replies_per_item(before[judge]) // n)
        parts = {"look": (rows, slice(n))}
        for part in range(n_parts):
            parts[f"baseline {part}"] = (before[judge], slice(part * n, (part + 1) * n))
        p = prepare(yardstick.source(parts, replies=None), with_comparisons=False)
        watched = _watched_figures(p, list(parts), yardstick.watched)
        figures[judge] = (*_figures(p, list(parts)), *watched)
        scorer = scorer or Scorer.of(p)
    return figures, scorer


def _figures(p: Prepared, names: Sequence[str]) -> Iterator[Figure]:
    """Yield a figure for every metric and beta. The round is the first of the names."""
    e = p.evaluation
    for metric in e.metrics:
        ends = None
        if e.judges == tuple(names):
            drawn = e.replicates[metric.name]
            width = metric.bounds[1] - metric.bounds[0]
            if not isfinite(width):
                width = metric.loss_range(len(p.compared.human.space.options))
            ends = _change_ends([e.estimates[name][metric.name] for name in names], drawn, e, width)
        yield _figure(metric.name, [p.estimates[name][metric.name] for name in names], ends)
    yield _figure(BETA, [p.own.translations[name].beta for name in names])


def _watched_figures(
    p: Prepared, names: Sequence[str], watched: Sequence[ComparedQuantity]
) -> Iterator[Figure]:
    """Yield figures for watched quantities: slices, ends of intervals and absolute values."""
    by_slice = any(SliceName.read(quantity.name) for quantity in watched)
    fields = fields_as_in_task(p.task, p.source.items) if by_slice else ()
    slices = item_slices.section(p, fields) if fields else None
    for quantity in watched:
        estimates = [_estimate(p, slices, part, quantity.name) for part in names]
        yield _figure(str(quantity), [quantity.of(estimate) for estimate in estimates])


def _estimate(p: Prepared, slices: Slices | None, judge: str, name: str) -> Estimate:
    if (of_slice := SliceName.read(name)) is not None:
        return slice_estimate(slices, judge, of_slice)
    return p.own.translations[judge].beta if name == BETA else p.estimates[judge][name]


def _change_ends(
    estimates: Sequence[Estimate], drawn: FloatArray, e: Evaluation, width: float
) -> tuple[float, float] | None:
    """Return the score interval for the first of P values minus the mean of the others."""
    values = np.array([estimate.value for estimate in estimates], dtype=np.float64)
    change = Sampled(
        value=float(values[0] - values[1:].mean()),
        replicates=drawn[0] - drawn[1:].mean(axis=0),
        n_units=min(e.units.n_units, *(estimate.n_used for estimate in estimates)),
        bounds=(-width, width),
    )
    defined = isfinite(change.value) and change.has_enough_units and drawn.size
    return score_ends(change, e.level) if defined else None


def _figure(
    name: str, estimates: Sequence[Estimate], ends: tuple[float, float] | None = None
) -> Figure:
    look, before = estimates[0], [estimate.value for estimate in estimates[1:]]
    baseline = None if None in before else float(np.mean(before))  # type: ignore[arg-type]  # no None
    has_both = look.value is not None and baseline is not None
    low, high = ends if ends and has_both else (None, None)
    return Figure(
        name=name,
        baseline=baseline,
        look=look.value,
        difference=look.value - baseline if has_both else None,  # type: ignore[operator]  # as above
        low=low,
        high=high,
        n=look.n_used,
        n_replies=look.n_replies,
        reason=next((e.reason for e in estimates if e.value is None), ""),
    )


class BesideOneHuman(NamedTuple):
    """Mean scores per item when one rating is left out and the others are the reference.

    Attributes
    ----------
    judge : (n, C) array
        Score of a reply in each category; nan if it isn't an answer, or the item has one rating.
    human : (n,) array
        Score of the left-out rating.
    """

    judge: FloatArray
    human: FloatArray


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scorer of single replies by the ranking metric, if the metric is a mean over items.

    Attributes
    ----------
    scoring : Scoring
        The metric, with the ratings of the items.
    range : float
        Range of the metric, from its best to its worst value.
    worth : float
        The smallest difference that matters, as a share of the range: how much worse than a human
        rater a judge may be.
    """

    scoring: Scoring
    space: OptionSpace
    range: float
    worth: float

    @classmethod
    def of(cls, p: Prepared) -> Scorer | None:
        """Return the scorer, or None if the metric isn't a mean over items."""
        metric, human = p.row, p.compared.human
        if not metric.is_item_mean or p.settings.mode != "exclude" or p.settings.level != "micro":
            return None
        scoring = Scoring.of(human, metric, Cut(p.tau, p.compared.positive), implied=p.implied)
        return cls(
            scoring,
            human.space,
            metric.loss_range(len(human.space.options)),
            p.settings.worth,
        )

    @classmethod
    def on(cls, yardstick: Yardstick, streams: Sequence[StreamReplies]) -> Scorer | None:
        """Return the scorer for replies to a yardstick's items. Any judge's replies can be used."""
        judge, rows = next(iter(_replied(streams).items()))
        source = yardstick.source({judge: (rows, slice(None))}, replies=None)
        return cls.of(
            prepare(source, ranking_only=True, with_intervals=False, with_comparisons=False)
        )

    def scores(self, categories: Sequence[Category], elicitation: Elicitation) -> FloatArray | None:
        """Return an (n, C) array with a reply's score per item and category. None if all are nan.

        Scores are from 0 to 1, higher is better; nan if the item isn't rated or the category isn't
        an answer.
        """
        human = self.scoring.human_vectors
        scores = np.full((len(human), len(categories)), np.nan)
        for k, reply in self._answers(categories, elicitation):
            judge = np.repeat(self.scoring.judge_form(reply[None]), len(human), axis=0)
            scores[:, k] = self._scores_of(self.scoring.metric.contributions(human, judge))
        return None if np.isnan(scores).all() else scores

    def _answers(
        self, categories: Sequence[Category], elicitation: Elicitation
    ) -> Iterator[tuple[int, FloatArray]]:
        """Yield the index and (W,) shares of each category that is an answer of the metric's kind.

        Shares have shape (W,), with one for the answer and zero for the others.
        """
        wanted = ELICITATION_OF[self.scoring.metric.judge_form]
        every = np.eye(self.scoring.counts.shape[1])
        for k, category in enumerate(categories if elicitation in {wanted, "paired"} else ()):
            match category.value:
                case PairValue(set=endorsed, choice=option):
                    value: Value = endorsed if wanted == "response_set" else option
                case value:
                    pass
            if isinstance(value, str):
                yield k, every[self.space.option_index(value)]
            elif isinstance(value, tuple):
                yield k, every[self.space.set_index(value)]

    def _scores_of(self, contributions: FloatArray) -> FloatArray:
        value, weight = contributions.T
        metric = self.scoring.metric
        shares = (ratio(value, weight) - metric.bounds[0]) / self.range
        return np.clip(1.0 - shares if metric.loss_signs(1.0) > 0 else shares, 0.0, 1.0)

    def beside_one_human(
        self, categories: Sequence[Category], elicitation: Elicitation
    ) -> BesideOneHuman | None:
        """Score each category and one human rater against the same other ratings.

        None if ratings can't be left out, because the raters' response sets are assumed or the
        metric compares choices with sets.
        """
        if not self.scoring.can_leave_out:
            return None
        n = len(self.scoring.counts)
        judge, human = np.full((n, len(categories)), np.nan), np.full(n, np.nan)
        for k, reply in self._answers(categories, elicitation):
            replies = Replies(np.tile(reply, (n, 1)), np.ones(n))
            sides = self.scoring.one_human(replies, np.ones(n, dtype=np.bool_), self.scoring.counts)
            judge[sides.used, k] = self._scores_of(sides.judge)[sides.used]
            human[sides.used] = self._scores_of(sides.human)[sides.used]
        return BesideOneHuman(judge, human)

    def sequence(self, scores: ItemScores, *, alpha: float) -> Figure:
        """Return the change in the last round. Its interval uses alpha for all rounds together."""
        metric = self.scoring.metric
        name, change = metric.name, score_change(scores, len(scores.sums) - 1, alpha=alpha)
        if change.value is None or change.interval is None:
            return Figure(name=name, reason=change.reason)
        unit = -self.range if metric.loss_signs(1.0) > 0 else self.range
        low, high = sorted((unit * change.interval.low, unit * change.interval.high))
        difference = unit * change.value + 0.0
        return Figure(name=name, difference=difference, low=low, high=high, n=change.n_used)


def item_scores(counts: ReplyCounts, scores: FloatArray) -> ItemScores:
    """Sum the scores of the replies for each item and round. See `Scorer.scores`."""
    scored = np.isfinite(scores)
    sums = np.einsum("tic,ic->ti", counts.counts, np.where(scored, scores, 0.0))
    return ItemScores(sums, np.einsum("tic,ic->ti", counts.counts, scored.astype(np.int64)))

"""Compute metrics from answers that are numbers or texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.annotator_panel import eps_of, panel_of
from harness.analysis.inputs import sampling_weights
from harness.analysis.prepared import groups_of, resampling_of
from harness.errors import TaskError
from harness.stats import AltTestDesign
from harness.stats.inference.estimate import Estimate, ItemSums
from harness.stats.inference.estimate_sums import bootstrap, estimate_sums
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.metrics.alpha import INTERVAL_ALPHA, interval_sums
from harness.stats.metrics.icc import ICC, crossed_ratings, two_way_sums
from harness.stats.open_scales.numeric_answers import NumericRatings, typical_numbers
from harness.stats.open_scales.open_wins import OpenWins
from harness.stats.open_scales.text_answers import N_DRAWS, TextRatings, word_overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.stats import Metric, Panel, Resampling
    from harness.stats.alt_test.scoring import Score, Similarity
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.open_scales.open_footing import OpenJudge
    from harness.stats.open_scales.open_metrics import Valued
    from harness.tasks import Task

LEXICAL = (
    "similarity is the share of words that two texts have in common, so texts with the same "
    "meaning in different words don't count as similar (to use a different measure, set "
    "`similarity` in task.yaml)"
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OpenScaleSetup:
    """Raters' and judges' answers on a scale of numbers or texts.

    Attributes
    ----------
    source : Source
        Source of the answers.
    panel : Panel
        The ratings, with raters' names.
    answers : dict of str to ((N,) int array, N numbers or texts)
        Items and answers by judge.
    score : str or callable
        Score that the annotator test compares.
    range : float
        The greatest difference between two answers.
    note : str
        A note on the scale for readers; "" for none.
    typical : callable
        Returns the answer that represents all of a judge's answers to an item.
    judge, baselines : callable
        Bind a judge's answers, and the computed baselines, to a metric.
    agreement : callable
        Estimates agreement among the raters.
    sides : callable
        Returns the distance of a judge, and of one rater, from the other raters of each item, (n,)
        each. On a scale of texts, returns similarities. nan if unknown.
    """

    source: Source
    panel: Panel
    answers: Mapping[str, tuple[IntArray, Sequence[Any]]]
    score: Score
    range: float
    note: str
    typical: Callable[[Sequence[Any]], Hashable]
    judge: Callable[[str, Metric], OpenJudge]
    baselines: Callable[[Metric], dict[str, Callable[[BoolArray], Valued]]]
    agreement: Callable[[], dict[str, Estimate]]
    sides: Callable[[str], tuple[FloatArray, FloatArray]]

    def __repr__(self) -> str:
        return f"OpenScale({self.panel!r}, {len(self.answers)} judges)"

    @property
    def n_ratings(self) -> FloatArray:
        """An (n,) array with each item's number of ratings."""
        return self.panel.ratings_per_item.astype(np.float64)

    @property
    def rated(self) -> BoolArray:
        """An (n,) bool array that shows which items have ratings."""
        return np.asarray(self.n_ratings > 0, dtype=np.bool_)

    @property
    def weights(self) -> FloatArray | None:
        """An (n,) array of item weights, or None if all items have weight 1."""
        return sampling_weights(self.source.items)

    def resampling(self) -> Resampling:
        """Return the resampling settings for intervals, including the run's seed."""
        return resampling_of(self.source, groups_of(self.source))

    def verdicts(self, name: str) -> dict[str, Hashable]:
        """Return one answer per item from a judge, as input for the annotator test."""
        by_item = defaultdict(list)
        items, answers = self.answers[name]
        for item, answer in zip(items.tolist(), answers, strict=True):
            by_item[self.panel.items[item]].append(answer)
        return {item: self.typical(replies) for item, replies in by_item.items()}


def open_scale(source: Source) -> OpenScaleSetup:
    """Read the numeric or text answers of a source."""
    return _texts(source) if source.task.scale == "text" else _numbers(source)


def _numbers(source: Source) -> OpenScaleSetup:
    panel, answers = _answers(source, float)
    values = np.array(panel.labels, dtype=np.float64)[panel.code]
    ratings = NumericRatings.of(panel.of_item, values, len(panel.items))
    bounds = source.task.bounds
    width, note = np.inf, ""
    if bounds is not None:
        width = bounds[1] - bounds[0]
    elif values.size:
        width = float(np.ptp(ratings.value))
    if bounds is None and source.judges:
        margin = f"{source.settings.worth:.0%} of the range of the ratings, {width:g}"
        note = f"the scale has no bounds: the margin is {margin} (`bounds` in task.yaml)"

    def judge(name: str, metric: Metric) -> OpenJudge:
        items, numbers = answers[name]
        return ratings.judge(name, items, np.array(numbers, dtype=np.float64), metric, bounds)

    return OpenScaleSetup(
        source=source,
        panel=panel,
        answers=answers,
        score="neg_rmse",
        range=width,
        note=note,
        typical=median,
        judge=judge,
        baselines=ratings.baselines,
        agreement=partial(_agreement_on_numbers, source, panel, ratings),
        sides=lambda name: ratings.distances(
            answers[name][0], np.array(answers[name][1], dtype=np.float64)
        ),
    )


def _agreement_on_numbers(
    source: Source, panel: Panel, ratings: NumericRatings
) -> dict[str, Estimate]:
    x = np.full((len(panel.items), max(len(panel.raters), 1)), np.nan)
    x[panel.of_item, panel.of_rater] = ratings.value
    sums = {
        "alpha": ItemSums(
            contributions=interval_sums(x), metrics=(INTERVAL_ALPHA,), nothing="too_few_raters"
        )
    }
    if source.task.rater_ids == "real":
        sums["icc"] = ItemSums(contributions=two_way_sums(crossed_ratings(x)), metrics=ICC)
    resampling = resampling_of(source, groups_of(source))
    estimates = estimate_sums(sums, resampling=resampling)
    return {name: e for by_metric in estimates.values() for name, e in by_metric.items()}


def _texts(source: Source) -> OpenScaleSetup:
    task = source.task
    panel, answers = _answers(source, str)
    ratings = TextRatings(panel, *similarities_of(task, source.vectors))
    note = f"similarity: {task.similarity_file}" if task.similarity_file else LEXICAL
    if task.embedding:
        note = (
            f"similarity is the cosine of embeddings from {task.embedding}, with negative values "
            "set to 0"
        )
    return OpenScaleSetup(
        source=source,
        panel=panel,
        answers=answers,
        score=ratings.across_items,
        range=1.0,
        note=note,
        typical=lambda texts: Counter(texts).most_common(1)[0][0],
        judge=lambda name, _: ratings.judge(name, *answers[name]),
        baselines=lambda _: ratings.baselines(),
        agreement=partial(_pairwise_similarity, source, ratings),
        sides=lambda name: ratings.similarities(*answers[name]),
    )


def _pairwise_similarity(source: Source, ratings: TextRatings) -> dict[str, Estimate]:
    similar = ratings.agreement()
    sums = np.column_stack([np.nan_to_num(similar), ~np.isnan(similar)]).astype(np.float64)
    resampling = resampling_of(source, groups_of(source))
    return {"pairwise_similarity": bootstrap(sums, resampling=resampling)}


def _answers(
    source: Source, read: Callable[[str], Any]
) -> tuple[Panel, dict[str, tuple[IntArray, list[Any]]]]:
    """Return the ratings as values, and each judge's items and answers."""
    items = tuple(item.id for item in source.items)
    place = {item: i for i, item in enumerate(items)}
    answers: dict[str, tuple[IntArray, list[Any]]] = {}
    for judge in source.judges:
        verdicts = [
            (place[verdict.item], read(verdict.value))
            for verdict in source.verdicts[judge.name]
            if isinstance(verdict.value, str) and verdict.item in place
        ]
        of_item = np.array([item for item, _ in verdicts], dtype=np.int64)
        answers[judge.name] = of_item, [answer for _, answer in verdicts]
    return panel_of(source.task, items, read), answers


def similarities_of(
    task: Task, vectors: Mapping[str, FloatArray] | None
) -> tuple[Similarity, Similarity]:
    """Return two similarity functions: one for answers to the same item, one for any two answers.

    The similarity comes from the task's table or embeddings, else from the overlap of words. An
    answer and a rating of one item must be in the table. Texts of different items that are missing
    from it, in baselines and controls, count 0.
    """
    if task.embedding:
        cosine = partial(_cosine, vectors or {}, task)
        return cosine, cosine
    if not task.similarity:
        return word_overlap, word_overlap
    table = task.similarities

    def across_items(text: Hashable, other: Hashable) -> float:
        return table.get((str(text), str(other)), float(text == other))

    def within_item(text: Hashable, other: Hashable) -> float:
        if text != other and (str(text), str(other)) not in table:
            raise TaskError(
                f"task {task.name}: {task.similarity_file} has no similarity for "
                f"{str(text)[:60]!r} and {str(other)[:60]!r}. Add a row for each pair of an answer "
                "and a rating on the same item."
            )
        return across_items(text, other)

    return within_item, across_items


def _cosine(
    vectors: Mapping[str, FloatArray], task: Task, text: Hashable, other: Hashable
) -> float:
    """Return two texts' cosine similarity from unit vectors. Negative values become 0."""
    try:
        return max(0.0, float(vectors[str(text)] @ vectors[str(other)]))
    except KeyError as absent:
        raise TaskError(
            f"task {task.name}: {absent.args[0][:60]!r} has no embedding from {task.embedding}. "
            "Resume the run to request the embedding."
        ) from None


def with_open_wins(scale: OpenScaleSetup) -> OpenScaleSetup:
    """Compute judges' and baselines' wins against raters, if the advantage probability ranks.

    For numbers, the baselines always answer with the mean, the median or the best of up to 100
    ratings, or with one of these at random. For texts, they answer with the most common text or one
    of 20.
    """
    if scale.source.settings.metric != ADVANTAGE.name or not scale.panel.code.size:
        return scale
    wins = OpenWins.of(scale.panel, design_of_open(scale))
    ratings = [scale.panel.labels[code] for code in scale.panel.code.tolist()]
    if scale.source.task.scale == "text":
        constants = {"most_frequent": scale.typical(ratings)}
        places = np.random.default_rng(0).integers(len(ratings), size=N_DRAWS).tolist()
        drawn = [ratings[place] for place in places]
    else:
        values = np.array(ratings, dtype=np.float64)
        constants = {"mean": float(values.mean()), "median": float(np.median(values))}
        drawn = np.unique(typical_numbers(values)).tolist()
    baselines = wins.baselines(constants, drawn, has_best=scale.source.task.scale != "text")

    def judge(name: str, metric: Metric) -> OpenJudge:
        if metric is not ADVANTAGE:
            return scale.judge(name, metric)
        return wins.judge(name, *scale.answers[name])

    return replace(scale, judge=judge, baselines=lambda _: baselines)


def design_of_open(scale: OpenScaleSetup) -> AltTestDesign:
    """Return the annotator test's design for numeric or text answers."""
    return AltTestDesign(score=scale.score, eps=eps_of(scale.source.task))

"""Ratings and verdicts that are numbers or texts, bound to the metrics of such scales."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.analysis.estimates import groups_of, resampling_of
from harness.analysis.inputs import metrics_of
from harness.errors import TaskError
from harness.stats import Panel
from harness.stats.inference.estimate import Estimate, ItemSums, bootstrap, estimate_sums
from harness.stats.metrics.alpha import INTERVAL_ALPHA, interval_sums
from harness.stats.open_scales.numeric_answers import NumericRatings
from harness.stats.open_scales.text_answers import SIMILARITY, TextRatings, word_overlap
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from harness.analysis.inputs import Source
    from harness.analysis.rater_replacement import ScoreName
    from harness.stats import Estimate, Metric
    from harness.stats.alt_test.scoring import Similarity
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.open_scales.open_footing import OpenJudge
    from harness.stats.open_scales.open_metrics import Valued
    from harness.tasks import Task


@dataclass(frozen=True, slots=True, repr=False)
class ContinuousScale:
    """Numbers of raters and judges.

    Attributes
    ----------
    source : Source
        Where they come from.
    panel : Panel
        The ratings, with the names of those who gave them.
    ratings : NumericRatings
        The same as arrays.
    answers : dict of str to ((N,) int array, (N,) array)
        Of each judge: items and numbers.
    """

    source: Source
    panel: Panel
    ratings: NumericRatings
    answers: Mapping[str, tuple[IntArray, FloatArray]]

    @classmethod
    def of(cls, source: Source) -> ContinuousScale:
        """Read the numbers of a source."""
        place = {item.id: i for i, item in enumerate(source.items)}
        panel = panel_of(source, float)
        values = np.array(panel.labels, dtype=np.float64)[panel.code]
        answers = {}
        for judge in source.judges:
            numbers = [
                (place[verdict.item], float(verdict.value))
                for verdict in source.verdicts[judge.name]
                if isinstance(verdict.value, str) and verdict.item in place
            ]
            items = np.array([item for item, _ in numbers], dtype=np.int64)
            answers[judge.name] = items, np.array([x for _, x in numbers], dtype=np.float64)
        return cls(source, panel, NumericRatings.of(panel.of_item, values, len(place)), answers)

    def __repr__(self) -> str:
        return f"ContinuousScale({self.panel!r}, {len(self.answers)} judges)"

    @property
    def score(self) -> Literal["neg_rmse"]:
        """What the annotator test compares by."""
        return "neg_rmse"

    @property
    def score_name(self) -> ScoreName:
        """Its name."""
        return self.score

    @property
    def width(self) -> float:
        """Greatest minus least number of the scale; infinite without bounds."""
        bounds = self.source.task.bounds
        return np.inf if bounds is None else bounds[1] - bounds[0]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the scale; the first ranks by default."""
        return metrics_of(self.source.task)

    @property
    def range(self) -> float:
        """The width of the scale or, without bounds, that of all ratings."""
        x = self.ratings.value
        return float(np.ptp(x)) if np.isinf(self.width) and x.size else self.width

    @property
    def rated(self) -> BoolArray:
        """(n,): items with a rating."""
        return self.ratings.rated

    @property
    def n_ratings(self) -> FloatArray:
        """(n,): number of ratings."""
        return self.ratings.counts

    def judge(self, name: str, metric: Metric) -> OpenJudge:
        """Bind a judge to a metric."""
        return self.ratings.judge(name, *self.answers[name], metric, self.source.task.bounds)

    def baselines(self, metric: Metric) -> dict[str, Callable[[BoolArray], Valued]]:
        """Return the computed baselines."""
        return self.ratings.baselines(metric)

    def verdicts(self, name: str) -> dict[str, Hashable]:
        """Return one number per item, for the annotator test: the median of a judge's replies."""
        by_item: dict[str, list[float]] = {}
        for item, number in zip(*(part.tolist() for part in self.answers[name]), strict=True):
            by_item.setdefault(self.panel.items[item], []).append(number)
        return {item: median(numbers) for item, numbers in by_item.items()}

    def agreement(self) -> dict[str, Estimate]:
        """Return how the raters agree: Krippendorff's alpha for intervals."""
        x = np.full((len(self.panel.items), max(len(self.panel.raters), 1)), np.nan)
        x[self.panel.of_item, self.panel.of_rater] = self.ratings.value
        sums = ItemSums(
            contributions=interval_sums(x), metrics=(INTERVAL_ALPHA,), nothing="too_few_raters"
        )
        resampling = resampling_of(self.source, groups_of(self.source))
        [estimates] = estimate_sums({"": sums}, resampling=resampling).values()
        return estimates

    @property
    def notes(self) -> tuple[str, ...]:
        """What the margin is, where the scale has no bounds."""
        source = self.source
        if source.task.bounds is not None or not source.judges:
            return ()
        margin = f"{source.worth:.0%} of the range of the ratings, {self.range:g}"
        return (f"the scale has no bounds: the margin is {margin} (`bounds` in task.yaml)",)


def panel_of(source: Source, read: Callable[[str], Hashable]) -> Panel:
    """Return the ratings of a source that are no abstentions, each read from its text."""
    items = [item.id for item in source.items]
    selected = set(items)
    return Panel.of(
        (
            (rating.item, rating.rater, read(rating.value))
            for rating in source.task.ratings
            if rating.item in selected
            and isinstance(rating.value, str)
            and rating.value != CANNOT_ASSESS
        ),
        items=items,
        rater_ids=source.task.rater_ids,
    )


LEXICAL = (
    "similarity is lexical: the share of the words that two texts have in common; texts of one "
    "meaning in other words are not similar (`similarity` in task.yaml gives another)"
)


@dataclass(frozen=True, slots=True, repr=False)
class TextScale:
    """Texts of raters and judges.

    Attributes
    ----------
    source : Source
        Where they come from.
    ratings : TextRatings
        The ratings, and the similarity.
    answers : dict of str to ((N,) int array, list of str)
        Of each judge: items and texts.
    """

    source: Source
    ratings: TextRatings
    answers: Mapping[str, tuple[IntArray, list[str]]]

    @classmethod
    def of(cls, source: Source) -> TextScale:
        """Read the texts of a source."""
        place = {item.id: i for i, item in enumerate(source.items)}
        panel = panel_of(source, str)
        answers = {}
        for judge in source.judges:
            verdicts = [
                verdict
                for verdict in source.verdicts[judge.name]
                if isinstance(verdict.value, str) and verdict.item in place
            ]
            items = np.array([place[verdict.item] for verdict in verdicts], dtype=np.int64)
            answers[judge.name] = items, [str(verdict.value) for verdict in verdicts]
        within, across = similarities_of(source.task, source.vectors)
        return cls(source, TextRatings(panel, within, across), answers)

    def __repr__(self) -> str:
        return f"TextScale({self.panel!r}, {len(self.answers)} judges)"

    @property
    def panel(self) -> Panel:
        """The ratings, with the names of those who gave them."""
        return self.ratings.panel

    @property
    def score(self) -> Similarity:
        """What the annotator test compares by."""
        return self.ratings.across_items

    @property
    def score_name(self) -> ScoreName:
        """Its name."""
        return "similarity"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the scale; the first ranks by default."""
        return (SIMILARITY,)

    @property
    def range(self) -> float:
        """The greatest difference of two similarities."""
        return 1.0

    @property
    def rated(self) -> BoolArray:
        """(n,): items with a rating."""
        return np.asarray(self.ratings.counts > 0, dtype=np.bool_)

    @property
    def n_ratings(self) -> FloatArray:
        """(n,): number of ratings."""
        return self.ratings.counts

    def judge(self, name: str, metric: Metric) -> OpenJudge:
        """Bind a judge to the metric."""
        del metric  # there is one
        return self.ratings.judge(name, *self.answers[name])

    def baselines(self, metric: Metric) -> dict[str, Callable[[BoolArray], Valued]]:
        """Return the computed baselines."""
        del metric
        return self.ratings.baselines()

    def verdicts(self, name: str) -> dict[str, Hashable]:
        """Return a text per item, for the annotator test: a judge's most frequent reply."""
        items, texts = self.answers[name]
        by_item: dict[str, Counter[str]] = {}
        for item, text in zip(items.tolist(), texts, strict=True):
            by_item.setdefault(self.panel.items[item], Counter())[text] += 1
        return {item: counts.most_common(1)[0][0] for item, counts in by_item.items()}

    def agreement(self) -> dict[str, Estimate]:
        """Return how similar two ratings of an item are."""
        similar = self.ratings.agreement()
        defined = ~np.isnan(similar)
        sums = np.column_stack([np.nan_to_num(similar), defined]).astype(np.float64)
        resampling = resampling_of(self.source, groups_of(self.source))
        return {"pairwise_similarity": bootstrap(sums, resampling=resampling)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Which similarity was used."""
        task = self.source.task
        if task.embedding:
            return (f"similarity is the cosine of embeddings by {task.embedding}, at least 0",)
        return (f"similarity: {task.similarity_file}" if task.similarity_file else LEXICAL,)


def similarities_of(
    task: Task, vectors: Mapping[str, FloatArray] | None = None
) -> tuple[Similarity, Similarity]:
    """Return the similarity of answers to one item, and of answers to any items.

    That of the task's table or embeddings, else the overlap of words. An answer and a rating of one
    item must be in the table; texts of different items that are not, in baselines and controls,
    count 0.
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
                f"task {task.name}: {task.similarity_file} has no similarity of "
                f"{str(text)[:60]!r} and {str(other)[:60]!r}; add a row for every answer and "
                "rating of an item."
            )
        return across_items(text, other)

    return within_item, across_items


def _cosine(
    vectors: Mapping[str, FloatArray], task: Task, text: Hashable, other: Hashable
) -> float:
    """Return the cosine of two texts, by vectors of length 1; negative ones count 0."""
    try:
        return max(0.0, float(vectors[str(text)] @ vectors[str(other)]))
    except KeyError as absent:
        raise TaskError(
            f"task {task.name}: {absent.args[0][:60]!r} has no embedding by {task.embedding}; "
            "resume the run, which asks for it."
        ) from None

"""Ratings and verdicts that are texts, bound to a similarity."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.continuous_scale import panel_of
from harness.analysis.estimates import groups_of, resampling_of
from harness.errors import TaskError
from harness.stats.inference.estimate import bootstrap
from harness.stats.open_scales.text_answers import SIMILARITY, TextRatings, word_overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from harness.analysis.inputs import Source
    from harness.analysis.rater_replacement import ScoreName
    from harness.stats import Estimate, Metric, Panel
    from harness.stats.alt_test.scoring import Similarity
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.open_scales.answer_rows import Valued
    from harness.stats.open_scales.open_footing import OpenJudge
    from harness.tasks import Task


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

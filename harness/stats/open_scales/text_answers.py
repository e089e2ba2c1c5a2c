"""Texts written by raters and judges, compared by similarity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio
from harness.stats.inference.metric import Metric, mean, no_items
from harness.stats.open_scales.open_footing import LeftOut, OpenJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from harness.stats.alt_test.panel import Panel
    from harness.stats.alt_test.scoring import Similarity
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.open_scales.open_metrics import Valued

SIMILARITY = Metric(
    name="similarity",
    display_name="similarity to the raters' texts",
    value=mean,
    reason=no_items,
    bounds=(0.0, 1.0),
    paper="Calderon et al. 2025, section 3.2",
)
N_DRAWS = 20  # ratings drawn from other items for each item, for the marginal baseline


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())


def word_overlap(text: Hashable, other: Hashable) -> float:
    """Return the share of two texts' words that occur in both (Jaccard), ignoring case.

    Examples
    --------
    >>> word_overlap("a red house", "A house")
    0.6666666666666666
    """
    left, right = _words(str(text)), _words(str(other))
    return len(left & right) / len(left | right) if left or right else 1.0


@dataclass(frozen=True, slots=True, repr=False)
class TextRatings:
    """Ratings that are texts, and a function that compares two texts.

    Attributes
    ----------
    panel : Panel
        The ratings.
    within_item : callable
        ``(text, other text) -> number``, higher is more similar, for two answers to one item.
    across_items : callable
        The same, for answers to any items.
    """

    panel: Panel
    within_item: Similarity
    across_items: Similarity

    def __repr__(self) -> str:
        return f"TextRatings({self.panel!r})"

    @property
    def counts(self) -> FloatArray:
        """Number of ratings per item, as an (n,) array."""
        return self.panel.ratings_per_item.astype(np.float64)

    def texts_of(self, item: int) -> list[Hashable]:
        """Return the ratings of an item."""
        starts = np.searchsorted(self.panel.of_item, [item, item + 1])
        return [self.panel.labels[code] for code in self.panel.code[starts[0] : starts[1]].tolist()]

    def scores(self, item: IntArray, text: Sequence[str], similarity: Similarity) -> FloatArray:
        """Return each answer's mean similarity to its item's ratings, or nan without ratings."""
        means = []
        for place, answer in zip(item.tolist(), text, strict=True):
            texts = self.texts_of(place)
            total = sum(similarity(answer, other) for other in texts)
            means.append(total / len(texts) if texts else np.nan)
        return np.array(means, dtype=np.float64)

    def judge(self, name: str, item: IntArray, text: Sequence[str]) -> OpenJudge:
        """Bind a judge's texts to the metric, given the (N,) items that they answer."""
        n, scores = len(self.panel.items), self.scores(item, text, self.within_item)
        kept = ~np.isnan(scores)
        n_answers = np.bincount(item[kept], minlength=n)
        of_item = ratio(np.bincount(item[kept], scores[kept], n), n_answers)
        rated = self.counts > 0
        with_losses = float(np.nan_to_num(of_item)[rated].mean()) if rated.any() else np.nan
        return OpenJudge(
            name=name,
            answered=np.asarray(n_answers > 0, dtype=np.bool_),
            scores=of_item,
            valued=partial(_mean_over, of_item),
            left_out=partial(self._left_out, of_item),
            value_with_losses=with_losses,
        )

    def _left_out(self, of_judge: FloatArray, items: BoolArray) -> LeftOut:
        """Leave out each rating. A judge's mean over the rest averages to its mean over all."""
        m = self.counts
        used = items & ~np.isnan(of_judge) & (m > 1)
        return LeftOut(
            judge=_mean_over(of_judge, used),
            human=_mean_over(self.agreement(), used),
            used=used,
            n_ratings=int(m[used].sum()),
        )

    def similarities(self, item: IntArray, text: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return (n,) mean similarities to the item's raters, for the judge and for one rater.

        Values are nan if fewer than two raters rated the item, or there is no answer.
        """
        judge, human = self.judge("", item, text).scores, self.agreement()
        used = ~np.isnan(judge) & ~np.isnan(human)
        return np.where(used, judge, np.nan), np.where(used, human, np.nan)

    def agreement(self) -> FloatArray:
        """Return each item's mean similarity between two ratings, or nan with fewer than two."""
        values = []
        for i in range(len(self.panel.items)):
            texts = self.texts_of(i)
            pairs = [
                self.within_item(text, other)
                for j, text in enumerate(texts)
                for k, other in enumerate(texts)
                if j != k
            ]
            values.append(sum(pairs) / len(pairs) if pairs else np.nan)
        return np.array(values, dtype=np.float64)

    def baselines(self) -> dict[str, Callable[[BoolArray], Valued]]:
        """Return the computed baselines.

        ``most_frequent`` answers with the most common text, or the first of several. ``prior``
        answers with the text of a random rating: the mean of 20 draws per item, the same in every
        computation.
        """
        n, R = len(self.panel.items), len(self.panel.code)
        every = np.arange(n)
        if not R:
            return {name: partial(_mean_over, np.full(n, np.nan)) for name in BASELINES}
        common = str(self.panel.labels[int(np.bincount(self.panel.code).argmax())])
        drawn = np.random.default_rng(0).integers(R, size=(N_DRAWS, n))
        texts = [str(self.panel.labels[self.panel.code[r]]) for r in drawn.ravel().tolist()]
        prior = (
            self.scores(np.tile(every, N_DRAWS), texts, self.across_items)
            .reshape(N_DRAWS, n)
            .mean(axis=0)
        )
        return {
            "most_frequent": partial(
                _mean_over, self.scores(every, [common] * n, self.across_items)
            ),
            "prior": partial(_mean_over, prior),
        }


BASELINES = ("most_frequent", "prior")


def _mean_over(of_item: FloatArray, items: BoolArray) -> Valued:
    """Return a function that averages (n,) numbers, given how often each item counts."""
    kept = items & ~np.isnan(of_item)
    sums = np.column_stack([np.where(kept, np.nan_to_num(of_item), 0.0), kept])
    return lambda weights: mean(weights @ sums)

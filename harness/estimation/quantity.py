"""The estimated quantity: the share of raters with a positive answer, or their mean score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.errors import TaskError
from harness.judging.parsing.verdict import PairValue
from harness.stats.data.arrays import ratio
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind


@dataclass(frozen=True, slots=True)
class Quantity:
    """Rule that converts a task's ratings and verdicts to numbers.

    Attributes
    ----------
    kind : str
        "share" (of positive answers), "score", or "preference" (for the first of two answers, with
        a tie as half).
    answers : str
        Kind of answers that are converted: forced choices or response sets.
    positive : tuple of str
        Keys of the positive options for a share, or the key of the option that prefers the first
        answer.
    names : tuple of str
        Labels of these options.
    scores : dict of str to float
        Score of each option of an ordinal scale with numbers as keys; empty on a continuous scale,
        whose answers are numbers.
    bounds : (low, high)
        Lowest and highest value.
    """

    kind: Literal["share", "score", "preference"]
    answers: AnswerKind
    positive: tuple[str, ...]
    names: tuple[str, ...]
    scores: Mapping[str, float]
    bounds: tuple[float, float]

    @classmethod
    def of(cls, task: Task, answers: AnswerKind) -> Quantity:
        """Return the share of positive answers if any option is positive, else the mean score.

        For a pairwise task, return the preference for the first answer.

        Raises
        ------
        TaskError
            If the task has neither positive options nor numbers to average.
        """
        if task.positive:
            labels = {option.key: option.label for option in task.options}
            names = tuple(labels[key] for key in task.positive)
            return cls("share", answers, task.positive, names, {}, (0.0, 1.0))
        if task.pairwise is not None:
            return cls.preference(task)
        if task.scale == "continuous" and task.bounds is not None:
            return cls("score", "forced_choice", (), (), {}, task.bounds)
        keys = [option.key for option in task.options or ()]
        if task.scale == "ordinal" and all(key.lstrip("-").isdecimal() for key in keys):
            scores = {key: float(key) for key in keys}
            ends = min(scores.values()), max(scores.values())
            return cls("score", "forced_choice", (), (), scores, ends)
        raise TaskError(
            f"task {task.name}: no option is positive, and its answers are not numbers",
            "List the positive options in the task folder's task.yaml, as in 'positive: [toxic]', "
            "then run the judges on the task again. The stored replies are used",
        )

    @classmethod
    def preference(cls, task: Task) -> Quantity:
        """Return the preference for the first answer of a pairwise task."""
        assert task.pairwise is not None, "the caller checks that it's pairwise"
        first, second = task.pairwise.first, task.pairwise.second
        scores = {option.key: 0.5 for option in task.options} | {first: 1.0, second: 0.0}
        names = tuple(option.label for option in task.options if option.key == first)
        return cls("preference", "forced_choice", (first,), names, scores, (0.0, 1.0))

    def value(self, answer: str | tuple[str, ...]) -> float:
        """Convert an answer to a number: 1 or 0 for a share, 0.5 for a tie, or the score."""
        if self.kind == "share":
            keys = (answer,) if isinstance(answer, str) else answer
            return float(any(key in self.positive for key in keys))
        return self.scores[str(answer)] if self.scores else float(str(answer))

    def labels(self, task: Task, items: Sequence[Item]) -> FloatArray:
        """Return an (n,) array with each item's mean over raters, or nan if nobody answered."""
        row = {item.id: i for i, item in enumerate(items)}
        totals, counts = np.zeros(len(items)), np.zeros(len(items))
        for rating in task.ratings:
            place = row.get(rating.item)
            if place is None or rating.elicitation != self.answers or rating.value == CANNOT_ASSESS:
                continue
            totals[place] += self.value(rating.value)
            counts[place] += 1.0
        return np.where(counts > 0, totals / np.maximum(counts, 1.0), np.nan)

    def labels_in_order(self, task: Task, n_ratings: int) -> dict[str, float]:
        """Return each item's mean over its first ``n_ratings`` ratings, in order of completion.

        Later ratings don't change an item's label, so more ratings only add labels.
        """
        totals: dict[str, tuple[float, int]] = {}
        labels: dict[str, float] = {}
        for rating in task.ratings:
            if rating.elicitation != self.answers or rating.value == CANNOT_ASSESS:
                continue
            total, count = totals.get(rating.item, (0.0, 0))
            totals[rating.item] = total, count = total + self.value(rating.value), count + 1
            if count == n_ratings:
                labels[rating.item] = total / n_ratings
        return labels

    def verdict(self, verdict: Verdict) -> float:
        """Convert a verdict to a number, or to nan if it has no usable answer."""
        value = verdict.value
        if value is None:
            return float("nan")
        if isinstance(value, PairValue):
            value = value.set if self.answers == "response_set" else value.choice
        return self.value(value)

    def first_verdicts(self, items: Sequence[Item], verdicts: Iterable[Verdict]) -> FloatArray:
        """Return an (n,) array with the judge's first reply to each item as a number, or nan.

        For a preference, average the first replies to both orders of the answers.
        """
        row = {item.id: i for i, item in enumerate(items)}
        orders = np.full((2, len(items)), np.nan)
        for verdict in verdicts:
            is_other = self.kind == "preference" and verdict.sample == 1 and verdict.swapped
            if (verdict.sample == 0 or is_other) and verdict.elicitation in {
                self.answers,
                "paired",
            }:
                place = row.get(verdict.item)
                if place is not None:
                    orders[int(is_other), place] = self.verdict(verdict)
        answered = ~np.isnan(orders)
        return ratio(np.where(answered, orders, 0.0).sum(axis=0), answered.sum(axis=0))

"""Strategies for numeric scores, as from reward models, metrics and graders.

A verdict keeps the judge's own number. A monotone map, fitted to the ratings of other items, makes
it comparable with judges that choose an option; see `harness.stats.scores.score_map`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from harness.errors import TaskError
from harness.judging.parsing.grammar import Parsed
from harness.judging.parsing.open_answers import parse_number
from harness.judging.strategies.strategy import Strategy
from harness.stats.scores.score_map import (
    MIN_FITTED,
    CrossFit,
    ScoreDirection,
    ScoreMap,
    above_cuts,
    cross_fit,
    shares_of,
)
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import unit_numbers
from harness.tasks.schema import number_text, numeric_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import Order
    from harness.judging.strategies.strategy import Combining, Fitted, ReplyParser
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind, Elicitation

CUT_OFF = Parsed("invalid", reason="cut_off")


class NumericScore(Strategy):
    """Strategy that asks for a number. Its meaning is estimated from ratings of other items.

    Attributes
    ----------
    better : {"higher", "lower", "found"}
        Which numbers are better. If ``found``, this is determined on different items than those
        that a map is applied to.
    """

    better: ScoreDirection = "found"
    elicitations: tuple[Elicitation, ...] = ("forced_choice",)
    gives_distribution = True
    both_orders = False  # a number has no mirror image

    def check(self, task: Task) -> None:
        """Reject unordered options, and tasks with too few rated items."""
        targets = Targets.of(task)
        rated = {item.unit for item, n in zip(task.items, targets.weights, strict=True) if n}
        if len(rated) < MIN_FITTED:
            raise TaskError(
                f"task {task.name}: {len(rated)} items or groups have ratings, but scores need "
                f"at least {MIN_FITTED} such items or groups to be compared with ratings. Rate "
                "more items."
            )

    def template(self, elicitation: Elicitation) -> str:
        """Return the name of the template that asks for a number."""
        del elicitation
        return "score"

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Parse a reply as a number, which is returned as text."""
        del kind, item, order
        if reply.ending == "filtered":
            return Parsed("refused", reason="content_filter")
        if reply.ending == "cut_off":
            return CUT_OFF
        return parse_number(reply.text, None, abstain=reader.task.abstain)[0]

    def fit(self, verdicts: Iterable[Verdict], of: Combining) -> Fitted:
        """Return the mean of the folds' maps: for each score, the value in every column."""
        replies = [verdict for verdict in verdicts if score_of(verdict) is not None]
        if not replies:
            return {}
        mean = fitted_map(replies, of.task, self.better).mean
        return {
            repr(score): {str(k): value for k, value in enumerate(row)}
            for score, row in zip(mean.scores.tolist(), mean.values.tolist(), strict=True)
        }

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Convert scores to verdicts with options or scale values."""
        own = list(verdicts)
        answered = [verdict for verdict in own if score_of(verdict) is not None]
        if not answered:
            return own
        if of.fitted:
            mapped = map_of(of.fitted)(scores_of(answered))
        else:
            mapped = fitted_map(answered, of.task, self.better).values
        read = _Reading.of(of.task)
        made = iter([read.verdict(v, row) for v, row in zip(answered, mapped, strict=True)])
        return [verdict if score_of(verdict) is None else next(made) for verdict in own]

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterable[str]:
        """Report whether higher or lower scores were found to be better."""
        answered = [verdict for verdict in replies if score_of(verdict) is not None]
        if self.better == "found" and answered:
            yield direction_note(of.judge, fitted_map(answered, of.task, self.better))


class RisingScore(NumericScore):
    """Score for which higher numbers are better. See `NumericScore`."""

    better: ScoreDirection = "higher"


class FallingScore(NumericScore):
    """Score for which lower numbers are better. See `NumericScore`."""

    better: ScoreDirection = "lower"


BY_DIRECTION: Mapping[ScoreDirection, NumericScore] = {
    "found": NumericScore("scoring"),
    "higher": RisingScore("scoring-higher"),
    "lower": FallingScore("scoring-lower"),
}


def score_of(verdict: Verdict) -> float | None:
    """Return the score in a verdict, or None if the verdict has no score."""
    if verdict.outcome != "answered" or not isinstance(verdict.value, str):
        return None
    return float(verdict.value)


def scores_of(verdicts: Iterable[Verdict]) -> FloatArray:
    """Return the scores of verdicts, all of which must have one, as an array."""
    return np.array([score_of(verdict) for verdict in verdicts], dtype=np.float64)


def direction_note(judge: str, fit: CrossFit) -> str:
    """Report whether higher or lower scores of a judge were found to be better."""
    higher, n = fit.n_higher, fit.n_folds
    if 0 < higher < n:
        return (
            f"{judge}: its scores have no clear direction. Higher scores are better in {higher} "
            f"of the {n} folds of the items"
        )
    return (
        f"{judge}: {'higher' if higher else 'lower'} scores are better, as estimated on items "
        "that aren't used for validation"
    )


def fitted_map(verdicts: Sequence[Verdict], task: Task, better: ScoreDirection) -> CrossFit:
    """Fit scores to the ratings of their items, out of fold.

    Raises
    ------
    TaskError
        If too few items have ratings, or the task's options are unordered.
    """
    targets = Targets.of(task)
    place = {item.id: i for i, item in enumerate(task.items)}
    rows = np.array([place[verdict.item] for verdict in verdicts])
    repeats = np.bincount(rows)[rows]  # an item counts once, however many scores it has
    units = np.array(unit_numbers(task.items))[rows]
    try:
        return cross_fit(
            scores_of(verdicts),
            targets.values[rows],
            targets.weights[rows] / repeats,
            units,
            better=better,
        )
    except ValueError as error:
        raise TaskError(
            f"task {task.name}: {error}",
            "Rate more items, or pass verdicts that are options of the task",
        ) from None


def map_of(fitted: Fitted) -> ScoreMap:
    """Restore the map from the values that `NumericScore.fit` returned."""
    knots = [(float(score), list(row.values())) for score, row in fitted.items()]
    scores, rows = zip(*sorted(knots), strict=True)
    return ScoreMap(np.array(scores), np.array(rows, dtype=np.float64))


class Targets(NamedTuple):
    """Raters' answers by item of a task, as targets for a fit.

    Attributes
    ----------
    values : (n, T) array
        Shares of raters above each cut between ordered options, or the mean of numbers.
    weights : (n,) array
        Number of ratings per item.
    """

    values: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, task: Task) -> Targets:
        """Count raters' single answers, or raise `TaskError` if the options are unordered."""
        if task.is_open:
            numbers, weights = _numbers(task)
            return cls(numbers, weights)
        counts = rated_counts(task)
        weights = counts.sum(axis=1)
        shares = counts / np.maximum(weights, 1.0)[:, None]
        return cls(above_cuts(shares), weights)


def _numbers(task: Task) -> tuple[FloatArray, FloatArray]:
    place = {item.id: i for i, item in enumerate(task.items)}
    sums, weights = np.zeros((2, len(task.items)))
    if task.scale != "continuous":
        raise TaskError(f"task {task.name}: scores can't be compared with texts. Drop the scores.")
    for rating in task.ratings:
        if isinstance(rating.value, str) and rating.value != CANNOT_ASSESS:
            sums[place[rating.item]] += float(rating.value)
            weights[place[rating.item]] += 1.0
    return (sums / np.maximum(weights, 1.0))[:, None], weights


def rated_counts(task: Task) -> FloatArray:
    """Return an (n, K) array with the number of raters per item and ordered option."""
    columns = task.rating_columns
    place = {option: k for k, option in enumerate(ordered_options(task))}
    option = np.array(
        [
            place.get(value, -1) if form == "forced_choice" and isinstance(value, str) else -1
            for form, value in columns.answers
        ],
        dtype=np.int64,
    )[columns.answer]
    rows = columns.rows_of(item.id for item in task.items)
    counts = np.zeros((len(task.items), len(place)))
    used = (option >= 0) & (rows >= 0)
    np.add.at(counts, (rows[used], option[used]), 1.0)
    return counts


def ordered_options(task: Task) -> tuple[str, ...]:
    """Return a task's options, ordered from worst to best.

    The options of an ordinal scale keep their order. Positive options come last. In a pairwise
    task, the option that prefers the first answer comes last, and ties come between.

    Raises
    ------
    TaskError
        If the options are unordered.
    """
    keys = [option.key for option in task.options]
    if task.scale == "ordinal":
        numbers = list(numeric_keys(keys))
        return tuple(reversed(keys) if numbers and numbers[0] > numbers[-1] else keys)
    if task.pairwise is not None:
        rank = {task.pairwise.second: 0, task.pairwise.first: 2}
        return tuple(sorted(keys, key=lambda key: rank.get(key, 1)))
    if len(keys) == 2:  # noqa: PLR2004 -- a binary scale, whatever its name
        return tuple(sorted(keys, key=lambda key: key in task.positive))
    raise TaskError(
        f"task {task.name}: scores order items, but the options have no order. Use a binary, "
        "ordinal, pairwise or continuous scale."
    )


def has_order(task: Task) -> bool:
    """Return whether a task's options are ordered. See `ordered_options`."""
    try:
        return bool(ordered_options(task))
    except TaskError:
        return False


class _Reading(NamedTuple):
    """Converter of mapped scores to verdicts on a task."""

    options: tuple[str, ...]  # in order; empty on a continuous scale

    @classmethod
    def of(cls, task: Task) -> _Reading:
        return cls(() if task.is_open else ordered_options(task))

    def verdict(self, verdict: Verdict, mapped: FloatArray) -> Verdict:
        if not self.options:
            return replace(verdict, value=number_text(float(mapped[0])))
        shares = dict(zip(self.options, shares_of(mapped[None])[0].tolist(), strict=True))
        value = max(shares, key=shares.__getitem__)
        return replace(verdict, value=value, probabilities=shares)

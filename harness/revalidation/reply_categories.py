"""Classify judges' replies into categories: the verdict, or the outcome without a verdict."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from harness.judging.parsing.grammar import OUTCOMES, Outcome
from harness.judging.parsing.verdict import PairValue, Value, Verdict
from harness.stats.drift.reply_counts import ReplyCounts
from harness.tasks.item import Elicitation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from harness.tasks import Task


class Category(Struct, frozen=True, omit_defaults=True):
    """Category of replies: a verdict's value, or an outcome without a value."""

    outcome: Outcome
    value: Value = None

    def __post_init__(self) -> None:
        if self.value is not None and self.outcome != "answered":
            raise ValueError(f"{self.outcome}, and so without a value")

    def __str__(self) -> str:
        match self.value:
            case None:
                return f"({self.outcome})"
            case str() as option:
                return option
            case PairValue(set=endorsed, choice=choice):
                return f"{{{', '.join(endorsed)}}}, {choice}"
            case endorsed:
                return f"{{{', '.join(endorsed)}}}"


ScoredReply = tuple[Category, dict[str, float]]  # a reply, and the options' probabilities or none


class StreamReplies(Struct, frozen=True):
    """Replies of one judge in one elicitation, on one or more occasions.

    Attributes
    ----------
    categories : tuple of Category
        The categories of the replies.
    replies : tuple of tuple of int
        Per item, in the order of the baseline's items, the position in ``categories`` of each
        reply. Transport errors don't count as replies.
    probabilities : tuple of tuple of dict of str to float
        Per item and reply, the probabilities of the options if the judge returns them; else empty.
        The category is then the most probable option.
    """

    judge: str
    elicitation: Elicitation
    categories: tuple[Category, ...]
    replies: tuple[tuple[int, ...], ...]
    probabilities: tuple[tuple[dict[str, float], ...], ...] = ()

    @property
    def n_replies(self) -> int:
        """Number of replies."""
        return sum(map(len, self.replies))

    def at(self, places: Sequence[int]) -> StreamReplies:
        """Return the replies to the items with the given indices."""
        return replace(
            self,
            replies=tuple(self.replies[i] for i in places),
            probabilities=tuple(self.probabilities[i] for i in places)
            if self.probabilities
            else (),
        )

    def of_item(self, item: int) -> list[ScoredReply]:
        """Return the replies to one item as categories with their probabilities."""
        own = self.replies[item]
        masses = self.probabilities[item] if self.probabilities else ({},) * len(own)
        return [(self.categories[k], p) for k, p in zip(own, masses, strict=True)]


def category_of(verdict: Verdict) -> Category:
    """Return the category of a verdict."""
    return Category(verdict.outcome, verdict.value if verdict.outcome == "answered" else None)


def stream_of(
    verdicts: Iterable[Verdict],
    judge: str,
    elicitation: Elicitation,
    items: Sequence[str],
    task: Task,
) -> StreamReplies:
    """Collect one judge's replies in one elicitation."""
    samples: dict[str, list[tuple[int, ScoredReply]]] = {item: [] for item in items}
    for verdict in verdicts:
        is_ours = verdict.judge == judge and verdict.elicitation == elicitation
        if is_ours and verdict.item in samples and verdict.outcome != "failed":
            answer = category_of(verdict), dict(verdict.probabilities or {})
            samples[verdict.item].append((verdict.sample, answer))
    by_item = [
        [answer for _, answer in sorted(replies, key=lambda reply: reply[0])]
        for replies in samples.values()
    ]
    distinct = {category for replies in by_item for category, _ in replies}
    return _encoded(judge, elicitation, by_item, sorted(distinct, key=_order_in(task)))


def joined(occasions: Sequence[StreamReplies]) -> StreamReplies:
    """Combine replies to the same items from several occasions.

    The categories keep their order; those that first occur on a later occasion follow.
    """
    first = occasions[0]
    n_items = len(first.replies)
    by_item = [
        [reply for stream in occasions for reply in stream.of_item(i)] for i in range(n_items)
    ]
    return _encoded(first.judge, first.elicitation, by_item, categories_of(occasions))


def verdicts_of(
    stream: StreamReplies, items: Sequence[str], *, judge: str = "", samples: slice = slice(None)
) -> Iterator[Verdict]:
    """Yield the replies of a stream as verdicts, without texts.

    Parameters
    ----------
    items : sequence of str
        Item ids, in the order of the stream.
    judge : str
        A different name for the judge.
    samples : slice
        Replies to use for each item; by default all.
    """
    for i, item in enumerate(items):
        for sample, (category, probabilities) in enumerate(stream.of_item(i)[samples]):
            yield Verdict(
                item=item,
                judge=judge or stream.judge,
                elicitation=stream.elicitation,
                sample=sample,
                outcome=category.outcome,
                value=category.value,
                probabilities=probabilities or None,
            )


def by_judge(streams: Sequence[StreamReplies]) -> dict[str, list[StreamReplies]]:
    """Group streams by judge."""
    grouped: dict[str, list[StreamReplies]] = {}
    for stream in streams:
        grouped.setdefault(stream.judge, []).append(stream)
    return grouped


def replies_per_item(streams: Iterable[StreamReplies], samples: slice = slice(None)) -> int:
    """Return the number of replies per item, or the maximum if some are missing."""
    lengths = (len(item[samples]) for stream in streams for item in stream.replies)
    return max(lengths, default=0)


def outcome_shares(stream: StreamReplies) -> dict[str, float]:
    """Return the share of replies with each outcome. Empty without replies."""
    totals = Counter(stream.categories[k].outcome for item in stream.replies for k in item)
    n = stream.n_replies
    return {outcome: totals[outcome] / n for outcome in OUTCOMES if n and outcome != "failed"}


def categories_of(streams: Sequence[StreamReplies]) -> tuple[Category, ...]:
    """Return all categories: the baseline's, then new ones from each later round."""
    return tuple(dict.fromkeys(c for stream in streams for c in stream.categories))


def counts_of(streams: Sequence[StreamReplies]) -> ReplyCounts:
    """Count the replies of a baseline and its rounds, as input for the tests.

    Parameters
    ----------
    streams : sequence of StreamReplies
        Replies of one judge and elicitation to the same items: the baseline, then each round.

    Returns
    -------
    ReplyCounts
        Categories in the order of `categories_of`.
    """
    position = {category: k for k, category in enumerate(categories_of(streams))}
    n = len(streams[0].replies)
    counts = np.zeros((len(streams), n, len(position)), dtype=np.int64)
    for t, stream in enumerate(streams):
        column = np.array([position[c] for c in stream.categories], dtype=np.int64)
        cells = np.fromiter(chain.from_iterable(stream.replies), dtype=np.int64)
        item = np.repeat(np.arange(n), np.fromiter(map(len, stream.replies), dtype=np.int64))
        np.add.at(counts[t], (item, column[cells]), 1)
    outcomes = frozenset(str(category) for category in position if category.value is None)
    return ReplyCounts(tuple(map(str, position)), counts, outcomes)


def no_replies(stream: StreamReplies) -> StreamReplies:
    """Return a copy of a stream without its replies."""
    return StreamReplies(stream.judge, stream.elicitation, (), ((),) * len(stream.replies))


def _encoded(
    judge: str,
    elicitation: Elicitation,
    by_item: Sequence[Sequence[ScoredReply]],
    categories: Sequence[Category],
) -> StreamReplies:
    position = {category: k for k, category in enumerate(categories)}
    replies = tuple(tuple(position[category] for category, _ in item) for item in by_item)
    masses = tuple(tuple(p for _, p in item) for item in by_item)
    is_soft = any(p for of_item in masses for p in of_item)
    return StreamReplies(judge, elicitation, tuple(categories), replies, masses if is_soft else ())


def _order_in(task: Task) -> Callable[[Category], tuple[int, int, int]]:
    """Return a function that sorts categories by outcome, then by the task's order of values."""
    space = task.space

    def order(category: Category) -> tuple[int, int, int]:
        outcome = OUTCOMES.index(category.outcome)
        match category.value:
            case None:
                return outcome, 0, 0
            case str() as option:
                return outcome, 0, space.option_index(option)
            case PairValue(set=endorsed, choice=choice):
                return outcome, space.set_index(endorsed), space.option_index(choice)
            case endorsed:
                return outcome, space.set_index(endorsed), 0

    return order

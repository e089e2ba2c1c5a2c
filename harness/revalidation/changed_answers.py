"""Find items that a judge answers differently since a round, and describe the change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.report.html.item_table import answer_text
from harness.revalidation.records import ChangedItem
from harness.revalidation.reply_categories import Category, categories_of
from harness.stats.drift.reply_counts import Window
from harness.stats.drift.stream_path import item_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.revalidation.reply_categories import StreamReplies
    from harness.stats.data.arrays import IntArray
    from harness.stats.drift.reply_counts import ReplyCounts
    from harness.stats.drift.stream_path import Component

MAX_STORED = 50  # changed items of a judge that the history lists per round
REPLIES_THAT = {"abstained": "abstain", "refused": "refuse", "invalid": "are unreadable"}


@dataclass(frozen=True, slots=True)
class AnswerChanges:
    """Changes between a judge's usual answers before a round and since that round.

    The usual answer to an item is the most common one. If several tie, it is unchanged if the
    earlier one is among them. Items without replies on either side aren't compared.

    Attributes
    ----------
    counts : ReplyCounts
        The judge's replies in one elicitation.
    window : Window
        The rounds since then.
    items : tuple of ChangedItem
        Items whose usual answer changed, strongest evidence first.
    n_compared : int
        Number of compared items.
    n_by_noise : float
        Expected number of changed answers from the earlier replies' noise, if there is one reply
        per item since. It's 0 with more replies, because noise is then rarely the most common
        answer.
    """

    counts: ReplyCounts
    window: Window
    items: tuple[ChangedItem, ...]
    n_compared: int
    n_by_noise: float

    @classmethod
    def since(
        cls,
        first_look: int,
        counts: ReplyCounts,
        replies: Sequence[StreamReplies],
        items: Sequence[str],
        category: str | None = None,
    ) -> AnswerChanges:
        """Compare the replies since a round with earlier ones, counting rounds from the baseline.

        If ``category`` is passed, items whose usual reply is now this category come first.
        """
        window = Window(counts.n_looks, counts.n_looks - first_look + 1)
        before, now = counts.before(window), counts.inside(window)
        usual, place = before.argmax(axis=1), np.arange(len(before))
        has_both = (before.sum(axis=1) > 0) & (now.sum(axis=1) > 0)
        changed = np.flatnonzero(has_both & (now[place, usual] < now.max(axis=1)))
        categories = categories_of(replies)
        is_other = np.array([str(categories[k]) != category for k in now[changed].argmax(axis=1)])
        order = changed[np.lexsort((-item_evidence(counts, window)[changed], is_other))]
        rows = tuple(
            ChangedItem(
                item=items[i],
                elicitation=replies[0].elicitation,
                before=categories[usual[i]],
                now=categories[now[i].argmax()],
                share_before=_share(before[i]),
                share_now=_share(now[i]),
            )
            for i in order.tolist()
        )
        n_now, earlier = now[has_both].sum(axis=1), before[has_both]
        noise = 1.0 - earlier.max(axis=1) / earlier.sum(axis=1)
        n_by_noise = float(noise[n_now == 1].sum())
        return cls(counts, window, rows, int(has_both.sum()), n_by_noise)

    def in_words(self, largest: Component, labels: Mapping[str, str]) -> str:
        """Describe in words the change with the strongest evidence."""
        if largest.category in self.counts.outcomes:
            return self._outcome_in_words(largest.category)
        n = len(self.items)
        if n:
            by_noise = round(self.n_by_noise)
            noise = f" (about {by_noise} expected from its usual noise)" if by_noise else ""
            return f"{n} of {self.n_compared} answers changed{self._mostly(labels)}{noise}"
        more = "more" if largest.direction == "up" else "less"
        if largest.category is None:
            return f"it gives its usual answers {more} often"
        return f"it answers {labels.get(largest.category, largest.category)} {more} often"

    def _outcome_in_words(self, category: str) -> str:
        k, parts = self.counts.categories.index(category), []
        for counts in (self.counts.inside(self.window), self.counts.before(self.window)):
            parts += [int(counts[:, k].sum()), int(counts.sum())]
        n, n_all, n_before, all_before = parts
        verb = REPLIES_THAT[category.strip("()")]
        return f"{n} of {n_all} replies {verb} ({n_before} of {all_before} before)"

    def _mostly(self, labels: Mapping[str, str]) -> str:
        """Describe what most of the changes have in common, or return ""."""
        n = len(self.items)
        pairs = Counter((row.before, row.now) for row in self.items)
        (before, now), n_pair = pairs.most_common(1)[0]
        if 2 * n_pair > n:
            which = "all" if n_pair == n else "most"
            return f", {which} from {answer_label(before, labels)} to {answer_label(now, labels)}"
        now, n_now = Counter(row.now for row in self.items).most_common(1)[0]
        return f", most to {answer_label(now, labels)}" if 2 * n_now > n else ""


def answer_label(category: Category, labels: Mapping[str, str]) -> str:
    """Return an answer as text with its options' labels. Without an answer, return the outcome."""
    if category.outcome == "answered":
        return answer_text(category.value, labels)
    return "unreadable" if category.outcome == "invalid" else category.outcome


def _share(counts: IntArray) -> tuple[int, int]:
    return int(counts.max()), int(counts.sum())

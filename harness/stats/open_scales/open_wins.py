"""The advantage probability on scales with numbers or texts as answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.rater_comparisons import TIED, ScoredPanel
from harness.stats.data.arrays import ratio
from harness.stats.metrics.advantage import mean_advantage
from harness.stats.open_scales.numeric_answers import undefined
from harness.stats.open_scales.open_footing import LeftOut, OpenJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Panel
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.open_scales.open_metrics import Valued


@dataclass(frozen=True, slots=True, repr=False)
class OpenWins:
    """Ratings of n items by m raters, to test whether an answer is as good as each rating.

    An answer is as good as a rating if it is at least as close to the item's other ratings. This is
    W^f of Calderon et al. 2025, section 3.1, with the score of the annotator test.

    Attributes
    ----------
    scored : ScoredPanel
        The ratings with their scores.
    counted : (n, m) array
        1 if a rating enters the test.
    """

    scored: ScoredPanel
    counted: FloatArray

    @classmethod
    def of(cls, panel: Panel, design: AltTestDesign) -> OpenWins:
        """Score the ratings. Raise ValueError if the raters have no names."""
        scored = ScoredPanel.of(panel, design)
        counted = np.zeros((len(panel.items), len(panel.raters)))
        counted[panel.of_item[scored.rows], panel.of_rater[scored.rows]] = 1.0
        return cls(scored, counted)

    def __repr__(self) -> str:
        return f"OpenWins({self.scored.panel!r})"

    def won(self, answers: Mapping[str, Hashable]) -> FloatArray:
        """Return (n, m) values, which are 1 if the item's answer is as good as the rating."""
        against = self.scored.against(self.scored.coded(answers))
        won = np.zeros_like(self.counted)
        won[against.item, against.rater] = against.outcome <= TIED
        return won

    def judge(self, name: str, item: IntArray, answers: Sequence[Hashable]) -> OpenJudge:
        """Bind a judge's (N,) answers to the metric. All replies have equal weights."""
        items, n_answers = self.scored.panel.items, np.bincount(item, minlength=len(self.counted))
        won, round_of = np.zeros_like(self.counted), _rounds(item)
        for k in range(int(n_answers.max(initial=0))):
            at = np.flatnonzero(round_of == k).tolist()
            won += self.won({items[item[i]]: answers[i] for i in at})
        won = np.where(n_answers[:, None] > 0, ratio(won, n_answers[:, None]), 0.0)
        answered = np.asarray(n_answers > 0, dtype=np.bool_)
        return OpenJudge(
            name=name,
            answered=answered,
            scores=np.where(answered, won.sum(axis=1), np.nan),
            valued=partial(self._valued, won),
            left_out=self._left_out,
            value_with_losses=float(mean_advantage(np.hstack([won, self.counted]).sum(axis=0))),
        )

    def baselines(
        self, constants: Mapping[str, Hashable], drawn: Sequence[Hashable], *, has_best: bool
    ) -> dict[str, Callable[[BoolArray], Valued]]:
        """Return the computed baselines by name. Each answers every item in the same way.

        ``prior`` answers with one of the drawn answers at random. ``best_constant``, if requested,
        is the drawn answer that wins most often, selected again in every resample.

        Parameters
        ----------
        constants : mapping of str to number or text
            Answers by the name of their baseline.
        drawn : sequence
            Answers to draw from, such as the raters' answers.
        has_best : bool
            Whether to include ``best_constant``.
        """
        every = self.scored.panel.items
        tables = [self.won(dict.fromkeys(every, answer)) for answer in drawn]
        fixed: dict[str, Callable[[BoolArray], Valued]] = {
            name: partial(self._valued, self.won(dict.fromkeys(every, answer)))
            for name, answer in constants.items()
        }
        if tables and has_best:
            fixed["best_constant"] = partial(self._best, tables)
        if tables:
            fixed["prior"] = partial(self._valued, np.mean(tables, axis=0))
        return fixed

    def _valued(self, won: FloatArray, items: BoolArray) -> Valued:
        sums = np.hstack([won, self.counted]) * items[:, None]
        return lambda weights: mean_advantage(weights @ sums)

    def _best(self, tables: Sequence[FloatArray], items: BoolArray) -> Valued:
        of_each = [self._valued(won, items) for won in tables]

        def value(weights: FloatArray) -> FloatArray:
            best = undefined(weights)
            for valued in of_each:
                best = np.fmax(best, valued(weights))
            return best

        return value

    def _left_out(self, items: BoolArray) -> LeftOut:
        """Return a result without items, because a rater is always as good as itself."""
        return LeftOut(judge=undefined, human=undefined, used=items & False, n_ratings=0)


def _rounds(item: IntArray) -> IntArray:
    """Number each item's answers from 0 and return each answer's number, as an (N,) array."""
    order = np.argsort(item, kind="stable")
    sorted_items = item[order]
    starts = np.flatnonzero(np.r_[True, sorted_items[1:] != sorted_items[:-1]])
    lengths = np.diff(np.append(starts, len(item)))
    rounds = np.empty(len(item), dtype=np.int64)
    rounds[order] = np.arange(len(item)) - np.repeat(starts, lengths)
    return rounds

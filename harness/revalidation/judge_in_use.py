"""Test the judge in use against constant answers and a human rater.

It was selected because it beat the constant answers and wasn't worse than a human rater by more
than a margin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.report.html.item_table import option_labels
from harness.revalidation.changed_answers import answer_label
from harness.revalidation.metric_changes import item_scores
from harness.revalidation.records import InUse
from harness.revalidation.reply_categories import Category, categories_of
from harness.stats.drift.score_change import log_e_below
from harness.stats.selection.references import MOST_CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.revalidation.metric_changes import Scorer
    from harness.revalidation.stream import Stream
    from harness.tasks import Task
    from harness.tasks.item import Elicitation


def in_use(
    judge: str, streams: Sequence[Stream], scorer: Scorer, task: Task, before: InUse | None
) -> InUse:
    """Test the judge in use after a round, by the mean over items of single replies' scores.

    Parameters
    ----------
    judge : str
        Name of the judge.
    streams : sequence of Stream
        Its replies in the baseline and all rounds.
    scorer : Scorer
        Scores the replies.
    task : Task
        The task, whose options are the constant answers.
    before : InUse or None
        The test after the previous round, to whose evidence this one adds.
    """
    for stream in streams:
        elicitation, categories = stream.elicitation, categories_of(stream.replies)
        constants = _constants(task, elicitation)
        scores = scorer.scores(categories, stream.replies[0].elicitation)
        columns = scorer.scores(constants, stream.replies[0].elicitation)
        if scores is None or columns is None:
            continue
        best = constants[int(np.nan_to_num(columns).sum(axis=0).argmax())]
        log_constant = log_e_below(item_scores(stream.counts, scores), list(columns.T))
        log_human = None
        beside = scorer.beside_one_human(categories, stream.replies[0].elicitation)
        if beside is not None:
            log_human = log_e_below(
                item_scores(stream.counts, beside.judge), [beside.human], margin=scorer.worth
            )
        return InUse(
            judge=judge,
            constant=answer_label(best, option_labels(task)),
            margin=scorer.worth,
            log_e_constant=_sum(log_constant, before.log_e_constant if before else None),
            log_e_human=_sum(log_human, before.log_e_human if before else None),
        )
    return InUse(judge=judge, reason="the metric can't score replies from any elicitation")


def _sum(log_e: float | None, before: float | None) -> float | None:
    """Add a round's evidence to that of earlier rounds. The sum never decreases."""
    if log_e is None or before is None:
        return before if log_e is None else log_e
    return float(np.logaddexp(log_e, before))


def _constants(task: Task, elicitation: Elicitation) -> list[Category]:
    """Return constant answers to compare with, smallest sets first. Empty for pairs."""
    space = task.space
    by_elicitation: Mapping[str, Sequence[str | tuple[str, ...]]] = {
        "forced_choice": space.options,
        "response_set": space.sets,
    }
    values = by_elicitation.get(elicitation, ())[:MOST_CONSTANTS]
    return [Category("answered", value) for value in values]

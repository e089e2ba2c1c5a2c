"""Test of the judge in use against constant answers and one human.

It was chosen since it is better than the former, and no worse than the latter but for a margin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.revalidation.history import InUse
from harness.revalidation.metric_changes import item_scores
from harness.revalidation.reply_categories import Category, categories_of
from harness.stats.drift.score_change import log_e_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.revalidation.drift_verdicts import Stream
    from harness.revalidation.metric_changes import Scorer
    from harness.tasks import Task


def in_use(
    judge: str, streams: Sequence[Stream], scorer: Scorer, task: Task, before: InUse | None
) -> InUse:
    """Test the judge in use after a look, by single replies on a metric that is a mean over items.

    Parameters
    ----------
    judge : str
        Its name.
    streams : sequence of Stream
        Its replies in the baseline and all looks.
    scorer : Scorer
        What replies score.
    task : Task
        Whose options are the constant answers.
    before : InUse or None
        The test after the look before, whose evidence it adds to.
    """
    for stream in streams:
        elicitation, categories = stream.elicitation, categories_of(stream.replies)
        scores = scorer.scores(categories, stream.replies[0].elicitation)
        constants = _constants(task, elicitation)
        if scores is None or not constants:
            continue
        columns = scorer.scores(constants, stream.replies[0].elicitation)
        assert columns is not None, "answers have scores where those of the judge have"
        references = [column for column in columns.T if np.isfinite(column).any()]
        replies = item_scores(stream.counts, scores)
        log_constant = log_e_below(replies, references)
        log_human = None
        beside = scorer.beside_one_human(categories)
        if beside is not None:
            log_human = log_e_below(
                item_scores(stream.counts, beside.judge), [beside.human], margin=scorer.worth
            )
        return InUse(
            judge=judge,
            constant=constants[int(np.nan_to_num(columns).sum(axis=0).argmax())],
            margin=scorer.worth,
            log_e_constant=_sum(log_constant, before.log_e_constant if before else None),
            log_e_human=_sum(log_human, before.log_e_human if before else None),
        )
    return InUse(judge=judge, reason="no elicitation whose replies the metric scores")


def _sum(log_e: float | None, before: float | None) -> float | None:
    """Add the evidence of earlier looks, which never gets less."""
    if log_e is None or before is None:
        return before if log_e is None else log_e
    return float(np.logaddexp(log_e, before))


def _constants(task: Task, elicitation: str) -> list[Category]:
    """Return the answers that a judge may always give."""
    if elicitation == "forced_choice":
        return [Category("answered", option) for option in task.space.options]
    if elicitation == "response_set":
        return [Category("answered", endorsed) for endorsed in task.space.sets]
    return []

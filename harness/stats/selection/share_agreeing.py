"""Agreement of an answer with a different rater's, for a judge and for a rater in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stats.data.forms import Cut
from harness.stats.inference.metric import name_of
from harness.stats.metrics.confusion import METRICS as LABEL_METRICS
from harness.stats.selection.judge_scoring import Scoring
from harness.stats.selection.references import NO_REFERENCE
from harness.stats.selection.replies import replies_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.stats.selection.references import HumanReference

SHARE_AGREEING = replace(
    next(metric for metric in LABEL_METRICS if metric.kind == "hit_rate"),
    name=name_of("share_agreeing", "s", "s"),
    kind="share_agreeing",
    display_name="agreement with another rater's answer",
    human_form="s",
    judge_form="s",
    also=(),
)


def share_agreeing(
    human: RatingTable,
    judge: RatingTable,
    *,
    items: BoolArray,
    resampling: Resampling,
    panel: RaterPanel | None = None,
    weights: FloatArray | None = None,
    criteria: Sequence[str] | None = None,
) -> HumanReference:
    """Return how often a judge's choice, and a rater's, agrees with another rater's choice.

    Every rater's choice is left out in turn. The result compares the share of the item's remaining
    choices that equal it with the share that equal the judge's reply, on the same items and
    choices. Shares are averaged within items, then over items.

    Parameters
    ----------
    human, judge : RatingTable
        Tables over the same items.
    items : (n,) bool array
        Items that enter, if they have a reply and at least two choices.
    resampling : Resampling
        Supplies groups and level. The interval is over items or groups, and over raters if
        ``panel`` identifies them.
    panel, weights, criteria
        As in `common_footing`.

    Returns
    -------
    HumanReference
        ``judge`` and ``human`` in [0, 1]; ``difference`` is human minus judge, because it is a
        difference of losses. All fields are None without items.
    """
    scoring = Scoring.of(human, SHARE_AGREEING, Cut(1.0, ()), weights=weights)
    if criteria is not None:
        scoring = scoring.counting_criteria_alike(criteria, items)
    replies = replies_of(judge, SHARE_AGREEING.judge_form)
    answered = items & replies.answered(1.0)
    if not answered.any():
        return NO_REFERENCE
    return scoring.reference(
        resampling.units(len(items)),
        replies,
        answered,
        level=resampling.level,
        ratings=panel.of(human, SHARE_AGREEING.human_form) if panel else None,
    )

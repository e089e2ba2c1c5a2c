"""Raters' side of the advantage probability, in the columns of a task's options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.analysis.annotator_variants import panel_of, values_of
from harness.analysis.option_scale import Scale
from harness.analysis.rater_replacement import POSITIONAL, design_of, why_no_test
from harness.stats.alt_test.option_wins import option_wins
from harness.stats.metrics.advantage import ADVANTAGE

if TYPE_CHECKING:
    from harness.analysis.inputs import Source
    from harness.stats import RatingTable


def with_rater_wins(source: Source, human: RatingTable) -> RatingTable:
    """Add to the raters' table which options win against each rater, if the advantage ranks.

    Nothing is added where raters are not named. The score is that of the annotator test.

    Raises
    ------
    ValueError
        If abstentions are resolved or criteria averaged, as the annotator test does neither.
    """
    if source.metric != ADVANTAGE.name:
        return human
    if source.mode != "exclude" or source.level != "micro":
        raise ValueError(
            "the advantage probability compares single choices as they were given; use mode "
            "exclude and level micro"
        )
    if why_no_test(source.task, human.items) == POSITIONAL:
        return human
    scale = Scale.of(source.task)
    value_of = values_of(scale)
    panel = panel_of(source.task, human.items, value_of.__getitem__)
    options = [value_of[option] for option in human.space.options]
    return replace(human, wins=option_wins(panel, design_of(source.task, scale), options))

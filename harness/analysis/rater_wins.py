"""Raters' side of the advantage probability, on options, numbers and texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_variants import panel_of, values_of
from harness.analysis.option_scale import OptionScale
from harness.analysis.rater_replacement import POSITIONAL, design_of, eps_of, why_no_test
from harness.stats import AltTestDesign
from harness.stats.alt_test.option_wins import option_wins
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.open_scales.numeric_answers import typical_numbers
from harness.stats.open_scales.open_wins import OpenWins
from harness.stats.open_scales.text_answers import N_DRAWS

if TYPE_CHECKING:
    from harness.analysis.inputs import Source
    from harness.analysis.open_scale import OpenScaleSetup
    from harness.stats import Metric, RatingTable
    from harness.stats.open_scales.open_footing import OpenJudge


def with_open_wins(scale: OpenScaleSetup) -> OpenScaleSetup:
    """Bind judges and baselines to the advantage probability, if it ranks on an open scale.

    Of numbers, the baselines always answer with the mean, the median or the best of up to 100
    ratings, or with one of these at random; of texts, with the most frequent one or one of 20.
    """
    if scale.source.settings.metric != ADVANTAGE.name or not scale.panel.code.size:
        return scale
    wins = OpenWins.of(scale.panel, design_of_open(scale))
    ratings = [scale.panel.labels[code] for code in scale.panel.code.tolist()]
    if scale.source.task.scale == "text":
        constants = {"most_frequent": scale.typical(ratings)}
        places = np.random.default_rng(0).integers(len(ratings), size=N_DRAWS).tolist()
        drawn = [ratings[place] for place in places]
    else:
        values = np.array(ratings, dtype=np.float64)
        constants = {"mean": float(values.mean()), "median": float(np.median(values))}
        drawn = np.unique(typical_numbers(values)).tolist()
    baselines = wins.baselines(constants, drawn, has_best=scale.source.task.scale != "text")

    def judge(name: str, metric: Metric) -> OpenJudge:
        if metric is not ADVANTAGE:
            return scale.judge(name, metric)
        return wins.judge(name, *scale.answers[name])

    return replace(scale, judge=judge, baselines=lambda _: baselines)


def design_of_open(scale: OpenScaleSetup) -> AltTestDesign:
    """Return the annotator test's design for numbers or texts."""
    return AltTestDesign(score=scale.score, eps=eps_of(scale.source.task))


def with_rater_wins(source: Source, human: RatingTable) -> RatingTable:
    """Add to the raters' table which options win against each rater, if the advantage ranks.

    Nothing is added where raters are not named. The score is that of the annotator test.

    Raises
    ------
    ValueError
        If abstentions are resolved or criteria averaged, as the annotator test does neither.
    """
    if source.settings.metric != ADVANTAGE.name:
        return human
    if source.settings.mode != "exclude" or source.settings.level != "micro":
        raise ValueError(
            "the advantage probability compares single choices as they were given. Use mode "
            "exclude and level micro"
        )
    if why_no_test(source.task, human.items) == POSITIONAL:
        return human
    scale = OptionScale.of(source.task)
    value_of = values_of(scale)
    panel = panel_of(source.task, human.items, value_of.__getitem__)
    options = [value_of[option] for option in human.space.options]
    return replace(human, wins=option_wins(panel, design_of(source.task, scale), options))

"""Compute the papers' figures for a task: test power by number of items, agreement by certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_panel import design_of, why_no_test
from harness.analysis.annotator_variants import Annotators
from harness.analysis.estimates import prepare
from harness.analysis.option_scale import OptionScale
from harness.stats.alt_test.design import AltTestDesign
from harness.stats.planning.annotator_power import power_from_panel
from harness.stats.reasons import Reason
from harness.stats.subsets.certainty_mix import CertaintyMix, certainty_mix

if TYPE_CHECKING:
    from harness.analysis.inputs import Source
    from harness.analysis.prepared import Prepared
    from harness.analysis.result import Validation
    from harness.stats.planning.annotator_power import AnnotatorPower

MARGINS = (0.1, 0.2)  # as in the figure
N_RATERS = 3
SIZES = (10, 20, 30, 50, 75, 100, 150, 200)
N_DRAWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsCurve:
    """A judge's annotator test for different numbers of items (Calderon et al. 2025, figure 2).

    Attributes
    ----------
    judge : str
        The judge with the greatest advantage probability.
    n_raters : int
        Raters per draw.
    by_margin : dict of float to tuple of AnnotatorPower
        Power by eps, then by number of items, with the same draws for every eps.
    """

    judge: str
    n_raters: int
    by_margin: dict[float, tuple[AnnotatorPower, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """Figures for one task. An undefined figure is None and has a reason."""

    items: ItemsCurve | None
    items_reason: Reason
    certainty: CertaintyMix | None
    certainty_reason: str


def task_figures(source: Source, validation: Validation) -> TaskFigures:
    """Compute a task's figures from ratings and verdicts, using the run's seed."""
    task = source.task
    if not task.options:
        return TaskFigures(
            items=None,
            items_reason="no_options",
            certainty=None,
            certainty_reason="the scale has no options",
        )
    prepared = prepare(source, with_intervals=False)
    items, items_reason = _items_curve(prepared, validation)
    certainty, certainty_reason = _certainty(prepared)
    return TaskFigures(
        items=items,
        items_reason=items_reason,
        certainty=certainty,
        certainty_reason=certainty_reason,
    )


def _items_curve(p: Prepared, validation: Validation) -> tuple[ItemsCurve | None, Reason]:
    if reason := why_no_test(p.task, p.judges):
        return None, reason
    scale = OptionScale.of(p.task)
    annotators = Annotators.of(p, scale)
    tests = validation.replacement.judges if validation.replacement else ()
    advantages = {
        row.judge: row.test.advantage.value
        for row in tests
        if row.test.advantage.value is not None and row.judge in annotators.verdicts
    }
    if not advantages:
        return None, "no_judge_tested"
    judge = max(advantages, key=advantages.__getitem__)
    n_raters = min(N_RATERS, len(annotators.panel.raters))
    if n_raters < 2:  # noqa: PLR2004 -- a rater is compared with a different one
        return None, "one_rater"
    score = design_of(p.task, scale).score
    by_margin = {
        eps: power_from_panel(
            annotators.panel,
            annotators.verdicts[judge],
            AltTestDesign(score=score, eps=eps),
            n_raters=n_raters,
            n_items=SIZES,
            rng=np.random.default_rng(p.settings.seed),
            n_draws=N_DRAWS,
        )
        for eps in MARGINS
    }
    return ItemsCurve(judge=judge, n_raters=n_raters, by_margin=by_margin), ""


def _certainty(p: Prepared) -> tuple[CertaintyMix | None, str]:
    scale = OptionScale.of(p.task)
    counts = {table.name: scale.counts(table) for table in p.on_common_items(p.judges)}
    judges = {name: of_judge for name, of_judge in counts.items() if of_judge.any()}
    human = scale.counts(p.human)
    try:
        mix = certainty_mix(human, judges, level=scale.level, rng=p.rng(), scale=scale.numbers)
    except ValueError as error:
        return None, str(error)
    return mix, ""

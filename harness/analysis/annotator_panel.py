"""Build the panel of raters for the alternative annotator test from a task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.analysis.option_scale import OptionScale
from harness.stats import AltTestDesign, Panel
from harness.stats.alt_test.panel import PanelNames
from harness.stats.alt_test.rater_comparisons import option_wins
from harness.stats.metrics.advantage import ADVANTAGE
from harness.stats.reasons import Reason
from harness.tasks.rating_columns import is_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence, Sized

    from harness.analysis.inputs import Source
    from harness.stats import RatingTable
    from harness.stats.alt_test.scoring import Score
    from harness.tasks import Task


def values_of(scale: OptionScale) -> dict[str, str | float]:
    """Map each option to its number on an ordered scale. Otherwise, map it to its key."""
    if scale.numbers is None:
        return {option: option for option in scale.options}
    return dict(zip(scale.options, scale.numbers.tolist(), strict=True))


def panel_of(task: Task, items: Sequence[str], read: Callable[[str], Hashable]) -> Panel:
    """Return the ratings of the given items, without abstentions. ``read`` converts answers."""
    columns = task.rating_columns
    rows = columns.rows_of(items)
    kept = np.flatnonzero((rows >= 0) & columns.of_answers(is_choice))
    raters = sorted(columns.raters[j] for j in np.unique(columns.rater[kept]).tolist())
    place_of = {rater: j for j, rater in enumerate(raters)}
    answers, first = np.unique(columns.answer[kept], return_index=True)
    labels: dict[Hashable, int] = {}
    code = np.zeros(len(columns.answers), dtype=np.int64)
    for k in answers[np.argsort(first)].tolist():
        _, value = columns.answers[k]
        assert isinstance(value, str), "a choice"
        code[k] = labels.setdefault(read(value), len(labels))
    place = np.array([place_of.get(rater, 0) for rater in columns.raters], dtype=np.int64)
    return Panel.of_codes(
        PanelNames(tuple(items), tuple(raters), tuple(labels)),
        rows[kept],
        place[columns.rater[kept]],
        code[columns.answer[kept]],
        rater_ids=task.rater_ids,
    )


EPS = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}  # Calderon et al. 2025, section 3.4


POSITIONAL: Final = "positional_raters"


def why_no_test(task: Task, judges: Sized) -> Reason:
    """Return why the annotator test cannot be run, or "" if it can."""
    return POSITIONAL if task.rater_ids == "positional" else "" if len(judges) else "no_judges"


def design_of(task: Task, scale: OptionScale) -> AltTestDesign:
    """Return the annotator test's design, which scores labels or, on ordered scales, numbers."""
    score: Score = "accuracy" if scale.numbers is None else "neg_rmse"
    return AltTestDesign(score=score, eps=eps_of(task))


def eps_of(task: Task) -> float:
    """Return the annotator test's margin from task.yaml, or the default for this kind of rater."""
    settings = task.alt_test
    return EPS[task.raters] if settings is None or settings.eps is None else settings.eps


def with_rater_wins(source: Source, human: RatingTable) -> RatingTable:
    """Add the options that win against each rater to the raters' table.

    This is needed only if the advantage probability ranks the judges. Nothing is added if raters
    are not named. The score is the annotator test's.

    Raises
    ------
    ValueError
        If abstentions are resolved or criteria averaged. The annotator test does neither.
    """
    if source.settings.metric != ADVANTAGE.name:
        return human
    if source.settings.mode != "exclude" or source.settings.level != "micro":
        raise ValueError(
            "the advantage probability compares single choices. Use mode exclude and level micro"
        )
    if why_no_test(source.task, human.items) == POSITIONAL:
        return human
    scale = OptionScale.of(source.task)
    value_of = values_of(scale)
    panel = panel_of(source.task, human.items, value_of.__getitem__)
    options = [value_of[option] for option in human.space.options]
    return replace(human, wins=option_wins(panel, design_of(source.task, scale), options))

"""The annotator tests of all judges, and which raters they were repeated without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from harness.analysis.annotator_panel import POSITIONAL
from harness.analysis.evidence_rows import JudgeEvidence
from harness.stats.alt_test.copied_answers import CopyTest, copy_test
from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest, deciding_annotator_test
from harness.stats.alt_test.panel import Coded
from harness.stats.reasons import Reason
from harness.stats.selection.footing import Footing

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sized

    from harness.stats import AltTestDesign, Panel, Resampling
    from harness.tasks import Task


LEAST_SHARE = 0.05  # of the ratings, from which a rater is left out in turn


MIN_FOR_ANNOTATOR_TEST = 3  # raters; with fewer, a judge is compared with a human rater instead


@dataclass(frozen=True, slots=True)
class AnnotatorTests:
    """The annotator test of each ranked judge, with all raters of a panel or some.

    Attributes
    ----------
    reason : str
        Why there is none; "" where there is.
    panel : Panel or None
        All raters.
    verdicts : mapping
        Of each judge, by item.
    design : AltTestDesign or None
        Scores and margin.
    resampling : Resampling or None
        The groups of items.
    """

    reason: Reason
    panel: Panel | None = None
    verdicts: Mapping[str, Mapping[str, Hashable] | Coded] = field(default_factory=dict)
    design: AltTestDesign | None = None
    resampling: Resampling | None = None

    def of(
        self, judge: str, *, alpha: float, without: str | None = None
    ) -> DecidingAnnotatorTest | None:
        """Test a judge, by groups where there are any; None where it was not asked for choices.

        ``without`` names a rater who is left out.
        """
        panel, resampling = self.panel, self.resampling
        if not panel or not self.design or not resampling or judge not in self.verdicts:
            return None
        clusters = None
        if resampling.groups is not None:
            clusters = resampling.units(len(resampling.groups)).of_item
        return deciding_annotator_test(
            panel if without is None else panel.without(without),
            self.verdicts[judge],
            self.design,
            groups=clusters,
            level=resampling.level,
            alpha=alpha,
        )

    def copying(self, judge: str) -> CopyTest | None:
        """Test whether a judge copies raters; None if that can't be tested."""
        verdicts = self.verdicts.get(judge)
        if not self.panel or not self.design or verdicts is None:
            return None
        coded = verdicts if isinstance(verdicts, Coded) else self.panel.coded(verdicts)
        return copy_test(self.panel, coded, ordered=self.design.score == "neg_rmse")


class FootingWithout(Protocol):
    """Compares a judge by itself with the baselines, and with a human rater, without a rater."""

    def __call__(self, rater: str, judge: str, *, beside_human: bool) -> Footing | None:
        """Return the comparison; None where there is none."""


def why_none_left_out(task: Task, raters: Sized, leader: JudgeEvidence) -> Reason:
    """Return why the first judge is not looked at without each rater; "" where it is."""
    if reason := why_not_tested(task, raters):
        return reason
    test = leader.annotator_test
    fails = test is not None and test.passes is False
    return "not_needed" if fails or not all(leader.better_than.values()) else ""


def unbeaten(footing: Footing) -> str:
    """Return the first baseline whose value is no worse than that of the only judge; "" if none."""
    losses = footing.metric.losses(np.array([footing.values[0], *footing.baselines.values()]))
    unbeaten = np.flatnonzero(losses[1:] <= losses[0]).tolist()
    return list(footing.baselines)[unbeaten[0]] if unbeaten else ""


def why_not_tested(task: Task, raters: Sized) -> Reason:
    """Return why the annotator test does not apply; "" where it does."""
    if task.rater_ids == "positional":
        return POSITIONAL
    return "too_few_raters" if len(raters) < MIN_FOR_ANNOTATOR_TEST else ""

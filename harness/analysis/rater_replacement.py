"""Run a validation's annotator test (Calderon et al. 2025), also with one rater left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

import numpy as np

from harness.analysis.annotator_panel import POSITIONAL, design_of, why_no_test
from harness.analysis.annotator_variants import (
    Annotators,
    Variant,
    by_criterion,
    combined,
    rater_correlations,
    variants,
)
from harness.analysis.evidence_rows import JudgeEvidence
from harness.analysis.option_scale import OptionScale
from harness.stats import AltTestDesign, Estimate, annotator_controls
from harness.stats.alt_test.controls import N_DRAWS, Controls
from harness.stats.alt_test.copied_answers import CopyTest, copy_test
from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest, deciding_annotator_test
from harness.stats.alt_test.outcome import AltTest, AnnotatorSummary
from harness.stats.alt_test.panel import Coded
from harness.stats.alt_test.procedure import (
    CombinedTest,
    EpsPoint,
    eps_sweep,
    smallest_eps,
)
from harness.stats.reasons import Reason
from harness.stats.selection.footing import Footing
from harness.tasks.schema import RaterKind

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sized

    from harness.analysis.prepared import Prepared
    from harness.stats import AltTestDesign, Panel, Resampling
    from harness.tasks import Task


ScoreName: TypeAlias = Literal["accuracy", "neg_rmse", "similarity"]
SWEEP = tuple(k / 40 for k in range(21))  # 0 to 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTests:
    """A judge's annotator test at several margins and in several variants.

    Attributes
    ----------
    n_replies : int or None
        Replies per item that it is tested on, as in the deciding test. None for all its replies, if
        it gives distributions or is not ranked.
    n_tied_verdicts : int
        Items on which the judge's samples had several modes, of which one was drawn.
    sweep : tuple of EpsPoint
        The test at other margins.
    smallest_eps : float or None
        The smallest margin at which it passes; None if it passes at none.
    variants : tuple of Variant
        The test with one setting changed.
    criteria : dict of str to AnnotatorSummary
        Test on each criterion separately, if items have several criteria.
    combined : CombinedTest or None
        Test against raters combined as task.yaml says.
    pearson_mean_over_raters : Estimate or None
        Unweighted mean of the judge's correlation with each rater, on ordered scales.
    """

    judge: str
    test: AltTest
    n_replies: int | None = None
    n_tied_verdicts: int
    sweep: tuple[EpsPoint, ...]
    smallest_eps: float | None
    variants: tuple[Variant, ...] = ()
    criteria: dict[str, AnnotatorSummary] = field(default_factory=dict)
    combined: CombinedTest | None = None
    pearson_mean_over_raters: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Annotator tests of every judge.

    Attributes
    ----------
    reason : str
        Why there is no test at all: "positional_raters" (a rater's name is a place within the item,
        not a person), "no_judges", or "no_forced_choices" (no judge was asked for them); else "".
    score : str
        The score: accuracy of labels, negative RMSE on ordered and continuous scales, similarity of
        texts.
    eps : float
        The margin from task.yaml, else set by the kind of raters.
    """

    reason: Reason
    score: ScoreName
    raters: RaterKind
    eps: float
    controls: Controls | None
    judges: tuple[JudgeTests, ...]


def section(p: Prepared, annotators: Annotators | None = None) -> Replacement:
    """Test every judge against every rater. Without raters' names, there is no test.

    ``annotators`` has the result of `Annotators.compared`, if it is known.
    """
    scale = OptionScale.of(p.task)
    design = design_of(p.task, scale)
    if reason := why_no_test(p.task, p.judges):
        return replacement_of(p.task, design, reason=reason)
    annotators = annotators or Annotators.compared(p)
    if not annotators.verdicts:
        return replacement_of(p.task, design, reason="no_forced_choices")
    return replacement_of(p.task, design, *_tested(annotators, design))


def replacement_of(
    task: Task,
    design: AltTestDesign,
    judges: tuple[JudgeTests, ...] = (),
    controls: Controls | None = None,
    *,
    reason: Reason = "",
) -> Replacement:
    """Return the results together with the test's design."""
    return Replacement(
        reason=reason,
        score=cast("ScoreName", design.score) if isinstance(design.score, str) else "similarity",
        raters=task.raters,
        eps=design.eps,
        controls=controls,
        judges=judges,
    )


def _tested(
    annotators: Annotators, design: AltTestDesign
) -> tuple[tuple[JudgeTests, ...], Controls]:
    p, scale = annotators.p, annotators.scale
    tests = annotators.tests(design)
    controls = annotator_controls(
        annotators.panel,
        design,
        resampling=p.resampling(groups=p.groups),
        options=scale.options if scale.numbers is None else scale.numbers.tolist(),
        n_draws=N_DRAWS,
    )
    variant_tests, criteria = variants(annotators, design), by_criterion(annotators, design)
    pairings, correlations = combined(annotators, design), rater_correlations(annotators)
    judges = tuple(
        replace(
            judge_tests(test, judge=name, n_tied=annotators.n_tied[name]),
            n_replies=annotators.n_replies.get(name),
            variants=variant_tests[name],
            criteria=criteria.get(name, {}),
            combined=pairings.get(name),
            pearson_mean_over_raters=correlations.get(name),
        )
        for name, test in tests.items()
    )
    return judges, controls


def judge_tests(test: AltTest, *, judge: str, n_tied: int) -> JudgeTests:
    """Return a judge's test at each margin."""
    return JudgeTests(
        judge=judge,
        test=test,
        n_tied_verdicts=n_tied,
        sweep=eps_sweep(test, SWEEP),
        smallest_eps=smallest_eps(test),
    )


LEAST_SHARE = 0.05  # of the ratings; raters with at least this share are left out in turn


MIN_FOR_ANNOTATOR_TEST = 3  # raters; with fewer, a judge is compared with a human rater instead


@dataclass(frozen=True, slots=True)
class AnnotatorTests:
    """Annotator test of each ranked judge against all or some of the raters.

    Attributes
    ----------
    reason : str
        Why there is no test; "" if there is one.
    panel : Panel or None
        All raters.
    verdicts : mapping
        Verdicts of each judge, by item.
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
        """Test a judge, accounting for groups of items. Return None for a judge without choices.

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
        """Test whether a judge copies raters. Return None if the test is not possible."""
        verdicts = self.verdicts.get(judge)
        if not self.panel or not self.design or verdicts is None:
            return None
        coded = verdicts if isinstance(verdicts, Coded) else self.panel.coded(verdicts)
        return copy_test(self.panel, coded, ordered=self.design.score == "neg_rmse")


class FootingWithout(Protocol):
    """Function that compares one judge with baselines and a human rater, leaving out one rater."""

    def __call__(self, rater: str, judge: str, *, beside_human: bool) -> Footing | None:
        """Return the comparison, or None without judges."""


def why_none_left_out(task: Task, raters: Sized, leader: JudgeEvidence) -> Reason:
    """Return why the top judge is not tested without single raters, or "" if it is tested."""
    if reason := why_not_tested(task, raters):
        return reason
    test = leader.annotator_test
    fails = test is not None and test.passes is False
    return "not_needed" if fails or not all(leader.better_than.values()) else ""


def unbeaten(footing: Footing) -> str:
    """Return the first baseline that does at least as well as the only judge, or "" without one."""
    losses = footing.metric.losses(np.array([footing.values[0], *footing.baselines.values()]))
    unbeaten = np.flatnonzero(losses[1:] <= losses[0]).tolist()
    return list(footing.baselines)[unbeaten[0]] if unbeaten else ""


def why_not_tested(task: Task, raters: Sized) -> Reason:
    """Return why the annotator test does not apply, or "" if it does."""
    if task.rater_ids == "positional":
        return POSITIONAL
    return "too_few_raters" if len(raters) < MIN_FOR_ANNOTATOR_TEST else ""

"""The annotator test done otherwise: named variants, combined raters, each criterion alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.analysis.annotator_panel import Annotators, values_of
from harness.analysis.option_scale import Scale
from harness.stats.alt_test.controls import mean_rater_correlations
from harness.stats.alt_test.scoring import SimilarityTable
from harness.stats.alt_test.variants import combined_annotator_test, together
from harness.stats.inference.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.analysis.estimates import Prepared
    from harness.analysis.inputs import Unanswered
    from harness.stats.alt_test.outcome import AltTest
    from harness.stats.alt_test.procedure import AltTestDesign

NO_EXPERT, NO_SET = "no_expert_ratings", "no_ratings_of_one_set"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """The result under a named variant of the test, all else being the same.

    Attributes
    ----------
    winning_rate, advantage, passes, wins, n_tested
        As in `harness.analysis.rater_replacement.JudgeReplacement`.
    n_skipped : int
        Raters that this variant does not test.
    """

    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    wins: int
    n_tested: int
    n_skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JointResult:
    """The result with Benjamini-Yekutieli over the raters of several tests.

    Attributes
    ----------
    n_family : int
        How many p-values were adjusted together.
    """

    winning_rate: Estimate
    passes: bool | None
    wins: int
    n_family: int
    rejected: tuple[str, ...]

    @classmethod
    def of(cls, test: AltTest, **more: Estimate) -> Self:
        """Summarise a test that was adjusted with others."""
        return cls(
            winning_rate=test.winning_rate,
            passes=test.passes,
            wins=test.wins,
            n_family=test.n_family,
            rejected=tuple(row.rater for row in test.per_rater if row.rejected),
            **more,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainResult(JointResult):
    """The result on the items of one criterion, adjusted over the raters of all criteria."""

    advantage: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedResult:
    """Means over the ways to make one rater of two who rated different items.

    Attributes
    ----------
    winning_rate, advantage : float or None
        Over the pairings in which they are defined.
    passes_share : float or None
        Share of those in which the judge passes.
    n_pairings : int
        Ways tried, at most 100.
    reason : str
        Why there are none; "" where there are.
    """

    winning_rate: float | None
    advantage: float | None
    passes_share: float | None
    n_pairings: int
    reason: str


def variants(annotators: Annotators, design: AltTestDesign) -> dict[str, dict[str, VariantResult]]:
    """Do every named variant that these data and the task allow: judge to variant to result.

    Those named by what they change need nothing else. A task may name an expert, a field with
    right answers and the raters' quality; its weights are a similarity, turned round.
    """
    found: dict[str, dict[str, VariantResult]] = {name: {} for name in annotators.verdicts}
    for variant, tests in _tests(annotators, design).items():
        for name, result in tests.items():
            found[name][variant] = result
    return found


def _tests(annotators: Annotators, design: AltTestDesign) -> dict[str, dict[str, VariantResult]]:
    task = annotators.p.task
    designs = _usual(annotators.scale, design) | _named(annotators, design)
    found = {
        variant: {name: _variant(test) for name, test in annotators.tests(other).items()}
        for variant, other in designs.items()
    }
    if task.alt_test and task.alt_test.expert is not None:
        found[f"expert={task.alt_test.expert}"] = _expert(annotators, design, task.alt_test.expert)
    if task.weights is not None:
        keys = task.space.options
        labels = Scale("nominal", keys, None, np.arange(len(keys)))
        costs = np.array(task.weights)[: len(keys), : len(keys)]
        similar = replace(design, score=SimilarityTable(keys, -costs))
        tests = Annotators.of(annotators.p, labels).tests(similar)
        found["score=weights"] = {name: _variant(test) for name, test in tests.items()}
    return found


def _usual(scale: Scale, design: AltTestDesign) -> dict[str, AltTestDesign]:
    unanswered: Unanswered = "exclude" if design.unanswered == "loss" else "loss"
    found = {
        "small_n=t": replace(design, small_n="t"),
        "small_n=skip": replace(design, small_n="skip"),
        f"unanswered={unanswered}": replace(design, unanswered=unanswered),
        "weighting=ipw": replace(design, weighting="ipw"),
    }
    if scale.numbers is not None:
        found["score=rank_neg_rmse"] = replace(design, score="rank_neg_rmse")
    return found


def _named(annotators: Annotators, design: AltTestDesign) -> dict[str, AltTestDesign]:
    said, found = annotators.p.task.alt_test, {}
    if said and said.quality:
        found["quality"] = replace(design, quality=said.quality)
    if said and said.gold is not None:
        value = values_of(annotators.scale)
        right = {item.id: item.fields.get(said.gold) for item in annotators.p.source.items}
        gold = {item: value[answer] for item, answer in right.items() if answer}
        found[f"gold={said.gold}, eps=0"] = replace(design, gold=gold, eps=0.0)
    return found


def _expert(annotators: Annotators, design: AltTestDesign, expert: str) -> dict[str, VariantResult]:
    if expert in annotators.panel.raters:
        tests = annotators.tests(replace(design, expert=expert))
        return {name: _variant(test) for name, test in tests.items()}
    na = Estimate(value=None, reason=NO_EXPERT, n_used=0, n_excluded=len(annotators.panel.items))
    nothing = VariantResult(
        winning_rate=na, advantage=na, passes=None, wins=0, n_tested=0, n_skipped=0
    )
    return dict.fromkeys(annotators.verdicts, nothing)


def _variant(test: AltTest) -> VariantResult:
    return VariantResult(
        winning_rate=test.winning_rate,
        advantage=test.advantage,
        passes=test.passes,
        wins=test.wins,
        n_tested=test.n_tested,
        n_skipped=len(test.skipped),
    )


def combined(annotators: Annotators, design: AltTestDesign) -> dict[str, CombinedResult]:
    """Test against raters combined as the task says; nothing where it does not."""
    said = annotators.p.task.alt_test
    if said is None or not said.combine:
        return {}
    here = set(annotators.panel.raters)
    first, second = ([rater for rater in one if rater in here] for one in said.combine)
    return {
        name: _combined(annotators, design, verdicts, (first, second))
        for name, verdicts in annotators.verdicts.items()
    }


def _combined(
    annotators: Annotators,
    design: AltTestDesign,
    verdicts: Mapping[str, Hashable],
    sets: tuple[Sequence[str], Sequence[str]],
) -> CombinedResult:
    if not all(sets):  # where items are limited to those of others
        return CombinedResult(
            winning_rate=None, advantage=None, passes_share=None, n_pairings=0, reason=NO_SET
        )
    test = combined_annotator_test(annotators.panel, verdicts, design, sets, rng=annotators.p.rng())
    return CombinedResult(
        winning_rate=test.winning_rate,
        advantage=test.advantage,
        passes_share=test.passes_share,
        n_pairings=len(test.tests),
        reason=test.tests[0].winning_rate.reason if test.passes_share is None else "",
    )


def traditional(annotators: Annotators) -> dict[str, Estimate]:
    """Correlate each judge with each rater on an ordered scale; nothing on others.

    The mean over raters is "Pears" of Calderon et al. 2025, table 2; its "Acc" is the hit rate.
    """
    if annotators.scale.numbers is None:
        return {}
    p = annotators.p
    return mean_rater_correlations(
        annotators.panel, annotators.verdicts, resampling=p.resampling(groups=p.groups)
    )


def by_criterion(
    annotators: Annotators, design: AltTestDesign
) -> dict[str, dict[str, DomainResult]]:
    """Test each judge on each criterion by itself, adjusted over the raters of all of them.

    Nothing where items have no criterion, or all the same.
    """
    items = _items_by_criterion(annotators.p)
    if len(items) < 2:  # noqa: PLR2004 -- one domain is the test itself
        return {}
    each = {criterion: annotators.tests(design, among=some) for criterion, some in items.items()}
    found = {}
    for name in annotators.verdicts:
        joint = together({criterion: tests[name] for criterion, tests in each.items()}, design.q)
        found[name] = {
            criterion: DomainResult.of(test, advantage=test.advantage)
            for criterion, test in joint.items()
        }
    return found


def _items_by_criterion(p: Prepared) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item in p.source.items:
        if item.criterion is not None:
            found.setdefault(item.criterion, set()).add(item.id)
    return found

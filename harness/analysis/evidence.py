"""Evidence for the decision: judges, baselines and one human on common footing."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.annotator_variants import Annotators
from harness.analysis.option_scale import Scale
from harness.analysis.rater_replacement import design_of
from harness.stats.alt_test.deciding_test import DecidingAnnotatorTest, deciding_annotator_test
from harness.stats.inference.interval_methods import percentile_ends
from harness.stats.selection.footing import Footing, HumanReference, common_footing
from harness.stats.selection.ranking import loss
from harness.stats.selection.sample_size import sample_size_for_difference

if TYPE_CHECKING:
    from harness.analysis.estimates import Prepared
    from harness.stats import Metric

MIN_RATERS = 3  # with fewer, a judge is compared with one human in place of the annotator test


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEvidence:
    """What speaks for a judge.

    Attributes
    ----------
    judge : str
        Its name.
    answered_fraction : float or None
        Share of the rated items that it answered with enough replies; None without items.
    ranked : bool
        Whether it answered enough to be compared.
    value : float or None
        The metric on the shared items; None where it is not ranked, or undefined.
    ranks : (int, int) or None
        Best and worst rank that it may have.
    better_than : dict of str to bool
        By baseline, whether the judge is better by a simultaneous one-sided bound.
    human : HumanReference or None
        One human in its place.
    annotator_test : DecidingAnnotatorTest or None
        By tests of valid size; None where the test does not apply.
    value_with_losses : float or None
        The metric with unanswered items counted as losses.
    """

    judge: str
    answered_fraction: float | None
    ranked: bool
    value: float | None = None
    ranks: tuple[int, int] | None = None
    better_than: dict[str, bool]
    human: HumanReference | None = None
    annotator_test: DecidingAnnotatorTest | None = None
    value_with_losses: float | None = None


@dataclass(frozen=True, slots=True)
class BaselineEvidence:
    """A computed baseline on the shared items.

    Attributes
    ----------
    name : str
        "uniform", "prior" or "most_frequent".
    value, low, high : float or None
        The metric and its interval over resamples, in which the baseline is fitted anew.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Judges, baselines and one human on common footing.

    Attributes
    ----------
    metric, display_name, better : str
        What compares them.
    n_replies : float or None
        Replies per item; None where reply noise was removed.
    n_items, n_rated : int
        Shared items, and items that raters rated as the metric needs.
    min_answered : float
        Share of the rated items that a ranked judge answered.
    margin : float
        Of non-inferiority to one human, in the metric's unit.
    annotator_reason : str
        Why the annotator test does not apply: "positional_raters" or "too_few_raters"; else "".
    judges : tuple of JudgeEvidence
        Ranked ones first, best first.
    baselines : tuple of BaselineEvidence
        Computed, not asked.
    winner_low, winner_high : float or None
        Interval of the first judge's metric, wide enough for having been chosen.
    n_items_for_margin : int or None
        Items needed to detect a difference of the margin between the first two judges; None where
        they never differ.
    equivalent : tuple of str
        Judges whose difference from the first is surely smaller than the margin.
    """

    metric: str
    display_name: str
    better: str
    n_replies: float | None
    n_items: int
    n_rated: int
    min_answered: float
    margin: float
    annotator_reason: str
    judges: tuple[JudgeEvidence, ...]
    baselines: tuple[BaselineEvidence, ...]
    winner_low: float | None = None
    winner_high: float | None = None
    n_items_for_margin: int | None = None
    equivalent: tuple[str, ...] = ()


def section(p: Prepared) -> Evidence | None:
    """Put the judges on common footing; None where there is no judge."""
    tables = [table for table in p.compared.judges if table.name not in p.baselines]
    if not tables:
        return None
    metric, source = p.evaluation.row(p.metric), p.source
    footing = common_footing(
        p.compared.human,
        tables,
        metric,
        tau=p.tau,
        positive=p.compared.positive,
        resampling=p.resampling(groups=p.compared.criteria or p.compared.groups),
        n_replies=None if source.replies is None else float(source.replies),
        min_answered=source.min_answered,
        implied=p.implied,
    )
    margin = source.worth * _range(metric, len(p.compared.human.space.options))
    reason, tests = _annotator_tests(p, footing)
    names = [table.name for table in tables]
    fractions = dict(zip(names, footing.items.answered_fraction.tolist(), strict=True))
    judges = [
        _judge_evidence(footing, name, fractions[name], tests.get(name)) for name in footing.order
    ]
    judges += [
        JudgeEvidence(
            judge=name, answered_fraction=_number(fractions[name]), ranked=False, better_than={}
        )
        for name in names
        if name not in footing.judges
    ]
    low, high = _winner_interval(footing)
    n_needed, equivalent = _worthwhile(footing, margin)
    return Evidence(
        metric=metric.name,
        display_name=metric.display_name,
        better=metric.better,
        n_replies=None if footing.n_replies == inf else footing.n_replies,
        n_items=int(footing.items.shared.sum()),
        n_rated=int(footing.n_rated),
        min_answered=footing.min_answered,
        margin=margin,
        annotator_reason=reason,
        judges=tuple(judges),
        baselines=tuple(_baseline(footing, name) for name in footing.baselines),
        winner_low=low,
        winner_high=high,
        n_items_for_margin=n_needed,
        equivalent=equivalent,
    )


def _range(metric: Metric, n_options: int) -> float:
    low, high = metric.bounds
    if not isfinite(high - low):  # a sum over options of squared differences of shares
        return float(n_options)
    return high - low


def _judge_evidence(
    footing: Footing, name: str, fraction: float, test: DecidingAnnotatorTest | None
) -> JudgeEvidence:
    j = footing.judges.index(name)
    return JudgeEvidence(
        judge=name,
        answered_fraction=_number(fraction),
        ranked=True,
        value=_number(footing.values[j]),
        ranks=footing.ranks.ranks[j] if footing.ranks else None,
        better_than=dict(zip(footing.baselines, footing.beats[j].tolist(), strict=True)),
        human=footing.references[j],
        annotator_test=test,
        value_with_losses=_number(footing.values_with_losses[j]),
    )


def _annotator_tests(p: Prepared, footing: Footing) -> tuple[str, dict[str, DecidingAnnotatorTest]]:
    """Run the annotator test of every ranked judge, where raters are known and at least three."""
    if p.task.rater_ids == "positional":
        return "positional_raters", {}
    scale = Scale.of(p.task)
    annotators = Annotators.of(p, scale)
    if len(annotators.panel.raters) < MIN_RATERS:
        return "too_few_raters", {}
    clusters = None
    if p.groups is not None:
        clusters = p.resampling(groups=p.groups).units(len(p.groups)).of_item
    design = design_of(p, scale)
    return "", {
        name: deciding_annotator_test(
            annotators.panel,
            annotators.verdicts[name],
            design,
            groups=clusters,
            level=p.source.confidence,
        )
        for name in footing.judges
    }


def _baseline(footing: Footing, name: str) -> BaselineEvidence:
    ends = percentile_ends(footing.baseline_replicates[name], footing.level) or (None, None)
    return BaselineEvidence(name, _number(footing.baselines[name]), *ends)


def _winner_interval(footing: Footing) -> tuple[float | None, float | None]:
    winner = footing.winner
    if winner is None or winner.low is None or winner.high is None:
        return None, None
    if footing.metric.better == "higher":
        return -winner.high, -winner.low
    return winner.low, winner.high


def _worthwhile(footing: Footing, margin: float) -> tuple[int | None, tuple[str, ...]]:
    """Return the items that detect a difference of the margin, and who surely differs by less."""
    order, metric = footing.order, footing.metric
    if len(order) < 2 or not footing.replicates.shape[1] or margin <= 0:  # noqa: PLR2004 -- a pair
        return None, ()
    losses = loss(footing.replicates, metric.better)
    first = footing.judges.index(order[0])
    equivalent = []
    for name in order[1:]:
        apart = losses[footing.judges.index(name)] - losses[first]
        ends = percentile_ends(apart, footing.level)
        if ends is not None and max(abs(ends[0]), abs(ends[1])) < margin:
            equivalent.append(name)
    apart = losses[footing.judges.index(order[1])] - losses[first]
    n = int(footing.items.shared.sum())
    sd = float(np.nanstd(apart, ddof=1)) * n**0.5  # of an item, its design effect included
    return sample_size_for_difference(sd, margin) if isfinite(sd) else None, tuple(equivalent)


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None

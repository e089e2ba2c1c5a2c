"""Whether a judge may replace a rater: the alternative annotator test (Calderon et al. 2025)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from harness.elicit.verdicts import CANNOT_ASSESS
from harness.stats.alt_test import annotator_tests
from harness.stats.alt_test_controls import N_DRAWS, annotator_controls
from harness.stats.alt_test_design import AltTestDesign
from harness.stats.alt_test_variants import eps_sweep, smallest_eps, together
from harness.stats.duels import N_SUMS
from harness.stats.intervals import Estimate  # noqa: TC001 -- pydantic reads it when it runs
from harness.stats.labels import medians
from harness.stats.panel import Panel
from harness.validate.labels import Scale, drawn_modes
from harness.validate.source import Frozen, Unanswered

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from harness.stats.alt_test_controls import Controls
    from harness.stats.alt_test_result import AltTest, RaterRow
    from harness.stats.distributions import RatingTable
    from harness.validate.prepared import Prepared

Score: TypeAlias = Literal["accuracy", "neg_rmse"]
EPS = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}  # Calderon et al. 2025, section 3.4
SWEEP = tuple(k / 40 for k in range(21))  # 0 to 0.5
POSITIONAL = "positional_raters"
CELLS = 1 << 23  # sums held at once: 64 MiB


class RaterResult(Frozen):
    """The judge against one rater; the fields are those of `harness.stats.RaterRow`."""

    rater: str
    n: int
    n_judge_closer: int
    n_tied: int
    n_rater_closer: int
    rho_f: float | None
    rho_h: float | None
    test: Literal["t", "wilcoxon", ""]
    statistic: float | None
    p: float | None
    p_adjusted: float | None
    rejected: bool
    reason: str


class SweepPoint(Frozen):
    """The result at one margin."""

    eps: float
    winning_rate: float | None
    passes: bool | None


class JointResult(Frozen):
    """The result with Benjamini-Yekutieli over the raters of all judges that are no baselines.

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


class VariantResult(Frozen):
    """The result under a named variant of the test, all else being the same.

    Attributes
    ----------
    winning_rate, advantage, passes, wins, n_tested
        As in `JudgeReplacement`.
    n_skipped : int
        Raters that this variant does not test.
    """

    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    wins: int
    n_tested: int
    n_skipped: int


class JudgeReplacement(Frozen):
    """The test of one judge.

    Attributes
    ----------
    winning_rate, advantage : Estimate
        Share of the raters that the judge beats; mean share of items on which it is at least as
        good as the rater. With intervals.
    passes : bool or None
        Whether the winning rate reaches the threshold; None where it is undefined.
    n_tied_verdicts : int
        Items on which the judge's samples had several modes, of which one was drawn.
    answered_fraction : float or None
        Share of the items with enough ratings that the judge answered.
    sweep : tuple of SweepPoint
        At other margins.
    smallest_eps : float or None
        The smallest margin at which it passes; None if it passes at none.
    joint : JointResult or None
        Over all judges; None for a baseline, or a judge tested alone.
    variants : dict of str to VariantResult
        What the other named variants say, by what they change: ``small_n`` (the t-test, or
        skipping, for raters with few items), ``unanswered``, ``weighting=ipw`` (items weighted by
        the inverse share of their label), and on ordered scales ``score=rank_neg_rmse`` (ranks).
    """

    judge: str
    baseline: bool
    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    wins: int
    n_tested: int
    raters: tuple[RaterResult, ...]
    skipped: tuple[RaterResult, ...]
    answered_fraction: float | None
    n_tied_verdicts: int
    counts: dict[str, int]
    sweep: tuple[SweepPoint, ...]
    smallest_eps: float | None
    joint: JointResult | None
    variants: dict[str, VariantResult] = Field(default_factory=dict)
    warnings: tuple[str, ...]


class RandomJudges(Frozen):
    """Judges that answer at random: means over ``n_draws`` of them."""

    winning_rate: float | None
    advantage: float | None
    passes_share: float | None
    n_draws: int


class ReplacementControls(Frozen):
    """What the test means on these data.

    Attributes
    ----------
    random : RandomJudges
        Judges that know nothing.
    majority_winning_rate, majority_advantage : Estimate
        Of a judge that gives every item the value most frequent in these ratings (in-sample).
    majority_passes : bool or None
        Whether it passes.
    human_agreement : dict of str to Estimate
        How the raters agree with each other under the score; of labels also corrected for chance.
    """

    random: RandomJudges
    majority_winning_rate: Estimate
    majority_advantage: Estimate
    majority_passes: bool | None
    human_agreement: dict[str, Estimate]
    warnings: tuple[str, ...]


class Replacement(Frozen):
    """The alternative annotator test of every judge.

    Attributes
    ----------
    reason : str
        Why there is no test at all: "positional_raters", where a rater's name is a place within the
        item and no person; "no_judges"; else "".
    score : str
        Accuracy of labels, negative RMSE on ordered scales.
    eps : float
        The margin, set by the kind of raters.
    q : float
        False discovery rate.
    small_n : str
        What is done with a rater of fewer than ``min_items_per_rater`` items.
    unanswered : str
        What an item without a verdict is.
    threshold : float
        The winning rate from which a judge passes.
    """

    reason: str
    score: Score
    raters: Literal["expert", "skilled", "crowd"]
    eps: float
    q: float
    small_n: str
    unanswered: Unanswered
    threshold: float
    min_items_per_rater: int
    controls: ReplacementControls | None
    judges: tuple[JudgeReplacement, ...]


def section(p: Prepared) -> Replacement:
    """Test every judge against every rater, and beside them judges that know nothing."""
    scale = Scale.of(p.task)
    design = AltTestDesign(
        score="accuracy" if scale.numbers is None else "neg_rmse",
        eps=EPS[p.task.raters],
        unanswered=p.source.unanswered,
    )
    reason = POSITIONAL if p.task.rater_ids == "positional" else "" if p.judges else "no_judges"
    controls, judges = (None, ()) if reason else _tested(p, scale, design)
    return Replacement(
        reason=reason,
        score="accuracy" if scale.numbers is None else "neg_rmse",
        raters=p.task.raters,
        eps=design.eps,
        q=design.q,
        small_n=design.small_n,
        unanswered=design.unanswered,
        threshold=design.threshold,
        min_items_per_rater=design.min_items_per_rater,
        controls=controls,
        judges=judges,
    )


def _tested(
    p: Prepared, scale: Scale, design: AltTestDesign
) -> tuple[ReplacementControls, tuple[JudgeReplacement, ...]]:
    panel = _panel(p, scale)
    rng = p.rng()
    verdicts, n_tied = {}, {}
    for table in p.judges:
        verdicts[table.name], n_tied[table.name] = _verdicts(scale, table, rng)
    tests = _tests(p, panel, verdicts, design)
    others = {
        name: _tests(p, panel, verdicts, other) for name, other in _variants(scale, design).items()
    }
    controls = annotator_controls(
        panel,
        design,
        rng=p.rng(),
        options=scale.options if scale.numbers is None else scale.numbers.tolist(),
        groups=p.groups,
        n_draws=N_DRAWS,
        n_resamples=p.source.n_resamples,
        level=p.source.confidence,
        interval=p.source.interval,
    )
    rivals = {name: test for name, test in tests.items() if name not in p.baselines}
    joint = together(rivals, design.q) if len(rivals) > 1 else {}
    return _controls(controls), tuple(
        _judge(
            test,
            joint.get(name),
            {variant: found[name] for variant, found in others.items()},
            name=name,
            n_tied=n_tied[name],
            baseline=name in p.baselines,
        )
        for name, test in tests.items()
    )


def _tests(
    p: Prepared,
    panel: Panel,
    verdicts: Mapping[str, Sequence[str | float | None]],
    design: AltTestDesign,
) -> dict[str, AltTest]:
    """Test all judges on the same resamples, as many at a time as fit in memory."""
    tests: dict[str, AltTest] = {}
    for some in _batches(verdicts, len(panel.items) * max(len(panel.raters), 1)):
        tests |= annotator_tests(
            panel,
            {name: _by_item(panel, verdicts[name]) for name in some},
            design,
            rng=p.rng(),
            groups=p.groups,
            n_resamples=p.source.n_resamples,
            level=p.source.confidence,
            interval=p.source.interval,
        )
    return tests


def _variants(scale: Scale, design: AltTestDesign) -> dict[str, AltTestDesign]:
    """Return the named variants that need nothing but these data, by what they change."""
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


def _panel(p: Prepared, scale: Scale) -> Panel:
    """Collect the single choices of the raters, as numbers on an ordered scale."""
    value = _values(scale)
    here = set(p.human.items)
    return Panel.of(
        (
            (one.item, one.rater, value[one.value])
            for one in p.task.ratings
            if one.item in here and isinstance(one.value, str) and one.value != CANNOT_ASSESS
        ),
        items=p.human.items,
        rater_ids=p.task.rater_ids,
    )


def _values(scale: Scale) -> dict[str, str | float]:
    if scale.numbers is None:
        return {option: option for option in scale.options}
    return dict(zip(scale.options, scale.numbers.tolist(), strict=True))


def _verdicts(
    scale: Scale, table: RatingTable, rng: np.random.Generator
) -> tuple[list[str | float | None], int]:
    """Take one verdict per item: the median of the samples, or their mode, ties drawn."""
    counts = scale.counts(table)
    if scale.numbers is not None:
        middle = medians(counts, scale.numbers).tolist()
        return [None if math.isnan(one) else one for one in middle], 0
    place, n_tied = drawn_modes(counts, rng)
    return [None if math.isnan(k) else scale.options[int(k)] for k in place.tolist()], n_tied


def _by_item(panel: Panel, verdicts: Sequence[str | float | None]) -> dict[str, Hashable]:
    return dict(zip(panel.items, verdicts, strict=True))


def _batches(judges: Iterable[str], cells_each: int) -> Iterator[tuple[str, ...]]:
    """Split judges so that their sums fit in memory; all see the same resamples."""
    size, names = max(1, CELLS // (N_SUMS * max(cells_each, 1))), iter(judges)
    return iter(lambda: tuple(islice(names, size)), ())


def _judge(
    test: AltTest,
    joint: AltTest | None,
    variants: Mapping[str, AltTest],
    *,
    name: str,
    n_tied: int,
    baseline: bool,
) -> JudgeReplacement:
    return JudgeReplacement(
        judge=name,
        baseline=baseline,
        winning_rate=test.winning_rate,
        advantage=test.advantage,
        passes=test.passes,
        wins=test.wins,
        n_tested=test.n_tested,
        raters=tuple(map(_rater, test.per_rater)),
        skipped=tuple(map(_rater, test.skipped)),
        answered_fraction=test.answered_fraction,
        n_tied_verdicts=n_tied,
        counts=dict(test.counts),
        sweep=tuple(
            SweepPoint(eps=one.eps, winning_rate=one.winning_rate, passes=one.passes)
            for one in eps_sweep(test, SWEEP)
        ),
        smallest_eps=smallest_eps(test),
        joint=None if joint is None else _joint(joint),
        variants={variant: _variant(one) for variant, one in variants.items()},
        warnings=test.warnings,
    )


def _rater(row: RaterRow) -> RaterResult:
    return RaterResult(**{name: getattr(row, name) for name in RaterResult.model_fields})


def _variant(test: AltTest) -> VariantResult:
    return VariantResult(
        winning_rate=test.winning_rate,
        advantage=test.advantage,
        passes=test.passes,
        wins=test.wins,
        n_tested=test.n_tested,
        n_skipped=len(test.skipped),
    )


def _joint(test: AltTest) -> JointResult:
    return JointResult(
        winning_rate=test.winning_rate,
        passes=test.passes,
        wins=test.wins,
        n_family=test.n_family,
        rejected=tuple(row.rater for row in test.per_rater if row.rejected),
    )


def _controls(found: Controls) -> ReplacementControls:
    random = found.random
    return ReplacementControls(
        random=RandomJudges(
            winning_rate=random.winning_rate,
            advantage=random.advantage,
            passes_share=random.passes_share,
            n_draws=random.n_draws,
        ),
        majority_winning_rate=found.majority.winning_rate,
        majority_advantage=found.majority.advantage,
        majority_passes=found.majority.passes,
        human_agreement=dict(found.human_agreement),
        warnings=found.warnings,
    )

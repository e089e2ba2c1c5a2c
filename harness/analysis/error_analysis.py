"""How each judge errs, and when it says nothing (Rao and Callison-Burch 2026)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.option_scale import disagreement, drawn_modes
from harness.analysis.rater_agreement import (
    AgreementRow,
    DisputedItem,
    agreement_rows,
    agreement_sums,
    disputed_items,
)
from harness.judging.parsing.verdict import CANNOT_ASSESS
from harness.stats.data.aggregation import levels_of_judges
from harness.stats.data.labels import modes
from harness.stats.data.rating_table import ELICITATIONS, OUTCOMES
from harness.stats.inference.estimate import Estimate, Exclusion, estimate_all
from harness.stats.metrics.confusion import BINARY, DIAGNOSTICS, n_var_kappa, n_var_phi
from harness.stats.metrics.judge_agreement import ensemble_agreement
from harness.stats.subsets.abstention import (
    NO_POSITIVE,
    NO_VERDICT,
    Mode,
    against_rest,
    excluding,
    mode_sums,
    outcome_cells,
    reading,
    with_abstention,
    with_outcomes,
)
from harness.stats.subsets.selective_prediction import AbstentionTest, abstention_test

if TYPE_CHECKING:
    from harness.analysis.estimates import Prepared
    from harness.stats.data.aggregation import Levels
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.estimate import ItemSums

Matrix = tuple[tuple[float, ...], ...]
LEVEL_MEASURES = ("accuracy", "f1", "kappa", "phi")
SEVERAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Modes of the humans by modes of the judge, items; tied modes count in equal parts.

    Attributes
    ----------
    human, judge : tuple of str
        What rows and columns stand for: options, CANNOT_ASSESS, and for the judge ``refused``,
        ``invalid`` and ``failed``.
    cells : rows of numbers
        Human by judge.
    excluded : tuple of Exclusion
        Why items are in no cell.
    """

    human: tuple[str, ...]
    judge: tuple[str, ...]
    cells: Matrix
    n_items: int
    n_excluded: int
    excluded: tuple[Exclusion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """The three resolutions of CANNOT_ASSESS side by side; they estimate different things.

    Attributes
    ----------
    primary : str
        The mode that the run's metrics are in.
    recode_to : str or None
        What abstention becomes in mode recode: the one option that is not positive.
    recode_reason : str
        Why there is none, and so no mode recode.
    rates : dict of str to Estimate
        ``answered_fraction`` (of the judge), ``answered_by_both``, ``human_abstention_rate`` and
        ``judge_abstention_rate``.
    exclude, recode, third_class : dict of str to Estimate
        ``exclude["accuracy"]`` is the selective accuracy. With the task's weights, weighted kappa
        and alpha stand in the mode that their matrix is made for.
    """

    primary: Mode
    recode_to: str | None
    recode_reason: str
    rates: dict[str, Estimate]
    exclude: dict[str, Estimate]
    recode: dict[str, Estimate]
    third_class: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelEstimates:
    """One measure at each level of aggregation; see `harness.stats.Levels`."""

    micro: Estimate
    macro: Estimate
    item: Estimate
    per_criterion: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeErrors:
    """How one judge errs.

    Attributes
    ----------
    leniency : dict of str to Estimate
        Of the positive options against all others, where both answered: precision, recall and F1
        of both sides, accuracy, kappa, phi; prevalence, the judge's rate, the drift between them,
        and how far kappa falls behind phi by it.
    leniency_reason : str
        Why there is none.
    standard_errors : dict of str to Estimate
        Of kappa and phi of the same decisions, in closed form: as if items were independent.
    levels : dict of str to LevelEstimates
        Of the same decisions, where the task has several criteria.
    abstention : dict of str to AbstentionTest
        Whether abstaining depends on an item's ``difficulty`` (how its raters disagree) and on its
        ``criterion``.
    """

    judge: str
    baseline: bool
    confusion: Confusion
    leniency: dict[str, Estimate]
    leniency_reason: str
    standard_errors: dict[str, Estimate] = field(default_factory=dict)
    modes: Modes
    levels: dict[str, LevelEstimates]
    abstention: dict[str, AbstentionTest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """How the judges that are no baselines agree with each other.

    Attributes
    ----------
    agreement : dict of str to Estimate
        As in `harness.stats.Ensemble`.
    same_as : dict of str to str
        Coefficients that are one number up to a finite-sample correction: report one.
    n_tied_votes : int
        Votes that were drawn among several modes.
    confusions : dict of str to matrix
        Per judge, human by judge, in the order of the options.
    """

    judges: tuple[str, ...]
    agreement: dict[str, Estimate]
    same_as: dict[str, str]
    n_pairs: int
    n_pairs_undefined: int
    n_tied_votes: int
    confusions: dict[str, Matrix]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How each judge errs, and what the humans disagree about.

    Attributes
    ----------
    same_number : dict of str to tuple of str
        Other names of coefficients that on decisions are the same number.
    levels_reason : str
        Why there are no levels of aggregation: "no_criteria" or "no_positive_option".
    abstention_by_judge : AbstentionTest or None
        Whether abstaining depends on the judge, items being compared with themselves.
    ensemble : Ensemble or None
        None with fewer than two judges that are no baselines.
    """

    options: tuple[str, ...]
    positive: tuple[str, ...]
    same_number: dict[str, tuple[str, ...]]
    levels_reason: str
    judges: tuple[JudgeErrors, ...]
    abstention_by_judge: AbstentionTest | None
    ensemble: Ensemble | None
    human_agreement: tuple[AgreementRow, ...]
    disputed: tuple[DisputedItem, ...]


def section(p: Prepared) -> Errors:
    """Count and estimate; all judges on the run's own resamples."""
    classes = {table.name: with_outcomes(table) for table in p.judges}
    human = with_abstention(p.human)
    wide = {name: outcome_cells(human, judge) for name, judge in classes.items()}
    lost = {name: _lost(human, judge, wide[name]) for name, judge in classes.items()}
    estimated, human_agreement = _estimated(p, wide, lost)
    levels, levels_reason = _levels(p)
    abstained = {table.name: _abstained(table) for table in p.judges}
    tests = _abstention_tests(p, abstained)
    rivals = [table for table in p.judges if table.name not in p.baselines]
    return Errors(
        options=p.task.space.options,
        positive=p.task.positive,
        same_number={one.name: one.also for one in BINARY if one.also},
        levels_reason=levels_reason,
        judges=tuple(
            JudgeErrors(
                judge=name,
                baseline=name in p.baselines,
                confusion=_confusion(p, wide[name], lost[name]),
                leniency=estimated[name].get("leniency", {}),
                leniency_reason="" if p.task.positive else NO_POSITIVE,
                standard_errors=_standard_errors(p, wide[name], estimated[name]),
                modes=_modes(p, estimated[name]),
                levels=levels.get(name, {}),
                abstention=tests[name],
            )
            for name in classes
        ),
        abstention_by_judge=_by_judge(p, [abstained[table.name] for table in rivals], rivals),
        ensemble=_ensemble(p, rivals) if len(rivals) >= SEVERAL else None,
        human_agreement=human_agreement,
        disputed=disputed_items(p),
    )


def _lost(human: FloatArray, judge: FloatArray, wide: FloatArray) -> tuple[Exclusion, ...]:
    """Say why items have no answer and no abstention on both sides, each under one reason."""
    n_said = human.shape[1]
    left = ~wide[:, :, :n_said].any(axis=(1, 2))
    reasons = [("human_no_ratings", ~human.any(axis=1)), ("judge_not_asked", ~judge.any(axis=1))]
    modal = modes(judge)[:, n_said:] > 0
    reasons += [(f"judge_{name}", modal[:, i]) for i, name in enumerate(NO_VERDICT)]
    found = []
    for reason, which in reasons:
        n = int((left & which).sum())
        left &= ~which
        found += [Exclusion(reason, n)] if n else []
    return tuple(found)


def _confusion(p: Prepared, wide: FloatArray, lost: tuple[Exclusion, ...]) -> Confusion:
    options = (*p.task.space.options, CANNOT_ASSESS)
    n = int(wide.any(axis=(1, 2)).sum())
    unseen = tuple(one for one in lost if one.reason in {"human_no_ratings", "judge_not_asked"})
    return Confusion(
        human=options,
        judge=(*options, *NO_VERDICT),
        cells=_matrix(wide.sum(axis=0)),
        n_items=n,
        n_excluded=len(wide) - n,
        excluded=unseen,
    )


def _matrix(cells: FloatArray) -> Matrix:
    return tuple(map(tuple, cells.tolist()))


def _estimated(
    p: Prepared, wide: dict[str, FloatArray], lost: dict[str, tuple[Exclusion, ...]]
) -> tuple[dict[str, dict[str, dict[str, Estimate]]], tuple[AgreementRow, ...]]:
    """Estimate modes and leniency of every judge, by batch, and how the raters agree."""
    found: dict[str, dict[str, dict[str, Estimate]]] = {name: {} for name in wide}
    of_raters, papers = agreement_sums(p)
    sums: list[list[ItemSums]] = [of_raters]
    places: list[tuple[str, str]] = []
    for name, each in wide.items():
        for part, batch in _batches(p, each, lost[name]).items():
            sums.append([batch])
            places.append((name, part))
    resampling = p.resampling(groups=p.groups)
    units = resampling.units(len(p.human.items))
    raters, *judges = (
        {measure: one.estimate for measure, one in each.items()}
        for each in estimate_all(sums, units, resampling)
    )
    for (name, part), one in zip(places, judges, strict=True):
        found[name][part] = one
    return found, agreement_rows(p, raters, papers)


def _batches(p: Prepared, wide: FloatArray, lost: tuple[Exclusion, ...]) -> dict[str, ItemSums]:
    options, positive = p.task.space.options, p.task.positive
    said = wide[:, :, : len(options) + 1]
    batches = mode_sums(
        said.reshape(len(said), -1),
        options,
        positive=positive,
        recode_to=_recode_to(p),
        weights=p.task.weights,
        excluded=lost,
    )
    if positive:
        mask = np.array([option in positive for option in options], dtype=np.bool_)
        measures = tuple(
            reading(one, lambda cells: against_rest(excluding(cells), mask))
            for one in (*BINARY, *DIAGNOSTICS)
        )
        batches["leniency"] = replace(batches["exclude"], metrics=measures)
    return batches


def _standard_errors(
    p: Prepared, wide: FloatArray, found: dict[str, dict[str, Estimate]]
) -> dict[str, Estimate]:
    """Give closed-form standard errors of decisions, NA where the coefficient is."""
    if not p.task.positive:
        return {}
    said = wide[:, :, : wide.shape[1]].sum(axis=0).ravel()
    cells = against_rest(excluding(said), p.task.space.option_mask(p.task.positive))
    n = float(cells.sum())
    errors = {}
    for name, n_variance in (("kappa", n_var_kappa), ("phi", n_var_phi)):
        one = found["leniency"][name]
        variance = np.nan if one.value is None else n_variance(cells.reshape(2, 2) / n) / n
        value = None if one.value is None else float(np.sqrt(np.maximum(variance, 0.0)))
        errors[name] = Estimate(
            value=value,
            reason=one.reason,
            n_used=one.n_used,
            n_excluded=one.n_excluded,
            excluded=one.excluded,
        )
    return errors


def _recode_to(p: Prepared) -> str | None:
    negative = [option for option in p.task.space.options if option not in p.task.positive]
    return negative[0] if p.task.positive and len(negative) == 1 else None


def _modes(p: Prepared, found: dict[str, dict[str, Estimate]]) -> Modes:
    to = _recode_to(p)
    why = "several_negative_options" if p.task.positive else NO_POSITIVE
    return Modes(
        primary=p.source.mode,
        recode_to=to,
        recode_reason=why if to is None else "",
        rates=found["rates"],
        exclude=found["exclude"],
        recode=found.get("recode", {}),
        third_class=found["third_class"],
    )


def _levels(p: Prepared) -> tuple[dict[str, dict[str, LevelEstimates]], str]:
    """Estimate decisions at every level of aggregation, where there are several criteria."""
    criteria = [item.criterion for item in p.source.items]
    if len(set(criteria)) < SEVERAL or None in criteria:
        return {}, "no_criteria"
    if not p.task.positive:
        return {}, NO_POSITIVE
    mask = p.task.space.option_mask(p.task.positive)
    found = levels_of_judges(
        _decisions(p.human, mask),
        {table.name: _decisions(table, mask) for table in p.judges},
        criteria=[str(one) for one in criteria],
        items=_whole_items(p),
        metrics=[one for one in BINARY if one.name in LEVEL_MEASURES],
        resampling=p.resampling(),
    )
    return {
        judge: {name: _level_estimates(one) for name, one in each.items()}
        for judge, each in found.items()
    }, ""


def _decisions(table: RatingTable, mask: BoolArray) -> FloatArray:
    return np.asarray(modes(table.forced_choice.astype(np.float64))[:, mask].sum(axis=1))


def _whole_items(p: Prepared) -> list[str] | None:
    """Return what the decisions on several criteria are about; None if no group says so."""
    pairs = [(item.group, item.criterion) for item in p.source.items]
    if len(set(pairs)) < len(pairs) or any(group is None for group, _ in pairs):
        return None
    return [str(group) for group, _ in pairs]


def _level_estimates(found: Levels) -> LevelEstimates:
    return LevelEstimates(
        micro=found.micro,
        macro=found.macro,
        item=found.item,
        per_criterion=dict(found.per_criterion),
    )


def _abstained(table: RatingTable) -> FloatArray:
    """Return (n,): share of the replies to single choices that abstained; nan without any."""
    asked = [ELICITATIONS.index("forced_choice"), ELICITATIONS.index("paired")]
    outcomes = table.outcomes[:, asked].sum(axis=1)
    replied = outcomes.sum(axis=1) - outcomes[:, OUTCOMES.index("failed")]
    share = np.full(len(outcomes), np.nan)
    np.divide(outcomes[:, OUTCOMES.index("abstained")], replied, out=share, where=replied > 0)
    return share


def _abstention_tests(
    p: Prepared, abstained: dict[str, FloatArray]
) -> dict[str, dict[str, AbstentionTest]]:
    rng, hard = p.rng(), disagreement(p.human.forced_choice)
    criteria = [item.criterion for item in p.source.items]
    return {
        name: {
            "difficulty": abstention_test(share, hard, rng=rng, groups=p.groups),
            "criterion": abstention_test(share, criteria, rng=rng, groups=p.groups),
        }
        for name, share in abstained.items()
    }


def _by_judge(
    p: Prepared, abstained: list[FloatArray], judges: list[RatingTable]
) -> AbstentionTest | None:
    if len(judges) < SEVERAL:
        return None
    names = [table.name for table in judges for _ in p.human.items]
    items = [item for _ in judges for item in p.human.items]
    return abstention_test(np.concatenate(abstained), names, rng=p.rng(), groups=items)


def _ensemble(p: Prepared, judges: list[RatingTable]) -> Ensemble:
    options, rng = p.task.space.options, p.rng()
    drawn = [drawn_modes(table.forced_choice.astype(np.float64), rng) for table in judges]
    names = tuple(table.name for table in judges)
    of_two = options[:1] if len(options) == SEVERAL else ()  # phi is that of either
    found = ensemble_agreement(
        np.stack([votes for votes, _ in drawn], axis=1),
        options,
        judges=names,
        positive=p.task.positive or of_two,
        resampling=p.resampling(groups=p.groups),
        human=modes(p.human.forced_choice.astype(np.float64)),
    )
    return Ensemble(
        judges=names,
        agreement=dict(found.agreement),
        same_as={
            "alpha_from_fleiss": "krippendorff_alpha_nominal",
            "krippendorff_alpha_nominal": "fleiss_kappa",
        },
        n_pairs=found.n_pairs,
        n_pairs_undefined=found.n_pairs_undefined,
        n_tied_votes=sum(n for _, n in drawn),
        confusions={name: _matrix(cells) for name, cells in found.confusions.items()},
    )

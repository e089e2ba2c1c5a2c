"""Validate judges: compute every number of a run from a task and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from harness.analysis import (
    abstention_rates,
    beta_sensitivity,
    error_analysis,
    evidence,
    evidence_rows,
    human_certainty,
    item_slices,
    metric_choice,
    rater_replacement,
    rubric,
    score_measures,
)
from harness.analysis.annotator_variants import Annotators
from harness.analysis.bound_notes import notes_on_bounds, notes_on_model
from harness.analysis.estimates import compares_sets, footing_without_reasked, prepare
from harness.analysis.inputs import on_sampling
from harness.analysis.judge_result import OfPairs, Sampling, human_result, judge_result, task_facts
from harness.analysis.open_validation import validate_open
from harness.analysis.order_bias import (
    PlaceBias,
    PositionEffects,
    order_bias,
    order_notes,
    position_effects,
    position_notes,
)
from harness.analysis.prepared import Prepared
from harness.analysis.rater_agreement import note_on_pairs
from harness.analysis.ratings import rater_panel
from harness.analysis.result import Sections, Validation, make_validation
from harness.analysis.second_questions import SecondQuestions, second_questions
from harness.analysis.serialize import DIGITS, rows_of
from harness.analysis.sliced_fields import sliced_fields
from harness.judging.storage.verdict_columns import columns_of
from harness.stats import reconstruct
from harness.stats.data.forms import ELICITATION_OF
from harness.stats.data.rating_table import OUTCOMES
from harness.stats.indeterminacy.sensitivity import prevalences
from harness.stats.indeterminacy.translation_intervals import F_intervals
from harness.stats.inference.crossed_raters import MIN_CROSSED_RATERS
from harness.tasks import CANNOT_ASSESS
from harness.tasks.model import SETS_RANK_FROM, share_with_sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.inputs import JudgeFacts, Source
    from harness.analysis.judge_result import FixedRatersReason, HumanResult, JudgeResult
    from harness.judging.parsing.verdict import Verdict
    from harness.stats import Estimate, RatingTable
    from harness.stats.indeterminacy.sensitivity import Prevalences
    from harness.stats.selection.evaluate import TableTranslation


def validate(source: Source) -> Validation:
    """Validate judges against a task's raters.

    Parameters
    ----------
    source : Source
        Task, items and the final verdicts of each judge.

    Returns
    -------
    Validation
        The validation. Its numbers are the same to the last digit for the same source.

    Raises
    ------
    VerdictError
        If a verdict is not an option or response set of the task.
    TaskError
        If the task does not support tau or the metric that ranks.
    """
    if source.task.is_open:
        return validate_open(source)
    p = prepare(source)
    sections = _sections(p)
    sections["errors"], human_agreement = error_analysis.section(p)
    sensitivity = sections["sensitivity"]
    judges = tuple(_judge_result(p, facts) for facts in source.judges)
    return make_validation(
        source,
        p.row,
        _human_result(p, human_agreement),
        judges,
        task=task_facts(source, _columns_of_F(p)),
        sampling=Sampling(
            unit=p.own.units.kind,
            weighted=p.compared.weights is not None,
            fixed_raters_reason=_fixed_raters_reason(p),
        ),
        notes=(
            *_notes(p),
            *(notes_on_bounds(sensitivity) if sensitivity and p.sets.from_pairs else ()),
            *(notes_on_model(p.modelled) if p.modelled else ()),
            *_notes_on_order(judges),
        ),
        **sections,
    )


class EffectsOfOrder(TypedDict, total=False):
    """Effects on a judge of the order of options or of two answers."""

    order_bias: tuple[PlaceBias, ...]
    position: PositionEffects | None


LOST = [OUTCOMES.index("abstained"), OUTCOMES.index("invalid")]


def _sections(p: Prepared) -> Sections:
    """Compute a validation's sections other than its metrics. A section without data is None."""
    lost = [table for table in p.judges if table.outcomes[:, :, LOST].any()]
    fields = sliced_fields(p.task, p.source.items)
    is_tested = p.footing is not None and p.task.rater_ids != "positional"
    annotators = Annotators.compared(p) if is_tested else None
    common = evidence.section(p, annotators)
    if common:
        common = evidence.with_share_agreeing(p, common)
    return {
        "evidence": common,
        "choosing": metric_choice.section(p, common),
        "sensitivity": beta_sensitivity.section(p, common.distinguishable if common else ()),
        "certainty": human_certainty.section(p),
        "replacement": rater_replacement.section(p, annotators),
        "slices": item_slices.section(p, fields) if fields else None,
        "abstention": abstention_rates.section(p, lost) if lost else None,
        "rubric": rubric.section(p, p.task.rubric) if p.task.rubric else None,
        "scores": score_measures.section(p.source) if p.source.scores else None,
        "second_questions": _second_questions(p, common),
    }


def _second_questions(p: Prepared, common: evidence_rows.Evidence | None) -> SecondQuestions | None:
    """Compare judges with and without replies to second questions. Return None without any."""
    if common is None or not p.source.asks_again:
        return None
    footing = footing_without_reasked(p)
    return second_questions(p.source, common, footing) if footing else None


def _columns_of_F(p: Prepared) -> tuple[tuple[str, ...], ...]:  # noqa: N802 -- the paper's matrix
    """Return the response sets of the compared tables. Abstention can be one of the options."""
    return (p.human if p.settings.level == "item" else p.compared.human).space.sets


def _fixed_raters_reason(p: Prepared) -> FixedRatersReason:
    """Return why intervals apply only to these raters, or "" if they account for rater sampling."""
    if p.task.rater_ids == "positional":
        return "positional_raters"
    panel = p.panel or rater_panel(p.task, p.source.items)
    assert panel is not None
    is_choice = ELICITATION_OF[p.row.human_form] == "forced_choice"
    ratings = panel.forced_choice if is_choice else panel.response_set or panel.forced_choice
    if ratings is None or ratings.shape[1] < MIN_CROSSED_RATERS:
        return "fewer_than_five_raters"
    if not ratings.is_crossed:
        return "raters_not_crossed"
    is_sample = p.metric in p.own.covariances or not p.judges
    return "" if p.panel and is_sample else "not_computed"


def _notes(p: Prepared) -> list[str]:
    notes = []
    if switch := _on_sets_collected_since(p):
        notes.append(switch)
    if p.sets.from_pairs:
        notes.append(_on_reconstruction(p))
    if p.sets.origin == "assumed":
        n_sets = int(p.human.response_set.sum())
        unused = f"; the {n_sets} response sets that raters gave aren't used" if n_sets else ""
        notes.append(
            f"beta {p.settings.beta:g} is assumed: the raters' response sets are computed from "
            f"their forced choices{unused}"
        )
    is_weighted = p.compared.weights is not None
    if sampling := on_sampling(p.source.items, is_weighted=is_weighted):
        notes.append(sampling)
    if pairs := _on_pairs(p):
        notes.append(pairs)
    if p.settings.level == "item" and sliced_fields(p.task, p.source.items):
        notes.append("slices by item field aren't computed with --level item")
    if few_items := note_on_pairs(p.human):
        notes.append(few_items)
    return notes


def _on_sets_collected_since(p: Prepared) -> str:
    """Suggest ranking by response sets if forced choices rank but nearly all items have sets."""
    columns = p.task.rating_columns
    if compares_sets(p.row) or not any(form == "response_set" for form, _ in columns.answers):
        return ""
    ids = {item.id for item in p.source.items}
    share = share_with_sets(
        (rating.item, rating.elicitation)
        for rating in p.task.ratings
        if rating.item in ids and rating.value != CANNOT_ASSESS
    )
    if share is None or share < SETS_RANK_FROM:
        return ""
    return (
        f"raters gave response sets for {share:.0%} of the rated items. To rank by response "
        "sets, pass --ranks-by response_set"
    )


def _on_pairs(p: Prepared) -> str:
    """Describe which estimates use pairs, if most raters' choices do not belong to a pair."""
    sets, beta = p.sets, _beta_of_pairs(p)
    is_minority = 2 * sets.n_pairs < p.compared.human.forced_choice.sum()
    is_assumed = sets.origin == "assumed"
    if not beta or sets.from_pairs or not (is_minority or is_assumed):
        return ""
    used = (
        "this estimate instead of an assumed beta, pass --humans reconstructed"
        if is_assumed
        else "the pairs to reconstruct sets for choices without a set, pass --humans reconstructed"
    )
    few = (
        f". These pairs are too few for use by default ({sets.missing_pairs})"
        if sets.missing_pairs
        else ""
    )
    return f"{beta}{few}. To use {used}"


def _beta_of_pairs(p: Prepared) -> str:
    """Describe the raters' beta estimated from pairs, or return "" if there is none."""
    beta = p.own.human_translation.beta
    if beta.value is None:
        return ""
    interval = f" [{beta.interval.low:.2f}, {beta.interval.high:.2f}]" if beta.interval else ""
    return (
        f"The estimate of the raters' beta from {p.sets.n_pairs} pairs is "
        f"{beta.value:.2f}{interval}"
    )


def _on_reconstruction(p: Prepared) -> str:
    implied, sets = reconstruct(p.compared.human), p.sets
    n_items = sum(not reason for reason in implied.reasons)
    basis = (
        f"the raters' response sets on {n_items} of {len(implied.reasons)} items are "
        f"reconstructed from their forced choices, using F' from {implied.n_pairs} pairs on "
        f"{implied.n_paired_items} items (raters who gave pairs: {sets.n_paired_raters})"
    )
    if p.settings.level == "micro":
        noise = "F' is re-estimated in every resample for the ranking and the intervals of metrics"
    else:
        noise = (
            "F' is re-estimated in every resample for the ranking, but not for the intervals of "
            "metrics"
        )
    limit = ""
    if compares_sets(p.row):
        limit = (
            "F' is correct only for the mean of Omega over items, so a judge that distinguishes "
            "items better than F' does can rank too low (--humans rated compares judges on the "
            "items with sets)"
        )
    instead = ""
    if p.settings.beta is not None:
        instead = (
            f"the assumed beta {p.settings.beta:g} isn't used (to use it, pass --humans rated)"
        )
    elif sets.by_default:
        instead = "to use only the sets that raters gave, pass --humans rated"
    return "; ".join(filter(None, [basis, _beta_of_pairs(p), noise, limit, instead]))


def _human_result(p: Prepared, agreement: dict[str, Estimate]) -> HumanResult:
    human, evaluation = p.human, p.own
    return human_result(
        p.source,
        n_forced_choice=int(human.forced_choice.sum()),
        n_response_sets=int(human.response_set.sum()),
        n_pairs=0 if human.joint is None else int(human.joint.sum()),
        sets=p.sets,
        agreement=agreement,
        beta=evaluation.human_translation.beta,
        **_of_pairs(p, p.compared.human, evaluation.human_translation),
        prevalence=_prevalence(p),
    )


def _prevalence(p: Prepared) -> Prevalences | None:
    if not p.compared.positive or p.settings.level != "micro":
        return None
    return prevalences(
        p.compared.human,
        tau=p.tau,
        positive=p.compared.positive,
        resampling=p.resampling(groups=p.groups),
        beta=p.own.human_translation.beta,
        adds=p.task.sensitivity,
    )


def _judge_result(p: Prepared, facts: JudgeFacts) -> JudgeResult:
    source, evaluation = p.source, p.own
    translation, replies = evaluation.translations[facts.name], source.own_replies(facts.name)
    table = next(table for table in p.compared.judges if table.name == facts.name)
    return judge_result(
        source,
        facts,
        metrics=dict(p.estimates[facts.name]),
        own=evaluation.estimates[facts.name][p.metric],
        beta=translation.beta,
        cross_call_beta=translation.cross_call_beta,
        **_of_pairs(p, table, translation),
        **_effects_of_order(source, replies),
    )


def _effects_of_order(source: Source, replies: Sequence[Verdict]) -> EffectsOfOrder:
    """Return how the order of options or answers affects a judge. Empty if it never varied."""
    effects: EffectsOfOrder = {}
    if any(kind.has_order for kind in columns_of(replies).kinds):
        effects["order_bias"] = order_bias(replies, source.items, source.settings.confidence)
    if source.task.pairwise is not None:
        effects["position"] = position_effects(
            replies, source.task, source.items, source.settings.confidence
        )
    return effects


def _notes_on_order(judges: Sequence[JudgeResult]) -> Iterator[str]:
    if biases := {judge.name: judge.order_bias for judge in judges if judge.order_bias}:
        yield from order_notes(biases)
    if effects := {judge.name: judge.position for judge in judges if judge.position}:
        yield from position_notes(effects)


def _of_pairs(p: Prepared, table: RatingTable, translation: TableTranslation) -> OfPairs:
    """Return F with its intervals and number of pairs. Rows are options, columns are response sets.

    A column is None if no pair accepted it. F is None without pairs.
    """
    pool = translation.translation
    if not pool.n_pairs:
        return {"F": None, "n_outside": pool.n_outside}
    units = p.resampling(groups=p.compared.groups).units(len(table.items))
    low, high = F_intervals(table, units, level=p.settings.confidence)
    return {
        "F": rows_of(pool.F),
        "F_low": rows_of(low, digits=DIGITS),
        "F_high": rows_of(high, digits=DIGITS),
        "n_endorsed": tuple(pool.n_endorsed.tolist()),
        "n_outside": pool.n_outside,
    }

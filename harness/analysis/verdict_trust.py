"""Select a judge's verdicts that a person need not check, with a bounded error."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.inputs import sampling_weights
from harness.analysis.judge_confidence import as_probabilities, confidences
from harness.analysis.ratings import human_table, judge_table
from harness.analysis.serialize import schema_of
from harness.errors import RunError, TaskError, use_one_of
from harness.stats.modes import ErrorKind
from harness.stats.trust.risk_tests import RiskMethod
from harness.stats.trust.trusted_verdicts import NothingAccepted, trust_verdicts
from harness.stats.trust.verdict_errors import (
    NO_ANSWER,
    raters_errors,
    single_answers,
    verdict_errors,
)
from harness.tasks.item import unit_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.inputs import Source
    from harness.files.json_values import JsonObject
    from harness.judging.parsing.verdict import Verdict
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.trust.trusted_verdicts import TrustedVerdicts
    from harness.tasks import Item, Task

AGREEMENT, STABILITY = "sample_agreement", "order_stability"
SEED = 0  # seed of the split, so that the same data have the same verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedItem:
    """A verdict, and whether to accept it without a person's check.

    Attributes
    ----------
    item : str
        Id of the item.
    value : str or None
        Key of the option; None without a usable answer, or with a tie of the judge's replies.
    confidence : float or None
        Confidence that is compared with the threshold.
    accepted : bool
        Whether the verdict can stand without a check by a person.
    error : float or None
        Error by the raters' answers; None without ratings to compare with.
    """

    item: str
    value: str | None
    confidence: float | None
    accepted: bool
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictTrust:
    """Result of selecting a judge's verdicts that a person need not check.

    Attributes
    ----------
    task, judge : str
        Names.
    error_kind : {"majority", "rater", "set"}
        Definition of an error; see `verdict_errors`.
    max_error, level : float
        Bound on the mean error of accepted verdicts in the population, and the confidence that the
        bound is met if any are accepted.
    n_judges : int
        Judges among which this one was chosen; the level applies to all of them together.
    n_items, n_answered, n_accepted : int
        Items that were judged, items with a single answer, and items whose answer can stand.
    signal : str
        The deciding confidence signal: ``sample_agreement``, ``order_stability``, ``logprob``,
        ``verbal_confidence``, ``combined`` or ``all_alike``.
    signals : tuple of str
        Signals available in the verdicts.
    weights : dict of str to float
        Weights in a combined confidence.
    threshold : float or None
        The least confidence of an accepted verdict.
    n_chosen_on, n_tested, n_tested_accepted : int
        Rated items on which the confidence was chosen, rated items that were tested, and those of
        the latter that the threshold accepts.
    error : float or None
        Mean error of the accepted tested items.
    method : {"binomial", "betting"}
        Method of the tests.
    reason : {"too_few_items", "error_not_shown", ""}
        Why no verdict is accepted; "" if any are.
    raters_error : float or None
        Mean error of one rater against the other raters by the same rule; None with fewer than two.
    n_raters_items : int
        Items behind ``raters_error``.
    verdicts : tuple of JudgedItem
        Verdicts in the order of the items.
    """

    task: str
    judge: str
    error_kind: ErrorKind
    max_error: float
    level: float
    n_judges: int
    n_items: int
    n_answered: int
    n_accepted: int
    signal: str
    signals: tuple[str, ...]
    weights: dict[str, float]
    threshold: float | None
    n_chosen_on: int
    n_tested: int
    n_tested_accepted: int
    error: float | None
    method: RiskMethod
    reason: NothingAccepted
    raters_error: float | None
    n_raters_items: int
    verdicts: tuple[JudgedItem, ...]

    def __repr__(self) -> str:
        return f"VerdictTrust({self.judge!r}, {self.n_accepted} of {self.n_items} accepted)"

    @classmethod
    def json_schema(cls) -> JsonObject:
        """Return the JSON schema of ``harness trust --json``."""
        return schema_of(cls)

    @property
    def rest(self) -> tuple[str, ...]:
        """Ids of the items that a person must rate, with the least confident verdicts first."""
        left = [v for v in self.verdicts if not v.accepted]
        left.sort(key=lambda v: -1.0 if v.confidence is None else v.confidence)
        return tuple(verdict.item for verdict in left)


def verdict_trust(
    source: Source,
    judge: str,
    *,
    max_error: float,
    error_kind: ErrorKind,
    level: float,
    n_judges: int = 1,
) -> tuple[VerdictTrust, TrustedVerdicts]:
    """Select the judge's verdicts that a person need not check. Return them and the rule.

    Parameters
    ----------
    source : Source
        Ratings and verdicts.
    judge : str
        Name of a judge with forced choices.
    max_error : float in (0, 1)
        Bound on the mean error of accepted verdicts.
    error_kind : {"majority", "rater", "set"}
        See `verdict_errors`.
    level : float in (0, 1)
        Confidence level for all judges together.
    n_judges : int
        Judges among which this one was chosen.

    Raises
    ------
    RunError
        If there is no such judge, or it wasn't asked for forced choices.
    TaskError
        If the task has no options, no ratings of that kind, or items that were drawn with unequal
        probabilities.
    """
    _check(source, judge)
    task, items = source.task, source.items
    human = human_table(task, items)
    answers = single_answers(_choices(task, items, judge, source.verdicts[judge]))
    if (answers == NO_ANSWER).all():
        n = sum(verdict.elicitation == "forced_choice" for verdict in source.verdicts[judge])
        problem = f"none of its {n} forced choices is a single option" if n else "no forced choices"
        raise RunError(f"judge {judge}: {problem}", "Pass a judge with single options as choices")
    errors = verdict_errors(human, answers, error_kind)
    if np.isnan(errors).all():
        raise TaskError(
            f"task {task.name}: no item with an answer from {judge} has {NEEDED[error_kind]}",
            "Collect such ratings, or choose a different --error",
        )
    replies = source.replies_voted_on.get(judge) or source.verdicts[judge]
    signals = _of_answers(signals_of(task, items, judge, replies), answers)
    result = trust_verdicts(
        signals,
        errors,
        np.array(unit_numbers(items)),
        bound=max_error,
        level=1.0 - (1.0 - level) / n_judges,
        rng=np.random.default_rng(SEED),
    )
    own = raters_errors(human, error_kind)
    compared = ~np.isnan(own)
    verdicts = _judged_items(
        task, items, answers, result, confidence=result.confidence, errors=errors
    )
    trust = VerdictTrust(
        task=task.name,
        judge=judge,
        error_kind=error_kind,
        max_error=max_error,
        level=level,
        n_judges=n_judges,
        n_items=len(items),
        n_answered=int((answers != NO_ANSWER).sum()),
        n_accepted=sum(verdict.accepted for verdict in verdicts),
        signal=result.signal,
        signals=tuple(signals),
        weights=dict(result.combined.weights) if result.combined else {},
        threshold=result.threshold,
        n_chosen_on=result.chosen_on,
        n_tested=result.n_tested,
        n_tested_accepted=result.n_tested_accepted,
        error=result.error,
        method=result.method,
        reason=result.reason,
        raters_error=float(own[compared].mean()) if compared.any() else None,
        n_raters_items=int(compared.sum()),
        verdicts=verdicts,
    )
    return trust, result


NEEDED = {"majority": "forced choices", "rater": "forced choices", "set": "response sets"}


def _check(source: Source, judge: str) -> None:
    if judge not in source.verdicts:
        problem = f"task {source.task.name}: this run has no judge {judge!r}"
        raise RunError(problem, use_one_of(judge, source.verdicts, none="It has no verdicts"))
    source.task.require_options("trust in single verdicts")
    try:
        weights = sampling_weights(source.items)
    except ValueError as error:
        raise TaskError(f"task {source.task.name}: {error}") from None
    if weights is not None:
        raise TaskError(
            f"task {source.task.name}: its items were drawn with unequal probabilities, and "
            "there's no known error bound for such items",
            "Rate a plain random sample",
        )


def _choices(
    task: Task, items: Sequence[Item], judge: str, verdicts: Sequence[Verdict]
) -> FloatArray:
    table = judge_table(task, items, judge, verdicts)
    return np.asarray(table.forced_choice, dtype=np.float64)


def signals_of(
    task: Task, items: Sequence[Item], judge: str, replies: Sequence[Verdict]
) -> dict[str, FloatArray]:
    """Return an (n,) array for each confidence signal in a judge's replies. No signal is nan.

    If a judge saw an item's options in different orders, the agreement of its replies measures
    stability over orders.
    """
    table = judge_table(task, items, judge, replies)
    signals = {
        name: as_probabilities(name, values) for name, values in confidences(table, replies).items()
    }
    if AGREEMENT in signals and _orders_differ(replies):
        signals[STABILITY] = signals.pop(AGREEMENT)
    return signals


def _of_answers(signals: Mapping[str, FloatArray], answers: IntArray) -> dict[str, FloatArray]:
    """Set the confidence to nan on items without a single answer."""
    return {
        name: np.where(answers == NO_ANSWER, np.nan, values) for name, values in signals.items()
    }


def _orders_differ(verdicts: Sequence[Verdict]) -> bool:
    """Return whether any item was shown with more than one order of options or answers."""
    orders = defaultdict(set)
    for verdict in verdicts:
        if verdict.elicitation == "forced_choice":
            orders[verdict.item].add((verdict.shown, verdict.swapped))
    return any(len(shown) > 1 for shown in orders.values())


def _judged_items(
    task: Task,
    items: Sequence[Item],
    answers: IntArray,
    rule: TrustedVerdicts,
    *,
    confidence: FloatArray,
    errors: FloatArray,
) -> tuple[JudgedItem, ...]:
    keys = [option.key for option in task.options]
    accepted = rule.accepts(confidence) & (answers != NO_ANSWER)
    columns = (column.tolist() for column in (answers, confidence, accepted, errors))
    return tuple(
        JudgedItem(
            item=item.id,
            value=None if answer == NO_ANSWER else keys[answer],
            confidence=None if np.isnan(own) else own,
            accepted=stands,
            error=None if np.isnan(error) else error,
        )
        for item, answer, own, stands, error in zip(items, *columns, strict=True)
    )


def judged_by(
    rule: TrustedVerdicts,
    task: Task,
    items: Sequence[Item],
    judge: str,
    verdicts: Sequence[Verdict],
) -> tuple[JudgedItem, ...]:
    """Apply a rule fitted on rated items to a judge's verdicts on other items.

    Parameters
    ----------
    rule : TrustedVerdicts
        Rule for the same judge, with the same prompts.
    task, items, judge, verdicts
        As in `signals_of`.
    """
    answers = single_answers(_choices(task, items, judge, verdicts))
    signals = _of_answers(signals_of(task, items, judge, verdicts), answers)
    confidence = rule.confidence_of(signals, len(items))
    no_errors = np.full(len(items), np.nan)
    return _judged_items(task, items, answers, rule, confidence=confidence, errors=no_errors)

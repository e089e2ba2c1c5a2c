"""Results for raters and judges, with the cost of replies and facts about the task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median_high
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, Unpack

import numpy as np

from harness.analysis.inputs import HumanSets
from harness.analysis.order_bias import PlaceBias, PositionEffects
from harness.analysis.ratings import OutcomeCounts, count_outcomes
from harness.analysis.serialize import shared_fields
from harness.judging.running.budget import paid_replies
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.stats import Estimate
from harness.stats.indeterminacy.sensitivity import Prevalences
from harness.stats.inference.bootstrap import ResampledUnit
from harness.stats.metrics.human_agreement import SAME_FOR_EQUAL_RATERS
from harness.stats.modes import FEnds
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import ELICITATIONS, Elicitation, Scale
from harness.tasks.schema import RaterIds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.analysis.inputs import JudgeFacts, Source
    from harness.analysis.ratings import CountedOutcome
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.storage.verdict_columns import VerdictColumns
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray


FixedRatersReason: TypeAlias = Literal[
    "", "positional_raters", "fewer_than_five_raters", "raters_not_crossed", "not_computed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """Facts about the task that readers of the numbers need.

    Attributes
    ----------
    scale : str
        Scale, as in task.yaml.
    response_sets : tuple of tuple of str
        Option keys of each response set, in the order of the columns of F.
    """

    name: str
    scale: Scale | Literal[""] = ""
    property: str
    notice: str
    content_hash: str
    options: dict[str, str]
    response_sets: tuple[tuple[str, ...], ...]
    positive: tuple[str, ...]
    n_items: int
    n_items_in_task: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling design for items and raters, which determines the population of the intervals.

    Attributes
    ----------
    unit : str
        The unit that the bootstrap resamples: items, or groups of items.
    weighted : bool
        Whether items count by the inverse of the probability with which they were sampled.
    fixed_raters_reason : str
        "" if score intervals are over items and raters, which needs five or more named raters who
        rated most items. Otherwise the reason that intervals apply only to these raters:
        "positional_raters", "fewer_than_five_raters", "raters_not_crossed", or "not_computed" with
        other interval methods, levels and modes, weights, and implied response sets.
    """

    unit: ResampledUnit
    weighted: bool
    fixed_raters_reason: FixedRatersReason


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanResult:
    """Results computed from human ratings only.

    Attributes
    ----------
    sets : HumanSets
        Source of the response sets that judges are compared with.
    F : rows of options by columns of response sets
        F estimated from pairs; None without pairs.
    F_low, F_high : rows of options by columns of response sets
        Ends of the intervals of F.
    n_endorsed : tuple of int
        Pairs behind each column of F.
    n_outside : int
        Pairs left out because the choice is not in its set.
    prevalence : Prevalences or None
        Share of the items that are positive for the raters; None without positive options.
    """

    n_raters: int
    rater_ids: RaterIds
    n_forced_choice: int
    n_response_sets: int
    n_pairs: int
    n_abstained: int
    sets: HumanSets
    ignored_labels: dict[str, int]
    agreement: dict[str, Estimate]
    beta: Estimate
    F: tuple[tuple[float | None, ...], ...] | None
    F_low: FEnds | None = None
    F_high: FEnds | None = None
    n_endorsed: tuple[int, ...] = ()
    n_outside: int = 0
    prevalence: Prevalences | None = None

    @property
    def defined_agreement(self) -> dict[str, Estimate]:
        """Agreement coefficients that have a value, without duplicates. All if none has a value.

        If all items have equally many ratings, coefficients for unequal numbers repeat the strict
        ones.
        """
        defined = {name: e for name, e in self.agreement.items() if e.value is not None}
        repeated = {name for strict in defined for name in SAME_FOR_EQUAL_RATERS.get(strict, ())}
        return {name: e for name, e in defined.items() if name not in repeated} or self.agreement

    @property
    def undefined_agreement(self) -> dict[str, Estimate]:
        """Undefined coefficients that no coefficient for unequal numbers of raters replaces."""
        replaced = {
            strict
            for strict, others in SAME_FOR_EQUAL_RATERS.items()
            if any(name in self.agreement and self.agreement[name].value for name in others)
        }
        return {
            name: e
            for name, e in self.agreement.items()
            if e.value is None and name not in replaced
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeResult:
    """Results for one judge.

    Attributes
    ----------
    derived : tuple of str
        Elicitations whose replies were derived by rule from a different elicitation, not requested.
    metrics : dict of str to Estimate
        Every metric on the items, and at the number of replies per item, on which judges are
        compared. This is the only value of each name. NA for a judge that answered too little to be
        compared.
    own : Estimate
        The metric that ranks, on all items that this judge answered and all its replies. It is not
        comparable between judges.
    F, F_low, F_high, n_endorsed, n_outside
        As in `HumanResult`.
    order_bias : tuple of PlaceBias
        Bias by place; empty if options were not shuffled.
    position : PositionEffects or None
        Effects of the order in a pairwise task whose answers were shown in both orders.
    """

    name: str
    kind: str
    is_control: bool = False
    model: str
    reported_models: tuple[str, ...]
    derived: tuple[Elicitation, ...]
    outcomes: tuple[OutcomeCounts, ...]
    metrics: dict[str, Estimate]
    own: Estimate
    beta: Estimate
    cross_call_beta: Estimate
    F: tuple[tuple[float | None, ...], ...] | None
    F_low: FEnds | None = None
    F_high: FEnds | None = None
    n_endorsed: tuple[int, ...] = ()
    n_outside: int = 0
    cost: Cost
    order_bias: tuple[PlaceBias, ...] = ()
    position: PositionEffects | None = None

    def n_replies(self, outcome: CountedOutcome) -> int:
        """Return the number of replies with an outcome, or planned ones, over all elicitations."""
        return sum(getattr(counts, outcome) for counts in self.outcomes)


class OfPairs(TypedDict):
    """Result fields computed from set-then-choice pairs of the raters or a judge."""

    F: tuple[tuple[float | None, ...], ...] | None
    F_low: NotRequired[FEnds]
    F_high: NotRequired[FEnds]
    n_endorsed: NotRequired[tuple[int, ...]]
    n_outside: NotRequired[int]


class HumanEstimates(OfPairs):
    """Fields of `HumanResult` that are estimates."""

    n_forced_choice: int
    n_response_sets: int
    n_pairs: int
    sets: HumanSets
    agreement: dict[str, Estimate]
    beta: Estimate
    prevalence: NotRequired[Prevalences | None]


class JudgeEstimates(OfPairs):
    """Fields of `JudgeResult` that are estimates."""

    metrics: dict[str, Estimate]
    own: Estimate
    beta: Estimate
    cross_call_beta: Estimate
    order_bias: NotRequired[tuple[PlaceBias, ...]]
    position: NotRequired[PositionEffects | None]


def human_result(source: Source, **estimated: Unpack[HumanEstimates]) -> HumanResult:
    """Build the raters' result from their ratings and the estimates."""
    task, ids = source.task, {item.id for item in source.items}
    columns = task.rating_columns
    is_selected = columns.rows_of(item.id for item in source.items) >= 0  # fast: items are in order
    is_abstention = columns.of_answers(lambda _, value: value == CANNOT_ASSESS)
    return HumanResult(
        n_raters=len(np.unique(columns.rater[is_selected])),
        rater_ids=task.rater_ids,
        n_abstained=int((is_selected & is_abstention).sum()),
        ignored_labels=dict(Counter(str(r.value) for r in task.ignored if r.item in ids)),
        **estimated,
    )


def judge_result(
    source: Source,
    facts: JudgeFacts,
    **estimated: Unpack[JudgeEstimates],
) -> JudgeResult:
    """Build a judge's result from its verdicts and the estimates."""
    verdicts = source.verdicts[facts.name]
    outcomes = count_outcomes(verdicts, source.planned[facts.name])
    kinds = columns_of(verdicts).kinds
    derived = {kind.elicitation for kind in kinds if kind.derived}
    return JudgeResult(
        name=facts.name,
        kind=facts.kind,
        is_control=facts.is_control,
        model=facts.model,
        reported_models=tuple(sorted({kind.model for kind in kinds if kind.model})),
        derived=tuple(e for e in ELICITATIONS if e in derived),
        outcomes=outcomes,
        cost=cost_of(verdicts, source.replies_voted_on.get(facts.name)),
        **estimated,
    )


def task_facts(source: Source, response_sets: tuple[tuple[str, ...], ...] = ()) -> TaskFacts:
    """Return facts about the task. An open scale has no options or response sets."""
    task = source.task
    return TaskFacts(
        **shared_fields(TaskFacts, task)
        | {
            "options": {option.key: option.label for option in task.options},
            "response_sets": response_sets,
            "n_items": len(source.items),
            "n_items_in_task": len(task.items),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a judge's replies.

    Attributes
    ----------
    usd : float or None
        Amount paid in this run; None if a price is unknown.
    n_paid, n_from_store : int
        Replies that were paid for in this run, and verdicts whose replies were in the store.
    usd_per_answered : float or None
        Original cost of all replies, including those that other runs paid for, per answered
        verdict. None if a price is unknown or nothing was answered.
    prompt_tokens, completion_tokens, cached_tokens : int
        Tokens in the paid replies. Cached tokens are prompt tokens that the provider had in its
        cache.
    """

    usd: float | None
    n_paid: int
    n_from_store: int
    usd_per_answered: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


def cost_of(verdicts: Sequence[Verdict], replies: Sequence[Verdict] | None = None) -> Cost:
    """Return the cost of a judge's replies.

    Parameters
    ----------
    verdicts : sequence of Verdict
        The judge's verdicts.
    replies : sequence of Verdict, optional
        Verdicts on single replies, if the judge's verdicts are votes. Members of an ensemble paid
        for their own.
    """
    judge = verdicts[0].judge if verdicts else ""
    replies = verdicts if replies is None else replies
    columns = columns_of(replies)
    if any(kind.elicitation == "paired" for kind in columns.kinds):
        bought = _Bought.of_pairs(replies, judge)
    else:
        bought = _Bought.of_columns(columns, judge)
        if (is_reasked := columns.of_kinds(lambda kind: kind.is_reasked)).any():
            bought = bought.joined(_Bought.of_unread(verdicts_at(replies, is_reasked), judge))
    total = _usd(bought.cost_usd)
    n_answered = sum(
        n for kind, n in columns_of(verdicts).n_by_kind() if kind.outcome == "answered"
    )
    useful = len(bought.cost_usd) and n_answered and total is not None
    n_tokens = [sum(column) for column in bought.tokens[:, bought.is_paid].tolist()]
    return Cost(
        usd=_usd(bought.cost_usd[bought.is_paid]),
        n_paid=int(bought.is_paid.sum()),
        n_from_store=sum(
            n for kind, n in columns.n_by_kind() if kind.judge == judge and kind.from_store
        ),
        usd_per_answered=total / n_answered if useful and total is not None else None,
        prompt_tokens=n_tokens[0],
        completion_tokens=n_tokens[1],
        cached_tokens=n_tokens[2],
    )


class _Bought(NamedTuple):
    """Costs and tokens of M purchased replies. Each reply counts once.

    Attributes
    ----------
    cost_usd : (M,) array
        Cost of each reply; nan if the price is unknown.
    is_paid : (M,) bool array
        Whether the judge paid for it in this run.
    tokens : (3, M) int array
        Prompt, completion and cached tokens.
    """

    cost_usd: FloatArray
    is_paid: BoolArray
    tokens: IntArray

    @classmethod
    def of_columns(cls, columns: VerdictColumns, judge: str) -> _Bought:
        """Return the last reply of each verdict. The verdicts must not share replies."""
        used = columns.of_kinds(lambda kind: kind.n_replies > kind.is_reasked)
        is_paid = columns.of_kinds(lambda kind: kind.judge == judge and not kind.from_store)
        tokens = (columns.prompt_tokens, columns.completion_tokens, columns.cached_tokens)
        return cls(columns.cost_usd[used], is_paid[used], np.array([n[used] for n in tokens]))

    @classmethod
    def of_pairs(cls, verdicts: Sequence[Verdict], judge: str) -> _Bought:
        """Return the distinct replies behind verdicts that can share replies."""
        return cls._of(paid_replies(verdicts), judge)

    @classmethod
    def of_unread(cls, verdicts: Sequence[Verdict], judge: str) -> _Bought:
        """Return the unreadable replies that led to a second question."""
        return cls._of(
            ((verdict, [verdict.unread]) for verdict in verdicts if verdict.unread), judge
        )

    def joined(self, other: _Bought) -> _Bought:
        """Return these replies followed by the others."""
        return _Bought(
            np.concatenate([self.cost_usd, other.cost_usd]),
            np.concatenate([self.is_paid, other.is_paid]),
            np.concatenate([self.tokens, other.tokens], axis=1),
        )

    @classmethod
    def _of(cls, of_verdicts: Iterable[tuple[Verdict, Sequence[Reply]]], judge: str) -> _Bought:
        bought: list[Reply] = []
        is_paid: list[bool] = []
        for verdict, replies in of_verdicts:
            bought += replies
            is_paid += [verdict.judge == judge and not verdict.from_store] * len(replies)
        costs = [np.nan if reply.cost_usd is None else reply.cost_usd for reply in bought]
        tokens = [
            (r.prompt_tokens or 0, r.completion_tokens or 0, r.cached_tokens or 0) for r in bought
        ]
        return cls(
            np.array(costs, dtype=np.float64),
            np.array(is_paid, dtype=np.bool_),
            np.array(tokens, dtype=np.int64).reshape(len(bought), 3).T,
        )


def _usd(costs: FloatArray) -> float | None:
    return None if np.isnan(costs).any() else sum(costs.tolist(), 0.0)


def median_latency_s(verdicts: Sequence[Verdict]) -> float | None:
    """Return the median seconds of the replies, or None without replies.

    For an even number, the median is the greater of the two middle values.
    """
    latencies = columns_of(verdicts).latency_s
    latencies = latencies[~np.isnan(latencies)]
    return median_high(latencies.tolist()) if len(latencies) else None

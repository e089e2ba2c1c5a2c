"""Endorsement: a separate question for each option about whether it is reasonable.

The options with a yes, among an item's K options, make one response set. Replies about different
options come from independent calls. If the replies are probabilities, the response sets'
distribution is therefore the limit for infinitely many calls: the product over the options,
restricted to admissible sets.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from harness.judging.parsing.grammar import OUTCOMES, Parsed
from harness.judging.parsing.option_probabilities import MIN_MASS, distribution
from harness.judging.parsing.verdict import Verdict
from harness.judging.strategies.answer_schemas import verdict_format
from harness.judging.strategies.log_probabilities import LogProbabilities
from harness.judging.strategies.strategy import NO, YES, Combining, Params, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.presentation_orders import Order
    from harness.judging.strategies.strategy import ReplyParser
    from harness.stats import OptionSpace
    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind, Elicitation

NOT_ADMISSIBLE = "not_admissible"


class Endorsement(Strategy):
    """Strategy that asks for each option whether the option is reasonable."""

    needs_options = True
    asks_each_option = True
    elicitations: tuple[Elicitation, ...] = ("response_set",)

    def template(self, elicitation: Elicitation) -> str:
        """Return the name of the template that asks about one option."""
        del elicitation
        return "endorsement"

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return a schema that allows only yes or no."""
        del kind
        return verdict_format(task, "forced_choice", keys=(YES.key, NO.key))

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Parse "yes" as a set that contains the option, and "no" as an empty set."""
        del kind
        return _of_option(reader.parse(reply, "forced_choice", item, order), order)

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Combine replies about single options into response sets."""
        return endorsed(verdicts, of.task.space)


class SoftEndorsement(Endorsement, LogProbabilities):
    """Strategy that asks once about each option and uses the probabilities of yes and no."""

    elicitations: tuple[Elicitation, ...] = ("response_set",)
    response_format = Strategy.response_format  # one token is enough for the probabilities

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return a set for the more probable answer, with the probabilities of yes and no."""
        parsed = LogProbabilities.read(self, reader, reply, kind, item, order)
        return _of_option(parsed, order)


def _of_option(parsed: Parsed, order: Order) -> Parsed:
    """Convert "yes" to a set that contains the option, and "no" to an empty set."""
    if parsed.value is None:
        return parsed
    return parsed._replace(value=order if parsed.value == YES.key else ())


def endorsed(replies: Iterable[Verdict], space: OptionSpace) -> list[Verdict]:
    """Combine replies about single options into response sets.

    Sample s of an item uses its replies Ks to Ks + K - 1, one for each of K options. A verdict is
    answered only if all its replies are; otherwise it has the worst of their outcomes. It is
    invalid (``not_admissible``) if the set is empty or not admissible, or, with probabilities, if
    all admissible sets together have less than 1%. With probabilities, the value is the most
    probable set.
    """
    n_options = len(space.options)
    by_unit: defaultdict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for reply in sorted(replies, key=lambda verdict: verdict.sample):
        by_unit[reply.item, reply.sample // n_options].append(reply)
    return [
        _verdict(of_unit, sample, space)
        for (_, sample), of_unit in by_unit.items()
        if len(of_unit) == n_options
    ]


def set_distribution(endorsements: Mapping[str, float], space: OptionSpace) -> FloatArray:
    """Return a (V,) array with the probability of each admissible set.

    Options are treated as independent. All probabilities are 0 if the admissible sets together have
    less than 1%.
    """
    p = np.array([endorsements.get(option, 0.0) for option in space.options])
    members = space.membership.astype(bool)  # (K, V)
    masses = np.where(members, p[:, None], 1.0 - p[:, None]).prod(axis=0)
    total = float(masses.sum())
    return np.asarray(masses / total if total >= MIN_MASS else np.zeros_like(masses))


def _verdict(replies: Sequence[Verdict], sample: int, space: OptionSpace) -> Verdict:
    """Combine a unit's replies into one verdict."""
    worst = max(replies, key=lambda reply: OUTCOMES.index(reply.outcome))
    whole = Verdict(
        item=worst.item,
        judge=worst.judge,
        elicitation="response_set",
        sample=sample,
        outcome=worst.outcome,
        reason=worst.reason,
        swapped=worst.swapped,
    )
    if worst.outcome != "answered":
        return whole
    if replies[0].probabilities is not None:
        return _most_probable(whole, replies, space)
    chosen = {option for reply in replies if reply.value for option in reply.shown}
    value = tuple(option for option in space.options if option in chosen)
    if value not in space.sets:
        return replace(whole, outcome="invalid", reason=NOT_ADMISSIBLE)
    return replace(whole, value=value)


def _most_probable(whole: Verdict, replies: Sequence[Verdict], space: OptionSpace) -> Verdict:
    shares = {
        reply.shown: distribution(reply.probabilities or {}).get(YES.key, 0.0) for reply in replies
    }
    endorsements = {option: shares[option,] for option in space.options}
    theta = set_distribution(endorsements, space)
    if not theta.any():
        return replace(whole, outcome="invalid", reason=NOT_ADMISSIBLE)
    value = space.sets[int(theta.argmax())]
    return replace(whole, value=value, probabilities=endorsements)

"""Strategies that use the options' probabilities at an answer's first token."""

from __future__ import annotations

from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING

from harness.judging.parsing.answer_tokens import answer_tokens, tokens_of
from harness.judging.parsing.grammar import Parsed
from harness.judging.parsing.option_probabilities import MIN_MASS, distribution
from harness.judging.strategies.strategy import TOKEN_LIMITS, Combining, Params, Strategy
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import Order
    from harness.judging.strategies.strategy import ReplyParser
    from harness.tasks.item import AnswerKind, Elicitation

_FIRST_TOKEN: Params = {"temperature": 1.0, "logprobs": True, "top_logprobs": 20}


class LogProbabilities(Strategy):
    """Strategy that asks the plain question once and uses the first token's probabilities."""

    needs_logprobs = True
    needs_options = True
    gives_distribution = True
    elicitations: tuple[Elicitation, ...] = ("forced_choice",)

    def params(self, params: Params) -> Params:
        """Return parameters that request one token and its probabilities."""
        return with_own(one_token(params) | _FIRST_TOKEN, params)

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return the most probable option, with the probabilities of all options.

        If the answer has several tokens, its text must be readable too: a text that begins like an
        option could be reasoning, which a model may not mark as such.
        """
        if len(answer_tokens(reply.logprobs, reply.text)) > 1:
            parsed = reader.parse(reply, kind, item, order)
            if parsed.outcome == "invalid":
                return parsed
        return most_probable(reply, reader.probabilities(reply, order))

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterator[str]:
        """Report how much probability is outside the options."""
        masses = [
            1.0 - fsum(verdict.probabilities.values())
            for verdict in replies
            if verdict.probabilities is not None and verdict.item in of.task.by_id
        ]
        if masses:
            yield (
                f"{of.judge}: on average, {fmean(masses):.1%} of the probability is outside the "
                f"options (maximum {max(masses):.1%}, {len(masses)} items)"
            )


def with_own(params: Params, own: Params) -> Params:
    """Apply the user's token numbers and removals to a strategy's parameters.

    A server can reject a parameter, or list fewer tokens than a strategy requests.
    """
    kept = {
        key: value
        for key, value in own.items()
        if value is None or (key in {"logprobs", "top_logprobs"} and type(value) is int)
    }
    return params | kept


def one_token(params: Params) -> Params:
    """Limit the replies to one token."""
    limits = {key: 1 for key in TOKEN_LIMITS if params.get(key) is not None}
    return {**params, **(limits or {"max_tokens": 1})}


def unlisted(reply: Reply) -> Parsed:
    """Return the invalid result for a reply whose answer has no log-probabilities."""
    if reply.reasoning:
        return Parsed("invalid", reason="reasoning_only")
    is_listed = bool(tokens_of(reply.logprobs))
    return Parsed("invalid", reason="not_aligned" if is_listed else "no_logprobs")


def most_probable(reply: Reply, probabilities: Mapping[str, float] | None) -> Parsed:
    """Return the most probable option, or an abstention if CANNOT_ASSESS is more probable."""
    if reply.ending == "filtered":
        parsed = Parsed("refused", reason="content_filter")
    elif probabilities is None:
        return unlisted(reply)
    elif shares := distribution(probabilities):
        parsed = Parsed("answered", max(shares, key=shares.__getitem__))
    elif probabilities.get(CANNOT_ASSESS, 0.0) >= MIN_MASS:
        parsed = Parsed("abstained")
    else:
        parsed = Parsed("invalid", reason="outside_options")
    return parsed.with_probabilities(probabilities)

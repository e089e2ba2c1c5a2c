"""The probabilities of the options in one reply: those of its first token."""

from __future__ import annotations

from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING

from harness.judging.parsing.grammar import Parsed
from harness.judging.parsing.option_probabilities import MIN_MASS, distribution
from harness.judging.strategies.strategy import TOKEN_LIMITS, Combining, Params, Strategy
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.parsing.reply_reader import ReplyReader
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.presentation_orders import Order
    from harness.tasks.schema import AnswerKind, Elicitation

_FIRST_TOKEN: Params = {"temperature": 1.0, "logprobs": True, "top_logprobs": 20}


class LogProbabilities(Strategy):
    """Asks the plain question once, and takes the options' probabilities from the first token."""

    needs_logprobs = True
    needs_options = True
    gives_distribution = True
    elicitations: tuple[Elicitation, ...] = ("forced_choice",)

    def params(self, params: Params) -> Params:
        """Return parameters that ask for one token and its probabilities."""
        return one_token(params) | _FIRST_TOKEN

    def read(
        self, reader: ReplyReader, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return the most probable option, with the probabilities of all."""
        del kind, item
        return most_probable(reply, reader.probabilities(reply.logprobs, order))

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterator[str]:
        """Yield how much of the probability lies outside the options."""
        masses = [
            1.0 - fsum(verdict.probabilities.values())
            for verdict in replies
            if verdict.probabilities is not None and verdict.item in of.task.by_id
        ]
        if masses:
            yield (
                f"{of.judge}: {fmean(masses):.1%} of the probability lies outside the options on "
                f"average, at most {max(masses):.1%}, on {len(masses)} items"
            )


def one_token(params: Params) -> Params:
    """Return parameters that limit a reply to one token."""
    limits = {key: 1 for key in TOKEN_LIMITS if params.get(key) is not None}
    return {**params, "max_tokens": 1, **limits}


def most_probable(reply: Reply, probabilities: Mapping[str, float] | None) -> Parsed:
    """Return the most probable option, unless CANNOT_ASSESS is more probable than all."""
    if reply.finish_reason == "content_filter":
        parsed = Parsed("refused", reason="content_filter")
    elif probabilities is None:
        return Parsed("invalid", reason="no_logprobs")
    elif shares := distribution(probabilities):
        parsed = Parsed("answered", max(shares, key=shares.__getitem__))
    elif probabilities.get(CANNOT_ASSESS, 0.0) >= MIN_MASS:
        parsed = Parsed("abstained")
    else:
        parsed = Parsed("invalid", reason="outside_options")
    return parsed.with_probabilities(probabilities)

"""Strategy that uses the probabilities of words that complete a sentence about an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.judging.parsing.grammar import Parsed
from harness.judging.parsing.option_probabilities import word_probabilities
from harness.judging.prompts.question import Message
from harness.judging.strategies.log_probabilities import one_token, unlisted, with_own
from harness.judging.strategies.strategy import Params, Strategy

if TYPE_CHECKING:
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.presentation_orders import Order
    from harness.judging.prompts.question import Question
    from harness.judging.strategies.strategy import PromptSource, ReplyParser
    from harness.tasks.item import AnswerKind

_NEXT_WORD: Params = {"temperature": 1.0, "logprobs": 20}  # tokens of a text completion


class Verbalised(Strategy):
    """Strategy that sends a sentence to complete. Each possible next word is an option."""

    needs_logprobs = True
    completes_text = True
    needs_options = True
    gives_distribution = True
    keeps_order = True
    elicitations = ("forced_choice", "response_set")

    def params(self, params: Params) -> Params:
        """Return parameters that request one token and its probabilities."""
        return with_own(one_token(params) | _NEXT_WORD, params)

    def messages(self, prompts: PromptSource, question: Question) -> tuple[Message, ...]:
        """Return the sentence to complete."""
        return (Message("user", prompts.task.sentence_about(question.item)),)

    def read(
        self, reader: ReplyParser, reply: Reply, kind: AnswerKind, item: str, order: Order
    ) -> Parsed:
        """Return the answer that the next words imply and, for a choice, its distribution.

        A response set is derived from the same words by the task's cut-off.
        """
        del item, order
        return _meaning(reader, reply, kind)._replace(is_derived=kind == "response_set")


def _meaning(reader: ReplyParser, reply: Reply, kind: AnswerKind) -> Parsed:
    task, wording = reader.task, reader.task.verbalised
    assert wording is not None, "checked with the strategy"
    if reply.ending == "filtered":
        return Parsed("refused", reason="content_filter")
    words = {option.key: wording.words[option.key] for option in task.options}
    masses = word_probabilities(reply.logprobs, reply.text, words)
    if masses is None:
        return unlisted(reply)
    if not all(masses.values()):
        return Parsed("invalid", reason="word_not_listed")
    shares = wording.shares(masses)
    if kind == "forced_choice":
        choice = max(shares, key=shares.__getitem__)
        return Parsed("answered", choice).with_probabilities(shares)
    endorsed = tuple(key for key, share in shares.items() if share >= wording.cutoff)
    if endorsed not in task.space.sets:
        return Parsed("invalid", reason="not_admissible")
    return Parsed("answered", endorsed)

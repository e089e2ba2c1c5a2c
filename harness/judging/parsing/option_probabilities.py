"""Option probabilities from the log-probabilities of an answer's first token.

Every token that the server lists is read like a separate reply, so that all tokens for an option
(``A``, `` A``, ``a``, ``A.``) are summed. A token that only begins an answer counts for an option
if no other option's key begins with it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from harness.judging.parsing.answer_tokens import answer_tokens
from harness.judging.parsing.grammar import parse
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.tasks import Option

MIN_MASS = 0.01  # minimum probability of all options, as servers only list the likeliest tokens


class OptionTokens:
    """Cached conversion of tokens to options."""

    def __init__(self, options: Sequence[Option], *, abstain: bool) -> None:
        self._options, self._abstain = options, abstain
        self._names = [option.key for option in options] + [CANNOT_ASSESS] * abstain
        self._meaning = lru_cache(maxsize=4096)(self._option_begun)

    def probabilities(self, logprobs: object, text: str) -> dict[str, float] | None:
        """Return the probability of each option and of CANNOT_ASSESS at the answer's first token.

        OpenAI-compatible servers send ``content``, the tokens of the reply, each with
        ``top_logprobs``. The result contains the probabilities above 0, in the order of the
        options. They sum to at most 1, and the rest is outside the options. The result is None if
        the server sent no log-probabilities for the ``text`` of the reply.
        """
        listed = dict(_listed(logprobs, text))
        if not listed:
            return None
        masses = dict.fromkeys(self._names, 0.0)
        for token, logprob in listed.items():
            if (name := self._meaning(token)) is not None:
                masses[name] += math.exp(logprob)
        total = max(1.0, math.fsum(masses.values()))  # servers round the values
        return {name: mass / total for name, mass in masses.items() if mass > 0.0}

    def _option_begun(self, token: str) -> str | None:
        """Return the option or CANNOT_ASSESS that a token means or begins, if any."""
        parsed, _ = parse(token, "forced_choice", self._options, abstain=self._abstain)
        if parsed.outcome == "abstained":
            return CANNOT_ASSESS
        if isinstance(parsed.value, str):
            return parsed.value
        start = token.strip()
        begun = [name for name in self._names if start and name.startswith(start)]
        return begun[0] if len(begun) == 1 else None


def word_probabilities(
    logprobs: object, text: str, words: Mapping[str, str]
) -> dict[str, float] | None:
    """Return the probability of each option's word as a text's first token.

    The log-probabilities can be those of a chat completion or a text completion, and ``prob``
    counts in place of ``logprob``. Tokens that differ in case or surrounding spaces are summed. A
    word that is not listed has probability 0. The result is None if the server sent no
    log-probabilities for the text.
    """
    listed = dict(_listed(logprobs, text))
    if not listed:
        return None
    masses = dict.fromkeys(words, 0.0)
    options = {word.casefold(): option for option, word in words.items()}
    for token, logprob in listed.items():
        if (option := options.get(token.strip().casefold())) is not None:
            masses[option] += math.exp(logprob)
    return masses


def distribution(probabilities: Mapping[str, float]) -> dict[str, float]:
    """Return the options' probabilities, normalised to sum to 1.

    The result is empty if they sum to less than `MIN_MASS`, or to less than CANNOT_ASSESS has.
    """
    options = {name: p for name, p in probabilities.items() if name != CANNOT_ASSESS}
    mass = math.fsum(options.values())
    if mass < max(MIN_MASS, probabilities.get(CANNOT_ASSESS, 0.0)):
        return {}
    return {name: p / mass for name, p in options.items()}


def _listed(logprobs: object, text: str) -> Iterator[tuple[str, float]]:
    """Yield the alternatives for the answer's first token, including the sampled token."""
    tokens = answer_tokens(logprobs, text)
    if not tokens:
        return
    alternatives = tokens[0].entry.get("top_logprobs", tokens[0].entry.get("top_probs"))
    for entry in (tokens[0].entry, *(alternatives if isinstance(alternatives, list) else ())):
        if not isinstance(entry, dict):
            continue
        token, logprob = entry.get("token"), _logprob(entry)
        if isinstance(token, str) and isinstance(logprob, float | int) and logprob <= 0:
            yield token, float(logprob)


def _logprob(entry: Mapping[str, object]) -> object:
    probability = entry.get("prob")
    if isinstance(probability, float | int) and probability > 0:
        return math.log(probability)
    return entry.get("logprob")

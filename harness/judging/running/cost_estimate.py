"""Estimates of what a judge will cost before anything is sent: the expected cost, and the most."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.judging.judges.pricing import estimate, price_of
from harness.judging.parsing.grammar import render
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.requests import Unit
from harness.judging.prompts.strategies import gives_reasons

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.judges.pricing import Price
    from harness.judging.prompts.requests import Elicitation, Request
    from harness.judging.running.services import Job
    from harness.tasks import Task

REASONING_PARAMS = frozenset({"reasoning_effort", "reasoning", "thinking"})
OPEN_TOKENS = {"continuous": 4, "text": 16}  # of a reply without options
WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class JudgeQuote:
    """Estimated cost of one judge if no reply is cached.

    Attributes
    ----------
    n_items : dict of str to int
        Items by elicitation.
    calls : int
        Requests; one may ask for several samples.
    prompt_tokens : int
        4 bytes each, and 4 around every message.
    completion_tokens, expected_completion_tokens : int
        The most that the replies may have, and those of replies in the prompt's grammar; with
        reasoning or chain of thought, both are the most.
    cost_usd, expected_usd : float or None
        The most, and the expected cost; None where no price is listed. Discounts for prompts in
        the provider's cache are not included.
    """

    judge: str
    n_items: dict[Elicitation, int]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    expected_completion_tokens: int
    cost_usd: float | None
    expected_usd: float | None


def quote_of(job: Job, task: Task) -> JudgeQuote:
    """Estimate the cost of a judge; nothing is sent.

    Parameters
    ----------
    job : Job
        The judge, its items, elicitations and samples.
    task : Task
        Says how replies look.
    """
    spec = job.judge.spec
    calls = prompt = completion = expected = 0
    is_long = bool(REASONING_PARAMS & spec.params.keys()) or gives_reasons(spec.strategy)
    for elicitation in job.elicitations:
        paired = elicitation == "paired"
        n = 1 if paired else spec.n_per_request
        reply = _reply_tokens(task, elicitation)
        for item in job.items_of(elicitation):
            first = job.judge.request(Unit(item=item.id, elicitation=elicitation))
            for request in _turns(job, task, first) if paired else (first,):
                if paired and request is first and _asked_as_set(job, item.id, first):
                    continue
                tokens = estimate(spec, request)
                sent = sum(math.ceil(n_alike / n) for n_alike in job.samples_alike)
                calls += sent
                prompt += sent * tokens.prompt
                completion += job.samples * tokens.completion
                short = tokens.completion if is_long else reply
                expected += job.samples * min(tokens.completion, short)
    price = price_of(spec)
    most, likely = _usd(price, prompt, completion), _usd(price, prompt, expected)
    n_items = {name: len(job.items_of(name)) for name in job.elicitations}
    return JudgeQuote(spec.name, n_items, calls, prompt, completion, expected, most, likely)


def quote_of_ensemble(spec: JudgeSpec, quotes: Sequence[JudgeQuote]) -> JudgeQuote:
    """Return the quote of an ensemble: nothing, for the items of its members among ``quotes``."""
    [n_items, *_] = [quote.n_items for quote in quotes if quote.judge in spec.members]
    return JudgeQuote(spec.name, n_items, 0, 0, 0, 0, 0.0, 0.0)


def _usd(price: Price | None, prompt: int, completion: int) -> float | None:
    return price.cost_usd(prompt, completion) if price else None


def _turns(job: Job, task: Task, first: Request) -> Iterator[Request]:
    """Yield both turns of a pair, with a first reply of average length."""
    yield first
    sets = sorted(task.space.sets, key=len)
    text = render(tuple(sets[len(sets) // 2]), task.options)
    yield job.judge.follow_up(first, Reply(request=first.hash, text=text))


def _asked_as_set(job: Job, item: str, first: Request) -> bool:
    """Return whether a pair's first turn is also asked as a response set, so paid for once."""
    if "response_set" not in job.elicitations:
        return False
    return job.judge.request(Unit(item=item, elicitation="response_set")).hash == first.hash


def _reply_tokens(task: Task, elicitation: Elicitation) -> int:
    """Estimate the tokens of an average reply: one per 4 letters of a word or punctuation mark."""
    if task.is_open:
        return OPEN_TOKENS[task.scale]
    values: list[str | tuple[str, ...]] = [option.key for option in task.options]
    if elicitation == "response_set":
        values = [tuple(members) for members in task.space.sets]
    sizes = [
        sum(math.ceil(len(word) / 4) for word in WORDS.findall(render(value, task.options)))
        for value in values
    ]
    return math.ceil(sum(sizes) / len(sizes))

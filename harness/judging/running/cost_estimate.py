"""Estimates of a judge's expected and maximum cost before a run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.judges.pricing import estimate, price_of, reply_cap, worst_cost
from harness.judging.judges.prompt_tokens import TEMPLATE_TOKENS, most_prompt_tokens
from harness.judging.model_names import reasons_first
from harness.judging.parsing.grammar import render
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import answer_kind
from harness.judging.strategies.answer_schemas import JSON_TOKENS
from harness.tasks.schema import MAX_ANSWER_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.judging.judge_spec import JudgeSpec, Price
    from harness.judging.prompts.requests import Request
    from harness.judging.running.units import Job
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind, Elicitation

REASONING_TOKENS = 500  # tokens assumed for written or hidden reasons before a verdict
OPEN_TOKENS = {"continuous": 4, "text": 16}  # tokens of a reply without options
MOST_BYTES = 4  # maximum bytes of a character
WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class JudgeQuote:
    """Estimated cost of one judge, assuming that no replies are cached.

    Attributes
    ----------
    n_items : dict of str to int
        Items by elicitation.
    calls : int
        Requests, without those that follow unreadable replies. One can cover several samples.
    prompt_tokens : int
        Tokens at 4 bytes each, plus 4 per message.
    completion_tokens, expected_completion_tokens : int or None
        The first is the maximum tokens of the replies if each leads to a second question (``reask:
        1``), or None without a limit. The second counts replies in the prompt's grammar, plus
        `REASONING_TOKENS` if the strategy asks for reasons.
    cost_usd, expected_usd : float or None
        Maximum cost, with prompts of a token per byte, and expected cost. Both are None if no price
        is listed; the maximum is also None if replies have no limit. Discounts for cached prompts
        and requests repeated after a failure are not included.
    reply_cap : int or None
        Token limit of a reply in its request; None for no limit.
    reasoning_usd : float or None
        The expected cost with `REASONING_TOKENS` of hidden reasoning in each reply of a model that
        reasons; for other models the expected cost.
    first_call_usd : float or None
        Maximum cost of the first call under a limit; None if no price is listed.
    samples : int
        Replies per item.
    reasons : bool
        Whether the model is known to reason before it answers.
    reasks : bool
        Whether the maximum includes a second question after each reply.
    """

    judge: str
    n_items: dict[Elicitation, int]
    calls: int
    prompt_tokens: int
    completion_tokens: int | None
    expected_completion_tokens: int
    cost_usd: float | None
    expected_usd: float | None
    reply_cap: int | None
    reasoning_usd: float | None = 0.0
    first_call_usd: float | None = 0.0
    samples: int = 0
    reasons: bool = False
    reasks: bool = False


def quote_of(job: Job, task: Task) -> JudgeQuote:
    """Estimate a judge's cost without sending requests.

    Parameters
    ----------
    job : Job
        The judge with its items, elicitations and samples.
    task : Task
        The task, which determines the form of replies.
    """
    spec = job.judge.spec
    cap = reply_cap(spec)
    calls = prompt = most_prompt = n_replies = expected = reasoned = 0
    questions: dict[AnswerKind, int] = {}
    written = REASONING_TOKENS if spec.asking.gives_reasons else 0
    written += JSON_TOKENS if spec.answer == "schema" else 0
    reasons = spec.remote and reasons_first(spec.model, spec.params)
    for elicitation in job.elicitations:
        paired = elicitation == "paired"
        n = 1 if paired else spec.n_per_request
        reply = written + _reply_tokens(task, elicitation)
        longer = reply + (REASONING_TOKENS if reasons else 0)
        for item in job.items_of(elicitation):
            unit = Unit(item=item.id, elicitation=elicitation)
            for turn in _turns(job, task, unit, questions, cap or 0):
                sent = sum(math.ceil(n_alike / n) for n_alike in job.samples_alike)
                calls += sent
                prompt += sent * turn.prompt_tokens
                most_prompt += sent * turn.most_tokens + job.samples * turn.most_reask_tokens
                n_replies += job.samples
                expected += job.samples * (reply if cap is None else min(cap, reply))
                reasoned += job.samples * (longer if cap is None else min(cap, longer))
    price = price_of(spec)
    most_completion = None if cap is None else n_replies * (1 + spec.reask) * cap
    return JudgeQuote(
        judge=spec.name,
        n_items={name: len(job.items_of(name)) for name in job.elicitations},
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=most_completion,
        expected_completion_tokens=expected,
        cost_usd=_most_usd(price, most_prompt, most_completion),
        expected_usd=_usd(price, prompt, expected),
        reply_cap=cap,
        reasoning_usd=_usd(price, prompt, reasoned),
        first_call_usd=_first_call_usd(job, price, cap),
        samples=job.samples,
        reasons=reasons,
        reasks=spec.reask == 1,
    )


def _first_call_usd(job: Job, price: Price | None, cap: int | None) -> float | None:
    """Return the maximum cost in USD of a judge's first call, or None if a price is unknown."""
    if price is None:
        return None
    item, elicitation = next(job.questions())
    request = job.judge.request(Unit(item=item.id, elicitation=elicitation))
    n = 1 if elicitation == "paired" else min(job.judge.spec.n_per_request, job.samples_alike[0])
    return worst_cost(request, price, cap, n)


def quote_of_embedding(spec: JudgeSpec, jobs: Sequence[Job], task: Task) -> JudgeQuote:
    """Estimate the cost of embedding each rater's text and each judge's reply once.

    All replies are assumed to differ and to have `OPEN_TOKENS`. The maximum assumes the longest
    readable answers.
    """
    items = {item.id for job in jobs for item in job.items}
    ratings = (rating.value for rating in task.ratings if rating.item in items)
    texts = {value.encode() for value in ratings if isinstance(value, str)}
    n_replies = sum(sum(job.planned.values()) for job in jobs)
    calls = len(texts) + n_replies
    prompt = sum(math.ceil(len(text) / 4) + 4 for text in texts)
    prompt += n_replies * (OPEN_TOKENS["text"] + 4)
    most = calls * TEMPLATE_TOKENS + sum(map(len, texts))
    most += n_replies * MAX_ANSWER_CHARS * MOST_BYTES
    price = price_of(spec)
    return JudgeQuote(
        judge=spec.name,
        n_items={},
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=0,
        expected_completion_tokens=0,
        cost_usd=_most_usd(price, most, 0),
        expected_usd=_usd(price, prompt, 0),
        reply_cap=0,
        reasoning_usd=_usd(price, prompt, 0),
    )


def quote_of_ensemble(spec: JudgeSpec, quotes: Sequence[JudgeQuote]) -> JudgeQuote:
    """Return a quote of zero cost for an ensemble, with its members' number of items."""
    [n_items, *_] = [quote.n_items for quote in quotes if quote.judge in spec.members]
    return JudgeQuote(spec.name, n_items, 0, 0, 0, 0, 0.0, 0.0, 0)


def _usd(price: Price | None, prompt: int, completion: int) -> float | None:
    return price.cost_usd(prompt, completion) if price else None


def _most_usd(price: Price | None, prompt: int, completion: int | None) -> float | None:
    """Return the maximum cost in USD, or None if a price or the reply's limit is unknown."""
    if price is None or (completion is None and price.output):
        return None
    return (prompt * price.most_input + (completion or 0) * price.output) / 1_000_000


class _Turn(NamedTuple):
    """Estimated and maximum prompt tokens of a turn, and the maximum with a second question."""

    prompt_tokens: int
    most_tokens: int
    most_reask_tokens: int


def _turns(
    job: Job, task: Task, unit: Unit, questions: dict[AnswerKind, int], cap: int
) -> Iterator[_Turn]:
    """Yield the turns that a unit pays for, which exclude turns shared with another unit.

    ``questions`` collects the maximum tokens of a second question.
    """
    first, said = job.judge.request(unit), 0
    for request in _requests(job, task, first) if unit.elicitation == "paired" else (first,):
        most = said + most_prompt_tokens(request)
        said, most_reask = said + cap, 0
        if job.judge.spec.reask:
            kind = answer_kind(unit.elicitation) if request is first else "forced_choice"
            if kind not in questions:
                questions[kind] = _most_question_tokens(job, request, unit, kind)
            most_reask = most + cap + questions[kind]
            said += questions[kind] + cap
        if (
            request is not first
            or unit.elicitation != "paired"
            or not _asked_as_set(job, first, unit)
        ):
            yield _Turn(estimate(job.judge.spec, request).prompt, most, most_reask)


def _requests(job: Job, task: Task, first: Request) -> Iterator[Request]:
    """Yield both requests of a set-then-choice pair, assuming a first reply of average length."""
    yield first
    sets = sorted(task.space.sets, key=len)
    text = render(tuple(sets[len(sets) // 2]), task.options)
    yield job.judge.follow_up(first, Reply(request=first.hash, text=text))


def _most_question_tokens(job: Job, request: Request, unit: Unit, kind: AnswerKind) -> int:
    """Return the maximum tokens that a second question adds to a prompt."""
    again = job.judge.ask_again(request, Reply(request=request.hash, text=""), unit, kind)
    return most_prompt_tokens(again) - most_prompt_tokens(request)


def _asked_as_set(job: Job, first: Request, unit: Unit) -> bool:
    """Return whether a set-then-choice pair shares its first request with a response set."""
    if "response_set" not in job.elicitations:
        return False
    return job.judge.request(unit._replace(elicitation="response_set")).hash == first.hash


def _reply_tokens(task: Task, elicitation: Elicitation) -> int:
    """Estimate the tokens of an average reply: one per 4 letters of a word or per symbol."""
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
